//! Statements that hold whatever the shape of the noise: ranks and order statistics. All of them are
//! marks and secondary numbers; none makes a verdict.

use crate::proportion::binomial_upper_tail;
use crate::sum::{self, length, real};

/// Modified z scores beyond this mark an outlying pair (Iglewicz and Hoaglin, 1993).
pub const OUTLYING: f64 = 3.5;
/// The 75 % quantile of the standard normal: a normal sample's median absolute deviation over its
/// standard deviation, in the four digits of the same source.
const NORMAL_MAD: f64 = 0.6745;
/// Most effects whose signed ranks are enumerated.
pub const MAX_SIGNED: usize = 256;

/// Indices of the pairs whose effect lies far from the others: |0.6745 (x - median) / MAD| above
/// [`OUTLYING`], with MAD the median absolute deviation from the median. Only a mark: the pair stays
/// in every estimate. Empty where the MAD is 0 or a value is not finite.
#[must_use]
pub fn outlying(effects: &[f64]) -> Vec<usize> {
    if !effects.iter().all(|effect| effect.is_finite()) {
        return Vec::new();
    }
    let centre = sum::median(effects);
    let away: Vec<f64> = effects.iter().map(|x| (x - centre).abs()).collect();
    let mad = sum::median(&away);
    let far = |(index, away): (usize, &f64)| {
        (mad > 0.0 && NORMAL_MAD * away > OUTLYING * mad).then_some(index)
    };
    away.iter().enumerate().filter_map(far).collect()
}

/// The middle value, or the mean of the two in the middle; `None` without a value, or where one is not
/// finite.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let finite = values.iter().all(|value| value.is_finite());
    (finite && !values.is_empty()).then(|| sum::median(values))
}

/// An interval between two order statistics.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MedianInterval {
    /// The k-th smallest value.
    pub lo: f64,
    /// The k-th largest value.
    pub hi: f64,
    /// The probability with which it holds the median, at least the one asked for.
    pub coverage: f64,
}

/// The narrowest pair of order statistics, equally far from both ends, that holds the median of the
/// population with at least `confidence` (0..1): 1 - 2 P(Bin(n, 1/2) < k) (Thompson, 1936). `None`
/// where even the extremes do not, as below 6 values at 95 %, or a value is not finite.
#[must_use]
pub fn median_interval(values: &[f64], confidence: f64) -> Option<MedianInterval> {
    if !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let n = values.len() as u64;
    // P(fewer than k) is P(more than n - k) under even odds
    let coverage = |k: usize| 1.0 - 2.0 * binomial_upper_tail(n - k as u64 + 1, n, 0.5);
    let (mut enough, mut short) = (0, values.len() / 2 + 1);
    while short - enough > 1 {
        let middle = usize::midpoint(enough, short);
        if coverage(middle) >= confidence {
            enough = middle;
        } else {
            short = middle;
        }
    }
    let place = enough.checked_sub(1)?;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(MedianInterval {
        lo: sorted[place],
        hi: sorted[values.len() - enough],
        coverage: coverage(enough),
    })
}

/// Two-sided p of effects that are symmetric about 0, by the exact distribution of the sum of signed
/// ranks (Wilcoxon, 1945): zeros are left out, ties share their mean rank. `None` without an effect
/// other than 0, above [`MAX_SIGNED`] of them, or for a value that is not finite.
#[must_use]
pub fn signed_rank(effects: &[f64]) -> Option<f64> {
    let moved: Vec<f64> = effects.iter().copied().filter(|x| *x != 0.0).collect();
    let finite = moved.iter().all(|effect| effect.is_finite());
    if moved.is_empty() || moved.len() > MAX_SIGNED || !finite {
        return None;
    }
    // twice the mean rank is a whole number
    let doubled = |x: &f64| {
        let below = moved.iter().filter(|other| other.abs() < x.abs()).count();
        let upto = moved.iter().filter(|other| other.abs() <= x.abs()).count();
        below + upto + 1
    };
    let ranks: Vec<usize> = moved.iter().map(doubled).collect();
    let all: usize = ranks.iter().sum();
    let mut chance = vec![0.0; all + 1];
    chance[0] = 1.0;
    let mut highest = 0;
    for rank in &ranks {
        highest += rank;
        for sum in (0..=highest).rev() {
            let with = sum.checked_sub(*rank).map_or(0.0, |rest| chance[rest]);
            chance[sum] = f64::midpoint(chance[sum], with);
        }
    }
    let signed = moved.iter().zip(&ranks).filter(|(x, _)| **x > 0.0);
    let above: usize = signed.map(|(_, rank)| *rank).sum();
    let tail: f64 = chance[..=above.min(all - above)].iter().sum();
    Some((2.0 * tail).min(1.0))
}

/// Ranks from 1, ties given their mean.
pub(crate) fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|left, right| values[*left].total_cmp(&values[*right]));
    let mut ranks = vec![0.0; values.len()];
    let mut done = 0;
    for same in order.chunk_by(|left, right| values[*left].total_cmp(&values[*right]).is_eq()) {
        let mean = real(done) + (length(same.len()) + 1.0) / 2.0;
        for index in same {
            ranks[*index] = mean;
        }
        done += same.len() as u64;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64, tolerance: f64) {
        assert!(
            (value - expected).abs() <= tolerance,
            "{value} is not {expected}"
        );
    }

    #[test]
    fn outlying_pairs_by_hand() {
        // median 3, deviations 2 1 0 1 x: MAD 1, so x is marked beyond 3.5 / .6745 = 5.189
        assert_eq!(outlying(&[1.0, 2.0, 3.0, 4.0, 8.2]), [4]);
        assert!(outlying(&[1.0, 2.0, 3.0, 4.0, 8.1]).is_empty());
        assert_eq!(outlying(&[-2.2, 2.0, 3.0, 4.0, 9.0]), [0, 4]);
        // more than half are equal: no scale to measure by
        assert!(outlying(&[1.0, 1.0, 1.0, 1.0, 9.0]).is_empty());
        assert!(outlying(&[]).is_empty() && outlying(&[1.0, f64::NAN, 2.0]).is_empty());
    }

    #[test]
    fn median_intervals_of_tables() {
        // k and coverage from a table of the binomial distribution with even odds
        for (n, k, coverage) in [
            (6, 1, 1.0 - 2.0 / 64.0),
            (8, 1, 1.0 - 2.0 / 256.0),
            (9, 2, 1.0 - 20.0 / 512.0),
            (12, 3, 1.0 - 158.0 / 4_096.0),
            (20, 6, 0.958_610_5),
        ] {
            let values: Vec<f64> = (1..=n).rev().map(f64::from).collect();
            let interval = median_interval(&values, 0.95).unwrap();
            close(interval.lo, f64::from(k), 0.0);
            close(interval.hi, f64::from(n + 1 - k), 0.0);
            close(interval.coverage, coverage, 1e-7);
        }
        assert_eq!(median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95), None);
        assert!(median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.90).is_some());
        assert_eq!(median_interval(&[], 0.5), None);
        assert_eq!(median_interval(&[1.0, f64::NAN], 0.1), None);
        assert_eq!(median_interval(&[7.0], 0.0), None);
    }

    #[test]
    fn signed_ranks_by_hand() {
        close(signed_rank(&[1.0, 2.0, 3.0]).unwrap(), 0.25, 0.0);
        // sums of at most 1 of 16: none, or rank 1
        close(signed_rank(&[-1.0, 2.0, 3.0, 4.0, 0.0]).unwrap(), 0.25, 0.0);
        // ranks 1.5 1.5 3: sums 0, 1.5 twice, of 8
        close(signed_rank(&[-1.0, 1.0, 3.0]).unwrap(), 0.75, 0.0);
        close(signed_rank(&[-1.0, 1.0]).unwrap(), 1.0, 0.0);
        assert_eq!(signed_rank(&[0.0]), None);
        assert_eq!(signed_rank(&[f64::NAN]), None);
        assert_eq!(signed_rank(&[1.0; MAX_SIGNED + 1]), None);
        close(signed_rank(&[1.0; 40]).unwrap(), 0.5f64.powi(39), 1e-24);
    }

    #[test]
    fn ties_share_their_rank() {
        assert_eq!(ranks(&[5.0, 1.0, 5.0, 0.0, 5.0]), [4.0, 2.0, 4.0, 1.0, 4.0]);
    }
}
