//! Which executables run: found beside this one, kept under their content's address.
//!
//! A copy at `<cache>/bin/<sha256>/<name>` cannot change under a running campaign, and paths of
//! both arms are equally long, so that argv and the stack are laid out alike.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use wiretrial_contract::control::Isolation;
use wiretrial_contract::digest::{sha256_file, sha256_self};
use wiretrial_contract::failure::Failure;

use crate::trial::setting::{Program, Programs};

/// Generator and receiver packages, which are also the names of their executables.
const GENERATOR: &str = "wiretrial-generator";
const RECEIVER: &str = "wiretrial-receiver";

/// Executables the user named instead of the ones beside this one.
#[derive(Debug, Clone, Default)]
pub struct Named {
    /// `--generator-binary`.
    pub generator: Option<PathBuf>,
    /// `--receiver-binary`.
    pub receiver: Option<PathBuf>,
}

/// Executables that were found, before they are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The generator.
    pub generator: PathBuf,
    /// The receiver.
    pub receiver: PathBuf,
    /// SHA-256 of the receiver.
    pub receiver_sha256: String,
}

/// Finds the executables of a campaign whose arms all run the built-in receiver.
///
/// # Errors
///
/// One is missing or cannot be read (exit 3).
pub fn find(named: &Named) -> Result<Found, Failure> {
    let receiver = found(named.receiver.as_deref(), RECEIVER)?;
    Ok(Found {
        generator: found(named.generator.as_deref(), GENERATOR)?,
        receiver_sha256: hashed(&receiver)?.sha256,
        receiver,
    })
}

impl Found {
    /// Keeps them under their content's address. Without isolation and without root they run in
    /// place: a copy would lose its file capabilities (capabilities(7)).
    ///
    /// # Errors
    ///
    /// One cannot be read or kept (exit 3).
    pub fn keep(
        &self,
        arms: usize,
        isolation: Isolation,
        evidence_root: &Path,
    ) -> Result<Programs, Failure> {
        let in_place = isolation == Isolation::None && !nix::unistd::geteuid().is_root();
        let keep = |path: &Path| {
            if in_place {
                hashed(path)
            } else {
                kept(path, evidence_root)
            }
        };
        let receiver = keep(&self.receiver)?;
        Ok(Programs {
            generator: keep(&self.generator)?,
            receivers: vec![receiver; arms],
            outside: vec![None; arms],
        })
    }
}

/// SHA-256 of this executable.
///
/// # Errors
///
/// It cannot be read (exit 3).
pub fn own_sha256() -> Result<String, Failure> {
    sha256_self().map_err(|error| Failure::host(format!("cannot read this executable: {error}")))
}

fn found(named: Option<&Path>, name: &str) -> Result<PathBuf, Failure> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => std::env::current_exe()
            .map_err(|error| Failure::host(format!("cannot find this executable: {error}")))?
            .with_file_name(name),
    };
    if path.is_file() {
        return Ok(path);
    }
    Err(Failure::host(format!(
        "no executable {}; cargo build --release -p {name} makes it",
        path.display()
    )))
}

fn hashed(path: &Path) -> Result<Program, Failure> {
    let sha256 = sha256_file(path)
        .map_err(|error| Failure::host(format!("cannot read {}: {error}", path.display())))?;
    Ok(Program {
        path: path.to_owned(),
        sha256,
    })
}

/// Copies an executable to its address, unless it is there already with that content.
fn kept(path: &Path, evidence_root: &Path) -> Result<Program, Failure> {
    let Program { sha256, .. } = hashed(path)?;
    let mut refused = None;
    for cache in caches(evidence_root) {
        match keep_in_cache(&cache, path, &sha256) {
            Ok(path) => return Ok(Program { path, sha256 }),
            Err(failure) => refused = Some(failure),
        }
    }
    Err(refused.expect("there is at least one cache"))
}

/// Copies an executable to its address in one cache, unless it is there already with that content.
///
/// # Errors
///
/// It cannot be read or kept (exit 3).
pub(crate) fn keep_in_cache(cache: &Path, path: &Path, sha256: &str) -> Result<PathBuf, Failure> {
    let folder = cache.join("bin").join(sha256);
    let name = path.file_name().unwrap_or(path.as_os_str());
    keep_in(&folder, path, name, sha256).map_err(|error| {
        Failure::host(format!(
            "cannot keep {} in {}: {error}",
            path.display(),
            folder.display()
        ))
    })
}

fn keep_in(
    folder: &Path,
    from: &Path,
    name: &std::ffi::OsStr,
    sha256: &str,
) -> io::Result<PathBuf> {
    let to = folder.join(name);
    if sha256_file(&to).is_ok_and(|there| there == *sha256) {
        return Ok(to);
    }
    fs::create_dir_all(folder)?;
    // Written aside and renamed: another campaign may be about to run the same file.
    let part = folder.join(format!(".part-{}", std::process::id()));
    let copied = fs::copy(from, &part)
        .and_then(|_| fs::set_permissions(&part, fs::Permissions::from_mode(0o755)))
        .and_then(|()| fs::rename(&part, &to));
    if copied.is_err() {
        // Half a copy is of no use; the error that matters is the one above.
        let _ = fs::remove_file(&part);
    }
    copied.map(|()| to)
}

/// Where kept executables may live, first choice first: the user's cache, else beside the evidence.
pub(crate) fn caches(evidence_root: &Path) -> Vec<PathBuf> {
    let var = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let users = var("XDG_CACHE_HOME").or_else(|| var("HOME").map(|home| home.join(".cache")));
    users
        .map(|cache| cache.join("wiretrial"))
        .into_iter()
        .chain([evidence_root.join(".cache")])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_executable_has_its_contents_address_and_is_replaced_when_damaged() {
        let root = tempfile::tempdir().unwrap();
        let source = root.path().join("tool");
        fs::write(&source, b"one").unwrap();
        let sha256 = sha256_file(&source).unwrap();
        let folder = root.path().join("bin").join(&sha256);
        let kept = keep_in(&folder, &source, "tool".as_ref(), &sha256).unwrap();
        assert_eq!(kept, folder.join("tool"));
        fs::write(&kept, b"damaged").unwrap();
        keep_in(&folder, &source, "tool".as_ref(), &sha256).unwrap();
        assert_eq!(fs::read(&kept).unwrap(), b"one");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_executable_names_the_command_that_makes_it() {
        let failure = found(Some(Path::new("/nowhere/x")), GENERATOR).unwrap_err();
        assert_eq!(failure.code, 3);
        assert!(
            failure
                .message
                .contains("cargo build --release -p wiretrial-generator")
        );
    }
}
