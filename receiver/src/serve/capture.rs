//! The job of the built-in capture: one trial, captured and counted by the receiver itself.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use wiretrial_capture::source::Waker;
use wiretrial_contract::control::{Done, FromChild, Ready, ReceiverPrepare, ToChild};
use wiretrial_contract::failure::Failure;

use super::{Event, Step, out_of_order, say};
use crate::instructions::Instructions;
use crate::path::{self, Notice, Order, Start, Stop};
use crate::prepare;

/// A capture of ours that is open.
#[derive(Debug)]
pub(super) struct Capture {
    step: Step,
    order: Arc<Order>,
    waker: Waker,
    planned: Vec<u64>,
}

impl Capture {
    /// Opens everything and says `ready`.
    pub(super) fn start(
        prepare: ReceiverPrepare,
        instructions: Option<Instructions>,
        events: &Sender<Event>,
    ) -> Result<Self, Failure> {
        prepare::check(&prepare)?;
        let opened = path::open(&prepare)?;
        let ready = opened.ready.clone();
        let waker = opened.live.waker();
        let order = Arc::new(Order::new());
        let notices = events.clone();
        let notify = move |notice| {
            // Without a receiver the process is ending anyway.
            let _ = notices.send(Event::Capture(notice));
        };
        // The thread runs before `ready` is out, so that nothing sent after it waits for a start;
        // what it has to say waits in the inbox until then.
        path::spawn(
            opened,
            &prepare,
            Start::AfterProbe,
            instructions,
            Arc::clone(&order),
            notify,
        )?;
        say(&FromChild::Ready(Ready::Receiver(ready)))?;
        Ok(Self {
            step: Step::Ready,
            order,
            waker,
            planned: prepare.planned,
        })
    }

    pub(super) fn message(&mut self, message: &ToChild) -> Result<(), Failure> {
        match message {
            ToChild::Stop(stop) if self.step == Step::Armed => self.stop(&stop.accepted),
            other => Err(out_of_order(other, self.step)),
        }
    }

    pub(super) fn notice(&mut self, notice: Notice) -> Result<(), Failure> {
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

    fn stop(&mut self, accepted: &[u64]) -> Result<(), Failure> {
        prepare::check_flows(accepted, self.planned.len())?;
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
        self.waker.wake();
        self.step = Step::Stopping;
        Ok(())
    }
}
