//! Runs the few programs an agent may run, with an argument list, no shell, and bounded time and
//! output.

use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use wiretrial_contract::clock;

use super::sys;

/// The programs an agent runs.
const PROGRAMS: [&str; 4] = ["ip", "nft", "tc", "ethtool"];
/// Where they are looked for; an ordinary user's PATH often lacks the first.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin";
/// Longest run, ns.
const TIME_NS: u64 = 10_000_000_000;
/// Most output of both kinds together, bytes.
const OUTPUT: usize = 1 << 20;

/// How a program ended and what it said.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ran {
    /// Its exit status, or `None` after a signal.
    pub(super) status: Option<i32>,
    /// What it printed.
    pub(super) stdout: String,
    /// Its complaints.
    pub(super) stderr: String,
}

/// Where and with which rights a program runs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place<'a> {
    /// It gets the network capabilities of this process although its user is not root.
    pub(super) keep_rights: bool,
    /// Another network namespace to run in.
    pub(super) network: Option<BorrowedFd<'a>>,
}

/// Runs `program` with `arguments`.
///
/// # Errors
///
/// One sentence: it is not one of [`PROGRAMS`], could not be started, ran too long or said too
/// much. It is dead then.
pub(super) fn run(program: &str, arguments: &[String], place: Place<'_>) -> Result<Ran, String> {
    if !PROGRAMS.contains(&program) {
        return Err(format!(
            "program \"{program}\" is not one an agent runs; those are {}",
            PROGRAMS.join(", ")
        ));
    }
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", PATH);
    let ran = start(command, place).and_then(collect);
    ran.map_err(|error| format!("{program}: {error}"))
}

/// The same for a program that must end with status 0.
///
/// # Errors
///
/// As [`run`], and the first line of its complaints.
pub(super) fn succeed(program: &str, arguments: &[String], place: Place<'_>) -> Result<(), String> {
    let ran = run(program, arguments, place)?;
    if ran.status == Some(0) {
        return Ok(());
    }
    let said = ran.stderr.lines().next().unwrap_or("it gave no reason");
    Err(format!("{program} {}: {said}", arguments.join(" ")))
}

#[allow(unsafe_code, reason = "the closure runs between fork and exec")]
fn start(mut command: Command, place: Place<'_>) -> io::Result<Child> {
    let network = place.network.map(|network| network.as_raw_fd());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let parent = nix::unistd::getpid().as_raw();
    // SAFETY: the closure makes async-signal-safe system calls and nothing else.
    unsafe {
        command.pre_exec(move || {
            sys::die_with_parent(parent)?;
            // The campaign's lock is one of the agent's descriptors.
            sys::close_on_exec();
            if let Some(network) = network {
                sys::enter_network(network)?;
            }
            if place.keep_rights {
                sys::keep_network_rights()?;
            }
            Ok(())
        });
    }
    command.spawn()
}

fn collect(mut child: Child) -> io::Result<Ran> {
    let outcome = read_and_wait(&mut child);
    if outcome.is_err() {
        // It may have ended by itself in between.
        let _ = child.kill();
        let _ = child.wait();
    }
    outcome
}

fn read_and_wait(child: &mut Child) -> io::Result<Ran> {
    let deadline = clock::monotonic_ns() + TIME_NS;
    let mut pipes: [Option<OwnedFd>; 2] = [
        child.stdout.take().map(Into::into),
        child.stderr.take().map(Into::into),
    ];
    let mut said = [Vec::new(), Vec::new()];
    while pipes.iter().any(Option::is_some) {
        let ready = wait_readable(&pipes, deadline)?;
        for index in ready {
            let Some(pipe) = pipes[index].take() else {
                continue;
            };
            let mut pipe = std::fs::File::from(pipe);
            let mut chunk = [0; 16 << 10];
            let read = pipe.read(&mut chunk)?;
            said[index].extend_from_slice(&chunk[..read]);
            if said[0].len() + said[1].len() > OUTPUT {
                return Err(io::Error::other(format!("said more than {OUTPUT} bytes")));
            }
            if read > 0 {
                pipes[index] = Some(pipe.into());
            }
        }
    }
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let now = clock::monotonic_ns();
        if now >= deadline {
            return Err(too_long());
        }
        clock::sleep_until(now + 1_000_000);
    };
    let [stdout, stderr] = said.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Ran {
        status: status.code(),
        stdout,
        stderr,
    })
}

/// Indices of the pipes that have something, or their end, to read.
fn wait_readable(pipes: &[Option<OwnedFd>; 2], deadline: u64) -> io::Result<Vec<usize>> {
    let open: Vec<(usize, &OwnedFd)> = pipes
        .iter()
        .enumerate()
        .filter_map(|(index, pipe)| Some((index, pipe.as_ref()?)))
        .collect();
    let mut polled: Vec<PollFd> = open
        .iter()
        .map(|(_, pipe)| PollFd::new(pipe.as_fd(), PollFlags::POLLIN))
        .collect();
    let left_ms = deadline.saturating_sub(clock::monotonic_ns()) / 1_000_000;
    let timeout = PollTimeout::try_from(left_ms).unwrap_or(PollTimeout::MAX);
    if poll(&mut polled, timeout)? == 0 {
        return Err(too_long());
    }
    Ok(open
        .iter()
        .zip(&polled)
        .filter(|(_, polled)| polled.any() == Some(true))
        .map(|((index, _), _)| *index)
        .collect())
}

fn too_long() -> io::Error {
    io::Error::other(format!("did not end within {} s", TIME_NS / 1_000_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> io::Result<Ran> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        start(command, Place::default()).and_then(collect)
    }

    #[test]
    fn only_the_listed_programs_run() {
        let error = run("sh", &["-c".into(), "true".into()], Place::default()).unwrap_err();
        assert!(error.starts_with("program \"sh\" is not one"), "{error}");
        assert!(run("/sbin/ip", &[], Place::default()).is_err());
    }

    #[test]
    fn both_outputs_and_the_status_come_back() {
        let ran = sh("echo out; echo err >&2; exit 7").unwrap();
        assert_eq!(ran.status, Some(7));
        assert_eq!(
            (ran.stdout.as_str(), ran.stderr.as_str()),
            ("out\n", "err\n")
        );
        assert_eq!(sh("kill -9 $$").unwrap().status, None);
    }

    #[test]
    fn a_program_that_never_stops_talking_is_ended() {
        let error =
            sh("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done").unwrap_err();
        assert!(error.to_string().contains("1048576 bytes"), "{error}");
    }
}
