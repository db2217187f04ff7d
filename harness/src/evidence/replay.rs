//! Rows held against the plan: every pair is the one that was next, as the plan has it, and every
//! row is what its own guards and the seal say.

use std::collections::BTreeSet;

use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{Arrangement, Live, Passes, Plan, PlannedPair, Work};
use wiretrial_contract::record::{Guard, GuardName, Outcome, Phase, TrialRecord};

use crate::campaign::slices;
use crate::pilot;
use crate::trial::guards::{
    DesignView, Said, all_passed, check as check_guards, clock_of, pair_offered,
};
use crate::trial::next::Next;
use crate::trial::pairs::offered_of_all;
use crate::trial::passes::drawn;
use crate::trial::standing::Standing;

/// Checks all rows in their order.
///
/// # Errors
///
/// Exit 5: the row and what it should have been.
pub fn check(plan: &Plan, rows: &[TrialRecord]) -> Result<(), Failure> {
    let mut standing = Standing::new(plan);
    let mut taken = 0;
    in_order(plan, rows, Phase::Confirm, |before| {
        standing.add(&before[taken..]);
        taken = before.len();
        match standing.step() {
            Next::Run {
                planned, replaces, ..
            } => Some((planned, replaces)),
            _ => None,
        }
    })
}

/// Checks the rows of a pilot, which has to be whole, against its own plan.
///
/// # Errors
///
/// Exit 5: the row and what it should have been, or the pair that is missing.
pub fn check_pilot(plan: &Plan, rows: &[TrialRecord]) -> Result<(), Failure> {
    in_order(plan, rows, Phase::Pilot, |rows| pilot::next(plan, rows))?;
    match pilot::next(plan, rows) {
        Some((planned, _)) => Err(Failure::mismatch(format!(
            "the pilot ends before its pair {}",
            planned.pair
        ))),
        None => Ok(()),
    }
}

fn in_order(
    plan: &Plan,
    rows: &[TrialRecord],
    phase: Phase,
    mut next: impl FnMut(&[TrialRecord]) -> Option<(PlannedPair, Option<u64>)>,
) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    let mut at = 0;
    while let Some(first) = rows.get(at) {
        let end = rows[at..].iter().position(|row| row.pair != first.pair);
        let end = end.map_or(rows.len(), |length| at + length);
        let Some((planned, replaces)) = next(&rows[..at]) else {
            return Err(wrong(first, "the campaign was over before it"));
        };
        pair(plan, &planned, replaces, &rows[at..end])?;
        together(plan, &rows[at..end])?;
        apart(plan, &rows[at..end])?;
        for row in &rows[at..end] {
            if row.phase != phase {
                return Err(wrong(row, "it is of another phase"));
            }
            one(plan, &planned, row)?;
            let identity = (row.identity.run_id, row.identity.trial, row.identity.nonce);
            if !seen.insert(identity) {
                return Err(wrong(
                    row,
                    "its datagrams have the identity of another trial's",
                ));
            }
        }
        at = end;
    }
    Ok(())
}

/// The rows of one pair: numbered and ordered as planned, one an arm.
fn pair(
    plan: &Plan,
    planned: &PlannedPair,
    replaces: Option<u64>,
    rows: &[TrialRecord],
) -> Result<(), Failure> {
    let case = &plan.campaign.cases[planned.case as usize];
    let arms = planned.order.arms();
    let names = arms
        .iter()
        .map(|arm| plan.campaign.arms[*arm].name.as_str());
    for (row, arm) in rows.iter().zip(names) {
        let as_planned = row.pair == planned.pair
            && row.case == case.name
            && row.order == planned.order
            && row.replaces == replaces
            && row.arm == arm;
        if !as_planned {
            return Err(wrong(
                row,
                &format!(
                    "next was {arm} of pair {} in case {}",
                    planned.pair, case.name
                ),
            ));
        }
        let intended_pps = case.live().map(|live| live.traffic.rate_pps);
        if row.intended_pps != intended_pps {
            return Err(wrong(row, &format!("its case has {intended_pps:?} pps")));
        }
    }
    if let Some(row) = rows.get(arms.len()) {
        return Err(wrong(row, "its pair has all its members already"));
    }
    let sequential = plan.campaign.design.arrangement == Arrangement::Sequential;
    let void = rows.iter().position(|row| row.outcome != Outcome::Ok);
    match void.and_then(|at| rows.get(at + 1)) {
        Some(row) if sequential => Err(wrong(row, "its pair was void before it")),
        _ => Ok(()),
    }
}

/// The members of an interleaved pair share generator and host.
fn together(plan: &Plan, rows: &[TrialRecord]) -> Result<(), Failure> {
    if plan.campaign.design.arrangement != Arrangement::Interleaved {
        return Ok(());
    }
    let other = rows
        .iter()
        .find(|row| row.generator != rows[0].generator || row.host != rows[0].host);
    other.map_or(Ok(()), |other| {
        Err(wrong(
            other,
            "the generator or host it shares with its pair says otherwise",
        ))
    })
}

/// The guard on how far the members' loads lie apart, there where the generator sets the rate, and
/// all sent. It stands last in the rows that were written together with the last one: all of an
/// interleaved pair's.
fn apart(plan: &Plan, rows: &[TrialRecord]) -> Result<(), Failure> {
    let all: Vec<&TrialRecord> = rows.iter().collect();
    let again = offered_of_all(&all)
        .filter(|_| !plan.campaign.topology.coupled())
        .and_then(|all| pair_offered(&plan.rule, &all));
    let written_last = match plan.campaign.design.arrangement {
        Arrangement::Interleaved => 0,
        Arrangement::Sequential => rows.len().saturating_sub(1),
    };
    for (at, row) in rows.iter().enumerate() {
        let again = again.iter().filter(|_| at >= written_last);
        if !row.guards.iter().filter(|g| of_pair(g)).eq(again) {
            return Err(wrong(row, "its pair's guard is not what the counts give"));
        }
    }
    Ok(())
}

fn of_pair(guard: &Guard) -> bool {
    guard.name == GuardName::PairOffered
}

/// The guards of a row itself.
fn own(row: &TrialRecord) -> Vec<&Guard> {
    row.guards.iter().filter(|guard| !of_pair(guard)).collect()
}

/// One row by itself.
fn one(plan: &Plan, planned: &PlannedPair, row: &TrialRecord) -> Result<(), Failure> {
    if row.started_ns > row.ended_ns {
        return Err(wrong(row, "it ended before it started"));
    }
    match row.outcome {
        Outcome::Failed { .. } => return Ok(()),
        Outcome::Ok if !all_passed(&row.guards) => {
            return Err(wrong(row, "it counts although a guard did not pass"));
        }
        Outcome::Voided if all_passed(&row.guards) => {
            return Err(wrong(row, "it is voided although every guard passed"));
        }
        Outcome::Ok | Outcome::Voided => {}
    }
    if let [guard] = own(row)[..]
        && guard.name == GuardName::Interrupted
    {
        return Ok(());
    }
    ran(plan, planned, row)
}

/// A row of a trial that ran to its end: all its parts are there, and its guards are what they say.
fn ran(plan: &Plan, planned: &PlannedPair, row: &TrialRecord) -> Result<(), Failure> {
    let executables = [
        ("program", &row.program_sha256, plan.measured(&row.arm)),
        (
            "receiver",
            &row.receiver_sha256,
            plan.binaries.get(&format!("receiver/{}", row.arm)),
        ),
        (
            "generator",
            &row.generator_sha256,
            plan.binaries.get("generator"),
        ),
    ];
    let other = executables
        .iter()
        .find(|(_, ran, sealed)| ran.as_ref() != *sealed);
    if let Some((role, ..)) = other {
        return Err(wrong(
            row,
            &format!("it ran another {role} than was sealed"),
        ));
    }
    match &plan.campaign.cases[planned.case as usize].work {
        Work::Live(live) => live_ran(plan, live, row),
        Work::Passes(passes) => passes_ran(plan, planned, passes, row),
    }
}

/// A row of passes: those that were drawn, in their order.
fn passes_ran(
    plan: &Plan,
    planned: &PlannedPair,
    work: &Passes,
    row: &TrialRecord,
) -> Result<(), Failure> {
    let (Some(passes), Some(window)) = (row.passes(), &row.host) else {
        return Err(wrong(row, "it ran to its end without passes or host"));
    };
    let drawn = drawn(
        plan.campaign.arms.len(),
        work.passes,
        work.input.is_some(),
        plan.seed.0,
        &row.case,
        planned.pair,
    );
    let of_arm = drawn
        .into_iter()
        .filter(|(arm, _)| plan.campaign.arms[*arm].name == row.arm)
        .map(|(_, input)| input);
    if !of_arm.eq(passes.iter().map(|pass| pass.input)) {
        return Err(wrong(row, "its passes are not those that were drawn"));
    }
    let sealed = plan.measured(&row.arm);
    let other = passes
        .iter()
        .position(|pass| Some(&pass.program_sha256) != sealed);
    if let Some(at) = other {
        return Err(wrong(
            row,
            &format!("pass {} ran another program than was sealed", at + 1),
        ));
    }
    same_guards(
        row,
        &check_guards(&DesignView::of_passes(&plan.rule, Vec::new(), window)),
    )
}

/// A row of a live trial.
fn live_ran(plan: &Plan, live: &Live, row: &TrialRecord) -> Result<(), Failure> {
    let clock = row.delivery.as_ref().and_then(clock_of);
    let (Some(generator), Some(tally), Some(clock), Some(window)) =
        (&row.generator, row.tally(), clock, &row.host)
    else {
        return Err(wrong(
            row,
            "it ran to its end without the counts of generator, receiver or host",
        ));
    };
    // A program that says nothing has no ledger.
    if (row.ledger.is_none() && row.count().is_none()) || row.ready.is_none() {
        return Err(wrong(
            row,
            "it ran to its end without a ledger, or without being ready",
        ));
    }
    let traffic = &live.traffic;
    let datagrams = slices::packets(traffic.rate_pps, traffic.duration_ns);
    if generator
        .groups
        .iter()
        .any(|group| group.planned != datagrams)
    {
        return Err(wrong(
            row,
            &format!("a group was not to send {datagrams} datagrams"),
        ));
    }
    let coupled = plan.campaign.topology.coupled();
    let said = Said {
        generator,
        tally: Some(tally),
        clock,
        window,
    };
    let again = check_guards(&DesignView::of(
        traffic,
        &plan.rule,
        coupled,
        said,
        Vec::new(),
    ));
    same_guards(row, &again)
}

fn same_guards(row: &TrialRecord, again: &[Guard]) -> Result<(), Failure> {
    let said = own(row);
    // What a child said of its executable is not in the row.
    let same = |one: &Guard, other: &Guard| {
        one.name == other.name && (one.name == GuardName::Binary || one == other)
    };
    let all_same = said.iter().zip(again).all(|(one, other)| same(one, other));
    if said.len() != again.len() || !all_same {
        return Err(wrong(row, "its guards are not what its counts give"));
    }
    Ok(())
}

fn wrong(row: &TrialRecord, what: &str) -> Failure {
    Failure::mismatch(format!(
        "row {} ({} of pair {}, case {}): {what}",
        row.row, row.arm, row.pair, row.case
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::guards::Clock;
    use crate::trial::samples;
    use wiretrial_contract::control::ReceiveCpu;
    use wiretrial_contract::control::TrialIdentity;
    use wiretrial_contract::control::{GroupName, Ready, ReceiverReady};
    use wiretrial_contract::record::{Delivery, HostWindow};
    use wiretrial_contract::report::GroupTally;
    use wiretrial_contract::report::PassReport;

    fn sealed() -> Plan {
        let mut plan = samples::plan();
        for arm in ["baseline", "candidate"] {
            plan.binaries.insert(format!("receiver/{arm}"), "aa".into());
        }
        plan.binaries.insert("generator".into(), "bb".into());
        plan
    }

    fn finished(plan: &Plan) -> Vec<TrialRecord> {
        let groups = ["baseline", "candidate"].map(|arm| GroupTally {
            name: GroupName::Arm(arm.into()),
            ..samples::tally()
        });
        let generator = samples::generator(groups.to_vec());
        let ready = ReceiverReady {
            interface: "lo".into(),
            addresses: Vec::new(),
            link_type: Some("EN10MB".into()),
            ring: None,
            filter: String::new(),
            cpus: vec![1],
            program: None,
        };
        let mut host = HostWindow {
            foreign_cpu_ns: Some(0),
            ..HostWindow::default()
        };
        host.end.at_ns = 4_000_000_000;
        let traffic = &plan.campaign.cases[0].live().unwrap().traffic;
        let receiver = samples::receiver();
        let said = Said {
            generator: &generator,
            tally: generator.groups.first(),
            clock: Clock::between(receiver.clock_at_armed, receiver.clock_at_end),
            window: &host,
        };
        let coupled = plan.campaign.topology.coupled();
        let mut guards = check_guards(&DesignView::of(
            traffic,
            &plan.rule,
            coupled,
            said,
            Vec::new(),
        ));
        let offered = [generator.groups[0].offered_pps().unwrap(); 2];
        guards.extend(pair_offered(&plan.rule, &offered).filter(|_| !coupled));
        let pairs = plan.pairs.iter().flat_map(|planned| {
            planned.order.arms().into_iter().map(|arm| TrialRecord {
                arm: plan.campaign.arms[arm].name.clone(),
                order: planned.order.clone(),
                guards: guards.clone(),
                generator: Some(generator.clone()),
                ready: Some(Ready::Receiver(ready.clone())),
                host: Some(host.clone()),
                ..samples::row(planned.pair)
            })
        });
        numbered(pairs)
    }

    fn numbered(rows: impl Iterator<Item = TrialRecord>) -> Vec<TrialRecord> {
        let numbered = rows.zip(0_u32..).map(|(row, trial)| TrialRecord {
            identity: TrialIdentity {
                run_id: 1,
                trial,
                nonce: trial,
            },
            row: u64::from(trial),
            ..row
        });
        numbered.collect()
    }

    fn refused(change: impl FnOnce(&mut Vec<TrialRecord>)) -> String {
        let plan = sealed();
        let mut rows = finished(&plan);
        change(&mut rows);
        let failure = check(&plan, &rows).unwrap_err();
        assert_eq!(failure.code, 5);
        failure.message
    }

    #[test]
    fn rows_as_planned_pass() {
        let plan = sealed();
        let rows = finished(&plan);
        assert_eq!(check(&plan, &rows), Ok(()));
        assert_eq!(
            check(&plan, &rows[..4]),
            Ok(()),
            "an unfinished campaign is as planned so far"
        );
    }

    #[test]
    fn where_the_generator_sets_the_rate_a_pair_has_a_guard_of_its_own() {
        let mut plan = sealed();
        plan.campaign.topology.receive_cpu = ReceiveCpu::Separate;
        let rows = finished(&plan);
        assert_eq!(rows[0].guards.last().unwrap().name, GuardName::PairOffered);
        assert_eq!(check(&plan, &rows), Ok(()));
        let changed = |change: fn(&mut TrialRecord)| {
            let mut rows = rows.clone();
            change(&mut rows[1]);
            check(&plan, &rows).unwrap_err().message
        };
        for message in [
            changed(|row| drop(row.guards.pop())),
            changed(|row| row.guards.last_mut().unwrap().saw.push('.')),
            changed(|row| row.guards.push(row.guards.last().unwrap().clone())),
        ] {
            assert!(message.contains("its pair's guard"), "{message}");
        }
        plan.campaign.topology.receive_cpu = ReceiveCpu::Sender;
        assert!(check(&plan, &rows).is_err());
    }

    #[test]
    fn rows_in_another_order_or_by_choice_are_refused() {
        assert!(refused(|rows| rows.reverse()).contains("next was"));
        assert!(refused(|rows| rows.swap(0, 1)).contains("next was"));
        let copied = refused(|rows| {
            let mut copy = rows[..2].to_vec();
            copy.iter_mut().for_each(|row| row.pair = 100);
            rows.extend(copy);
        });
        assert!(copied.contains("over before it"), "{copied}");
        assert!(refused(|rows| rows.insert(2, rows[1].clone())).contains("all its members"));
    }

    #[test]
    fn passes_of_another_program_or_in_another_order_are_refused() {
        let mut plan = samples::passes_plan();
        for arm in ["baseline", "candidate"] {
            plan.binaries.insert(format!("receiver/{arm}"), "aa".into());
        }
        let host = HostWindow {
            foreign_cpu_ns: Some(0),
            ..HostWindow::default()
        };
        let guards = check_guards(&DesignView::of_passes(&plan.rule, Vec::new(), &host));
        let rows = numbered(plan.pairs.iter().flat_map(|planned| {
            planned.order.arms().into_iter().map(|arm| {
                let passes = drawn(2, 2, true, plan.seed.0, "mix", planned.pair)
                    .into_iter()
                    .filter(|(of, _)| *of == arm)
                    .map(|(_, input)| samples::pass(input, 30_000_000, 22_000_000));
                TrialRecord {
                    order: planned.order.clone(),
                    guards: guards.clone(),
                    generator: None,
                    host: Some(host.clone()),
                    ..samples::passes_row(
                        planned.pair,
                        &plan.campaign.arms[arm].name,
                        passes.collect(),
                    )
                }
            })
        }));
        assert_eq!(check(&plan, &rows), Ok(()));
        let refused = |change: fn(&mut Vec<PassReport>)| {
            let mut rows = rows.clone();
            let Some(Delivery::Passes(passes)) = &mut rows[3].delivery else {
                panic!()
            };
            change(passes);
            check(&plan, &rows).unwrap_err().message
        };
        let other = refused(|passes| passes[1].program_sha256 = "cc".into());
        assert!(other.contains("pass 2 ran another program"), "{other}");
        let fewer = refused(|passes| drop(passes.pop()));
        assert!(fewer.contains("not those that were drawn"), "{fewer}");
    }

    #[test]
    fn rows_that_contradict_themselves_or_the_seal_are_refused() {
        let voided = refused(|rows| rows[3].outcome = Outcome::Voided);
        assert!(
            voided.contains("voided although every guard passed"),
            "{voided}"
        );
        assert!(refused(|rows| rows[3].guards[0].passed = false).contains("did not pass"));
        let by_choice = refused(|rows| {
            rows[3].guards[0].passed = false;
            rows[3].outcome = Outcome::Voided;
        });
        assert!(
            by_choice.contains("not what its counts give"),
            "{by_choice}"
        );
        let loud = refused(|rows| {
            for row in &mut rows[2..4] {
                row.host.as_mut().unwrap().foreign_cpu_ns = Some(1_000_000_000);
            }
        });
        assert!(loud.contains("not what its counts give"), "{loud}");
        assert!(refused(|rows| rows[3].guards.clear()).contains("not what its counts give"));
        assert!(refused(|rows| rows[3].ledger = None).contains("a ledger"));
        assert!(refused(|rows| rows[3].delivery = None).contains("without the counts"));
        let apart = refused(|rows| rows[3].generator.as_mut().unwrap().shifted_ns += 1);
        assert!(apart.contains("shares with its pair"), "{apart}");
        let more = refused(|rows| {
            for row in &mut rows[2..4] {
                row.generator.as_mut().unwrap().groups[0].planned += 1;
            }
        });
        assert!(more.contains("was not to send"), "{more}");
        assert!(refused(|rows| rows[3].program_sha256 = None).contains("another program"));
        assert!(refused(|rows| rows[3].intended_pps = Some(1)).contains("its case has"));
        assert!(refused(|rows| rows[3].phase = Phase::Rehearsal).contains("another phase"));
        assert!(refused(|rows| rows[3].identity = rows[2].identity).contains("another trial's"));
    }
}
