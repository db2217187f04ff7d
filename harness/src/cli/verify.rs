//! `wiretrial verify`: recomputes evidence from its plan and rows.

use std::path::{Path, PathBuf};

use clap::Args;
use wiretrial_contract::failure::Failure;

use super::output;
use crate::evidence::folder::{self, Folder, PLAN, ROOT};
use crate::evidence::verify;

/// Recompute chain, order, ledgers, intervals, verdicts and reports from the rows, and every file's
/// hash.
/// Ends with 5 at the first difference.
///
/// Example: wiretrial verify evidence/latest
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The evidence folder; when left out the current folder if it is one, else the newest
    folder: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let path = match &arguments.folder {
        Some(path) => path.clone(),
        None if Path::new(PLAN).is_file() => PathBuf::from("."),
        None => folder::latest(Path::new(ROOT))?,
    };
    let folder = Folder::open(&folder::resolved(&path))?;
    let done = verify::verify(&folder)?;
    let shown = folder.path().display();
    output::data(&format!(
        "{shown}: {} rows, {} ledgers, {} intervals, {} verdicts, {} files: equal\n",
        done.rows, done.ledgers, done.intervals, done.verdicts, done.files
    ))
}
