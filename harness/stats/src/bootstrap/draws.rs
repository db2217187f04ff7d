//! The statistic of every resample, put in order only as far as somebody asks.
//!
//! Limits are read near both ends, so a full sort would order the nineteen twentieths in the middle
//! for nothing. Each question settles the end it falls into, by selection (Hoare, 1961) and a sort
//! of what lies beyond; what is settled stays. Ask for the innermost quantile first.

/// Resampled statistics.
#[derive(Debug, Clone, PartialEq)]
pub struct Draws {
    values: Vec<f64>,
    /// Values at the start that stand where sorting would put them.
    low: usize,
    /// The same at the end.
    high: usize,
}

impl Draws {
    /// Takes the statistics in any order.
    #[must_use]
    pub const fn new(values: Vec<f64>) -> Self {
        Self {
            values,
            low: 0,
            high: 0,
        }
    }

    /// Number of statistics.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The statistics, in no particular order.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Quantile by linear interpolation at (count - 1) p: type 7 of Hyndman and Fan (1996), the
    /// default of R and `NumPy`. NaN without values or for p outside 0..=1.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the position lies between 0 and the last index"
    )]
    pub fn quantile(&mut self, p: f64) -> f64 {
        let Some(last) = self.values.len().checked_sub(1) else {
            return f64::NAN;
        };
        if !(0.0..=1.0).contains(&p) {
            return f64::NAN;
        }
        let position = crate::sum::length(last) * p;
        let below = position.floor() as usize;
        let next = last.min(below + 1);
        self.settle(below, next);
        let low = self.values[below];
        low + (position - position.floor()) * (self.values[next] - low)
    }

    /// Puts the values of ranks `from` and `to`, neighbours or one, where sorting would.
    fn settle(&mut self, from: usize, to: usize) {
        let (count, end) = (self.values.len(), self.values.len() - self.high);
        if to < self.low || from >= end || self.low == end {
            return;
        }
        if from < count / 2 {
            let open = &mut self.values[self.low..end];
            let rank = to.min(end - 1) - self.low;
            let (beyond, _, _) = open.select_nth_unstable_by(rank, f64::total_cmp);
            beyond.sort_unstable_by(f64::total_cmp);
            self.low += rank + 1;
        } else {
            let rank = from.max(self.low) - self.low;
            let open = &mut self.values[self.low..end];
            let (_, _, beyond) = open.select_nth_unstable_by(rank, f64::total_cmp);
            beyond.sort_unstable_by(f64::total_cmp);
            self.high = count - self.low - rank;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn type_seven_by_hand() {
        let mut values = Draws::new(vec![8.0, 1.0, 4.0, 2.0]);
        assert!((values.quantile(0.5) - 3.0).abs() < 1e-15);
        assert!((values.quantile(0.9) - 6.8).abs() < 1e-12);
        assert!((values.quantile(1.0) - 8.0).abs() < 1e-15);
        assert!((Draws::new(vec![5.0]).quantile(0.3) - 5.0).abs() < 1e-15);
        assert!(Draws::new(Vec::new()).quantile(0.5).is_nan() && values.quantile(1.1).is_nan());
    }

    proptest! {
        #[test]
        fn any_questions_in_any_order_read_as_from_sorted_values(
            values in prop::collection::vec(-9i32..9, 1..60),
            questions in prop::collection::vec(0.0..=1.0f64, 1..12),
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let mut sorted = values.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            // in order from the start, so that nothing is left to settle
            let mut whole = Draws { low: sorted.len(), high: 0, values: sorted };
            let mut draws = Draws::new(values);
            for p in questions {
                let (left, right) = (draws.quantile(p), whole.quantile(p));
                prop_assert!(left.total_cmp(&right).is_eq(), "{} {} {}", p, left, right);
            }
        }
    }
}
