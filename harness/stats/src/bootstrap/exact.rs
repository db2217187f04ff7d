//! The exact bootstrap distribution of few pairs: every distinct resample with its weight.
//!
//! More than a million weighted values are not sorted: they are counted into buckets of equal width,
//! and only the buckets in which a wanted quantile falls are put in order.

use crate::sum::{length, real};

/// Most pairs whose resamples are enumerated: 1,352,078 at 12.
pub const MAX_EXACT_PAIRS: usize = 12;
/// Buckets of the weight count: 16 kB, half of a first-level cache.
const BUCKETS: usize = 2_048;

/// Every distinct resample with its weight.
#[derive(Debug, Clone, PartialEq)]
pub struct Exact {
    /// The statistic of each resample, as enumerated.
    values: Vec<f64>,
    /// How many of the n^n ordered resamples give it: at most 12!, below 2^32.
    weights: Vec<u32>,
    /// n^n, at most 12^12.
    total: u64,
    scale: Buckets,
    /// Weight of each bucket and all before it.
    reached: Vec<u64>,
}

impl Exact {
    /// The exact distribution of the ratio of means. `None` for no pairs, more than
    /// [`MAX_EXACT_PAIRS`], slices of unequal length, or a resample without a finite ratio.
    #[must_use]
    pub fn ratios(baseline: &[f64], candidate: &[f64]) -> Option<Self> {
        let pairs = baseline.len();
        if pairs == 0 || pairs > MAX_EXACT_PAIRS || candidate.len() != pairs {
            return None;
        }
        let total = (pairs as u64).pow(u32::try_from(pairs).ok()?);
        let count = multisets(pairs);
        let mut walk = Walk {
            parts: baseline.iter().zip(candidate).map(Part::of).collect(),
            values: vec![0.0; count],
            weights: vec![0; count],
            done: 0,
        };
        walk.descend(0, pairs, 0.0, 0.0, 1);
        let (values, weights) = (walk.values, walk.weights);
        let scale = Buckets::over(&values)?;
        let mut reached = vec![0; BUCKETS];
        for (value, weight) in values.iter().zip(&weights) {
            reached[scale.bucket(*value)] += u64::from(*weight);
        }
        let mut sum = 0;
        for weight in &mut reached {
            sum += *weight;
            *weight = sum;
        }
        Some(Self {
            values,
            weights,
            total,
            scale,
            reached,
        })
    }

    /// Number of distinct resamples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// False: there is at least one resample.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Smallest value whose cumulative probability reaches `p` (inverse distribution function).
    #[must_use]
    pub fn quantile(&self, p: f64) -> f64 {
        let [value] = self.quantiles([p]);
        value
    }

    /// The same for several probabilities, with one look at all resamples.
    #[must_use]
    pub fn quantiles<const N: usize>(&self, p: [f64; N]) -> [f64; N] {
        let needed = p.map(|p| p * real(self.total));
        let places = needed.map(|needed| {
            let before = |reached: &u64| real(*reached) < needed;
            self.reached.partition_point(before).min(BUCKETS - 1)
        });
        let mut wanted = [false; BUCKETS];
        for place in places {
            wanted[place] = true;
        }
        let mut near: Vec<(f64, u32)> = Vec::new();
        for (value, weight) in self.values.iter().zip(&self.weights) {
            if wanted[self.scale.bucket(*value)] {
                near.push((*value, *weight));
            }
        }
        near.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
        std::array::from_fn(|at| self.inside(places[at], needed[at], &near))
    }

    /// The first value of bucket `place` at which the cumulative weight reaches `needed`, the last of
    /// the bucket if none does. `near` holds whole buckets, in order.
    fn inside(&self, place: usize, needed: f64, near: &[(f64, u32)]) -> f64 {
        let start = near.partition_point(|entry| self.scale.bucket(entry.0) < place);
        let mut reached = place.checked_sub(1).map_or(0, |at| self.reached[at]);
        let mut last = f64::NAN;
        for (value, weight) in &near[start..] {
            if self.scale.bucket(*value) > place {
                break;
            }
            reached += u64::from(*weight);
            last = *value;
            if real(reached) >= needed {
                break;
            }
        }
        last
    }

    /// Probability of a value at most `x`.
    #[must_use]
    pub fn cdf(&self, x: f64) -> f64 {
        let both = self.values.iter().zip(&self.weights);
        let reached: u64 = both
            .filter_map(|(value, weight)| (*value <= x).then_some(u64::from(*weight)))
            .sum();
        real(reached) / real(self.total)
    }
}

/// Buckets of equal width. A larger value never falls into an earlier bucket: each step rounds
/// monotonically.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Buckets {
    start: f64,
    per_unit: f64,
}

impl Buckets {
    /// From the smallest to the largest value; `None` where one is not finite.
    fn over(values: &[f64]) -> Option<Self> {
        const LANES: usize = 8;
        // Several running extremes, so that no comparison waits for the one before it.
        let (mut lows, mut highs) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
        let mut zeros = [0.0; LANES];
        for chunk in values.chunks(LANES) {
            for (lane, value) in chunk.iter().enumerate() {
                lows[lane] = if *value < lows[lane] {
                    *value
                } else {
                    lows[lane]
                };
                highs[lane] = if *value > highs[lane] {
                    *value
                } else {
                    highs[lane]
                };
                // 0 for finite values; the NaN that comparisons overlook sticks to it
                zeros[lane] += *value * 0.0;
            }
        }
        let low = lows.into_iter().fold(f64::INFINITY, f64::min);
        let high = highs.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let per_unit = length(BUCKETS - 1) / (high - low);
        zeros.iter().all(|zero| zero.is_finite()).then(|| Self {
            start: low,
            // a single value, or values too close together, share the first bucket
            per_unit: if per_unit.is_finite() { per_unit } else { 0.0 },
        })
    }

    /// The place nearest to the value. The spacing of numbers from 2^52 on is 1, so the last bits of
    /// a sum of that size are an integer; this is far cheaper than a conversion that must saturate.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "only the last bits are wanted"
    )]
    fn bucket(self, value: f64) -> usize {
        const SPACING_ONE: f64 = 4_503_599_627_370_496.0;
        let place = (value - self.start) * self.per_unit + SPACING_ONE;
        place.to_bits() as usize & (BUCKETS - 1)
    }
}

/// Multiples of the costs of one pair, 0 to 12 times.
struct Part {
    below: [f64; MAX_EXACT_PAIRS + 1],
    above: [f64; MAX_EXACT_PAIRS + 1],
}

impl Part {
    fn of((below, above): (&f64, &f64)) -> Self {
        Self {
            below: std::array::from_fn(|times| length(times) * below),
            above: std::array::from_fn(|times| length(times) * above),
        }
    }
}

/// Binomial coefficients C(n, k) for n up to 12.
const CHOOSE: [[u32; MAX_EXACT_PAIRS + 1]; MAX_EXACT_PAIRS + 1] = {
    let mut table = [[0; MAX_EXACT_PAIRS + 1]; MAX_EXACT_PAIRS + 1];
    let mut n = 0;
    while n <= MAX_EXACT_PAIRS {
        table[n][0] = 1;
        let mut k = 1;
        while k <= n {
            table[n][k] = table[n - 1][k - 1] + table[n - 1][k];
            k += 1;
        }
        n += 1;
    }
    table
};

/// Chooses how often each pair occurs, first to last, carrying sums and weight along.
struct Walk {
    parts: Vec<Part>,
    values: Vec<f64>,
    weights: Vec<u32>,
    done: usize,
}

impl Walk {
    /// `left` places are still open; `weight` counts the ways to have filled the others.
    fn descend(&mut self, pair: usize, left: usize, below: f64, above: f64, weight: u32) {
        match self.parts.len() - pair {
            1 => {
                let part = &self.parts[pair];
                self.values[self.done] = (above + part.above[left]) / (below + part.below[left]);
                self.weights[self.done] = weight;
                self.done += 1;
            }
            2 => self.last_two(left, below, above, weight),
            rest => {
                for (times, ways) in CHOOSE[left].iter().enumerate().take(left + 1) {
                    let part = &self.parts[pair];
                    let (below, above) = (below + part.below[times], above + part.above[times]);
                    // the innermost call spelled out, so that it is compiled into this loop
                    if rest == 3 {
                        self.last_two(left - times, below, above, weight * ways);
                    } else {
                        self.descend(pair + 1, left - times, below, above, weight * ways);
                    }
                }
            }
        }
    }

    #[inline]
    fn last_two(&mut self, left: usize, below: f64, above: f64, weight: u32) {
        let [.., one, two] = &self.parts[..] else {
            return;
        };
        let next = self.done + left + 1;
        let values = self.values[self.done..next].iter_mut();
        let weights = self.weights[self.done..next].iter_mut();
        let first = one.below.iter().zip(&one.above).zip(&CHOOSE[left]);
        let second = two.below[..=left].iter().zip(&two.above[..=left]).rev();
        let counts = first.zip(second);
        for ((value, total), (((a, b), ways), (c, d))) in values.zip(weights).zip(counts) {
            *value = (above + b + d) / (below + a + c);
            *total = weight * ways;
        }
        self.done = next;
    }
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
    fn weights_add_up_to_all_ordered_resamples() {
        for n in 1..=7u32 {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            let exact = Exact::ratios(&values, &values).unwrap();
            assert_eq!(exact.len(), multisets(values.len()));
            let weights: u64 = exact.weights.iter().copied().map(u64::from).sum();
            assert_eq!(
                (weights, exact.reached[BUCKETS - 1]),
                (exact.total, exact.total)
            );
        }
        assert_eq!(
            [3, 6, 8, 10, 12].map(multisets),
            [10, 462, 6_435, 92_378, 1_352_078]
        );
    }

    #[test]
    fn what_cannot_be_enumerated_is_refused() {
        assert_eq!(Exact::ratios(&[1.0; 13], &[1.0; 13]), None);
        assert_eq!(Exact::ratios(&[1.0; 3], &[1.0; 2]), None);
        // two of the three resamples have no finite ratio
        assert_eq!(Exact::ratios(&[0.0, 1.0], &[0.0, 1.0]), None);
        assert_eq!(Exact::ratios(&[0.0, 1.0], &[1.0, 1.0]), None);
        let one = Exact::ratios(&[2.0], &[3.0]).unwrap();
        assert_eq!((one.len(), one.quantiles([0.0, 0.5, 1.0])), (1, [1.5; 3]));
    }

    /// The definition: all n^n ordered resamples, sorted.
    fn by_definition(a: &[f64], b: &[f64]) -> Vec<f64> {
        let n = a.len();
        let mut all: Vec<f64> = (0..n.pow(u32::try_from(n).unwrap()))
            .map(|code| {
                let mut times = vec![0; n];
                let mut code = code;
                for _ in 0..n {
                    times[code % n] += 1;
                    code /= n;
                }
                let sum = |values: &[f64]| {
                    let terms = values.iter().zip(&times);
                    terms.fold(0.0, |sum, (value, times)| sum + length(*times) * value)
                };
                sum(b) / sum(a)
            })
            .collect();
        all.sort_unstable_by(f64::total_cmp);
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn quantiles_are_those_of_all_ordered_resamples_to_the_last_bit(
            pairs in prop::collection::vec((1.0..9.0f64, 1u32..20), 1..6),
            stall in 1.0..1e6f64, p in 0.0..1.0f64,
        ) {
            let (a, mut b): (Vec<f64>, Vec<f64>) =
                pairs.into_iter().map(|(a, b)| (a, f64::from(b))).unzip();
            // a far value crowds the others into few buckets
            b[0] *= stall;
            let all = by_definition(&a, &b);
            let exact = Exact::ratios(&a, &b).unwrap();
            for p in [p, 0.025, 0.5, 0.975, 1.0] {
                let needed = p * length(all.len());
                let rank = (1..=all.len()).find(|rank| length(*rank) >= needed).unwrap();
                prop_assert!(exact.quantile(p).total_cmp(&all[rank - 1]).is_eq());
            }
            let below = all.iter().filter(|value| **value <= all[all.len() / 2]).count();
            let share = length(below) / length(all.len());
            prop_assert!(exact.cdf(all[all.len() / 2]).total_cmp(&share).is_eq());
        }

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
