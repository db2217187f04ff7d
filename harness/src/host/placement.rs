//! Which process runs on which CPU.

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use wiretrial_contract::plan::Placement;

use crate::agent::allowed_cpus;

/// Receivers on the last allowed CPU, `senders` sender threads in turn on the ones before it, from
/// the first; unpinned where there is only one CPU, or where the CPUs are unknown.
#[must_use]
pub fn choose(allowed: &[u32], senders: u32) -> Placement {
    let Some((last, others)) = allowed
        .split_last()
        .filter(|(_, others)| !others.is_empty())
    else {
        return Placement::default();
    };
    let most = usize::try_from(senders.max(1)).unwrap_or(usize::MAX);
    Placement {
        senders: others.iter().copied().take(most).collect(),
        receiver: Some(*last),
        ..Placement::default()
    }
}

/// Keeps this process, all its threads, and the agent on the CPUs of the senders. Whether they are
/// there, read back; `false` also when `placement` pins nothing.
pub(super) fn pin(placement: &Placement, agent: u32) -> bool {
    if placement.senders.is_empty() {
        return false;
    }
    let Some(set) = cpu_set(&placement.senders) else {
        return false;
    };
    let agent = i32::try_from(agent).into_iter();
    threads().into_iter().chain(agent).all(|thread| {
        let thread = Pid::from_raw(thread);
        sched_setaffinity(thread, &set).is_ok() && allowed_cpus(thread) == placement.senders
    })
}

fn cpu_set(cpus: &[u32]) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(usize::try_from(*cpu).ok()?).ok()?;
    }
    Some(set)
}

/// The threads of this process; new ones inherit the CPUs of the one that makes them.
fn threads() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receivers_last_senders_first() {
        let two = choose(&[0, 1], 4);
        assert_eq!((two.senders, two.receiver), (vec![0], Some(1)));
        let some = choose(&[2, 3, 5, 7], 2);
        assert_eq!((some.senders, some.receiver), (vec![2, 3], Some(7)));
        let one = choose(&[4], 1);
        assert_eq!((one.senders, one.receiver), (vec![], None));
        assert_eq!(choose(&[], 1).receiver, None);
    }

    #[test]
    fn nothing_is_pinned_without_a_placement() {
        assert!(!pin(&choose(&[0], 1), std::process::id()));
    }
}
