//! The end of a campaign: its rows judged, and everything derived from them written, the hashes last.
//! What was written before a crash is written over.

use std::fs;
use std::path::Path;

use wiretrial_contract::analysis::Analysis;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::Plan;
use wiretrial_contract::record::TrialRecord;

use super::folder::{ANALYSIS, Folder, LOGS};
use super::json::pretty;
use super::{privacy, recompute, reports, rows};
use crate::judge;

/// Judges the rows of a sealed plan and writes analysis, reports and hashes. `host` is the host's class
/// in four digits and in words.
///
/// # Errors
///
/// A file cannot be read or written (exit 4).
pub fn finish(
    folder: &Folder,
    plan: &Plan,
    plan_sha256: &str,
    records: &[TrialRecord],
    host: (&str, &str),
) -> Result<Analysis, Failure> {
    let identity = judge::Identity {
        plan_sha256: plan_sha256.to_owned(),
        rows_sha256: folder.sha256(rows::FILE)?,
        host_class: host.0.to_owned(),
        host: host.1.to_owned(),
    };
    let analysis = judge::analyse(plan, records, &identity);
    for logs in LOGS {
        drop_empty(&folder.path().join(logs));
    }
    privacy::clean_logs(folder)?;
    folder.write(ANALYSIS, &pretty(&analysis))?;
    for (name, bytes) in reports::render(&analysis) {
        folder.write(&name, bytes.as_bytes())?;
    }
    folder.write(recompute::FILE, recompute::TEXT.as_bytes())?;
    folder.write_sums()?;
    Ok(analysis)
}

/// Removes the empty files that children who had nothing to say left.
fn drop_empty(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry
            .metadata()
            .is_ok_and(|data| data.is_file() && data.len() == 0)
        {
            // An empty file that stays is hashed like any other.
            let _ = fs::remove_file(entry.path());
        }
    }
}
