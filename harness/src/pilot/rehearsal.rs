//! The rehearsal: every case once, briefly, before anything is measured.

use wiretrial_contract::exit;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{Plan, PlannedPair, Work, Workload};
use wiretrial_contract::program::CountName;
use wiretrial_contract::record::{GuardName, HostWindow, Outcome, TrialRecord};

use super::unsealed;

/// Times a case is rehearsed before its rate counts as out of reach: one stall of the host is not
/// a limit.
const ATTEMPTS: u32 = 3;
/// Sending time per group, ns.
const SENDING_NS: u64 = 60_000_000;
/// Offered load it must reach, as a ratio of the intended.
const LEAST_OFFERED: f64 = 0.98;

/// The plan of a rehearsal: the same campaign with short trials, and every attempt it may take.
#[must_use]
pub fn plan(sealed: &Plan) -> Plan {
    let mut plan = unsealed(sealed);
    for case in &mut plan.campaign.cases {
        match &mut case.work {
            Work::Live(live) => {
                live.traffic.duration_ns = SENDING_NS.min(live.traffic.duration_ns);
                live.traffic.warm_up_ns = 0;
            }
            Work::Passes(passes) => passes.passes = 1,
        }
    }
    plan.pairs = (0..plan.campaign.cases.len())
        .flat_map(|case| attempts(&plan, case))
        .collect();
    plan
}

/// The attempts at rehearsing the case at an index, in their order.
///
/// # Panics
///
/// The plan has no pair of that case.
pub fn attempts(plan: &Plan, case: usize) -> impl Iterator<Item = PlannedPair> + use<> {
    let index = u32::try_from(case).expect("fewer cases");
    let like = plan
        .pairs
        .iter()
        .find(|planned| planned.case == index)
        .expect("every case has a pair")
        .clone();
    (0..ATTEMPTS).map(move |attempt| PlannedPair {
        pair: case as u64 * u64::from(ATTEMPTS) + u64::from(attempt),
        gap_ns: 0,
        round: attempt,
        ..like.clone()
    })
}

/// That the trials of an attempt ran as sealed and counted what was declared.
///
/// # Errors
///
/// A trial failed (its own exit code; a command line that does not work is exit 2), a guard of the
/// executables or of the sending did not pass (exit 4), or a declared count is missing or above what
/// was sent (exit 2).
pub fn works(plan: &Plan, rows: &[TrialRecord]) -> Result<(), Failure> {
    rows.iter().try_for_each(|row| ran(plan, row))?;
    rows.iter()
        .try_for_each(|row| says_what_it_was_to(plan, row))
}

/// That every trial of an attempt was offered its rate, or nearly.
///
/// # Errors
///
/// One was not (exit 3).
pub fn reaches_its_rate(plan: &Plan, rows: &[TrialRecord]) -> Result<(), Failure> {
    rows.iter().try_for_each(|row| offered(plan, row))
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
    let all = sent.all_accepted();
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
    if pps >= LEAST_OFFERED * intended_pps as f64 {
        return Ok(());
    }
    let advice = match row.host.as_ref().and_then(foreign_cpus) {
        Some(cpus) if cpus > plan.rule.foreign_cpu => format!(
            "other programs used {:.0} % of a CPU; stop them, see wiretrial doctor",
            cpus * 100.0
        ),
        Some(cpus) => format!(
            "lower traffic.rate-pps, or raise traffic.batch; other programs used {:.0} % of a CPU",
            cpus * 100.0
        ),
        None => "lower traffic.rate-pps, or raise traffic.batch".into(),
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
