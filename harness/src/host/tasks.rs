//! CPU time of programs that are not part of the campaign.
//!
//! From each task's schedstat, which the scheduler keeps exactly, unlike the ticks of
//! /proc/stat. Kernel threads are left out: the softirq work of a trial's own packets runs there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;

use wiretrial_contract::clock;

/// The kernel's `PF_KTHREAD`, include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// CPU time of every user-space task outside of a set of processes and their descendants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskTimes {
    /// `CLOCK_MONOTONIC` ns of the reading.
    pub at_ns: u64,
    on_cpu_ns: BTreeMap<u32, u64>,
}

impl TaskTimes {
    /// Reads them. `None` when this kernel keeps no schedstat.
    #[must_use]
    pub fn read(ours: &BTreeSet<u32>) -> Option<Self> {
        // Tasks may end while they are read; this one does not.
        on_cpu_ns("/proc/thread-self/schedstat")?;
        let at_ns = clock::monotonic_ns();
        let mut parents = BTreeMap::new();
        for entry in fs::read_dir("/proc").ok()?.flatten() {
            let Some(pid) = number(&entry.file_name()) else {
                continue;
            };
            let stat = read_small(&format!("/proc/{pid}/stat"));
            if let Some((parent, flags)) = stat.as_deref().and_then(parent_and_flags)
                && flags & KERNEL_THREAD == 0
            {
                parents.insert(pid, parent);
            }
        }
        let mut times = BTreeMap::new();
        for pid in parents.keys().copied() {
            if descends(pid, ours, &parents) {
                continue;
            }
            for task in fs::read_dir(format!("/proc/{pid}/task"))
                .into_iter()
                .flatten()
                .flatten()
            {
                let Some(tid) = number(&task.file_name()) else {
                    continue;
                };
                if let Some(ns) = on_cpu_ns(&format!("/proc/{pid}/task/{tid}/schedstat")) {
                    times.insert(tid, ns);
                }
            }
        }
        Some(Self {
            at_ns,
            on_cpu_ns: times,
        })
    }

    /// CPU time used between `earlier` and now, ns. A task that is new is counted from 0; one that
    /// has ended is not counted.
    #[must_use]
    pub fn used_since(&self, earlier: &Self) -> u64 {
        self.on_cpu_ns
            .iter()
            .map(|(task, now)| {
                let before = earlier.on_cpu_ns.get(task).copied().unwrap_or(0);
                // A smaller number is another task with the same id.
                now.checked_sub(before).unwrap_or(*now)
            })
            .sum()
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

/// Fields 4 and 9 of /proc/PID/stat (proc_pid_stat(5)). The name in field 2 may hold anything, so
/// counting starts behind its last parenthesis.
fn parent_and_flags(stat: &str) -> Option<(u32, u64)> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(1);
    let parent = fields.next()?.parse().ok()?;
    let flags = fields.nth(4)?.parse().ok()?;
    Some((parent, flags))
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
    /// Made-up times by task.
    pub(super) fn of(at_ns: u64, tasks: &[(u32, u64)]) -> Self {
        Self {
            at_ns,
            on_cpu_ns: tasks.iter().copied().collect(),
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
    fn names_with_parentheses_and_spaces() {
        let stat = "77 (a) b (c)) S 12 77 77 0 -1 2097216 0 0";
        assert_eq!(parent_and_flags(stat), Some((12, 2_097_216)));
        assert_eq!(parent_and_flags("77 (a"), None);
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
        assert!(foreign.on_cpu_ns.contains_key(&me));
        let without = TaskTimes::read(&BTreeSet::from([me])).unwrap();
        assert!(!without.on_cpu_ns.contains_key(&me));
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
        assert!(foreign.on_cpu_ns[&child.id()] > 0);
        assert!(!ours.on_cpu_ns.contains_key(&child.id()));
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
