//! What the senders count, and how it adds up to a report.
//!
//! Each sender counts for itself and nothing is shared while datagrams are sent. A slice's sending
//! time runs from the earliest first call of any sender to the latest last call, plus one share at
//! the intended rate: that of the datagrams that came due up to the first call. A call goes when
//! its last datagram is due, so it stands at the *end* of the time it covers, and with full calls
//! the first call's share is the last call's. On an undisturbed schedule it is exactly the slice's
//! datagrams over the rate.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use nix::errno::Errno;
use wiretrial_contract::control::{Errors, GroupName};
use wiretrial_contract::report::{GroupTally, Quantiles, STALL_NS};
use wiretrial_contract::stamp::Class;

use crate::schedule::{Call, Schedule};

/// Longest lateness told apart, ns: an hour. A later datagram is recorded as this late; the
/// maximum is kept exactly.
const LATEST_NS: u64 = 3_600 * 1_000_000_000;

/// What became of one send call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// `CLOCK_MONOTONIC` ns when it began.
    pub begin_ns: u64,
    /// `CLOCK_MONOTONIC` ns when it returned.
    pub end_ns: u64,
    /// Datagrams it was given.
    pub given: u32,
    /// Datagrams it took, or why it refused the first.
    pub taken: Result<u32, Errno>,
}

impl Sent {
    /// Datagrams whose fate this call decided: those it took, or the one it refused.
    #[must_use]
    pub fn decided(&self) -> u32 {
        self.taken.unwrap_or(1)
    }
}

/// The counts of one sender, or of the probes, for one group.
#[derive(Debug, Clone)]
pub struct GroupCounts {
    attempted: u64,
    accepted: Vec<u64>,
    warm_up_accepted: u64,
    probe_accepted: u64,
    filler_accepted: u64,
    errors: BTreeMap<i32, u64>,
    send_calls: u64,
    short_calls: u64,
    send_call_ns: u64,
    stalled_calls: u64,
    stalled_ns: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    lateness: Histogram<u64>,
    latest_ns: u64,
}

impl GroupCounts {
    /// All at zero.
    #[must_use]
    pub fn new(flows: u16) -> Self {
        Self {
            attempted: 0,
            accepted: vec![0; usize::from(flows)],
            warm_up_accepted: 0,
            probe_accepted: 0,
            filler_accepted: 0,
            errors: BTreeMap::new(),
            send_calls: 0,
            short_calls: 0,
            send_call_ns: 0,
            stalled_calls: 0,
            stalled_ns: 0,
            first_ns: None,
            last_ns: None,
            lateness: histogram(),
            latest_ns: 0,
        }
    }

    /// One send call for `flow` ended.
    pub fn sent(&mut self, class: Class, flow: u16, call: &Sent) {
        let taken = u64::from(call.taken.unwrap_or(0));
        if let Err(errno) = call.taken {
            *self.errors.entry(errno as i32).or_default() += 1;
        }
        match class {
            Class::Counted => {
                self.attempted += u64::from(call.decided());
                self.accepted[usize::from(flow)] += taken;
                self.send_calls += 1;
                self.short_calls += u64::from(taken < u64::from(call.given));
                let inside_ns = call.end_ns.saturating_sub(call.begin_ns);
                self.send_call_ns += inside_ns;
                if inside_ns > STALL_NS {
                    self.stalled_calls += 1;
                    self.stalled_ns += inside_ns;
                }
                self.first_ns.get_or_insert(call.begin_ns);
                self.last_ns = Some(call.end_ns);
            }
            Class::WarmUp => self.warm_up_accepted += taken,
            Class::Probe => self.probe_accepted += taken,
            Class::Filler => self.filler_accepted += taken,
        }
    }

    /// A counted datagram was sent `late_ns` after its intended time.
    pub fn late(&mut self, late_ns: u64) {
        self.lateness.saturating_record(late_ns);
        self.latest_ns = self.latest_ns.max(late_ns);
    }

    fn add(&mut self, other: &Self) {
        self.attempted += other.attempted;
        for (mine, others) in self.accepted.iter_mut().zip(&other.accepted) {
            *mine += others;
        }
        self.warm_up_accepted += other.warm_up_accepted;
        self.probe_accepted += other.probe_accepted;
        self.filler_accepted += other.filler_accepted;
        for (errno, count) in &other.errors {
            *self.errors.entry(*errno).or_default() += count;
        }
        self.send_calls += other.send_calls;
        self.short_calls += other.short_calls;
        self.send_call_ns += other.send_call_ns;
        self.stalled_calls += other.stalled_calls;
        self.stalled_ns += other.stalled_ns;
        self.first_ns = [self.first_ns, other.first_ns].into_iter().flatten().min();
        self.last_ns = self.last_ns.max(other.last_ns);
        self.lateness
            .add(&other.lateness)
            .expect("all histograms have the same bounds");
        self.latest_ns = self.latest_ns.max(other.latest_ns);
    }

    fn quantiles(&self) -> Quantiles {
        // A bucket's upper edge can lie above the largest sample.
        let at = |quantile| {
            self.lateness
                .value_at_quantile(quantile)
                .min(self.latest_ns)
        };
        Quantiles {
            count: self.lateness.len(),
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            max_ns: self.latest_ns,
        }
    }
}

/// When one sender sent one slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceTimes {
    first_ns: u64,
    last_ns: u64,
    share_ns: u64,
}

impl SliceTimes {
    fn merged(self, other: Self) -> Self {
        let first = if other.first_ns < self.first_ns {
            other
        } else {
            self
        };
        Self {
            last_ns: self.last_ns.max(other.last_ns),
            ..first
        }
    }

    fn sending_ns(self) -> u64 {
        self.last_ns - self.first_ns + self.share_ns
    }
}

/// All that one sender counted.
#[derive(Debug, Clone)]
pub struct SenderTally {
    /// Counts by group.
    pub groups: Vec<GroupCounts>,
    /// Times by slice of the schedule; `None` where this sender sent nothing.
    pub slices: Vec<Option<SliceTimes>>,
    /// Shift of its schedule, ns.
    pub shifted_ns: u64,
    /// Most overdue datagrams it sent back to back.
    pub longest_burst: u64,
    /// Time it slept, ns.
    pub slept_ns: u64,
    /// From when it woke up for the common start to its end, ns.
    pub elapsed_ns: u64,
    /// CPU time of the process when it ended, ns.
    pub process_cpu_ns: u64,
    /// Times the kernel took the CPU from it; `None` when not read.
    pub involuntary_switches: Option<u64>,
}

impl SenderTally {
    /// All at zero.
    #[must_use]
    pub fn new(schedule: &Schedule) -> Self {
        Self {
            groups: schedule
                .flows
                .iter()
                .map(|f| GroupCounts::new(*f))
                .collect(),
            slices: vec![None; schedule.slices.len()],
            shifted_ns: 0,
            longest_burst: 0,
            slept_ns: 0,
            elapsed_ns: 0,
            process_cpu_ns: 0,
            involuntary_switches: None,
        }
    }

    /// A call of the schedule began at `at_ns`.
    pub fn began(&mut self, schedule: &Schedule, call: &Call, at_ns: u64) {
        match &mut self.slices[call.slice] {
            Some(times) => times.last_ns = at_ns,
            empty => {
                let up_to = call.first + u64::from(schedule.senders) * u64::from(call.count - 1);
                *empty = Some(SliceTimes {
                    first_ns: at_ns,
                    last_ns: at_ns,
                    share_ns: schedule.offset_ns(up_to + 1),
                });
            }
        }
    }

    /// Share of its time that it did not sleep, 0..=1; 1 when it had none.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share that is printed")]
    pub fn busy_share(&self) -> f64 {
        if self.elapsed_ns == 0 {
            return 1.0;
        }
        (1.0 - self.slept_ns as f64 / self.elapsed_ns as f64).clamp(0.0, 1.0)
    }
}

/// Adds the senders' counts for one group up. `probes` are the main thread's.
#[must_use]
pub fn group(
    schedule: &Schedule,
    group: usize,
    name: &GroupName,
    probes: &GroupCounts,
    senders: &[SenderTally],
) -> GroupTally {
    let mut sum = probes.clone();
    for sender in senders {
        sum.add(&sender.groups[group]);
    }
    let counted = |at: &usize| {
        let slice = &schedule.slices[*at];
        slice.group == group && slice.class == Class::Counted
    };
    let slices: Vec<usize> = (0..schedule.slices.len()).filter(counted).collect();
    let merged = |at: &usize| {
        let times = senders.iter().filter_map(|sender| sender.slices[*at]);
        times.reduce(SliceTimes::merged)
    };
    GroupTally {
        name: name.clone(),
        planned: schedule.planned(group, Class::Counted),
        attempted: sum.attempted,
        accepted: sum.accepted.iter().sum(),
        warm_up_accepted: sum.warm_up_accepted,
        probe_accepted: sum.probe_accepted,
        filler_accepted: sum.filler_accepted,
        receive_cpu_ns: None,
        errors: named(&sum.errors),
        send_calls: sum.send_calls,
        short_calls: sum.short_calls,
        send_call_ns: sum.send_call_ns,
        stalled_calls: sum.stalled_calls,
        stalled_ns: sum.stalled_ns,
        sending_ns: slices
            .iter()
            .filter_map(merged)
            .map(SliceTimes::sending_ns)
            .sum(),
        slices: slices.len() as u64,
        first_ns: sum.first_ns,
        last_ns: sum.last_ns,
        lateness: sum.quantiles(),
        accepted_per_flow: sum.accepted,
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATEST_NS, 3)
        .expect("three digits up to an hour are valid bounds")
}

fn named(errors: &BTreeMap<i32, u64>) -> Errors {
    let name = |errno: i32| match Errno::from_raw(errno) {
        Errno::UnknownErrno => format!("E{errno}"),
        known => format!("{known:?}"),
    };
    errors.iter().map(|(errno, n)| (name(*errno), *n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::tests::prepare;

    /// A tally of `sender` whose calls begin exactly when they are due.
    fn on_time(schedule: &Schedule, sender: u32, base_ns: u64) -> SenderTally {
        let mut tally = SenderTally::new(schedule);
        for call in schedule.calls(sender) {
            let at = base_ns + call.due_ns;
            tally.began(schedule, &call, at);
            for part in schedule.parts(&call) {
                let sent = Sent {
                    begin_ns: at,
                    end_ns: at + 10,
                    given: part.count,
                    taken: Ok(part.count),
                };
                tally.groups[0].sent(Class::Counted, part.flow, &sent);
            }
        }
        tally
    }

    #[test]
    fn the_sending_time_of_an_undisturbed_slice_is_its_datagrams_over_the_rate() {
        // 100 datagrams at 1 ms, in calls that do and do not divide them.
        for (senders, batch) in [(1, 1), (1, 16), (2, 1), (4, 7), (2, 100)] {
            let mut asked = prepare();
            (asked.senders, asked.batch, asked.max_burst) = (senders, batch, 2 * batch);
            let schedule = Schedule::new(&asked).unwrap();
            let tallies: Vec<_> = (0..senders).map(|k| on_time(&schedule, k, 5_000)).collect();
            let probes = GroupCounts::new(4);
            let total = group(&schedule, 0, &GroupName::Control, &probes, &tallies);
            assert_eq!(
                total.sending_ns, 100_000_000,
                "{senders} senders, batch {batch}"
            );
            assert_eq!(
                (total.planned, total.attempted, total.accepted),
                (100, 100, 100)
            );
            assert_eq!(total.accepted_per_flow, [25; 4]);
            assert_eq!(total.send_call_ns, 10 * total.send_calls);
            assert_eq!(total.slices, 1);
        }
    }

    #[test]
    fn refused_and_short_calls_are_told_apart() {
        let mut counts = GroupCounts::new(1);
        let call = |given, taken| Sent {
            begin_ns: 100,
            end_ns: 130,
            given,
            taken,
        };
        counts.sent(Class::Counted, 0, &call(4, Ok(3)));
        counts.sent(Class::Counted, 0, &call(1, Err(Errno::ENOBUFS)));
        counts.sent(Class::Counted, 0, &call(2, Ok(2)));
        counts.sent(Class::WarmUp, 0, &call(1, Err(Errno::ECONNREFUSED)));
        counts.sent(Class::WarmUp, 0, &call(7, Ok(7)));
        counts.sent(Class::Probe, 0, &call(1, Ok(1)));
        assert_eq!((counts.attempted, counts.accepted[0]), (6, 5));
        assert_eq!((counts.send_calls, counts.short_calls), (3, 2));
        assert_eq!(counts.send_call_ns, 90);
        assert_eq!((counts.warm_up_accepted, counts.probe_accepted), (7, 1));
        let expected = [("ECONNREFUSED", 1), ("ENOBUFS", 1)];
        assert_eq!(
            named(&counts.errors),
            expected.map(|(name, n)| (name.to_owned(), n)).into()
        );
        assert_eq!(named(&[(9999, 2)].into()), [("E9999".to_owned(), 2)].into());
    }

    #[test]
    fn quantiles_have_three_digits_and_an_exact_maximum() {
        let mut counts = GroupCounts::new(1);
        (1..=1_000).for_each(|us| counts.late(us * 1_000 + 1));
        let quantiles = counts.quantiles();
        assert_eq!((quantiles.count, quantiles.max_ns), (1_000, 1_000_001));
        assert!(quantiles.p50_ns.abs_diff(500_001) <= 500);
        assert!(quantiles.p99_ns.abs_diff(990_001) <= 1_000);
        counts.late(u64::MAX);
        assert_eq!(counts.quantiles().max_ns, u64::MAX);
        assert_eq!(GroupCounts::new(1).quantiles(), Quantiles::default());
    }

    #[test]
    fn a_slice_lasts_from_the_earliest_sender_to_the_latest() {
        let times = |first_ns, last_ns, share_ns| SliceTimes {
            first_ns,
            last_ns,
            share_ns,
        };
        let (one, other) = (times(100, 700, 5), times(90, 500, 7));
        assert_eq!(one.merged(other), times(90, 700, 7));
        assert_eq!(other.merged(one), times(90, 700, 7));
        assert_eq!(one.merged(other).sending_ns(), 617);
    }

    #[test]
    fn what_was_never_sent_has_no_times() {
        let schedule = Schedule::new(&prepare()).unwrap();
        let probes = GroupCounts::new(4);
        let idle = [SenderTally::new(&schedule)];
        let total = group(&schedule, 0, &GroupName::Control, &probes, &idle);
        assert_eq!((total.first_ns, total.last_ns), (None, None));
        assert_eq!((total.planned, total.sending_ns), (100, 0));
    }
}
