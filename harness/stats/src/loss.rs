//! The 0.1 % loss rule and what its evidence is worth.
//!
//! The rule itself is one comparison of integers. Around it stands a graded verdict over the repeats
//! at one load: a point below the limit can be luck, and losses that come in bursts carry less
//! information than their number suggests.

mod classify;
mod evidence;
mod ladder;
mod outcome;
mod repeat;

pub use classify::{Load, classify};
pub use ladder::{Ladder, Reversal, Rung, ladder};
pub use outcome::{LoadReason, LoadVerdict};
pub use repeat::{Lost, Repeat, Sender, Setting};

use crate::proportion::upper_bound_within;

/// Lost packets a thousand accepted ones may cost.
pub const LIMIT_PER_THOUSAND: u64 = 1;
/// The same limit as a share.
pub const LIMIT: f64 = 0.001;
/// Confidence of one-sided bounds.
pub const CONFIDENCE: f64 = 0.95;
/// Accepted packets below which a repeat cannot support a pass.
pub const MIN_ACCEPTED: u64 = 10_000;
/// Equal time blocks a repeat is cut into, at least.
pub const MIN_BLOCKS: usize = 20;
/// Fewer repeats make a bound `low_information`.
pub const MIN_REPEATS: usize = 5;
/// A larger dispersion makes a bound `low_information`.
pub const MAX_DISPERSION: f64 = 20.0;
/// Offered over intended load must lie within this share of 1.
pub const OFFERED_TOLERANCE: f64 = 0.01;
/// A pass from this share of the calibrated ceiling up is reported as "at least".
pub const CEILING_SHARE: f64 = 0.9;
/// Repeats at one load are not alike below this p of heterogeneity.
pub const HETEROGENEITY_P: f64 = 0.01;

/// The rule: at least one packet accepted, and lost x 1,000 <= accepted. Integers, no rounding.
#[must_use]
pub fn rule_ok(accepted: u64, lost: u64) -> bool {
    accepted > 0
        && u128::from(lost) * 1_000 <= u128::from(accepted) * u128::from(LIMIT_PER_THOUSAND)
}

/// Accepted packets needed for an upper 95 % bound of at most 0.1 % with `lost` lost ones. May be
/// real: counts divided by their dispersion.
#[must_use]
pub fn packets_needed(lost: f64) -> f64 {
    let lost = lost.max(0.0);
    let (mut low, mut high) = (lost.floor(), 4_000.0 + 2_000.0 * lost);
    while high - low > 1.0 {
        let middle = f64::midpoint(low, high).floor();
        if upper_bound_within(lost, middle, CONFIDENCE, LIMIT) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rule_reference() {
        let large = 1u64 << 60;
        for (accepted, lost, ok) in [
            (1_000, 1, true),
            (999, 1, false),
            (10_000, 10, true),
            (10_000, 11, false),
            (0, 0, false),
            (large, large / 1_000, true),
            (large, large / 1_000 + 1, false),
            (u64::MAX, u64::MAX, false),
        ] {
            assert_eq!(rule_ok(accepted, lost), ok, "{accepted} {lost}");
        }
    }

    #[test]
    fn packets_for_a_bound() {
        for (lost, packets) in [
            (0.0, 2_995.0),
            (1.0, 4_742.0),
            (2.0, 6_294.0),
            (5.0, 10_511.0),
            (10.0, 16_959.0),
            (20.0, 29_058.0),
            (50.0, 63_281.0),
        ] {
            assert!(
                (packets_needed(lost) - packets).abs() < 0.5,
                "{lost}: {}",
                packets_needed(lost)
            );
        }
    }

    proptest! {
        #[test]
        fn the_rule_is_monotone(accepted in 1u64.., lost: u64) {
            if rule_ok(accepted, lost) {
                prop_assert!(lost == 0 || rule_ok(accepted, lost - 1));
                prop_assert!(accepted == u64::MAX || rule_ok(accepted + 1, lost));
            }
        }
    }
}
