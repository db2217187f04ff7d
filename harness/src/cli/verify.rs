//! `wiretrial verify`: recomputes evidence from its plan and rows.

use std::path::{Path, PathBuf};

use clap::Args;
use wiretrial_contract::failure::Failure;

use super::output;
use crate::evidence::folder::{self, Folder, PLAN};
use crate::evidence::{pack, verify};
use crate::root::ROOT;

/// Recompute chain, order, ledgers, intervals, verdicts and reports from the rows, and every file's
/// hash.
/// Ends with 5 at the first difference.
///
/// Examples: wiretrial verify evidence/latest; wiretrial verify result.tar.gz
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The evidence folder or packed evidence; when left out the current folder if it is one, else the
    /// newest
    folder: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let path = chosen(arguments.folder.as_deref())?;
    let (shown, done) = if pack::is_packed(&path) {
        let unpacked = pack::unpack(&path)?;
        (path, verify::verify(unpacked.folder())?)
    } else {
        let folder = Folder::open(&folder::resolved(&path))?;
        let done = verify::verify(&folder)?;
        (folder.path().to_owned(), done)
    };
    output::data(&format!(
        "{}: {} rows, {} ledgers, {} intervals, {} verdicts, {} files: equal\n",
        shown.display(),
        done.rows,
        done.ledgers,
        done.intervals,
        done.verdicts,
        done.files
    ))
}

/// The evidence that is meant where none may be named.
///
/// # Errors
///
/// There is none (exit 2).
pub(super) fn chosen(named: Option<&Path>) -> Result<PathBuf, Failure> {
    match named {
        Some(path) => Ok(path.to_owned()),
        None if Path::new(PLAN).is_file() => Ok(PathBuf::from(".")),
        None => folder::latest(Path::new(ROOT)),
    }
}
