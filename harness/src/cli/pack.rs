//! `wiretrial pack`: one archive of an evidence folder, to hand on.

use std::path::PathBuf;

use clap::Args;
use wiretrial_contract::failure::Failure;

use super::output;
use super::verify::chosen;
use crate::evidence::folder::{self, Folder};
use crate::evidence::pack;

/// Pack evidence into one archive that `wiretrial verify` reads, once it verifies and tells nothing of
/// where it was made: no name of a host or user, no address, no absolute path. `private.json` is left
/// out.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wiretrial pack
  wiretrial pack evidence/latest --out result.tar.gz
  wiretrial verify result.tar.gz

Exit codes: 0 packed, 2 the archive exists or would lie in the evidence, 4 a private string was found, with the file and the place,
or the evidence is not finished, 5 it does not verify")]
pub(super) struct Arguments {
    /// The evidence folder; when left out the current folder if it is one, else the newest
    folder: Option<PathBuf>,
    /// The archive to make [default: CAMPAIGN-PLAN.tar.gz, here]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// A word that is not private, though the host or user is called so; may be repeated
    #[arg(long, value_name = "TEXT")]
    public: Vec<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let path = chosen(arguments.folder.as_deref())?;
    let folder = Folder::open(&folder::resolved(&path))?;
    let done = pack::pack(&folder, arguments.out.as_deref(), &arguments.public)?;
    output::data(&format!(
        "{}: {} files, {} rows, {} verdicts, {} bytes; check it with: wiretrial verify {0}\n",
        done.path.display(),
        done.files,
        done.verified.rows,
        done.verified.verdicts,
        done.bytes
    ))?;
    for kind in &done.unsearched {
        output::note(&format!(
            "not searched for: {}, too short to tell from other words",
            kind.name()
        ));
    }
    Ok(())
}
