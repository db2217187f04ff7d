//! Other intervals for the same pairs, to be looked at beside the decision interval. No verdict is
//! made from them.

use super::compare::both;
use super::effect::{deterministic, estimate};
use super::input::check;
use super::{Bca, Limits, MIN_PAIRS, Scale, Student, Unusable, fieller};
use crate::bootstrap::Resamples;

/// Intervals by other methods. Each is `None` where it is undefined, for a scale it is not made for,
/// and all are below [`MIN_PAIRS`] pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Secondary {
    /// Fieller's interval for a ratio of means.
    pub fieller: Option<Limits>,
    /// Student's t on the logarithms of pair ratios, for the geometric ratio: the ratio of means only
    /// where noise has one shape in both arms.
    pub geometric: Option<Limits>,
    /// The bias-corrected and accelerated interval of the published resamples.
    pub bca: Option<Limits>,
    /// What it was corrected by; `None` also without variation.
    pub correction: Option<Bca>,
}

/// The secondary intervals of pairs, from the seed of the bootstrap stream of the case.
///
/// # Errors
/// [`Unusable`], with a ratio refused for values not above 0.
pub fn secondary(
    scale: Scale,
    baseline: &[f64],
    candidate: &[f64],
    seed: u64,
) -> Result<Secondary, Unusable> {
    check(scale, baseline, candidate)?;
    let none = Secondary {
        fieller: None,
        geometric: None,
        bca: None,
        correction: None,
    };
    if baseline.len() < MIN_PAIRS {
        return Ok(none);
    }
    let ratio = scale == Scale::Ratio;
    if deterministic(scale, baseline, candidate) {
        let point = Limits::point(estimate(scale, baseline, candidate));
        return Ok(Secondary {
            fieller: ratio.then_some(point),
            geometric: ratio.then_some(point),
            bca: Some(point),
            correction: None,
        });
    }
    let draws = Resamples::new(seed, baseline.len())
        .map(|map| super::decision::resampled(scale, baseline, candidate, &map));
    let correction = draws
        .as_ref()
        .and_then(|draws| Bca::new(scale, baseline, candidate, draws));
    let bca = correction
        .zip(draws)
        .and_then(|(bca, mut draws)| both(|alpha| bca.interval(&mut draws, alpha)));
    let (of_means, typical) = if ratio {
        let student = Student::geometric(baseline, candidate)?;
        (
            both(|alpha| fieller(baseline, candidate, alpha)),
            both(|alpha| Some(student.interval(alpha))),
        )
    } else {
        (None, None)
    };
    Ok(Secondary {
        fieller: of_means,
        geometric: typical,
        bca,
        correction,
    })
}
