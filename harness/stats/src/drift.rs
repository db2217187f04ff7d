//! Whether order or time moved the result: diagnostics on the effects of pairs in launch order.
//!
//! With a dozen pairs these are weak; a silent diagnostic proves nothing. The randomization test is
//! the exception: it is exact under any drift, because the order was drawn among all balanced ones.

use crate::distribution::{t_quantile_two_sided, two_sided_t};
use crate::interval::{ALPHA_90, ALPHA_95, Interval, Limits, Scale};
use crate::order::{First, shuffle};
use crate::random::Stream;
use crate::rank::ranks;
use crate::sum::{exact_sum, length, mean, squares};
use crate::verdict::{Question, Reason, Verdict};

/// Permutations drawn for a p value.
pub const PERMUTATIONS: u32 = 20_000;
/// A diagnostic raises a flag below this p.
pub const FLAG_P: f64 = 0.01;
/// Most pairs whose assignments are enumerated: 2,704,156 for 24 balanced pairs.
pub const MAX_ENUMERATED_PAIRS: usize = 24;
/// Differences of permuted statistics below this share are rounding.
const ROUNDING: f64 = 1e-12;

/// How much the place in a pair matters, and the effect with that taken out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PositionEffect {
    /// Half of (mean effect with the candidate second - mean effect with the candidate first).
    pub effect: f64,
    /// Its standard error; also that of `adjusted`.
    pub se: f64,
    /// Two-sided p of no position effect; `None` without variation.
    pub p: Option<f64>,
    /// Mean of the two group means: the effect adjusted for order (ln R or a difference).
    pub adjusted: f64,
    /// Degrees of freedom: pairs less 2.
    pub freedom: f64,
}

impl PositionEffect {
    /// Of effects in launch order (ln ratio, or difference, of each pair). `None` unless both arms
    /// were first at least once, there are at least 3 pairs, and both slices have one length.
    #[must_use]
    pub fn of(effects: &[f64], order: &[First]) -> Option<Self> {
        let group = |first: First| -> Vec<f64> {
            let of_group = |(effect, place): (&f64, &First)| (*place == first).then_some(*effect);
            effects.iter().zip(order).filter_map(of_group).collect()
        };
        let (second, leading) = (group(First::Baseline), group(First::Candidate));
        let usable = effects.len() == order.len() && effects.len() >= 3;
        if !usable || second.is_empty() || leading.is_empty() {
            return None;
        }
        let freedom = length(effects.len()) - 2.0;
        let variance = (squares(&second) + squares(&leading)) / freedom;
        let sizes = 1.0 / length(second.len()) + 1.0 / length(leading.len());
        let effect = (mean(&second) - mean(&leading)) / 2.0;
        let se = (variance * sizes).sqrt() / 2.0;
        Some(Self {
            effect,
            se,
            p: (se > 0.0).then(|| two_sided_t(effect / se, freedom)),
            adjusted: f64::midpoint(mean(&second), mean(&leading)),
            freedom,
        })
    }

    /// Order-adjusted limits on the scale of the comparison (a geometric ratio for ratios).
    #[must_use]
    pub fn limits(&self, scale: Scale) -> Limits {
        let at = |alpha| {
            let reach = t_quantile_two_sided(alpha, self.freedom) * self.se;
            let (lo, hi) = (self.adjusted - reach, self.adjusted + reach);
            match scale {
                Scale::Ratio => Interval {
                    lo: lo.exp(),
                    hi: hi.exp(),
                },
                Scale::Difference => Interval { lo, hi },
            }
        };
        Limits::new(at(ALPHA_95), at(ALPHA_90))
    }
}

/// A p value as an exact fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fraction {
    /// Assignments at least as extreme as the one drawn, itself included.
    pub num: u64,
    /// All assignments the plan could have drawn.
    pub den: u64,
}

impl Fraction {
    /// The fraction as a number.
    #[must_use]
    pub fn value(&self) -> f64 {
        crate::sum::real(self.num) / crate::sum::real(self.den)
    }
}

/// Randomization test of the sharp null (no trial would have differed under the other arm): two-sided
/// on the mean effect, over every assignment with as many baseline-first pairs as `order` has. `None`
/// without pairs, above [`MAX_ENUMERATED_PAIRS`], or for slices of unequal length.
#[must_use]
pub fn randomization(effects: &[f64], order: &[First]) -> Option<Fraction> {
    let pairs = effects.len();
    if pairs == 0 || pairs > MAX_ENUMERATED_PAIRS || order.len() != pairs {
        return None;
    }
    // second place minus first place, which the sharp null leaves alone
    let places: Vec<f64> = effects
        .iter()
        .zip(order)
        .map(|(effect, first)| {
            if *first == First::Baseline {
                *effect
            } else {
                -effect
            }
        })
        .collect();
    let leading = order
        .iter()
        .filter(|first| **first == First::Baseline)
        .count();
    let size = exact_sum(effects.iter().map(|effect| effect.abs()));
    let threshold = exact_sum(effects.iter().copied()).abs() - size * ROUNDING;
    let mut tally = Fraction { num: 0, den: 0 };
    assign(&places, leading, 0.0, threshold, &mut tally);
    Some(tally)
}

fn assign(places: &[f64], leading: usize, sum: f64, threshold: f64, tally: &mut Fraction) {
    let Some((place, rest)) = places.split_first() else {
        tally.den += 1;
        tally.num += u64::from(sum.abs() >= threshold);
        return;
    };
    if leading > 0 {
        assign(rest, leading - 1, sum + place, threshold, tally);
    }
    if rest.len() >= leading {
        assign(rest, leading, sum - place, threshold, tally);
    }
}

/// Smallest p the randomization test can reach with `pairs` balanced pairs: 2 / C(n, n/2).
#[must_use]
pub fn smallest_randomization_p(pairs: usize) -> f64 {
    let half = pairs / 2;
    2.0 / (1..=half).fold(1.0, |count, k| count * length(pairs - half + k) / length(k))
}

/// Rank correlation of values with their place in time, -1..=1, ties given their mean rank. `None`
/// below 2 values or when all are equal.
#[must_use]
pub fn spearman(values: &[f64]) -> Option<f64> {
    let ranks = ranks(values);
    let centre = (length(values.len()) + 1.0) / 2.0;
    let mut time = 0.0;
    let (mut cross, mut own, mut places) = (0.0, 0.0, 0.0);
    for rank in ranks {
        time += 1.0;
        cross += (rank - centre) * (time - centre);
        own += (rank - centre).powi(2);
        places += (time - centre).powi(2);
    }
    (own > 0.0).then(|| cross / (own * places).sqrt())
}

/// Pearson's correlation between each value and the next, -1..=1. `None` below 3 values or without
/// variation.
#[must_use]
pub fn lag_one(values: &[f64]) -> Option<f64> {
    if values.len() < 3 {
        return None;
    }
    let (earlier, later) = (&values[..values.len() - 1], &values[1..]);
    let (early, late) = (mean(earlier), mean(later));
    let cross = exact_sum(
        earlier
            .iter()
            .zip(later)
            .map(|(x, y)| (x - early) * (y - late)),
    );
    let spread = squares(earlier).sqrt() * squares(later).sqrt();
    (spread > 0.0).then(|| cross / spread)
}

/// Sum of squared steps over the sum of squared deviations: about 2 for independent values, less with
/// drift (von Neumann, 1941). `None` without variation.
#[must_use]
pub fn von_neumann(values: &[f64]) -> Option<f64> {
    let steps = values.windows(2).map(|pair| (pair[1] - pair[0]).powi(2));
    let spread = squares(values);
    (spread > 0.0).then(|| exact_sum(steps) / spread)
}

/// The likeliest place of a change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// Values before the change, 1..n.
    pub before: usize,
    /// Largest absolute cumulative sum of deviations, over deviation times the root of n.
    pub statistic: f64,
    /// Mean after the change less mean before it.
    pub shift: f64,
    /// Permutation p.
    pub p: f64,
}

/// Largest cumulative sum, with a permutation p from the seed of a permutation stream. `None` below 3
/// values or without variation.
#[must_use]
pub fn change_point(values: &[f64], seed: u64) -> Option<ChangePoint> {
    let spread = squares(values);
    if values.len() < 3 || spread <= 0.0 {
        return None;
    }
    let n = length(values.len());
    let (before, largest) = largest_sum(values);
    let p = permutation_p(values, seed, |drawn| largest_sum(drawn).1);
    let (early, late) = values.split_at(before);
    let statistic = largest / ((spread / (n - 1.0)).sqrt() * n.sqrt());
    Some(ChangePoint {
        before,
        statistic,
        shift: mean(late) - mean(early),
        p,
    })
}

fn largest_sum(values: &[f64]) -> (usize, f64) {
    let centre = values.iter().sum::<f64>() / length(values.len());
    let (mut sum, mut best) = (0.0, (1, 0.0));
    for (index, value) in values
        .iter()
        .enumerate()
        .take(values.len().saturating_sub(1))
    {
        sum += value - centre;
        if f64::abs(sum) > best.1 {
            best = (index + 1, f64::abs(sum));
        }
    }
    best
}

/// Two-sided permutation p of a trend in time, from the seed of a permutation stream. `None` as for
/// [`spearman`].
#[must_use]
pub fn trend_p(values: &[f64], seed: u64) -> Option<f64> {
    spearman(values)?;
    let ranks = ranks(values);
    let centre = (length(values.len()) + 1.0) / 2.0;
    Some(permutation_p(&ranks, seed, |drawn| {
        let mut time = 0.0;
        let mut cross = 0.0;
        for rank in drawn {
            time += 1.0;
            cross += (rank - centre) * (time - centre);
        }
        f64::abs(cross)
    }))
}

/// (1 + permutations at least as extreme) / (1 + permutations): never 0 (Phipson and Smyth, 2010).
fn permutation_p(values: &[f64], seed: u64, statistic: impl Fn(&[f64]) -> f64) -> f64 {
    let observed = statistic(values) * (1.0 - ROUNDING);
    let mut stream = Stream::new(seed);
    let mut drawn = values.to_vec();
    let mut extreme = 1u32;
    for _ in 0..PERMUTATIONS {
        shuffle(&mut drawn, &mut stream);
        extreme += u32::from(statistic(&drawn) >= observed);
    }
    f64::from(extreme) / f64::from(PERMUTATIONS + 1)
}

/// Whether a campaign that declared it to matter is unstable: a significant position effect or level
/// shift beyond the margin, or an order-adjusted interval of another class than `class`. The first
/// that holds. `margin` is a share for ratios, in the unit of the metric for differences.
#[must_use]
pub fn unstable(
    scale: Scale,
    margin: f64,
    class: Verdict,
    position: Option<&PositionEffect>,
    change: Option<&ChangePoint>,
) -> Option<Reason> {
    let reach = if scale == Scale::Ratio {
        margin.ln_1p()
    } else {
        margin
    };
    let moved = |effect: f64, p: f64| effect.abs() > reach && p < FLAG_P;
    let question = Question::new(scale, Some(margin));
    if position.is_some_and(|position| moved(position.effect, position.p.unwrap_or(0.0))) {
        Some(Reason::PositionEffect)
    } else if position.is_some_and(|position| question.classify(&position.limits(scale)) != class) {
        Some(Reason::OrderAdjustment)
    } else if change.is_some_and(|change| moved(change.shift, change.p)) {
        Some(Reason::ChangePoint)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Verdict;

    const HALVES: [First; 6] = [
        First::Baseline,
        First::Baseline,
        First::Baseline,
        First::Candidate,
        First::Candidate,
        First::Candidate,
    ];

    fn close(value: f64, expected: f64, tolerance: f64) {
        assert!(
            (value - expected).abs() <= tolerance,
            "{value} is not {expected}"
        );
    }

    #[test]
    fn position_by_hand() {
        let position = PositionEffect::of(&[2.0, 3.0, 4.0, 0.0, 1.0, 2.0], &HALVES).unwrap();
        close(position.effect, 1.0, 1e-15);
        close(position.adjusted, 2.0, 1e-15);
        close(position.se, (1.0f64 * 2.0 / 3.0).sqrt() / 2.0, 1e-15);
        close(position.freedom, 4.0, 0.0);
        assert_eq!(PositionEffect::of(&[1.0; 6], &[First::Baseline; 6]), None);
        assert_eq!(PositionEffect::of(&[1.0; 6], &HALVES).unwrap().p, None);
    }

    #[test]
    fn randomization_by_hand() {
        assert_eq!(
            randomization(&[-1.0; 6], &HALVES),
            Some(Fraction { num: 2, den: 20 })
        );
        assert_eq!(
            randomization(&[0.0; 6], &HALVES),
            Some(Fraction { num: 20, den: 20 })
        );
        assert_eq!(randomization(&[], &[]), None);
        close(smallest_randomization_p(12), 2.0 / 924.0, 1e-15);
        close(smallest_randomization_p(8), 0.0286, 1e-4);
        close(smallest_randomization_p(6), 0.1, 1e-15);
    }

    #[test]
    fn rank_correlation_with_ties() {
        close(spearman(&[1.0, 2.0, 3.0]).unwrap(), 1.0, 1e-15);
        close(spearman(&[3.0, 2.0, 1.0]).unwrap(), -1.0, 1e-15);
        close(spearman(&[1.0, 1.0, 2.0]).unwrap(), 0.75f64.sqrt(), 1e-12);
        assert_eq!(spearman(&[1.0, 1.0]), None);
        assert_eq!(spearman(&[]), None);
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        let values = [0.0, 0.1, -0.1, 0.0, 0.1, 5.0, 5.1, 4.9, 5.0, 5.1];
        let change = change_point(&values, 5).unwrap();
        assert_eq!(change.before, 5);
        close(change.shift, 5.0, 0.01);
        assert!(change.p < FLAG_P);
        assert!(trend_p(&values, 5).unwrap() < FLAG_P);
        assert!(von_neumann(&values).unwrap() < 1.0 && lag_one(&values).unwrap() > 0.5);
        assert_eq!(change_point(&[1.0; 5], 5), None);
        assert_eq!(von_neumann(&[1.0; 5]), None);
    }

    #[test]
    fn a_trend_of_few_values_has_its_exact_p() {
        // 4 values: 2 of 24 orders are monotone
        close(
            trend_p(&[1.0, 2.0, 3.0, 4.0], 1).unwrap(),
            2.0 / 24.0,
            0.008,
        );
    }

    #[test]
    fn unstable_only_beyond_the_margin() {
        let position = PositionEffect {
            effect: 0.05,
            se: 0.001,
            p: Some(1e-9),
            adjusted: 0.0,
            freedom: 4.0,
        };
        let ask = |margin, class| unstable(Scale::Difference, margin, class, Some(&position), None);
        assert_eq!(ask(0.04, Verdict::Equivalent), Some(Reason::PositionEffect));
        assert_eq!(ask(0.06, Verdict::Equivalent), None);
        assert_eq!(ask(0.06, Verdict::Improved), Some(Reason::OrderAdjustment));
        let change = ChangePoint {
            before: 3,
            statistic: 1.5,
            shift: -0.1,
            p: 0.001,
        };
        let seen = unstable(
            Scale::Difference,
            0.06,
            Verdict::Improved,
            None,
            Some(&change),
        );
        assert_eq!(seen, Some(Reason::ChangePoint));
    }
}
