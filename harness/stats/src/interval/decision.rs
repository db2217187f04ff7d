//! The decision interval, and how much of it hangs on a single pair.

use super::effect::{deterministic, effects, estimate, without};
use super::input::check;
use super::{ALPHA_90, ALPHA_95, Interval, Limits, Scale, Student, Unusable, expanded};
use crate::bootstrap::{Draws, MAX_PAIRS, Resamples};

/// The decision interval for given resamples. On its own it takes any number of pairs from 2; where
/// the resamples cannot resolve a level, that level rests on Student's t alone.
///
/// # Errors
/// [`Unusable`], with a ratio refused for values not above 0; also for a single pair, or resamples
/// made for another number of pairs.
pub fn decision(
    scale: Scale,
    baseline: &[f64],
    candidate: &[f64],
    resamples: &Resamples,
) -> Result<Limits, Unusable> {
    check(scale, baseline, candidate)?;
    let mut draws = resampled(scale, baseline, candidate, resamples);
    if baseline.len() < 2 || draws.is_empty() {
        return Err(Unusable::PairCount {
            pairs: baseline.len(),
        });
    }
    Ok(decide(scale, baseline, candidate, Some(&mut draws)))
}

/// The decision interval without pair 0, without pair 1, and so on, each from the same seed: what
/// the flag `fragile` is made from. Empty below 3 pairs, and above [`MAX_PAIRS`] (256).
///
/// # Errors
/// [`Unusable`], with a ratio refused for values not above 0.
pub fn leave_one_out(
    scale: Scale,
    baseline: &[f64],
    candidate: &[f64],
    seed: u64,
) -> Result<Vec<Limits>, Unusable> {
    check(scale, baseline, candidate)?;
    if !(3..=MAX_PAIRS).contains(&baseline.len()) {
        return Ok(Vec::new());
    }
    let pairs = baseline.len() - 1;
    let resamples = Resamples::new(seed, pairs).ok_or(Unusable::PairCount { pairs })?;
    (0..=pairs)
        .map(|skip| {
            decision(
                scale,
                &without(baseline, skip),
                &without(candidate, skip),
                &resamples,
            )
        })
        .collect()
}

/// `draws` are of the same pairs; without any, or where they cannot resolve a level, Student's t is
/// alone.
pub(super) fn decide(
    scale: Scale,
    baseline: &[f64],
    candidate: &[f64],
    mut draws: Option<&mut Draws>,
) -> Limits {
    if deterministic(scale, baseline, candidate) {
        return Limits::point(estimate(scale, baseline, candidate));
    }
    let student = Student::of(scale, baseline, candidate);
    let mut hull = |alpha| {
        let t = student.interval(alpha);
        let wide = draws
            .as_deref_mut()
            .and_then(|draws| expanded(draws, baseline.len(), alpha));
        wide.map_or(t, |wide| Interval {
            lo: t.lo.min(wide.lo),
            hi: t.hi.max(wide.hi),
        })
    };
    // the inner one first, so that the draws are settled once
    let at90 = hull(ALPHA_90);
    Limits::new(hull(ALPHA_95), at90)
}

pub(super) fn resampled(
    scale: Scale,
    baseline: &[f64],
    candidate: &[f64],
    map: &Resamples,
) -> Draws {
    match scale {
        Scale::Ratio => map.ratios(baseline, candidate),
        Scale::Difference => map.means(&effects(scale, baseline, candidate)),
    }
}

/// The smallest and largest estimate without one pair. `None` for 1 pair, and above [`MAX_PAIRS`].
pub(super) fn leave_one_out_range(
    scale: Scale,
    baseline: &[f64],
    candidate: &[f64],
) -> Option<Interval> {
    if !(2..=MAX_PAIRS).contains(&baseline.len()) {
        return None;
    }
    let mut range = Interval {
        lo: f64::INFINITY,
        hi: f64::NEG_INFINITY,
    };
    for skip in 0..baseline.len() {
        let value = estimate(scale, &without(baseline, skip), &without(candidate, skip));
        range.lo = range.lo.min(value);
        range.hi = range.hi.max(value);
    }
    Some(range)
}
