//! Effects, margins and intervals as text: a ratio as a change in percent, a difference as a number in
//! its unit.

use wiretrial_contract::analysis::{Comparison, Interval};
use wiretrial_contract::metric::Scale;

use crate::number;

/// A declared margin: `3 %`, or `5 switches`.
#[must_use]
pub fn margin_text(margin: f64, scale: Scale, unit: &str) -> String {
    match scale {
        Scale::Ratio => number::margin(margin),
        Scale::Difference => with_unit(number::short(margin), unit),
    }
}

/// How far equal arms come out apart, with two digits and never below it: `4.1 %`, or `12 switches`.
#[must_use]
pub fn floor_text(floor: f64, scale: Scale, unit: &str) -> String {
    match scale {
        Scale::Ratio => format!("{} %", number::two_digits_up(floor * 100.0)),
        Scale::Difference => with_unit(number::two_digits_up(floor), unit),
    }
}

/// The same of something that is measured and not a bound: rounded to the nearest.
pub(super) fn spread_text(spread: f64, scale: Scale, unit: &str) -> String {
    match scale {
        Scale::Ratio => format!("{} %", number::two_digits_nearest(spread * 100.0)),
        Scale::Difference => with_unit(number::two_digits_nearest(spread), unit),
    }
}

/// A number with its unit, where it has one.
pub(super) fn with_unit(number: String, unit: &str) -> String {
    match unit {
        "" => number,
        unit => format!("{number} {unit}"),
    }
}

/// The effect: `-89.5 %`, or `+4.2 switches`.
pub(crate) fn effect_text(comparison: &Comparison) -> String {
    let decimals = change_decimals(comparison);
    let text = match comparison.scale {
        Scale::Ratio => comparison
            .change
            .map(|change| number::change(change, decimals)),
        Scale::Difference => comparison.difference.map(|difference| {
            let number = number::signed_decimal(difference, decimals);
            with_unit(number, &comparison.unit)
        }),
    };
    text.unwrap_or_else(|| match comparison.scale {
        Scale::Ratio => "change unknown".into(),
        Scale::Difference => "difference unknown".into(),
    })
}

/// An interval at 95 % of a comparison: `[-89.8 %, -89.2 %]`, or `[+3.9, +4.5]` in its unit.
pub(crate) fn interval_text(comparison: &Comparison, interval: &Interval) -> String {
    if interval.lo95.is_none() && interval.hi95.is_none() {
        return "no interval".into();
    }
    let decimals = change_decimals(comparison);
    let end = |end: Option<f64>| {
        end.map_or("unresolved".into(), |end| match comparison.scale {
            Scale::Ratio => number::change(end - 1.0, decimals),
            Scale::Difference => number::signed_decimal(end, decimals),
        })
    };
    format!("[{}, {}]", end(interval.lo95), end(interval.hi95))
}

/// The value that stands for no difference, as text.
pub(crate) const fn null_text(scale: Scale) -> &'static str {
    match scale {
        Scale::Ratio => "1",
        Scale::Difference => "0",
    }
}

/// Decimals of a comparison's effect, in percent or in the unit of a difference: down to the first
/// digit of half the decision interval, and at least one while that is under 10. One without an
/// interval. An end that is not 0 does not read 0 where four decimals can show it.
pub(crate) fn change_decimals(comparison: &Comparison) -> usize {
    let (Some(lo), Some(hi)) = (comparison.decision.lo95, comparison.decision.hi95) else {
        return 1;
    };
    let half_width = match comparison.scale {
        Scale::Ratio => (hi - lo) * 50.0,
        Scale::Difference => (hi - lo) / 2.0,
    };
    let digits = match comparison.scale {
        Scale::Ratio => number::decimals(half_width).min(4),
        Scale::Difference => number::decimals(half_width),
    };
    let least = digits.max(usize::from(half_width < 10.0));
    let shows = |digits: &usize| {
        [lo, hi].iter().all(|end| {
            let (effect, text) = match comparison.scale {
                Scale::Ratio => (end - 1.0, number::change(end - 1.0, *digits)),
                Scale::Difference => (*end, number::signed_decimal(*end, *digits)),
            };
            effect.abs() < 1e-9 || text.starts_with(['-', '+'])
        })
    };
    (least..=4).find(shows).unwrap_or(least)
}

/// Decimals of a comparison's means: what half its decision interval is in the unit of the baseline,
/// down to its first digit; those of the effect where that is a difference. At least three digits of the
/// baseline where there is no interval, or one without width.
pub(crate) fn mean_decimals(comparison: &Comparison) -> usize {
    let half_width = comparison.decision.half_width();
    let three_digits = |mean: f64| number::decimals(mean.abs() / 100.0);
    match (half_width, comparison.scale, comparison.mean_baseline) {
        (Some(half_width), Scale::Ratio, Some(mean)) if half_width <= 0.0 => {
            number::decimals(half_width).max(three_digits(mean))
        }
        (Some(half_width), Scale::Ratio, Some(mean)) => number::decimals(half_width * mean.abs()),
        (Some(_), Scale::Difference, _) => change_decimals(comparison),
        (_, _, mean) => mean.map_or(0, three_digits),
    }
}
