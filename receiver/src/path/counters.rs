//! libpcap's 32-bit counters as totals from a start on.

use wiretrial_capture::source::Counters;
use wiretrial_contract::report::PcapCounters;

/// Totals that grow by the difference of two readings, so that a reading that wrapped in between
/// costs nothing as long as it wrapped once at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Totals {
    last: Counters,
    received: u64,
    dropped: u64,
    interface_dropped: u64,
}

impl Totals {
    /// Totals of nothing, from this reading on.
    pub(crate) fn from(start: Counters) -> Self {
        Self {
            last: start,
            received: 0,
            dropped: 0,
            interface_dropped: 0,
        }
    }

    /// Adds what came since the last reading.
    pub(crate) fn sample(&mut self, now: Counters) {
        let since = |now: u32, last: u32| u64::from(now.wrapping_sub(last));
        self.received += since(now.received, self.last.received);
        self.dropped += since(now.dropped, self.last.dropped);
        self.interface_dropped += since(now.interface_dropped, self.last.interface_dropped);
        self.last = now;
    }

    /// The totals. libpcap reads `ps_ifdrop` on Linux only for promiscuous captures.
    pub(crate) fn report(&self, promiscuous: bool) -> PcapCounters {
        PcapCounters {
            received: self.received,
            dropped: self.dropped,
            interface_dropped: promiscuous.then_some(self.interface_dropped),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(received: u32, dropped: u32, interface_dropped: u32) -> Counters {
        Counters {
            received,
            dropped,
            interface_dropped,
        }
    }

    #[test]
    fn readings_that_wrapped_add_up() {
        let mut totals = Totals::from(counters(u32::MAX - 9, 5, 0));
        totals.sample(counters(u32::MAX, 5, 0));
        totals.sample(counters(10, 7, 3));
        totals.sample(counters(9, 7, 3)); // a whole turn less one
        let report = totals.report(true);
        assert_eq!(report.received, 20 + u64::from(u32::MAX));
        assert_eq!(report.dropped, 2);
        assert_eq!(report.interface_dropped, Some(3));
        assert_eq!(totals.report(false).interface_dropped, None);
    }
}
