//! The evidence root: the folder under which campaigns put their evidence, and what is kept beside it.

use std::fs;
use std::io;
use std::path::Path;

/// The evidence root where none is given.
pub const ROOT: &str = "evidence";
/// What git must not take for part of the user's work, in the evidence root.
const IGNORE: &str = ".gitignore";

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
