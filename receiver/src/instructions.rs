//! How many instructions ran in user space, by the processor's own counter (perf_event_open(2)).
//!
//! Virtual machines often have no such counter, and a kernel may refuse it
//! (`kernel.perf_event_paranoid`): then nothing is counted and nothing is claimed. A count is given
//! only where the counter was on the processor all the time; one that had to share it is an
//! estimate, and none. The kernel saves the counter at every context switch of the process, which
//! takes some time of its own.

use perf_event::events::{Event, Hardware};
use perf_event::{Builder, Counter};

/// A counter of user-space instructions. The kernel itself is not in it.
#[derive(Debug)]
pub struct Instructions(Counter);

/// The counter at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    count: u64,
    enabled_ns: u64,
    running_ns: u64,
}

impl Instructions {
    /// Counts those of the calling thread, and of every thread that it and its threads start from
    /// now on: called before any other is started, those of the process. `None` where they cannot be
    /// counted.
    #[must_use]
    pub fn of_process() -> Option<Self> {
        Self::own(Hardware::INSTRUCTIONS)
    }

    /// Counts those of the program that the calling thread starts next, from its execve(2) to its
    /// end, and of all it starts. One counter is for one program: the kernel may hand it over to the
    /// program itself, and another would find it spent. `None` where they cannot be counted.
    #[must_use]
    pub fn of_next_program() -> Option<Self> {
        Self::next_program(Hardware::INSTRUCTIONS)
    }

    fn own(event: impl Event) -> Option<Self> {
        let counter = Builder::new(event).inherit(true).enabled(true).build();
        counter.ok().map(Self)
    }

    /// Disabled here, so that nothing of this process counts; the copy that a program inherits starts
    /// with its first instruction.
    fn next_program(event: impl Event) -> Option<Self> {
        let mut builder = Builder::new(event);
        let counter = builder.inherit(true).enable_on_exec(true).build();
        counter.ok().map(Self)
    }

    /// The counter now, over all threads; `None` when it cannot be read.
    pub fn read(&mut self) -> Option<Reading> {
        let data = self.0.read_full().ok()?;
        let ns = |time: std::time::Duration| u64::try_from(time.as_nanos()).ok();
        Some(Reading {
            count: data.count(),
            enabled_ns: data.time_enabled().and_then(ns)?,
            running_ns: data.time_running().and_then(ns)?,
        })
    }
}

impl Reading {
    /// What a counter showed before it ran.
    pub const NONE: Self = Self {
        count: 0,
        enabled_ns: 0,
        running_ns: 0,
    };

    /// Instructions since `earlier`. `None` where the counter was off the processor for a part of
    /// the time, or all of it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Option<u64> {
        let enabled_ns = self.enabled_ns.checked_sub(earlier.enabled_ns)?;
        let running_ns = self.running_ns.checked_sub(earlier.running_ns)?;
        if running_ns == 0 || enabled_ns != running_ns {
            return None;
        }
        self.count.checked_sub(earlier.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_event::events::Software;
    use std::process::Command;
    use std::thread;

    /// Page faults stand in for instructions: the kernel counts them itself, and they take the same
    /// way. Where it counts nothing for us, nothing is what there is.
    fn faults(open: fn(Software) -> Option<Instructions>) -> Option<Instructions> {
        let counter = open(Software::PAGE_FAULTS);
        if counter.is_none() {
            let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
            eprintln!("skipped: no counter at kernel.perf_event_paranoid {paranoid:?}");
            assert!(Instructions::of_process().is_none());
            assert!(Instructions::of_next_program().is_none());
        }
        counter
    }

    /// Touches 64 MiB of new memory; pages are 4 KiB, or huge and few.
    fn touch() {
        let bytes = vec![1_u8; 64 << 20];
        assert_eq!(bytes.last(), Some(&1));
    }

    #[test]
    fn threads_that_are_started_later_are_counted_while_they_live_and_when_they_are_gone() {
        let Some(mut counter) = faults(Instructions::own) else {
            return;
        };
        let before = counter.read().unwrap();
        let (gate, wait) = std::sync::mpsc::channel::<()>();
        let (done, touched) = std::sync::mpsc::channel();
        let worker = thread::spawn(move || {
            touch();
            done.send(()).unwrap();
            // Until the gate is gone.
            let _ = wait.recv();
        });
        touched.recv().unwrap();
        let living = counter.read().unwrap();
        assert!(living.since(before).unwrap() >= 32);
        drop(gate);
        worker.join().unwrap();
        let gone = counter.read().unwrap();
        assert!(gone.since(before) >= living.since(before));
    }

    #[test]
    fn a_program_counts_from_its_first_instruction_and_this_process_does_not() {
        if faults(Instructions::next_program).is_none() {
            return;
        }
        let of = |program: &str, arguments: &[&str]| {
            let mut counter = faults(Instructions::next_program).unwrap();
            touch();
            thread::spawn(touch).join().unwrap();
            let before = counter.read().unwrap();
            assert_eq!((before.count, before.since(Reading::NONE)), (0, None));
            let mut command = Command::new(program);
            assert!(command.args(arguments).status().unwrap().success());
            counter.read().unwrap().since(Reading::NONE).unwrap()
        };
        let one = (0..3).map(|_| of("env", &["true"])).min().unwrap();
        assert!(one > 0);
        let alone = of("sh", &["-c", ":"]);
        let script = "for each in 1 2 3 4 5 6 7 8 9 10; do env true; done";
        let with_children = of("sh", &["-c", script]);
        assert!(
            with_children > alone + 5 * one,
            "{with_children} {alone} {one}"
        );
    }

    #[test]
    fn a_counter_that_shared_the_processor_or_never_ran_says_nothing() {
        let at = |count, enabled_ns, running_ns| Reading {
            count,
            enabled_ns,
            running_ns,
        };
        let first = at(100, 50, 40);
        assert_eq!(at(350, 60, 50).since(first), Some(250));
        assert_eq!(at(350, 61, 50).since(first), None);
        assert_eq!(at(100, 50, 40).since(first), None);
        assert_eq!(at(100, 60, 40).since(first), None);
        assert_eq!(at(90, 60, 50).since(first), None);
    }
}
