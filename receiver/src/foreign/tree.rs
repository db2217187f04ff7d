//! Processes below this one. The receiver is the reaper of what its program leaves behind
//! (prctl(2), `PR_SET_CHILD_SUBREAPER`), so that everything the program started is found from here,
//! whatever group or session it went to.

use std::fs;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getpid};
use wiretrial_contract::clock;
use wiretrial_contract::failure::Failure;

/// Longest time to end what is below, ns.
const END_LIMIT_NS: u64 = 2_000_000_000;

/// Makes this process the parent of what its descendants leave behind.
///
/// # Errors
///
/// A host failure of the system call; every Linux since 3.4 has it.
pub(super) fn adopt() -> Result<(), Failure> {
    set_child_subreaper(true)
        .map_err(|errno| Failure::host(format!("cannot adopt processes: {}", errno.desc())))
}

/// Every process below `pid`, zombies too, nearest first.
pub(super) fn below(pid: Pid) -> Vec<Pid> {
    let mut found = children(pid);
    let mut at = 0;
    while let Some(&next) = found.get(at) {
        // A process that ends meanwhile hands its children to us, so one may be met twice.
        let more = children(next);
        found.extend(
            more.into_iter()
                .filter(|pid| !found.contains(pid))
                .collect::<Vec<_>>(),
        );
        at += 1;
    }
    found
}

/// `children` of proc_pid_task(5), or else a look through all processes.
fn children(pid: Pid) -> Vec<Pid> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for task in tasks.flatten() {
        match fs::read_to_string(task.path().join("children")) {
            Ok(text) => found.extend(
                text.split_whitespace()
                    .filter_map(|pid| pid.parse().ok())
                    .map(Pid::from_raw),
            ),
            Err(_) if task.path().exists() => return by_parent(pid),
            Err(_) => {} // the thread has ended
        }
    }
    found
}

fn by_parent(parent: Pid) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_string_lossy().parse().ok())
        .filter(|pid| Stat::of(Pid::from_raw(*pid)).is_some_and(|stat| stat.parent == parent))
        .map(Pid::from_raw)
        .collect()
}

/// A process as proc_pid_stat(5) shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stat {
    /// Its name, at most 15 characters.
    pub(super) name: String,
    /// It has ended and waits for its parent.
    pub(super) zombie: bool,
    parent: Pid,
    /// Minor page faults of the children it has waited for: every process has some, so this moves
    /// with each child that has been and gone.
    pub(super) waited_faults: u64,
}

impl Stat {
    /// `None` when the process is gone.
    pub(super) fn of(pid: Pid) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        // The name may hold anything, parentheses too.
        let (start, rest) = text.rsplit_once(") ")?;
        let (_, name) = start.split_once('(')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        Some(Self {
            name: name.to_owned(),
            zombie: *fields.first()? == "Z",
            parent: Pid::from_raw(fields.get(1)?.parse().ok()?),
            waited_faults: fields.get(8)?.parse().ok()?,
        })
    }
}

/// Ends and reaps everything below this process; whether there was anything. A child that ended and
/// that nobody waited for counts: its CPU time is in no parent's (getrusage(2), `RUSAGE_CHILDREN`).
pub(super) fn end_all() -> bool {
    let until_ns = clock::monotonic_ns().saturating_add(END_LIMIT_NS);
    let mut found = false;
    loop {
        let all = below(getpid());
        if all.is_empty() || clock::monotonic_ns() > until_ns {
            return found;
        }
        for pid in all {
            found = true;
            let _ = kill(pid, Signal::SIGKILL);
            // Only children can be reaped; what is further down becomes one.
            while waitpid(pid, Some(WaitPidFlag::WNOHANG)) == Err(Errno::EINTR) {}
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_parentheses() {
        let text = "7 (a) (b)) S 5 7 7 0 -1 4194304 100 23 0 0 1 2 0 0 20 0 1 0 9 1 1";
        let stat = Stat::parse(text).unwrap();
        assert_eq!(stat.name, "a) (b)");
        assert_eq!((stat.parent, stat.waited_faults), (Pid::from_raw(5), 23));
        assert!(!stat.zombie);
        assert_eq!(Stat::parse("7 (x)"), None);
    }

    #[test]
    fn grandchildren_are_below_by_both_ways_of_looking() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "sleep 60 & echo $!; wait"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        let sleeper = Pid::from_raw(line.trim().parse().unwrap());
        let shell = Pid::from_raw(child.id().cast_signed());
        let all = below(getpid());
        assert!(all.contains(&shell) && all.contains(&sleeper), "{all:?}");
        assert_eq!(by_parent(shell), [sleeper]);
        kill(sleeper, Signal::SIGKILL).unwrap();
        child.wait().unwrap();
        assert_eq!(below(shell), []);
    }
}
