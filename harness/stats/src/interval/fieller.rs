//! Fieller's interval for a ratio of means of pairs.

use super::Interval;
use super::input::pairs;
use crate::distribution::t_quantile_two_sided;
use crate::sum::{exact_sum, length, mean};

/// The ratios mean(candidate) / mean(baseline) that Student's t does not reject: all rho for which
/// the mean of candidate - rho baseline lies within t standard errors of 0 (Fieller, 1954). Values
/// of any sign. `None` where these ratios form no bounded interval, because the mean of the baseline
/// itself cannot be told from 0; and for fewer than 2 pairs, unequal lengths, or a value that is not
/// finite.
#[must_use]
pub fn fieller(baseline: &[f64], candidate: &[f64], alpha: f64) -> Option<Interval> {
    let count = baseline.len();
    let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
    if count < 2 || candidate.len() != count || !finite(baseline) || !finite(candidate) {
        return None;
    }
    let n = length(count);
    let below = mean(baseline);
    let ratio = mean(candidate) / below;
    if !ratio.is_finite() {
        return None;
    }
    // With d = b - R a and rho = R + e the mean is -e mean(a), and the variance of the mean is
    // var(d) - 2 e cov(d, a) + e^2 var(a): a quadratic in e that loses no digits to cancellation.
    let (mut own, mut cross, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for (a, b) in pairs(baseline, candidate) {
        let (a, d) = (a - below, b - ratio * a);
        own.push(a * a);
        cross.push(a * d);
        rest.push(d * d);
    }
    let square = t_quantile_two_sided(alpha, n - 1.0).powi(2) / (n * (n - 1.0));
    let [own, cross, rest] = [own, cross, rest].map(|terms| square * exact_sum(terms));
    let clear = below * below - own;
    let reach = (cross * cross + clear * rest).sqrt();
    // not above 0, or not a number for an alpha out of range
    (clear > 0.0).then(|| Interval {
        lo: ratio + (-cross - reach) / clear,
        hi: ratio + (-cross + reach) / clear,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_where_student_stops_rejecting() {
        let (a, b) = ([10.0, 12.0, 11.0, 14.0], [9.0, 12.0, 10.0, 11.0]);
        let interval = fieller(&a, &b, 0.05).unwrap();
        for rho in [interval.lo, interval.hi] {
            let rest: Vec<f64> = pairs(&a, &b).map(|(a, b)| b - rho * a).collect();
            let t = mean(&rest) / (crate::sum::deviation(&rest) / 2.0);
            assert!((t.abs() - 3.182_446).abs() < 1e-5, "{t}");
        }
    }

    #[test]
    fn refused_where_the_baseline_may_be_nothing() {
        assert_eq!(fieller(&[1.0, -1.2, 0.9], &[1.0, 1.1, 1.2], 0.05), None);
        assert_eq!(fieller(&[1.0, -1.0], &[1.0, 1.1], 0.05), None);
        assert_eq!(fieller(&[1.0], &[1.0], 0.05), None);
        assert_eq!(fieller(&[1.0, 2.0], &[1.0], 0.05), None);
        assert_eq!(fieller(&[1.0, f64::NAN], &[1.0, 2.0], 0.05), None);
    }
}
