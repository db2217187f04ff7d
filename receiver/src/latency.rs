//! From the intended send of a datagram to its hand-over to the consumer.
//!
//! The intended time is that of the fixed schedule, so that a sender's delay counts as the
//! datagram's. Both times are of `CLOCK_MONOTONIC`, which means something on one host only.
//! Invariant: no quantiles are given of times of which any was negative.

use hdrhistogram::Histogram;
use wiretrial_contract::report::Quantiles;

/// Longest latency told apart, ns: an hour. A longer one is recorded as this; the maximum is kept
/// exactly.
const LONGEST_NS: u64 = 3_600 * 1_000_000_000;

/// Latencies of one trial.
#[derive(Debug)]
pub struct Latency {
    histogram: Histogram<u64>,
    longest_ns: u64,
    /// A datagram came before it was to be sent: the clocks are not one.
    negative: bool,
}

impl Default for Latency {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, 3);
        Self {
            histogram: histogram.expect("bounds and digits are constants in range"),
            longest_ns: 0,
            negative: false,
        }
    }
}

impl Latency {
    /// Forgets everything, and touches the memory so that it is not first touched in the trial.
    pub fn clear(&mut self) {
        self.histogram.reset();
        self.longest_ns = 0;
        self.negative = false;
    }

    /// A datagram that was to be sent at `intended_ns` was handed over at `handed_over_ns`, both
    /// `CLOCK_MONOTONIC`.
    #[inline]
    pub fn add(&mut self, intended_ns: u64, handed_over_ns: u64) {
        match handed_over_ns.checked_sub(intended_ns) {
            Some(ns) => {
                self.histogram.saturating_record(ns);
                self.longest_ns = self.longest_ns.max(ns);
            }
            None => self.negative = true,
        }
    }

    /// The quantiles; `None` without a datagram, and when any latency was negative.
    #[must_use]
    pub fn quantiles(&self) -> Option<Quantiles> {
        if self.negative || self.histogram.is_empty() {
            return None;
        }
        // A bucket's upper edge can lie above the largest sample.
        let at = |quantile| {
            self.histogram
                .value_at_quantile(quantile)
                .min(self.longest_ns)
        };
        Some(Quantiles {
            count: self.histogram.len(),
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            max_ns: self.longest_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_hundred() {
        let mut latency = Latency::default();
        for ns in 1..=100 {
            latency.add(1_000_000, 1_000_000 + ns);
        }
        let expected = Quantiles {
            count: 100,
            p50_ns: 50,
            p99_ns: 99,
            p999_ns: 100,
            max_ns: 100,
        };
        assert_eq!(latency.quantiles(), Some(expected));
        latency.add(0, u64::MAX);
        assert_eq!(latency.quantiles().unwrap().max_ns, u64::MAX);
        latency.clear();
        assert_eq!(latency.quantiles(), None);
    }

    #[test]
    fn one_negative_latency_leaves_none() {
        let mut latency = Latency::default();
        latency.add(10, 10);
        assert_eq!(
            latency.quantiles().map(|q| (q.count, q.max_ns)),
            Some((1, 0))
        );
        latency.add(11, 10);
        latency.add(10, 12);
        assert_eq!(latency.quantiles(), None);
    }
}
