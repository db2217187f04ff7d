//! The direct engine: frames are counted inside libpcap's callback, on the capture thread.
//!
//! The only per-frame work is the account. Clocks are read per dispatch, a little more often where
//! latencies are taken, and the CPU clock, which is a system call, only where a report needs it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use wiretrial_capture::source::Live;
use wiretrial_contract::clock::{self, ClockPair};
use wiretrial_contract::control::ReceiverPrepare;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::report::{ReceiverReport, Sample};

use super::counters::Totals;
use super::watch::Watch;
use super::{Notice, Opened, Order, Stop};
use crate::account::{Account, HandOver, Kind};
use crate::drain::{Drain, Rule};
use crate::failure::of_capture;
use crate::instructions::{self, Instructions};
use crate::process::{self, Usage};
use crate::sink::Sink;

/// Most frames a dispatch hands over: their hand-over shares one reading of the clock, and an
/// overloaded capture still looks at its orders.
const BATCH: usize = 512;
/// Dispatches after the counters were read, at most; the ring is empty before that as a rule.
const LAST_DISPATCHES: u32 = 64;
/// Least quiet time between the last probe and the start of the counters, ns.
const LEAST_QUIET_NS: u64 = 20_000_000;
/// Longest time between two readings of libpcap's counters while frames come, ns. 32-bit counters
/// wrap after five minutes at 14 million frames a second.
const SAMPLE_NS: u64 = 30_000_000_000;

/// Frames that share a reading of the clocks where latencies are taken: a few microseconds.
const FRAMES_A_READING: u32 = 64;

/// What has to happen before copies are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// A probe datagram has come and it is quiet again.
    AfterProbe,
    /// Nothing.
    AtOnce,
}

/// Starts the capture thread. Wake its capture after setting `order`. `instructions` counts those of
/// this process.
///
/// # Errors
///
/// A host failure when no thread can be started.
pub fn spawn(
    opened: Opened,
    prepare: &ReceiverPrepare,
    start: Start,
    instructions: Option<Instructions>,
    order: Arc<Order>,
    notify: impl Fn(Notice) + Send + 'static,
) -> Result<(), Failure> {
    let mut account = Account::new(prepare);
    // By hand the sender may be on another host, whose clock is another.
    if start == Start::AfterProbe {
        account.measure_latency();
    }
    let mut engine = Direct {
        account,
        live: opened.live,
        sink: opened.sink,
        timeout_ns: prepare.capture.timeout_ns,
        promiscuous: prepare.capture.promiscuous,
        drain_limit_ns: prepare.drain_limit_ns,
        quiet_ns: prepare.quiet_ns,
        order,
        totals: None,
        sampled_ns: 0,
        watch: None,
        dispatches: 0,
        spent: Spent::by(instructions),
        first_ns: None,
        last_real_ns: None,
        start_up_cpu_ns: clock::process_cpu_ns(),
    };
    let work = move || {
        let result = catch_unwind(AssertUnwindSafe(|| engine.run(start, &notify)));
        let result = result
            .unwrap_or_else(|_| Err(Failure::evidence("the capture thread failed an invariant")));
        notify(match result {
            Ok(report) => Notice::Report(Box::new(report)),
            Err(failure) => Notice::Failed(failure),
        });
    };
    thread::Builder::new()
        .name("capture".into())
        .spawn(work)
        .map_err(|error| Failure::host(format!("cannot start the capture thread: {error}")))?;
    Ok(())
}

struct Direct {
    account: Account,
    live: Live,
    sink: Sink,
    timeout_ns: u64,
    promiscuous: bool,
    drain_limit_ns: u64,
    quiet_ns: u64,
    order: Arc<Order>,
    totals: Option<Totals>,
    sampled_ns: u64,
    watch: Option<Watch>,
    dispatches: u64,
    spent: Spent,
    first_ns: Option<u64>,
    last_real_ns: Option<u64>,
    start_up_cpu_ns: u64,
}

/// What the process has spent on counted frames.
#[derive(Debug)]
struct Spent {
    instructions: Option<Instructions>,
    /// When the first counted frame was handed over.
    first: Option<Reading>,
    /// Behind the dispatch with the last one, as far as it has been read.
    last: Option<Reading>,
    /// From now on it is read after each dispatch with counted frames: all have come, or the
    /// sender has stopped, so that there are few.
    following: bool,
}

/// The process's CPU clock, and the counter of its instructions where there is one.
#[derive(Debug, Clone, Copy)]
struct Reading {
    cpu_ns: u64,
    instructions: Option<instructions::Reading>,
}

impl Spent {
    fn by(instructions: Option<Instructions>) -> Self {
        Self {
            instructions,
            first: None,
            last: None,
            following: false,
        }
    }

    fn read(&mut self) -> Reading {
        Reading {
            cpu_ns: clock::process_cpu_ns(),
            instructions: self.instructions.as_mut().and_then(Instructions::read),
        }
    }

    /// A counted frame was handed over; true for the first.
    fn begin(&mut self) -> bool {
        let is_first = self.first.is_none();
        if is_first {
            self.first = Some(self.read());
        }
        is_first
    }

    fn follow(&mut self) {
        if !self.following {
            self.following = true;
            self.last = self.first.map(|_| self.read());
        }
    }

    /// A dispatch with counted frames has returned.
    fn handed_over(&mut self) {
        if self.following {
            self.last = Some(self.read());
        }
    }

    fn cpu_ns(&self) -> Option<u64> {
        let (first, last) = self.first.zip(self.last)?;
        Some(last.cpu_ns.saturating_sub(first.cpu_ns))
    }

    fn instructions(&self) -> Option<u64> {
        let (first, last) = self.first.zip(self.last)?;
        last.instructions?.since(first.instructions?)
    }
}

/// The clocks now; the monotonic one only where it is wanted.
fn hand_over_now(with_monotonic: bool) -> HandOver {
    HandOver {
        real_ns: clock::realtime_ns(),
        monotonic_ns: if with_monotonic {
            clock::monotonic_ns()
        } else {
            0
        },
    }
}

/// Whether a reading of the clocks is too old for latencies: a dispatch goes on while frames come,
/// so that a frame can be younger than its first reading, and a long one takes a while.
fn is_old(at: HandOver, frame_time_ns: u64, frames_since: u32) -> bool {
    frame_time_ns > at.real_ns || frames_since >= FRAMES_A_READING
}

/// What one dispatch brought.
#[derive(Debug, Default)]
struct Batch {
    frames: u64,
    probes: u64,
    first_copies: u64,
    handed_over: Option<HandOver>,
    /// How long its first frame had lain in the ring, ns.
    residence_ns: u64,
}

impl Direct {
    fn run(&mut self, start: Start, notify: &impl Fn(Notice)) -> Result<ReceiverReport, Failure> {
        if start == Start::AfterProbe {
            while self.dispatch()?.probes == 0 {}
            notify(Notice::Seen);
            while self.wait(self.timeout_ns.max(LEAST_QUIET_NS))? {
                self.dispatch()?;
            }
        }
        self.account.arm();
        self.dispatches = 0;
        self.spent = Spent::by(self.spent.instructions.take());
        (self.first_ns, self.last_real_ns) = (None, None);
        // What it takes from the allocator is not the trial's.
        let mut watch = Watch::start();
        let usage = Usage::now();
        let heap = process::heap_bytes();
        let armed = ClockPair::now();
        self.totals = self.live.counters().ok().map(Totals::from);
        self.sampled_ns = clock::realtime_ns();
        watch.armed();
        self.watch = Some(watch);
        notify(Notice::Armed);

        let stop = self.capture(notify)?;
        let stop_ns = clock::monotonic_ns();
        let unique = self.account.copies().unique;
        let owed_at_stop = stop
            .accepted
            .map(|accepted| accepted.saturating_sub(unique));
        let drain_ns = self.drain(stop, stop_ns)?;
        let heap_bytes = process::heap_bytes()
            .zip(heap)
            .map(|(now, then)| now - then);
        Ok(ReceiverReport {
            heap_bytes,
            series: self.watch.take().map_or_else(Vec::new, Watch::series),
            ..self.report(usage, armed, owed_at_stop, drain_ns)
        })
    }

    /// Counts until there is an order to stop.
    fn capture(&mut self, notify: &impl Fn(Notice)) -> Result<Stop, Failure> {
        let planned = self.account.planned();
        loop {
            self.dispatch()?;
            if !self.spent.following && self.account.copies().unique == planned {
                self.spent.follow();
                notify(Notice::Complete);
            }
            if let Some(stop) = self.order.get() {
                self.spent.follow();
                self.account.stop();
                return Ok(*stop);
            }
        }
    }

    /// Takes what still comes, then reads the counters, then what came meanwhile. Gives the time
    /// from `stop_ns` to the last first copy.
    fn drain(&mut self, stop: Stop, stop_ns: u64) -> Result<u64, Failure> {
        let rule = Rule {
            accepted: stop.accepted,
            timeout_ns: self.timeout_ns,
            quiet_ns: self.quiet_ns,
            limit_ns: self.drain_limit_ns,
        };
        let mut drain = Drain::new(rule, stop_ns);
        let mut last_first_copy_ns = stop_ns;
        loop {
            let unique = self.account.copies().unique;
            let Some(wait_ns) = drain.wait_ns(clock::monotonic_ns(), unique) else {
                break;
            };
            if self.wait(wait_ns)? {
                let batch = self.dispatch()?;
                let now_ns = clock::monotonic_ns();
                if batch.frames > 0 {
                    drain.delivered(now_ns);
                }
                if batch.first_copies > 0 {
                    last_first_copy_ns = now_ns;
                }
            }
        }
        self.sample();
        for _ in 0..LAST_DISPATCHES {
            if !self.wait(0)? {
                break;
            }
            if self.dispatch()?.first_copies > 0 {
                last_first_copy_ns = clock::monotonic_ns();
            }
        }
        Ok(last_first_copy_ns - stop_ns)
    }

    /// Whether something came within `ns`.
    fn wait(&mut self, ns: u64) -> Result<bool, Failure> {
        self.live.wait(ns).map_err(of_capture)
    }

    fn dispatch(&mut self) -> Result<Batch, Failure> {
        let mut batch = Batch::default();
        let mut counted = false;
        let mut since_reading = 0;
        let (account, spent, first_ns) = (&mut self.account, &mut self.spent, &mut self.first_ns);
        let outcome = self.live.dispatch(Some(BATCH), |frame| {
            let fine = account.measures_latency();
            let at = match batch.handed_over {
                Some(at) if !(fine && is_old(at, frame.time_ns, since_reading)) => at,
                _ => {
                    since_reading = 0;
                    let at = hand_over_now(fine);
                    if batch.handed_over.is_none() {
                        batch.residence_ns = at.real_ns.saturating_sub(frame.time_ns);
                    }
                    batch.handed_over = Some(at);
                    at
                }
            };
            since_reading += 1;
            let kind = account.frame(frame, at);
            if kind.is_counted() {
                counted = true;
                if spent.begin() {
                    *first_ns = Some(clock::monotonic_ns());
                }
            }
            batch.first_copies += u64::from(kind == Kind::First);
            batch.probes += u64::from(kind == Kind::Probe);
        });
        let outcome = outcome.map_err(of_capture)?;
        batch.frames = outcome.frames;
        if counted {
            self.last_real_ns = batch.handed_over.map(|at| at.real_ns);
            self.spent.handed_over();
        }
        if let Some(HandOver {
            real_ns: now_ns, ..
        }) = batch.handed_over
        {
            self.dispatches += 1;
            if now_ns.saturating_sub(self.sampled_ns) >= SAMPLE_NS {
                self.sampled_ns = now_ns;
                self.sample();
            }
            if self
                .watch
                .as_ref()
                .is_some_and(|watch| watch.is_due(now_ns))
            {
                self.watch(batch.residence_ns);
            }
        }
        Ok(batch)
    }

    /// Reads libpcap's counters; once that has failed their totals are unknown for good.
    fn sample(&mut self) {
        if let Some(totals) = &mut self.totals {
            match self.live.counters() {
                Ok(now) => totals.sample(now),
                Err(_) => self.totals = None,
            }
        }
    }

    /// Takes a sample of how the trial goes.
    fn watch(&mut self, residence_ns: u64) {
        self.sample();
        let now = Sample {
            unique: Some(self.account.copies().unique),
            dropped: self.totals.map(|totals| totals.report(false).dropped),
            residence_ns: Some(residence_ns),
            ..Sample::default()
        };
        if let Some(watch) = &mut self.watch {
            watch.add(now);
        }
    }

    fn report(
        &self,
        usage: Option<Usage>,
        armed: ClockPair,
        owed_at_stop: Option<u64>,
        drain_ns: u64,
    ) -> ReceiverReport {
        let end = ClockPair::now();
        let since = Usage::now().zip(usage).map(|(now, then)| now.since(then));
        ReceiverReport {
            copies: self.account.copies(),
            unique_per_flow: self.account.unique_per_flow(),
            reordered: self.account.reordered(),
            late: self.account.late(),
            truncated: self.account.truncated(),
            pcap: self.totals.map(|totals| totals.report(self.promiscuous)),
            dispatches: self.dispatches,
            process_cpu_ns: self.spent.cpu_ns(),
            instructions: self.spent.instructions(),
            start_up_cpu_ns: self.start_up_cpu_ns,
            owed_at_stop,
            drain_ns,
            residence: self.account.residence(),
            first_ns: self.first_ns,
            last_ns: self.last_ns(end),
            peak_rss_bytes: process::peak_rss_bytes(),
            voluntary_switches: since.map(|since| since.voluntary_switches),
            involuntary_switches: since.map(|since| since.involuntary_switches),
            minor_faults: since.map(|since| since.minor_faults),
            major_faults: since.map(|since| since.major_faults),
            clock_at_armed: armed,
            clock_at_end: end,
            sink_dropped: self.sink.dropped(),
            latency: self.account.latency(),
            heap_bytes: None,
            series: Vec::new(),
        }
    }

    /// The hand-over of the last counted frame on the monotonic clock, not before the first.
    fn last_ns(&self, pair: ClockPair) -> Option<u64> {
        let last = self.last_real_ns?.checked_add_signed(-pair.offset_ns)?;
        Some(last.max(self.first_ns?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_never_handed_over_before_the_kernel_took_it() {
        let at = HandOver {
            real_ns: 1000,
            monotonic_ns: 10,
        };
        assert!(!is_old(at, 1000, 63));
        assert!(is_old(at, 1001, 0));
        assert!(is_old(at, 1000, 64));
    }
}
