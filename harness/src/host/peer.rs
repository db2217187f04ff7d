//! A process at the other end of a line protocol: its pipes, its deadlines and its end.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use wiretrial_contract::control::{
    ChildError, Hello, LineError, Message, PROTOCOL_RANGE, Reader, Role, common_version, quote,
    send,
};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::{clock, exit};

use super::interrupt::{Interrupt, LOOK_NS, deadline};

/// How long a process may take to say hello.
pub(super) const HELLO: Duration = Duration::from_secs(5);
/// How long it may take to read a message.
const SEND: Duration = Duration::from_secs(10);
/// How long it may take to end after `bye`, and to be seen as ended after its pipe closed.
const END: Duration = Duration::from_secs(1);
/// Messages kept while nobody asks for them; then the process waits.
const WAITING_MESSAGES: usize = 64;

/// What a process sends.
pub(super) trait Reply: Message + Send + 'static {
    /// The failure it reports, if it does.
    fn error(&self) -> Option<&ChildError>;
}

/// Where a process's standard error went, to quote its last line.
#[derive(Debug)]
pub(super) struct Complaints {
    /// The file.
    pub(super) path: PathBuf,
    /// Its length when the process started.
    pub(super) from: u64,
    /// The table of interfaces it sees, in the form of /proc/net/dev; for a process whose start
    /// depends on one.
    pub(super) interfaces: Option<PathBuf>,
}

impl Complaints {
    /// The interfaces there are, for a process that ended before it was ready.
    fn interfaces_here(&self) -> Option<String> {
        let table = std::fs::read_to_string(self.interfaces.as_ref()?).ok()?;
        let names: Vec<&str> = table
            .lines()
            .filter_map(|line| Some(line.split_once(':')?.0.trim()))
            .collect();
        Some(names.join(", "))
    }
}

/// A running process that sends messages of type `M`. Dropping it kills it, and its process group.
#[derive(Debug)]
pub(super) struct Peer<M> {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Result<M, LineError>>,
    complaints: Option<Complaints>,
    interrupt: Interrupt,
}

impl<M: Reply> Peer<M> {
    /// Starts `command` with pipes as standard input and output. It must make a process group of
    /// its own.
    ///
    /// # Errors
    ///
    /// [`Failure::host`]: it cannot be started.
    pub(super) fn start(
        name: &str,
        mut command: Command,
        complaints: Option<Complaints>,
        interrupt: Interrupt,
    ) -> Result<Self, Failure> {
        let cannot =
            |what: &str, error: io::Error| Failure::host(format!("cannot {what} {name}: {error}"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            let program = command.get_program().to_string_lossy();
            cannot(
                "start",
                io::Error::new(error.kind(), format!("{program}: {error}")),
            )
        })?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (sender, messages) = sync_channel(WAITING_MESSAGES);
        // From here on a failure drops the peer, which ends the process.
        let peer = Self {
            name: name.to_owned(),
            child,
            stdin,
            messages,
            complaints,
            interrupt,
        };
        if let Some(stdin) = &peer.stdin {
            // A process that does not read must not hold the harness: writing waits in poll.
            fcntl(stdin.as_fd(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK))
                .map_err(|errno| cannot("talk to", errno.into()))?;
        }
        if let Some(stdout) = stdout {
            thread::Builder::new()
                .name(format!("hear {name}"))
                .spawn(move || hear_all(stdout, &sender))
                .map_err(|error| cannot("listen to", error))?;
        }
        Ok(peer)
    }

    /// Checks a hello: the role it should have and a protocol version in common.
    ///
    /// # Errors
    ///
    /// [`Failure::usage`] for the version, [`Failure::evidence`] for the role.
    pub(super) fn check_hello(&self, hello: &Hello, role: Role) -> Result<(), Failure> {
        let name = &self.name;
        if hello.role != role {
            let said = hello.role;
            return Err(Failure::evidence(format!(
                "{name} says that it is a {said}; give the path of a {role}"
            )));
        }
        if common_version(PROTOCOL_RANGE, hello.protocol).is_none() {
            let ([low, high], [our_low, our_high]) = (hello.protocol, PROTOCOL_RANGE);
            return Err(Failure::usage(format!(
                "{name} speaks protocol {low} to {high}, this harness {our_low} to {our_high}; use a \
                 harness and a {role} that share one"
            )));
        }
        Ok(())
    }

    /// Says something to it. `due` is what it owes, for the sentence.
    ///
    /// # Errors
    ///
    /// It is gone or does not read, or a signal came.
    pub(super) fn say(&mut self, message: &impl Message, due: &str) -> Result<(), Failure> {
        let mut line = Vec::new();
        send(&mut line, message).map_err(|error| self.failure(error))?;
        let deadline = deadline(SEND);
        let mut rest = &line[..];
        while !rest.is_empty() {
            let Some(stdin) = &mut self.stdin else {
                return Err(self.ended(due));
            };
            match stdin.write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    return Err(self.last_words(due));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.interrupt.check()?;
                    if clock::monotonic_ns() >= deadline {
                        let seconds = SEND.as_secs();
                        return Err(self
                            .blame(&format!("read nothing for {seconds} s while {due} was due")));
                    }
                    wait_writable(stdin).map_err(|errno| self.failure(errno))?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    self.interrupt.check()?
                }
                Err(error) => return Err(self.failure(error)),
            }
        }
        Ok(())
    }

    /// Hears from it within `limit`; silence is a failure. `due` is what it owes, for the sentence.
    ///
    /// # Errors
    ///
    /// As [`Peer::listen`], and silence.
    pub(super) fn hear(&mut self, limit: Duration, due: &str) -> Result<M, Failure> {
        self.listen(limit, due)?.ok_or_else(|| {
            let seconds = limit.as_secs_f64();
            self.blame(&format!("said nothing for {seconds} s while {due} was due"))
        })
    }

    /// Hears from it within `limit`; `None` when it said nothing.
    ///
    /// # Errors
    ///
    /// It is gone, said something that is not a message, or a signal came.
    pub(super) fn listen(&mut self, limit: Duration, due: &str) -> Result<Option<M>, Failure> {
        let deadline = deadline(limit);
        loop {
            self.interrupt.check()?;
            let left = deadline.saturating_sub(clock::monotonic_ns());
            let wait = Duration::from_nanos(left.min(LOOK_NS));
            match self.messages.recv_timeout(wait) {
                Ok(Ok(message)) => return Ok(Some(message)),
                Ok(Err(error)) => return Err(self.failure(error)),
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended(due)),
                Err(RecvTimeoutError::Timeout) if left <= LOOK_NS => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// The process has closed its input: what it said before, or else how it ended. A message that
    /// is no failure is dropped, since nobody can answer it.
    fn last_words(&mut self, due: &str) -> Failure {
        while let Ok(message) = self.hear(END, due) {
            if let Some(failure) = self.reported(&message) {
                return failure;
            }
        }
        self.ended(due)
    }

    /// The failure a message reports, in its own code and with this process's name.
    pub(super) fn reported(&self, message: &M) -> Option<Failure> {
        let error = message.error()?;
        Some(Failure {
            code: error.code,
            message: format!("{}: {}", self.name, error.message),
        })
    }

    /// Says `bye`, gives it a second to end, and kills it if it has not.
    pub(super) fn end(&mut self, bye: &impl Message) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            // It may end at the same moment, which is what is wanted.
            let _ = self.say(bye, "its end");
        }
        self.stdin = None;
        if self.wait(END).is_none() {
            self.kill();
        }
    }

    /// Its name in messages.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Its process id.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, in a sentence; a process that only closed its pipe is killed first.
    fn ended(&mut self, due: &str) -> Failure {
        let Some(status) = self.wait(END) else {
            self.kill();
            return self.blame(&format!("closed its output before {due}"));
        };
        // A refused command line and a missing right have these codes in every child.
        let code = match status.code() {
            Some(code) if code == i32::from(exit::USAGE) => exit::USAGE,
            Some(code) if code == i32::from(exit::HOST) => exit::HOST,
            _ => exit::EVIDENCE,
        };
        // A hello is not yet ready.
        let due = if due == "hello" { "ready" } else { due };
        let mut message = format!("{} ended before {due} ({})", self.name, how(status));
        if let Some(line) = self.complaints.as_ref().and_then(last_line) {
            message.push_str(&format!(": \"{line}\""));
        }
        let here = self
            .complaints
            .as_ref()
            .and_then(Complaints::interfaces_here);
        if let Some(names) = here.filter(|_| due == "ready") {
            message.push_str(&format!("; interfaces here: {names}"));
        }
        Failure { code, message }
    }

    /// A failure in something about it.
    fn failure(&self, cause: impl std::fmt::Display) -> Failure {
        Failure::evidence(format!("{}: {cause}", self.name))
    }

    /// A failure in what it did or did not do.
    fn blame(&self, what: &str) -> Failure {
        Failure::evidence(format!("{} {what}", self.name))
    }
}

impl<M> Peer<M> {
    fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let deadline = deadline(limit);
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            let now = clock::monotonic_ns();
            if now >= deadline {
                return None;
            }
            clock::sleep_until(now + 2_000_000);
        }
    }

    /// Kills it with all it started in its group, unless it has been waited for: its number may be
    /// another's then.
    fn kill(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        if let Ok(pid) = i32::try_from(self.child.id()) {
            // It may have ended just now; it stays a zombie until the wait below.
            let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl<M> Drop for Peer<M> {
    fn drop(&mut self) {
        self.kill();
    }
}

fn hear_all<M: Message>(stdout: ChildStdout, sender: &SyncSender<Result<M, LineError>>) {
    let mut reader = Reader::after_noise(BufReader::new(stdout));
    loop {
        let heard = match reader.receive() {
            Ok(Some(message)) => Ok(message),
            Ok(None) => return,
            Err(error) => Err(error),
        };
        let last = heard.is_err();
        // After an error the stream means nothing; without a listener neither.
        if sender.send(heard).is_err() || last {
            return;
        }
    }
}

fn wait_writable(pipe: &ChildStdin) -> nix::Result<()> {
    let timeout = u16::try_from(LOOK_NS / 1_000_000).map_or(PollTimeout::ZERO, PollTimeout::from);
    match poll(
        &mut [PollFd::new(pipe.as_fd(), PollFlags::POLLOUT)],
        timeout,
    ) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "unknown status".into(),
    }
}

/// The last line that is not blank, of at most the last 4 KiB.
fn last_line(complaints: &Complaints) -> Option<String> {
    let mut file = File::open(&complaints.path).ok()?;
    let length = file.metadata().ok()?.len();
    let from = complaints.from.max(length.saturating_sub(4096));
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    file.take(4096).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(quote(line))
}
