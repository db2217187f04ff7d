//! The generator as a child of the harness: line messages in, line messages out.
//!
//! The order is hello, `prepare` -> ready, `probe` (several times or never), `go` -> done and
//! report, `bye`. `stop` ends sending at once and is answered with done and report of what was
//! sent; before `go` it leaves only `bye`. `bye`, the end of stdin, a signal, the deadline and,
//! once the harness has said `beat`, five seconds without another end the process at once, at any
//! time.

use std::io::{BufRead, Write};
use std::process;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use wiretrial_contract::control::{
    self, BEAT_LIMIT_NS, ChildError, FromChild, GeneratorPrepare, Hello, PROBE_ATTEMPTS,
    PROTOCOL_RANGE, Ready, Role, STAMP_RANGE, ToChild,
};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::units::Nanos;
use wiretrial_contract::{clock, digest};

use crate::event::{self, Event};
use crate::senders::{self, Senders};

/// Serves one trial over `input` and `out`.
///
/// # Errors
///
/// Why the process ends other than by `bye`; said to the harness as `error` before.
pub fn run(input: impl BufRead + Send + 'static, out: &mut impl Write) -> Result<(), Failure> {
    let outcome = conduct(input, out);
    if let Err(failure) = &outcome {
        let error = FromChild::Error(ChildError {
            code: failure.code,
            message: failure.message.clone(),
        });
        // Whoever closed the pipe has no use for it.
        let _ = control::send(out, &error);
    }
    outcome
}

fn conduct(input: impl BufRead + Send + 'static, out: &mut impl Write) -> Result<(), Failure> {
    let (events, happened) = mpsc::channel();
    let no_thread = |error| Failure::host(format!("cannot watch for messages: {error}"));
    event::watch_signals(events.clone()).map_err(no_thread)?;
    say(out, &FromChild::Hello(hello()?))?;
    event::watch_input(input, events.clone()).map_err(no_thread)?;
    Conversation {
        out,
        events,
        happened,
        deadline: None,
        beat_by: None,
    }
    .hold()
}

fn hello() -> Result<Hello, Failure> {
    Ok(Hello {
        role: Role::Generator,
        protocol: PROTOCOL_RANGE,
        stamp: STAMP_RANGE,
        version: env!("CARGO_PKG_VERSION").into(),
        sha256: digest::sha256_self()
            .map_err(|error| Failure::host(format!("cannot read /proc/self/exe: {error}")))?,
        pid: process::id(),
        libpcap: None,
    })
}

/// Where the conversation stands.
enum Step {
    Hello,
    Open(Senders, u32),
    Sending(Senders),
    Over,
}

impl Step {
    fn name(&self) -> &'static str {
        match self {
            Self::Hello => "before prepare",
            Self::Open(..) => "after prepare",
            Self::Sending(_) => "while sending",
            Self::Over => "after the end",
        }
    }
}

struct Conversation<'a, W> {
    out: &'a mut W,
    events: Sender<Event>,
    happened: Receiver<Event>,
    deadline: Option<Limit>,
    beat_by: Option<Limit>,
}

/// A time by which the process ends itself, and why.
struct Limit {
    at_ns: u64,
    why: String,
}

impl<W: Write> Conversation<'_, W> {
    fn hold(mut self) -> Result<(), Failure> {
        let mut step = Step::Hello;
        loop {
            let message = match self.next()? {
                Event::Said(ToChild::Bye) => return Ok(()),
                Event::Said(message) => message,
                Event::Broken(error) => return Err(Failure::usage(error.to_string())),
                Event::Ended => return Err(Failure::evidence("the harness is gone")),
                Event::Signal => return Err(Failure::interrupted()),
                Event::Finished { sender, tally } => {
                    if let Step::Sending(senders) = &mut step
                        && senders.finished(sender, tally)?
                    {
                        let report = senders.report();
                        say(self.out, &FromChild::Done(senders::done(&report)))?;
                        say(self.out, &FromChild::GeneratorReport(Box::new(report)))?;
                        step = Step::Over;
                    }
                    continue;
                }
            };
            step = self.answer(step, message)?;
        }
    }

    fn answer(&mut self, step: Step, message: ToChild) -> Result<Step, Failure> {
        Ok(match (step, message) {
            (step, ToChild::Beat) => {
                self.beat_by = Some(Limit {
                    at_ns: clock::monotonic_ns() + BEAT_LIMIT_NS,
                    why: format!("no beat for {}; the harness is lost", Nanos(BEAT_LIMIT_NS)),
                });
                step
            }
            (Step::Hello, ToChild::PrepareGenerator(prepare)) => {
                Step::Open(self.prepare(prepare)?, 0)
            }
            (Step::Open(mut senders, probes), ToChild::Probe) => {
                if probes == PROBE_ATTEMPTS {
                    return Err(Failure::usage(format!(
                        "more than {PROBE_ATTEMPTS} probes; the receiver sees none of them"
                    )));
                }
                senders.probe();
                Step::Open(senders, probes + 1)
            }
            (Step::Open(mut senders, _), ToChild::Go) => {
                senders.go();
                Step::Sending(senders)
            }
            (Step::Sending(senders), ToChild::Stop(_)) => {
                senders.stop();
                Step::Sending(senders)
            }
            (_, ToChild::Stop(_)) => Step::Over,
            (step, message) => {
                return Err(Failure::usage(format!(
                    "{} {}; the order is prepare, probe, go, bye",
                    name(&message),
                    step.name()
                )));
            }
        })
    }

    fn prepare(&mut self, prepare: GeneratorPrepare) -> Result<Senders, Failure> {
        let limit_ns = prepare.deadline_ns;
        let senders = Senders::open(prepare, &self.events)?;
        self.deadline = Some(Limit {
            at_ns: clock::monotonic_ns().saturating_add(limit_ns),
            why: format!(
                "the deadline of {} after prepare has passed",
                Nanos(limit_ns)
            ),
        });
        say(
            self.out,
            &FromChild::Ready(Ready::Generator(senders.ready())),
        )?;
        Ok(senders)
    }

    fn next(&self) -> Result<Event, Failure> {
        let limits = [&self.deadline, &self.beat_by];
        let next = limits.into_iter().flatten().min_by_key(|limit| limit.at_ns);
        let gone = || Failure::evidence("nothing can happen any more");
        let Some(limit) = next else {
            return self.happened.recv().map_err(|_| gone());
        };
        let left_ns = limit.at_ns.saturating_sub(clock::monotonic_ns());
        let event = self.happened.recv_timeout(Duration::from_nanos(left_ns));
        event.map_err(|error| match error {
            RecvTimeoutError::Timeout => Failure::evidence(limit.why.clone()),
            RecvTimeoutError::Disconnected => gone(),
        })
    }
}

fn say(out: &mut impl Write, message: &FromChild) -> Result<(), Failure> {
    control::send(out, message)
        .map_err(|error| Failure::evidence(format!("the harness does not listen: {error}")))
}

fn name(message: &ToChild) -> &'static str {
    match message {
        ToChild::PrepareReceiver(_) | ToChild::PrepareOutside(_) | ToChild::PreparePasses(_) => {
            "prepare of a receiver"
        }
        ToChild::Pass(_) => "pass",
        ToChild::PrepareGenerator(_) => "prepare",
        ToChild::Probe => "probe",
        ToChild::Go => "go",
        ToChild::Stop(_) => "stop",
        ToChild::Beat => "beat",
        ToChild::Bye => "bye",
    }
}
