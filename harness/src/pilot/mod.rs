//! The pilot: a few pairs before the plan is sealed, to learn what the campaign can see.
//!
//! It has a plan of its own, with a seed of its own, and rows that hang on that plan's hash; they
//! are of another phase and in no estimate. [`noise`] makes numbers from them, [`outlook`] the line
//! before the campaign. Everything here is a pure function of plan and rows, so that `verify` does it
//! again.

pub mod fit;
pub mod noise;
pub mod outlook;
pub mod rehearsal;

use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{Design, PilotCase, Plan, PlannedPair, Seed};
use wiretrial_contract::record::TrialRecord;
use wiretrial_stats::random::{Purpose, stream_seed};

use crate::campaign::{order, resolve};
use crate::trial::pairs::{by_pair, counts};

/// The pairs that a plan has as long as the pilot is to choose them.
const UNCHOSEN: u32 = 6;

/// The plan as it was before the pilot: without what only the pilot and the floors gave it.
#[must_use]
pub fn unsealed(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.pilot.clear();
    plan.floors.clear();
    if plan.campaign.design.time_ns.is_some() {
        plan.campaign.design.pairs = UNCHOSEN;
        plan.campaign.design.replacements = resolve::replacements(UNCHOSEN);
        plan.pairs = order::pairs(&plan.campaign, plan.seed.0);
    }
    plan
}

/// The plan of the pilot that belongs to a plan: the same campaign and executables, a seed from a
/// stream of its own, and its few pairs. None where no pilot is declared.
#[must_use]
pub fn plan(sealed: &Plan) -> Option<Plan> {
    let mut plan = unsealed(sealed);
    let rounds = plan.campaign.design.pilot;
    if rounds == 0 {
        return None;
    }
    plan.seed = Seed(stream_seed(Purpose::Pilot, "", sealed.seed.0));
    // Orders are balanced over an even number; an odd pilot stops one round earlier.
    plan.campaign.design.pairs = rounds.next_multiple_of(2);
    plan.campaign.design.replacements = rounds;
    plan.campaign.design.budget_ns = None;
    plan.pairs = order::pairs(&plan.campaign, plan.seed.0);
    plan.pairs.retain(|planned| planned.round < rounds);
    Some(plan)
}

/// The next pair of a pilot with this plan and these rows, and the void one it replaces: planned
/// pairs in their order, then each void one of them once. None when it is over.
///
/// # Panics
///
/// With more than 2^32 pairs, which no pilot has.
#[must_use]
pub fn next(plan: &Plan, rows: &[TrialRecord]) -> Option<(PlannedPair, Option<u64>)> {
    let pairs = by_pair(rows);
    let left = plan.pairs.iter().find(|one| !pairs.contains_key(&one.pair));
    if let Some(planned) = left {
        return Some((planned.clone(), None));
    }
    let replaced = |pair: u64| rows.iter().any(|row| row.replaces == Some(pair));
    let void = plan
        .pairs
        .iter()
        .find(|planned| !counts(&pairs[&planned.pair]) && !replaced(planned.pair))?;
    let case = &plan.campaign.cases[void.case as usize].name;
    let earlier = pairs
        .values()
        .filter(|rows| rows[0].replaces.is_some() && rows[0].case == *case)
        .count();
    let earlier = u32::try_from(earlier).expect("fewer pairs");
    let number = pairs.len() as u64;
    let planned = order::replacement(&plan.campaign, plan.seed.0, void, number, earlier);
    Some((planned, Some(void.pair)))
}

/// The design with the pairs that the pilot chose, where it was to, and what the pilot showed of every
/// case; nothing where there was none.
///
/// # Errors
///
/// As [`fit::pairs`].
pub fn decided(
    design: &Design,
    pilot: Option<&(Plan, Vec<TrialRecord>)>,
) -> Result<(Design, Vec<PilotCase>), Failure> {
    let mut design = design.clone();
    let Some((plan, rows)) = pilot else {
        return Ok((design, Vec::new()));
    };
    if let Some(time_ns) = design.time_ns {
        let declared = design.replacements != resolve::replacements(design.pairs);
        design.pairs = fit::pairs(time_ns, &noise::cases(plan, rows, &design))?;
        if !declared {
            design.replacements = resolve::replacements(design.pairs);
        }
    }
    let seen = noise::cases(plan, rows, &design);
    Ok((design, seen))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::samples;
    use std::collections::BTreeSet;
    use wiretrial_contract::record::{Outcome, Phase};

    fn sealed(pilot: u32) -> Plan {
        let mut plan = samples::plan();
        plan.campaign.design.pilot = pilot;
        plan
    }

    fn rows(pair: u64, replaces: Option<u64>, outcome: &Outcome) -> [TrialRecord; 2] {
        ["baseline", "candidate"].map(|arm| TrialRecord {
            arm: arm.into(),
            phase: Phase::Pilot,
            replaces,
            outcome: outcome.clone(),
            ..samples::row(pair)
        })
    }

    #[test]
    fn a_pilot_has_an_order_of_its_own() {
        assert_eq!(plan(&sealed(0)), None);
        let sealed = sealed(3);
        let pilot = plan(&sealed).unwrap();
        assert_eq!(pilot.pairs.len(), 3);
        assert_ne!(pilot.seed, sealed.seed);
        let gaps = |plan: &Plan| -> BTreeSet<u64> { plan.pairs.iter().map(|p| p.gap_ns).collect() };
        assert_ne!(gaps(&pilot), gaps(&sealed));
    }

    #[test]
    fn what_the_pilot_decides_does_not_change_its_plan() {
        let mut one = sealed(3);
        one.campaign.design.time_ns = Some(60_000_000_000);
        let mut other = one.clone();
        other.campaign.design.pairs = 40;
        other.campaign.design.replacements = 6;
        other.pairs = order::pairs(&other.campaign, other.seed.0);
        other.pilot = noise::cases(&plan(&one).unwrap(), &[], &other.campaign.design);
        assert_eq!(plan(&one), plan(&other));
        assert_eq!(unsealed(&one), unsealed(&other));
    }

    #[test]
    fn a_void_pair_is_replaced_once_and_its_replacement_never() {
        let plan = plan(&sealed(3)).unwrap();
        let mut all = Vec::new();
        for number in 0..3 {
            let (planned, replaces) = next(&plan, &all).unwrap();
            assert_eq!((planned.pair, replaces), (number, None));
            let outcome = if number == 1 {
                Outcome::Voided
            } else {
                Outcome::Ok
            };
            all.extend(rows(number, None, &outcome));
        }
        let (planned, replaces) = next(&plan, &all).unwrap();
        assert_eq!(
            (planned.pair, planned.round, replaces),
            (3, plan.pairs[1].round, Some(1))
        );
        all.extend(rows(3, Some(1), &Outcome::Voided));
        assert_eq!(next(&plan, &all), None);
    }
}
