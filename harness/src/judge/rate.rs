//! Rates as they are shown: compared as their inverse, a cost, and turned back.

use wiretrial_contract::analysis::{Comparison, Interval, round12};

/// Turns a comparison of costs into one of their inverses: means, ratio, change and intervals, with
/// the ends of intervals swapped. The pairs' values are the metric's own already; the verdict, the
/// number of pairs needed and the spread of log ratios are the same on both scales.
pub(super) fn inverted(comparison: &mut Comparison) {
    for value in [
        &mut comparison.mean_baseline,
        &mut comparison.mean_candidate,
        &mut comparison.ratio,
        &mut comparison.geo_ratio,
        &mut comparison.median_ratio,
    ] {
        *value = inverse(*value);
    }
    comparison.change = comparison.ratio.map(|ratio| round12(ratio - 1.0));
    for interval in [
        &mut comparison.percentile,
        &mut comparison.decision,
        &mut comparison.expanded,
        &mut comparison.delta_t,
    ] {
        *interval = swapped(*interval);
    }
    comparison.exact = comparison.exact.map(swapped);
    comparison.leave_one_out = comparison
        .leave_one_out
        .map(|[lo, hi]| [round12(1.0 / hi), round12(1.0 / lo)]);
}

fn swapped(interval: Interval) -> Interval {
    Interval {
        lo95: inverse(interval.hi95),
        hi95: inverse(interval.lo95),
        lo90: inverse(interval.hi90),
        hi90: inverse(interval.lo90),
    }
}

fn inverse(value: Option<f64>) -> Option<f64> {
    value.map(|value| round12(1.0 / value))
}
