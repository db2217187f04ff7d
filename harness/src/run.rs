//! The loops: next pair, its trials, their rows on disk, until the plan is done; that of the campaign, and
//! those of what comes before it.

use wiretrial_contract::exit;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{Plan, Workload};
use wiretrial_contract::program::CountName;
use wiretrial_contract::record::{GuardName, HostWindow, Outcome, Phase, TrialRecord};

use crate::evidence::rows::Rows;
use crate::host::Host;
use crate::pilot::{self, rehearsal};
use crate::trial::next::Next;
use crate::trial::pair;
use crate::trial::setting::{Job, Setting};
use crate::trial::standing::Standing;

/// Offered load a rehearsal must reach, as a ratio of the intended.
const REHEARSAL_OFFERED: f64 = 0.98;

/// How the loop ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Every planned pair counts, or was replaced by one that does.
    Finished,
    /// A case ran out of replacements.
    Exhausted,
    /// The budget ended before the plan.
    Spent,
}

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
) -> Result<End, Failure> {
    let mut standing = Standing::new(plan);
    standing.add(records);
    loop {
        let (planned, replaces, arms) = match standing.step() {
            Next::Finished => return Ok(End::Finished),
            Next::Exhausted { .. } => return Ok(End::Exhausted),
            Next::Spent => return Ok(End::Spent),
            Next::Run {
                planned,
                replaces,
                arms,
            } => (planned, replaces, arms),
        };
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
            pair.rows.iter().try_for_each(|row| ran(plan, row))?;
            pair.rows
                .iter()
                .try_for_each(|row| says_what_it_was_to(plan, row))?;
            reached = pair.rows.iter().try_for_each(|row| offered(plan, row));
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

fn ran(plan: &Plan, row: &TrialRecord) -> Result<(), Failure> {
    match &row.outcome {
        // Nothing was measured yet: a command line that does not work is a wrong one.
        Outcome::Failed { cause, code, .. }
            if plan.campaign.workload() == Workload::Command && *code == exit::EVIDENCE =>
        {
            let prefix = format!("receiver of {}: ", row.arm);
            let cause = cause.strip_prefix(&prefix).unwrap_or(cause);
            let arm = &row.arm;
            Err(Failure::usage(format!(
                "the command of {arm} failed in the rehearsal: {cause}"
            )))
        }
        Outcome::Failed { step, cause, code } => Err(Failure {
            code: *code,
            message: format!("rehearsal of case {}, step {step}: {cause}", row.case),
        }),
        Outcome::Ok | Outcome::Voided => row
            .guards
            .iter()
            .filter(|guard| matches!(guard.name, GuardName::Binary | GuardName::SendingAsSealed))
            .find(|guard| !guard.passed)
            .map_or(Ok(()), |guard| {
                Err(Failure::evidence(format!(
                    "rehearsal of case {}: guard {}: {}",
                    row.case,
                    guard.name.name(),
                    guard.saw
                )))
            }),
    }
}

/// A count that the reference does not give although it was declared is a mistake in the declaration;
/// what the candidate does not give is its work, and the judge's to say.
fn says_what_it_was_to(plan: &Plan, row: &TrialRecord) -> Result<(), Failure> {
    let reference = &plan.campaign.arms[0].name;
    let case = plan
        .campaign
        .cases
        .iter()
        .find(|case| case.name == row.case);
    let Some(program) = case
        .and_then(|case| case.outside(0))
        .filter(|_| row.arm == *reference)
    else {
        return Ok(());
    };
    let given = |name: CountName| match (row.count(), row.passes()) {
        (Some(seen), _) => seen.counts.get(name).is_some(),
        // Of passes only the packets processed are kept.
        (None, Some(passes)) => {
            name != CountName::Processed || passes.iter().all(|pass| pass.units.is_some())
        }
        (None, None) => true,
    };
    if let Some((name, source)) = program.counts.iter().find(|(name, _)| !given(**name)) {
        return Err(Failure::usage(format!(
            "rehearsal of case {}: program.counts.{} found no number in what {reference} gave: {}",
            row.case,
            name.name(),
            source.described()
        )));
    }
    let (Some(seen), Some(sent)) = (row.count(), row.tally()) else {
        return Ok(());
    };
    let all = sent.accepted + sent.warm_up_accepted + sent.probe_accepted + sent.filler_accepted;
    match seen.counts.processed.or(seen.counts.received) {
        Some(counted) if counted > all => Err(Failure::usage(format!(
            "rehearsal of case {}: {reference} counted {counted} packets and {all} were sent to it; \
             does program.live use {{filter}}?",
            row.case
        ))),
        _ => Ok(()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "rates are far below 2^53")]
fn offered(plan: &Plan, row: &TrialRecord) -> Result<(), Failure> {
    let (Some(tally), Some(intended_pps)) = (row.tally(), row.intended_pps) else {
        return Ok(());
    };
    let pps = tally.offered_pps().unwrap_or(0.0);
    if pps >= REHEARSAL_OFFERED * intended_pps as f64 {
        return Ok(());
    }
    let advice = match row.host.as_ref().and_then(foreign_cpus) {
        Some(cpus) if cpus > plan.rule.foreign_cpu => format!(
            "other programs used {:.0} % of a CPU; stop them, see wiretrial doctor",
            cpus * 100.0
        ),
        _ => "lower traffic.rate-pps, or raise traffic.batch".into(),
    };
    Err(Failure::host(format!(
        "rehearsal of case {}: {} was offered {pps:.0} of {} pps; {advice}",
        row.case, row.arm, intended_pps
    )))
}

/// CPUs that other programs used in a trial; `None` when not known.
#[expect(clippy::cast_precision_loss, reason = "a share printed without digits")]
fn foreign_cpus(window: &HostWindow) -> Option<f64> {
    let length = window
        .end
        .at_ns
        .checked_sub(window.start.at_ns)
        .filter(|ns| *ns > 0)?;
    Some(window.foreign_cpu_ns? as f64 / length as f64)
}
