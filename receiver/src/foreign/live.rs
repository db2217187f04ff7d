//! A trial of a program of the user's: launch, ready, seen, armed, stop, drain, counts.
//!
//! What shows that it captures is its packet socket, which the kernel lists; what shows that packets
//! come is the sink, which is behind it.

use std::collections::BTreeMap;

use nix::net::if_::if_nametoindex;
use regex::bytes::Regex;
use wiretrial_capture::source::{PacketSocket, interfaces};
use wiretrial_contract::clock::{self, ClockPair};
use wiretrial_contract::control::{OutsidePrepare, ProgramReady, ReceiverReady};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::program::ReadySign;
use wiretrial_contract::report::{CountReport, ProgramEnd, RingGeometry, Sample};

use super::cgroup::Cgroup;
use super::counts::{Readers, Words, no_regex};
use super::cpu::{Meter, Reading, describe, others};
use super::launch::{self, Launch, Program, ending};
use super::places::{Input, Places};
use super::quiet::{self, Quiet};
use super::seal::Seal;
use super::sockets::Watch;
use super::worker::{Orders, Worker};
use super::{Cut, stop, tree};
use crate::path::{self, addresses, of_ring};
use crate::process::{self, Memory};
use crate::series::Series;
use crate::sink::Sink;

/// Longest wait for a program to capture, ns: the harness waits a second more.
const READY_LIMIT_NS: u64 = 9_000_000_000;
/// How long its sockets must stay as they are, ns.
const SETTLED_NS: u64 = 100_000_000;
/// Between two looks at a program that gets ready, ns.
const STEP_NS: u64 = 10_000_000;
/// Between two looks at the sink for the first packets and for quiet, ns.
const SINK_STEP_NS: u64 = 2_000_000;
/// Least quiet time between the last probe and the start of the clocks, ns.
const LEAST_QUIET_NS: u64 = 20_000_000;
/// Between two looks at the program while it captures, ns.
const LOOK_NS: u64 = 50_000_000;
/// Longest wait for all commands that are asked for counts, ns.
const COMMANDS_NS: u64 = 5_000_000_000;

/// What the program's thread tells the thread that controls it.
#[derive(Debug)]
pub(crate) enum Notice {
    /// It captures.
    Ready(Box<ReceiverReady>),
    /// Packets come.
    Seen,
    /// They have stopped, and the start of the clocks is taken.
    Armed,
    /// Nothing moves any more, and the end of the clocks is taken.
    Drained,
    /// Its counts; it has ended.
    Report(Box<CountReport>),
    /// It cannot go on, and has been ended.
    Failed(Failure),
}

/// A program under way. Dropping it ends the program and all it started.
#[derive(Debug)]
pub(crate) struct Live(Worker<Stop>);

#[derive(Debug)]
struct Stop;

impl Live {
    /// Starts it on a thread of its own.
    ///
    /// # Errors
    ///
    /// A host failure when no thread can be started.
    pub(crate) fn start(
        prepare: OutsidePrepare,
        notify: impl Fn(Notice) + Clone + Send + 'static,
    ) -> Result<Self, Failure> {
        tree::adopt()?;
        let say = notify.clone();
        let work = move |orders: &Orders<Stop>| run(&prepare, orders, &say);
        Worker::start(work, move |failure| notify(Notice::Failed(failure))).map(Self)
    }

    /// The sender has stopped: drain, count, end.
    pub(crate) fn stop(&self) {
        self.0.order(Stop);
    }
}

/// Ends everything below this process when it goes.
struct Below;

impl Drop for Below {
    fn drop(&mut self) {
        tree::end_all();
    }
}

fn run(
    prepare: &OutsidePrepare,
    orders: &Orders<Stop>,
    notify: &impl Fn(Notice),
) -> Result<(), Cut> {
    let ready_until_ns = clock::monotonic_ns().saturating_add(READY_LIMIT_NS);
    let interface = if_nametoindex(prepare.interface.as_str()).map_err(|_| {
        let present = interfaces().join(", ");
        Failure::host(format!(
            "no interface \"{}\"; interfaces here: {present}",
            prepare.interface
        ))
    })?;
    let filter = path::filter(prepare.family, prepare.port, prepare.source_ports);
    let binary = absolute(&prepare.program.path);
    // Dropped in reverse order: all processes, then the folder.
    let folder = launch::folder()?;
    let _below = Below;
    let places = Places {
        binary: &binary,
        input: Input::Live {
            interface: &prepare.interface,
            port: prepare.port,
            filter: &filter,
        },
        work: folder.path(),
        packets: prepare.packets,
    };
    let readers = Readers::new(&prepare.program.spec.counts, &places)?;
    let mut launch = Launch::new(&prepare.program, &places, prepare.cpu)?;
    launch.sign = sign(&prepare.program.spec.ready)?;
    let sha256 = Seal::default().check(&prepare.program)?;
    let sink = Sink::bind(prepare.family, prepare.port)?;
    let watch = Watch::new(interface)
        .map_err(|error| Failure::host(format!("cannot list packet sockets: {error}")))?;
    let group = Cgroup::make();
    launch.group = group.as_ref().and_then(Cgroup::door);
    let environment = launch.env.clone();
    let program = launch.start()?;
    let meter = Meter::new(program.name.clone(), program.pid, group);
    let mut trial = Trial {
        prepare,
        orders,
        watch,
        sink,
        program,
        _below: Below,
        meter,
        ring: None,
    };
    let sockets = trial.wait_ready(ready_until_ns)?;
    trial.ring = ring_of(&sockets);
    let start_up = trial.meter.read();
    let at_ready = trial.dropped()?;
    let ready = ReceiverReady {
        interface: prepare.interface.clone(),
        addresses: addresses(&prepare.interface),
        link_type: None,
        ring: trial.ring,
        filter: filter.clone(),
        cpus: trial.program.cpus()?,
        program: Some(ProgramReady {
            sha256,
            pid: trial.program.pid.as_raw().unsigned_abs(),
            packet_sockets: u32::try_from(sockets.len()).unwrap_or(u32::MAX),
            start_up_cpu_ns: trial.meter.time_ns(&start_up),
        }),
    };
    notify(Notice::Ready(Box::new(ready)));
    trial.wait_seen(at_ready)?;
    notify(Notice::Seen);
    trial.wait_quiet()?;
    let armed = trial.meter.read();
    trial.meter.look(&armed)?;
    let clock_at_armed = ClockPair::now();
    notify(Notice::Armed);
    let series = trial.wait_stop(&armed)?;
    let drain_ns = trial.drain()?;
    let end = trial.meter.read();
    let clock_at_end = ClockPair::now();
    trial.alive()?;
    trial.meter.look(&armed)?;
    notify(Notice::Drained);

    let peak_rss_bytes = process::peak_rss_of(trial.program.pid);
    let answers = trial.ask_commands(&readers, folder.path(), &environment)?;
    let asked = stop::ask(&trial.program, prepare.program.spec.stop, || trial.check())?;
    let ended = trial.program.reap()?;
    // What still holds the pipes has to go before their ends can be read.
    tree::end_all();
    let (stdout, stderr) = trial.program.output();
    let counts = readers.read(&Words {
        stdout,
        stderr,
        answers,
    });
    notify(Notice::Report(Box::new(CountReport {
        counts,
        process_cpu_ns: trial.meter.between_ns(&armed, &end),
        cpu_clock: trial.meter.clock(),
        start_up_cpu_ns: trial.meter.time_ns(&start_up),
        peak_rss_bytes,
        end: ProgramEnd {
            status: ended.status,
            signal: ended.signal,
            asked,
        },
        drain_ns,
        clock_at_armed,
        clock_at_end,
        sink_dropped: trial.sink.dropped(),
        series,
    })));
    Ok(())
}

/// A program that was started, and what watches it.
struct Trial<'a> {
    prepare: &'a OutsidePrepare,
    orders: &'a Orders<Stop>,
    watch: Watch,
    sink: Sink,
    // These go in this order: a control group can be removed once nothing is in it.
    program: Program,
    _below: Below,
    meter: Meter,
    ring: Option<RingGeometry>,
}

impl Trial<'_> {
    /// Whether anybody still wants it.
    fn check(&self) -> Result<(), Cut> {
        self.orders.wait(0).map(drop)
    }

    /// Lets time pass; true once the order to stop has come.
    fn pass(&self, ns: u64) -> Result<bool, Cut> {
        self.orders.wait(ns).map(|order| order.is_some())
    }

    fn dropped(&self) -> Result<u64, Failure> {
        self.sink.dropped().ok_or_else(|| {
            Failure::host("the drops of the sink are not in /proc/net/udp; mount /proc here")
        })
    }

    /// Waits until its sockets are there and stay as they are.
    fn wait_ready(&mut self, until_ns: u64) -> Result<Vec<PacketSocket>, Cut> {
        let mut last = Vec::new();
        let mut since_ns = clock::monotonic_ns();
        loop {
            self.pass(STEP_NS)?;
            if self.program.has_ended() {
                return Err(self.ended_before_ready()?.into());
            }
            let mut processes = others(self.program.pid);
            processes.push(self.program.pid);
            let now = self
                .watch
                .held_by(&processes)
                .map_err(|error| Failure::host(format!("cannot list packet sockets: {error}")))?;
            let now_ns = clock::monotonic_ns();
            if now != last {
                (last, since_ns) = (now, now_ns);
            }
            let settled = now_ns.saturating_sub(since_ns) >= SETTLED_NS;
            if settled && !last.is_empty() && self.has_sign() {
                return Ok(last);
            }
            if now_ns > until_ns {
                return Err(self.never_ready(&last, settled).into());
            }
        }
    }

    fn has_sign(&self) -> bool {
        self.prepare.program.spec.ready == ReadySign::Seen || self.program.has_given_sign()
    }

    fn never_ready(&self, sockets: &[PacketSocket], settled: bool) -> Failure {
        let interface = &self.prepare.interface;
        let lacks = match &self.prepare.program.spec.ready {
            _ if sockets.is_empty() => format!("no packet socket on {interface}"),
            _ if !settled => format!("its packet sockets on {interface} kept changing"),
            ReadySign::Stderr(regex) => format!("no '{regex}' on its standard error"),
            ReadySign::Seen => format!("no packet socket on {interface} that stays"),
        };
        let seconds = READY_LIMIT_NS / 1_000_000_000;
        Failure::host(format!(
            "{} never got ready: {lacks} after {seconds} s; {}",
            self.program.name,
            self.program.last_words()
        ))
    }

    fn ended_before_ready(&mut self) -> Result<Failure, Failure> {
        if let Some(failure) = self.left_behind()? {
            return Ok(failure);
        }
        let ended = self.program.reap()?;
        Ok(Failure::host(format!(
            "{} ended before it captured ({}); {}",
            self.program.name,
            ending(&ended),
            self.program.last_words()
        )))
    }

    /// A program whose process has ended well while others that it started live.
    fn left_behind(&mut self) -> Result<Option<Failure>, Failure> {
        let other = others(self.program.pid).into_iter().find_map(describe);
        let ended = self.program.reap()?;
        let well = ended.status == Some(0);
        Ok(other.filter(|_| well).map(|other| {
            Failure::host(format!(
                "unsupported: forks: {} went to the background: its own process ended (exit 0) and \
                 left {other}; start it with the option that keeps it in the foreground",
                self.program.name
            ))
        }))
    }

    /// Refuses a program that has ended by itself.
    fn alive(&mut self) -> Result<(), Failure> {
        if !self.program.has_ended() {
            return Ok(());
        }
        if let Some(failure) = self.left_behind()? {
            return Err(failure);
        }
        let ended = self.program.reap()?;
        Err(Failure::evidence(format!(
            "{} ended ({}) before it was asked to; {}",
            self.program.name,
            ending(&ended),
            self.program.last_words()
        )))
    }

    /// Waits until the sink, which is behind every capture, has taken something.
    fn wait_seen(&mut self, before: u64) -> Result<(), Cut> {
        while self.dropped()? == before {
            self.pass(SINK_STEP_NS)?;
            self.alive()?;
        }
        Ok(())
    }

    fn wait_quiet(&mut self) -> Result<(), Cut> {
        let quiet_ns = quiet::retire_ns(self.ring.as_ref()).max(LEAST_QUIET_NS);
        let mut quiet = Quiet::new(clock::monotonic_ns(), quiet_ns, u64::MAX);
        loop {
            let now_ns = clock::monotonic_ns();
            quiet.sample(now_ns, Some(self.dropped()?), None);
            if quiet.is_over(now_ns) {
                return Ok(());
            }
            self.pass(SINK_STEP_NS)?;
            self.alive()?;
        }
    }

    /// Looks at the program until the order to stop; gives what it saw of a long trial.
    fn wait_stop(&mut self, armed: &Reading) -> Result<Vec<Sample>, Cut> {
        let armed_ns = clock::monotonic_ns();
        let memory = Memory::of(self.program.pid);
        let mut series = Series::new();
        while !self.pass(LOOK_NS)? {
            self.alive()?;
            self.meter.glance(armed)?;
            let at_ns = clock::monotonic_ns().saturating_sub(armed_ns);
            if at_ns >= series.due_ns() {
                series.add(Sample {
                    at_ns,
                    rss_bytes: memory.as_ref().and_then(Memory::rss_bytes),
                    process_cpu_ns: self.meter.between_ns(armed, &self.meter.read()),
                    ..Sample::default()
                });
            }
        }
        Ok(series.into_samples())
    }

    /// Waits until nothing moves; gives the time until it did last, ns.
    fn drain(&self) -> Result<u64, Cut> {
        let start_ns = clock::monotonic_ns();
        let retire_ns = quiet::retire_ns(self.ring.as_ref());
        let quiet_ns = self.prepare.quiet_ns.max(retire_ns.saturating_mul(2));
        let mut quiet = Quiet::new(start_ns, quiet_ns, self.prepare.drain_limit_ns);
        loop {
            let now_ns = clock::monotonic_ns();
            let cpu_ns = self.meter.time_ns(&self.meter.read());
            quiet.sample(now_ns, self.sink.dropped(), cpu_ns);
            if quiet.is_over(now_ns) {
                return Ok(quiet.moved_ns() - start_ns);
            }
            self.pass(quiet::SAMPLE_NS)?;
        }
    }

    /// What the commands of its counts print; one that fails or takes too long has said nothing, and
    /// one that cannot be started is a mistake in the declaration. They are looked for where
    /// administrators' programs are, too: an ordinary user's PATH often lacks those folders.
    fn ask_commands(
        &self,
        readers: &Readers,
        work: &std::path::Path,
        env: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<Vec<String>, String>, Cut> {
        let until_ns = clock::monotonic_ns().saturating_add(COMMANDS_NS);
        // All at once, so that one that hangs takes no time from the others.
        let mut asked = Vec::new();
        for arguments in readers.commands() {
            let command = Launch {
                name: arguments[0].clone(),
                arguments: arguments.to_vec(),
                env: with_more_path(env),
                cwd: work.to_owned(),
                cpu: None,
                group: None,
                sign: None,
            };
            asked.push((arguments.to_vec(), command.start()?));
        }
        let mut answers = BTreeMap::new();
        for (arguments, mut command) in asked {
            if command.wait(until_ns, || self.check())? && command.reap()?.status == Some(0) {
                answers.insert(arguments, command.output().0);
            }
        }
        Ok(answers)
    }
}

fn sign(ready: &ReadySign) -> Result<Option<Regex>, Failure> {
    let ReadySign::Stderr(text) = ready else {
        return Ok(None);
    };
    Regex::new(text)
        .map(Some)
        .map_err(|error| no_regex("ready", text, &error))
}

/// The environment with the folders of administrators' programs at the end of PATH.
fn with_more_path(env: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut env = env.clone();
    let path = env
        .entry("PATH".into())
        .or_insert_with(|| std::env::var("PATH").unwrap_or_default());
    *path += ":/usr/local/sbin:/usr/sbin:/sbin";
    env
}

/// The largest ring.
fn ring_of(sockets: &[PacketSocket]) -> Option<RingGeometry> {
    let rings = sockets.iter().filter_map(|socket| socket.ring.map(of_ring));
    rings.max_by_key(RingGeometry::bytes)
}

/// The path of an executable from wherever the program starts.
pub(super) fn absolute(path: &str) -> String {
    std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}
