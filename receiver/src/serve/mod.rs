//! As a child of the harness: one job over standard input and output, in the order of the line
//! protocol.
//!
//! `hello`; `prepare`, which says what the job is: a trial of the built-in capture, a trial of a
//! program of the user's, or passes over an input. What follows is the job's. An empty `stop`,
//! `bye`, the end of standard input, SIGINT, SIGTERM, SIGHUP and the deadline end it at any time
//! and at once. Nothing but messages goes to standard output.

mod capture;
mod outside;
mod passes;

use std::io::{self, BufReader};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use wiretrial_capture::source::libpcap_version;
use wiretrial_contract::control::{
    self, BEAT_LIMIT_NS, ChildError, FromChild, Hello, LineError, Reader, Role, ToChild,
};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::{clock, digest};

use self::capture::Capture;
use self::outside::Outside;
use self::passes::Passes;
use crate::foreign::{LiveNotice, PassesNotice};
use crate::instructions::Instructions;
use crate::{path, process};

/// Serves one job.
///
/// # Errors
///
/// Everything but `bye` and an empty `stop`; it has been said to the harness as `error` too.
pub fn run() -> Result<(), Failure> {
    let (events, inbox) = channel();
    // The server and its job are gone, and with them all they started, before an error is said.
    let result = Server::start(&events).and_then(|mut server| server.run(&inbox, &events));
    if let Err(failure) = &result {
        // The harness may be gone; then the exit code has to do.
        let _ = control::send(
            &mut io::stdout().lock(),
            &FromChild::Error(ChildError {
                code: failure.code,
                message: failure.message.clone(),
            }),
        );
    }
    result
}

enum Event {
    Message(Box<ToChild>),
    BadLine(LineError),
    EndOfInput,
    Signal,
    Capture(path::Notice),
    Outside(LiveNotice),
    Passes(PassesNotice),
}

/// Where the conversation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Started,
    Ready,
    Armed,
    Stopping,
    Reported,
}

/// What the process was prepared for.
#[derive(Debug)]
enum Job {
    Capture(Capture),
    Outside(Outside),
    Passes(Passes),
}

#[derive(Debug)]
struct Server {
    job: Option<Job>,
    instructions: Option<Instructions>,
    deadline_ns: Option<u64>,
    deadline_length_ns: u64,
    beat_ns: Option<u64>,
}

impl Server {
    fn start(events: &Sender<Event>) -> Result<Self, Failure> {
        // Before any thread is started, so that all are counted.
        let instructions = Instructions::of_process();
        let signal = events.clone();
        process::watch_signals(move || {
            // Without a receiver the process is ending anyway.
            let _ = signal.send(Event::Signal);
        })?;
        say(&FromChild::Hello(hello()?))?;
        let lines = events.clone();
        thread::Builder::new()
            .name("input".into())
            .spawn(move || read_lines(&lines))
            .map_err(|error| Failure::host(format!("cannot start the input thread: {error}")))?;
        Ok(Self {
            job: None,
            instructions,
            deadline_ns: None,
            deadline_length_ns: 0,
            beat_ns: None,
        })
    }

    fn run(&mut self, inbox: &Receiver<Event>, events: &Sender<Event>) -> Result<(), Failure> {
        loop {
            match self.next(inbox)? {
                Event::Message(message) => match *message {
                    ToChild::Bye => return Ok(()),
                    ToChild::Stop(stop) if stop.accepted.is_empty() => return Ok(()),
                    message => self.message(message, events)?,
                },
                Event::BadLine(LineError::Io(error)) => {
                    return Err(Failure::evidence(LineError::Io(error).to_string()));
                }
                Event::BadLine(error) => return Err(Failure::usage(error.to_string())),
                Event::EndOfInput => {
                    return Err(Failure::evidence("standard input ended before bye"));
                }
                Event::Signal => return Err(Failure::interrupted()),
                Event::Capture(notice) => {
                    if let Some(Job::Capture(job)) = &mut self.job {
                        job.notice(notice)?;
                    }
                }
                Event::Outside(notice) => {
                    if let Some(Job::Outside(job)) = &mut self.job {
                        job.notice(notice)?;
                    }
                }
                Event::Passes(notice) => {
                    if let Some(Job::Passes(job)) = &mut self.job {
                        job.notice(notice)?;
                    }
                }
            }
        }
    }

    /// The next event, or the failure of having waited too long for one.
    fn next(&self, inbox: &Receiver<Event>) -> Result<Event, Failure> {
        let beat_end = self.beat_ns.map(|ns| ns.saturating_add(BEAT_LIMIT_NS));
        let Some(end_ns) = self.deadline_ns.into_iter().chain(beat_end).min() else {
            return inbox
                .recv()
                .map_err(|_| Failure::evidence("nothing is left to wait for"));
        };
        let left_ns = end_ns.saturating_sub(clock::monotonic_ns());
        inbox
            .recv_timeout(Duration::from_nanos(left_ns))
            .map_err(|error| match error {
                RecvTimeoutError::Timeout if Some(end_ns) == self.deadline_ns => {
                    Failure::evidence(format!(
                        "the deadline of {} ms after prepare has passed",
                        self.deadline_length_ns / 1_000_000
                    ))
                }
                RecvTimeoutError::Timeout => Failure::evidence("no beat for 5 s"),
                RecvTimeoutError::Disconnected => Failure::evidence("nothing is left to wait for"),
            })
    }

    fn message(&mut self, message: ToChild, events: &Sender<Event>) -> Result<(), Failure> {
        match (message, &mut self.job) {
            (ToChild::Beat, _) => {
                self.beat_ns = Some(clock::monotonic_ns());
                Ok(())
            }
            (message @ (ToChild::PrepareGenerator(_) | ToChild::Probe | ToChild::Go), _) => {
                Err(not_ours(&message))
            }
            (ToChild::PrepareReceiver(prepare), None) => {
                self.limit(prepare.deadline_ns);
                let instructions = self.instructions.take();
                let capture = Capture::start(prepare, instructions, events)?;
                self.job = Some(Job::Capture(capture));
                Ok(())
            }
            (ToChild::PrepareOutside(prepare), None) => {
                self.limit(prepare.deadline_ns);
                // What a program costs is not measured under a counter that nobody reads.
                self.instructions = None;
                self.job = Some(Job::Outside(Outside::start(prepare, events)?));
                Ok(())
            }
            (ToChild::PreparePasses(prepare), None) => {
                self.limit(prepare.deadline_ns);
                let instructions = self.instructions.take();
                self.job = Some(Job::Passes(Passes::start(prepare, instructions, events)?));
                Ok(())
            }
            (ToChild::Bye, _) => unreachable!("bye has ended the loop"),
            (message, None) => Err(out_of_order(&message, Step::Started)),
            (message, Some(Job::Capture(job))) => job.message(&message),
            (message, Some(Job::Outside(job))) => job.message(&message),
            (message, Some(Job::Passes(job))) => job.message(&message),
        }
    }

    /// The process ends by itself `length_ns` from now on.
    fn limit(&mut self, length_ns: u64) {
        self.deadline_length_ns = length_ns;
        self.deadline_ns = Some(clock::monotonic_ns().saturating_add(length_ns));
    }
}

fn hello() -> Result<Hello, Failure> {
    Ok(Hello {
        role: Role::Receiver,
        protocol: control::PROTOCOL_RANGE,
        stamp: control::STAMP_RANGE,
        version: env!("CARGO_PKG_VERSION").into(),
        sha256: digest::sha256_self()
            .map_err(|error| Failure::host(format!("cannot read /proc/self/exe: {error}")))?,
        pid: std::process::id(),
        libpcap: Some(libpcap_version()),
    })
}

fn read_lines(events: &Sender<Event>) {
    let mut reader = Reader::new(BufReader::new(io::stdin()));
    loop {
        let (event, more) = match reader.receive() {
            Ok(Some(message)) => (Event::Message(Box::new(message)), true),
            Ok(None) => (Event::EndOfInput, false),
            Err(error) => (Event::BadLine(error), false),
        };
        if events.send(event).is_err() || !more {
            return;
        }
    }
}

fn say(message: &FromChild) -> Result<(), Failure> {
    control::send(&mut io::stdout().lock(), message)
        .map_err(|error| Failure::evidence(format!("the harness is gone: {error}")))
}

/// The type a message carries on its line.
fn kind(message: &ToChild) -> &'static str {
    match message {
        ToChild::PrepareReceiver(_)
        | ToChild::PrepareOutside(_)
        | ToChild::PreparePasses(_)
        | ToChild::PrepareGenerator(_) => "prepare",
        ToChild::Pass(_) => "pass",
        ToChild::Probe => "probe",
        ToChild::Go => "go",
        ToChild::Stop(_) => "stop",
        ToChild::Beat => "beat",
        ToChild::Bye => "bye",
    }
}

fn out_of_order(message: &ToChild, step: Step) -> Failure {
    Failure::usage(format!(
        "unexpected message \"{}\" when {}",
        kind(message),
        match step {
            Step::Started => "nothing is prepared",
            Step::Ready => "not armed",
            Step::Armed => "armed",
            Step::Stopping => "stopping",
            Step::Reported => "the report is out",
        }
    ))
}

fn not_ours(message: &ToChild) -> Failure {
    let kind = match message {
        ToChild::PrepareGenerator(_) => "prepare of a generator",
        other => kind(other),
    };
    Failure::usage(format!("unexpected message \"{kind}\": this is a receiver"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiretrial_contract::control::Stop;

    fn server() -> Server {
        Server {
            job: None,
            instructions: None,
            deadline_ns: None,
            deadline_length_ns: 7_000_000,
            beat_ns: None,
        }
    }

    #[test]
    fn the_earlier_of_deadline_and_missing_beat_ends_the_wait() {
        let (_events, inbox) = channel();
        let cases = [
            (
                Some(1),
                None,
                "the deadline of 7 ms after prepare has passed",
            ),
            (None, Some(0), "no beat for 5 s"),
            (Some(u64::MAX), Some(0), "no beat for 5 s"),
            (
                Some(1),
                Some(u64::MAX),
                "the deadline of 7 ms after prepare has passed",
            ),
        ];
        for (deadline_ns, beat_ns, words) in cases {
            let server = Server {
                deadline_ns,
                beat_ns,
                ..server()
            };
            let failure = server.next(&inbox).err().unwrap();
            assert_eq!((failure.code, failure.message.as_str()), (4, words));
        }
    }

    #[test]
    fn a_beat_is_taken_before_a_prepare_and_a_generators_messages_never() {
        let (events, _inbox) = channel();
        let mut server = server();
        server.message(ToChild::Beat, &events).unwrap();
        assert!(server.beat_ns.take().is_some());
        for message in [ToChild::Probe, ToChild::Go] {
            assert_eq!(server.message(message, &events).unwrap_err().code, 2);
        }
        let stop = ToChild::Stop(Stop { accepted: vec![1] });
        let failure = server.message(stop, &events).unwrap_err();
        assert_eq!(
            failure.message,
            "unexpected message \"stop\" when nothing is prepared"
        );
    }
}
