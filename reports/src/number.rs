//! Numbers as text: thousands separators, digits by what an interval supports, percentages of
//! packets that are exact.

/// A difference with its sign and `decimals` decimals: `+4.2`, `-1,200`. What rounds to 0 has none.
#[must_use]
pub fn signed_decimal(value: f64, decimals: usize) -> String {
    let text = plain(value, decimals);
    let sign = if text.starts_with('-') || is_zero(&text) {
        ""
    } else {
        "+"
    };
    format!("{sign}{}", grouped(&text))
}

/// A positive number with two significant digits, rounded up: the text is never below the number.
#[must_use]
pub fn two_digits_up(value: f64) -> String {
    two_digits(value, |steps| (steps * (1.0 - 1e-9)).ceil())
}

/// A positive number with two significant digits, rounded to the nearest.
#[must_use]
pub fn two_digits_nearest(value: f64) -> String {
    two_digits(value, f64::round)
}

fn two_digits(value: f64, whole: impl Fn(f64) -> f64) -> String {
    if value <= 0.0 || !value.is_finite() {
        return "0".into();
    }
    let exponent = exponent(value, 1);
    let decimals = usize::try_from(1 - exponent).unwrap_or(0);
    let step = 10f64.powi(exponent - 1);
    grouped(trimmed(&plain(whole(value / step) * step, decimals)))
}

/// A p value: three digits, `< 0.0001` below that, and 1 only where it is.
#[must_use]
pub fn p_value(p: f64) -> String {
    if p < 0.0001 {
        return "< 0.0001".into();
    }
    let decimals = if p < 0.01 { 4 } else { 3 };
    trimmed(&plain(p, decimals)).to_owned()
}

/// A count with a comma every three digits: `1,200,000`.
#[must_use]
pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// A signed count with a comma every three digits.
#[must_use]
pub fn signed(value: i64) -> String {
    grouped(&value.to_string())
}

/// `value` with `decimals` decimals and a comma every three digits before the point.
#[must_use]
pub fn decimal(value: f64, decimals: usize) -> String {
    grouped(&plain(value, decimals))
}

/// A relative change (-0.895) as a signed percentage with `decimals` decimals: `-89.5 %`. What
/// rounds to 0 has no sign.
#[must_use]
pub fn change(change: f64, decimals: usize) -> String {
    let text = plain(change * 100.0, decimals);
    let sign = if text.starts_with('-') || is_zero(&text) {
        ""
    } else {
        "+"
    };
    format!("{sign}{} %", grouped(&text))
}

/// The size of a relative change without its sign. At least 10 % is whole percents, less has
/// `decimals` decimals; a change that is not the whole never reads 100 %.
#[must_use]
pub fn magnitude(change: f64, decimals: usize) -> String {
    let percent = change.abs() * 100.0;
    let first = if percent >= 9.95 { 0 } else { decimals };
    let text = (first..=MOST_DECIMALS)
        .map(|digits| plain(percent, digits))
        .find(|text| !is_whole(text) || percent >= 100.0)
        .unwrap_or_else(|| plain(percent, MOST_DECIMALS));
    format!("{} %", grouped(&text))
}

/// A declared ratio as a percentage, without needless zeros: 0.03 is `3 %`.
#[must_use]
pub fn margin(ratio: f64) -> String {
    format!("{} %", trimmed(&plain(ratio * 100.0, 6)))
}

/// A declared number without needless zeros: `369,000`, `0.5`.
#[must_use]
pub fn short(value: f64) -> String {
    grouped(trimmed(&plain(value, 6)))
}

/// A number that is held against a limit: whole from 100 up, three digits below, and more where
/// rounding would move it onto the limit or past it.
#[must_use]
pub fn against(value: f64, limit: f64) -> String {
    let least = usize::try_from(2 - exponent(value, 0)).unwrap_or(0);
    grouped(&rounded_against(value, limit, least.min(6), 6))
}

/// A relative change that is held against another, both as ratios less 1: `+15.2 %`, with more than
/// one decimal where rounding would move it onto the limit or past it.
#[must_use]
pub fn change_against(change: f64, limit: f64) -> String {
    let text = rounded_against(change * 100.0, limit * 100.0, 1, 6);
    let sign = if text.starts_with('-') || is_zero(&text) {
        ""
    } else {
        "+"
    };
    format!("{sign}{} %", grouped(&text))
}

/// `value` with the fewest decimals that leave it on its side of `limit`.
fn rounded_against(value: f64, limit: f64, least: usize, most: usize) -> String {
    let on_its_side = |text: &String| {
        text.parse::<f64>()
            .is_ok_and(|rounded| rounded.partial_cmp(&limit) == value.partial_cmp(&limit))
    };
    (least..most)
        .map(|digits| plain(value, digits))
        .find(on_its_side)
        .unwrap_or_else(|| plain(value, most))
}

/// `lost` of `accepted` as a percentage, computed in integers; `None` when nothing was accepted.
///
/// Three decimals from 0.1 % up, three significant digits below, so that a loss never reads 0. More
/// digits are added where rounding would move the number onto the 0.1 % limit or to 100 %.
#[must_use]
pub fn loss_percent(lost: u64, accepted: u64) -> Option<String> {
    if accepted == 0 {
        return None;
    }
    if lost == 0 {
        return Some("0 %".into());
    }
    let (lost, accepted) = (u128::from(lost), u128::from(accepted));
    let hides = |text: &str| {
        (lost < accepted && is_whole(text)) || (text == "0.1" && lost * 1000 != accepted)
    };
    let mut decimals = 3;
    while decimals < LOSS_DECIMALS && lost * 100 * 10_u128.pow(decimals) < 100 * accepted {
        decimals += 1;
    }
    let mut text = rounded_percent(lost, accepted, decimals);
    while decimals < LOSS_DECIMALS && hides(trimmed(&text)) {
        decimals += 1;
        text = rounded_percent(lost, accepted, decimals);
    }
    let kept = if decimals > 3 { trimmed(&text) } else { &text };
    Some(format!("{kept} %"))
}

/// An upper bound of a ratio as a percentage with two significant digits, rounded up: the text is
/// never below the bound.
#[must_use]
pub fn bound_percent(ratio: f64) -> String {
    let percent = ratio * 100.0;
    if percent <= 0.0 {
        return "0 %".into();
    }
    if percent >= 100.0 {
        return "100 %".into();
    }
    let decimals = usize::try_from(1 - exponent(percent, 1)).unwrap_or(0);
    let nearest = plain(percent, decimals);
    let low = nearest
        .parse::<f64>()
        .is_ok_and(|value| value < percent * (1.0 - 1e-9));
    let step = format!("1e-{decimals}").parse::<f64>().unwrap_or(0.0);
    let text = if low {
        plain(percent + step / 2.0, decimals)
    } else {
        nearest
    };
    format!("{} %", trimmed(&text))
}

/// Decimals that an uncertainty of `half_width` supports: down to its first digit, at most twelve.
/// Without any uncertainty it is two.
#[must_use]
pub fn decimals(half_width: f64) -> usize {
    if half_width <= 0.0 || !half_width.is_finite() {
        return 2;
    }
    usize::try_from(-exponent(half_width, 0))
        .unwrap_or(0)
        .min(DECIMALS_OF_A_VALUE)
}

/// A time in words for a header: `3.2 s`, `38 s`, `1 min 38 s`, `2 h 5 min`.
#[must_use]
pub fn duration(ns: u64) -> String {
    let tenths = ns.saturating_add(50_000_000) / 100_000_000;
    let seconds = ns.saturating_add(500_000_000) / 1_000_000_000;
    match seconds {
        0..10 => format!("{}.{} s", tenths / 10, tenths % 10),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// A time in whole seconds: `72 s`.
#[must_use]
pub fn seconds(ns: u64) -> String {
    format!(
        "{} s",
        count(ns.saturating_add(500_000_000) / 1_000_000_000)
    )
}

/// Of a percentage.
const MOST_DECIMALS: usize = 4;
/// Of a value in its unit: evidence keeps 12 significant digits.
const DECIMALS_OF_A_VALUE: usize = 12;
/// Keeps `lost * 100 * 10^decimals * 2` inside 128 bits for every 64-bit count.
const LOSS_DECIMALS: u32 = 15;

/// `100 * lost / accepted`, rounded half up in integers.
fn rounded_percent(lost: u128, accepted: u128, decimals: u32) -> String {
    let scale = 10_u128.pow(decimals);
    let value = (lost * 100 * scale * 2 + accepted) / (2 * accepted);
    let width = decimals as usize;
    format!("{}.{:0width$}", value / scale, value % scale)
}

fn plain(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if is_zero(digits) => digits.to_owned(),
        _ => text,
    }
}

/// Decimal exponent of `value` after rounding to `digits` digits behind the first.
fn exponent(value: f64, digits: usize) -> i32 {
    format!("{value:.digits$e}")
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok())
        .unwrap_or(0)
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

fn is_zero(text: &str) -> bool {
    text.chars().all(|c| matches!(c, '0' | '.' | '-'))
}

fn is_whole(text: &str) -> bool {
    trimmed(text) == "100"
}

fn grouped(text: &str) -> String {
    let (sign, digits) = text
        .strip_prefix('-')
        .map_or(("", text), |digits| ("-", digits));
    let (whole, fraction) = digits
        .find('.')
        .map_or((digits, ""), |point| digits.split_at(point));
    let mut out = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_a_sign_and_floors_are_rounded_up() {
        assert_eq!(signed_decimal(4.24, 1), "+4.2");
        assert_eq!(signed_decimal(-1_200.4, 0), "-1,200");
        assert_eq!(signed_decimal(-0.04, 1), "0.0");
        for (value, text) in [
            (4.11, "4.2"),
            (4.1, "4.1"),
            (1_240.0, "1,300"),
            (0.0301, "0.031"),
            (0.0, "0"),
            (99.6, "100"),
        ] {
            assert_eq!(two_digits_up(value), text);
        }
        for (value, text) in [
            (0.0301, "0.03"),
            (0.1113, "0.11"),
            (3.25, "3.3"),
            (0.0, "0"),
        ] {
            assert_eq!(two_digits_nearest(value), text);
        }
    }

    #[test]
    fn p_values_never_read_zero() {
        for (p, text) in [
            (1.0, "1"),
            (0.61308, "0.613"),
            (0.00216, "0.0022"),
            (5e-5, "< 0.0001"),
            (0.0, "< 0.0001"),
        ] {
            assert_eq!(p_value(p), text);
        }
    }

    /// Published pairs of accepted and delivered packets with their published percentages.
    #[test]
    fn loss_percentages_of_published_tables() {
        for (accepted, delivered, percent) in [
            (131_250, 129_433, "1.384 %"),
            (150_000, 149_308, "0.461 %"),
            (75_000, 74_758, "0.323 %"),
            (112_500, 112_341, "0.141 %"),
            (15_000, 11_296, "24.693 %"),
            (75_000, 74_791, "0.279 %"),
            (112_500, 98_194, "12.716 %"),
            (60_000, 56_707, "5.488 %"),
            (60_000, 56_159, "6.402 %"),
            (450_000, 449_991, "0.002 %"),
        ] {
            assert_eq!(
                loss_percent(accepted - delivered, accepted).as_deref(),
                Some(percent)
            );
        }
    }

    #[test]
    fn no_loss_is_rounded_to_nothing_or_to_everything() {
        assert_eq!(
            loss_percent(1, 1_000_000_000).as_deref(),
            Some("0.0000001 %")
        );
        assert_eq!(
            loss_percent(999_999_999, 1_000_000_000).as_deref(),
            Some("99.9999999 %")
        );
        assert_eq!(loss_percent(0, 10).as_deref(), Some("0 %"));
        assert_eq!(loss_percent(10, 10).as_deref(), Some("100.000 %"));
        assert_eq!(loss_percent(0, 0), None);
        assert_eq!(
            loss_percent(u64::MAX, u64::MAX).as_deref(),
            Some("100.000 %")
        );
    }

    #[test]
    fn the_limit_is_never_reached_by_rounding() {
        assert_eq!(loss_percent(1, 1000).as_deref(), Some("0.100 %"));
        assert_eq!(
            loss_percent(100_001, 100_000_000).as_deref(),
            Some("0.100001 %")
        );
        assert_eq!(
            loss_percent(99_999, 100_000_000).as_deref(),
            Some("0.099999 %")
        );
    }

    #[test]
    fn bounds_are_rounded_up() {
        // Clopper-Pearson, one-sided 95 %, nothing lost of 240,000 and of 600,000.
        assert_eq!(bound_percent(1.248_21e-5), "0.0013 %");
        assert_eq!(bound_percent(4.992_88e-6), "0.0005 %");
        assert_eq!(bound_percent(0.001), "0.1 %");
        assert_eq!(bound_percent(0.001_001), "0.11 %");
        assert_eq!(bound_percent(0.141), "15 %");
        assert_eq!(bound_percent(0.999), "100 %");
        assert_eq!(bound_percent(1.0), "100 %");
        assert_eq!(bound_percent(0.0), "0 %");
    }

    #[test]
    fn digits_follow_the_interval() {
        assert_eq!(decimals(30.0), 0);
        assert_eq!(decimals(0.3), 1);
        assert_eq!(decimals(0.096), 1);
        assert_eq!(decimals(0.004), 3);
        assert_eq!(decimals(1e-9), 9);
        assert_eq!(decimals(1e-15), 12);
        assert_eq!(decimals(0.0), 2);
    }

    #[test]
    fn changes_carry_their_sign() {
        assert_eq!(change(-0.895, 1), "-89.5 %");
        assert_eq!(change(0.0123, 1), "+1.2 %");
        assert_eq!(change(-0.000_01, 1), "0.0 %");
        assert_eq!(change(12.5, 0), "+1,250 %");
        assert_eq!(magnitude(-0.895_1, 1), "90 %");
        assert_eq!(magnitude(0.051_2, 1), "5.1 %");
        assert_eq!(magnitude(-0.9997, 1), "99.97 %");
        assert_eq!(magnitude(1.0, 1), "100 %");
        assert_eq!(margin(0.03), "3 %");
        assert_eq!(margin(0.005), "0.5 %");
    }

    #[test]
    fn a_number_does_not_round_onto_its_limit() {
        assert_eq!(short(369_000.0), "369,000");
        assert_eq!(short(0.5), "0.5");
        assert_eq!(against(371_204.2, 369_000.0), "371,204");
        assert_eq!(against(368_999.7, 369_000.0), "368,999.7");
        assert_eq!(against(369_000.0, 369_000.0), "369,000");
        assert_eq!(against(1.2345, 1.25), "1.23");
        assert_eq!(against(0.0, 1.0), "0.00");
        assert_eq!(change_against(0.1523, 0.15), "+15.2 %");
        assert_eq!(change_against(0.1499, 0.15), "+14.99 %");
        assert_eq!(change_against(-0.2, -0.2), "-20.0 %");
        assert_eq!(change_against(0.0, 0.15), "0.0 %");
    }

    #[test]
    fn thousands() {
        assert_eq!(count(1_200_000), "1,200,000");
        assert_eq!(count(999), "999");
        assert_eq!(signed(-1_000), "-1,000");
        assert_eq!(decimal(6_203.26, 1), "6,203.3");
        assert_eq!(decimal(-0.01, 1), "0.0");
    }

    #[test]
    fn times_in_words() {
        assert_eq!(duration(3_249_000_000), "3.2 s");
        assert_eq!(duration(38_000_000_000), "38 s");
        assert_eq!(duration(98_000_000_000), "1 min 38 s");
        assert_eq!(duration(7_500_000_000_000), "2 h 5 min");
        assert_eq!(seconds(72_400_000_000), "72 s");
    }
}
