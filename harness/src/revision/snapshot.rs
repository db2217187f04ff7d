//! What of the working tree is not committed, as a tree object that the repository never sees.
//!
//! A copy of the index takes all changes in, files that Git does not track included and ignored ones
//! not; new objects go to a private folder. Git's own `add` reads the files, so attributes, filters,
//! modes and links are as in a commit.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;
use wiretrial_contract::digest::sha256;
use wiretrial_contract::exit;
use wiretrial_contract::failure::Failure;

use super::git::Git;
use super::repository::Repository;
use crate::host::Interrupt;

/// Mode of a submodule in a tree.
const SUBMODULE: &str = "160000";

/// The working tree at one moment.
#[derive(Debug)]
pub(super) struct Snapshot {
    /// The tree, whose new objects are in the folder.
    pub(super) tree: String,
    /// Hash of the difference to HEAD, `None` when there is none.
    pub(super) sha256: Option<String>,
    head: String,
    folder: TempDir,
}

impl Snapshot {
    /// Takes it; `head` is the commit of HEAD.
    ///
    /// # Errors
    ///
    /// [`Failure::usage`]: a submodule with changes of its own, a foreign repository inside, or an
    /// unfinished merge, none of which a tree can hold. [`Failure::host`]: git or a file fails.
    pub(super) fn take(
        repository: &Repository,
        head: &str,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        refuse_what_no_tree_holds(&repository.git(interrupt))?;
        let cannot = |error: io::Error| {
            Failure::host(format!("cannot copy the working tree's index: {error}"))
        };
        let folder = tempfile::Builder::new()
            .prefix("wiretrial-")
            .tempdir()
            .map_err(cannot)?;
        fs::create_dir(folder.path().join("objects")).map_err(cannot)?;
        let index = path_in_git(&repository.git(interrupt), "index")?;
        copy_with_time(&index, &folder.path().join("index")).map_err(cannot)?;
        let git = aside(repository, folder.path(), interrupt)?;
        git.bytes(["add", "--all"]).map_err(cannot_take)?;
        let tree = git.text(["write-tree"])?;
        let difference = git.bytes([
            "diff-tree",
            "-r",
            "-z",
            "--no-renames",
            "--no-abbrev",
            head,
            &tree,
        ])?;
        refuse_repositories_inside(&repository.git(interrupt), &difference)?;
        Ok(Self {
            tree,
            sha256: (!difference.is_empty()).then(|| sha256(&difference)),
            head: head.to_owned(),
            folder,
        })
    }

    /// Brings what HEAD does not have to another repository, which has HEAD.
    ///
    /// # Errors
    ///
    /// [`Failure::host`]: git or a file fails.
    pub(super) fn carry(&self, from: &Repository, to: &Git<'_>) -> Result<(), Failure> {
        let open = |name: &str, bytes: &[u8]| {
            let path = self.folder.path().join(name);
            fs::write(&path, bytes)
                .and_then(|()| File::open(&path))
                .map_err(|error| Failure::host(format!("cannot use {}: {error}", path.display())))
        };
        // The tree may name objects that are in the user's repository but in no commit, such as
        // what was staged once; a pack has them all.
        let wanted = open(
            "wanted",
            format!("{}\n^{}\n", self.tree, self.head).as_bytes(),
        )?;
        let pack = aside(from, self.folder.path(), to.interrupt())?.bytes_from(
            wanted.into(),
            ["pack-objects", "--quiet", "--revs", "--stdout"],
        )?;
        let pack = open("pack", &pack)?;
        to.bytes_from(Stdio::from(pack), ["unpack-objects", "-q"])?;
        Ok(())
    }
}

/// A file that git cannot add is the user's to change.
fn cannot_take(failure: Failure) -> Failure {
    if failure.code != exit::HOST {
        return failure;
    }
    Failure::usage(format!(
        "the working tree cannot be taken as it is: {}; correct or ignore that \
         (.git/info/exclude), or name a revision in its place",
        failure.message
    ))
}

/// Git that reads the user's repository and writes beside it.
fn aside<'a>(
    repository: &Repository,
    folder: &Path,
    interrupt: &'a Interrupt,
) -> Result<Git<'a>, Failure> {
    let objects = path_in_git(&repository.git(interrupt), "objects")?;
    Ok(repository
        .git(interrupt)
        .with_setting("advice.addEmbeddedRepo=false")
        .with_setting("core.safecrlf=false")
        .with_setting("add.ignoreErrors=false")
        .with_variable("GIT_INDEX_FILE", folder.join("index"))
        .with_variable("GIT_OBJECT_DIRECTORY", folder.join("objects"))
        .with_variable("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&objects)))
}

/// A path of the repository's own folder.
fn path_in_git(git: &Git<'_>, name: &str) -> Result<PathBuf, Failure> {
    let path = git.text(["rev-parse", "--path-format=absolute", "--git-path", name])?;
    Ok(PathBuf::from(path))
}

/// In double quotes, so that a colon is not a separator (git(1), the variable's section).
fn quoted(path: &Path) -> OsString {
    let mut bytes = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        if matches!(byte, b'"' | b'\\') {
            bytes.push(b'\\');
        }
        bytes.push(*byte);
    }
    bytes.push(b'"');
    OsString::from_vec(bytes)
}

/// Copies an index, if there is one. Its time is copied too: Git compares it with the times of files
/// to know which may have changed unseen in the same moment (git's racy-git documentation).
fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    let time = match fs::metadata(from) {
        Ok(metadata) => metadata.modified()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    fs::copy(from, to)?;
    File::options().write(true).open(to)?.set_modified(time)
}

/// Refuses an unfinished merge, and submodules whose own working tree has changes.
fn refuse_what_no_tree_holds(git: &Git<'_>) -> Result<(), Failure> {
    let status = git.bytes([
        "status",
        "--porcelain=v2",
        "-z",
        "--no-renames",
        "--untracked-files=no",
        "--ignore-submodules=none",
    ])?;
    for entry in String::from_utf8_lossy(&status).split('\0') {
        if let Some(fields) = entry.strip_prefix("u ") {
            let path = fields.splitn(10, ' ').last().unwrap_or_default();
            return Err(Failure::usage(format!(
                "\"{path}\" has an unfinished merge; finish or abort it first"
            )));
        }
        // 1 XY sub mH mI mW hH hI path, where sub is N... or S and three letters (git-status(1)).
        let Some(fields) = entry.strip_prefix("1 ") else {
            continue;
        };
        let fields: Vec<&str> = fields.splitn(8, ' ').collect();
        let [_, submodule, .., path] = fields[..] else {
            continue;
        };
        if submodule.starts_with('S') && (submodule.contains('M') || submodule.contains('U')) {
            return Err(Failure::usage(format!(
                "submodule \"{path}\" has changes that are not committed, which cannot be carried \
                 into a build; commit or stash them there"
            )));
        }
    }
    Ok(())
}

/// Refuses repositories inside the working tree that are no submodules: a tree would hold their
/// commit and nothing of their files.
fn refuse_repositories_inside(git: &Git<'_>, difference: &[u8]) -> Result<(), Failure> {
    let text = String::from_utf8_lossy(difference);
    let mut fields = text.split('\0');
    let mut found = BTreeSet::new();
    // :mode mode id id status, NUL, path, NUL (git-diff-tree(1), raw output).
    while let (Some(change), Some(path)) = (fields.next(), fields.next()) {
        let is_new = change.split(' ').nth(1) == Some(SUBMODULE) && change.ends_with('A');
        if is_new {
            found.insert(path);
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    let staged = git.bytes(["ls-files", "--stage", "-z"])?;
    for entry in String::from_utf8_lossy(&staged).split('\0') {
        if let Some((fields, path)) = entry.split_once('\t')
            && fields.starts_with(SUBMODULE)
        {
            found.remove(path);
        }
    }
    match found.first() {
        None => Ok(()),
        Some(path) => Err(Failure::usage(format!(
            "\"{path}\" is a repository of its own and no submodule, which cannot be carried into a \
             build; ignore it (.git/info/exclude) or add it as a submodule"
        ))),
    }
}
