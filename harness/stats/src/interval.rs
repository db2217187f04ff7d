//! Intervals for a ratio of means or a mean difference over whole pairs.
//!
//! The percentile interval is what gets published, and with a dozen pairs it is too narrow: it
//! covers about nine truths in ten instead of nineteen in twenty. Verdicts therefore rest on the
//! *decision interval*, the hull of two repairs: the same resamples read at expanded tails
//! (Hesterberg, 2015), and Student's t on the logarithm of the ratio of means with the delta-method
//! standard error. Below [`MIN_PAIRS`] pairs no interval is given at all.

use crate::bootstrap::{Exact, MAX_PAIRS, RESAMPLES, Resamples, quantile};
use crate::distribution::{normal_cdf, t_quantile_two_sided, t_upper_tail, two_sided_t};
use crate::sum::{deviation, exact_sum, length, mean, median, squares};
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

/// How two arms are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// mean(candidate) / mean(baseline) of costs above 0; 1 is no difference, below 1 is better.
    Ratio,
    /// mean(candidate - baseline) of costs that can be 0; 0 is no difference, below 0 is better.
    Difference,
}

/// One of the two arms of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arm {
    /// The arm that is compared against.
    Baseline,
    /// The arm under question.
    Candidate,
}

/// Values that no comparison can be made from.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Unusable {
    /// The arms do not hold one value a pair.
    Unpaired {
        /// Values of the baseline.
        baseline: usize,
        /// Values of the candidate.
        candidate: usize,
    },
    /// No pair at all, or more than an index map holds.
    PairCount {
        /// The number of pairs.
        pairs: usize,
    },
    /// A ratio needs every cost above 0.
    NotPositive {
        /// Where the value stands.
        arm: Arm,
        /// Which pair, from 0.
        index: usize,
        /// The value.
        value: f64,
    },
    /// Not a number, or infinite.
    NotFinite {
        /// Where the value stands.
        arm: Arm,
        /// Which pair, from 0.
        index: usize,
    },
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unpaired { baseline, candidate } => {
                write!(f, "{baseline} baseline and {candidate} candidate values are not pairs")
            }
            Self::PairCount { pairs } => write!(f, "{pairs} pairs, use 1 to {MAX_PAIRS}"),
            Self::NotPositive { arm, index, value } => write!(
                f,
                "{arm:?} value {value} of pair {index} is not above 0, compare it as a difference"
            ),
            Self::NotFinite { arm, index } => {
                write!(f, "{arm:?} value of pair {index} is not a finite number")
            }
        }
    }
}

impl std::error::Error for Unusable {}

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
        write!(f, "{pairs} pairs give no interval, use at least {MIN_PAIRS}")
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
        Self { lo95: at95.lo, hi95: at95.hi, lo90: at90.lo, hi90: at90.hi }
    }

    /// The degenerate interval of a value without variation.
    #[must_use]
    pub const fn point(value: f64) -> Self {
        Self { lo95: value, hi95: value, lo90: value, hi90: value }
    }
}

/// Equal-tailed percentile interval of sorted resampled statistics.
#[must_use]
pub fn percentile(sorted: &[f64], alpha: f64) -> Interval {
    Interval { lo: quantile(sorted, alpha / 2.0), hi: quantile(sorted, 1.0 - alpha / 2.0) }
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

/// An estimate with a standard error that is read against Student's t.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Student {
    scale: Scale,
    /// ln R on the ratio scale, the mean difference otherwise.
    pub estimate: f64,
    /// Standard error of the estimate.
    pub se: f64,
    /// Degrees of freedom, one less than pairs.
    pub freedom: f64,
}

impl Student {
    /// The closed form for a pair of arms: on the ratio scale ln R with
    /// se^2 = sum (b/mean b - a/mean a)^2 / (n (n-1)), else the mean difference.
    ///
    /// # Errors
    /// [`Unusable`], with a ratio refused for values not above 0.
    pub fn new(scale: Scale, baseline: &[f64], candidate: &[f64]) -> Result<Self, Unusable> {
        check(scale, baseline, candidate)?;
        Ok(Self::of(scale, baseline, candidate))
    }

    fn of(scale: Scale, baseline: &[f64], candidate: &[f64]) -> Self {
        let n = length(baseline.len());
        let (below, above) = (mean(baseline), mean(candidate));
        let (estimate, spread) = match scale {
            Scale::Ratio => {
                let parts = pairs(baseline, candidate).map(|(a, b)| (b / above - a / below).powi(2));
                ((above / below).ln(), exact_sum(parts))
            }
            Scale::Difference => {
                let differences: Vec<f64> = pairs(baseline, candidate).map(|(a, b)| b - a).collect();
                (mean(&differences), squares(&differences))
            }
        };
        Self { scale, estimate, se: (spread / (n * (n - 1.0))).sqrt(), freedom: n - 1.0 }
    }

    /// The two-sided interval that leaves out `alpha`, on the scale of the comparison. Also gives
    /// Bonferroni intervals: divide `alpha` by the size of the family.
    #[must_use]
    pub fn interval(&self, alpha: f64) -> Interval {
        let reach = t_quantile_two_sided(alpha, self.freedom) * self.se;
        let (lo, hi) = (self.estimate - reach, self.estimate + reach);
        match self.scale {
            Scale::Ratio => Interval { lo: lo.exp(), hi: hi.exp() },
            Scale::Difference => Interval { lo, hi },
        }
    }

    /// Two-sided p of no difference.
    #[must_use]
    pub fn p(&self) -> f64 {
        two_sided_t(self.estimate / self.se, self.freedom)
    }

    /// The larger p of the two one-sided tests (Schuirmann, 1987) against a margin: a share above 0
    /// on the ratio scale, the unit of the metric otherwise.
    #[must_use]
    pub fn equivalence_p(&self, margin: f64) -> f64 {
        let bound = match self.scale {
            Scale::Ratio => margin.ln_1p(),
            Scale::Difference => margin,
        };
        let below_upper = t_upper_tail((bound - self.estimate) / self.se, self.freedom);
        let above_lower = t_upper_tail((self.estimate + bound) / self.se, self.freedom);
        below_upper.max(above_lower)
    }
}

/// All intervals of one comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Intervals {
    /// Percentile interval of [`RESAMPLES`] resamples: the published one.
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
            Scale::Ratio => (self.estimate.ln(), self.median_pair.ln(), margin.map(f64::ln_1p)),
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
    let natural = |effect: f64| if scale == Scale::Ratio { effect.exp() } else { effect };
    let estimate = estimate(scale, baseline, candidate);
    let intervals = if count >= MIN_PAIRS || still {
        let wanted = enumerate == Enumerate::Yes && scale == Scale::Ratio;
        let exact = if wanted { Exact::ratios(baseline, candidate) } else { None };
        Ok(intervals(scale, baseline, candidate, &resamples, exact.as_ref()))
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
            Scale::Ratio => median(&pairs(baseline, candidate).map(|(a, b)| b / a).collect::<Vec<_>>()),
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
        return Err(Unusable::PairCount { pairs: baseline.len() });
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
        .map(|skip| decision(scale, &without(baseline, skip), &without(candidate, skip), &resamples))
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
        .map(|(a, b)| if scale == Scale::Ratio { (b / a).ln() } else { b - a })
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
        expanded: wide(ALPHA_95).zip(wide(ALPHA_90)).map(|(at95, at90)| Limits::new(at95, at90)),
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
        expanded(sorted, baseline.len(), alpha)
            .map_or(t, |wide| Interval { lo: t.lo.min(wide.lo), hi: t.hi.max(wide.hi) })
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
        estimates.fold(Interval { lo: f64::INFINITY, hi: f64::NEG_INFINITY }, |range, value| {
            Interval { lo: range.lo.min(value), hi: range.hi.max(value) }
        })
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

fn check(scale: Scale, baseline: &[f64], candidate: &[f64]) -> Result<(), Unusable> {
    if baseline.len() != candidate.len() {
        let (baseline, candidate) = (baseline.len(), candidate.len());
        return Err(Unusable::Unpaired { baseline, candidate });
    }
    if baseline.is_empty() || baseline.len() > MAX_PAIRS {
        return Err(Unusable::PairCount { pairs: baseline.len() });
    }
    for (arm, values) in [(Arm::Baseline, baseline), (Arm::Candidate, candidate)] {
        for (index, value) in values.iter().copied().enumerate() {
            if !value.is_finite() {
                return Err(Unusable::NotFinite { arm, index });
            }
            if scale == Scale::Ratio && value <= 0.0 {
                return Err(Unusable::NotPositive { arm, index, value });
            }
        }
    }
    Ok(())
}

fn pairs(baseline: &[f64], candidate: &[f64]) -> impl Iterator<Item = (f64, f64)> {
    baseline.iter().copied().zip(candidate.iter().copied())
}

fn without(values: &[f64], skip: usize) -> Vec<f64> {
    let kept = |(index, value): (usize, &f64)| (index != skip).then_some(*value);
    values.iter().enumerate().filter_map(kept).collect()
}

/// Half the width of the 95 % decision interval: in an A/A comparison, the noise floor.
#[must_use]
pub fn half_width(limits: &Limits) -> f64 {
    (limits.hi95 - limits.lo95) / 2.0
}

const _: () = assert!(RESAMPLES == 20_000, "the published number of resamples");
