//! The one folder in which revisions of a repository are built: a clone in the cache.
//!
//! It is filled by fetching commits from the user's repository and shares no object with it, so that
//! neither can break the other. `git init` and a fetch stand where `git clone` could, because a
//! fetch takes single commits, whatever references there are, and works from a shallow repository.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use wiretrial_contract::clock;
use wiretrial_contract::digest::sha256;
use wiretrial_contract::failure::Failure;

use super::git::Git;
use super::repository::Repository;
use super::snapshot::Snapshot;
use super::{Revision, Tree, submodules};
use crate::host::Interrupt;

/// How long to wait for another comparison of the same repository.
const WAIT: Duration = Duration::from_secs(30 * 60);
/// Time between two looks at the lock.
const LOOK: Duration = Duration::from_millis(100);

/// The folder, which is this process's alone until this goes.
#[derive(Debug)]
pub(super) struct Checkout<'a> {
    folder: PathBuf,
    repository: &'a Repository,
    interrupt: &'a Interrupt,
    _lock: Flock<File>,
}

impl<'a> Checkout<'a> {
    /// Makes it in the cache, or takes the one that is there; waits while another process has it.
    ///
    /// # Errors
    ///
    /// [`Failure::host`]: it cannot be made, or another process has it for too long.
    pub(super) fn open(
        repository: &'a Repository,
        cache: &Path,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Failure> {
        let clones = cache.join("clones");
        let cannot = |error: io::Error| {
            Failure::host(format!(
                "cannot make a clone in {}: {error}",
                clones.display()
            ))
        };
        fs::create_dir_all(&clones).map_err(cannot)?;
        let clones = fs::canonicalize(&clones).map_err(cannot)?;
        let address = sha256(repository.common().as_os_str().as_encoded_bytes());
        let folder = clones.join(&address);
        let lock = lock(&clones.join(format!("{address}.lock")), interrupt)?;
        let checkout = Self {
            folder,
            repository,
            interrupt,
            _lock: lock,
        };
        checkout.mend().map_err(cannot)?;
        let exists = checkout.folder.exists();
        if !exists || checkout.git().ask(["rev-parse", "--git-dir"])?.is_none() {
            if exists {
                fs::remove_dir_all(&checkout.folder).map_err(cannot)?;
            }
            fs::create_dir(&checkout.folder).map_err(cannot)?;
            checkout.git().text(["init", "--quiet", "--template="])?;
        }
        Ok(checkout)
    }

    /// Where it is.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Puts a revision there and nothing else: submodules are filled, and what an earlier build left
    /// is gone. Only the folder `target` of a Cargo project stays, since Cargo tells by itself what
    /// is up to date. `arm` is for the sentence and the reference that keeps the commit.
    ///
    /// # Errors
    ///
    /// [`Failure::host`]: git fails, or the working tree has changed since it was looked at.
    pub(super) fn fill(&self, arm: &str, revision: &Revision) -> Result<(), Failure> {
        let git = self.git();
        self.fetch(&git, arm, &revision.commit)?;
        if self.folder.join(".git/modules").exists() {
            git.bytes(["submodule", "--quiet", "deinit", "--all", "--force"])?;
        }
        // Before, so that nothing is in the way, and after, for what this revision does not keep.
        self.clean(&git)?;
        git.bytes([
            "checkout",
            "--quiet",
            "--force",
            "--detach",
            &revision.commit,
        ])?;
        if let Tree::WorkingTree {
            dirty_sha256: Some(known),
        } = &revision.tree
        {
            let snapshot = Snapshot::take(self.repository, &revision.commit, self.interrupt)?;
            if snapshot.sha256.as_ref() != Some(known) {
                return Err(Failure::host(
                    "the working tree changed while it was being compared; start again when it is \
                     at rest",
                ));
            }
            snapshot.carry(self.repository, &git)?;
            git.bytes(["read-tree", "--reset", "-u", &snapshot.tree])?;
        }
        submodules::fill(
            &git,
            self.repository,
            &format!("{arm} {}", revision.short()),
        )?;
        self.clean(&git)
    }

    /// Removes a file that a build made, whatever else is kept.
    ///
    /// # Errors
    ///
    /// [`Failure::host`]: git fails.
    pub(super) fn forget(&self, path: &str) -> Result<(), Failure> {
        let path = format!(":(literal){path}");
        self.git().bytes(["clean", "-ffdxq", "--", &path])?;
        Ok(())
    }

    fn git(&self) -> Git<'a> {
        let git = Git::new(&self.folder, self.interrupt);
        match self.folder.parent() {
            // Were the clone damaged, git must not find a repository around the cache.
            Some(parent) => git.with_variable("GIT_CEILING_DIRECTORIES", parent),
            None => git,
        }
    }

    /// Brings a commit and the tags, which `git describe` in a build may ask for.
    fn fetch(&self, git: &Git<'_>, arm: &str, commit: &str) -> Result<(), Failure> {
        let top = self.repository.top();
        // Submodules with relative addresses are beside the remote, not beside the user's folder.
        let users = self.repository.git(self.interrupt);
        let url = match self.repository.remote(self.interrupt)? {
            Some(remote) => users.ask(["remote", "get-url", &remote])?,
            None => None,
        };
        let url = url.map_or_else(|| top.as_os_str().to_owned(), Into::into);
        git.bytes([
            "config".as_ref(),
            "remote.origin.url".as_ref(),
            url.as_os_str(),
        ])?;
        let mut arguments = vec![
            "fetch",
            "--quiet",
            "--force",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--update-shallow",
        ];
        if !self.repository.is_shallow() && self.folder.join(".git/shallow").exists() {
            arguments.push("--unshallow");
        }
        let wanted = format!("+{commit}:refs/wiretrial/{arm}");
        let mut arguments: Vec<&std::ffi::OsStr> =
            arguments.into_iter().map(AsRef::as_ref).collect();
        arguments.extend([
            top.as_os_str(),
            wanted.as_ref(),
            "+refs/tags/*:refs/tags/*".as_ref(),
        ]);
        git.bytes(arguments)?;
        Ok(())
    }

    fn clean(&self, git: &Git<'_>) -> Result<(), Failure> {
        let mut arguments = vec!["clean", "-ffdxq"];
        if self.folder.join("Cargo.toml").exists() {
            arguments.extend(["--exclude", "/target"]);
        }
        git.bytes(arguments)?;
        Ok(())
    }

    /// Removes locks of a git that was killed; nobody else works here.
    fn mend(&self) -> io::Result<()> {
        let git = self.folder.join(".git");
        if git.is_dir() {
            remove_locks(&git)?;
        }
        Ok(())
    }
}

fn remove_locks(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_dir() {
            // Objects are many and are written without locks.
            if name != "objects" {
                remove_locks(&entry.path())?;
            }
        } else if name.as_encoded_bytes().ends_with(b".lock") {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn lock(path: &Path, interrupt: &Interrupt) -> Result<Flock<File>, Failure> {
    let cannot =
        |error: io::Error| Failure::host(format!("cannot lock {}: {error}", path.display()));
    let mut file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .map_err(cannot)?;
    let began = clock::monotonic_ns();
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(lock),
            Err((back, Errno::EWOULDBLOCK)) => file = back,
            Err((_, errno)) => return Err(cannot(errno.into())),
        }
        if u128::from(clock::monotonic_ns() - began) >= WAIT.as_nanos() {
            return Err(Failure::host(format!(
                "another comparison of this repository has held {} for {} min; wait for it or stop it",
                path.display(),
                WAIT.as_secs() / 60
            )));
        }
        interrupt.sleep(LOOK)?;
    }
}
