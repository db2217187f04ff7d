//! One archive of an evidence folder, and back: gzip around tar, as tar(1) reads it.
//!
//! The same evidence gives the same bytes: names sorted, no times, no owners. Nothing is packed that
//! does not verify or that tells where it was made; `private.json` stays behind.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};

use flate2::{Compression, GzBuilder, bufread::GzDecoder};
use tar::{Archive, Builder, EntryType, Header};
use tempfile::TempDir;
use wiretrial_contract::failure::Failure;

use super::folder::{Folder, PLAN, PRIVATE, SUMS};
use super::privacy::{self, Kind, Private};
use super::regular;
use super::verify::{self, Verified};

/// How packed evidence is called at its end.
pub const ENDING: &str = ".tar.gz";
/// The first bytes of gzip (RFC 1952 section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Files an archive may hold.
const MOST_FILES: usize = 10_000;
/// Bytes of all of them. A row is some 10 kB.
const MOST_BYTES: u64 = 4 << 30;
/// Bytes of a name.
const LONGEST_NAME: usize = 200;

/// What was packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// The archive.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Files in it.
    pub files: usize,
    /// What was recomputed before.
    pub verified: Verified,
    /// Private strings too short to be searched for.
    pub unsearched: Vec<Kind>,
}

/// Packs the evidence in `folder` into `out`, else into `<campaign>-<plan, 8 digits>.tar.gz` here, or
/// beside the folder where here is inside it.
/// Strings in `public` are not private though they look so.
///
/// # Errors
///
/// The archive exists or would lie in the evidence (exit 2); the evidence does not verify (exit 5, or 4
/// when it is not finished); it holds a private string (exit 4), with the file, the place and what it
/// tells.
pub fn pack(folder: &Folder, out: Option<&Path>, public: &[String]) -> Result<Packed, Failure> {
    let (plan, plan_sha256) = folder.plan()?;
    let name = format!("{}-{}", plan.campaign.name, &plan_sha256[..8]);
    let path = match out {
        Some(out) if inside(folder, out)? => {
            return Err(Failure::usage(format!(
                "--out {} lies in the evidence, which it would change; --out a file elsewhere",
                out.display()
            )));
        }
        Some(out) => out.to_owned(),
        None => {
            let here = PathBuf::from(format!("{name}{ENDING}"));
            if inside(folder, &here)? {
                folder.path().join("..").join(here)
            } else {
                here
            }
        }
    };
    if path.exists() {
        return Err(Failure::usage(format!(
            "{} exists; nothing is overwritten. --out another file",
            path.display()
        )));
    }
    let verified = verify::verify(folder)?;
    let private = Private::of(folder)?.without(public);
    let mut names = folder.files()?;
    names.push(SUMS.to_owned());
    names.sort();
    // The plan first: what stands in it comes again in what is made from it.
    for name in std::iter::once(PLAN).chain(names.iter().map(String::as_str)) {
        refuse_private(folder, name, &private)?;
    }
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .and_then(|file| {
            let written = write(folder, &name, &names, &file);
            if written.is_err() {
                // Half an archive is of no use.
                let _ = fs::remove_file(&path);
            }
            written.and_then(|()| Ok(file.metadata()?.len()))
        });
    let bytes = written.map_err(|error| {
        Failure::evidence(format!("{} could not be written: {error}", path.display()))
    })?;
    Ok(Packed {
        path,
        bytes,
        files: names.len(),
        verified,
        unsearched: private.too_short().to_vec(),
    })
}

/// Whether a file would lie in the evidence. One in a folder that is not there lies nowhere yet.
fn inside(folder: &Folder, file: &Path) -> Result<bool, Failure> {
    let cannot = |error| Failure::evidence(format!("{}: {error}", folder.path().display()));
    let evidence = folder.path().canonicalize().map_err(cannot)?;
    let parent = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    Ok(parent
        .canonicalize()
        .is_ok_and(|parent| parent.starts_with(evidence)))
}

fn refuse_private(folder: &Folder, name: &str, private: &Private) -> Result<(), Failure> {
    if let Some(found) = private.found_in(name.as_bytes()) {
        return Err(Failure::evidence(format!(
            "the name of a file in the evidence holds {}; rename what it is called after and run \
             again, or allow it with --public TEXT",
            found.kind.name()
        )));
    }
    match privacy::search(folder, name, private)? {
        None => Ok(()),
        Some(found) => Err(Failure::evidence(format!(
            "{name} holds {} ({}), so nothing was packed; a campaign with other settings would not \
             hold it, and --public TEXT allows what is not private",
            found.kind.name(),
            found.place
        ))),
    }
}

fn write(folder: &Folder, root: &str, names: &[String], out: &File) -> io::Result<()> {
    let gzip = GzBuilder::new().mtime(0).write(out, Compression::default());
    let mut archive = Builder::new(gzip);
    for name in names {
        let file = regular::open(&folder.path().join(name)).map_err(io::Error::other)?;
        let size = file.metadata()?.len();
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::Regular);
        header.set_size(size);
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        archive.append_data(&mut header, format!("{root}/{name}"), file.take(size))?;
    }
    let mut out = archive.into_inner()?.finish()?;
    out.flush()?;
    out.sync_all()
}

/// Evidence that was unpacked; gone when this is dropped.
#[derive(Debug)]
pub struct Unpacked {
    folder: Folder,
    _root: TempDir,
}

impl Unpacked {
    /// The folder.
    #[must_use]
    pub const fn folder(&self) -> &Folder {
        &self.folder
    }
}

/// Whether a path is an archive rather than a folder.
#[must_use]
pub fn is_packed(path: &Path) -> bool {
    let mut first = [0; 2];
    path.is_file()
        && File::open(path)
            .and_then(|mut file| file.read_exact(&mut first))
            .is_ok_and(|()| first == GZIP)
}

/// Unpacks an archive into a folder of the user's own, which nobody else may read.
///
/// # Errors
///
/// Exit 5: it is no archive of evidence, or holds what no such archive does: another kind of file than
/// a regular one, a name that leads out of the folder or that stands twice, too many or too large files.
/// Exit 4: there is no room for it.
pub fn unpack(path: &Path) -> Result<Unpacked, Failure> {
    let shown = path.display();
    let cannot = |error: io::Error| Failure::evidence(format!("{shown}: {error}"));
    let root = tempfile::tempdir().map_err(cannot)?;
    let folder = root.path().join("evidence");
    let file = File::open(path).map_err(cannot)?;
    // One byte more than allowed shows that there is more.
    let mut archive = Archive::new(GzDecoder::new(BufReader::new(file)).take(MOST_BYTES + 1));
    let broken = |error: io::Error| Failure::mismatch(format!("{shown} is damaged: {error}"));
    let refused = |why: String| Failure::mismatch(format!("{shown} is no packed evidence: {why}"));
    let mut admitted = Admitted::default();
    // Raw: a long name in an entry of its own would be read into memory whatever its length.
    for entry in archive.entries().map_err(broken)?.raw(true) {
        let mut entry = entry.map_err(broken)?;
        let (size, kind) = (entry.size(), entry.header().entry_type());
        let name = admitted
            .name(&entry.path_bytes(), kind, size)
            .map_err(refused)?;
        let to = folder.join(&name);
        let parent = to.parent().unwrap_or(&folder);
        fs::create_dir_all(parent).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                refused(format!("{name} lies in a file"))
            }
            _ => cannot(error),
        })?;
        let mut out = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&to)
            .map_err(|error| refused(format!("{name}: {error}")))?;
        if copy(&mut entry, &mut out, broken, cannot)? != size {
            return Err(refused(format!("{name} ends early")));
        }
    }
    let mut rest = Vec::new();
    let mut inner = archive.into_inner();
    let after = inner.by_ref().take(1 << 20).read_to_end(&mut rest);
    if after.map_err(broken)? > 0 && rest.iter().any(|byte| *byte != 0) {
        return Err(refused("something stands behind its end".into()));
    }
    let mut behind = inner.into_inner().into_inner();
    if !behind.fill_buf().map_err(cannot)?.is_empty() {
        return Err(refused("something stands behind its end".into()));
    }
    let folder = Folder::open(&folder).map_err(|failure| {
        Failure::mismatch(format!("{shown} is no packed evidence: {}", bare(&failure)))
    })?;
    Ok(Unpacked {
        folder,
        _root: root,
    })
}

/// Bytes from an archive to a file, telling a damaged one from a full disk.
fn copy(
    from: &mut impl Read,
    to: &mut impl Write,
    damaged: impl Fn(io::Error) -> Failure,
    cannot: impl Fn(io::Error) -> Failure,
) -> Result<u64, Failure> {
    let mut buffer = [0; 1 << 16];
    let mut bytes = 0;
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok(bytes),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(damaged(error)),
        };
        to.write_all(&buffer[..read]).map_err(&cannot)?;
        bytes += read as u64;
    }
}

/// What was taken from an archive so far.
#[derive(Debug, Default)]
struct Admitted {
    top: Option<String>,
    names: BTreeSet<String>,
    bytes: u64,
}

impl Admitted {
    /// The name below the folder of an entry that may be written there, else why not.
    fn name(&mut self, path: &[u8], kind: EntryType, size: u64) -> Result<String, String> {
        let (top, name) = named(path)?;
        if *self.top.get_or_insert_with(|| top.clone()) != top {
            return Err("it holds several folders".into());
        }
        if kind != EntryType::Regular {
            return Err(format!("{name} is not a regular file"));
        }
        if name == PRIVATE {
            return Err(format!("{PRIVATE} is never packed"));
        }
        if !self.names.insert(name.clone()) {
            return Err(format!("{name} stands twice in it"));
        }
        self.bytes = self.bytes.saturating_add(size);
        if self.names.len() > MOST_FILES || self.bytes > MOST_BYTES {
            let gib = MOST_BYTES >> 30;
            return Err(format!("more than {MOST_FILES} files or {gib} GiB"));
        }
        Ok(name)
    }
}

/// The sentence without the temporary folder's name.
fn bare(failure: &Failure) -> &str {
    failure
        .message
        .split_once("folder: ")
        .map_or(failure.message.as_str(), |(_, why)| why)
}

/// The folder that an entry lies in and its name there.
fn named(bytes: &[u8]) -> Result<(String, String), String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "a name is not text".to_owned())?;
    let plain = |part: Component<'_>| match part {
        Component::Normal(part) => part.to_str().map(str::to_owned),
        _ => None,
    };
    let parts: Option<Vec<String>> = Path::new(text).components().map(plain).collect();
    match parts.as_deref() {
        Some([top, rest @ ..])
            if !rest.is_empty()
                && text.len() <= LONGEST_NAME
                && !text.contains(|c: char| c.is_control()) =>
        {
            Ok((top.clone(), rest.join("/")))
        }
        _ => Err(format!(
            "the name {} leads elsewhere",
            wiretrial_contract::control::quote(text)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive of these entries, as somebody else might write it.
    fn archive(entries: &[(&str, EntryType, &[u8])]) -> (TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x.tar.gz");
        let gzip = GzBuilder::new().write(File::create(&path).unwrap(), Compression::fast());
        let mut builder = Builder::new(gzip);
        for (name, kind, bytes) in entries {
            let mut header = Header::new_gnu();
            // Names that a writer refuses.
            let field = &mut header.as_old_mut().name;
            field[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(*kind);
            header.set_size(bytes.len() as u64);
            if *kind == EntryType::Symlink {
                header.set_link_name("/etc/passwd").unwrap();
            }
            header.set_cksum();
            builder.append(&header, *bytes).unwrap();
        }
        builder.into_inner().unwrap().finish().unwrap();
        (root, path)
    }

    fn refused(entries: &[(&str, EntryType, &[u8])]) -> String {
        let (_root, path) = archive(entries);
        let failure = unpack(&path).unwrap_err();
        assert_eq!(failure.code, 5);
        let shown = path.display().to_string();
        failure.message.replace(&shown, "X")
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in [
            "/etc/passwd",
            "../x",
            "x/../../y",
            "x/..",
            "plan.json",
            "./x/plan.json",
            "x/a\nb",
        ] {
            let said = refused(&[(name, EntryType::Regular, b"x")]);
            assert!(
                said.starts_with("X is no packed evidence: the name"),
                "{name}: {said}"
            );
        }
    }

    #[test]
    fn links_devices_and_doubles_are_refused() {
        for kind in [
            EntryType::Symlink,
            EntryType::Link,
            EntryType::Char,
            EntryType::Fifo,
            EntryType::Directory,
            EntryType::GNULongName,
            EntryType::XHeader,
        ] {
            let said = refused(&[("x/plan.json", kind, b"")]);
            assert_eq!(
                said,
                "X is no packed evidence: plan.json is not a regular file"
            );
        }
        let regular = EntryType::Regular;
        assert_eq!(
            refused(&[("x/a", regular, b"1"), ("x/a", regular, b"2")]),
            "X is no packed evidence: a stands twice in it"
        );
        assert_eq!(
            refused(&[("x/a", regular, b"1"), ("y/b", regular, b"2")]),
            "X is no packed evidence: it holds several folders"
        );
        assert_eq!(
            refused(&[("x/private.json", regular, b"1")]),
            "X is no packed evidence: private.json is never packed"
        );
        assert_eq!(
            refused(&[("x/a", regular, b"1")]),
            "X is no packed evidence: it has no plan.json"
        );
    }

    #[test]
    fn a_size_beyond_all_bounds_is_refused_before_it_is_read() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x.tar.gz");
        let mut gzip = GzBuilder::new().write(File::create(&path).unwrap(), Compression::fast());
        let mut header = Header::new_gnu();
        header.set_path("x/plan.json").unwrap();
        header.set_size(MOST_BYTES + 1);
        header.set_cksum();
        gzip.write_all(header.as_bytes()).unwrap();
        gzip.write_all(&[0; 512]).unwrap();
        gzip.finish().unwrap();
        let failure = unpack(&path).unwrap_err();
        assert!(
            failure.message.ends_with("more than 10000 files or 4 GiB"),
            "{failure}"
        );
    }

    #[test]
    fn what_is_cut_or_no_archive_is_damaged() {
        let (_root, path) = archive(&[("x/plan.json", EntryType::Regular, &[b'x'; 4_000])]);
        let whole = fs::read(&path).unwrap();
        for length in [2, 10, whole.len() / 2, whole.len() - 1] {
            fs::write(&path, &whole[..length]).unwrap();
            let failure = unpack(&path).unwrap_err();
            assert_eq!(failure.code, 5, "{length}: {failure}");
        }
        fs::write(&path, b"\x1f\x8bnothing of the kind").unwrap();
        assert!(is_packed(&path));
        assert!(unpack(&path).unwrap_err().message.contains(" is damaged: "));
        fs::write(&path, b"{}").unwrap();
        assert!(!is_packed(&path));
    }
}
