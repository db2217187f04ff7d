//! Busy time of the kernel thread that receives, read where one slice ends and the next begins.
//!
//! Whichever sender enters a slice first reads, so each slice has one reading, and the time up to
//! the next one is the slice's. A reading starts [`LEAD_NS`] before the slice's first call is due,
//! while that sender spins; where it is late already, right after that call. So a reading delays no
//! call that is on time. Work of datagrams still on their way at an edge counts for the slice that
//! follows, and so does what the thread has not been charged yet: the scheduler charges a task when
//! it leaves its CPU, or at the next tick. Over many slices in drawn order both cancel out.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use wiretrial_contract::clock;
use wiretrial_contract::stamp::Class;

use crate::schedule::Schedule;

/// How long before a slice's first call is due its reading starts, ns: several times what a reading
/// takes.
pub const LEAD_NS: u64 = 10_000;
/// From the last call to the last reading, ns: time for the thread to have done its work.
const SETTLE_NS: u64 = 1_000_000;
/// Nobody has entered the slice.
const UNREAD: u64 = u64::MAX;
/// Somebody has, and its reading failed or is not done yet.
const TAKEN: u64 = u64::MAX - 1;

/// Says how long the thread has been on a CPU, ns.
pub trait BusyTime: std::fmt::Debug + Send + Sync {
    /// The time now; `None` when it cannot be read.
    fn read(&self) -> Option<u64>;
}

/// The first number of a schedstat file, held open (Documentation/scheduler/sched-stats.rst).
#[derive(Debug)]
pub struct Schedstat(File);

impl Schedstat {
    /// The one of task `pid`.
    ///
    /// # Errors
    ///
    /// The task cannot be seen from here, or this kernel keeps no schedstat.
    pub fn of(pid: u32) -> io::Result<Self> {
        File::open(format!("/proc/{pid}/schedstat")).map(Self)
    }
}

impl BusyTime for Schedstat {
    fn read(&self) -> Option<u64> {
        // One short read and no allocation: it happens between two sends.
        let mut bytes = [0; 64];
        let length = self.0.read_at(&mut bytes, 0).ok()?;
        let end = bytes[..length].iter().position(|byte| *byte == b' ')?;
        std::str::from_utf8(&bytes[..end]).ok()?.parse().ok()
    }
}

/// The readings of a schedule.
#[derive(Debug)]
pub struct Edges {
    busy: Option<Box<dyn BusyTime>>,
    slices: Vec<AtomicU64>,
    last: AtomicU64,
    senders_left: AtomicU32,
}

impl Edges {
    /// Nothing read yet; never, without `busy`.
    #[must_use]
    pub fn new(schedule: &Schedule, busy: Option<Box<dyn BusyTime>>) -> Self {
        Self {
            busy,
            slices: (schedule.slices.iter())
                .map(|_| AtomicU64::new(UNREAD))
                .collect(),
            last: AtomicU64::new(UNREAD),
            senders_left: AtomicU32::new(schedule.senders),
        }
    }

    /// Whether a sender that enters `slice` now is to read.
    #[must_use]
    pub fn wanted(&self, slice: usize) -> bool {
        self.busy.is_some() && self.slices[slice].load(Ordering::Relaxed) == UNREAD
    }

    /// Reads at the start of `slice`, unless somebody did.
    pub fn entered(&self, slice: usize) {
        self.take(&self.slices[slice]);
    }

    /// A sender has made its last call. The last of them waits a little and reads.
    pub fn left(&self) {
        let last = self.senders_left.fetch_sub(1, Ordering::AcqRel) == 1;
        if last && self.busy.is_some() {
            clock::sleep_until(clock::monotonic_ns() + SETTLE_NS);
            self.take(&self.last);
        }
    }

    fn take(&self, reading: &AtomicU64) {
        let Some(busy) = &self.busy else { return };
        let first = reading.compare_exchange(UNREAD, TAKEN, Ordering::Relaxed, Ordering::Relaxed);
        if first.is_ok()
            && let Some(ns) = busy.read()
        {
            reading.store(ns.min(TAKEN), Ordering::Release);
        }
    }

    /// Busy time in the counted slices of `group`, ns; `None` when a reading of one is missing.
    /// Slices that nobody entered, since sending was stopped, have none and need none.
    #[must_use]
    pub fn of_group(&self, schedule: &Schedule, group: usize) -> Option<u64> {
        self.busy.as_ref()?;
        let read = |reading: &AtomicU64| reading.load(Ordering::Acquire);
        let entered = |at: usize| {
            let reading = read(&self.slices[at]);
            (reading != UNREAD).then_some(reading)
        };
        let known = |reading: u64| (reading < TAKEN).then_some(reading);
        let mut sum = 0;
        for (at, slice) in schedule.slices.iter().enumerate() {
            let Some(begin) = entered(at) else { continue };
            if slice.group == group && slice.class == Class::Counted {
                let next = (at + 1..schedule.slices.len()).find_map(entered);
                let end = known(next.unwrap_or_else(|| read(&self.last)))?;
                sum += end.checked_sub(known(begin)?)?;
            }
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::tests::{group, prepare};
    use nix::sys::memfd::{MFdFlags, memfd_create};
    use std::sync::Mutex;
    use wiretrial_contract::control::{GeneratorPrepare, Slice};

    /// Gives its numbers one after the other, then nothing.
    #[derive(Debug)]
    struct Script(Mutex<Vec<Option<u64>>>);

    impl BusyTime for Script {
        fn read(&self) -> Option<u64> {
            self.0.lock().unwrap().pop()?
        }
    }

    /// Slices a (warm-up), a, b, a, b of 10 ms each.
    fn schedule(senders: u32) -> Schedule {
        let slice = |at: u64, class| Slice {
            start_ns: at * 10_000_000,
            packets: 10,
            class,
        };
        let mut groups = vec![group("a", 1_000, 0), group("b", 2_000, 0)];
        groups[0].slices = vec![
            slice(0, Class::WarmUp),
            slice(1, Class::Counted),
            slice(3, Class::Counted),
        ];
        groups[1].slices = vec![slice(2, Class::Counted), slice(4, Class::Counted)];
        Schedule::new(&GeneratorPrepare {
            groups,
            senders,
            ..prepare()
        })
        .unwrap()
    }

    fn edges(schedule: &Schedule, readings: &[Option<u64>]) -> Edges {
        let readings = readings.iter().rev().copied().collect();
        Edges::new(schedule, Some(Box::new(Script(Mutex::new(readings)))))
    }

    #[test]
    fn time_between_edges_belongs_to_the_slice_before() {
        let schedule = schedule(1);
        let readings = [5, 100, 300, 1_300, 1_350, 1_350].map(Some);
        let edges = edges(&schedule, &readings);
        for slice in 0..5 {
            assert!(edges.wanted(slice));
            edges.entered(slice);
            assert!(!edges.wanted(slice));
        }
        edges.left();
        // a: 100..300 and 1300..1350; b: 300..1300 and 1350..1350. The warm-up is nobody's.
        assert_eq!(edges.of_group(&schedule, 0), Some(250));
        assert_eq!(edges.of_group(&schedule, 1), Some(1_000));
    }

    #[test]
    fn the_first_sender_in_reads_and_the_last_one_out() {
        let schedule = schedule(2);
        let edges = edges(&schedule, &[0, 10, 30, 70, 150, 310].map(Some));
        for slice in 0..5 {
            edges.entered(slice);
            edges.entered(slice);
        }
        edges.left();
        assert_eq!(edges.of_group(&schedule, 1), None, "somebody still sends");
        edges.left();
        assert_eq!(edges.of_group(&schedule, 0), Some(20 + 80));
        assert_eq!(edges.of_group(&schedule, 1), Some(40 + 160));
    }

    #[test]
    fn a_failed_reading_makes_both_its_groups_unknown() {
        let schedule = schedule(1);
        let readings = [Some(0), Some(10), Some(30), Some(40), None, Some(90)];
        let edges = edges(&schedule, &readings);
        (0..5).for_each(|slice| edges.entered(slice));
        edges.left();
        assert_eq!(edges.of_group(&schedule, 0), None);
        assert_eq!(edges.of_group(&schedule, 1), None);
    }

    #[test]
    fn slices_after_a_stop_are_left_out() {
        let schedule = schedule(1);
        let edges = edges(&schedule, &[0, 10, 30, 45].map(Some));
        (0..3).for_each(|slice| edges.entered(slice));
        edges.left();
        assert_eq!(edges.of_group(&schedule, 0), Some(20));
        assert_eq!(edges.of_group(&schedule, 1), Some(15));
    }

    #[test]
    fn without_a_thread_nothing_is_known() {
        let schedule = schedule(1);
        let edges = Edges::new(&schedule, None);
        assert!(!edges.wanted(0));
        edges.entered(0);
        edges.left();
        assert_eq!(edges.of_group(&schedule, 0), None);
        assert!(Schedstat::of(u32::MAX).is_err());
    }

    #[test]
    fn a_schedstat_is_its_first_number() {
        let own = Schedstat::of(std::process::id()).unwrap();
        // Every task has run before it reads anything.
        assert!(own.read().is_some());
        let file = memfd_create("schedstat", MFdFlags::MFD_CLOEXEC).unwrap();
        let other = Schedstat(File::from(file));
        assert_eq!(other.read(), None);
        other.0.write_at(b"123456 7 8\n", 0).unwrap();
        assert_eq!(other.read(), Some(123_456));
        other.0.write_at(b"12x", 0).unwrap();
        assert_eq!(other.read(), None);
    }
}
