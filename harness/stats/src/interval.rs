//! Intervals for a ratio of means or a mean difference over whole pairs.
//!
//! The percentile interval is what gets published, and with a dozen pairs it is too narrow: it
//! covers about nine truths in ten instead of nineteen in twenty. Verdicts therefore rest on the
//! *decision interval*, the hull of two repairs: the same resamples read at expanded tails
//! (Hesterberg, 2015), and Student's t on the logarithm of the ratio of means with the delta-method
//! standard error. Below [`MIN_PAIRS`] pairs no interval is given at all.

mod input;
mod student;

pub use input::{Arm, Scale, Unusable};
pub use student::Student;

use crate::bootstrap::{Exact, Resamples, quantile};
use crate::distribution::{normal_cdf, t_quantile_two_sided};
use crate::sum::{deviation, length, mean, median};
use input::{check, pairs};
use std::fmt;

/// Fewest pairs for which an interval is given.
pub const MIN_PAIRS: usize = 6;
/// Below this many pairs a reader is warned.
pub const FEW_PAIRS: usize = 10;
/// Probability outside the 95 % interval.
pub const ALPHA_95: f64 = 0.05;
/// Probability outside the 90 % interval, which makes two one-sided 5 % tests.
pub const ALPHA_90: f64 = 0.10;
/// A tail quantile needs this many resamples beyond it.
pub const MIN_TAIL_RESAMPLES: f64 = 20.0;
/// Variation below this share of the values is rounding: evidence keeps 12 significant digits.
const ROUNDING: f64 = 1e-12;

/// Why values are shown without an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Fewer than [`MIN_PAIRS`] pairs.
    TooFewPairs {
        /// The number of pairs.
        pairs: usize,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::TooFewPairs { pairs } = self;
        write!(
            f,
            "{pairs} pairs give no interval, use at least {MIN_PAIRS}"
        )
    }
}

/// A closed interval on the scale of the comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

/// The two levels at which every interval is given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Lower end of the 95 % interval.
    pub lo95: f64,
    /// Upper end of the 95 % interval.
    pub hi95: f64,
    /// Lower end of the 90 % interval.
    pub lo90: f64,
    /// Upper end of the 90 % interval.
    pub hi90: f64,
}

impl Limits {
    /// Both levels from an interval each.
    #[must_use]
    pub const fn new(at95: Interval, at90: Interval) -> Self {
        Self {
            lo95: at95.lo,
            hi95: at95.hi,
            lo90: at90.lo,
            hi90: at90.hi,
        }
    }

    /// The degenerate interval of a value without variation.
    #[must_use]
    pub const fn point(value: f64) -> Self {
        Self {
            lo95: value,
            hi95: value,
            lo90: value,
            hi90: value,
        }
    }
}

/// Equal-tailed percentile interval of sorted resampled statistics.
#[must_use]
pub fn percentile(sorted: &[f64], alpha: f64) -> Interval {
    Interval {
        lo: quantile(sorted, alpha / 2.0),
        hi: quantile(sorted, 1.0 - alpha / 2.0),
    }
}

/// Tail probability at which a percentile interval over `pairs` pairs is as wide as Student's t
/// asks for normal data: Phi(-sqrt(n/(n-1)) t), with t exceeded in size with probability `alpha`.
#[must_use]
pub fn expanded_tail(pairs: usize, alpha: f64) -> f64 {
    let (n, freedom) = (length(pairs), length(pairs) - 1.0);
    normal_cdf(-(n / freedom).sqrt() * t_quantile_two_sided(alpha, freedom))
}

/// Expanded percentile interval. `None` where fewer than [`MIN_TAIL_RESAMPLES`] resamples lie
/// beyond an end, for then the end is noise.
#[must_use]
pub fn expanded(sorted: &[f64], pairs: usize, alpha: f64) -> Option<Interval> {
    let tail = expanded_tail(pairs, alpha);
    let enough = length(sorted.len()) * tail >= MIN_TAIL_RESAMPLES;
    enough.then(|| percentile(sorted, 2.0 * tail))
}

/// All intervals of one comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Intervals {
    /// Percentile interval of 20,000 resamples: the published one.
    pub percentile: Limits,
    /// The same resamples at expanded tails; `None` where they cannot resolve both levels.
    pub expanded: Option<Limits>,
    /// Student's t with the delta-method standard error.
    pub delta_t: Limits,
    /// Hull of expanded and delta-t: what verdicts are made from.
    pub decision: Limits,
    /// Percentile interval of all resamples, enumerated: ratios of at most 12 pairs, when asked.
    pub exact: Option<Limits>,
    /// SHA-256 of the index map, hexadecimal.
    pub index_sha256: String,
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
    /// Smallest and largest estimate when one pair is left out; `None` for 1 pair.
    pub leave_one_out: Option<Interval>,
    /// No variation beyond rounding: intervals are points, and verdicts exact comparisons.
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
    let resamples = Resamples::new(seed, count).ok_or(Unusable::PairCount { pairs: count })?;
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
    let intervals = if count >= MIN_PAIRS || still {
        let wanted = enumerate == Enumerate::Yes && scale == Scale::Ratio;
        let exact = if wanted {
            Exact::ratios(baseline, candidate)
        } else {
            None
        };
        Ok(intervals(
            scale,
            baseline,
            candidate,
            &resamples,
            exact.as_ref(),
        ))
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

/// The decision interval for given resamples. On its own it takes any number of pairs from 2; where
/// the resamples cannot resolve a level, that level rests on Student's t alone.
///
/// # Errors
/// [`Unusable`], with a ratio refused for values not above 0; also for a single pair, or resamples
/// made for another number of pairs.
pub fn decision(
    scale: Scale,
    baseline: &[f64],
    candidate: &[f64],
    resamples: &Resamples,
) -> Result<Limits, Unusable> {
    check(scale, baseline, candidate)?;
    let sorted = resampled(scale, baseline, candidate, resamples);
    if baseline.len() < 2 || sorted.is_empty() {
        return Err(Unusable::PairCount {
            pairs: baseline.len(),
        });
    }
    Ok(decide(scale, baseline, candidate, &sorted))
}

/// The decision interval without pair 0, without pair 1, and so on, each from the same seed: what
/// the flag `fragile` is made from. Empty below 3 pairs.
///
/// # Errors
/// [`Unusable`], with a ratio refused for values not above 0.
pub fn leave_one_out(
    scale: Scale,
    baseline: &[f64],
    candidate: &[f64],
    seed: u64,
) -> Result<Vec<Limits>, Unusable> {
    check(scale, baseline, candidate)?;
    if baseline.len() < 3 {
        return Ok(Vec::new());
    }
    let pairs = baseline.len() - 1;
    let resamples = Resamples::new(seed, pairs).ok_or(Unusable::PairCount { pairs })?;
    (0..=pairs)
        .map(|skip| {
            decision(
                scale,
                &without(baseline, skip),
                &without(candidate, skip),
                &resamples,
            )
        })
        .collect()
}

/// ln(candidate / baseline) or candidate - baseline of every pair: the input of diagnostics.
///
/// # Errors
/// [`Unusable`], with a ratio refused for values not above 0.
pub fn pair_effects(
    scale: Scale,
    baseline: &[f64],
    candidate: &[f64],
) -> Result<Vec<f64>, Unusable> {
    check(scale, baseline, candidate)?;
    Ok(effects(scale, baseline, candidate))
}

fn effects(scale: Scale, baseline: &[f64], candidate: &[f64]) -> Vec<f64> {
    pairs(baseline, candidate)
        .map(|(a, b)| {
            if scale == Scale::Ratio {
                (b / a).ln()
            } else {
                b - a
            }
        })
        .collect()
}

fn intervals(
    scale: Scale,
    baseline: &[f64],
    candidate: &[f64],
    resamples: &Resamples,
    exact: Option<&Exact>,
) -> Intervals {
    let index_sha256 = resamples.sha256();
    if deterministic(scale, baseline, candidate) {
        let point = Limits::point(estimate(scale, baseline, candidate));
        return Intervals {
            percentile: point,
            expanded: Some(point),
            delta_t: point,
            decision: point,
            exact: exact.map(|_| point),
            index_sha256,
        };
    }
    let sorted = resampled(scale, baseline, candidate, resamples);
    let student = Student::of(scale, baseline, candidate);
    let wide = |alpha| expanded(&sorted, baseline.len(), alpha);
    let enumerated = |exact: &Exact, alpha: f64| Interval {
        lo: exact.quantile(alpha / 2.0),
        hi: exact.quantile(1.0 - alpha / 2.0),
    };
    Intervals {
        percentile: Limits::new(percentile(&sorted, ALPHA_95), percentile(&sorted, ALPHA_90)),
        expanded: wide(ALPHA_95)
            .zip(wide(ALPHA_90))
            .map(|(at95, at90)| Limits::new(at95, at90)),
        delta_t: Limits::new(student.interval(ALPHA_95), student.interval(ALPHA_90)),
        decision: decide(scale, baseline, candidate, &sorted),
        exact: exact.map(|all| Limits::new(enumerated(all, ALPHA_95), enumerated(all, ALPHA_90))),
        index_sha256,
    }
}

fn decide(scale: Scale, baseline: &[f64], candidate: &[f64], sorted: &[f64]) -> Limits {
    if deterministic(scale, baseline, candidate) {
        return Limits::point(estimate(scale, baseline, candidate));
    }
    let student = Student::of(scale, baseline, candidate);
    let hull = |alpha| {
        let t = student.interval(alpha);
        expanded(sorted, baseline.len(), alpha).map_or(t, |wide| Interval {
            lo: t.lo.min(wide.lo),
            hi: t.hi.max(wide.hi),
        })
    };
    Limits::new(hull(ALPHA_95), hull(ALPHA_90))
}

fn resampled(scale: Scale, baseline: &[f64], candidate: &[f64], map: &Resamples) -> Vec<f64> {
    match scale {
        Scale::Ratio => map.ratios(baseline, candidate),
        Scale::Difference => map.means(&effects(scale, baseline, candidate)),
    }
}

fn estimate(scale: Scale, baseline: &[f64], candidate: &[f64]) -> f64 {
    match scale {
        Scale::Ratio => mean(candidate) / mean(baseline),
        Scale::Difference => mean(&effects(scale, baseline, candidate)),
    }
}

fn leave_one_out_range(scale: Scale, baseline: &[f64], candidate: &[f64]) -> Option<Interval> {
    let estimates = (0..baseline.len())
        .map(|skip| estimate(scale, &without(baseline, skip), &without(candidate, skip)));
    (baseline.len() > 1).then(|| {
        estimates.fold(
            Interval {
                lo: f64::INFINITY,
                hi: f64::NEG_INFINITY,
            },
            |range, value| Interval {
                lo: range.lo.min(value),
                hi: range.hi.max(value),
            },
        )
    })
}

/// No variation between at least two pairs beyond the rounding of stored values.
fn deterministic(scale: Scale, baseline: &[f64], candidate: &[f64]) -> bool {
    let (below, above) = (mean(baseline), mean(candidate));
    let centre = estimate(scale, baseline, candidate);
    baseline.len() > 1
        && pairs(baseline, candidate).all(|(a, b)| match scale {
            Scale::Ratio => (b / above - a / below).abs() <= ROUNDING * (a / below),
            Scale::Difference => (b - a - centre).abs() <= ROUNDING * a.abs().max(b.abs()),
        })
}

fn without(values: &[f64], skip: usize) -> Vec<f64> {
    let kept = |(index, value): (usize, &f64)| (index != skip).then_some(*value);
    values.iter().enumerate().filter_map(kept).collect()
}

/// Half the width of the 95 % decision interval: in an A/A comparison, the noise floor.
#[must_use]
pub fn noise_floor(limits: &Limits) -> f64 {
    (limits.hi95 - limits.lo95) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(a: &[f64], b: &[f64]) -> Comparison {
        compare(Scale::Ratio, a, b, 1, Enumerate::No).unwrap()
    }

    #[test]
    fn one_pair_has_values_only() {
        let one = ratio(&[2.0], &[1.0]);
        assert!((one.estimate - 0.5).abs() < 1e-15 && one.pair_sd.is_nan());
        assert_eq!((one.se, one.p_delta, one.leave_one_out), (None, None, None));
        assert_eq!(one.intervals, Err(Refusal::TooFewPairs { pairs: 1 }));
        assert!(!one.deterministic);
        let resamples = Resamples::new(1, 1).unwrap();
        assert!(decision(Scale::Ratio, &[2.0], &[1.0], &resamples).is_err());
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
        assert_eq!(leave_one_out(Scale::Ratio, &a, &b, 1).unwrap().len(), 6);
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

    #[test]
    fn noise_floor_is_half_the_width() {
        let limits = Limits {
            lo95: 0.98,
            hi95: 1.04,
            lo90: 0.99,
            hi90: 1.03,
        };
        assert!((noise_floor(&limits) - 0.03).abs() < 1e-15);
    }
}
