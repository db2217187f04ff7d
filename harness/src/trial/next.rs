//! Which pair runs next: a pure function of the plan and the rows there are, so that a resumed
//! campaign goes on exactly where it was.

use wiretrial_contract::plan::{Plan, PlannedPair};
use wiretrial_contract::record::TrialRecord;

use super::standing::Standing;

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Run this pair.
    Run {
        /// The pair, numbered on from the plan's when it is a replacement.
        planned: PlannedPair,
        /// The voided pair it replaces.
        replaces: Option<u64>,
        /// The arms whose members run now, in launch order: all of them, or where one runs after the
        /// other the next.
        arms: Vec<usize>,
    },
    /// Every planned pair counts, or one that replaces it does, but for cases of which more pairs were
    /// voided than the plan replaces.
    Finished,
    /// The campaign has run for its budget, and pairs are left.
    Spent,
}

/// The next step of a campaign with this plan and these rows; [`Standing`] says it after each row.
///
/// Planned pairs run in their order; a voided pair is replaced at the end, with its own launch
/// order, as long as its case has replacements left. Pairs voided by a signal are replaced without
/// counting against that. Of a case out of replacements nothing more is run; the others go on. A budget
/// ends the campaign once the rows have run for it, for it looks at nothing that was measured. Where
/// members run one after the other, a pair whose first ones ran goes on with the next.
///
/// # Panics
///
/// With more than 2^32 pairs, which no campaign has.
#[must_use]
pub fn next(plan: &Plan, rows: &[TrialRecord]) -> Next {
    let mut standing = Standing::new(plan);
    standing.add(rows);
    standing.step()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::samples;
    use wiretrial_contract::plan::Arrangement;
    use wiretrial_contract::record::{Guard, GuardName, Outcome};

    fn rows(pair: u64, replaces: Option<u64>, outcome: &Outcome) -> [TrialRecord; 2] {
        ["baseline", "candidate"].map(|arm| TrialRecord {
            arm: arm.into(),
            replaces,
            outcome: outcome.clone(),
            ..samples::row(pair)
        })
    }

    fn done(plan: &Plan) -> Vec<TrialRecord> {
        plan.pairs
            .iter()
            .flat_map(|planned| rows(planned.pair, None, &Outcome::Ok))
            .collect()
    }

    fn void_at(all: &mut [TrialRecord], pair: u64) {
        all.iter_mut()
            .filter(|r| r.pair == pair)
            .for_each(|r| r.outcome = Outcome::Voided);
    }

    #[test]
    fn planned_pairs_first_and_in_their_order() {
        let plan = samples::plan();
        let mut all = Vec::new();
        for planned in &plan.pairs {
            let Next::Run {
                planned: got,
                replaces,
                arms,
            } = next(&plan, &all)
            else {
                panic!()
            };
            assert_eq!((got.pair, replaces), (planned.pair, None));
            assert_eq!(arms, planned.order.arms());
            all.extend(rows(planned.pair, None, &Outcome::Ok));
        }
        assert_eq!(next(&plan, &all), Next::Finished);
    }

    #[test]
    fn a_voided_pair_is_replaced_at_the_end_with_its_launch_order() {
        let plan = samples::plan();
        let mut all = done(&plan);
        void_at(&mut all, 1);
        let Next::Run {
            planned, replaces, ..
        } = next(&plan, &all)
        else {
            panic!()
        };
        assert_eq!(planned.pair, plan.pairs.len() as u64);
        assert_eq!(planned.order, plan.pairs[1].order);
        assert_eq!(replaces, Some(1));
        all.extend(rows(planned.pair, Some(1), &Outcome::Ok));
        assert_eq!(next(&plan, &all), Next::Finished);
    }

    #[test]
    fn a_voided_replacement_is_replaced_until_the_cap() {
        let plan = samples::plan();
        let mut all = done(&plan);
        void_at(&mut all, 0);
        let first = plan.pairs.len() as u64;
        all.extend(rows(first, Some(0), &Outcome::Voided));
        let Next::Run {
            planned, replaces, ..
        } = next(&plan, &all)
        else {
            panic!()
        };
        assert_eq!((planned.pair, replaces), (first + 1, Some(first)));
        assert_eq!(planned.order, plan.pairs[0].order);
        all.extend(rows(first + 1, Some(first), &Outcome::Voided));
        assert_eq!(next(&plan, &all), Next::Finished);
    }

    #[test]
    fn a_case_out_of_replacements_is_left_and_the_others_go_on() {
        let mut plan = samples::plan();
        let mut other = plan.campaign.cases[0].clone();
        other.name = "other".into();
        plan.campaign.cases.push(other);
        for planned in plan
            .pairs
            .iter_mut()
            .filter(|planned| planned.pair % 2 == 1)
        {
            planned.case = 1;
        }
        let mut all = Vec::new();
        let mut ran = Vec::new();
        while let Next::Run {
            planned, replaces, ..
        } = next(&plan, &all)
        {
            ran.push((planned.pair, planned.case));
            let outcome = if planned.case == 0 {
                Outcome::Voided
            } else {
                Outcome::Ok
            };
            let members = rows(planned.pair, replaces, &outcome);
            all.extend(members.map(|row| TrialRecord {
                case: plan.campaign.cases[planned.case as usize].name.clone(),
                ..row
            }));
        }
        // Pairs 0, 2 and 4 are more than the two that may be replaced.
        assert_eq!(ran, [(0, 0), (1, 1), (2, 0), (3, 1), (4, 0), (5, 1)]);
        assert_eq!(next(&plan, &all), Next::Finished);
    }

    #[test]
    fn no_pair_is_begun_after_the_budget() {
        let mut plan = samples::plan();
        let mut all = Vec::new();
        all.extend(rows(0, None, &Outcome::Ok));
        all[1].ended_ns = 1_000;
        for (budget_ns, spent) in [(None, false), (Some(1_001), false), (Some(1_000), true)] {
            plan.campaign.design.budget_ns = budget_ns;
            assert_eq!(next(&plan, &all) == Next::Spent, spent, "{budget_ns:?}");
        }
        assert!(matches!(next(&plan, &[]), Next::Run { .. }));
        assert_eq!(next(&plan, &done(&plan)), Next::Finished, "it was enough");
    }

    #[test]
    fn one_after_the_other_every_member_is_a_step_of_its_own() {
        let mut plan = samples::plan();
        plan.campaign.design.arrangement = Arrangement::Sequential;
        let step = |all: &[TrialRecord]| match next(&plan, all) {
            Next::Run {
                planned,
                replaces,
                arms,
            } => (planned.pair, replaces, arms),
            other => panic!("{other:?}"),
        };
        let row = |pair, replaces, outcome| rows(pair, replaces, &outcome)[0].clone();
        let [first, second] = plan.pairs[0].order.arms()[..] else {
            panic!()
        };
        let mut all = Vec::new();
        assert_eq!(step(&all), (0, None, vec![first]));
        all.push(row(0, None, Outcome::Ok));
        assert_eq!(step(&all), (0, None, vec![second]));
        // A first member that does not count leaves nothing to compare a second one with.
        all[0].outcome = Outcome::Voided;
        assert_eq!(step(&all).0, 1);
        all.extend(done(&plan).into_iter().filter(|row| row.pair > 0));
        let last = plan.pairs.len() as u64;
        assert_eq!(step(&all), (last, Some(0), vec![first]));
        let before = step(&all);
        all.push(row(last, Some(0), Outcome::Ok));
        assert_eq!(step(&all), (before.0, before.1, vec![second]));
    }

    #[test]
    fn what_a_signal_ended_is_replaced_outside_the_cap() {
        let plan = samples::plan();
        let mut all = done(&plan);
        for pair in 0..4 {
            void_at(&mut all, pair);
        }
        for row in all.iter_mut().filter(|row| row.pair < 4) {
            row.guards.push(Guard {
                name: GuardName::Interrupted,
                passed: false,
                saw: "a signal came in step send".into(),
            });
        }
        assert!(matches!(
            next(&plan, &all),
            Next::Run {
                replaces: Some(0),
                ..
            }
        ));
    }
}
