//! Shares of counts: exact binomial bounds, and how far counts scatter beyond a binomial.
//!
//! Packets are not lost one by one. Bounds that treat them so are far too narrow once losses come in
//! bursts, so counts are first divided by their dispersion.

use crate::distribution::{beta_cdf, beta_quantile, chi_square_upper_tail};
use crate::sum::{exact_sum, real};
use statrs::function::gamma::ln_gamma;

/// One-sided upper bound of a share at `confidence` for `k` of `n` (Clopper and Pearson, 1934). Both
/// may be real, as counts divided by a dispersion are. `None` unless 0 <= k <= n, n > 0 and
/// 0 < confidence < 1.
#[must_use]
pub fn upper_bound(k: f64, n: f64, confidence: f64) -> Option<f64> {
    valid(k, n, confidence).then(|| {
        if k >= n {
            1.0
        } else {
            beta_quantile(confidence, k + 1.0, n - k)
        }
    })
}

/// One-sided lower bound; `None` as for [`upper_bound`].
#[must_use]
pub fn lower_bound(k: f64, n: f64, confidence: f64) -> Option<f64> {
    valid(k, n, confidence).then(|| {
        if k <= 0.0 {
            0.0
        } else {
            beta_quantile(1.0 - confidence, k, n - k + 1.0)
        }
    })
}

/// Whether the upper bound is at most `limit`, without finding the bound.
#[must_use]
pub fn upper_bound_within(k: f64, n: f64, confidence: f64, limit: f64) -> bool {
    valid(k, n, confidence) && k < n && beta_cdf(limit, k + 1.0, n - k) >= confidence
}

fn valid(k: f64, n: f64, confidence: f64) -> bool {
    n > 0.0 && (0.0..=n).contains(&k) && confidence > 0.0 && confidence < 1.0
}

/// How counts scatter around their common share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dispersion {
    /// Pearson's statistic: sum of (k - n p)^2 / (n p (1 - p)).
    pub statistic: f64,
    /// Degrees of freedom, one less than groups.
    pub freedom: f64,
}

impl Dispersion {
    /// Of (events, trials) counts. `None` below two groups, with an empty group, or with more events
    /// than trials. No event at all, or nothing else, scatters by 0.
    #[must_use]
    pub fn of(groups: &[(u64, u64)]) -> Option<Self> {
        if groups.len() < 2 || groups.iter().any(|(k, n)| *n == 0 || k > n) {
            return None;
        }
        let events: u128 = groups.iter().map(|group| u128::from(group.0)).sum();
        let trials: u128 = groups.iter().map(|group| u128::from(group.1)).sum();
        let freedom = crate::sum::length(groups.len()) - 1.0;
        if events == 0 || events == trials {
            return Some(Self {
                statistic: 0.0,
                freedom,
            });
        }
        let share = exact_sum(groups.iter().map(|group| real(group.0)))
            / exact_sum(groups.iter().map(|group| real(group.1)));
        let statistic = exact_sum(groups.iter().map(|(k, n)| {
            let expected = real(*n) * share;
            (real(*k) - expected).powi(2) / (expected * (1.0 - share))
        }));
        Some(Self { statistic, freedom })
    }

    /// The statistic over its degrees of freedom: 1 for a binomial, about the mean burst length for
    /// losses in bursts.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.statistic / self.freedom
    }

    /// Probability of at least this scatter from one common share.
    #[must_use]
    pub fn p(&self) -> f64 {
        self.p_beyond(1.0)
    }

    /// The same where single counts already scatter by `dispersion`, 1 or more.
    #[must_use]
    pub fn p_beyond(&self, dispersion: f64) -> f64 {
        chi_square_upper_tail(self.statistic / dispersion, self.freedom)
    }
}

/// Probability of at least `k` of `n` when each has probability `p`.
#[must_use]
pub fn binomial_upper_tail(k: u64, n: u64, p: f64) -> f64 {
    match k {
        0 => 1.0,
        k if k > n => 0.0,
        k => beta_cdf(p, real(k), real(n - k) + 1.0),
    }
}

/// Two-sided p of `k` of `n` under even odds: the sign test.
#[must_use]
pub fn sign_test(k: u64, n: u64) -> f64 {
    (2.0 * binomial_upper_tail(k.max(n.saturating_sub(k)), n, 0.5)).min(1.0)
}

/// Smallest number of false alarms among `comparisons` A/A comparisons at 5 % each that rejects the
/// calibration: its binomial tail is at most 1 %.
#[must_use]
pub fn calibration_limit(comparisons: u64) -> u64 {
    let rare = |count: &u64| binomial_upper_tail(*count, comparisons, 0.05) <= 0.01;
    (0..=comparisons).find(rare).unwrap_or(comparisons + 1)
}

/// Probability that [`calibration_limit`] rejects when each of `comparisons` A/A comparisons excludes
/// no difference with probability `rate` instead of 5 %: what a calibration that passed could have
/// found. 0 where no count is high enough to reject; NaN for a rate outside 0..=1.
#[must_use]
pub fn calibration_power(comparisons: u64, rate: f64) -> f64 {
    binomial_upper_tail(calibration_limit(comparisons), comparisons, rate)
}

/// Two-sided p of Fisher's exact test for `k` of `n` against `j` of `m`: the probability of all
/// tables with these totals that are not likelier than the one seen. 1 when a count exceeds its total.
#[must_use]
pub fn fisher(k: u64, n: u64, j: u64, m: u64) -> f64 {
    if k > n || j > m {
        return 1.0;
    }
    let events = k + j;
    let log = |count: u64| choose(n, count) + choose(m, events - count) - choose(n + m, events);
    let seen = log(k);
    let sum = exact_sum(
        (events.saturating_sub(m)..=events.min(n))
            .map(log)
            .filter(|l| *l <= seen + 1e-9)
            .map(f64::exp),
    );
    sum.min(1.0)
}

/// Logarithm of the binomial coefficient.
fn choose(n: u64, k: u64) -> f64 {
    ln_gamma(real(n) + 1.0) - ln_gamma(real(k) + 1.0) - ln_gamma(real(n - k) + 1.0)
}

/// Whether void trials gather on one arm: at least 3 against none, or Fisher's p below 5 %.
#[must_use]
pub fn voids_on_one_arm(baseline: (u64, u64), candidate: (u64, u64)) -> bool {
    let (most, least) = (baseline.0.max(candidate.0), baseline.0.min(candidate.0));
    (most >= 3 && least == 0) || fisher(baseline.0, baseline.1, candidate.0, candidate.1) < 0.05
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
    fn clopper_pearson_reference() {
        for (k, n, bound) in [
            (0.0, 1_000.0, 0.002_991_25),
            (0.0, 2_995.0, 0.000_999_74),
            (1.0, 10_000.0, 0.000_474_30),
            (10.0, 10_000.0, 0.001_695_63),
            (7.0, 20_000.0, 0.000_657_30),
            (90.0, 100_000.0, 0.001_072_29),
        ] {
            close(upper_bound(k, n, 0.95).unwrap(), bound, 6e-9);
            assert!(upper_bound_within(k, n, 0.95, bound + 1e-8));
            assert!(!upper_bound_within(k, n, 0.95, bound - 1e-8));
        }
        for (k, n, bound) in [
            (1.0, 10_000.0, 0.000_005_13),
            (10.0, 10_000.0, 0.000_542_64),
            (25.0, 20_000.0, 0.000_869_25),
        ] {
            close(lower_bound(k, n, 0.95).unwrap(), bound, 6e-9);
        }
        // a two-sided 95 % interval leaves out 2.5 % on either side
        let low = lower_bound(7.0, 20_000.0, 0.975).unwrap();
        let high = upper_bound(7.0, 20_000.0, 0.975).unwrap();
        close(low, 0.000_140_73, 6e-9);
        close(high, 0.000_721_00, 6e-9);
    }

    #[test]
    fn ends_and_refusals() {
        assert_eq!(lower_bound(0.0, 10.0, 0.95), Some(0.0));
        assert_eq!(upper_bound(10.0, 10.0, 0.95), Some(1.0));
        assert_eq!(upper_bound(0.0, 0.0, 0.95), None);
        assert_eq!(upper_bound(11.0, 10.0, 0.95), None);
        assert_eq!(lower_bound(1.0, 10.0, 1.0), None);
        close(
            upper_bound(0.0, 50.0, 0.95).unwrap(),
            1.0 - 0.05f64.powf(0.02),
            1e-14,
        );
    }

    #[test]
    fn dispersion_by_hand() {
        // share .1, expected 10 each: (5^2 + 5^2) / (10 x .9)
        let scatter = Dispersion::of(&[(15, 100), (5, 100)]).unwrap();
        close(scatter.statistic, 50.0 / 9.0, 1e-12);
        close(scatter.ratio(), 50.0 / 9.0, 1e-12);
        close(scatter.p(), 0.018_422, 1e-6);
        close(
            Dispersion::of(&[(0, 10), (0, 20)]).unwrap().ratio(),
            0.0,
            0.0,
        );
        assert_eq!(Dispersion::of(&[(1, 10)]), None);
        assert_eq!(Dispersion::of(&[(1, 10), (0, 0)]), None);
        assert_eq!(Dispersion::of(&[(11, 10), (0, 1)]), None);
    }

    #[test]
    fn calibration_table() {
        for (comparisons, limit) in [(10, 4), (20, 5), (40, 7), (60, 8), (100, 12), (200, 19)] {
            assert_eq!(calibration_limit(comparisons), limit, "{comparisons}");
        }
    }

    #[test]
    fn what_a_passed_calibration_could_have_found() {
        for (comparisons, tenth, fifth) in [(20, 0.04, 0.37), (60, 0.25, 0.93), (200, 0.63, 1.00)] {
            close(calibration_power(comparisons, 0.10), tenth, 5e-3);
            close(calibration_power(comparisons, 0.20), fifth, 5e-3);
        }
        // at the nominal rate it is the false alarm rate of the limit
        assert!((10..300).all(|comparisons| calibration_power(comparisons, 0.05) <= 0.01));
        // both of two: the square of the rate
        assert_eq!(calibration_limit(2), 2);
        close(calibration_power(2, 0.2), 0.04, 1e-12);
        close(calibration_power(1, 0.2), 0.0, 0.0);
        close(calibration_power(0, 0.2), 0.0, 0.0);
    }

    #[test]
    fn small_exact_tests() {
        close(sign_test(12, 12), 2.0 / 4_096.0, 1e-15);
        close(sign_test(6, 12), 1.0, 0.0);
        close(fisher(3, 12, 0, 12), 2.0 * 220.0 / 2_024.0, 1e-9);
        close(fisher(1, 10, 9, 10), 2.0 * 101.0 / 184_756.0, 1e-12);
        assert!(voids_on_one_arm((3, 12), (0, 12)));
        assert!(!voids_on_one_arm((2, 12), (0, 12)));
        assert!(!voids_on_one_arm((3, 12), (3, 12)));
        assert!(voids_on_one_arm((1, 20), (9, 20)));
    }
}
