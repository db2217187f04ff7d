//! `wiretrial verify`: recomputes evidence from its plan and rows.

use std::path::{Path, PathBuf};

use clap::Args;

use super::output;
use crate::evidence::folder::{self, Folder, ROOT};
use crate::evidence::verify;
use wiretrial_contract::failure::Failure;

/// Recompute chain, order, ledgers, intervals and verdicts from the rows, and every file's hash.
/// Ends with 5 at the first difference.
///
/// Example: wiretrial verify evidence/latest
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The evidence folder; the newest one when left out
    folder: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let path = match &arguments.folder {
        Some(path) => path.clone(),
        None => folder::latest(Path::new(ROOT))?,
    };
    let done = verify::verify(&Folder::open(&path)?)?;
    output::data(&format!(
        "{} rows, {} ledgers, {} intervals, {} verdicts, {} files: equal\n",
        done.rows, done.ledgers, done.intervals, done.verdicts, done.files
    ))
}
