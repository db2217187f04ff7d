//! The job of passes over an input.

use std::sync::mpsc::Sender;

use wiretrial_contract::control::{FromChild, PassesPrepare, Ready, ToChild};
use wiretrial_contract::failure::Failure;

use super::{Event, kind, say};
use crate::foreign::{MOST_PASSES, Passes as Worker, PassesNotice};
use crate::instructions::Instructions;

/// Passes under way, one at a time.
#[derive(Debug)]
pub(super) struct Passes {
    worker: Worker,
    idle: bool,
    run: u64,
}

impl Passes {
    /// Gets ready; `ready` comes when a pass can run.
    pub(super) fn start(
        prepare: PassesPrepare,
        instructions: Option<Instructions>,
        events: &Sender<Event>,
    ) -> Result<Self, Failure> {
        let notices = events.clone();
        let worker = Worker::start(prepare, instructions, move |notice| {
            // Without a receiver the process is ending anyway.
            let _ = notices.send(Event::Passes(notice));
        })?;
        Ok(Self {
            worker,
            idle: false,
            run: 0,
        })
    }

    pub(super) fn message(&mut self, message: &ToChild) -> Result<(), Failure> {
        match message {
            ToChild::Pass(pass) if self.idle => {
                if self.run == MOST_PASSES {
                    return Err(Failure::usage(format!(
                        "pass: {MOST_PASSES} have run; one receiver runs no more"
                    )));
                }
                self.run += 1;
                self.idle = false;
                self.worker.pass(pass.input);
                Ok(())
            }
            other => Err(Failure::usage(format!(
                "unexpected message \"{}\" when {}",
                kind(other),
                match (self.idle, self.run) {
                    (true, _) => "passes are prepared",
                    (false, 0) => "not ready",
                    (false, _) => "a pass runs",
                }
            ))),
        }
    }

    pub(super) fn notice(&mut self, notice: PassesNotice) -> Result<(), Failure> {
        match notice {
            PassesNotice::Ready(ready) => {
                self.idle = true;
                say(&FromChild::Ready(Ready::Passes(ready)))
            }
            PassesNotice::Report(report) => {
                self.idle = true;
                say(&FromChild::PassReport(report))
            }
            PassesNotice::Failed(failure) => Err(failure),
        }
    }
}
