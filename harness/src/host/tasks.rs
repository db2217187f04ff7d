//! CPU time of programs that are not part of the campaign.
//!
//! From each task's schedstat, which the scheduler keeps exactly, unlike the ticks of
//! /proc/stat. Kernel threads are left out: the softirq work of a trial's own packets runs there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;

use nix::unistd::{SysconfVar, sysconf};
use wiretrial_contract::clock;

/// Inode of the pid namespace every system boots with, `PROC_PID_INIT_INO` of
/// include/linux/proc_ns.h.
const INITIAL_PID_NAMESPACE: u64 = 0xEFFF_FFFC;
/// The kernel's `PF_KTHREAD`, include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// CPU time of every user-space process outside of a set of processes and their descendants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskTimes {
    /// `CLOCK_MONOTONIC` ns of the reading.
    pub at_ns: u64,
    processes: BTreeMap<u32, Times>,
    /// Length of a clock tick, ns.
    tick_ns: u64,
}

/// CPU time of one process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Times {
    /// Of each of its tasks, ns.
    tasks: BTreeMap<u32, u64>,
    /// Of all its tasks, ended ones too, ns, to the clock tick.
    own_ns: u64,
    /// Of its children that have ended and been waited for, ns, to the clock tick.
    reaped_ns: u64,
    parent: u32,
}

impl TaskTimes {
    /// Reads them. `None` when this kernel keeps no schedstat or a pid namespace hides programs.
    #[must_use]
    pub fn read(ours: &BTreeSet<u32>) -> Option<Self> {
        // In a namespace of its own a process sees only the programs in there with it.
        if fs::metadata("/proc/self/ns/pid").ok()?.ino() != INITIAL_PID_NAMESPACE {
            return None;
        }
        // Tasks may end while they are read; this one does not.
        on_cpu_ns("/proc/thread-self/schedstat")?;
        let at_ns = clock::monotonic_ns();
        let mut stats = BTreeMap::new();
        for entry in fs::read_dir("/proc").ok()?.flatten() {
            let Some(pid) = number(&entry.file_name()) else {
                continue;
            };
            let stat = read_small(&format!("/proc/{pid}/stat"));
            if let Some(stat) = stat.as_deref().and_then(Stat::parse)
                && stat.flags & KERNEL_THREAD == 0
            {
                stats.insert(pid, stat);
            }
        }
        let parents = stats
            .iter()
            .map(|(pid, stat)| (*pid, stat.parent))
            .collect();
        let tick_ns = tick_ns();
        let mut processes = BTreeMap::new();
        for (pid, stat) in &stats {
            if descends(*pid, ours, &parents) {
                continue;
            }
            let tasks = fs::read_dir(format!("/proc/{pid}/task"))
                .into_iter()
                .flatten()
                .flatten();
            let tasks = tasks.filter_map(|task| {
                let tid = number(&task.file_name())?;
                Some((
                    tid,
                    on_cpu_ns(&format!("/proc/{pid}/task/{tid}/schedstat"))?,
                ))
            });
            let times = Times {
                tasks: tasks.collect(),
                own_ns: stat.own_ticks.saturating_mul(tick_ns),
                reaped_ns: stat.reaped_ticks.saturating_mul(tick_ns),
                parent: stat.parent,
            };
            processes.insert(*pid, times);
        }
        Some(Self {
            at_ns,
            processes,
            tick_ns,
        })
    }

    /// CPU time used between `earlier` and now, ns. What is new is counted from 0. A process that
    /// ended in between is counted through the nearest one above it that waited for it, less what it
    /// had used before; without that, a build of many short processes would look like a quiet host.
    /// Not seen: processes that nobody waits for. Ended threads and processes are known to the clock
    /// tick only.
    #[must_use]
    pub fn used_since(&self, earlier: &Self) -> u64 {
        let mut ended: BTreeMap<u32, u64> = BTreeMap::new();
        for (pid, times) in &earlier.processes {
            if !self.processes.contains_key(pid) {
                let before = times.own_ns + times.reaped_ns;
                *ended
                    .entry(earlier.reaper(times.parent, &self.processes))
                    .or_default() += before;
            }
        }
        let unknown = Times::default();
        let used = self.processes.iter().map(|(pid, now)| {
            let before = earlier.processes.get(pid).unwrap_or(&unknown);
            let tasks = now.tasks.iter().map(|(task, ns)| {
                // A smaller number is another task with the same id.
                ns.checked_sub(before.tasks.get(task).copied().unwrap_or(0))
                    .unwrap_or(*ns)
            });
            // User and system time are rounded down to the tick by themselves, before and after.
            let ticks = now.own_ns.saturating_sub(before.own_ns + 2 * self.tick_ns);
            let reaped = now.reaped_ns.saturating_sub(before.reaped_ns);
            let known = ended.get(pid).copied().unwrap_or(0);
            tasks.sum::<u64>().max(ticks) + reaped.saturating_sub(known)
        });
        used.sum()
    }

    /// The nearest process from `pid` upwards that is in `alive`; 1 where there is none.
    fn reaper(&self, pid: u32, alive: &BTreeMap<u32, Times>) -> u32 {
        std::iter::successors(Some(pid), |pid| {
            self.processes.get(pid).map(|times| times.parent)
        })
        .take(64)
        .find(|pid| alive.contains_key(pid))
        .unwrap_or(1)
    }

    /// The same as CPUs: 1 is one CPU all the time. `None` when no time has passed.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "a share of a window of seconds, compared with a limit of two digits"
    )]
    pub fn cpus_since(&self, earlier: &Self) -> Option<f64> {
        let window = self.at_ns.checked_sub(earlier.at_ns).filter(|ns| *ns > 0)?;
        Some(self.used_since(earlier) as f64 / window as f64)
    }
}

/// Whether `pid` or a process it comes from is in `ours`. The steps are bounded, since parents are
/// not read at one moment.
fn descends(pid: u32, ours: &BTreeSet<u32>, parents: &BTreeMap<u32, u32>) -> bool {
    std::iter::successors(Some(pid), |pid| parents.get(pid).copied())
        .take(64)
        .any(|pid| ours.contains(&pid))
}

/// What is read of /proc/PID/stat (proc_pid_stat(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    /// Field 4.
    parent: u32,
    /// Field 9.
    flags: u64,
    /// Fields 14 and 15: user and system time, ended threads too, clock ticks.
    own_ticks: u64,
    /// Fields 16 and 17: the same of children waited for, clock ticks.
    reaped_ticks: u64,
}

impl Stat {
    /// The name in field 2 may hold anything, so counting starts behind its last parenthesis.
    fn parse(stat: &str) -> Option<Self> {
        let (_, fields) = stat.rsplit_once(") ")?;
        let mut fields = fields.split(' ').skip(1);
        let parent = fields.next()?.parse().ok()?;
        let flags = fields.nth(4)?.parse().ok()?;
        let mut two = |skip: usize| -> Option<u64> {
            let user: u64 = fields.nth(skip)?.parse().ok()?;
            Some(user.saturating_add(fields.next()?.parse().ok()?))
        };
        let own_ticks = two(4)?;
        let reaped_ticks = two(0)?;
        Some(Self {
            parent,
            flags,
            own_ticks,
            reaped_ticks,
        })
    }
}

/// Length of a clock tick, ns; 10 ms unless the system says otherwise.
fn tick_ns() -> u64 {
    let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten();
    let ticks = ticks
        .and_then(|ticks| u64::try_from(ticks).ok())
        .filter(|ticks| *ticks > 0);
    1_000_000_000 / ticks.unwrap_or(100)
}

/// First field of a schedstat: ns on a CPU (Documentation/scheduler/sched-stats.rst).
fn on_cpu_ns(path: &str) -> Option<u64> {
    read_small(path)?.split(' ').next()?.parse().ok()
}

/// A proc file that fits in 1 KiB, in one read.
fn read_small(path: &str) -> Option<String> {
    let mut bytes = [0; 1024];
    let read = File::open(path).ok()?.read(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes[..read]).into_owned())
}

fn number(name: &std::ffi::OsStr) -> Option<u32> {
    name.to_str()?.parse().ok()
}

#[cfg(test)]
impl TaskTimes {
    /// Made-up times of processes with one task each, children of process 1.
    pub(super) fn of(at_ns: u64, processes: &[(u32, u64)]) -> Self {
        let times = |(pid, ns): &(u32, u64)| {
            let tasks = BTreeMap::from([(*pid, *ns)]);
            (
                *pid,
                Times {
                    tasks,
                    own_ns: *ns,
                    reaped_ns: 0,
                    parent: 1,
                },
            )
        };
        Self {
            at_ns,
            processes: processes.iter().map(times).collect(),
            tick_ns: 10,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ended_and_renumbered_tasks() {
        let before = TaskTimes::of(1_000, &[(1, 500), (2, 70), (3, 900)]);
        let after = TaskTimes::of(2_000, &[(1, 600), (3, 40), (4, 10)]);
        // 100 more of task 1, 40 of another task 3, 10 of the new task 4, nothing of task 2.
        assert_eq!(after.used_since(&before), 150);
        assert_eq!(after.cpus_since(&before), Some(0.15));
        assert_eq!(after.cpus_since(&after), None);
    }

    #[test]
    fn short_processes_are_counted_through_the_one_that_waited_for_them() {
        // Process 2 had used 70 before it ended at 100; process 1 waited for it and for others.
        let mut before = TaskTimes::of(1_000, &[(1, 500), (2, 70)]);
        let mut after = TaskTimes::of(2_000, &[(1, 500)]);
        before.processes.get_mut(&1).unwrap().reaped_ns = 1_000;
        after.processes.get_mut(&1).unwrap().reaped_ns = 1_000 + 100 + 400;
        assert_eq!(after.used_since(&before), 430);
    }

    #[test]
    fn one_that_nobody_waited_for_hides_nothing_of_another_family() {
        // Process 3 ended under process 2, which keeps no times; process 1 waited for 400.
        let mut before = TaskTimes::of(1_000, &[(1, 0), (2, 0), (3, 9_000)]);
        let mut after = TaskTimes::of(2_000, &[(1, 0), (2, 0)]);
        before.processes.get_mut(&3).unwrap().parent = 2;
        after.processes.get_mut(&1).unwrap().reaped_ns = 400;
        assert_eq!(after.used_since(&before), 400);
    }

    #[test]
    fn a_thread_that_ended_is_in_its_process_and_its_past_is_not_new() {
        let mut before = TaskTimes::of(1_000, &[(1, 0), (2, 500)]);
        let mut after = TaskTimes::of(2_000, &[(1, 0), (2, 500)]);
        after.processes.get_mut(&2).unwrap().own_ns = 500 + 300;
        assert_eq!(after.used_since(&before), 280, "to two ticks");
        // Idle, with 1,500 of ended threads behind it, it ends and is waited for.
        before.processes.get_mut(&2).unwrap().own_ns = 2_000;
        after.processes.remove(&2);
        after.processes.get_mut(&1).unwrap().reaped_ns = 2_000;
        assert_eq!(after.used_since(&before), 0);
    }

    #[test]
    fn names_with_parentheses_and_spaces() {
        let stat = "77 (a) b (c)) S 12 77 77 0 -1 2097216 1 2 3 4 5 6 70 80 20 0";
        let parsed = Stat {
            parent: 12,
            flags: 2_097_216,
            own_ticks: 11,
            reaped_ticks: 150,
        };
        assert_eq!(Stat::parse(stat), Some(parsed));
        assert_eq!(Stat::parse("77 (a"), None);
    }

    #[test]
    fn descendants_belong_to_their_ancestor() {
        let parents = BTreeMap::from([(30, 20), (20, 10), (10, 1), (40, 1), (50, 50)]);
        let ours = BTreeSet::from([10]);
        assert!(descends(30, &ours, &parents));
        assert!(!descends(40, &ours, &parents));
        assert!(!descends(50, &ours, &parents));
    }

    #[test]
    fn this_process_is_seen_unless_it_is_ours() {
        let me = std::process::id();
        let foreign = TaskTimes::read(&BTreeSet::new()).unwrap();
        assert!(foreign.processes.contains_key(&me));
        let without = TaskTimes::read(&BTreeSet::from([me])).unwrap();
        assert!(!without.processes.contains_key(&me));
    }

    #[test]
    fn a_child_of_a_foreign_process_is_foreign() {
        let mut child = std::process::Command::new("/bin/sh")
            .args(["-c", "echo started; read line"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut [0; 8])
            .unwrap();
        let foreign = TaskTimes::read(&BTreeSet::new()).unwrap();
        let ours = TaskTimes::read(&BTreeSet::from([std::process::id()])).unwrap();
        assert!(foreign.processes[&child.id()].tasks.values().sum::<u64>() > 0);
        assert!(!ours.processes.contains_key(&child.id()));
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
