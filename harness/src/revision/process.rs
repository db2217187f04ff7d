//! Runs one program to its end in a process group of its own, with a limit and an ear for signals.
//!
//! Whatever way it ends, nothing of its group is left: a compiler server or a watcher that outlives
//! a build would run beside the measurement. A process that has left the group is not seen.

use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use wiretrial_contract::clock;
use wiretrial_contract::failure::Failure;

use crate::agent::sys;
use crate::host::Interrupt;

/// Longest time between two looks at the interrupt and the process, ms.
const LOOK: u8 = 50;
/// Longest time until a process that has closed its pipes is seen to end, ms.
const SOON: u8 = 2;
/// Most bytes of one read; a pipe holds as many (pipe(7)).
const PIECE: usize = 1 << 16;
/// Most reads after its end: more than its pipes hold is not its own.
const LAST_READS: usize = 32;

/// Which stream bytes came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    /// Standard output, and standard error when both are one.
    Out,
    /// Standard error.
    Err,
}

/// Whether standard error is read apart from standard output or in the order both were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Streams {
    /// Two pipes.
    Apart,
    /// One pipe.
    Together,
}

/// Why a program did not come to its own end.
#[derive(Debug)]
pub(super) enum Stop {
    /// It could not be started, or its output not be read or kept.
    Io(io::Error),
    /// It had not ended within the limit.
    TooLong,
    /// A signal came.
    Interrupted(Failure),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Errno> for Stop {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

/// Runs `command`, whose standard input is the caller's choice, and gives each piece of its output
/// to `take`.
///
/// # Errors
///
/// Why it did not end by itself. It and its group are dead then.
pub(super) fn run(
    mut command: Command,
    streams: Streams,
    limit: Duration,
    interrupt: &Interrupt,
    mut take: impl FnMut(Stream, &[u8]) -> io::Result<()>,
) -> Result<ExitStatus, Stop> {
    interrupt.check().map_err(Stop::Interrupted)?;
    let (out, writer) = io::pipe()?;
    let mut pipes = vec![(Stream::Out, out)];
    command.process_group(0).stdout(writer.try_clone()?);
    // A harness that is killed takes the first process of a build with it, not what that started.
    sys::end_with_parent(&mut command);
    match streams {
        Streams::Together => command.stderr(writer),
        Streams::Apart => {
            drop(writer);
            let (err, writer) = io::pipe()?;
            pipes.push((Stream::Err, err));
            command.stderr(writer)
        }
    };
    let mut group = Group(command.spawn()?);
    // Its ends of the pipes must be the only ones, or they would never close.
    drop(command);
    let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
    let deadline = clock::monotonic_ns().saturating_add(limit);
    loop {
        // Looked at before the pipes: all that it wrote is in them once it has ended.
        if group.ended()? {
            group.kill();
            for _ in 0..LAST_READS {
                if !read_ready(&mut pipes, 0, &mut take)? {
                    break;
                }
            }
            return Ok(group.wait()?);
        }
        // A process with closed pipes is about to end.
        let wait = if pipes.is_empty() { SOON } else { LOOK };
        read_ready(&mut pipes, wait, &mut take)?;
        interrupt.check().map_err(Stop::Interrupted)?;
        if clock::monotonic_ns() >= deadline {
            return Err(Stop::TooLong);
        }
    }
}

/// How a process ended, for a sentence.
pub(super) fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "unknown status".into(),
    }
}

/// Reads a piece of each pipe that has one, waiting at most `wait`; forgets a pipe at its end. Says
/// whether anything was there.
fn read_ready(
    pipes: &mut Vec<(Stream, PipeReader)>,
    wait: u8,
    take: &mut impl FnMut(Stream, &[u8]) -> io::Result<()>,
) -> Result<bool, Stop> {
    let mut buffer = vec![0_u8; PIECE];
    let mut asked: Vec<PollFd<'_>> = pipes
        .iter()
        .map(|(_, pipe)| PollFd::new(pipe.as_fd(), PollFlags::POLLIN))
        .collect();
    match poll(&mut asked, PollTimeout::from(wait)) {
        Ok(0) | Err(Errno::EINTR) => return Ok(false),
        Ok(_) => {}
        Err(errno) => return Err(errno.into()),
    }
    let ready: Vec<bool> = asked.iter().map(|pipe| pipe.any() == Some(true)).collect();
    for index in (0..pipes.len()).rev().filter(|index| ready[*index]) {
        let (stream, pipe) = &mut pipes[index];
        match pipe.read(&mut buffer) {
            Ok(0) => drop(pipes.remove(index)),
            Ok(read) => take(*stream, &buffer[..read])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}

/// A running child and its process group, killed when this goes.
#[derive(Debug)]
struct Group(Child);

impl Group {
    /// Whether the child has ended. It is not waited for yet, so that its number stays its own.
    fn ended(&self) -> nix::Result<bool> {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        match waitid(Id::Pid(self.pid()), flags) {
            Ok(status) => Ok(status != WaitStatus::StillAlive),
            Err(Errno::EINTR) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    /// Waits for the child. The group must not be killed after this.
    fn wait(&mut self) -> io::Result<ExitStatus> {
        self.0.wait()
    }

    fn kill(&self) {
        // It fails when the whole group has ended, which is what is wanted.
        let _ = killpg(self.pid(), Signal::SIGKILL);
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.0.id().cast_signed())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // After `wait` the number may be another's; `try_wait` remembers the status.
        if matches!(self.0.try_wait(), Ok(None)) {
            self.kill();
            let _ = self.0.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::null());
        command
    }

    #[test]
    fn streams_are_kept_apart_or_in_order() {
        let interrupt = Interrupt::default();
        let script = "echo a; echo b >&2; echo c; exit 3";
        let limit = Duration::from_secs(60);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let status = run(
            shell(script),
            Streams::Apart,
            limit,
            &interrupt,
            |stream, piece| {
                match stream {
                    Stream::Out => out.extend_from_slice(piece),
                    Stream::Err => err.extend_from_slice(piece),
                }
                Ok(())
            },
        );
        assert_eq!(status.unwrap().code(), Some(3));
        assert_eq!((&out[..], &err[..]), (&b"a\nc\n"[..], &b"b\n"[..]));
        let mut all = Vec::new();
        run(
            shell(script),
            Streams::Together,
            limit,
            &interrupt,
            |_, piece| {
                all.extend_from_slice(piece);
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(all, b"a\nb\nc\n");
    }

    #[test]
    fn much_output_is_read_whole() {
        let mut length = 0;
        let script = "head -c 3000000 /dev/zero";
        run(
            shell(script),
            Streams::Apart,
            Duration::from_secs(60),
            &Interrupt::default(),
            |_, piece| {
                length += piece.len();
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(length, 3_000_000);
    }

    #[test]
    fn a_limit_ends_it_and_an_interrupt_keeps_it_from_starting() {
        let interrupt = Interrupt::default();
        let stop = run(
            shell("sleep 1000"),
            Streams::Together,
            Duration::ZERO,
            &interrupt,
            |_, _| Ok(()),
        );
        assert!(matches!(stop, Err(Stop::TooLong)));
        interrupt.raise();
        let stop = run(
            shell("true"),
            Streams::Together,
            Duration::MAX,
            &interrupt,
            |_, _| Ok(()),
        );
        assert!(matches!(stop, Err(Stop::Interrupted(_))));
    }

    #[test]
    fn what_outlives_it_in_its_group_is_ended_and_not_waited_for() {
        let mut out = Vec::new();
        run(
            shell("sleep 1000 & echo $!"),
            Streams::Together,
            Duration::from_secs(60),
            &Interrupt::default(),
            |_, piece| {
                out.extend_from_slice(piece);
                Ok(())
            },
        )
        .unwrap();
        let pid: i32 = String::from_utf8(out).unwrap().trim().parse().unwrap();
        // It is gone, or a zombie that init has yet to wait for, as soon as the kernel gets to it.
        let alive = || {
            std::fs::read_to_string(format!("/proc/{pid}/stat"))
                .is_ok_and(|stat| !stat.contains(") Z "))
        };
        let mut looks = 0;
        while alive() {
            looks += 1;
            assert!(looks < 1000, "process {pid} is still there");
            clock::sleep_until(clock::monotonic_ns() + 10_000_000);
        }
    }
}
