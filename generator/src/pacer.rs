//! When the next call may begin, given how late the sender is. A pure state machine.
//!
//! A call that is not yet due waits. One that is overdue goes at once, back to back with the one
//! before it; at most `max_burst` datagrams go like that. If the sender is still late then, the
//! rest of the schedule shifts by what is left: the call sent last counts as on time, and the next
//! one keeps its distance from it, and a new run begins. So every datagram is sent, no run of
//! overdue datagrams is longer than `max_burst`, and the time lost shows as the shift; a sender
//! that cannot reach the rate at all shifts after every run.
//!
//! Invariant: a call never begins before its due time.

/// The pace of one sender.
#[derive(Debug, Clone)]
pub struct Pacer {
    max_burst: u64,
    shift_ns: u64,
    run: u64,
    longest: u64,
    lateness_ns: u64,
}

impl Pacer {
    /// A sender that sends at most `max_burst` overdue datagrams back to back.
    #[must_use]
    pub fn new(max_burst: u32) -> Self {
        Self {
            max_burst: u64::from(max_burst),
            shift_ns: 0,
            run: 0,
            longest: 0,
            lateness_ns: 0,
        }
    }

    /// When the next call, of `count` datagrams and due at `due_ns` in the unshifted schedule, may
    /// begin; not after `now_ns` means at once. Call it once a call, in order.
    pub fn next(&mut self, due_ns: u64, count: u32, now_ns: u64) -> u64 {
        let mut begin = due_ns + self.shift_ns;
        if begin < now_ns && self.run + u64::from(count) > self.max_burst {
            self.shift_ns = self.lateness_ns;
            self.run = 0;
            begin = due_ns + self.shift_ns;
        }
        if begin < now_ns {
            self.run += u64::from(count);
            self.longest = self.longest.max(self.run);
        } else {
            self.run = 0;
        }
        begin
    }

    /// The call due at `due_ns` began at `at_ns`.
    pub fn began(&mut self, due_ns: u64, at_ns: u64) {
        self.lateness_ns = at_ns - due_ns;
    }

    /// By how much the schedule has shifted, ns.
    #[must_use]
    pub fn shifted_ns(&self) -> u64 {
        self.shift_ns
    }

    /// Most overdue datagrams that went back to back.
    #[must_use]
    pub fn longest_burst(&self) -> u64 {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Runs `calls` of (due, count); `cost` says how long the call with that number takes. Returns
    /// when each began.
    fn run(pacer: &mut Pacer, calls: &[(u64, u32)], cost: impl Fn(usize) -> u64) -> Vec<u64> {
        let mut now = 0;
        let mut begins = Vec::new();
        for (at, &(due, count)) in calls.iter().enumerate() {
            now = pacer.next(due, count, now).max(now);
            pacer.began(due, now);
            begins.push(now);
            now += cost(at);
        }
        begins
    }

    fn every(gap: u64, calls: u64, count: u32) -> Vec<(u64, u32)> {
        (0..calls).map(|i| (i * gap, count)).collect()
    }

    #[test]
    fn a_sender_that_keeps_up_begins_on_time() {
        let mut pacer = Pacer::new(4);
        let calls = every(100, 50, 1);
        let begins = run(&mut pacer, &calls, |_| 30);
        assert!(
            begins
                .iter()
                .zip(&calls)
                .all(|(begin, call)| *begin == call.0)
        );
        assert_eq!((pacer.shifted_ns(), pacer.longest_burst()), (0, 0));
    }

    #[test]
    fn a_stall_within_the_burst_is_caught_up() {
        let mut pacer = Pacer::new(10);
        // Call 5 takes 330: at 830 calls 6, 7, 8 are overdue, and 9 is before they have gone.
        let begins = run(&mut pacer, &every(100, 12, 1), |at| {
            if at == 5 { 330 } else { 30 }
        });
        assert_eq!(begins[5..11], [500, 830, 860, 890, 920, 1_000]);
        assert_eq!((pacer.shifted_ns(), pacer.longest_burst()), (0, 4));
    }

    #[test]
    fn a_stall_beyond_the_burst_shifts_the_rest() {
        let mut pacer = Pacer::new(3);
        // Call 0 takes 1000: calls 1, 2, 3 go at 1000, 1030, 1060; call 3 was due at 300, so the
        // rest is 760 late and keeps its gap of 100.
        let begins = run(&mut pacer, &every(100, 7, 1), |at| {
            if at == 0 { 1_000 } else { 30 }
        });
        assert_eq!(begins, [0, 1_000, 1_030, 1_060, 1_160, 1_260, 1_360]);
        assert_eq!((pacer.shifted_ns(), pacer.longest_burst()), (760, 3));
    }

    #[test]
    fn a_sender_that_is_too_slow_sends_everything_and_says_by_how_much() {
        let mut pacer = Pacer::new(8);
        let begins = run(&mut pacer, &every(100, 1_000, 4), |_| 150);
        assert_eq!(begins.last(), Some(&(999 * 150)));
        assert!(pacer.longest_burst() <= 8);
        // All of the 999 x 50 ns are shift but what one burst may hold.
        assert!((49_950 - 150..=49_950).contains(&pacer.shifted_ns()));
    }

    proptest! {
        #[test]
        fn never_early_never_more_than_a_burst_and_the_shift_never_shrinks(
            gaps in prop::collection::vec((0_u64..300, 1_u32..5, 0_u64..200), 1..300),
            stall in 0_usize..300, burst in 5_u32..40,
        ) {
            let mut pacer = Pacer::new(burst);
            let (mut due, mut now, mut run, mut longest, mut shift) = (0, 0, 0, 0, 0);
            for (at, &(gap, count, cost)) in gaps.iter().enumerate() {
                due += gap;
                let begin = pacer.next(due, count, now).max(now);
                prop_assert!(pacer.shifted_ns() >= shift);
                if pacer.shifted_ns() > shift {
                    (shift, run) = (pacer.shifted_ns(), 0);
                }
                prop_assert!(begin >= due + shift);
                run = if begin > due + shift { run + count } else { 0 };
                longest = longest.max(run);
                prop_assert!(run <= burst);
                pacer.began(due, begin);
                now = begin + cost + if at == stall { 10_000 } else { 0 };
            }
            prop_assert_eq!(pacer.longest_burst(), u64::from(longest));
        }
    }
}
