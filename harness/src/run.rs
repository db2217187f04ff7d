//! The loops: next pair, its trials, their rows on disk, until the plan is done; that of the campaign, and
//! those of what comes before it.

use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::Plan;
use wiretrial_contract::record::{Outcome, Phase, TrialRecord};

use crate::evidence::rows::Rows;
use crate::host::Host;
use crate::pilot::{self, rehearsal};
use crate::trial::next::Next;
use crate::trial::pair;
use crate::trial::setting::{Job, Setting};
use crate::trial::standing::Standing;

/// Runs what is left of `plan`, adding to `rows` and `records`. `progress` is told after each pair.
///
/// # Errors
///
/// A signal came (the rows of the pair it ended are written first), the host is gone (exit 3; its
/// pair is not counted), or a row could not be written.
pub fn run(
    host: &mut dyn Host,
    setting: &Setting<'_>,
    plan: &Plan,
    rows: &mut Rows,
    records: &mut Vec<TrialRecord>,
    progress: &mut dyn FnMut(&[TrialRecord]),
) -> Result<(), Failure> {
    let mut standing = Standing::new(plan);
    standing.add(records);
    while let Next::Run {
        planned,
        replaces,
        arms,
    } = standing.step()
    {
        let job = Job {
            planned: &planned,
            phase: Phase::Confirm,
            replaces,
            arms: &arms,
        };
        let mut pair = pair::run(host, setting, &job, of_pair(records, planned.pair));
        if pair
            .rows
            .iter()
            .any(|row| matches!(row.outcome, Outcome::Failed { .. }))
        {
            host.alive()?;
        }
        if !pair.rows.is_empty() {
            rows.append(&mut pair.rows)?;
        }
        standing.add(&pair.rows);
        records.append(&mut pair.rows);
        if let Some(signal) = pair.stopped {
            return Err(signal);
        }
        progress(records);
    }
    Ok(())
}

/// The rows of a pair that is not over: the last ones.
fn of_pair(records: &[TrialRecord], pair: u64) -> &[TrialRecord] {
    let before = records.iter().rposition(|row| row.pair != pair);
    &records[before.map_or(0, |last| last + 1)..]
}

/// Runs every case once, briefly, before the plan is sealed: the protocol, the rights, the ports
/// and whether the rate is within reach. Its rows are evidence of that and in no estimate.
///
/// # Errors
///
/// A trial failed (its own exit code), or a rate was not reached (exit 3).
pub fn rehearse(
    host: &mut dyn Host,
    setting: &Setting<'_>,
    plan: &Plan,
    rows: &mut Rows,
) -> Result<(), Failure> {
    for case in 0..plan.campaign.cases.len() {
        let mut reached = Ok(());
        for planned in rehearsal::attempts(plan, case) {
            let mut pair = pair::whole(host, setting, &planned, Phase::Rehearsal, None);
            rows.append(&mut pair.rows)?;
            if let Some(signal) = pair.stopped {
                return Err(signal);
            }
            rehearsal::works(plan, &pair.rows)?;
            reached = rehearsal::reaches_its_rate(plan, &pair.rows);
            if reached.is_ok() {
                break;
            }
        }
        reached?;
    }
    Ok(())
}

/// Runs a pilot, adding to `rows`. `progress` is told after each pair.
///
/// # Errors
///
/// A signal came, the host is gone (exit 3), or a row could not be written. A pair that failed
/// otherwise is a row, and the pilot knows less.
pub fn pilot(
    host: &mut dyn Host,
    setting: &Setting<'_>,
    plan: &Plan,
    rows: &mut Rows,
    progress: &mut dyn FnMut(&[TrialRecord]),
) -> Result<Vec<TrialRecord>, Failure> {
    let mut records = Vec::new();
    while let Some((planned, replaces)) = pilot::next(plan, &records) {
        let mut pair = pair::whole(host, setting, &planned, Phase::Pilot, replaces);
        let failed = |row: &TrialRecord| matches!(row.outcome, Outcome::Failed { .. });
        if pair.rows.is_empty() || pair.rows.iter().any(failed) {
            host.alive()?;
        }
        rows.append(&mut pair.rows)?;
        if let Some(signal) = pair.stopped {
            return Err(signal);
        }
        if pair.rows.is_empty() {
            return Err(Failure::host(
                "a pilot pair could not be launched; see wiretrial doctor",
            ));
        }
        records.append(&mut pair.rows);
        progress(&records);
    }
    Ok(records)
}
