//! Mean and deviation of values, and one-sided bounds of the mean: what a floor or a ceiling on one arm
//! is held against.

use crate::distribution::t_quantile_two_sided;
use crate::sum::{self, length};

/// The arithmetic mean, from a correctly rounded sum, in the unit of the values; `None` without a value,
/// or where one is not finite.
#[must_use]
pub fn of(values: &[f64]) -> Option<f64> {
    (!values.is_empty() && finite(values)).then(|| sum::mean(values))
}

/// The sample standard deviation, with divisor n - 1, in the unit of the values; `None` below two values,
/// or where one is not finite.
#[must_use]
pub fn deviation(values: &[f64]) -> Option<f64> {
    (values.len() > 1 && finite(values)).then(|| sum::deviation(values))
}

fn finite(values: &[f64]) -> bool {
    values.iter().all(|value| value.is_finite())
}

/// A mean with the bounds that a share `confidence` of campaigns keep, each by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// The arithmetic mean.
    pub mean: f64,
    /// The mean of the whole population is at least this.
    pub lower: f64,
    /// The mean of the whole population is at most this.
    pub upper: f64,
}

/// The bounds of the mean of `values` by Student's t: mean -/+ t sd/sqrt(n), with t the quantile of
/// `confidence` (0.5 to 1, such as 0.95) at n - 1 degrees of freedom. `None` below two values, or
/// when one is not finite.
#[must_use]
pub fn bounds(values: &[f64], confidence: f64) -> Option<Bounds> {
    let (centre, spread) = of(values).zip(deviation(values))?;
    let n = length(values.len());
    // A tail on one side is half of what a two-sided interval leaves out.
    let t = t_quantile_two_sided(2.0 * (1.0 - confidence), n - 1.0);
    let reach = t * spread / n.sqrt();
    Some(Bounds {
        mean: centre,
        lower: centre - reach,
        upper: centre + reach,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(one: f64, other: f64) {
        assert!((one - other).abs() < 1e-6, "{one} {other}");
    }

    /// By hand: mean 3, sd sqrt(2.5), t(0.95; 4) = 2.131847 (any table of Student's t), so the reach
    /// is 2.131847 * sqrt(2.5 / 5) = 1.507443.
    #[test]
    fn five_values_by_hand() {
        let bounds = bounds(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
        close(bounds.mean, 3.0);
        close(bounds.lower, 1.492_557);
        close(bounds.upper, 4.507_443);
    }

    /// t(0.95; 11) = 1.795885: twelve values of mean 10 and sd 1.
    #[test]
    fn twelve_values_by_hand() {
        let step = (11.0_f64 / 12.0).sqrt();
        let values: Vec<f64> = (0..12)
            .map(|at| {
                if at % 2 == 0 {
                    10.0 - step
                } else {
                    10.0 + step
                }
            })
            .collect();
        let bounds = bounds(&values, 0.95).unwrap();
        close(bounds.lower, 10.0 - 1.795_885 / 12.0_f64.sqrt());
        close(bounds.upper, 10.0 + 1.795_885 / 12.0_f64.sqrt());
    }

    #[test]
    fn without_variation_the_bounds_are_the_mean() {
        let bounds = bounds(&[7.0; 6], 0.95).unwrap();
        close(bounds.lower, 7.0);
        close(bounds.upper, 7.0);
    }

    #[test]
    fn what_has_no_spread_has_no_bound() {
        assert_eq!(bounds(&[1.0], 0.95), None);
        assert_eq!(bounds(&[], 0.95), None);
        assert_eq!(bounds(&[1.0, f64::NAN], 0.95), None);
        assert_eq!((of(&[]), of(&[f64::INFINITY])), (None, None));
        assert_eq!((of(&[1.0, 4.0]), of(&[7.0])), (Some(2.5), Some(7.0)));
        assert_eq!(
            (deviation(&[7.0]), deviation(&[1.0, f64::NAN])),
            (None, None)
        );
        close(deviation(&[1.0, 3.0]).unwrap(), 2.0_f64.sqrt());
    }
}
