//! The rehearsal: every case once, briefly, before anything is measured.

use wiretrial_contract::plan::{Plan, PlannedPair, Work};

use super::unsealed;

/// Times a case is rehearsed before its rate counts as out of reach: one stall of the host is not
/// a limit.
const ATTEMPTS: u32 = 3;
/// Sending time per group, ns.
const SENDING_NS: u64 = 60_000_000;

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
