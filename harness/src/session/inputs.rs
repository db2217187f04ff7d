//! The capture files that a campaign reads: counted, cut short, and kept under their content's
//! address, so that they cannot change under a running campaign.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wiretrial_contract::digest::sha256_file;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{Campaign, Input, Work};

use crate::cache::{self, Kind};
use crate::trial::setting::InputFiles;
use crate::workload;

/// Seed of standard inputs: they are the same on every host and in every campaign.
const STANDARD_SEED: u64 = 0x5eed;
/// Name of an input, and of its first packets, in its folder in the cache.
const WHOLE: &str = "input";
const SHORT: &str = "input-short";

/// Reads the file of every case that has one, fills in what it holds, and keeps it.
///
/// # Errors
///
/// A file is no capture file or too short (exit 2), or cannot be kept (exit 3).
pub(super) fn read(
    campaign: &mut Campaign,
    files: &[PathBuf],
    evidence_root: &Path,
) -> Result<Vec<Option<InputFiles>>, Failure> {
    let mut kept = Vec::new();
    for (index, case) in campaign.cases.iter_mut().enumerate() {
        let input = match &mut case.work {
            Work::Live(_) => None,
            Work::Passes(passes) => passes.input.as_mut(),
        };
        let Some(input) = input else {
            kept.push(None);
            continue;
        };
        let file = files.get(index).ok_or_else(|| {
            Failure::usage(format!("case {}: workload.file is not set", case.name))
        })?;
        kept.push(Some(
            match workload::parse_standard(&file.to_string_lossy()) {
                Some(standard) => written(input, &standard?, evidence_root)?,
                None => one(input, file, evidence_root)?,
            },
        ));
    }
    Ok(kept)
}

/// Looks at the file of every case that has one, before anything is built or kept.
///
/// # Errors
///
/// A file is no capture file, or no standard input has that name (exit 2).
pub(crate) fn check(campaign: &Campaign, files: &[PathBuf]) -> Result<(), Failure> {
    for (case, file) in campaign.cases.iter().zip(files) {
        if case.passes().is_none_or(|passes| passes.input.is_none()) {
            continue;
        }
        match workload::parse_standard(&file.to_string_lossy()) {
            Some(standard) => standard.map(drop)?,
            None => workload::count(file).map(drop)?,
        }
    }
    Ok(())
}

/// Finds the inputs of a sealed campaign again.
///
/// # Errors
///
/// One is in no cache any more (exit 3).
pub(super) fn again(
    campaign: &Campaign,
    evidence_root: &Path,
) -> Result<Vec<Option<InputFiles>>, Failure> {
    let inputs = campaign
        .cases
        .iter()
        .map(|case| case.passes().and_then(|passes| passes.input.as_ref()));
    inputs
        .map(|input| input.map(|input| find(input, evidence_root)).transpose())
        .collect()
}

fn find(input: &Input, evidence_root: &Path) -> Result<InputFiles, Failure> {
    cache::find(evidence_root, Kind::Input, &input.sha256)
        .map(|folder| files_in(&folder))
        .filter(|files| holds(files, input))
        .ok_or_else(|| {
            Failure::host(format!(
                "{} (sha256 {}...) is in no cache any more; start a new campaign",
                input.file,
                input.sha256.get(..8).unwrap_or(&input.sha256)
            ))
        })
}

fn holds(files: &InputFiles, input: &Input) -> bool {
    let is = |path: &Path, hash: &str| sha256_file(path).is_ok_and(|there| there == hash);
    is(&files.whole, &input.sha256) && is(&files.short, &input.short_sha256)
}

/// A standard input, written anew: the same bytes on every host.
fn written(
    input: &mut Input,
    standard: &workload::Standard,
    evidence_root: &Path,
) -> Result<InputFiles, Failure> {
    let cannot =
        |error: io::Error| Failure::host(format!("cannot write the input {}: {error}", input.file));
    let file = tempfile::Builder::new()
        .prefix(".standard-")
        .tempfile_in(cache::writable(evidence_root)?)
        .map_err(cannot)?;
    standard.write(STANDARD_SEED, file.path())?;
    one(input, file.path(), evidence_root)
}

fn one(input: &mut Input, file: &Path, evidence_root: &Path) -> Result<InputFiles, Failure> {
    let counted = workload::count(file)?;
    if counted.units <= input.short_units {
        return Err(Failure::usage(format!(
            "{} has {} packets; more than {} are needed, since a run over that many shows what \
             starting costs",
            input.file, counted.units, input.short_units
        )));
    }
    input.units = counted.units;
    input.sha256 = hash(file)?;
    let cache = cache::writable(evidence_root)?;
    let whole = cache::keep(&cache, Kind::Input, file, WHOLE.as_ref(), &input.sha256)?;
    let short = cache::address(&cache, Kind::Input, &input.sha256).join(SHORT);
    // Written aside and renamed: another campaign may be about to read the same file.
    let part = short.with_extension(std::process::id().to_string());
    let written = workload::write_short(&whole, &part, input.short_units).and_then(|_| {
        fs::rename(&part, &short)
            .map_err(|error| Failure::host(format!("{}: {error}", short.display())))
    });
    if written.is_err() {
        // Half a file is of no use; the error that matters is the one above.
        let _ = fs::remove_file(&part);
    }
    written?;
    input.short_sha256 = hash(&short)?;
    Ok(InputFiles { whole, short })
}

fn hash(file: &Path) -> Result<String, Failure> {
    sha256_file(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))
}

fn files_in(folder: &Path) -> InputFiles {
    InputFiles {
        whole: folder.join(WHOLE),
        short: folder.join(SHORT),
    }
}
