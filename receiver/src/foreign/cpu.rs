//! The CPU time of a program, and whether one clock has all of it.

use nix::unistd::{Pid, getpid};
use wiretrial_contract::clock;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::report::CpuClock;

use super::cgroup::Cgroup;
use super::tree::{self, Stat};

/// Reads the clock of one process, and of a control group where there is one.
#[derive(Debug)]
pub(super) struct Meter {
    name: String,
    pid: Pid,
    group: Option<Cgroup>,
    forked: bool,
}

/// The clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    process_ns: Option<u64>,
    group_ns: Option<u64>,
    waited_faults: Option<u64>,
}

impl Meter {
    /// A meter of process `pid`, which was started into `group`; a group it is not in is no use.
    pub(super) fn new(name: String, pid: Pid, group: Option<Cgroup>) -> Self {
        Self {
            name,
            pid,
            group: group.filter(|group| group.holds(pid)),
            forked: false,
        }
    }

    /// The clocks now.
    pub(super) fn read(&self) -> Reading {
        Reading {
            process_ns: clock::cpu_ns_of(self.pid),
            group_ns: self.group.as_ref().and_then(Cgroup::usage_ns),
            waited_faults: Stat::of(self.pid).map(|stat| stat.waited_faults),
        }
    }

    /// Looks for processes that the program has started and that live, or lived since `start`,
    /// wherever they went.
    ///
    /// # Errors
    ///
    /// A host failure when there are any and no group sums them.
    pub(super) fn look(&mut self, start: &Reading) -> Result<(), Failure> {
        self.judge(start, others)
    }

    /// The same below the program itself only: cheap enough to be done while it is measured.
    ///
    /// # Errors
    ///
    /// As [`Meter::look`].
    pub(super) fn glance(&mut self, start: &Reading) -> Result<(), Failure> {
        self.judge(start, tree::below)
    }

    fn judge(&mut self, start: &Reading, find: fn(Pid) -> Vec<Pid>) -> Result<(), Failure> {
        if self.forked {
            return Ok(());
        }
        let other = find(self.pid).into_iter().next();
        let gone = Stat::of(self.pid)
            .map(|stat| stat.waited_faults)
            .zip(start.waited_faults)
            .is_some_and(|(now, then)| now > then);
        self.forked = other.is_some() || gone;
        if self.forked && self.group.is_none() {
            let what = other.map_or_else(
                || "another process that has ended".into(),
                |pid| describe(pid).unwrap_or_else(|| format!("pid {pid}")),
            );
            return Err(Failure::host(format!(
                "unsupported: forks: {} has started {what}, and no one clock has the CPU time of \
                 both; keep it one process, or run as root, where a control group can sum them",
                self.name
            )));
        }
        Ok(())
    }

    /// Which clock counts.
    pub(super) fn clock(&self) -> CpuClock {
        match self.forked {
            true => CpuClock::Cgroup,
            false => CpuClock::Process,
        }
    }

    /// CPU time of a reading on the clock that counts, ns.
    pub(super) fn time_ns(&self, reading: &Reading) -> Option<u64> {
        match self.clock() {
            CpuClock::Process => reading.process_ns,
            CpuClock::Cgroup => reading.group_ns,
        }
    }

    /// CPU time between two readings, ns.
    pub(super) fn between_ns(&self, from: &Reading, to: &Reading) -> Option<u64> {
        self.time_ns(to)?.checked_sub(self.time_ns(from)?)
    }
}

/// Processes below this one beside `program`.
pub(super) fn others(program: Pid) -> Vec<Pid> {
    let mut all = tree::below(getpid());
    all.retain(|pid| *pid != program);
    all
}

/// A process for a sentence: `pid 12 (sleep)`.
pub(super) fn describe(pid: Pid) -> Option<String> {
    Some(format!("pid {pid} ({})", Stat::of(pid)?.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(process_ns: u64, group_ns: u64) -> Reading {
        Reading {
            process_ns: Some(process_ns),
            group_ns: Some(group_ns),
            waited_faults: None,
        }
    }

    #[test]
    fn the_group_counts_only_for_a_program_that_forked() {
        let mut meter = Meter::new("x".into(), getpid(), None);
        let (from, to) = (reading(10, 100), reading(15, 300));
        assert_eq!(
            (meter.clock(), meter.between_ns(&from, &to)),
            (CpuClock::Process, Some(5))
        );
        meter.forked = true;
        assert_eq!(
            (meter.clock(), meter.between_ns(&from, &to)),
            (CpuClock::Cgroup, Some(200))
        );
        let unknown = Reading {
            group_ns: None,
            ..to
        };
        assert_eq!(meter.between_ns(&from, &unknown), None);
        assert_eq!(
            meter.between_ns(&to, &from),
            None,
            "a clock does not go back"
        );
    }

    #[test]
    fn our_own_clock_is_read_and_a_process_that_is_gone_has_none() {
        let meter = Meter::new("x".into(), getpid(), None);
        assert!(meter.time_ns(&meter.read()).unwrap() > 0);
        let gone = Meter::new("x".into(), Pid::from_raw(1 << 23), None);
        assert_eq!(gone.time_ns(&gone.read()), None);
    }
}
