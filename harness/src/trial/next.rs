//! Which pair runs next: a pure function of the plan and the rows there are, so that a resumed
//! campaign goes on exactly where it was.

use std::collections::BTreeMap;

use wiretrial_contract::plan::{Arrangement, Plan, PlannedPair};
use wiretrial_contract::record::TrialRecord;

use super::pairs::{all_there, by_pair, clean, counts, interrupted};
use super::setting::together;
use crate::campaign::order;

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
    /// Every planned pair counts, or one that replaces it does.
    Finished,
    /// More pairs of a case were voided than the plan replaces.
    Exhausted {
        /// Index of the case.
        case: u32,
        /// Its voided pairs.
        voided: u32,
    },
    /// The campaign has run for its budget, and pairs are left.
    Spent,
}

/// The next step of a campaign with this plan and these rows.
///
/// Planned pairs run in their order; a voided pair is replaced at the end, with its own launch
/// order, as long as its case has replacements left. Pairs voided by a signal are replaced without
/// counting against that. A case out of replacements ends the campaign; so does a budget, once the
/// rows have run for it, for it looks at nothing that was measured. Where members run one after the
/// other, a pair whose first ones ran goes on with the next.
///
/// # Panics
///
/// With more than 2^32 pairs, which no campaign has.
#[must_use]
pub fn next(plan: &Plan, rows: &[TrialRecord]) -> Next {
    match unlimited(plan, rows) {
        Next::Run { planned, .. }
            if spent(plan, rows) && !rows.iter().any(|row| row.pair == planned.pair) =>
        {
            Next::Spent
        }
        other => other,
    }
}

fn spent(plan: &Plan, rows: &[TrialRecord]) -> bool {
    let ran_ns = rows.iter().map(|row| row.ended_ns).max();
    plan.campaign
        .design
        .budget_ns
        .zip(ran_ns)
        .is_some_and(|(budget_ns, ran_ns)| ran_ns >= budget_ns)
}

fn unlimited(plan: &Plan, rows: &[TrialRecord]) -> Next {
    let pairs = by_pair(rows);
    if let Some((planned, rows)) = begun(plan, &pairs) {
        return Next::Run {
            replaces: rows[0].replaces,
            arms: together(&plan.campaign, &planned).swap_remove(rows.len()),
            planned,
        };
    }
    let mut voided: BTreeMap<u32, u32> = BTreeMap::new();
    for (origin, rows) in void(plan, &pairs) {
        if interrupted(rows) {
            continue;
        }
        let count = voided.entry(origin.case).or_default();
        *count += 1;
        if *count > plan.campaign.design.replacements {
            return Next::Exhausted {
                case: origin.case,
                voided: *count,
            };
        }
    }
    if let Some(planned) = plan
        .pairs
        .iter()
        .find(|planned| !pairs.contains_key(&planned.pair))
    {
        return Next::Run {
            planned: planned.clone(),
            replaces: None,
            arms: together(&plan.campaign, planned).swap_remove(0),
        };
    }
    let replaced: Vec<u64> = rows.iter().filter_map(|row| row.replaces).collect();
    let waiting = void(plan, &pairs).find(|(_, rows)| !replaced.contains(&rows[0].pair));
    let Some((origin, void)) = waiting else {
        return Next::Finished;
    };
    let last = pairs.keys().next_back().map_or(0, |last| last + 1);
    let number = last.max(plan.pairs.len() as u64);
    let planned = replacement(plan, &pairs, origin, number);
    Next::Run {
        arms: together(&plan.campaign, &planned).swap_remove(0),
        planned,
        replaces: Some(void[0].pair),
    }
}

/// The pair numbered `number` that stands in for one of the plan.
fn replacement(
    plan: &Plan,
    pairs: &BTreeMap<u64, Vec<&TrialRecord>>,
    origin: &PlannedPair,
    number: u64,
) -> PlannedPair {
    let case = &plan.campaign.cases[origin.case as usize].name;
    let earlier = pairs
        .range(..number)
        .filter(|(_, rows)| rows[0].replaces.is_some() && rows[0].case == *case)
        .count();
    let earlier = u32::try_from(earlier).expect("fewer pairs");
    order::replacement(&plan.campaign, plan.seed.0, origin, number, earlier)
}

/// The last pair, if its members run one after the other, nothing is wrong with those that ran, and
/// one has not.
fn begun<'a>(
    plan: &Plan,
    pairs: &'a BTreeMap<u64, Vec<&'a TrialRecord>>,
) -> Option<(PlannedPair, &'a [&'a TrialRecord])> {
    let (number, rows) = pairs.last_key_value()?;
    let sequential = plan.campaign.design.arrangement == Arrangement::Sequential;
    if !sequential || all_there(rows) || !clean(rows) {
        return None;
    }
    let origin = origin(plan, pairs, *number)?;
    let planned = if origin.pair == *number {
        origin.clone()
    } else {
        replacement(plan, pairs, origin, *number)
    };
    Some((planned, rows))
}

/// Pairs that do not count, each with the pair of the plan that it is or stands in for.
fn void<'a>(
    plan: &'a Plan,
    pairs: &'a BTreeMap<u64, Vec<&'a TrialRecord>>,
) -> impl Iterator<Item = (&'a PlannedPair, &'a [&'a TrialRecord])> {
    pairs
        .iter()
        .filter(|(_, rows)| !counts(rows))
        .filter_map(|(pair, rows)| Some((origin(plan, pairs, *pair)?, &rows[..])))
}

/// Follows what a replacement replaces back to the plan.
fn origin<'a>(
    plan: &'a Plan,
    pairs: &BTreeMap<u64, Vec<&TrialRecord>>,
    pair: u64,
) -> Option<&'a PlannedPair> {
    if let Some(planned) = plan.pairs.iter().find(|planned| planned.pair == pair) {
        return Some(planned);
    }
    let replaces = pairs.get(&pair)?.first()?.replaces?;
    // A replacement has a higher number than what it replaces, so this ends.
    if replaces < pair {
        origin(plan, pairs, replaces)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::samples;
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
        assert_eq!(next(&plan, &all), Next::Exhausted { case: 0, voided: 3 });
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
