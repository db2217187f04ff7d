//! A sequential pair that a signal, a crash or a power cut left with some of its members: completed
//! while the moments are close, else voided.

use wiretrial_contract::clock;
use wiretrial_contract::control::TrialIdentity;
use wiretrial_contract::plan::{Plan, PlannedPair};
use wiretrial_contract::record::{Guard, GuardName, Outcome, Phase, TRIAL_SCHEMA, TrialRecord};

use crate::evidence::environment::Session;
use crate::trial::conduct::trial_number;
use crate::trial::next::{Next, next};

/// Longest time between the starts of a pair's members, ns.
const APART_NS: u64 = 600_000_000_000;

/// What is known when a campaign is resumed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now<'a> {
    /// The sessions before.
    pub(super) sessions: &'a [Session],
    /// SHA-256 of the boot id.
    pub(super) boot: Option<&'a str>,
    /// The wall time, ns since 1970.
    pub(super) realtime_ns: u64,
}

/// The row that voids a cut pair: of the member that never began. `None` when no pair is cut, or its
/// members still start close enough to each other, under one boot.
pub(super) fn voiding(plan: &Plan, rows: &[TrialRecord], now: Now<'_>) -> Option<TrialRecord> {
    let Next::Run { planned, arms, .. } = next(plan, rows) else {
        return None;
    };
    let first = rows.iter().position(|row| row.pair == planned.pair)?;
    let why = too_far(&rows[first], first, rows, now)?;
    Some(never_begun(plan, &rows[first], &planned, arms[0], why))
}

/// Why the rest of a pair must not run any more.
fn too_far(
    row: &TrialRecord,
    at: usize,
    rows: &[TrialRecord],
    now: Now<'_>,
) -> Option<&'static str> {
    let session = now
        .sessions
        .iter()
        .rev()
        .find(|session| session.rows_before <= at as u64)?;
    if session.boot.is_none() || session.boot.as_deref() != now.boot {
        return Some("never begun: the host was started anew since the first member");
    }
    let before = usize::try_from(session.rows_before).unwrap_or(at);
    let gone_ns = rows[..before.min(at)]
        .iter()
        .map(|row| row.ended_ns)
        .max()
        .unwrap_or(0);
    let began_ns = clock::from_rfc3339(&session.began)?;
    let started_ns = began_ns.saturating_add(row.started_ns.saturating_sub(gone_ns));
    let near = now
        .realtime_ns
        .checked_sub(started_ns)
        .is_some_and(|apart| apart < APART_NS);
    (!near).then_some("never begun: ten minutes or more since the first member")
}

/// `first` is the pair's first member.
fn never_begun(
    plan: &Plan,
    first: &TrialRecord,
    planned: &PlannedPair,
    arm: usize,
    why: &str,
) -> TrialRecord {
    let case = &plan.campaign.cases[planned.case as usize];
    let identity = TrialIdentity {
        trial: trial_number(plan.campaign.arms.len(), planned.pair, arm),
        ..first.identity
    };
    TrialRecord {
        schema: TRIAL_SCHEMA.into(),
        prev: String::new(),
        row: 0,
        phase: Phase::Confirm,
        case: case.name.clone(),
        arm: plan.campaign.arms[arm].name.clone(),
        pair: planned.pair,
        replaces: first.replaces,
        order: planned.order.clone(),
        identity,
        outcome: Outcome::Voided,
        started_ns: first.ended_ns,
        ended_ns: first.ended_ns,
        intended_pps: case.live().map(|live| live.traffic.rate_pps),
        receiver_sha256: None,
        program_sha256: None,
        generator_sha256: None,
        ready: None,
        generator: None,
        delivery: None,
        host: None,
        ledger: None,
        guards: vec![Guard {
            name: GuardName::Interrupted,
            passed: false,
            saw: why.into(),
        }],
        flags: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::samples;
    use std::collections::BTreeMap;
    use wiretrial_contract::control::Isolation;
    use wiretrial_contract::plan::Arrangement;

    const BEGAN_NS: u64 = 1_796_000_000_000_000_000;

    fn session(boot: &str) -> Session {
        Session {
            began: clock::rfc3339(BEGAN_NS),
            rows_before: 0,
            torn_bytes: None,
            boot: Some(boot.into()),
            isolation: Isolation::Sandbox,
            notes: Vec::new(),
            hosts: BTreeMap::new(),
            classes: BTreeMap::new(),
            libpcap: None,
        }
    }

    /// A plan whose first pair has its first member, started 5 s into the campaign.
    fn cut() -> (Plan, Vec<TrialRecord>) {
        let mut plan = samples::plan();
        plan.campaign.design.arrangement = Arrangement::Sequential;
        let arm = plan.pairs[0].order.arms()[0];
        let row = TrialRecord {
            arm: plan.campaign.arms[arm].name.clone(),
            order: plan.pairs[0].order.clone(),
            started_ns: 5_000_000_000,
            ended_ns: 8_000_000_000,
            ..samples::row(0)
        };
        (plan, vec![row])
    }

    fn voided(boot: &str, seconds: u64) -> Option<TrialRecord> {
        let (plan, rows) = cut();
        let now = Now {
            sessions: &[session("b0")],
            boot: Some(boot),
            realtime_ns: BEGAN_NS + seconds * 1_000_000_000,
        };
        voiding(&plan, &rows, now)
    }

    #[test]
    fn a_pair_cut_in_two_goes_on_for_ten_minutes_under_one_boot() {
        assert_eq!(voided("b0", 9), None);
        assert_eq!(voided("b0", 604), None);
        let late = voided("b0", 605).unwrap();
        assert_eq!((late.pair, &late.outcome), (0, &Outcome::Voided));
        assert!(late.guards[0].saw.contains("ten minutes"));
        // A clock that was set back says nothing about how long it was.
        assert!(voided("b0", 0).is_some());
        assert!(voided("b1", 9).unwrap().guards[0].saw.contains("anew"));
    }

    #[test]
    fn the_voided_pair_is_replaced_outside_the_cap() {
        let (plan, mut rows) = cut();
        let arms = plan.pairs[0].order.arms();
        let now = Now {
            sessions: &[session("b0")],
            boot: None,
            realtime_ns: BEGAN_NS,
        };
        let row = voiding(&plan, &rows, now).unwrap();
        assert_eq!(row.arm, plan.campaign.arms[arms[1]].name);
        rows.push(row);
        let Next::Run { planned, .. } = next(&plan, &rows) else {
            panic!()
        };
        assert_eq!(planned.pair, 1);
        assert!(crate::trial::pairs::interrupted(
            &rows.iter().collect::<Vec<_>>()
        ));
        assert_eq!(voiding(&plan, &rows, now), None);
    }
}
