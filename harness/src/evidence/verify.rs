//! Recomputes finished evidence from its plan and rows: chain, order, hashes, ledgers, intervals,
//! verdicts, reports. Floats of the analysis are compared to 1e-9 relative, all else exactly.

use serde_json::Value;
use wiretrial_contract::analysis::{ANALYSIS_SCHEMA, Analysis};
use wiretrial_contract::control::quote;
use wiretrial_contract::digest::sha256;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{PilotCase, Plan};
use wiretrial_contract::record::TrialRecord;

use super::chain::Chain;
use super::environment::{self, Environment, HOST};
use super::folder::{ANALYSIS, Folder, PILOT, PLAN, REHEARSAL, SUMS, is_log};
use super::rows;
use super::{json, recompute, replay, reports};
use crate::campaign;
use crate::judge;
use crate::pilot::{self, rehearsal};
use crate::trial::ledger;
use crate::trial::next::{Next, next};

const RELATIVE: f64 = 1e-9;

/// What was recomputed and found equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// Rows in the chain.
    pub rows: usize,
    /// Ledgers.
    pub ledgers: usize,
    /// Intervals of comparisons.
    pub intervals: usize,
    /// Verdicts of comparisons and loads.
    pub verdicts: usize,
    /// Files by their hash.
    pub files: usize,
}

/// Everything a reader derives from an evidence folder.
#[derive(Debug)]
pub struct Evidence {
    /// The sealed plan.
    pub plan: Plan,
    /// The rows.
    pub records: Vec<TrialRecord>,
    /// What identifies them.
    pub identity: judge::Identity,
}

/// Reads plan, rows and host class, checking the chain.
///
/// # Errors
///
/// A file is missing (exit 4) or not what it should be (exit 5).
pub fn read(folder: &Folder) -> Result<Evidence, Failure> {
    let (plan, plan_sha256) = folder.plan()?;
    let records = chained(folder, rows::FILE, &plan_sha256)?;
    let environment = Environment::read(folder)?;
    let (class, words) = environment
        .sessions
        .first()
        .and_then(|session| session.classes.get(HOST))
        .cloned()
        .ok_or_else(|| Failure::mismatch("environment.json names no host class"))?;
    let identity = judge::Identity {
        plan_sha256,
        rows_sha256: folder.sha256(rows::FILE)?,
        host_class: class.get(..4).unwrap_or(&class).to_owned(),
        host: words,
    };
    Ok(Evidence {
        plan,
        records,
        identity,
    })
}

/// All rows of a file of the folder, which hang on this plan.
fn chained(folder: &Folder, name: &str, plan_sha256: &str) -> Result<Vec<TrialRecord>, Failure> {
    Chain::open(&folder.path().join(name), plan_sha256)?.collect()
}

/// Recomputes the evidence in `folder`.
///
/// # Errors
///
/// Exit 5: something is not equal, with where and both values. Exit 4: the evidence is consistent
/// so far but not finished.
///
/// # Panics
///
/// Never: an analysis has string keys.
pub fn verify(folder: &Folder) -> Result<Verified, Failure> {
    check_whole(folder)?;
    let evidence = read(folder)?;
    campaign::plan::check(&evidence.plan)?;
    check_rehearsal(folder, &evidence.plan)?;
    replay::check(&evidence.plan, &evidence.records)?;
    Environment::read(folder)?.check(evidence.records.len() as u64)?;
    let ledgers = check_ledgers(&evidence)?;
    if let Next::Run { planned, .. } = next(&evidence.plan, &evidence.records) {
        // What was judged and then lost rows is edited and not interrupted.
        if folder.path().join(SUMS).exists() {
            check_sums(folder)?;
        }
        return Err(Failure::evidence(format!(
            "{} rows are consistent, but pair {} (the first is 0) has not \
             run; wiretrial run --resume {}",
            evidence.records.len(),
            planned.pair,
            folder.path().display()
        )));
    }
    // Read as what it is first: that refuses a key that stands twice.
    let bytes = folder.read(ANALYSIS)?;
    json::schema(ANALYSIS, &bytes, ANALYSIS_SCHEMA)?;
    let broken = |error| Failure::mismatch(format!("{ANALYSIS}: {error}"));
    let _: Analysis = serde_json::from_slice(&bytes).map_err(broken)?;
    let written: Value = serde_json::from_slice(&bytes).map_err(broken)?;
    let analysis = judge::analyse(&evidence.plan, &evidence.records, &evidence.identity);
    let again = serde_json::to_value(&analysis).expect("string keys and finite numbers");
    compare(ANALYSIS, "", &written, &again)?;
    let reports = reports::render(&analysis);
    check_names(folder, &reports)?;
    for (name, bytes) in &reports {
        if folder.read(name)? != bytes.as_bytes() {
            return Err(Failure::mismatch(format!(
                "{name} is not what its analysis prints"
            )));
        }
    }
    if folder.read(recompute::FILE)? != recompute::TEXT.as_bytes() {
        return Err(Failure::mismatch(format!(
            "{} is not the script that this version writes",
            recompute::FILE
        )));
    }
    let files = check_sums(folder)?;
    Ok(counted(&evidence, ledgers, &analysis, files))
}

fn counted(evidence: &Evidence, ledgers: usize, analysis: &Analysis, files: usize) -> Verified {
    let compared = &analysis.comparisons;
    Verified {
        rows: evidence.records.len(),
        ledgers,
        intervals: compared
            .iter()
            .filter(|c| c.decision.lo95.is_some())
            .count(),
        verdicts: compared.iter().filter(|c| c.verdict.is_some()).count() + analysis.loads.len(),
        files,
    }
}

fn check_ledgers(evidence: &Evidence) -> Result<usize, Failure> {
    let mut checked = 0;
    for row in &evidence.records {
        let Some(written) = &row.ledger else { continue };
        let (Some(sent), Some(delivery), Some(window)) = (row.tally(), &row.delivery, &row.host)
        else {
            return Err(Failure::mismatch(format!(
                "row {} has a ledger without the counts that it adds up",
                row.row
            )));
        };
        let kind = evidence.plan.campaign.topology.kind;
        let again = ledger::of_delivery(kind, sent, delivery, window);
        if again.as_ref() != Some(written) {
            return Err(Failure::mismatch(format!(
                "the ledger of row {} is not what its counts add up to: written {written:?}, \
                 recomputed {again:?}",
                row.row
            )));
        }
        checked += 1;
    }
    Ok(checked)
}

/// The rehearsal hangs on a plan of its own, of the same campaign, programs and seed.
fn check_rehearsal(folder: &Folder, plan: &Plan) -> Result<(), Failure> {
    let bytes = folder.read(&format!("{REHEARSAL}/{PLAN}"))?;
    let broken = |cause: String| Failure::mismatch(format!("{REHEARSAL}/{PLAN}: {cause}"));
    let written: Plan =
        serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
    if written != rehearsal::plan(plan) {
        return Err(broken("it is not the rehearsal of the sealed plan".into()));
    }
    let records = chained(
        folder,
        &format!("{REHEARSAL}/{}", rows::FILE),
        &sha256(&bytes),
    )?;
    let rehearsed = |case: &str| records.iter().any(|row| row.case == case);
    match plan
        .campaign
        .cases
        .iter()
        .find(|case| !rehearsed(&case.name))
    {
        Some(case) => Err(broken(format!("case {} was not rehearsed", case.name))),
        None => check_pilot(folder, plan),
    }
}

/// Checks the pilot: it hangs on a plan of its own too, and what the sealed plan says of it, the pairs
/// that it chose included, is what its rows give.
///
/// # Errors
///
/// Exit 5, with what differs; exit 4 where a file of it is missing.
///
/// # Panics
///
/// Never: what a pilot shows has string keys.
pub fn check_pilot(folder: &Folder, plan: &Plan) -> Result<(), Failure> {
    let piloted = match pilot::plan(plan) {
        None => None,
        Some(own) => {
            let place = format!("{PILOT}/{PLAN}");
            let broken = |cause: String| Failure::mismatch(format!("{place}: {cause}"));
            let bytes = folder.read(&place)?;
            let written: Plan =
                serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
            if written != own {
                return Err(broken("it is not the pilot of the sealed plan".into()));
            }
            let name = format!("{PILOT}/{}", rows::FILE);
            let records = chained(folder, &name, &sha256(&bytes))?;
            let of_pilot = |failure: Failure| Failure {
                message: format!("{PILOT}/{}: {}", rows::FILE, failure.message),
                ..failure
            };
            replay::check_pilot(&own, &records).map_err(of_pilot)?;
            Some((own, records))
        }
    };
    let (design, seen) = pilot::decided(&pilot::unsealed(plan).campaign.design, piloted.as_ref())
        .map_err(|failure| Failure::mismatch(failure.message))?;
    if design.pairs != plan.campaign.design.pairs {
        return Err(Failure::mismatch(format!(
            "{PLAN}: {} pairs a case are sealed, the pilot lets {} fit in the time asked for",
            plan.campaign.design.pairs, design.pairs
        )));
    }
    let json =
        |cases: &[PilotCase]| serde_json::to_value(cases).expect("string keys and finite numbers");
    compare(PLAN, "/pilot", &json(&plan.pilot), &json(&seen))
}

/// Only files that a campaign writes.
fn check_names(folder: &Folder, reports: &[(String, String)]) -> Result<(), Failure> {
    let own = [
        PLAN,
        ANALYSIS,
        environment::FILE,
        rows::FILE,
        recompute::FILE,
    ];
    let before =
        [REHEARSAL, PILOT].map(|place| [PLAN, rows::FILE].map(|name| format!("{place}/{name}")));
    let known = |name: &String| {
        own.contains(&name.as_str())
            || before.as_flattened().contains(name)
            || reports.iter().any(|(report, _)| report == name)
            || is_log(name)
    };
    match folder.files()?.into_iter().find(|name| !known(name)) {
        Some(name) => Err(Failure::mismatch(format!(
            "{} is no file that a campaign writes",
            quote(&name)
        ))),
        None => Ok(()),
    }
}

/// The files that finished evidence lists are there, if it is finished.
fn check_whole(folder: &Folder) -> Result<(), Failure> {
    if folder.path().join(SUMS).exists() {
        listed(folder, &folder.files()?)?;
    }
    Ok(())
}

/// Hashes and names that the evidence lists, all of them among the files that are there.
fn listed(folder: &Folder, there: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let sums = String::from_utf8(folder.read(SUMS)?)
        .map_err(|_| Failure::mismatch(format!("{SUMS} is not text")))?;
    let entry = |line: &str| {
        let (hash, name) = line.split_once("  ").ok_or_else(|| {
            let line = quote(line);
            Failure::mismatch(format!("{SUMS}: {line} is not a hash and a name"))
        })?;
        if there.iter().any(|there| there == name) {
            return Ok((hash.to_owned(), name.to_owned()));
        }
        let name = quote(name);
        Err(Failure::mismatch(format!(
            "{name} is in {SUMS} and not in the folder"
        )))
    };
    sums.lines().map(entry).collect()
}

/// One file by its hash.
///
/// # Errors
///
/// Exit 5: the file, and both hashes, or it is not listed.
pub fn check_sum(folder: &Folder, name: &str) -> Result<(), Failure> {
    let listed = listed(folder, &folder.files()?)?;
    match listed.iter().find(|(_, listed)| listed == name) {
        Some((hash, _)) => hashed(folder, name, hash),
        None => Err(Failure::mismatch(format!("{name} is not in {SUMS}"))),
    }
}

fn hashed(folder: &Folder, name: &str, hash: &str) -> Result<(), Failure> {
    let found = folder.sha256(name)?;
    if found == *hash {
        return Ok(());
    }
    Err(Failure::mismatch(format!(
        "{name} has SHA-256 {found}, {SUMS} says {hash}"
    )))
}

/// Every file by its hash, all of them and no others, in order.
///
/// # Errors
///
/// Exit 5: the file, and both hashes; exit 4: there are no hashes.
pub fn check_sums(folder: &Folder) -> Result<usize, Failure> {
    let there = folder.files()?;
    let listed = listed(folder, &there)?;
    for (hash, name) in &listed {
        hashed(folder, name, hash)?;
    }
    let is_listed = |name: &String| listed.iter().any(|(_, listed)| listed == name);
    if let Some(name) = there.iter().find(|name| !is_listed(name)) {
        return Err(Failure::mismatch(format!("{name} is not in {SUMS}")));
    }
    if listed.iter().map(|(_, name)| name).ne(&there) {
        return Err(Failure::mismatch(format!(
            "{SUMS} does not list the files of the folder once each, in order"
        )));
    }
    Ok(listed.len())
}

/// Compares two JSON values of a file; `at` is the path to them.
fn compare(file: &str, at: &str, written: &Value, again: &Value) -> Result<(), Failure> {
    let differ = || {
        Failure::mismatch(format!(
            "{file} {at}: written {written}, recomputed {again}"
        ))
    };
    match (written, again) {
        (Value::Object(one), Value::Object(other)) => {
            if let Some(name) = other.keys().find(|name| !one.contains_key(*name)) {
                return Err(Failure::mismatch(format!("{file} {at}: no {name}")));
            }
            one.iter().try_for_each(|(name, value)| {
                let there = other.get(name).ok_or_else(|| {
                    Failure::mismatch(format!("{file} {at}: {name} does not belong there"))
                })?;
                compare(file, &format!("{at}/{name}"), value, there)
            })
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => one
            .iter()
            .zip(other)
            .enumerate()
            .try_for_each(|(i, (one, other))| compare(file, &format!("{at}/{i}"), one, other)),
        (Value::Number(one), Value::Number(other)) if one.is_f64() || other.is_f64() => {
            let (Some(one), Some(other)) = (one.as_f64(), other.as_f64()) else {
                return Err(differ());
            };
            let close = (one - other).abs() <= RELATIVE * one.abs().max(other.abs());
            if close { Ok(()) } else { Err(differ()) }
        }
        _ if written == again => Ok(()),
        _ => Err(differ()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn floats_are_close_and_all_else_is_equal() {
        let written = json!({"a": [1.0, 2], "b": "x"});
        assert!(
            compare(
                ANALYSIS,
                "",
                &written,
                &json!({"a": [1.000_000_000_1, 2], "b": "x"})
            )
            .is_ok()
        );
        for other in [
            json!({"a": [1.000_001, 2], "b": "x"}),
            json!({"a": [1.0, 3], "b": "x"}),
            json!({"a": [1.0], "b": "x"}),
            json!({"a": [1.0, 2], "b": "y"}),
            json!({"a": [1.0, 2], "b": "x", "c": 1}),
        ] {
            assert_eq!(
                compare(ANALYSIS, "", &written, &other).unwrap_err().code,
                5,
                "{other}"
            );
        }
    }

    #[test]
    fn a_difference_says_where() {
        let failure =
            compare(ANALYSIS, "", &json!({"a": [1, 2]}), &json!({"a": [1, 3]})).unwrap_err();
        assert_eq!(
            failure.message,
            "analysis.json /a/1: written 2, recomputed 3"
        );
    }
}
