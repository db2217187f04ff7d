//! The few distribution functions the rules need, with tails that keep their digits.
//!
//! The incomplete beta function is written out here because bounds on losses ask for parameters
//! of 10^5 and more, where a continued fraction needs more terms than `statrs` allows itself and
//! a difference of two logarithms of gamma functions loses the digits that matter.

use statrs::distribution::{ChiSquared, ContinuousCDF};
use statrs::function::erf::{erfc, erfc_inv};
use statrs::function::gamma::{gamma_ur, ln_gamma};

/// Terms of the continued fraction; about the square root of the larger parameter is needed.
const MAX_TERMS: u32 = 100_000;

/// Standard normal probability of a value at most `z`, to 10 digits.
#[must_use]
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * erfc(-z / std::f64::consts::SQRT_2)
}

/// The value below which a standard normal falls with probability `p`; infinite at 0 and 1, NaN
/// outside.
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    if (0.0..=1.0).contains(&p) {
        -std::f64::consts::SQRT_2 * erfc_inv(2.0 * p)
    } else {
        f64::NAN
    }
}

/// Probability that a value of Student's t with `freedom` degrees of freedom is above `t`.
#[must_use]
pub fn t_upper_tail(t: f64, freedom: f64) -> f64 {
    let half = 0.5 * two_sided_t(t, freedom);
    if t >= 0.0 { half } else { 1.0 - half }
}

/// Probability that Student's t is at least `|t|` away from 0; 0 for infinite `t`.
#[must_use]
pub fn two_sided_t(t: f64, freedom: f64) -> f64 {
    beta_cdf(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// The value which Student's t exceeds in absolute size with probability `alpha`, 0 < alpha < 1.
#[must_use]
pub fn t_quantile_two_sided(alpha: f64, freedom: f64) -> f64 {
    let x = beta_quantile(alpha, freedom / 2.0, 0.5);
    (freedom * (1.0 - x) / x).sqrt()
}

/// Probability that chi-square with `freedom` degrees of freedom is above `x`.
#[must_use]
pub fn chi_square_upper_tail(x: f64, freedom: f64) -> f64 {
    if x <= 0.0 {
        1.0
    } else {
        gamma_ur(freedom / 2.0, x / 2.0)
    }
}

/// The value below which chi-square falls with probability `p`; NaN when `freedom` is not positive.
#[must_use]
pub fn chi_square_quantile(p: f64, freedom: f64) -> f64 {
    ChiSquared::new(freedom).map_or(f64::NAN, |chi| chi.inverse_cdf(p))
}

/// Regularized incomplete beta function I_x(a, b) for a, b > 0; NaN outside.
#[must_use]
pub fn beta_cdf(x: f64, a: f64, b: f64) -> f64 {
    if !(a > 0.0 && b > 0.0 && (0.0..=1.0).contains(&x)) {
        return f64::NAN;
    }
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (a * x.ln() + b * (-x).ln_1p() - ln_beta(a, b)).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(x, a, b) / a
    } else {
        1.0 - front * beta_fraction(1.0 - x, b, a) / b
    }
}

/// The x with I_x(a, b) = p, by bisection down to neighbouring numbers.
#[must_use]
pub fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    // 1,100 halvings pass every positive number; ordinary bounds take about 60.
    for _ in 0..1_100 {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if beta_cdf(middle, a, b) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by the
/// method of Lentz.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let tiny = f64::MIN_POSITIVE / f64::EPSILON;
    let away = |value: f64| if value.abs() < tiny { tiny } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for term in 1..=MAX_TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        value *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        let change = d * c;
        value *= change;
        if (change - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    value
}

/// ln B(a, b). For a large parameter the two big logarithms of gamma are subtracted on paper.
fn ln_beta(a: f64, b: f64) -> f64 {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if large < 10.0 {
        return ln_gamma(small) + ln_gamma(large) - ln_gamma(small + large);
    }
    let total = small + large;
    ln_gamma(small) - (large - 0.5) * (small / large).ln_1p() - small * total.ln()
        + small
        + stirling(large)
        - stirling(total)
}

/// What Stirling's formula leaves out of ln gamma(z), for z >= 10.
fn stirling(z: f64) -> f64 {
    let square = 1.0 / (z * z);
    (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1_260.0 - square / 1_680.0))) / z
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::function::beta::beta_reg;

    fn close(value: f64, expected: f64, tolerance: f64) {
        assert!(
            (value - expected).abs() <= tolerance,
            "{value} is not {expected}"
        );
    }

    #[test]
    fn t_quantiles_of_tables() {
        for (n, t) in [
            (6.0, 2.5706),
            (8.0, 2.3646),
            (10.0, 2.2622),
            (12.0, 2.2010),
            (16.0, 2.1314),
            (20.0, 2.0930),
        ] {
            close(t_quantile_two_sided(0.05, n - 1.0), t, 5.1e-5);
        }
    }

    #[test]
    fn t_tails_invert_quantiles_far_out() {
        for alpha in [0.5, 0.05, 1e-3, 1e-9] {
            let t = t_quantile_two_sided(alpha, 11.0);
            close(two_sided_t(t, 11.0) / alpha, 1.0, 1e-12);
            close(t_upper_tail(t, 11.0) / alpha, 0.5, 1e-12);
            close(t_upper_tail(-t, 11.0), 1.0 - alpha / 2.0, 1e-12);
        }
        close(two_sided_t(f64::INFINITY, 11.0), 0.0, 0.0);
    }

    #[test]
    fn agrees_with_statrs_where_that_converges() {
        for (x, a, b) in [
            (0.2, 1.5, 3.0),
            (0.9, 5.5, 0.5),
            (0.001, 3.0, 2_000.0),
            (0.5, 40.0, 42.0),
        ] {
            close(beta_cdf(x, a, b), beta_reg(a, b, x), 1e-11);
        }
    }

    #[test]
    fn large_parameters_follow_the_normal_limit() {
        // mean 0.1, standard deviation 0.0003: half of the mass lies near the mean
        close(beta_cdf(0.1, 100_000.0, 900_000.0), 0.5, 1e-3);
        close(beta_cdf(0.100_6, 100_000.0, 900_000.0), 0.9772, 1e-3);
    }

    #[test]
    fn normal_and_chi_square() {
        close(normal_cdf(-1.959_963_984_540_054), 0.025, 2.5e-12);
        close(normal_cdf(0.0), 0.5, 1e-15);
        close(normal_quantile(0.975), 1.959_963_984_540_054, 1e-10);
        close(normal_quantile(1e-9), -5.997_807_015, 1e-8);
        assert!(normal_quantile(0.0).is_infinite() && normal_quantile(1.5).is_nan());
        close(
            chi_square_upper_tail(3.841_458_820_694_124, 1.0),
            0.05,
            1e-10,
        );
        close(chi_square_quantile(0.2, 2.0), -2.0 * 0.8f64.ln(), 1e-9);
        close(chi_square_upper_tail(0.0, 3.0), 1.0, 0.0);
    }
}
