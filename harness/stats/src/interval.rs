//! Intervals for a ratio of means or a mean difference over whole pairs.
//!
//! The percentile interval is what gets published, and with a dozen pairs it is too narrow: it
//! covers about nine truths in ten instead of nineteen in twenty. Verdicts therefore rest on the
//! *decision interval*, the hull of two repairs: the same resamples read at expanded tails
//! (Hesterberg, 2015), and Student's t on the logarithm of the ratio of means with the delta-method
//! standard error. Below [`MIN_PAIRS`] pairs no interval is given at all. Other methods
//! ([`secondary`]) are there to be looked at beside it.

mod bca;
mod compare;
mod decision;
mod effect;
mod fieller;
mod input;
mod secondary;
mod student;

pub use bca::Bca;
pub use compare::{Comparison, Enumerate, Intervals, compare};
pub use decision::{decision, leave_one_out};
pub use effect::pair_effects;
pub use fieller::fieller;
pub use input::{Arm, MAX_PAIRS, Scale, Unusable};
pub use secondary::{Secondary, secondary};
pub use student::Student;

use crate::bootstrap::Draws;
use crate::distribution::{normal_cdf, t_quantile_two_sided};
use crate::sum::length;
use std::fmt;

/// Fewest pairs for which an interval is given.
pub const MIN_PAIRS: usize = 6;
/// Probability outside the 95 % interval.
pub const ALPHA_95: f64 = 0.05;
/// Probability outside the 90 % interval, which makes two one-sided 5 % tests.
pub const ALPHA_90: f64 = 0.10;
/// A tail quantile needs this many resamples beyond it.
pub const MIN_TAIL_RESAMPLES: f64 = 20.0;

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

/// Equal-tailed percentile interval of resampled statistics.
pub fn percentile(draws: &mut Draws, alpha: f64) -> Interval {
    Interval {
        lo: draws.quantile(alpha / 2.0),
        hi: draws.quantile(1.0 - alpha / 2.0),
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
pub fn expanded(draws: &mut Draws, pairs: usize, alpha: f64) -> Option<Interval> {
    let tail = expanded_tail(pairs, alpha);
    let enough = length(draws.len()) * tail >= MIN_TAIL_RESAMPLES;
    enough.then(|| percentile(draws, 2.0 * tail))
}
