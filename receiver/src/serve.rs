//! As a child of the harness: one trial over standard input and output, in the order of the line
//! protocol.
//!
//! `hello`; `prepare` -> `ready`; `seen`; `armed`; `stop` -> `done`, `report`; `bye`. An empty
//! `stop`, `bye`, the end of standard input, SIGINT, SIGTERM and the deadline end it at any time
//! and at once. Nothing but messages goes to standard output.

use std::io::{self, BufReader};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use wiretrial_capture::source::{Waker, libpcap_version};
use wiretrial_contract::control::{
    self, BEAT_LIMIT_NS, ChildError, Done, FromChild, Hello, LineError, Reader, Ready,
    ReceiverPrepare, Role, ToChild,
};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::{clock, digest};

use crate::path::{self, Notice, Order, Start, Stop};
use crate::{prepare, process};

/// Serves one trial.
///
/// # Errors
///
/// Everything but `bye` and an empty `stop`; it has been said to the harness as `error` too.
pub fn run() -> Result<(), Failure> {
    let (events, inbox) = channel();
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
    Message(ToChild),
    BadLine(LineError),
    EndOfInput,
    Signal,
    Path(Notice),
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

#[derive(Debug)]
struct Server {
    step: Step,
    order: Arc<Order>,
    waker: Option<Waker>,
    planned: Vec<u64>,
    deadline_ns: Option<u64>,
    deadline_length_ns: u64,
    beat_ns: Option<u64>,
}

impl Server {
    fn start(events: &Sender<Event>) -> Result<Self, Failure> {
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
            step: Step::Started,
            order: Arc::default(),
            waker: None,
            planned: Vec::new(),
            deadline_ns: None,
            deadline_length_ns: 0,
            beat_ns: None,
        })
    }

    fn run(&mut self, inbox: &Receiver<Event>, events: &Sender<Event>) -> Result<(), Failure> {
        loop {
            match self.next(inbox)? {
                Event::Message(ToChild::Bye) => return Ok(()),
                Event::Message(ToChild::Stop(stop)) if stop.accepted.is_empty() => return Ok(()),
                Event::Message(message) => self.message(message, events)?,
                Event::BadLine(LineError::Io(error)) => {
                    return Err(Failure::evidence(LineError::Io(error).to_string()));
                }
                Event::BadLine(error) => return Err(Failure::usage(error.to_string())),
                Event::EndOfInput => {
                    return Err(Failure::evidence("standard input ended before bye"));
                }
                Event::Signal => return Err(Failure::interrupted()),
                Event::Path(notice) => self.notice(notice)?,
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
        match (message, self.step) {
            (ToChild::Beat, _) => {
                self.beat_ns = Some(clock::monotonic_ns());
                Ok(())
            }
            (ToChild::PrepareReceiver(prepare), Step::Started) => self.prepare(prepare, events),
            (ToChild::Stop(stop), Step::Armed) => self.stop(&stop.accepted),
            (ToChild::PrepareReceiver(_), step) => Err(out_of_order("prepare", step)),
            (ToChild::Stop(_), step) => Err(out_of_order("stop", step)),
            (ToChild::PrepareOutside(_) | ToChild::PreparePasses(_) | ToChild::Pass(_), _) => {
                Err(not_ours("prepare of a program"))
            }
            (ToChild::PrepareGenerator(_), _) => Err(not_ours("prepare of a generator")),
            (ToChild::Probe, _) => Err(not_ours("probe")),
            (ToChild::Go, _) => Err(not_ours("go")),
            (ToChild::Bye, _) => unreachable!("bye has ended the loop"),
        }
    }

    fn prepare(&mut self, prepare: ReceiverPrepare, events: &Sender<Event>) -> Result<(), Failure> {
        self.deadline_length_ns = prepare.deadline_ns;
        self.deadline_ns = Some(clock::monotonic_ns().saturating_add(prepare.deadline_ns));
        prepare::check(&prepare)?;
        let opened = path::open(&prepare)?;
        let ready = opened.ready.clone();
        self.waker = Some(opened.live.waker());
        let notices = events.clone();
        let notify = move |notice| {
            // Without a receiver the process is ending anyway.
            let _ = notices.send(Event::Path(notice));
        };
        // The thread runs before `ready` is out, so that nothing sent after it waits for a start;
        // what it has to say waits in the inbox until then.
        path::spawn(
            opened,
            &prepare,
            Start::AfterProbe,
            Arc::clone(&self.order),
            notify,
        )?;
        self.planned = prepare.planned;
        self.step = Step::Ready;
        say(&FromChild::Ready(Ready::Receiver(ready)))
    }

    fn stop(&mut self, accepted: &[u64]) -> Result<(), Failure> {
        if accepted.len() != self.planned.len() {
            return Err(Failure::usage(format!(
                "stop: accepted has {} flows; prepare had {}",
                accepted.len(),
                self.planned.len()
            )));
        }
        for (flow, (accepted, planned)) in accepted.iter().zip(&self.planned).enumerate() {
            if accepted > planned {
                return Err(Failure::usage(format!(
                    "stop: accepted of flow {flow} is {accepted}; {planned} were planned"
                )));
            }
        }
        let stop = Stop {
            accepted: Some(accepted.iter().sum()),
        };
        self.order.set(stop).expect("the step allows one stop only");
        self.waker
            .as_ref()
            .expect("armed means that a capture is open")
            .wake();
        self.step = Step::Stopping;
        Ok(())
    }

    fn notice(&mut self, notice: Notice) -> Result<(), Failure> {
        match notice {
            Notice::Seen => say(&FromChild::Seen),
            Notice::Armed => {
                self.step = Step::Armed;
                say(&FromChild::Armed)
            }
            Notice::Complete => Ok(()),
            Notice::Report(report) => {
                self.step = Step::Reported;
                say(&FromChild::Done(Done::default()))?;
                say(&FromChild::ReceiverReport(report))
            }
            Notice::Failed(failure) => Err(failure),
        }
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
            Ok(Some(message)) => (Event::Message(message), true),
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

fn out_of_order(kind: &str, step: Step) -> Failure {
    Failure::usage(format!(
        "unexpected message \"{kind}\" when {}",
        match step {
            Step::Started => "nothing is prepared",
            Step::Ready => "not armed",
            Step::Armed => "armed",
            Step::Stopping => "stopping",
            Step::Reported => "the report is out",
        }
    ))
}

fn not_ours(kind: &str) -> Failure {
    Failure::usage(format!("unexpected message \"{kind}\": this is a receiver"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> Server {
        Server {
            step: Step::Started,
            order: Arc::default(),
            waker: None,
            planned: Vec::new(),
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
    fn a_beat_is_taken_at_any_step_and_a_generators_messages_at_none() {
        let (events, _inbox) = channel();
        let mut server = server();
        for step in [
            Step::Started,
            Step::Ready,
            Step::Armed,
            Step::Stopping,
            Step::Reported,
        ] {
            server.step = step;
            server.message(ToChild::Beat, &events).unwrap();
            assert!(server.beat_ns.take().is_some());
            for message in [ToChild::Probe, ToChild::Go] {
                assert_eq!(server.message(message, &events).unwrap_err().code, 2);
            }
        }
    }
}
