//! All sender threads as one thing: open, probe, start, stop, report.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use wiretrial_contract::clock;
use wiretrial_contract::control::{Done, GeneratorPrepare, GeneratorReady, PROBE_BURST};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::report::{GeneratorReport, GroupTally};
use wiretrial_contract::stamp::Class;

use crate::edges::{BusyTime, Edges, Schedstat};
use crate::event::Event;
use crate::limits;
use crate::schedule::{Numbers, Schedule};
use crate::send::batch::{Batch, Datagrams};
use crate::send::sockets::Sockets;
use crate::tally::{self, GroupCounts, SenderTally};
use crate::worker::{self, Shared, Worker};

/// From `go` to the start of the schedule, ns: time for every sender to wake up.
const LEAD_NS: u64 = 2_000_000;

/// The senders of one `prepare`. They stop when this is dropped.
#[derive(Debug)]
pub struct Senders {
    prepare: GeneratorPrepare,
    shared: Arc<Shared>,
    starts: Vec<mpsc::Sender<u64>>,
    cpus: Vec<Vec<u32>>,
    probe: Batch,
    probe_numbers: Vec<Numbers>,
    probe_counts: Vec<GroupCounts>,
    process_cpu_at_go_ns: u64,
    tallies: Vec<Option<SenderTally>>,
}

impl Senders {
    /// Checks `prepare`, opens its sockets and starts its threads, which wait for [`Self::go`].
    /// Each says [`Event::Finished`] to `events` at its end.
    ///
    /// # Errors
    ///
    /// What [`Schedule::new`], [`Sockets::open`] and [`worker::settle`] refuse.
    pub fn open(prepare: GeneratorPrepare, events: &mpsc::Sender<Event>) -> Result<Self, Failure> {
        let schedule = Schedule::new(&prepare)?;
        let sockets = Sockets::open(&prepare)?;
        let payload = limits::payload(&prepare, limits::family(&prepare.groups[0]))?;
        // A thread that cannot be seen, as from another pid namespace, is none.
        let thread = prepare
            .receive_thread
            .and_then(|pid| Schedstat::of(pid).ok());
        let thread = thread.map(|thread| Box::new(thread) as Box<dyn BusyTime>);
        let shared = Arc::new(Shared {
            edges: Edges::new(&schedule, thread),
            schedule,
            sockets,
            identities: prepare
                .groups
                .iter()
                .map(|group| group.identity.into())
                .collect(),
            crowded: (1..prepare.senders as usize).contains(&prepare.cpus.len()),
            stop: AtomicBool::new(false),
        });
        let flows = &shared.schedule.flows;
        let mut senders = Self {
            starts: Vec::new(),
            cpus: Vec::new(),
            probe: Batch::new(1, payload, prepare.form),
            probe_numbers: flows.iter().map(|f| Numbers::new(*f)).collect(),
            probe_counts: flows.iter().map(|f| GroupCounts::new(*f)).collect(),
            process_cpu_at_go_ns: 0,
            tallies: (0..prepare.senders).map(|_| None).collect(),
            shared,
            prepare,
        };
        for sender in 0..senders.prepare.senders {
            senders.start_thread(sender, payload, events.clone())?;
        }
        Ok(senders)
    }

    /// What was opened.
    #[must_use]
    pub fn ready(&self) -> GeneratorReady {
        GeneratorReady {
            method: self.prepare.method,
            batch: self.prepare.batch,
            sources: self.shared.sockets.sources().to_vec(),
            cpus: self.cpus.clone(),
        }
    }

    /// Sends [`PROBE_BURST`] probe datagrams to each group, in turn over its flows.
    pub fn probe(&mut self) {
        for (group, flows) in self.shared.schedule.flows.iter().enumerate() {
            for flow in (0..*flows)
                .cycle()
                .take(usize::try_from(PROBE_BURST).unwrap_or(1))
            {
                let datagrams = Datagrams {
                    identity: self.shared.identities[group],
                    class: Class::Probe,
                    flow,
                    sequences: self.probe_numbers[group].take(flow, Class::Probe, 1),
                };
                let now_ns = clock::monotonic_ns();
                self.probe.send(
                    self.shared.sockets.of(group, flow),
                    &datagrams,
                    |_| now_ns,
                    now_ns,
                    &mut self.probe_counts[group],
                );
            }
        }
    }

    /// Starts the schedule, for all senders at one moment.
    pub fn go(&mut self) {
        self.process_cpu_at_go_ns = clock::process_cpu_ns();
        let start_ns = clock::monotonic_ns() + LEAD_NS;
        for start in self.starts.drain(..) {
            // A sender that is gone has said so by its event.
            let _ = start.send(start_ns);
        }
    }

    /// Tells all senders to stop; each ends within its current call or its current sleep.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Takes what a sender counted; says whether it was the last.
    ///
    /// # Errors
    ///
    /// The sender panicked.
    pub fn finished(
        &mut self,
        sender: usize,
        tally: Option<Box<SenderTally>>,
    ) -> Result<bool, Failure> {
        let Some(tally) = tally else {
            return Err(Failure::evidence(format!(
                "sender {sender} failed before its end; its standard error says why"
            )));
        };
        self.tallies[sender] = Some(*tally);
        Ok(self.tallies.iter().all(Option::is_some))
    }

    /// What was sent, when all have finished.
    #[must_use]
    pub fn report(&self) -> GeneratorReport {
        let tallies: Vec<SenderTally> = self.tallies.iter().flatten().cloned().collect();
        let groups: Vec<GroupTally> = self
            .prepare
            .groups
            .iter()
            .zip(&self.probe_counts)
            .enumerate()
            .map(|(at, (group, probes))| {
                let schedule = &self.shared.schedule;
                GroupTally {
                    receive_cpu_ns: self.shared.edges.of_group(schedule, at),
                    ..tally::group(schedule, at, &group.name, probes, &tallies)
                }
            })
            .collect();
        let cpu_ns = tallies.iter().map(|t| t.process_cpu_ns).max();
        GeneratorReport {
            method: self.prepare.method,
            batch: self.prepare.batch,
            senders: self.prepare.senders,
            cpus: self.cpus.clone(),
            scheduled_ns: self.shared.schedule.length_ns(),
            shifted_ns: tallies.iter().map(|t| t.shifted_ns).max().unwrap_or(0),
            longest_burst: tallies.iter().map(|t| t.longest_burst).max().unwrap_or(0),
            busy_share: tallies
                .iter()
                .map(SenderTally::busy_share)
                .fold(0.0, f64::max),
            process_cpu_ns: cpu_ns
                .unwrap_or(0)
                .saturating_sub(self.process_cpu_at_go_ns),
            involuntary_switches: tallies.iter().map(|t| t.involuntary_switches).sum(),
            groups,
        }
    }

    fn start_thread(
        &mut self,
        sender: u32,
        payload: u32,
        events: mpsc::Sender<Event>,
    ) -> Result<(), Failure> {
        let shared = Arc::clone(&self.shared);
        let (start, started) = mpsc::channel();
        let (settled, settling) = mpsc::channel();
        let cpus = &self.prepare.cpus;
        let cpu = cpus.iter().cycle().nth(sender as usize).copied();
        let (batch, form) = (self.prepare.batch, self.prepare.form);
        let max_burst = self.prepare.max_burst;
        thread::Builder::new()
            .name(format!("sender-{sender}"))
            .spawn(move || {
                let mut finish = Finish {
                    sender: sender as usize,
                    events,
                    tally: None,
                };
                // Pinned first, so that its buffers are touched where it will run.
                let outcome = worker::settle(cpu);
                let batch = Batch::new(batch, payload, form);
                let worker = Worker::new(shared, sender, batch, max_burst);
                let _ = settled.send(outcome);
                match started.recv() {
                    Ok(start_ns) => finish.tally = Some(Box::new(worker.run(start_ns))),
                    Err(mpsc::RecvError) => finish.tally = None,
                }
            })
            .map_err(|error| Failure::host(format!("cannot start sender {sender}: {error}")))?;
        let cpus = settling
            .recv()
            .map_err(|_| Failure::host(format!("sender {sender} failed while it got ready")))??;
        self.cpus.push(cpus);
        self.starts.push(start);
        Ok(())
    }
}

impl Drop for Senders {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Counted datagrams the kernel accepted, and when.
#[must_use]
pub fn done(report: &GeneratorReport) -> Done {
    let groups = &report.groups;
    Done {
        accepted: groups.iter().map(|g| g.accepted_per_flow.clone()).collect(),
        first_ns: groups.iter().filter_map(|g| g.first_ns).min(),
        last_ns: groups.iter().filter_map(|g| g.last_ns).max(),
    }
}

/// Says that a sender has ended, however it ended.
struct Finish {
    sender: usize,
    events: mpsc::Sender<Event>,
    tally: Option<Box<SenderTally>>,
}

impl Drop for Finish {
    fn drop(&mut self) {
        let _ = self.events.send(Event::Finished {
            sender: self.sender,
            tally: self.tally.take(),
        });
    }
}
