//! A program that runs: how it is started, and its end.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpid};
use regex::bytes::Regex;
use tempfile::TempDir;
use wiretrial_contract::clock;
use wiretrial_contract::control::Executable;
use wiretrial_contract::failure::Failure;

use super::Cut;
use super::output::{Pump, last_lines};
use super::places::Places;
use super::sys::{self, Ended, Entry};
use crate::process;

/// Longest stretch of waiting for an end without looking at anything else, ns.
const LOOK_NS: u64 = 50_000_000;
/// Longest wait for the end of a process that was killed, ns.
const KILL_LIMIT_NS: u64 = 2_000_000_000;

/// What is started, with all placeholders replaced.
#[derive(Debug)]
pub(super) struct Launch {
    /// The name of the program in sentences.
    pub(super) name: String,
    /// The argument list; the first is what is executed.
    pub(super) arguments: Vec<String>,
    /// Environment variables beside our own.
    pub(super) env: BTreeMap<String, String>,
    /// Working folder.
    pub(super) cwd: PathBuf,
    /// CPU to pin it to.
    pub(super) cpu: Option<u32>,
    /// `cgroup.procs` of the control group it starts in.
    pub(super) group: Option<File>,
    /// What is looked for on its standard error.
    pub(super) sign: Option<Regex>,
}

impl Launch {
    /// The launch of a program in these places.
    ///
    /// # Errors
    ///
    /// A usage failure that names the key: an empty argument list, or a placeholder that stands for
    /// nothing.
    pub(super) fn new(
        executable: &Executable,
        places: &Places<'_>,
        cpu: Option<u32>,
    ) -> Result<Self, Failure> {
        let spec = &executable.spec;
        if spec.arguments.is_empty() {
            return Err(Failure::usage(
                "program.arguments is empty; the first is {binary} as a rule",
            ));
        }
        let mut env = BTreeMap::new();
        for (key, value) in &spec.env {
            env.insert(key.clone(), places.fill(&format!("env.{key}"), value)?);
        }
        let cwd = match &spec.cwd {
            Some(cwd) => PathBuf::from(places.fill("cwd", cwd)?),
            None => places.work.to_owned(),
        };
        Ok(Self {
            name: name(executable),
            arguments: places.fill_all("arguments", &spec.arguments)?,
            env,
            cwd,
            cpu,
            group: None,
            sign: None,
        })
    }

    /// Refuses what could not be started here.
    ///
    /// # Errors
    ///
    /// A host failure: it may not run on that CPU.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.cpu.map(only).transpose().map(drop)
    }

    /// Starts it: its own process group, default signals, no standard input.
    ///
    /// # Errors
    ///
    /// A host failure: it cannot be executed, or may not run on that CPU.
    pub(super) fn start(self) -> Result<Program, Failure> {
        let first = &self.arguments[0];
        let mut command = Command::new(first);
        command
            .args(&self.arguments[1..])
            .envs(&self.env)
            .current_dir(&self.cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let entry = Entry {
            parent: getpid(),
            cpus: self.cpu.map(only).transpose()?,
            group: self.group,
        };
        entry.prepare(&mut command);
        let mut child = command.spawn().map_err(|error| {
            Failure::host(if self.cwd.is_dir() {
                format!("cannot start {first}: {error}; install it, or correct program.binary")
            } else {
                let cwd = self.cwd.display();
                format!("cannot start {first} in {cwd}, which is no folder; correct program.cwd")
            })
        })?;
        let pid = Pid::from_raw(child.id().cast_signed());
        let stdout = child.stdout.take().expect("piped");
        let stderr = child.stderr.take().expect("piped");
        let mut program = Program {
            name: self.name,
            pid,
            end: None,
            reaped: None,
            stdout: Pump::start(stdout, None)?,
            stderr: Pump::start(stderr, self.sign)?,
        };
        program.end = Some(sys::pidfd(pid).map_err(|error| {
            Failure::host(format!(
                "cannot watch {}: {error}; Linux 5.3 can",
                program.name
            ))
        })?);
        Ok(program)
    }
}

/// What an executable is called in sentences: the name of its file.
pub(super) fn name(executable: &Executable) -> String {
    let path = Path::new(&executable.path);
    path.file_name().map_or_else(
        || executable.path.clone(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// A private folder that goes with its owner.
///
/// # Errors
///
/// A host failure with the folder it could not be made in.
pub(super) fn folder() -> Result<TempDir, Failure> {
    tempfile::Builder::new()
        .prefix("wiretrial-work-")
        .tempdir()
        .map_err(|error| {
            Failure::host(format!(
                "cannot make a folder in {}: {error}; set TMPDIR to one with room",
                std::env::temp_dir().display()
            ))
        })
}

/// The one CPU as a set, tried on a thread: what this process is kept on now, by whoever started it,
/// does not matter.
fn only(cpu: u32) -> Result<CpuSet, Failure> {
    let mut set = CpuSet::new();
    let fits = usize::try_from(cpu).is_ok_and(|cpu| set.set(cpu).is_ok());
    let tried = thread::spawn(move || sched_setaffinity(Pid::from_raw(0), &set)).join();
    match tried {
        Ok(Ok(())) if fits => Ok(set),
        _ => Err(Failure::host(format!(
            "cannot pin to cpu {cpu}: this process may not run there"
        ))),
    }
}

/// A program that was started. Dropping it ends its process group.
#[derive(Debug)]
pub(super) struct Program {
    /// Its name in sentences.
    pub(super) name: String,
    /// Its process and process group.
    pub(super) pid: Pid,
    end: Option<OwnedFd>,
    reaped: Option<Ended>,
    stdout: Pump,
    stderr: Pump,
}

impl Program {
    /// Whether it has ended; it is not reaped, so that its clock can still be read.
    pub(super) fn has_ended(&self) -> bool {
        self.reaped.is_some() || self.ends_within(0)
    }

    /// Waits for its end until `until_ns`, and asks `check` now and then whether to go on. False
    /// when it still runs.
    ///
    /// # Errors
    ///
    /// What `check` says.
    pub(super) fn wait(
        &self,
        until_ns: u64,
        mut check: impl FnMut() -> Result<(), Cut>,
    ) -> Result<bool, Cut> {
        loop {
            let left_ns = until_ns.saturating_sub(clock::monotonic_ns());
            if self.reaped.is_some() || self.ends_within(left_ns.min(LOOK_NS)) {
                return Ok(true);
            }
            if left_ns == 0 {
                return Ok(false);
            }
            check()?;
        }
    }

    fn ends_within(&self, ns: u64) -> bool {
        let Some(end) = &self.end else { return false };
        let millis = u16::try_from(ns.div_ceil(1_000_000)).unwrap_or(u16::MAX);
        let mut fds = [PollFd::new(end.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::from(millis)).is_ok_and(|ready| ready > 0)
    }

    /// Waits for its end and reaps it.
    ///
    /// # Errors
    ///
    /// An evidence failure when somebody else has reaped it.
    pub(super) fn reap(&mut self) -> Result<Ended, Failure> {
        if let Some(ended) = self.reaped {
            return Ok(ended);
        }
        let ended = sys::reap(self.pid).map_err(|error| {
            Failure::evidence(format!("cannot see how {} ended: {error}", self.name))
        })?;
        self.reaped = Some(ended);
        Ok(ended)
    }

    /// Sends its process a signal.
    pub(super) fn signal(&self, signal: Signal) {
        if self.reaped.is_none() {
            // It may have ended meanwhile.
            let _ = kill(self.pid, signal);
        }
    }

    /// Sends its process group a signal.
    pub(super) fn signal_group(&self, signal: Signal) {
        if self.reaped.is_none() {
            let _ = killpg(self.pid, signal);
        }
    }

    /// CPUs it may run on, read back.
    ///
    /// # Errors
    ///
    /// A host failure of the system call.
    pub(super) fn cpus(&self) -> Result<Vec<u32>, Failure> {
        let set = sched_getaffinity(self.pid).map_err(|errno| {
            Failure::host(format!(
                "cannot read the cpus of {}: {}",
                self.name,
                errno.desc()
            ))
        })?;
        Ok(process::listed(&set))
    }

    /// Whether a line on its standard error has matched the sign.
    pub(super) fn has_given_sign(&self) -> bool {
        self.stderr.matched()
    }

    /// Its standard output and error, once it has ended.
    pub(super) fn output(&self) -> (String, String) {
        (self.stdout.finish(), self.stderr.finish())
    }

    /// Its last lines, for a sentence.
    pub(super) fn last_words(&self) -> String {
        let (stdout, stderr) = match self.has_ended() {
            true => self.output(),
            false => (self.stdout.text(), self.stderr.text()),
        };
        match last_lines(&stderr).or_else(|| last_lines(&stdout)) {
            Some(line) => format!("its last words: \"{line}\""),
            None => "it said nothing".into(),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if self.reaped.is_none() {
            self.signal_group(Signal::SIGKILL);
            self.signal(Signal::SIGKILL);
            // One that may not be killed, as of another user, must not hold us up.
            if self.ends_within(KILL_LIMIT_NS) {
                let _ = sys::reap(self.pid);
            }
        }
    }
}

/// How a process ended, for a sentence: `exit 1`, or `SIGKILL`.
pub(super) fn ending(ended: &Ended) -> String {
    match (ended.status, ended.signal) {
        (Some(status), _) => format!("exit {status}"),
        (None, Some(signal)) => {
            Signal::try_from(signal).map_or_else(|_| format!("signal {signal}"), |s| s.to_string())
        }
        (None, None) => "no status".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(arguments: &[&str]) -> Launch {
        Launch {
            name: "test".into(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            env: [("WORD".to_owned(), "from env".to_owned())].into(),
            cwd: "/".into(),
            cpu: None,
            group: None,
            sign: None,
        }
    }

    #[test]
    fn it_runs_where_and_as_it_was_told_and_its_words_are_kept() {
        let cpu = *process::cpus().unwrap().last().unwrap();
        let mut program = Launch {
            cpu: Some(cpu),
            ..launch(&[
                "sh",
                "-c",
                "echo $WORD in $PWD; sleep 0.2; echo no >&2; exit 3",
            ])
        }
        .start()
        .unwrap();
        assert_eq!(program.cpus().unwrap(), [cpu]);
        let until_ns = clock::monotonic_ns() + 20_000_000_000;
        assert!(program.wait(until_ns, || Ok(())).unwrap());
        assert!(program.has_ended());
        let ended = program.reap().unwrap();
        assert_eq!(ending(&ended), "exit 3");
        assert_eq!(program.reap().unwrap(), ended);
        assert_eq!(program.output(), ("from env in /\n".into(), "no\n".into()));
        assert_eq!(program.last_words(), "its last words: \"no\"");
    }

    #[test]
    fn a_wait_ends_at_its_time_or_when_it_is_cut() {
        let program = launch(&["sleep", "60"]).start().unwrap();
        assert!(!program.wait(0, || Ok(())).unwrap());
        let cut = program.wait(u64::MAX, || Err(Cut::Cancelled)).unwrap_err();
        assert_eq!(cut, Cut::Cancelled);
        let pid = program.pid;
        drop(program);
        assert!(kill(pid, None).is_err(), "killed and reaped");
    }

    #[test]
    fn what_cannot_be_started_is_named() {
        let failure = launch(&["/nowhere/x"]).start().unwrap_err();
        assert_eq!(failure.code, 3);
        assert_eq!(
            failure.message,
            "cannot start /nowhere/x: No such file or directory (os error 2); install it, or \
             correct program.binary"
        );
        let failure = Launch {
            cwd: "/nowhere".into(),
            ..launch(&["true"])
        }
        .start()
        .unwrap_err();
        assert!(
            failure.message.contains("in /nowhere, which is no folder"),
            "{failure}"
        );
        let failure = Launch {
            cpu: Some(1023),
            ..launch(&["true"])
        }
        .start()
        .unwrap_err();
        assert!(
            failure.message.starts_with("cannot pin to cpu 1023"),
            "{failure}"
        );
    }
}
