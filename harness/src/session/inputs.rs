//! The capture files that a campaign reads: counted, cut short, and kept under their content's
//! address, so that they cannot change under a running campaign.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wiretrial_contract::digest::sha256_file;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{Campaign, Input, Work};

use crate::executables::caches;
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
    caches(evidence_root)
        .into_iter()
        .filter_map(|cache| std::path::absolute(cache).ok())
        .map(|cache| files_in(&folder(&cache, &input.sha256)))
        .find(|files| holds(files, input))
        .ok_or_else(|| {
            Failure::host(format!(
                "{} (sha256 {}...) is in no cache any more; start a new campaign",
                input.file,
                input.sha256.get(..8).unwrap_or(&input.sha256)
            ))
        })
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err takes"
)]
fn cannot_find(error: io::Error) -> Failure {
    Failure::host(format!("cannot find this folder: {error}"))
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
    let cache = caches(evidence_root)
        .into_iter()
        .find(|cache| fs::create_dir_all(cache).is_ok())
        .unwrap_or_else(std::env::temp_dir);
    let file = tempfile::Builder::new()
        .prefix(".standard-")
        .tempfile_in(cache)
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
    let sha256 = sha256_file(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))?;
    let mut refused = None;
    for cache in caches(evidence_root) {
        let cache = std::path::absolute(&cache).map_err(cannot_find)?;
        let files = files_in(&folder(&cache, &sha256));
        match keep(file, &sha256, &files, input.short_units) {
            Ok(short_sha256) => {
                input.sha256 = sha256;
                input.units = counted.units;
                input.short_sha256 = short_sha256;
                return Ok(files);
            }
            Err(failure) => refused = Some(failure),
        }
    }
    Err(refused.expect("there is at least one cache"))
}

fn keep(from: &Path, sha256: &str, to: &InputFiles, short_units: u64) -> Result<String, Failure> {
    let cannot = |error: io::Error| {
        Failure::host(format!(
            "cannot keep {} in {}: {error}",
            from.display(),
            to.whole.display()
        ))
    };
    let folder = to.whole.parent().expect("inputs lie in a folder");
    fs::create_dir_all(folder).map_err(cannot)?;
    let part = folder.join(format!(".part-{}", std::process::id()));
    if !sha256_file(&to.whole).is_ok_and(|there| there == *sha256) {
        let copied = fs::copy(from, &part).and_then(|_| {
            // It may have changed since it was hashed.
            if sha256_file(&part)? == *sha256 {
                fs::rename(&part, &to.whole)
            } else {
                Err(io::Error::other("it changed while it was read"))
            }
        });
        if let Err(error) = copied {
            let _ = fs::remove_file(&part);
            return Err(cannot(error));
        }
    }
    let written = workload::write_short(&to.whole, &part, short_units)
        .and_then(|_| fs::rename(&part, &to.short).map_err(cannot));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written?;
    sha256_file(&to.short).map_err(cannot)
}

fn folder(cache: &Path, sha256: &str) -> PathBuf {
    cache.join("input").join(sha256)
}

fn files_in(folder: &Path) -> InputFiles {
    InputFiles {
        whole: folder.join(WHOLE),
        short: folder.join(SHORT),
    }
}
