//! What a number of pairs can see, before any confirmation is run.
//!
//! All constants are in units of the standard deviation of the pair effect (logarithm of the pair
//! ratio, or pair difference). Both powers are exact for normal effects: the normal probability given
//! the sample deviation is integrated over the distribution of that deviation (the definition of the
//! noncentral t), by Simpson's rule. Nothing is simulated.

use crate::bootstrap::MAX_PAIRS;
use crate::distribution::{chi_square_quantile, normal_cdf, t_quantile_two_sided};
use crate::interval::{ALPHA_90, ALPHA_95, MIN_PAIRS, Scale};
use crate::sum::length;
use statrs::function::gamma::ln_gamma;

/// The power that planned numbers of pairs aim at.
pub const POWER: f64 = 0.80;
/// Confidence of the upper limit to which the deviation of a pilot is raised.
pub const PILOT_CONFIDENCE: f64 = 0.80;
/// Steps of Simpson's rule; 400 already agree with 4,000 in nine digits.
const STEPS: u32 = 400;

/// Half the width of the 95 % t interval for a deviation of 1.
#[must_use]
pub fn half_width(pairs: usize) -> f64 {
    t_quantile_two_sided(ALPHA_95, length(pairs) - 1.0) / length(pairs).sqrt()
}

/// Probability that the 95 % t interval excludes no difference when the true effect is `effect`
/// deviations. NaN below 2 pairs.
#[must_use]
pub fn detection_power(pairs: usize, effect: f64) -> f64 {
    let freedom = length(pairs) - 1.0;
    let critical = t_quantile_two_sided(ALPHA_95, freedom);
    let shift = effect * length(pairs).sqrt();
    over_deviation(freedom, f64::INFINITY, |u| {
        normal_cdf(shift - critical * u) + normal_cdf(-shift - critical * u)
    })
}

/// Probability that the 90 % t interval lies inside +-`margin` deviations when there is no
/// difference (two one-sided 5 % tests). NaN below 2 pairs.
#[must_use]
pub fn equivalence_power(pairs: usize, margin: f64) -> f64 {
    let freedom = length(pairs) - 1.0;
    let critical = t_quantile_two_sided(ALPHA_90, freedom);
    let room = margin * length(pairs).sqrt();
    // a larger deviation makes the interval itself wider than the margin
    over_deviation(freedom, room / critical, |u| {
        2.0 * normal_cdf(room - critical * u) - 1.0
    })
}

/// The smallest true effect, in deviations, that is found with [`POWER`] (MDE80).
#[must_use]
pub fn minimal_detectable_effect(pairs: usize) -> f64 {
    smallest(|effect| detection_power(pairs, effect) >= POWER)
}

/// The smallest margin, in deviations, inside which no difference is called equivalent with
/// [`POWER`].
#[must_use]
pub fn equivalence_margin(pairs: usize) -> f64 {
    smallest(|margin| equivalence_power(pairs, margin) >= POWER)
}

/// The smallest true share of change that is called worthwhile with [`POWER`]: it has to clear the
/// margin by the minimal detectable effect. `deviation` is of the pair effect; the result is on the
/// scale of the margin (a share for a ratio, the unit of the metric for a difference).
#[must_use]
pub fn worthwhile_effect(scale: Scale, pairs: usize, margin: f64, deviation: f64) -> f64 {
    let reach = minimal_detectable_effect(pairs) * deviation;
    match scale {
        Scale::Ratio => (margin.ln_1p() + reach).exp_m1(),
        Scale::Difference => margin + reach,
    }
}

/// The even number of pairs, from [`MIN_PAIRS`], at which no difference is called equivalent with
/// [`POWER`]. `None` above [`MAX_PAIRS`] or without a margin above 0.
#[must_use]
pub fn pairs_needed(scale: Scale, margin: f64, deviation: f64) -> Option<usize> {
    let reach = if scale == Scale::Ratio {
        margin.ln_1p()
    } else {
        margin
    };
    if reach.is_nan() || reach <= 0.0 {
        return None;
    }
    let enough =
        |pairs: usize| deviation <= 0.0 || equivalence_power(pairs, reach / deviation) >= POWER;
    (MIN_PAIRS..=MAX_PAIRS)
        .step_by(2)
        .find(|pairs| enough(*pairs))
}

/// The factor that raises the deviation of a pilot of `pairs` pairs to its upper 80 % limit. `None`
/// below 2 pairs.
#[must_use]
pub fn pilot_inflation(pairs: usize) -> Option<f64> {
    let freedom = length(pairs) - 1.0;
    let low = 1.0 - PILOT_CONFIDENCE;
    (pairs >= 2).then(|| (freedom / chi_square_quantile(low, freedom)).sqrt())
}

/// Iterations inside a launch that spend a budget best: the square root of (cost of a launch / cost
/// of an iteration) x (variance of iterations / variance of launches), rounded up, at least 1 (after
/// Kalibera and Jones, 2013). `None` unless costs and launch variance are above 0.
#[must_use]
pub fn iterations_per_launch(
    launch_cost: f64,
    iteration_cost: f64,
    iteration_variance: f64,
    launch_variance: f64,
) -> Option<f64> {
    let usable = launch_cost > 0.0 && iteration_cost > 0.0 && launch_variance > 0.0;
    usable.then(|| {
        (launch_cost / iteration_cost * iteration_variance / launch_variance)
            .sqrt()
            .ceil()
            .max(1.0)
    })
}

/// Mean of `value` over the ratio u of sample to true deviation, for u up to `limit`.
fn over_deviation(freedom: f64, limit: f64, value: impl Fn(f64) -> f64) -> f64 {
    let end = limit.min(1.0 + 10.0 / freedom.sqrt());
    let half = freedom / 2.0;
    let scale = std::f64::consts::LN_2 + half * half.ln() - ln_gamma(half);
    let term = |u: f64| {
        let density = (scale + (freedom - 1.0) * u.ln() - half * u * u).exp();
        if u > 0.0 { density * value(u) } else { 0.0 }
    };
    let step = end / f64::from(STEPS);
    let inner: f64 = (1..STEPS)
        .map(|k| term(f64::from(k) * step) * if k % 2 == 1 { 4.0 } else { 2.0 })
        .sum();
    (term(0.0) + inner + term(end)) * step / 3.0
}

/// Smallest value in 0..64 for which a monotone condition holds, to 1e-9.
fn smallest(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 64.0);
    while high - low > 1e-9 {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
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
    fn reference_constants() {
        for (pairs, half, effect, margin) in [
            (6, 1.049, 1.435, 1.397),
            (8, 0.836, 1.156, 1.153),
            (12, 0.635, 0.889, 0.903),
            (16, 0.533, 0.749, 0.767),
            (20, 0.468, 0.660, 0.679),
            (30, 0.373, 0.529, 0.547),
        ] {
            close(half_width(pairs), half, 6e-4);
            close(minimal_detectable_effect(pairs), effect, 6e-4);
            close(equivalence_margin(pairs), margin, 6e-4);
        }
    }

    #[test]
    fn no_effect_is_found_at_the_nominal_rate() {
        for pairs in [6, 12, 40] {
            close(detection_power(pairs, 0.0), 0.05, 1e-8);
        }
        close(equivalence_power(12, 40.0), 1.0, 1e-8);
        close(equivalence_power(12, 0.0), 0.0, 1e-12);
    }

    #[test]
    fn pilot_factors() {
        for (pairs, factor) in [(3, 2.12), (4, 1.73), (5, 1.56), (6, 1.46), (8, 1.35)] {
            close(pilot_inflation(pairs).unwrap(), factor, 6e-3);
        }
        assert_eq!(pilot_inflation(1), None);
    }

    #[test]
    fn pairs_for_a_margin() {
        // sd 1 %, margin 1 %: ln 1.01 is .995 deviations, between the margins of 10 and 12 pairs
        assert_eq!(pairs_needed(Scale::Ratio, 0.01, 0.01), Some(12));
        assert_eq!(pairs_needed(Scale::Difference, 1.4, 1.0), Some(6));
        assert_eq!(pairs_needed(Scale::Difference, 1.0, 0.0), Some(6));
        assert_eq!(pairs_needed(Scale::Ratio, 0.01, 0.10), None);
        assert_eq!(pairs_needed(Scale::Ratio, 0.0, 0.01), None);
        close(
            worthwhile_effect(Scale::Difference, 12, 2.0, 1.0),
            2.889,
            6e-4,
        );
        close(
            worthwhile_effect(Scale::Ratio, 12, 0.02, 0.01),
            0.02911,
            1e-4,
        );
    }

    #[test]
    fn iterations() {
        assert_eq!(iterations_per_launch(100.0, 1.0, 4.0, 1.0), Some(20.0));
        assert_eq!(iterations_per_launch(1.0, 1.0, 0.0, 1.0), Some(1.0));
        assert_eq!(iterations_per_launch(1.0, 1.0, 1.0, 0.0), None);
    }
}
