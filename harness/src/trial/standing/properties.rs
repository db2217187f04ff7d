//! The standing after any rows is what is read off all of them at once.

use std::collections::BTreeMap;

use proptest::prelude::*;
use wiretrial_contract::plan::{ArmSpec, Arrangement, Case, Kind, LaunchOrder, Plan, PlannedPair};
use wiretrial_contract::record::{Guard, GuardName, Outcome, Step, TrialRecord};

use super::{Next, Standing, together};
use crate::campaign::order;
use crate::trial::pairs::{all_there, by_pair, clean, counts, interrupted};
use crate::trial::samples;

/// Two or three cases and arms, and few pairs.
fn plan() -> impl Strategy<Value = Plan> {
    let shape = (1_usize..4, 3_u32..6, any::<bool>(), any::<bool>());
    let rule = (0_u32..4, prop::option::of(0_u64..60), any::<u64>());
    (shape, rule).prop_map(
        |((cases, half, table, sequential), (most, budget_ns, seed))| {
            let mut plan = samples::plan();
            let campaign = &mut plan.campaign;
            campaign.cases = (0..cases)
                .map(|case| Case {
                    name: format!("case {case}"),
                    ..campaign.cases[0].clone()
                })
                .collect();
            if table {
                campaign.kind = Kind::Table;
                campaign.arms.push(ArmSpec {
                    name: "third".into(),
                });
            }
            if sequential {
                campaign.design.arrangement = Arrangement::Sequential;
            }
            campaign.design.pairs = 2 * half;
            campaign.design.replacements = most;
            campaign.design.budget_ns = budget_ns;
            plan.seed.0 = seed;
            plan.pairs = order::pairs(campaign, seed);
            plan
        },
    )
}

/// What becomes of a row, and what is done other than what was next.
#[derive(Debug, Clone, Copy)]
enum Move {
    /// What is next runs; the number chooses how.
    Run(u8),
    /// The same, and only the first row of what was to run is written.
    Half(u8),
    /// The next planned pair is left out.
    Skip,
    /// Another row of a pair that has some.
    Again(u8, prop::sample::Index),
    /// A pair of a number beyond, that replaces one there is.
    Beyond(u8, prop::sample::Index),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let index = any::<prop::sample::Index>;
    let one = prop_oneof![
        40 => any::<u8>().prop_map(Move::Run),
        4 => any::<u8>().prop_map(Move::Half),
        1 => Just(Move::Skip),
        1 => (any::<u8>(), index()).prop_map(|(how, at)| Move::Again(how, at)),
        1 => (any::<u8>(), index()).prop_map(|(how, at)| Move::Beyond(how, at)),
    ];
    prop::collection::vec(one, 0..60)
}

/// A row that ran to its end, was voided, failed, or was cut short by a signal.
fn row(case: &str, pair: u64, order: &LaunchOrder, replaces: Option<u64>, how: u8) -> TrialRecord {
    let guard = Guard {
        name: GuardName::Interrupted,
        passed: how.is_multiple_of(2),
        saw: String::new(),
    };
    let outcome = match how {
        0..=27 => Outcome::Voided,
        28..=33 => Outcome::Failed {
            step: Step::Send,
            cause: String::new(),
            code: 4,
        },
        _ => Outcome::Ok,
    };
    TrialRecord {
        case: case.into(),
        order: order.clone(),
        replaces,
        outcome,
        guards: if how % 8 < 2 { vec![guard] } else { Vec::new() },
        ended_ns: pair,
        ..samples::row(pair)
    }
}

fn played(plan: &Plan, rows: &[TrialRecord], one: Move) -> Vec<TrialRecord> {
    let case = |planned: &PlannedPair| plan.campaign.cases[planned.case as usize].name.clone();
    match one {
        Move::Run(how) | Move::Half(how) => {
            let Next::Run {
                planned,
                replaces,
                arms,
            } = at_once(plan, rows)
            else {
                return Vec::new();
            };
            let ran = if matches!(one, Move::Half(_)) {
                1
            } else {
                arms.len()
            };
            (0..ran)
                .map(|_| row(&case(&planned), planned.pair, &planned.order, replaces, how))
                .collect()
        }
        Move::Skip => {
            let pairs = by_pair(rows);
            let mut left = plan
                .pairs
                .iter()
                .filter(|one| !pairs.contains_key(&one.pair));
            let other = left.nth(1).into_iter();
            other
                .map(|one| row(&case(one), one.pair, &one.order, None, 255))
                .collect()
        }
        Move::Again(how, at) if !rows.is_empty() => {
            let like = at.get(rows);
            let there = rows.iter().filter(|row| row.pair == like.pair).count();
            if there >= like.order.members() {
                return Vec::new();
            }
            vec![row(&like.case, like.pair, &like.order, like.replaces, how)]
        }
        Move::Beyond(how, at) if !rows.is_empty() => {
            let like = at.get(rows);
            let number = 1_000 + rows.len() as u64;
            vec![row(&like.case, number, &like.order, Some(like.pair), how)]
        }
        Move::Again(..) | Move::Beyond(..) => Vec::new(),
    }
}

proptest! {
    #[test]
    fn row_by_row_is_as_all_at_once(plan in plan(), moves in moves()) {
        let mut standing = Standing::new(&plan);
        let mut rows: Vec<TrialRecord> = Vec::new();
        prop_assert_eq!(standing.step(), at_once(&plan, &rows));
        for one in moves {
            for row in played(&plan, &rows, one) {
                standing.add(std::slice::from_ref(&row));
                rows.push(row);
                let expected = at_once(&plan, &rows);
                prop_assert_eq!(standing.step(), expected.clone());
                prop_assert_eq!(standing.step(), expected, "asking changes nothing");
            }
        }
    }
}

/// The next step, from all rows at once.
fn at_once(plan: &Plan, rows: &[TrialRecord]) -> Next {
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
    let exhausted = |case: u32| {
        let voids = void(plan, &pairs).filter(|(_, rows)| !interrupted(rows));
        let of_case = voids.filter(|(origin, _)| origin.case == case);
        of_case.count() > plan.campaign.design.replacements as usize
    };
    if let Some(planned) = plan
        .pairs
        .iter()
        .find(|planned| !exhausted(planned.case) && !pairs.contains_key(&planned.pair))
    {
        return Next::Run {
            planned: planned.clone(),
            replaces: None,
            arms: together(&plan.campaign, planned).swap_remove(0),
        };
    }
    let replaced: Vec<u64> = rows.iter().filter_map(|row| row.replaces).collect();
    let waiting = void(plan, &pairs)
        .find(|(origin, rows)| !exhausted(origin.case) && !replaced.contains(&rows[0].pair));
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
