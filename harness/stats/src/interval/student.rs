//! Student's t for a ratio of means or a mean difference.

use super::Interval;
use super::input::{Scale, Unusable, check, pairs};
use crate::distribution::{t_quantile_two_sided, t_upper_tail, two_sided_t};
use crate::sum::{deviation, exact_sum, length, mean, squares};

/// An estimate with a standard error that is read against Student's t.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Student {
    scale: Scale,
    /// ln R on the ratio scale, the mean difference otherwise.
    pub estimate: f64,
    /// Standard error of the estimate.
    pub se: f64,
    /// Degrees of freedom, one less than pairs.
    pub freedom: f64,
}

impl Student {
    /// The closed form for a pair of arms: on the ratio scale ln R with
    /// se^2 = sum (b/mean b - a/mean a)^2 / (n (n-1)), else the mean difference.
    ///
    /// # Errors
    /// [`Unusable`], with a ratio refused for values not above 0.
    pub fn new(scale: Scale, baseline: &[f64], candidate: &[f64]) -> Result<Self, Unusable> {
        check(scale, baseline, candidate)?;
        Ok(Self::of(scale, baseline, candidate))
    }

    /// The mean logarithm of the pair ratios, with their standard deviation over the root of n: the
    /// geometric ratio. It is secondary: it tells of the typical pair, not of the total cost.
    ///
    /// # Errors
    /// [`Unusable`], with values not above 0 refused.
    pub fn geometric(baseline: &[f64], candidate: &[f64]) -> Result<Self, Unusable> {
        let logs = super::pair_effects(Scale::Ratio, baseline, candidate)?;
        let n = length(logs.len());
        Ok(Self {
            scale: Scale::Ratio,
            estimate: mean(&logs),
            se: deviation(&logs) / n.sqrt(),
            freedom: n - 1.0,
        })
    }

    pub(super) fn of(scale: Scale, baseline: &[f64], candidate: &[f64]) -> Self {
        let n = length(baseline.len());
        let (below, above) = (mean(baseline), mean(candidate));
        let (estimate, spread) = match scale {
            Scale::Ratio => {
                let parts =
                    pairs(baseline, candidate).map(|(a, b)| (b / above - a / below).powi(2));
                ((above / below).ln(), exact_sum(parts))
            }
            Scale::Difference => {
                let differences: Vec<f64> =
                    pairs(baseline, candidate).map(|(a, b)| b - a).collect();
                (mean(&differences), squares(&differences))
            }
        };
        Self {
            scale,
            estimate,
            se: (spread / (n * (n - 1.0))).sqrt(),
            freedom: n - 1.0,
        }
    }

    /// The two-sided interval that leaves out `alpha`, on the scale of the comparison. Also gives
    /// Bonferroni intervals: divide `alpha` by the size of the family.
    #[must_use]
    pub fn interval(&self, alpha: f64) -> Interval {
        let reach = t_quantile_two_sided(alpha, self.freedom) * self.se;
        let (lo, hi) = (self.estimate - reach, self.estimate + reach);
        match self.scale {
            Scale::Ratio => Interval {
                lo: lo.exp(),
                hi: hi.exp(),
            },
            Scale::Difference => Interval { lo, hi },
        }
    }

    /// Two-sided p of no difference.
    #[must_use]
    pub fn p(&self) -> f64 {
        two_sided_t(self.estimate / self.se, self.freedom)
    }

    /// The larger p of the two one-sided tests (Schuirmann, 1987) against a margin: a share above 0
    /// on the ratio scale, the unit of the metric otherwise.
    #[must_use]
    pub fn equivalence_p(&self, margin: f64) -> f64 {
        let bound = match self.scale {
            Scale::Ratio => margin.ln_1p(),
            Scale::Difference => margin,
        };
        let below_upper = t_upper_tail((bound - self.estimate) / self.se, self.freedom);
        let above_lower = t_upper_tail((self.estimate + bound) / self.se, self.freedom);
        below_upper.max(above_lower)
    }
}
