//! What every sender sends and when it is due. Pure arithmetic, no clock.
//!
//! Datagram `i` of a slice is due `start + i / rate` after the common start, in ns rounded down
//! once from an exact product; it is never a sum, so nothing drifts. It belongs to flow
//! `i mod flows`. Sender `k` of `S` owns the flows with `flow mod S = k`; since the number of flows
//! is a multiple of `S`, its datagrams are those with `i mod S = k`.
//!
//! A call holds up to `batch` consecutive datagrams of one sender in one slice and is due when its
//! *last* datagram is: nothing is sent early, and what a batch costs shows as lateness of the
//! others. The last call of a slice may be smaller.

use std::ops::Range;

use wiretrial_contract::control::GeneratorPrepare;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::stamp::Class;

use crate::limits;

const SECOND_NS: u128 = 1_000_000_000;

/// A checked schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// Rate inside every slice over all senders, packets per second.
    pub rate_pps: u64,
    /// Sender threads.
    pub senders: u32,
    /// Datagrams a call at most.
    pub batch: u32,
    /// Flows of each group.
    pub flows: Vec<u16>,
    /// The slices of all groups, by start.
    pub slices: Vec<PlannedSlice>,
}

/// A slice and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedSlice {
    /// Index of its group.
    pub group: usize,
    /// When datagram 0 is due, ns from the common start.
    pub start_ns: u64,
    /// Datagrams over all flows.
    pub packets: u64,
    /// Warm-up or counted.
    pub class: Class,
}

/// The datagrams of one sender that go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Index of its slice.
    pub slice: usize,
    /// Number of its first datagram in the slice.
    pub first: u64,
    /// Datagrams in it; each is `senders` after the one before.
    pub count: u32,
    /// When its last datagram is due, ns from the common start.
    pub due_ns: u64,
}

/// The datagrams of one call that belong to one flow: they go through one socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The flow.
    pub flow: u16,
    /// Number of its first datagram in the slice; each is `flows` after the one before.
    pub first: u64,
    /// Datagrams in it.
    pub count: u32,
}

impl Schedule {
    /// The schedule of `prepare`.
    ///
    /// # Errors
    ///
    /// What [`limits::check`] refuses; slices of a group that are not in order, slices of any two
    /// groups that overlap, and a schedule longer than [`limits::MAX_DURATION_NS`].
    pub fn new(prepare: &GeneratorPrepare) -> Result<Self, Failure> {
        limits::check(prepare)?;
        let mut slices = Vec::new();
        for (group, of) in prepare.groups.iter().enumerate() {
            slices.extend(of.slices.iter().map(|slice| PlannedSlice {
                group,
                start_ns: slice.start_ns,
                packets: slice.packets,
                class: slice.class,
            }));
            if !of.slices.is_sorted_by_key(|slice| slice.start_ns) {
                return Err(Failure::usage(format!(
                    "{}: its slices are not in the order of their starts",
                    limits::name(&of.name)
                )));
            }
        }
        slices.sort_by_key(|slice| slice.start_ns);
        for two in slices.windows(2) {
            if u128::from(two[1].start_ns) < two[0].end_ns(prepare.rate_pps) {
                let name = |slice: &PlannedSlice| limits::name(&prepare.groups[slice.group].name);
                return Err(Failure::usage(format!(
                    "the slice of {} at {} ns overlaps the slice of {} at {} ns, which lasts {} ns",
                    name(&two[1]),
                    two[1].start_ns,
                    name(&two[0]),
                    two[0].start_ns,
                    offset_ns(two[0].packets, prepare.rate_pps)
                )));
            }
        }
        let length = slices
            .iter()
            .map(|slice| slice.end_ns(prepare.rate_pps))
            .max();
        if let Some(length) = length.filter(|ns| *ns > u128::from(limits::MAX_DURATION_NS)) {
            return Err(limits::too_long(length));
        }
        Ok(Self {
            rate_pps: prepare.rate_pps,
            senders: prepare.senders,
            batch: prepare.batch,
            flows: prepare
                .groups
                .iter()
                .map(|group| group.source_ports.count)
                .collect(),
            slices,
        })
    }

    /// From the common start to the end of the last slice, ns.
    ///
    /// # Panics
    ///
    /// When this did not come from [`Schedule::new`].
    #[must_use]
    pub fn length_ns(&self) -> u64 {
        let ends = self.slices.iter().map(|slice| slice.end_ns(self.rate_pps));
        u64::try_from(ends.max().unwrap_or(0)).expect("a checked schedule ends within a day or so")
    }

    /// Datagrams of `class` planned for `group`.
    #[must_use]
    pub fn planned(&self, group: usize, class: Class) -> u64 {
        let mine = |slice: &&PlannedSlice| slice.group == group && slice.class == class;
        self.slices.iter().filter(mine).map(|s| s.packets).sum()
    }

    /// When datagram `i` of `slice` is due, ns from the common start.
    ///
    /// # Panics
    ///
    /// When this did not come from [`Schedule::new`].
    #[must_use]
    pub fn due_ns(&self, slice: usize, i: u64) -> u64 {
        self.slices[slice].start_ns + self.offset_ns(i)
    }

    /// Time that `packets` datagrams take at the intended rate, ns, rounded down.
    ///
    /// # Panics
    ///
    /// When this did not come from [`Schedule::new`].
    #[must_use]
    pub fn offset_ns(&self, packets: u64) -> u64 {
        u64::try_from(offset_ns(packets, self.rate_pps))
            .expect("a checked schedule is shorter than 584 years")
    }

    /// The calls of `sender`, in the order in which they are due.
    ///
    /// # Panics
    ///
    /// When this did not come from [`Schedule::new`].
    pub fn calls(&self, sender: u32) -> impl Iterator<Item = Call> + '_ {
        let step = u64::from(self.senders);
        let batch = u64::from(self.batch);
        (0..self.slices.len()).flat_map(move |slice| {
            let packets = self.slices[slice].packets;
            let mine = packets.saturating_sub(u64::from(sender)).div_ceil(step);
            (0..mine.div_ceil(batch)).map(move |call| {
                let begin = call * batch;
                let count = batch.min(mine - begin);
                let first = u64::from(sender) + step * begin;
                Call {
                    slice,
                    first,
                    count: u32::try_from(count).expect("at most a batch"),
                    due_ns: self.due_ns(slice, first + step * (count - 1)),
                }
            })
        })
    }

    /// A call's datagrams by flow, in the order of their first one.
    ///
    /// # Panics
    ///
    /// When this did not come from [`Schedule::new`].
    pub fn parts(&self, call: &Call) -> impl Iterator<Item = Part> + use<> {
        let flows = u64::from(self.flows[self.slices[call.slice].group]);
        let step = u64::from(self.senders);
        let own = u32::try_from(flows / step).expect("at most 1024 flows");
        let (first, count) = (call.first, call.count);
        (0..own.min(count)).map(move |part| {
            let first = first + step * u64::from(part);
            Part {
                flow: u16::try_from(first % flows).expect("at most 1024 flows"),
                first,
                count: (count - part).div_ceil(own),
            }
        })
    }
}

impl PlannedSlice {
    fn end_ns(&self, rate_pps: u64) -> u128 {
        u128::from(self.start_ns) + offset_ns(self.packets, rate_pps)
    }
}

fn offset_ns(packets: u64, rate_pps: u64) -> u128 {
    u128::from(packets) * SECOND_NS / u128::from(rate_pps)
}

/// The next sequence number of every flow and class of one group; each runs from 0 through all
/// slices. A number is used once, whatever becomes of its datagram.
#[derive(Debug, Clone)]
pub struct Numbers {
    next: Vec<[u64; Class::ALL.len()]>,
}

impl Numbers {
    /// All at 0.
    #[must_use]
    pub fn new(flows: u16) -> Self {
        Self {
            next: vec![[0; Class::ALL.len()]; usize::from(flows)],
        }
    }

    /// The next `count` numbers of `flow` and `class`.
    pub fn take(&mut self, flow: u16, class: Class, count: u32) -> Range<u64> {
        let next = &mut self.next[usize::from(flow)][class as usize];
        let first = *next;
        *next += u64::from(count);
        first..*next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::tests::{group, prepare};
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use wiretrial_contract::control::Slice;

    fn slice(start_ns: u64, packets: u64, class: Class) -> Slice {
        Slice {
            start_ns,
            packets,
            class,
        }
    }

    fn failure(prepare: &GeneratorPrepare) -> String {
        let failure = Schedule::new(prepare).unwrap_err();
        assert_eq!(failure.code, 2);
        failure.message
    }

    #[test]
    fn due_times_do_not_drift_over_a_billion_packets() {
        let mut asked = prepare();
        asked.rate_pps = 300_000;
        asked.groups[0].slices[0].packets = 1_000_000_001;
        asked.groups[0].slices[0].start_ns = 7;
        let schedule = Schedule::new(&asked).unwrap();
        // 1e9 / 3e5 s = 3333.333333333 s; a sum of 3333 ns steps would be 0.33 s short.
        assert_eq!(schedule.due_ns(0, 1_000_000_000), 3_333_333_333_333 + 7);
        assert_eq!(schedule.due_ns(0, 300_000_000), 1_000_000_000_000 + 7);
        assert_eq!(schedule.due_ns(0, 1), 3_333 + 7);
        assert_eq!(schedule.length_ns(), 3_333_333_336_666 + 7);
    }

    #[test]
    fn calls_and_parts_worked_by_hand() {
        let mut asked = prepare();
        asked.senders = 2;
        asked.batch = 3;
        asked.max_burst = 6;
        asked.groups[0].slices[0].packets = 9;
        let schedule = Schedule::new(&asked).unwrap();
        // Sender 1 of 2 with 9 datagrams at 1 ms: 1 3 5 | 7; its flows are 1 and 3 of 4.
        let calls: Vec<Call> = schedule.calls(1).collect();
        let call = |first, count, ms: u64| Call {
            slice: 0,
            first,
            count,
            due_ns: ms * 1_000_000,
        };
        assert_eq!(calls, [call(1, 3, 5), call(7, 1, 7)]);
        let part = |flow, first, count| Part { flow, first, count };
        assert!(schedule.parts(&calls[0]).eq([part(1, 1, 2), part(3, 3, 1)]));
        assert!(schedule.parts(&calls[1]).eq([part(3, 7, 1)]));
    }

    #[test]
    fn slices_that_overlap_are_refused_and_touching_ones_are_not() {
        let mut asked = prepare();
        asked.groups.push(group("b", 50_000, 100_000_000));
        assert!(Schedule::new(&asked).is_ok());
        asked.groups[1].slices[0].start_ns -= 1;
        assert_eq!(
            failure(&asked),
            "the slice of group b at 99999999 ns overlaps the slice of group a at 0 ns, which \
             lasts 100000000 ns"
        );
    }

    #[test]
    fn slices_out_of_order_and_endless_ones_are_refused() {
        let mut asked = prepare();
        asked.groups[0].slices = vec![
            slice(1_000_000_000, 1, Class::Counted),
            slice(0, 1, Class::WarmUp),
        ];
        assert!(failure(&asked).contains("not in the order"));
        asked.groups[0].slices = vec![slice(u64::MAX, 1, Class::Counted)];
        assert!(failure(&asked).contains("over the generator's cap of 86400s"));
    }

    #[test]
    fn the_numbers_of_classes_are_separate_and_run_on() {
        let mut numbers = Numbers::new(2);
        assert_eq!(numbers.take(1, Class::WarmUp, 3), 0..3);
        assert_eq!(numbers.take(1, Class::Counted, 2), 0..2);
        assert_eq!(numbers.take(1, Class::Counted, 2), 2..4);
        assert_eq!(numbers.take(0, Class::Counted, 1), 0..1);
        assert_eq!(numbers.take(1, Class::WarmUp, 1), 3..4);
    }

    proptest! {
        #[test]
        fn the_senders_together_send_every_planned_datagram_once_and_none_is_due_early(
            senders in 1_u32..5, own in 1_u16..4, batch in 1_u32..20, rate_pps in 1_u64..3_000_000,
            plan in prop::collection::vec((1_u64..200, 0_u64..2, any::<bool>()), 1..8),
        ) {
            let flows = own * u16::try_from(senders).unwrap();
            let mut asked = prepare();
            (asked.senders, asked.batch, asked.rate_pps) = (senders, batch, rate_pps);
            asked.max_burst = 2 * batch;
            asked.groups = vec![group("a", 1_000, 0), group("b", 2_000, 0)];
            let mut start = 0;
            for group in &mut asked.groups {
                group.slices.clear();
                group.source_ports.count = flows;
            }
            for (at, &(packets, gap, warm)) in plan.iter().enumerate() {
                // Both groups get a slice, whatever the length of the plan.
                for group in [at % 2, 1 - at % 2] {
                    let class = if warm { Class::WarmUp } else { Class::Counted };
                    asked.groups[group].slices.push(slice(start, packets, class));
                    start += u64::try_from(offset_ns(packets, rate_pps)).unwrap() + gap;
                }
            }
            let schedule = Schedule::new(&asked).unwrap();
            let mut seen: BTreeMap<(usize, usize, u16), Vec<u64>> = BTreeMap::new();
            let mut sent = vec![0_u64; schedule.slices.len()];
            for sender in 0..senders {
                let mut numbers = [Numbers::new(flows), Numbers::new(flows)];
                let mut last_due = 0;
                for call in schedule.calls(sender) {
                    prop_assert!(call.due_ns >= last_due);
                    last_due = call.due_ns;
                    prop_assert!((1..=batch).contains(&call.count));
                    let of = schedule.slices[call.slice];
                    let mut in_parts = 0;
                    for part in schedule.parts(&call) {
                        prop_assert_eq!(u32::from(part.flow) % senders, sender);
                        for m in 0..u64::from(part.count) {
                            let i = part.first + u64::from(flows) * m;
                            prop_assert!(i < of.packets);
                            prop_assert_eq!(i % u64::from(flows), u64::from(part.flow));
                            prop_assert!(schedule.due_ns(call.slice, i) <= call.due_ns);
                        }
                        in_parts += part.count;
                        let taken = numbers[of.group].take(part.flow, of.class, part.count);
                        seen.entry((of.group, of.class as usize, part.flow)).or_default().extend(taken);
                    }
                    prop_assert_eq!(in_parts, call.count);
                    sent[call.slice] += u64::from(call.count);
                }
            }
            for (sent, slice) in sent.iter().zip(&schedule.slices) {
                prop_assert_eq!(*sent, slice.packets);
            }
            for numbers in seen.values() {
                prop_assert!(numbers.iter().copied().eq(0..numbers.len() as u64));
            }
            for group in 0..2 {
                for class in [Class::WarmUp, Class::Counted] {
                    let of = seen.iter().filter(|((g, c, _), _)| (*g, *c) == (group, class as usize));
                    let total: usize = of.map(|(_, numbers)| numbers.len()).sum();
                    prop_assert_eq!(total as u64, schedule.planned(group, class));
                }
            }
        }
    }
}
