//! The evidence root: the folder under which campaigns put their evidence, and what is kept beside it.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The evidence root where none is given.
pub const ROOT: &str = "evidence";
/// What git must not take for part of the user's work, in the evidence root.
const IGNORE: &str = ".gitignore";

/// A path as it is said from the working directory: `./evidence/x`, or the absolute path of the same,
/// is `evidence/x`. One that leads elsewhere stays as it is.
#[must_use]
pub fn relative(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let below = path.strip_prefix(&here).unwrap_or(path);
    let said = below.components();
    let said: PathBuf = said.filter(|part| *part != Component::CurDir).collect();
    if said.as_os_str().is_empty() {
        return path.to_owned();
    }
    said
}

/// Makes the evidence root, which git ignores: evidence is written where people work, and a working
/// tree that is compared must not change by it. One that is there stays as it is.
///
/// # Errors
///
/// It cannot be made.
pub fn make(root: &Path) -> io::Result<()> {
    if root.exists() {
        return Ok(());
    }
    fs::create_dir_all(root)?;
    fs::write(root.join(IGNORE), "*\n")
}

/// Removes an evidence root in which there is nothing.
pub fn leave(root: &Path) {
    let mut names = fs::read_dir(root).into_iter().flatten().flatten();
    if names.all(|entry| entry.file_name() == IGNORE) {
        // What cannot be removed does no harm.
        let _ = fs::remove_file(root.join(IGNORE));
        let _ = fs::remove_dir(root);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_place_is_said_the_same_way() {
        let here = std::env::current_dir().unwrap();
        for path in [
            PathBuf::from("evidence/x"),
            "./evidence/./x".into(),
            here.join("evidence/x"),
        ] {
            assert_eq!(
                relative(&path),
                Path::new("evidence/x"),
                "{}",
                path.display()
            );
        }
        assert_eq!(
            relative(Path::new("/elsewhere/x")),
            Path::new("/elsewhere/x")
        );
        assert_eq!(relative(Path::new("../x")), Path::new("../x"));
        assert_eq!(relative(Path::new(".")), Path::new("."));
    }
}
