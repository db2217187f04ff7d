//! Moves the receive work of the wire to a CPU of its own: a kernel thread that polls the interface,
//! or receive packet steering (Documentation/networking/{napi,scaling}.rst of the kernel).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use wiretrial_contract::clock;

use super::wire::RECEIVER;

/// Longest wait for a new thread to be seen, ns.
const APPEARS_NS: u64 = 500_000_000;
/// Between two looks, ns.
const LOOK_NS: u64 = 2_000_000;

/// Kernel threads that poll an interface of the wire's name, of this or another namespace.
pub(super) fn threads() -> BTreeSet<u32> {
    let prefix = format!("napi/{RECEIVER}-");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}"));
            read("comm").is_ok_and(|name| name.starts_with(&prefix))
                // Kernel threads have no command line (proc_pid_cmdline(5)).
                && read("cmdline").is_ok_and(|line| line.is_empty())
        })
        .collect()
}

/// Switches threaded NAPI on, below `class`, and reads it back.
///
/// # Errors
///
/// It cannot be written, or stays off.
pub(super) fn start_thread(class: &Path) -> Result<(), String> {
    let file = class.join(RECEIVER).join("threaded");
    let shown = file.display();
    fs::write(&file, "1").map_err(|error| format!("cannot write 1 to {shown}: {error}"))?;
    let now = fs::read_to_string(&file).map_err(|error| format!("cannot read {shown}: {error}"))?;
    match now.trim() {
        "1" => Ok(()),
        other => Err(format!("{shown} is {other} after 1 was written")),
    }
}

/// The threads that were not there `before`, at least one.
///
/// # Errors
///
/// None can be seen, as in a pid namespace.
pub(super) fn new_threads(before: &BTreeSet<u32>) -> Result<Vec<u32>, String> {
    let deadline = clock::monotonic_ns() + APPEARS_NS;
    loop {
        let new: Vec<u32> = threads().difference(before).copied().collect();
        if !new.is_empty() {
            return Ok(new);
        }
        let now = clock::monotonic_ns();
        if now >= deadline {
            return Err("its kernel thread cannot be seen in /proc".into());
        }
        clock::sleep_until(now + LOOK_NS);
    }
}

/// Keeps a task on one CPU.
pub(super) fn pin(task: u32, cpu: u32) -> nix::Result<()> {
    let mut only = CpuSet::new();
    only.set(usize::try_from(cpu).unwrap_or(usize::MAX))?;
    let task = i32::try_from(task).map_err(|_| nix::errno::Errno::ESRCH)?;
    sched_setaffinity(Pid::from_raw(task), &only)
}

/// Makes receive queues to come in this network namespace hand their frames to `cpu`.
///
/// # Errors
///
/// The setting is missing (before Linux 6.3) or cannot be written.
pub(super) fn set_default_mask(cpu: u32) -> Result<(), String> {
    const FILE: &str = "/proc/sys/net/core/rps_default_mask";
    fs::write(FILE, mask(cpu)).map_err(|error| format!("cannot write {FILE}: {error}"))
}

/// A set of one CPU as the kernel reads it: words of 32 bits in hexadecimal, the highest first.
fn mask(cpu: u32) -> String {
    let mut mask = format!("{:x}", 1_u32 << (cpu % 32));
    (0..cpu / 32).for_each(|_| mask.push_str(",00000000"));
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_have_words_of_eight_digits() {
        assert_eq!(mask(0), "1");
        assert_eq!(mask(31), "80000000");
        assert_eq!(mask(33), "2,00000000");
        assert_eq!(mask(64), "1,00000000,00000000");
    }

    #[test]
    fn a_switch_that_stays_off_is_an_error() {
        let class = tempfile::tempdir().unwrap();
        let missing = start_thread(class.path()).unwrap_err();
        assert!(missing.starts_with("cannot write 1 to "), "{missing}");
        fs::create_dir(class.path().join(RECEIVER)).unwrap();
        assert_eq!(start_thread(class.path()), Ok(()));
    }

    #[test]
    fn a_program_with_such_a_name_is_no_kernel_thread() {
        fs::write("/proc/thread-self/comm", "napi/wtr0-1").unwrap();
        assert!(!threads().contains(&std::process::id()));
    }
}
