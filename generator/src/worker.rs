//! One sender thread: wait, stamp, send, count.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::prctl;
use nix::sys::resource::{UsageWho, getrusage};
use nix::unistd::Pid;
use wiretrial_contract::clock;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::stamp::Identity;

use crate::edges::{self, Edges};
use crate::pacer::Pacer;
use crate::schedule::{Call, Numbers, Schedule};
use crate::send::batch::{Batch, Datagrams};
use crate::send::sockets::Sockets;
use crate::tally::SenderTally;

/// A sender sleeps until this long before a call is due and spins from there, ns: more than a
/// wake-up takes on a quiet machine.
const SPIN_NS: u64 = 100_000;
/// Shortest sleep worth a system call, ns.
const SHORTEST_SLEEP_NS: u64 = 50_000;
/// Longest sleep, ns, so that a stop is seen.
const LONGEST_SLEEP_NS: u64 = 50_000_000;

/// What the senders share.
#[derive(Debug)]
pub struct Shared {
    /// What is sent and when.
    pub schedule: Schedule,
    /// Where it goes.
    pub sockets: Sockets,
    /// What the receiving thread did between slices.
    pub edges: Edges,
    /// Identity of each group's datagrams.
    pub identities: Vec<Identity>,
    /// Whether senders share a CPU: then one that waits must let the others run.
    pub crowded: bool,
    /// Tells the senders to stop at once.
    pub stop: AtomicBool,
}

/// One sender, ready to start.
#[derive(Debug)]
pub struct Worker {
    shared: Arc<Shared>,
    sender: u32,
    batch: Batch,
    pacer: Pacer,
    numbers: Vec<Numbers>,
    tally: SenderTally,
}

impl Worker {
    /// The sender with number `sender`. Everything it needs while sending is allocated here.
    #[must_use]
    pub fn new(shared: Arc<Shared>, sender: u32, batch: Batch, max_burst: u32) -> Self {
        let schedule = &shared.schedule;
        Self {
            sender,
            batch,
            pacer: Pacer::new(max_burst),
            numbers: schedule.flows.iter().map(|f| Numbers::new(*f)).collect(),
            tally: SenderTally::new(schedule),
            shared,
        }
    }

    /// Sends this sender's share, with the start of the schedule at `start_ns` on
    /// `CLOCK_MONOTONIC`, until it is done or told to stop.
    #[must_use]
    pub fn run(mut self, start_ns: u64) -> SenderTally {
        let shared = Arc::clone(&self.shared);
        let switches = involuntary_switches();
        let woken_ns = clock::monotonic_ns();
        let mut now_ns = woken_ns;
        let mut slice = None;
        for call in shared.schedule.calls(self.sender) {
            let due_ns = start_ns + call.due_ns;
            let begin_ns = self.pacer.next(due_ns, call.count, now_ns);
            let enters = slice.replace(call.slice) != Some(call.slice);
            let reads = enters && shared.edges.wanted(call.slice);
            if reads && !self.read_ahead(call.slice, begin_ns) {
                break;
            }
            let Some(at_ns) = self.wait(begin_ns) else {
                break;
            };
            self.pacer.began(due_ns, at_ns);
            self.tally.began(&shared.schedule, &call, at_ns);
            now_ns = self.send(&call, start_ns, at_ns);
            if reads {
                // Unless there was time before the call.
                shared.edges.entered(call.slice);
            }
        }
        self.tally.elapsed_ns = clock::monotonic_ns() - woken_ns;
        self.tally.process_cpu_ns = clock::process_cpu_ns();
        self.tally.shifted_ns = self.pacer.shifted_ns();
        self.tally.longest_burst = self.pacer.longest_burst();
        self.tally.involuntary_switches = involuntary_switches()
            .zip(switches)
            .map(|(after, before)| after.saturating_sub(before));
        shared.edges.left();
        self.tally
    }

    /// Reads at the start of `slice`, shortly before its first call begins at `begin_ns`, if there is
    /// time; `false` when told to stop.
    fn read_ahead(&mut self, slice: usize, begin_ns: u64) -> bool {
        let read_ns = begin_ns.saturating_sub(edges::LEAD_NS);
        let Some(at_ns) = self.wait(read_ns) else {
            return false;
        };
        if at_ns < read_ns + edges::LEAD_NS / 2 {
            self.shared.edges.entered(slice);
        }
        true
    }

    /// Waits for `begin_ns`; the clock then, or `None` when told to stop.
    fn wait(&mut self, begin_ns: u64) -> Option<u64> {
        loop {
            if self.shared.stop.load(Ordering::Relaxed) {
                return None;
            }
            let now_ns = clock::monotonic_ns();
            if now_ns >= begin_ns {
                return Some(now_ns);
            }
            if begin_ns - now_ns > SPIN_NS + SHORTEST_SLEEP_NS {
                clock::sleep_until((begin_ns - SPIN_NS).min(now_ns + LONGEST_SLEEP_NS));
                self.tally.slept_ns += clock::monotonic_ns() - now_ns;
            } else if self.shared.crowded {
                std::thread::yield_now();
            } else {
                core::hint::spin_loop();
            }
        }
    }

    fn send(&mut self, call: &Call, start_ns: u64, at_ns: u64) -> u64 {
        let Shared {
            schedule,
            sockets,
            identities,
            ..
        } = &*self.shared;
        let slice = &schedule.slices[call.slice];
        let group = slice.group;
        let flows = u64::from(schedule.flows[group]);
        let mut now_ns = at_ns;
        for part in schedule.parts(call) {
            let datagrams = Datagrams {
                identity: identities[group],
                class: slice.class,
                flow: part.flow,
                sequences: self.numbers[group].take(part.flow, slice.class, part.count),
            };
            let intended = |m| start_ns + schedule.due_ns(call.slice, part.first + flows * m);
            now_ns = self.batch.send(
                sockets.of(group, part.flow),
                &datagrams,
                intended,
                now_ns,
                &mut self.tally.groups[group],
            );
        }
        now_ns
    }
}

/// Prepares the calling thread for sending: keeps it on `cpu`, if there is one, and makes its
/// sleeps as exact as the kernel can (PR_SET_TIMERSLACK of prctl(2)). Returns the CPUs that it may
/// run on, read back.
///
/// # Errors
///
/// The CPU does not exist or is not allowed to this process.
pub fn settle(cpu: Option<u32>) -> Result<Vec<u32>, Failure> {
    // Without it sleeps end up to 50 us late, which the spin covers.
    let _ = prctl::set_timerslack(1);
    let this = Pid::from_raw(0);
    if let Some(cpu) = cpu {
        let mut only = CpuSet::new();
        only.set(cpu as usize)
            .and_then(|()| sched_setaffinity(this, &only))
            .map_err(|error| {
                Failure::host(format!(
                    "a sender cannot be kept on cpu {cpu} ({error}); allowed here: {:?}",
                    allowed_cpus().unwrap_or_default()
                ))
            })?;
    }
    allowed_cpus()
}

fn allowed_cpus() -> Result<Vec<u32>, Failure> {
    let set = sched_getaffinity(Pid::from_raw(0))
        .map_err(|error| Failure::host(format!("cannot read a sender's cpus: {error}")))?;
    let cpus = (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false));
    Ok(cpus.filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

fn involuntary_switches() -> Option<u64> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).ok()?;
    u64::try_from(usage.involuntary_context_switches()).ok()
}
