//! The system calls of starting and ending a program that have no safe wrapper.
#![allow(
    unsafe_code,
    reason = "the steps run between fork and exec, and wait4 and pidfd_open have no wrapper"
)]

use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
use nix::unistd::{Pid, getppid};

/// What a new program does before it executes.
#[derive(Debug)]
pub(super) struct Entry {
    /// The process that starts it, whose end is its own.
    pub(super) parent: Pid,
    /// CPUs to run on; `None` leaves them.
    pub(super) cpus: Option<CpuSet>,
    /// `cgroup.procs` of the control group to be in.
    pub(super) group: Option<File>,
}

impl Entry {
    /// Makes `command` start a process group of its own with default signals, and take these steps.
    pub(super) fn prepare(self, command: &mut Command) {
        command.process_group(0);
        // SAFETY: the closure makes system calls and allocates nothing.
        unsafe {
            command.pre_exec(move || self.steps());
        }
    }

    fn steps(&self) -> io::Result<()> {
        default_signals()?;
        pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
        set_pdeathsig(Signal::SIGKILL)?;
        if getppid() != self.parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        close_on_exec();
        if let Some(group) = &self.group {
            // "0" is the process that writes. Whether it is in there is read back by its parent.
            let _ = nix::unistd::write(group, b"0");
        }
        if let Some(cpus) = &self.cpus {
            sched_setaffinity(Pid::from_raw(0), cpus)?;
        }
        Ok(())
    }
}

/// Gives signals that may have been ignored or caught their default action.
fn default_signals() -> io::Result<()> {
    for signal in [
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGHUP,
        libc::SIGPIPE,
        libc::SIGCHLD,
    ] {
        // SAFETY: the default action runs no code of this process.
        if unsafe { libc::signal(signal, libc::SIG_DFL) } == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Closes what this process inherited beyond the standard three when it executes. Kernels before
/// 5.11 cannot (close_range(2)); what the receiver opened is closed anyway.
fn close_on_exec() {
    // SAFETY: no pointers, and no descriptor is closed now.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3 as libc::c_uint,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
    }
}

/// A descriptor that is readable once the process has ended (pidfd_open(2), Linux 5.3).
pub(super) fn pidfd(pid: Pid) -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    let raw = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) };
    if raw < 0 {
        return Err(io::Error::last_os_error());
    }
    let raw = i32::try_from(raw).map_err(io::Error::other)?;
    // SAFETY: `raw` is open and owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// How a process ended and what it took, with everything it waited for (wait4(2), getrusage(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended {
    /// Its exit status.
    pub(super) status: Option<i32>,
    /// The signal that ended it.
    pub(super) signal: Option<i32>,
    /// User and system time, ns. The kernel scales both to the scheduler's exact sum, so that the
    /// sum is exact to a microsecond and only its parts are estimates.
    pub(super) cpu_ns: u64,
    /// The highest resident memory, bytes; never below that of the process that started it.
    pub(super) max_rss_bytes: u64,
}

/// Reaps a child that has ended, or waits for its end.
pub(super) fn reap(pid: Pid) -> io::Result<Ended> {
    let mut status = 0;
    // SAFETY: every bit pattern is a value of this plain structure.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    loop {
        // SAFETY: both places live through the call.
        let reaped = unsafe { libc::wait4(pid.as_raw(), &raw mut status, 0, &raw mut usage) };
        if reaped >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let time_ns = |time: libc::timeval| {
        let micros = time.tv_sec.cast_unsigned() * 1_000_000 + time.tv_usec.cast_unsigned();
        micros * 1000
    };
    Ok(Ended {
        status: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        cpu_ns: time_ns(usage.ru_utime) + time_ns(usage.ru_stime),
        max_rss_bytes: usage.ru_maxrss.cast_unsigned() * 1024,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_program_starts_with_default_signals_an_empty_mask_and_no_descriptors() {
        let extra = File::open("/dev/null").unwrap();
        // SAFETY: no pointers; the descriptor is ours.
        unsafe { libc::fcntl(extra.as_raw_fd(), libc::F_SETFD, 0) };
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "grep Sig[IB] /proc/self/status; ls /proc/self/fd; exit 7",
        ]);
        Entry {
            parent: nix::unistd::getpid(),
            cpus: None,
            group: None,
        }
        .prepare(&mut command);
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!((words[0], words[1]), ("SigBlk:", "0000000000000000"));
        let ignored = u64::from_str_radix(words[3], 16).unwrap();
        for signal in [1, 2, 3, 13, 15, 17] {
            assert_eq!(ignored >> (signal - 1) & 1, 0, "signal {signal}");
        }
        // The last descriptor is the one that ls reads the folder with.
        assert_eq!(words[4..], ["0", "1", "2", "3"]);
        assert_eq!(output.status.code(), Some(7));
        assert_eq!(output.status.signal(), None);
    }

    #[test]
    #[expect(clippy::zombie_processes, reason = "reap waits for it")]
    fn an_end_comes_with_status_and_time() {
        let child = Command::new("sh").args(["-c", "exit 3"]).spawn().unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
        let ended = reap(pid).unwrap();
        assert_eq!((ended.status, ended.signal), (Some(3), None));
        assert!(ended.cpu_ns > 0 && ended.max_rss_bytes > 0);
        assert!(reap(pid).is_err(), "reaped once");
    }
}
