//! Sums without rounding error, and the one place where counts become reals.
//!
//! A correctly rounded sum does not depend on the order of its terms, so permuting pairs leaves
//! every mean unchanged to the last bit.

/// A count as a real number. Exact below 2^53, which no count of pairs or packets reaches.
#[allow(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(crate) fn real(count: u64) -> f64 {
    count as f64
}

/// A length or index as a real number.
pub(crate) fn length(count: usize) -> f64 {
    real(count as u64)
}

/// The correctly rounded sum of finite values (Shewchuk's non-overlapping partial sums, 1997).
pub(crate) fn exact_sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut partials: Vec<f64> = Vec::new();
    for value in values {
        let mut carried = value;
        let mut kept = 0;
        for index in 0..partials.len() {
            let (large, small) = if carried.abs() < partials[index].abs() {
                (partials[index], carried)
            } else {
                (carried, partials[index])
            };
            let high = large + small;
            let low = small - (high - large);
            if low != 0.0 {
                partials[kept] = low;
                kept += 1;
            }
            carried = high;
        }
        partials.truncate(kept);
        partials.push(carried);
    }
    round(&partials)
}

/// Adds partial sums from the largest down and settles ties as one rounding would.
fn round(partials: &[f64]) -> f64 {
    let mut rest = partials.iter().rev().copied();
    let Some(mut high) = rest.next() else {
        return 0.0;
    };
    let mut low = 0.0;
    for value in rest.by_ref() {
        let before = high;
        high = before + value;
        low = value - (high - before);
        if low != 0.0 {
            break;
        }
    }
    if let Some(next) = rest.next()
        && ((low < 0.0 && next < 0.0) || (low > 0.0 && next > 0.0))
    {
        let doubled = low * 2.0;
        let candidate = high + doubled;
        if (candidate - high).total_cmp(&doubled).is_eq() {
            high = candidate;
        }
    }
    high
}

/// Arithmetic mean; NaN for an empty slice.
pub(crate) fn mean(values: &[f64]) -> f64 {
    exact_sum(values.iter().copied()) / length(values.len())
}

/// Sum of squared deviations from the mean.
pub(crate) fn squares(values: &[f64]) -> f64 {
    let centre = mean(values);
    exact_sum(values.iter().map(|value| (value - centre).powi(2)))
}

/// Sample standard deviation with divisor n - 1; NaN below two values.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    (squares(values) / (length(values.len()) - 1.0)).sqrt()
}

/// Median; the mean of the middle two when the count is even; NaN for an empty slice.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same(left: f64, right: f64) -> bool {
        left.total_cmp(&right).is_eq()
    }

    #[test]
    fn cancellation_keeps_every_bit() {
        assert!(same(exact_sum([1e16, 1.0, -1e16]), 1.0));
        assert!(same(exact_sum([0.1; 10]), 1.0));
        assert!(same(
            exact_sum([1.0, f64::EPSILON / 2.0, 1e-40]),
            1.0 + f64::EPSILON
        ));
    }

    #[test]
    fn medians_of_odd_even_and_empty() {
        assert!(same(median(&[3.0, 1.0, 2.0]), 2.0));
        assert!(same(median(&[4.0, 1.0, 2.0, 3.0]), 2.5));
        assert!(median(&[]).is_nan());
        assert!(deviation(&[1.0]).is_nan());
    }

    proptest! {
        #[test]
        fn order_of_terms_does_not_matter(mut values in prop::collection::vec(-1e9..1e9f64, 0..30)) {
            let forward = exact_sum(values.iter().copied());
            values.reverse();
            prop_assert!(same(forward, exact_sum(values.iter().copied())));
            values.sort_unstable_by(f64::total_cmp);
            prop_assert!(same(forward, exact_sum(values.iter().copied())));
        }
    }
}
