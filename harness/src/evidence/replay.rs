//! Rows held against the plan: every pair is the one that was next, as the plan has it, and every
//! row is what its own guards and the seal say.

use std::collections::BTreeSet;

use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{Plan, PlannedPair};
use wiretrial_contract::record::{Outcome, Phase, TrialRecord};

use crate::trial::guards::all_passed;
use crate::trial::next::{Next, next};

/// Checks all rows in their order.
///
/// # Errors
///
/// Exit 5: the row and what it should have been.
pub fn check(plan: &Plan, rows: &[TrialRecord]) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    let mut at = 0;
    while let Some(first) = rows.get(at) {
        let end = rows[at..].iter().position(|row| row.pair != first.pair);
        let end = end.map_or(rows.len(), |length| at + length);
        let Next::Run { planned, replaces } = next(plan, &rows[..at]) else {
            return Err(wrong(first, "the campaign was over before it"));
        };
        pair(plan, &planned, replaces, &rows[at..end])?;
        for row in &rows[at..end] {
            one(plan, row)?;
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
    let arms = planned
        .order
        .arms()
        .map(|arm| plan.campaign.arms[arm].name.as_str());
    for (row, arm) in rows.iter().zip(arms) {
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
        if row.intended_pps != case.traffic.rate_pps {
            return Err(wrong(
                row,
                &format!("its case has {} pps", case.traffic.rate_pps),
            ));
        }
    }
    match rows.get(arms.len()) {
        Some(row) => Err(wrong(row, "its pair has both members already")),
        None => Ok(()),
    }
}

/// One row by itself.
fn one(plan: &Plan, row: &TrialRecord) -> Result<(), Failure> {
    if row.phase != Phase::Confirm {
        return Err(wrong(row, "it is of another phase"));
    }
    match row.outcome {
        Outcome::Failed { .. } => return Ok(()),
        Outcome::Ok if !all_passed(&row.guards) => {
            return Err(wrong(row, "it counts although a guard did not pass"));
        }
        Outcome::Ok if row.guards.is_empty() => return Err(wrong(row, "it counts without guards")),
        Outcome::Voided if all_passed(&row.guards) => {
            return Err(wrong(row, "it is voided although every guard passed"));
        }
        Outcome::Ok | Outcome::Voided => {}
    }
    let whole = row.ledger.is_some() && row.delivery.is_some() && row.host.is_some();
    if row.outcome == Outcome::Ok && !whole {
        return Err(wrong(row, "it counts without counts, counters or a ledger"));
    }
    let sealed = plan.binaries.get(&format!("receiver/{}", row.arm));
    if row.outcome == Outcome::Ok && row.program_sha256.as_ref() != sealed {
        return Err(wrong(row, "it ran another program than was sealed"));
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
    use crate::trial::samples;
    use wiretrial_contract::control::TrialIdentity;
    use wiretrial_contract::record::{Guard, GuardName};

    fn sealed() -> Plan {
        let mut plan = samples::plan();
        for arm in ["baseline", "candidate"] {
            plan.binaries.insert(format!("receiver/{arm}"), "aa".into());
        }
        plan
    }

    fn finished(plan: &Plan) -> Vec<TrialRecord> {
        let pairs = plan.pairs.iter().flat_map(|planned| {
            planned.order.arms().map(|arm| TrialRecord {
                arm: plan.campaign.arms[arm].name.clone(),
                order: planned.order,
                guards: vec![Guard {
                    name: GuardName::Binary,
                    passed: true,
                    saw: "as sealed".into(),
                }],
                ..samples::row(planned.pair)
            })
        });
        let numbered = pairs.zip(0_u32..).map(|(row, trial)| TrialRecord {
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
    fn rows_in_another_order_or_by_choice_are_refused() {
        assert!(refused(|rows| rows.reverse()).contains("next was"));
        assert!(refused(|rows| rows.swap(0, 1)).contains("next was"));
        let copied = refused(|rows| {
            let mut copy = rows[..2].to_vec();
            copy.iter_mut().for_each(|row| row.pair = 100);
            rows.extend(copy);
        });
        assert!(copied.contains("over before it"), "{copied}");
        assert!(refused(|rows| rows.insert(2, rows[1].clone())).contains("both members"));
    }

    #[test]
    fn rows_that_contradict_themselves_or_the_seal_are_refused() {
        let voided = refused(|rows| rows[3].outcome = Outcome::Voided);
        assert!(
            voided.contains("voided although every guard passed"),
            "{voided}"
        );
        assert!(refused(|rows| rows[3].guards[0].passed = false).contains("did not pass"));
        assert!(refused(|rows| rows[3].guards.clear()).contains("without guards"));
        assert!(refused(|rows| rows[3].ledger = None).contains("a ledger"));
        assert!(refused(|rows| rows[3].program_sha256 = None).contains("another program"));
        assert!(refused(|rows| rows[3].intended_pps = 1).contains("its case has"));
        assert!(refused(|rows| rows[3].phase = Phase::Rehearsal).contains("another phase"));
        assert!(refused(|rows| rows[3].identity = rows[2].identity).contains("another trial's"));
    }
}
