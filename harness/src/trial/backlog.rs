//! Whether a receiver fell behind: a big ring hides a consumer that is too slow until it overflows.

use wiretrial_contract::plan::{ReceiverSpec, Traffic};
use wiretrial_contract::report::{ReceiverReport, Residence};

/// Time beyond the capture's own timeout in which a healthy consumer has everything, ns.
const SLACK_NS: u64 = 10_000_000;

/// Whether the receiver still owed more than a healthy one can when the last counted datagram was
/// sent, or frames stayed longer and longer in its ring.
#[must_use]
pub fn grows(
    traffic: &Traffic,
    receiver: &ReceiverSpec,
    accepted: u64,
    seen: &ReceiverReport,
) -> bool {
    let in_flight = u128::from(traffic.rate_pps)
        * u128::from(receiver.timeout_ns().unwrap_or(0) + SLACK_NS)
        / 1_000_000_000;
    let allowed = in_flight.max(u128::from(accepted / 1000));
    seen.owed_at_stop
        .is_some_and(|owed| u128::from(owed) > allowed)
        || residence_grows(&seen.residence)
}

/// From the second to the last tenth by more than 20 % and more than 10 ms.
fn residence_grows(twentieths: &[Residence]) -> bool {
    let tenth = |first: usize| -> Option<u64> {
        let part = twentieths.get(first..first + 2)?;
        let count: u128 = part.iter().map(|r| u128::from(r.count)).sum();
        let total: u128 = part
            .iter()
            .map(|r| u128::from(r.mean_ns) * u128::from(r.count))
            .sum();
        u64::try_from(total.checked_div(count)?).ok()
    };
    let (Some(second), Some(last)) = (tenth(2), tenth(18)) else {
        return false;
    };
    last.saturating_sub(second) > (second / 5).max(SLACK_NS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::samples;

    fn with(owed: u64, residence: Vec<Residence>) -> bool {
        let seen = ReceiverReport {
            owed_at_stop: Some(owed),
            residence,
            ..samples::receiver()
        };
        grows(&samples::traffic(), &samples::spec(), 20_000, &seen)
    }

    fn steps(second_ns: u64, last_ns: u64) -> Vec<Residence> {
        (0..20)
            .map(|i| Residence {
                count: 1000,
                mean_ns: if i < 10 { second_ns } else { last_ns },
                max_ns: 0,
            })
            .collect()
    }

    #[test]
    fn a_block_in_flight_is_not_a_backlog() {
        // 20 kpps for 10 ms of timeout and 10 ms of slack: 400.
        assert!(!with(400, vec![]));
        assert!(with(401, vec![]));
    }

    #[test]
    fn residence_must_grow_by_a_fifth_and_by_ten_milliseconds() {
        assert!(!with(0, steps(5_000_000, 15_000_000)));
        assert!(with(0, steps(5_000_000, 15_000_001)));
        assert!(!with(0, steps(100_000_000, 119_000_000)));
        assert!(with(0, steps(100_000_000, 121_000_000)));
    }

    #[test]
    fn without_frames_in_a_tenth_nothing_is_said() {
        let mut residence = steps(1, 50_000_000);
        residence[18].count = 0;
        residence[19].count = 0;
        assert!(!with(0, residence));
    }
}
