//! The bias-corrected and accelerated percentile interval, for comparison only: with a dozen pairs
//! it covers less than the plain one.

use super::effect::{deterministic, estimate, without};
use super::{Interval, MIN_TAIL_RESAMPLES, Scale};
use crate::bootstrap::Draws;
use crate::distribution::{normal_cdf, normal_quantile};
use crate::sum::{exact_sum, length, mean};

/// How far percentiles are moved (Efron, 1987).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bca {
    /// Bias correction: the normal quantile of the share of resamples below the estimate, those equal
    /// to it counted half.
    pub z0: f64,
    /// Acceleration from the estimates without each pair.
    pub acceleration: f64,
}

impl Bca {
    /// The correction for draws of these pairs; a ratio takes values of any sign here. `None` where it
    /// is undefined: fewer than 3 pairs, unequal lengths, no variation, or an estimate that no
    /// resample lies on one side of.
    #[must_use]
    pub fn new(scale: Scale, baseline: &[f64], candidate: &[f64], draws: &Draws) -> Option<Self> {
        let count = baseline.len();
        if count < 3 || candidate.len() != count || deterministic(scale, baseline, candidate) {
            return None;
        }
        let centre = estimate(scale, baseline, candidate);
        let halves = draws.values().iter().map(|value| {
            let equal = value.total_cmp(&centre).is_eq();
            2 * usize::from(*value < centre) + usize::from(equal)
        });
        let share = length(halves.sum()) / 2.0 / length(draws.len());
        let rest: Vec<f64> = (0..count)
            .map(|skip| estimate(scale, &without(baseline, skip), &without(candidate, skip)))
            .collect();
        let middle = mean(&rest);
        let cubes = exact_sum(rest.iter().map(|value| (middle - value).powi(3)));
        let squares = exact_sum(rest.iter().map(|value| (middle - value).powi(2)));
        let (z0, acceleration) = (normal_quantile(share), cubes / (6.0 * squares.powf(1.5)));
        (z0.is_finite() && acceleration.is_finite()).then_some(Self { z0, acceleration })
    }

    /// The probabilities at which the draws are read instead of `alpha / 2` and `1 - alpha / 2`.
    /// `None` where the acceleration turns them round.
    #[must_use]
    pub fn tails(&self, alpha: f64) -> Option<(f64, f64)> {
        let moved = |z: f64| {
            let reach = self.z0 + z;
            let left = 1.0 - self.acceleration * reach;
            (left > 0.0).then(|| normal_cdf(self.z0 + reach / left))
        };
        moved(normal_quantile(alpha / 2.0)).zip(moved(normal_quantile(1.0 - alpha / 2.0)))
    }

    /// The interval that leaves out `alpha`. `None` as for [`Self::tails`], and where fewer than
    /// [`MIN_TAIL_RESAMPLES`] draws lie beyond an end.
    pub fn interval(&self, draws: &mut Draws, alpha: f64) -> Option<Interval> {
        let (low, high) = self.tails(alpha)?;
        let beyond = length(draws.len()) * low.min(1.0 - high);
        (beyond >= MIN_TAIL_RESAMPLES).then(|| Interval {
            lo: draws.quantile(low),
            hi: draws.quantile(high),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_bias_or_skew_it_is_the_percentile_interval() {
        let plain = Bca {
            z0: 0.0,
            acceleration: 0.0,
        };
        let (low, high) = plain.tails(0.05).unwrap();
        assert!((low - 0.025).abs() < 1e-9 && (high - 0.975).abs() < 1e-9);
    }

    #[test]
    fn bias_and_acceleration_by_hand() {
        // one draw of five below the mean 2 of the differences, one on it: share .3
        let draws = Draws::new(vec![1.0, 2.0, 3.0, 3.5, 4.0]);
        let bca = Bca::new(Scale::Difference, &[0.0; 3], &[1.0, 1.0, 4.0], &draws).unwrap();
        assert!((bca.z0 + 0.524_400_512_7).abs() < 1e-9, "{}", bca.z0);
        // left out: 2.5, 2.5, 1; about their mean 2 the cubes are -.125, -.125, 1, the squares .25, .25, 1
        let expected = 0.75 / (6.0 * 1.5f64.powf(1.5));
        assert!((bca.acceleration - expected).abs() < 1e-12);
    }

    #[test]
    fn undefined_is_refused() {
        let draws = Draws::new(vec![1.0; 20]);
        let new = |a: &[f64], b: &[f64]| Bca::new(Scale::Ratio, a, b, &draws);
        assert_eq!(new(&[1.0, 2.0, 3.0], &[1.1, 2.2, 3.3]), None);
        // every draw lies below the estimate
        assert_eq!(new(&[1.0, 2.0, 3.0], &[2.0, 2.0, 4.0]), None);
        assert_eq!(new(&[1.0, 2.0], &[1.0, 1.0]), None);
        assert_eq!(new(&[1.0; 3], &[1.0; 2]), None);
        let turned = Bca {
            z0: 0.0,
            acceleration: 0.6,
        };
        assert_eq!(turned.tails(0.05), None);
        let coarse = Bca {
            z0: 0.0,
            acceleration: 0.0,
        };
        assert_eq!(coarse.interval(&mut Draws::new(vec![1.0; 799]), 0.05), None);
        assert!(
            coarse
                .interval(&mut Draws::new(vec![1.0; 801]), 0.05)
                .is_some()
        );
    }
}
