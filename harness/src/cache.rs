//! Files kept under their content's address, `<cache>/<kind>/<sha256>/<name>`: they cannot change
//! under a running campaign, and a resumed one finds them again.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use wiretrial_contract::digest::sha256_file;
use wiretrial_contract::failure::Failure;

use crate::root;

/// What is kept: executables, and capture files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Executable,
    Input,
}

impl Kind {
    const fn folder(self) -> &'static str {
        match self {
            Self::Executable => "bin",
            Self::Input => "input",
        }
    }

    const fn mode(self) -> u32 {
        match self {
            Self::Executable => 0o755,
            Self::Input => 0o644,
        }
    }
}

/// The first cache that can be written: the user's (XDG Base Directory Specification), else one beside
/// the evidence.
///
/// # Errors
///
/// Neither can (exit 3).
pub(crate) fn writable(evidence_root: &Path) -> Result<PathBuf, Failure> {
    let can =
        |cache: &PathBuf| fs::create_dir_all(cache).is_ok() && tempfile::tempfile_in(cache).is_ok();
    if let Some(cache) = users().filter(can) {
        return Ok(cache);
    }
    // In an ignored folder: else a repository that is measured would take the cache for its own.
    let made = root::make(evidence_root);
    let beside = beside(evidence_root).filter(|cache| made.is_ok() && can(cache));
    beside.ok_or_else(|| {
        Failure::host(
            "no folder for kept files can be written; set XDG_CACHE_HOME to one that can be",
        )
    })
}

/// The folder of what has this content, in whichever cache has one.
pub(crate) fn find(evidence_root: &Path, kind: Kind, sha256: &str) -> Option<PathBuf> {
    [users(), beside(evidence_root)]
        .into_iter()
        .flatten()
        .map(|cache| address(&cache, kind, sha256))
        .find(|folder| folder.is_dir())
}

/// Where the content with this hash lies in a cache.
pub(crate) fn address(cache: &Path, kind: Kind, sha256: &str) -> PathBuf {
    cache.join(kind.folder()).join(sha256)
}

/// Copies a file to its address, unless it is there already with that content.
///
/// # Errors
///
/// It cannot be read or kept, or has another content by now (exit 3).
pub(crate) fn keep(
    cache: &Path,
    kind: Kind,
    file: &Path,
    name: &OsStr,
    sha256: &str,
) -> Result<PathBuf, Failure> {
    let folder = address(cache, kind, sha256);
    copy(file, &folder, name, sha256, kind.mode()).map_err(|error| {
        Failure::host(format!(
            "cannot keep {} in {}: {error}",
            file.display(),
            folder.display()
        ))
    })
}

fn copy(from: &Path, folder: &Path, name: &OsStr, sha256: &str, mode: u32) -> io::Result<PathBuf> {
    let is = |path: &Path| sha256_file(path).is_ok_and(|there| there == sha256);
    let to = folder.join(name);
    if is(&to) {
        return Ok(to);
    }
    fs::create_dir_all(folder)?;
    // Written aside and renamed: another campaign may be about to use the same file.
    let part = folder.join(format!(".part-{}", std::process::id()));
    let copied = fs::copy(from, &part).and_then(|_| {
        if !is(&part) {
            return Err(io::Error::other("it changed while it was read"));
        }
        fs::set_permissions(&part, fs::Permissions::from_mode(mode))?;
        fs::rename(&part, &to)
    });
    if copied.is_err() {
        // Half a copy is of no use; the error that matters is the one above.
        let _ = fs::remove_file(&part);
    }
    copied.map(|()| to)
}

/// The user's cache.
pub(crate) fn users() -> Option<PathBuf> {
    let var = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    var("XDG_CACHE_HOME")
        .or_else(|| var("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("wiretrial"))
}

/// The cache beside the evidence, as seen from anywhere.
fn beside(evidence_root: &Path) -> Option<PathBuf> {
    std::path::absolute(evidence_root.join(".cache")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_has_its_contents_address_and_is_replaced_when_damaged() {
        let root = tempfile::tempdir().unwrap();
        let source = root.path().join("tool");
        fs::write(&source, b"one").unwrap();
        let sha256 = sha256_file(&source).unwrap();
        let keep = || {
            keep(
                root.path(),
                Kind::Executable,
                &source,
                "tool".as_ref(),
                &sha256,
            )
        };
        let kept = keep().unwrap();
        assert_eq!(kept, root.path().join("bin").join(&sha256).join("tool"));
        fs::write(&kept, b"damaged").unwrap();
        keep().unwrap();
        assert_eq!(fs::read(&kept).unwrap(), b"one");
        assert_eq!(fs::read_dir(kept.parent().unwrap()).unwrap().count(), 1);
        fs::write(&source, b"two").unwrap();
        fs::remove_file(&kept).unwrap();
        let failure = keep().unwrap_err();
        assert_eq!(failure.code, 3);
        assert!(failure.message.contains("it changed"), "{failure}");
        assert_eq!(fs::read_dir(kept.parent().unwrap()).unwrap().count(), 0);
    }
}
