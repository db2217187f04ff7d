//! What order and time did to the effects of pairs, and which pairs lie far from the others.

use wiretrial_contract::analysis::{Comparison, Diagnostics, Fraction, LevelShift, round12};
use wiretrial_contract::record::Flag;
use wiretrial_stats::drift::{self, ChangePoint, FLAG_P, PositionEffect};
use wiretrial_stats::interval::{Limits, MIN_PAIRS, Scale, pair_effects};
use wiretrial_stats::order::First;
use wiretrial_stats::rank;

use super::estimate::{Values, count, flagged, limits, variant};

/// Most pairs whose order is permuted: 20,000 permutations of so many more would take minutes, while the
/// other numbers take as long as the pairs are many. Campaigns have no more.
const MOST: usize = wiretrial_stats::bootstrap::MAX_PAIRS;
/// Fewest pairs of which one can be called far from the others.
const FEWEST: usize = 6;

/// What was found in the costs of pairs; the default is that nothing was looked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Course {
    /// What the place in a pair did; `None` where launch orders are not known or all the same.
    pub(super) position: Option<PositionEffect>,
    /// The likeliest change of level.
    pub(super) shift: Option<ChangePoint>,
    /// The effect without that of the place in a pair, on its scale.
    adjusted: Option<(f64, Limits)>,
    randomization: Option<Fraction>,
    diagnostics: Option<Diagnostics>,
    /// Indices of the pairs that lie far from the others.
    outlying: Vec<usize>,
}

/// Looks at the costs of both arms in the order in which the pairs ran. All permutation tests of a case
/// take the same permutations, those of `seed`.
pub(super) fn of(scale: Scale, arms: [&[f64]; 2], orders: &[First], seed: u64) -> Course {
    let Ok(effects) = pair_effects(scale, arms[0], arms[1]) else {
        return Course::default();
    };
    let levels: Vec<f64> = arms[0]
        .iter()
        .zip(arms[1])
        .map(|(a, b)| match scale {
            Scale::Ratio => f64::midpoint(a.ln(), b.ln()),
            Scale::Difference => f64::midpoint(*a, *b),
        })
        .collect();
    let position = PositionEffect::of(&effects, orders);
    let few = effects.len() <= MOST;
    let trend = |values: &[f64]| few.then(|| drift::trend_p(values, seed)).flatten();
    let shift = few.then(|| drift::change_point(&effects, seed)).flatten();
    // Below that there is no interval by any method.
    let enough = position.filter(|_| effects.len() >= MIN_PAIRS);
    let adjusted = enough.map(|position| {
        let estimate = match scale {
            Scale::Ratio => position.adjusted.exp(),
            Scale::Difference => position.adjusted,
        };
        (estimate, position.limits(scale))
    });
    let diagnostics = Diagnostics {
        position_effect: position.map(|position| round12(position.effect)),
        se: position.map(|position| round12(position.se)),
        p: position.and_then(|position| position.p).map(round12),
        spearman: drift::spearman(&effects).map(round12),
        spearman_p: trend(&effects).map(round12),
        level_spearman: drift::spearman(&levels).map(round12),
        level_spearman_p: trend(&levels).map(round12),
        lag1: drift::lag_one(&effects).map(round12),
        von_neumann: drift::von_neumann(&effects).map(round12),
        cusum: shift.map(|shift| LevelShift {
            before: count(shift.before),
            k: round12(shift.statistic),
            p: round12(shift.p),
            shift: round12(shift.shift),
        }),
    };
    let randomization = drift::randomization(&effects, orders).map(|p| Fraction {
        num: p.num,
        den: p.den,
    });
    Course {
        randomization: randomization.filter(|_| position.is_some()),
        diagnostics: (effects.len() > 2).then_some(diagnostics),
        outlying: outlying(&effects),
        position,
        shift,
        adjusted,
    }
}

impl Course {
    /// Writes what was found, still of costs, into the comparison of these values.
    pub(super) fn fill(&self, out: &mut Comparison, values: &Values) {
        out.order_adjusted = self
            .adjusted
            .as_ref()
            .map(|(estimate, of)| variant(values.pairs.len(), values.scale, *estimate, limits(of)));
        out.randomization_p = self.randomization;
        out.diagnostics = self.diagnostics;
        out.outlying = self
            .outlying
            .iter()
            .filter_map(|index| values.numbers.get(*index).copied())
            .collect();
        let below = |p: Option<f64>| p.is_some_and(|p| p < FLAG_P);
        let found = self.diagnostics.unwrap_or_default();
        for (flag, raised) in [
            (Flag::PositionEffect, below(found.p)),
            (
                Flag::Drift,
                below(found.spearman_p) || below(found.level_spearman_p),
            ),
            (
                Flag::ChangePoint,
                below(found.cusum.as_ref().map(|shift| shift.p)),
            ),
            (Flag::Outlying, !out.outlying.is_empty()),
        ] {
            if raised {
                flagged(out, flag);
            }
        }
    }
}

/// The pairs that lie far from the others; none where there are too few to tell.
fn outlying(effects: &[f64]) -> Vec<usize> {
    if effects.len() < FEWEST {
        return Vec::new();
    }
    rank::outlying(effects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pair_far_from_the_others_is_marked_and_two_halves_are_not() {
        let mut effects = [0.01, 0.011, 0.009, 0.0105, 0.0095, 0.0102, 0.0098];
        assert!(outlying(&effects).is_empty());
        effects[4] = 0.2;
        assert_eq!(outlying(&effects), [4]);
        assert!(outlying(&[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]).is_empty());
        assert!(outlying(&[1.0; 8]).is_empty());
        assert!(outlying(&effects[2..7]).is_empty(), "five pairs");
    }

    #[test]
    fn without_launch_orders_only_time_is_looked_at() {
        let (a, b) = ([1.0, 1.1, 1.2, 1.0, 1.1, 1.3], [1.1; 6]);
        let course = of(Scale::Ratio, [&a, &b], &[], 7);
        assert!(course.position.is_none() && course.randomization.is_none());
        assert!(course.adjusted.is_none());
        let found = course.diagnostics.unwrap();
        assert!(found.spearman.is_some() && found.cusum.is_some());
        assert_eq!(found.position_effect, None);
    }

    #[test]
    fn of_more_pairs_than_are_permuted_the_rest_is_known() {
        let many = |pairs: u32| -> (Vec<f64>, Vec<f64>) {
            let cost = |at: u32| 100.0 + f64::from(at * 37 % 11);
            (0..pairs).map(|at| (cost(at), cost(at + 5) * 1.01)).unzip()
        };
        let orders = [First::Baseline, First::Candidate].repeat(129);
        let (a, b) = many(258);
        let above = of(Scale::Ratio, [&a, &b], &orders, 7);
        let found = above.diagnostics.unwrap();
        assert!(found.lag1.is_some() && found.von_neumann.is_some());
        assert!(found.position_effect.is_some() && found.p.is_some());
        assert!(found.spearman.is_some() && found.level_spearman.is_some());
        assert_eq!((found.spearman_p, found.level_spearman_p), (None, None));
        assert!(found.cusum.is_none() && above.shift.is_none());
        let (a, b) = many(256);
        let within = of(Scale::Ratio, [&a, &b], &orders[..256], 7);
        assert!(within.diagnostics.unwrap().spearman_p.is_some() && within.shift.is_some());
    }

    #[test]
    fn below_six_pairs_nothing_has_an_interval() {
        let (a, b) = ([1.0, 1.1, 1.2, 1.0, 1.1], [1.1; 5]);
        let orders = [First::Baseline, First::Candidate].repeat(3);
        let course = of(Scale::Ratio, [&a, &b], &orders[..5], 7);
        assert!(course.position.is_some() && course.adjusted.is_none());
    }
}
