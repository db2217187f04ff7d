//! Resampling of whole pairs: the published index map, and the exact distribution for few pairs.
//!
//! A bootstrap over n pairs has C(2n-1, n) distinct resamples. Up to 12 pairs they are enumerated
//! with their exact weights, so that the Monte Carlo part of a published limit can be checked.

use crate::random::{Stream, high_half};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Resamples drawn for every published interval.
pub const RESAMPLES: usize = 20_000;
/// Most pairs whose resamples are enumerated: 1,352,078 at 12.
pub const MAX_EXACT_PAIRS: usize = 12;
/// Most pairs an index map holds, because an index is one byte.
pub const MAX_PAIRS: usize = 256;

/// The index map: which pairs each resample is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resamples {
    pairs: usize,
    indices: Vec<u8>,
}

impl Resamples {
    /// The [`RESAMPLES`] resamples of `pairs` pairs for the seed of a bootstrap stream. `None` when
    /// `pairs` is 0 or above [`MAX_PAIRS`].
    #[must_use]
    pub fn new(seed: u64, pairs: usize) -> Option<Self> {
        Self::with_rows(seed, pairs, RESAMPLES)
    }

    /// The first `rows` resamples of the same map, for simulations. `None` as for [`Self::new`].
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "an index is below pairs <= 256"
    )]
    pub fn with_rows(seed: u64, pairs: usize, rows: usize) -> Option<Self> {
        if pairs == 0 || pairs > MAX_PAIRS {
            return None;
        }
        let stream = Stream::new(seed);
        let bound = pairs as u64;
        let indices = (0..(rows * pairs) as u64)
            .map(|k| high_half(stream.at(k), bound) as u8)
            .collect();
        Some(Self { pairs, indices })
    }

    /// Number of resamples.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.indices.len() / self.pairs
    }

    /// The pairs of resample `row`, `None` beyond the last.
    #[must_use]
    pub fn row(&self, row: usize) -> Option<&[u8]> {
        self.indices.chunks_exact(self.pairs).nth(row)
    }

    /// SHA-256 of the index bytes, row by row, as lower-case hexadecimal digits.
    #[must_use]
    pub fn sha256(&self) -> String {
        Sha256::digest(&self.indices)
            .iter()
            .fold(String::with_capacity(64), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
    }

    /// Ratios of mean candidate to mean baseline, one a resample, sorted. Empty unless both slices
    /// hold one value a pair.
    #[must_use]
    pub fn ratios(&self, baseline: &[f64], candidate: &[f64]) -> Vec<f64> {
        if baseline.len() != self.pairs || candidate.len() != self.pairs {
            return Vec::new();
        }
        let pairs: Vec<(f64, f64)> = baseline
            .iter()
            .copied()
            .zip(candidate.iter().copied())
            .collect();
        self.sorted(|row| {
            let (mut below, mut above) = (0.0, 0.0);
            for index in row {
                let (a, b) = pairs[usize::from(*index)];
                below += a;
                above += b;
            }
            above / below
        })
    }

    /// Means of `differences`, one a resample, sorted. Empty unless there is one value a pair.
    #[must_use]
    pub fn means(&self, differences: &[f64]) -> Vec<f64> {
        if differences.len() != self.pairs {
            return Vec::new();
        }
        let count = crate::sum::length(self.pairs);
        self.sorted(|row| {
            let mut total = 0.0;
            for index in row {
                total += differences[usize::from(*index)];
            }
            total / count
        })
    }

    fn sorted(&self, statistic: impl Fn(&[u8]) -> f64) -> Vec<f64> {
        let mut values: Vec<f64> = self
            .indices
            .chunks_exact(self.pairs)
            .map(statistic)
            .collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    }
}

/// Quantile of sorted values by linear interpolation at (count - 1) p: type 7 of Hyndman and Fan
/// (1996), the default of R and NumPy. NaN for an empty slice or p outside 0..=1.
#[must_use]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the position lies between 0 and the last index"
)]
pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let position = crate::sum::length(last) * p;
    let below = position.floor() as usize;
    let low = sorted[below];
    low + (position - position.floor()) * (sorted[last.min(below + 1)] - low)
}

/// Every distinct resample with its weight.
#[derive(Debug, Clone, PartialEq)]
pub struct Exact {
    /// (statistic, number of the n^n ordered resamples that give it), sorted by statistic.
    outcomes: Vec<(f64, u64)>,
    /// n^n, at most 12^12.
    total: u64,
}

impl Exact {
    /// The exact distribution of the ratio of means. `None` for no pairs, more than
    /// [`MAX_EXACT_PAIRS`], or slices of unequal length.
    #[must_use]
    pub fn ratios(baseline: &[f64], candidate: &[f64]) -> Option<Self> {
        let pairs = baseline.len();
        if pairs == 0 || pairs > MAX_EXACT_PAIRS || candidate.len() != pairs {
            return None;
        }
        let total = (pairs as u64).pow(u32::try_from(pairs).ok()?);
        let mut walk = Walk {
            baseline,
            candidate,
            outcomes: Vec::with_capacity(multisets(pairs)),
        };
        walk.descend(0, pairs, 0.0, 0.0, factorial(pairs));
        let mut outcomes = walk.outcomes;
        outcomes.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
        Some(Self { outcomes, total })
    }

    /// Number of distinct resamples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.outcomes.len()
    }

    /// False: there is at least one resample.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.outcomes.is_empty()
    }

    /// Smallest value whose cumulative probability reaches `p` (inverse distribution function).
    #[must_use]
    pub fn quantile(&self, p: f64) -> f64 {
        let needed = p * crate::sum::real(self.total);
        let mut reached = 0;
        for (value, weight) in &self.outcomes {
            reached += weight;
            if crate::sum::real(reached) >= needed {
                return *value;
            }
        }
        self.outcomes.last().map_or(f64::NAN, |outcome| outcome.0)
    }

    /// Probability of a value at most `x`.
    #[must_use]
    pub fn cdf(&self, x: f64) -> f64 {
        let end = self.outcomes.partition_point(|outcome| outcome.0 <= x);
        let reached: u64 = self.outcomes[..end].iter().map(|outcome| outcome.1).sum();
        crate::sum::real(reached) / crate::sum::real(self.total)
    }
}

/// Chooses how often each pair occurs, first to last, carrying sums and weight along.
struct Walk<'a> {
    baseline: &'a [f64],
    candidate: &'a [f64],
    outcomes: Vec<(f64, u64)>,
}

impl Walk<'_> {
    /// `weight` is n! over the factorials of the multiplicities chosen so far.
    fn descend(&mut self, pair: usize, left: usize, below: f64, above: f64, weight: u64) {
        let (a, b) = (self.baseline[pair], self.candidate[pair]);
        if pair + 1 == self.baseline.len() {
            let times = crate::sum::length(left);
            let ratio = (above + times * b) / (below + times * a);
            self.outcomes.push((ratio, weight / factorial(left)));
            return;
        }
        let mut share = weight;
        for times in 0..=left {
            if times > 1 {
                share /= times as u64;
            }
            let count = crate::sum::length(times);
            self.descend(
                pair + 1,
                left - times,
                below + count * a,
                above + count * b,
                share,
            );
        }
    }
}

fn factorial(n: usize) -> u64 {
    (1..=n as u64).product()
}

/// C(2n-1, n).
fn multisets(pairs: usize) -> usize {
    (1..pairs).fold(1, |count, k| count * (pairs + k) / k)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reference_index_map() {
        let map = Resamples::new(0x5EED, 12).unwrap();
        assert_eq!(map.rows(), RESAMPLES);
        assert_eq!(map.row(0).unwrap(), [0, 3, 4, 5, 0, 4, 1, 0, 10, 2, 4, 4]);
        assert_eq!(
            map.row(19_999).unwrap(),
            [3, 3, 5, 0, 9, 4, 0, 9, 5, 6, 2, 3]
        );
        assert_eq!(map.row(20_000), None);
        assert_eq!(
            map.sha256(),
            "ff56a0c7812176ca2375e5806550bfd38dcf3cf1d9039dd1a2fa0bdad466034d"
        );
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        assert_eq!(Resamples::new(1, 0), None);
        assert_eq!(Resamples::new(1, 257), None);
        assert_eq!(Resamples::with_rows(1, 256, 3).unwrap().rows(), 3);
        assert_eq!(Exact::ratios(&[1.0; 13], &[1.0; 13]), None);
        assert_eq!(Exact::ratios(&[1.0; 3], &[1.0; 2]), None);
        assert!(
            Resamples::new(1, 3)
                .unwrap()
                .ratios(&[1.0], &[1.0])
                .is_empty()
        );
    }

    #[test]
    fn type_seven_by_hand() {
        let values = [1.0, 2.0, 4.0, 8.0];
        assert!((quantile(&values, 0.5) - 3.0).abs() < 1e-15);
        assert!((quantile(&values, 0.9) - 6.8).abs() < 1e-12);
        assert!((quantile(&values, 1.0) - 8.0).abs() < 1e-15);
        assert!((quantile(&[5.0], 0.3) - 5.0).abs() < 1e-15);
        assert!(quantile(&[], 0.5).is_nan() && quantile(&values, 1.1).is_nan());
    }

    #[test]
    fn weights_add_up_to_all_ordered_resamples() {
        for n in 1..=7u32 {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            let exact = Exact::ratios(&values, &values).unwrap();
            let pairs = values.len();
            assert_eq!(exact.len(), multisets(pairs));
            assert_eq!(exact.outcomes.iter().map(|o| o.1).sum::<u64>(), exact.total);
        }
        assert_eq!(
            [3, 6, 8, 10, 12].map(multisets),
            [10, 462, 6_435, 92_378, 1_352_078]
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn exact_limits_ignore_the_order_of_pairs(
            pairs in prop::collection::vec((1.0..9.0f64, 1.0..9.0f64), 2..6), turn in 0usize..6,
        ) {
            let split = |pairs: &[(f64, f64)]| -> (Vec<f64>, Vec<f64>) { pairs.iter().copied().unzip() };
            let (a, b) = split(&pairs);
            let mut turned = pairs.clone();
            turned.rotate_left(turn % pairs.len());
            let (c, d) = split(&turned);
            let (first, second) = (Exact::ratios(&a, &b).unwrap(), Exact::ratios(&c, &d).unwrap());
            for p in [0.025, 0.05, 0.95, 0.975] {
                prop_assert!((first.quantile(p) - second.quantile(p)).abs() < 1e-9);
            }
        }
    }
}
