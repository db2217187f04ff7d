//! The job of a trial with a program of the user's.

use std::sync::mpsc::Sender;

use wiretrial_contract::control::{Done, FromChild, OutsidePrepare, Ready, ToChild};
use wiretrial_contract::failure::Failure;

use super::{Event, Step, out_of_order, say};
use crate::foreign::{Live, LiveNotice};
use crate::prepare;

/// A program under way.
#[derive(Debug)]
pub(super) struct Outside {
    step: Step,
    live: Live,
    flows: usize,
    packets: u64,
}

impl Outside {
    /// Starts it; `ready` comes when it captures.
    pub(super) fn start(prepare: OutsidePrepare, events: &Sender<Event>) -> Result<Self, Failure> {
        prepare::check_target(&prepare.interface, prepare.port, prepare.source_ports)?;
        let notices = events.clone();
        let (flows, packets) = (usize::from(prepare.source_ports.count), prepare.packets);
        let live = Live::start(prepare, move |notice| {
            // Without a receiver the process is ending anyway.
            let _ = notices.send(Event::Outside(notice));
        })?;
        Ok(Self {
            step: Step::Started,
            live,
            flows,
            packets,
        })
    }

    pub(super) fn message(&mut self, message: &ToChild) -> Result<(), Failure> {
        match message {
            ToChild::Stop(stop) if self.step == Step::Armed => {
                prepare::check_flows(&stop.accepted, self.flows)?;
                let accepted = stop
                    .accepted
                    .iter()
                    .fold(0_u64, |sum, n| sum.saturating_add(*n));
                if accepted > self.packets {
                    return Err(Failure::usage(format!(
                        "stop: accepted is {accepted}; {} were to be sent",
                        self.packets
                    )));
                }
                self.live.stop();
                self.step = Step::Stopping;
                Ok(())
            }
            other => Err(out_of_order(other, self.step)),
        }
    }

    pub(super) fn notice(&mut self, notice: LiveNotice) -> Result<(), Failure> {
        match notice {
            LiveNotice::Ready(ready) => {
                self.step = Step::Ready;
                say(&FromChild::Ready(Ready::Receiver(*ready)))
            }
            LiveNotice::Seen => say(&FromChild::Seen),
            LiveNotice::Armed => {
                self.step = Step::Armed;
                say(&FromChild::Armed)
            }
            LiveNotice::Drained => say(&FromChild::Done(Done::default())),
            LiveNotice::Report(report) => {
                self.step = Step::Reported;
                say(&FromChild::CountReport(report))
            }
            LiveNotice::Failed(failure) => Err(failure),
        }
    }
}
