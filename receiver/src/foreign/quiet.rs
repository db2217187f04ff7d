//! When a program has nothing left to do. Pure.

use wiretrial_contract::report::RingGeometry;

/// Longest time between two samples that is asked for, ns.
pub(super) const SAMPLE_NS: u64 = 20_000_000;
/// A program that takes at least one in this many of the CPU's time is busy: 0.1 ms in 20 ms.
const BUSY_SHARE: u64 = 200;
/// Longest time a ring may keep a block to itself that is waited for, ns. libpcap's time-out of 0
/// is a time of weeks to the kernel.
const LONGEST_RETIRE_NS: u64 = 5_000_000_000;

/// Time after which a ring has handed everything over, ns; 0 for one that never does, or at once.
pub(super) fn retire_ns(ring: Option<&RingGeometry>) -> u64 {
    let ns = ring.map_or(0, |ring| u64::from(ring.retire_ms) * 1_000_000);
    if ns > LONGEST_RETIRE_NS { 0 } else { ns }
}

/// Watches two things that move while packets are on their way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quiet {
    quiet_ns: u64,
    end_ns: u64,
    moved_ns: u64,
    sampled_ns: u64,
    sink: Option<u64>,
    cpu_ns: Option<u64>,
}

impl Quiet {
    /// From `now_ns` on: over after `quiet_ns` without a move, at the latest after `limit_ns`.
    pub(super) fn new(now_ns: u64, quiet_ns: u64, limit_ns: u64) -> Self {
        Self {
            quiet_ns,
            end_ns: now_ns.saturating_add(limit_ns),
            moved_ns: now_ns,
            sampled_ns: now_ns,
            sink: None,
            cpu_ns: None,
        }
    }

    /// Takes a sample: datagrams at the sink, and the program's CPU time. What cannot be read does
    /// not move.
    pub(super) fn sample(&mut self, now_ns: u64, sink: Option<u64>, cpu_ns: Option<u64>) {
        let elapsed_ns = now_ns.saturating_sub(self.sampled_ns);
        let busy = self.cpu_ns.zip(cpu_ns).is_some_and(|(then, now)| {
            now.saturating_sub(then).saturating_mul(BUSY_SHARE) >= elapsed_ns.max(1)
        });
        let came = self.sink.zip(sink).is_some_and(|(then, now)| now != then);
        if busy || came {
            self.moved_ns = now_ns;
        }
        (self.sampled_ns, self.sink, self.cpu_ns) = (now_ns, sink, cpu_ns);
    }

    /// Whether it is over.
    pub(super) fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.end_ns || now_ns.saturating_sub(self.moved_ns) >= self.quiet_ns
    }

    /// When something moved last; the start, if nothing did.
    pub(super) fn moved_ns(&self) -> u64 {
        self.moved_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_sink_or_the_clock_may_move() {
        let mut quiet = Quiet::new(0, 100 * MS, 1000 * MS);
        quiet.sample(0, Some(7), Some(0));
        quiet.sample(20 * MS, Some(8), Some(0));
        assert_eq!(quiet.moved_ns(), 20 * MS, "a datagram");
        quiet.sample(40 * MS, Some(8), Some(MS / 10));
        assert_eq!(quiet.moved_ns(), 40 * MS, "0.1 ms in 20 ms");
        quiet.sample(60 * MS, Some(8), Some(2 * MS / 10 - 1));
        quiet.sample(100 * MS, Some(8), Some(3 * MS / 10));
        assert_eq!(quiet.moved_ns(), 40 * MS, "less");
        assert!(!quiet.is_over(139 * MS) && quiet.is_over(140 * MS));
    }

    #[test]
    fn the_limit_holds_while_it_moves_and_the_unknown_does_not_move() {
        let mut quiet = Quiet::new(0, 100, 250);
        for now_ns in [50, 100, 150, 200] {
            quiet.sample(now_ns, Some(now_ns), None);
        }
        assert!(!quiet.is_over(249) && quiet.is_over(250));
        quiet.sample(210, None, Some(5));
        assert_eq!(quiet.moved_ns(), 200);
    }

    #[test]
    fn a_ring_that_never_hands_over_is_not_waited_for() {
        let ring = |retire_ms| RingGeometry {
            version: 3,
            block_bytes: 1,
            blocks: 1,
            frame_bytes: 1,
            frames: 1,
            retire_ms,
        };
        assert_eq!(retire_ns(Some(&ring(1000))), 1000 * MS);
        assert_eq!(retire_ns(Some(&ring(u32::MAX))), 0);
        assert_eq!(retire_ns(None), 0);
    }
}
