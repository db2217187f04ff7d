//! The effect of each pair, and the estimate they make together.

use super::input::{Scale, Unusable, check, pairs};
use crate::sum::mean;

/// Variation below this share of the values is rounding: evidence keeps 12 significant digits.
const ROUNDING: f64 = 1e-12;

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

pub(super) fn effects(scale: Scale, baseline: &[f64], candidate: &[f64]) -> Vec<f64> {
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

pub(super) fn estimate(scale: Scale, baseline: &[f64], candidate: &[f64]) -> f64 {
    match scale {
        Scale::Ratio => mean(candidate) / mean(baseline),
        Scale::Difference => mean(&effects(scale, baseline, candidate)),
    }
}

/// No variation between at least two pairs beyond the rounding of stored values.
pub(super) fn deterministic(scale: Scale, baseline: &[f64], candidate: &[f64]) -> bool {
    let (below, above) = (mean(baseline), mean(candidate));
    let centre = estimate(scale, baseline, candidate);
    baseline.len() > 1
        && pairs(baseline, candidate).all(|(a, b)| match scale {
            Scale::Ratio => (b / above - a / below).abs() <= ROUNDING * (a / below),
            Scale::Difference => (b - a - centre).abs() <= ROUNDING * a.abs().max(b.abs()),
        })
}

pub(super) fn without(values: &[f64], skip: usize) -> Vec<f64> {
    let kept = |(index, value): (usize, &f64)| (index != skip).then_some(*value);
    values.iter().enumerate().filter_map(kept).collect()
}
