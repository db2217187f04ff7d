//! Two arms set side by side: values, interval estimates, and what is refused.
//!
//! Up to [`MAX_PAIRS`](crate::bootstrap::MAX_PAIRS) pairs (256) are resampled. Beyond that, resampling
//! repairs nothing that Student's t leaves open, an index would not fit its byte, and leaving out each
//! pair in turn costs the square of the pairs: those parts are `None`, verdicts rest on Student's t,
//! and the work grows as the pairs do.

use super::decision::{decide, leave_one_out_range, resampled};
use super::effect::{deterministic, effects, estimate};
use super::input::{check, pairs};
use super::{
    ALPHA_90, ALPHA_95, Interval, Limits, MIN_PAIRS, Refusal, Scale, Student, Unusable, expanded,
    percentile,
};
use crate::bootstrap::{Exact, MAX_EXACT_PAIRS, Resamples};
use crate::sum::{deviation, mean, median};

/// All intervals of one comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Intervals {
    /// Percentile interval of 20,000 resamples: the published one. `None` above
    /// [`MAX_PAIRS`](crate::bootstrap::MAX_PAIRS) pairs.
    pub percentile: Option<Limits>,
    /// The same resamples at expanded tails; `None` where there are none, or where they cannot
    /// resolve both levels.
    pub expanded: Option<Limits>,
    /// Student's t with the delta-method standard error.
    pub delta_t: Limits,
    /// Hull of expanded and delta-t, or delta-t alone: what verdicts are made from.
    pub decision: Limits,
    /// Percentile interval of all resamples, enumerated: ratios of at most 12 pairs, when asked.
    pub exact: Option<Limits>,
    /// SHA-256 of the index map, hexadecimal; `None` where there is none.
    pub index_sha256: Option<String>,
}

/// Values of two arms set side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// How the arms are compared.
    pub scale: Scale,
    /// Number of pairs.
    pub pairs: usize,
    /// Mean cost of the baseline, in the unit of the metric.
    pub mean_baseline: f64,
    /// Mean cost of the candidate, in the unit of the metric.
    pub mean_candidate: f64,
    /// The ratio of means, or the mean difference.
    pub estimate: f64,
    /// The ratio of means; `None` for a difference.
    pub ratio: Option<f64>,
    /// Geometric mean of pair ratios; `None` for a difference.
    pub geo_ratio: Option<f64>,
    /// Median of pair ratios, or of pair differences.
    pub median_pair: f64,
    /// Pairs whose candidate cost less.
    pub faster_pairs: usize,
    /// Standard deviation of the logarithm of pair ratios, or of pair differences; NaN for 1 pair.
    pub pair_sd: f64,
    /// Standard error of ln R, or of the mean difference; `None` for 1 pair.
    pub se: Option<f64>,
    /// Two-sided p of no difference by Student's t; `None` for 1 pair or without variation.
    pub p_delta: Option<f64>,
    /// Smallest and largest estimate when one pair is left out; `None` for 1 pair, and above
    /// [`MAX_PAIRS`](crate::bootstrap::MAX_PAIRS).
    pub leave_one_out: Option<Interval>,
    /// No variation beyond rounding: intervals, where there are any, are points, and verdicts exact
    /// comparisons.
    pub deterministic: bool,
    /// The intervals, or why there are none.
    pub intervals: Result<Intervals, Refusal>,
}

impl Comparison {
    /// Whether mean and median pair tell different stories: on opposite sides of no difference, or
    /// further apart than the margin.
    #[must_use]
    pub fn mean_typical_split(&self, margin: Option<f64>) -> bool {
        let (centre, typical, reach) = match self.scale {
            Scale::Ratio => (
                self.estimate.ln(),
                self.median_pair.ln(),
                margin.map(f64::ln_1p),
            ),
            Scale::Difference => (self.estimate, self.median_pair, margin),
        };
        centre * typical < 0.0 || reach.is_some_and(|reach| (centre - typical).abs() > reach)
    }
}

/// Whether all resamples of the primary metric are enumerated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enumerate {
    /// For a ratio of at most 12 pairs.
    Yes,
    /// Never.
    No,
}

/// Compares one value a pair of two arms. `seed` is that of the bootstrap stream of the case.
///
/// # Errors
/// [`Unusable`], with a ratio refused for values not above 0.
pub fn compare(
    scale: Scale,
    baseline: &[f64],
    candidate: &[f64],
    seed: u64,
    enumerate: Enumerate,
) -> Result<Comparison, Unusable> {
    check(scale, baseline, candidate)?;
    let count = baseline.len();
    let student = Student::of(scale, baseline, candidate);
    let still = deterministic(scale, baseline, candidate);
    let effects = effects(scale, baseline, candidate);
    let natural = |effect: f64| {
        if scale == Scale::Ratio {
            effect.exp()
        } else {
            effect
        }
    };
    let estimate = estimate(scale, baseline, candidate);
    // Pairs that do not vary are no more pairs for that: two that agree may do so by chance.
    let intervals = if count >= MIN_PAIRS {
        Ok(intervals(scale, baseline, candidate, seed, enumerate))
    } else {
        Err(Refusal::TooFewPairs { pairs: count })
    };
    Ok(Comparison {
        scale,
        pairs: count,
        mean_baseline: mean(baseline),
        mean_candidate: mean(candidate),
        estimate,
        ratio: (scale == Scale::Ratio).then_some(estimate),
        geo_ratio: (scale == Scale::Ratio).then(|| natural(mean(&effects))),
        median_pair: match scale {
            Scale::Ratio => median(
                &pairs(baseline, candidate)
                    .map(|(a, b)| b / a)
                    .collect::<Vec<_>>(),
            ),
            Scale::Difference => median(&effects),
        },
        faster_pairs: pairs(baseline, candidate).filter(|(a, b)| b < a).count(),
        pair_sd: deviation(&effects),
        se: (count > 1).then_some(student.se),
        p_delta: (count > 1 && !still).then(|| student.p()),
        leave_one_out: leave_one_out_range(scale, baseline, candidate),
        deterministic: still,
        intervals,
    })
}

fn intervals(
    scale: Scale,
    baseline: &[f64],
    candidate: &[f64],
    seed: u64,
    enumerate: Enumerate,
) -> Intervals {
    let map = Resamples::new(seed, baseline.len());
    let wanted = enumerate == Enumerate::Yes && scale == Scale::Ratio;
    let index_sha256 = map.as_ref().map(Resamples::sha256);
    if deterministic(scale, baseline, candidate) {
        let point = Limits::point(estimate(scale, baseline, candidate));
        let drawn = map.as_ref().map(|_| point);
        return Intervals {
            percentile: drawn,
            expanded: drawn,
            delta_t: point,
            decision: point,
            exact: (wanted && baseline.len() <= MAX_EXACT_PAIRS).then_some(point),
            index_sha256,
        };
    }
    let exact = if wanted {
        Exact::ratios(baseline, candidate)
    } else {
        None
    };
    let mut draws = map.map(|map| resampled(scale, baseline, candidate, &map));
    let student = Student::of(scale, baseline, candidate);
    let (percentile, expanded) = draws.as_mut().map_or((None, None), |draws| {
        let percentile = both(|alpha| Some(percentile(draws, alpha)));
        let wide = |alpha| expanded(draws, baseline.len(), alpha);
        (percentile, both(wide))
    });
    Intervals {
        percentile,
        expanded,
        delta_t: Limits::new(student.interval(ALPHA_95), student.interval(ALPHA_90)),
        decision: decide(scale, baseline, candidate, draws.as_mut()),
        exact: exact.as_ref().map(enumerated),
        index_sha256,
    }
}

/// Both levels, the inner one first, so that draws are settled once.
pub(super) fn both(mut at: impl FnMut(f64) -> Option<Interval>) -> Option<Limits> {
    let at90 = at(ALPHA_90)?;
    Some(Limits::new(at(ALPHA_95)?, at90))
}

fn enumerated(all: &Exact) -> Limits {
    let (far, near) = (ALPHA_95 / 2.0, ALPHA_90 / 2.0);
    let [lo95, lo90, hi90, hi95] = all.quantiles([far, near, 1.0 - near, 1.0 - far]);
    Limits {
        lo95,
        hi95,
        lo90,
        hi90,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(a: &[f64], b: &[f64]) -> Comparison {
        compare(Scale::Ratio, a, b, 1, Enumerate::No).unwrap()
    }

    /// Costs whose pair effects scatter by about 1 % around nothing, and candidates 3 % dearer.
    fn many(pairs: usize) -> (Vec<f64>, Vec<f64>) {
        let mut stream = crate::random::Stream::new(9);
        let mut cost = |base: f64| {
            let step = u32::try_from(stream.below(1 << 16)).unwrap();
            base * (1.0 + 0.02 * (f64::from(step) / 65_536.0 - 0.5))
        };
        (0..pairs).map(|_| (cost(100.0), cost(103.0))).unzip()
    }

    #[test]
    fn from_257_pairs_on_the_decision_is_students() {
        let (a, b) = many(257);
        for scale in [Scale::Ratio, Scale::Difference] {
            let compared = compare(scale, &a, &b, 1, Enumerate::Yes).unwrap();
            let all = compared.intervals.unwrap();
            assert_eq!(
                (all.percentile, all.expanded, all.exact),
                (None, None, None)
            );
            assert_eq!((all.index_sha256, compared.leave_one_out), (None, None));
            assert_eq!(all.decision, all.delta_t);
            assert!(compared.p_delta.unwrap() < 1e-9 && compared.faster_pairs < 257);
            let last = compare(scale, &a[..256], &b[..256], 1, Enumerate::Yes).unwrap();
            let within = last.intervals.unwrap();
            assert!(within.percentile.is_some() && within.expanded.is_some());
            assert!(within.index_sha256.is_some() && last.leave_one_out.is_some());
        }
        let still = ratio(&a, &a);
        let all = still.intervals.unwrap();
        assert!(still.deterministic);
        assert_eq!((all.percentile, all.decision), (None, Limits::point(1.0)));
    }

    #[test]
    fn a_million_pairs_are_compared_and_one_more_is_refused() {
        let (mut a, mut b) = many(super::super::MAX_PAIRS);
        let decision = ratio(&a, &b).intervals.unwrap().decision;
        assert!(
            decision.lo95 > 1.0299 && decision.hi95 < 1.0301,
            "{decision:?}"
        );
        a.push(1.0);
        b.push(1.0);
        assert_eq!(
            compare(Scale::Ratio, &a, &b, 1, Enumerate::No),
            Err(Unusable::PairCount { pairs: 1_000_001 })
        );
    }

    #[test]
    fn one_pair_has_values_only() {
        let one = ratio(&[2.0], &[1.0]);
        assert!((one.estimate - 0.5).abs() < 1e-15 && one.pair_sd.is_nan());
        assert_eq!((one.se, one.p_delta, one.leave_one_out), (None, None, None));
        assert_eq!(one.intervals, Err(Refusal::TooFewPairs { pairs: 1 }));
        assert!(!one.deterministic);
        let resamples = Resamples::new(1, 1).unwrap();
        assert!(super::super::decision(Scale::Ratio, &[2.0], &[1.0], &resamples).is_err());
    }

    #[test]
    fn six_pairs_are_enough_and_five_are_not() {
        let (a, b) = (
            [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            [1.1, 2.0, 3.2, 4.0, 5.3, 6.0],
        );
        assert!(ratio(&a, &b).intervals.is_ok());
        assert_eq!(
            ratio(&a[1..], &b[1..]).intervals,
            Err(Refusal::TooFewPairs { pairs: 5 })
        );
        assert_eq!(
            super::super::leave_one_out(Scale::Ratio, &a, &b, 1)
                .unwrap()
                .len(),
            6
        );
    }

    #[test]
    fn rounding_is_no_variation() {
        let a: [f64; 7] = [0.1, 0.2, 0.3, 0.7, 1.1, 1.3, 1.7];
        let b = a.map(|value| value * 1.1);
        assert!(ratio(&a, &b).deterministic);
        let mut moved = b;
        moved[3] *= 1.0 + 1e-9;
        let moved = ratio(&a, &moved);
        assert!(!moved.deterministic && moved.p_delta.is_some());
    }

    #[test]
    fn mean_against_typical_pair() {
        // mean above 1 by one stall, median below
        let split = ratio(&[1.0; 6], &[0.99, 0.99, 0.99, 0.99, 0.99, 1.5]);
        assert!(split.mean_typical_split(None));
        // both above 1, apart by more than 3 % and less than 10 %
        let apart = ratio(&[1.0; 6], &[1.01, 1.01, 1.01, 1.01, 1.01, 1.3]);
        assert!(!apart.mean_typical_split(None) && apart.mean_typical_split(Some(0.03)));
        assert!(!apart.mean_typical_split(Some(0.10)));
    }
}
