//! What the receiver knows of its own process: CPUs, memory, context switches, signals.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::str::{self, FromStr};
use std::sync::OnceLock;

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::unistd::{Pid, SysconfVar, sysconf};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use wiretrial_contract::failure::Failure;

/// Pins every thread of this process to `cpu`; threads started later inherit it.
///
/// # Errors
///
/// A host failure when the process may not run there.
pub fn pin(cpu: u32) -> Result<(), Failure> {
    let refused = |cause: &dyn std::fmt::Display| {
        let allowed = cpus().unwrap_or_default();
        Failure::host(format!(
            "cannot pin to cpu {cpu}: {cause}; allowed here: {allowed:?}"
        ))
    };
    let mut set = CpuSet::new();
    let index = usize::try_from(cpu).map_err(|error| refused(&error))?;
    set.set(index).map_err(|errno| refused(&errno.desc()))?;
    for entry in fs::read_dir("/proc/self/task").map_err(|error| refused(&error))? {
        let name = entry.map_err(|error| refused(&error))?.file_name();
        let Ok(task) = name.to_string_lossy().parse() else {
            continue;
        };
        match sched_setaffinity(Pid::from_raw(task), &set) {
            Ok(()) | Err(Errno::ESRCH) => {} // a thread may have ended meanwhile
            Err(errno) => return Err(refused(&errno.desc())),
        }
    }
    Ok(())
}

/// CPUs the calling thread may run on, read back from the kernel.
///
/// # Errors
///
/// sched_getaffinity(2) failed.
pub fn cpus() -> io::Result<Vec<u32>> {
    Ok(listed(&sched_getaffinity(Pid::from_raw(0))?))
}

/// The CPUs in a set, in order.
pub(crate) fn listed(set: &CpuSet) -> Vec<u32> {
    (0..)
        .zip(0..CpuSet::count())
        .filter(|(_, index)| set.is_set(*index) == Ok(true))
        .map(|(cpu, _)| cpu)
        .collect()
}

/// What the kernel counted of the process since it started, all threads (getrusage(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Context switches for which it gave the CPU up.
    pub voluntary_switches: u64,
    /// Context switches for which the CPU was taken from it.
    pub involuntary_switches: u64,
    /// Page faults that took no reading from a disk.
    pub minor_faults: u64,
    /// Page faults that took one.
    pub major_faults: u64,
}

impl Usage {
    /// The counts now; `None` when the kernel does not say.
    #[must_use]
    pub fn now() -> Option<Self> {
        let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
        Some(Self {
            voluntary_switches: u64::try_from(usage.voluntary_context_switches()).ok()?,
            involuntary_switches: u64::try_from(usage.involuntary_context_switches()).ok()?,
            minor_faults: u64::try_from(usage.minor_page_faults()).ok()?,
            major_faults: u64::try_from(usage.major_page_faults()).ok()?,
        })
    }

    /// What was counted since `then`, an earlier reading.
    #[must_use]
    pub const fn since(self, then: Self) -> Self {
        Self {
            voluntary_switches: self
                .voluntary_switches
                .saturating_sub(then.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(then.involuntary_switches),
            minor_faults: self.minor_faults.saturating_sub(then.minor_faults),
            major_faults: self.major_faults.saturating_sub(then.major_faults),
        }
    }
}

/// The highest resident memory of the process so far, bytes (VmHWM of proc_pid_status(5)).
#[must_use]
pub fn peak_rss_bytes() -> Option<u64> {
    peak_in(&fs::read_to_string("/proc/self/status").ok()?)
}

/// The same of another process.
pub(crate) fn peak_rss_of(pid: Pid) -> Option<u64> {
    peak_in(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

fn peak_in(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib = u64::from_str(line.trim().strip_suffix("kB")?.trim()).ok()?;
    kib.checked_mul(1024)
}

/// The resident memory of a process, read again and again without the allocator.
#[derive(Debug)]
pub struct Memory {
    statm: File,
    page_bytes: u64,
}

impl Memory {
    /// That of this process.
    #[must_use]
    pub fn own() -> Option<Self> {
        Self::open("/proc/self/statm")
    }

    /// That of another process.
    pub(crate) fn of(pid: Pid) -> Option<Self> {
        Self::open(&format!("/proc/{pid}/statm"))
    }

    fn open(path: &str) -> Option<Self> {
        let page_bytes = sysconf(SysconfVar::PAGE_SIZE).ok()??;
        Some(Self {
            statm: File::open(path).ok()?,
            page_bytes: u64::try_from(page_bytes).ok()?,
        })
    }

    /// Resident now, bytes (proc_pid_statm(5)); `None` once the process is gone.
    #[must_use]
    pub fn rss_bytes(&self) -> Option<u64> {
        let mut text = [0; 256];
        let length = self.statm.read_at(&mut text, 0).ok()?;
        let pages = resident_pages(str::from_utf8(&text[..length]).ok()?)?;
        pages.checked_mul(self.page_bytes)
    }
}

/// The second of the numbers.
fn resident_pages(statm: &str) -> Option<u64> {
    statm.split_ascii_whitespace().nth(1)?.parse().ok()
}

static HEAP: OnceLock<fn() -> u64> = OnceLock::new();

/// From now on `bytes` says how many bytes all threads have taken from the allocator so far. Only
/// the first call counts; an executable whose allocator counts makes it before anything else.
pub fn count_heap(bytes: fn() -> u64) {
    // A second call would come from the same executable.
    let _ = HEAP.set(bytes);
}

/// Bytes all threads have taken from the allocator so far; `None` where it does not count.
#[must_use]
pub fn heap_bytes() -> Option<u64> {
    HEAP.get().map(|bytes| bytes())
}

/// Calls `on_signal` from a thread of its own for each SIGINT, SIGTERM and SIGHUP.
///
/// # Errors
///
/// A host failure when the signals cannot be taken.
pub fn watch_signals(mut on_signal: impl FnMut() + Send + 'static) -> Result<(), Failure> {
    let refused = |error: io::Error| Failure::host(format!("cannot watch for signals: {error}"));
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(refused)?;
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || signals.forever().for_each(|_| on_signal()))
        .map_err(refused)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinning_is_read_back() {
        let allowed = cpus().unwrap();
        let last = *allowed.last().unwrap();
        // A thread of its own would leave the others pinned as well, so this pins to what the
        // process has anyway when there is but one CPU, and undoes it otherwise.
        let before = sched_getaffinity(Pid::from_raw(0)).unwrap();
        pin(last).unwrap();
        assert_eq!(cpus().unwrap(), [last]);
        for entry in fs::read_dir("/proc/self/task").unwrap() {
            let task = entry
                .unwrap()
                .file_name()
                .to_string_lossy()
                .parse()
                .unwrap();
            let _ = sched_setaffinity(Pid::from_raw(task), &before);
        }
        let failure = pin(1023).unwrap_err();
        assert!(failure.message.contains("cpu 1023"), "{failure}");
    }

    #[test]
    fn pages_that_are_touched_for_the_first_time_are_faults() {
        let before = Usage::now().unwrap();
        // So much is mapped anew and is no memory that was freed before.
        let bytes = vec![1_u8; 64 << 20];
        let since = Usage::now().unwrap().since(before);
        assert!(since.minor_faults > 0, "{since:?}");
        assert_eq!(bytes.last(), Some(&1));
    }

    #[test]
    fn memory_is_in_bytes() {
        assert_eq!(
            peak_in("VmPeak:\t 9 kB\nVmHWM:\t    1234 kB\n"),
            Some(1_263_616)
        );
        assert_eq!(peak_in("VmPeak:\t 9 kB\n"), None);
        assert_eq!(resident_pages("900 12 3 1 0 5 0\n"), Some(12));
        assert_eq!(resident_pages("900"), None);
        let memory = Memory::own().unwrap();
        let resident = memory.rss_bytes().unwrap();
        let bytes = vec![1_u8; 64 << 20];
        // The kernel's sum may be off by what each CPU has not handed in yet.
        assert!(memory.rss_bytes().unwrap() > resident + (32 << 20));
        assert_eq!(bytes.last(), Some(&1));
    }
}
