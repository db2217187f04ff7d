//! A host that runs nothing and writes down every step. Its children answer as real ones do, with
//! counts made from what they were asked: everything sent is seen.

pub(crate) mod campaign;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::time::Duration;

use wiretrial::host::{Host, Launch, Process};
use wiretrial_contract::clock::ClockPair;
use wiretrial_contract::control::{
    Done, FromChild, GeneratorPrepare, GeneratorReady, Group, GroupName, Hello, Ready,
    ReceiverPrepare, ReceiverReady, ToChild,
};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::record::{HostCounters, HostWindow};
use wiretrial_contract::report::{
    Copies, GeneratorReport, GroupTally, PcapCounters, Quantiles, ReceiverReport,
};
use wiretrial_contract::stamp::Class;

/// What is written down, and who is told of it at once.
pub(crate) type Log = Rc<RefCell<Vec<String>>>;

/// What happens at every step after it was written down; a failure ends it.
pub(crate) type Told = Rc<dyn Fn(&str) -> Result<(), Failure>>;

/// What a child does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The receiver of this arm is gone when it should say it is armed.
    DiesWhenArming(&'static str),
    /// A signal comes while the generator sends.
    SignalWhileSending,
    /// The receiver of this arm misses one datagram in this many, and its ring counts them.
    Drops(&'static str, u64),
    /// Nothing is wrong, but costs differ from trial to trial by up to 6 %.
    Varies,
}

pub(crate) struct FakeHost {
    pub(crate) log: Log,
    pub(crate) faults: Vec<Fault>,
    told: Told,
    warm_up: WarmUp,
    now_ns: u64,
}

/// Warm-up datagrams that were sent, by port.
type WarmUp = Rc<RefCell<BTreeMap<u16, u64>>>;

impl FakeHost {
    pub(crate) fn new(faults: &[Fault]) -> Self {
        Self::telling(faults, Rc::new(|_| Ok(())))
    }

    /// One that tells somebody of every step.
    pub(crate) fn telling(faults: &[Fault], told: Told) -> Self {
        Self {
            log: Rc::default(),
            faults: faults.to_vec(),
            told,
            warm_up: Rc::default(),
            now_ns: 1_000_000_000,
        }
    }

    fn say(&self, line: String) -> Result<(), Failure> {
        let told = (self.told)(&line);
        self.log.borrow_mut().push(line);
        told
    }
}

impl Host for FakeHost {
    fn launch(&mut self, launch: &Launch) -> Result<Box<dyn Process>, Failure> {
        self.say(format!("launch {}", launch.name))?;
        let hello = Hello {
            role: launch.role,
            protocol: [1, 1],
            stamp: [1, 1],
            version: "0.1.0".into(),
            sha256: launch.program.display().to_string(),
            pid: 100,
            libpcap: None,
        };
        Ok(Box::new(FakeProcess {
            name: launch.name.clone(),
            hello,
            log: Rc::clone(&self.log),
            told: Rc::clone(&self.told),
            warm_up: Rc::clone(&self.warm_up),
            faults: self.faults.clone(),
            says: VecDeque::new(),
            receiver: None,
            generator: None,
        }))
    }

    fn wait_quiet(&mut self, rest: Duration, _cpus: f64) -> Result<Option<f64>, Failure> {
        self.now_ns += u64::try_from(rest.as_nanos()).unwrap();
        self.say("wait until quiet".into())?;
        Ok(Some(0.0))
    }

    fn begin_window(&mut self, ours: &[u32]) -> Result<(), Failure> {
        self.say(format!("counters of {} processes", ours.len()))
    }

    fn end_window(&mut self) -> Result<HostWindow, Failure> {
        self.say("counters again".into())?;
        let start = HostCounters {
            at_ns: 0,
            links: [(
                "lo".to_owned(),
                [("rx_dropped".to_owned(), 0), ("rx_nohandler".to_owned(), 0)].into(),
            )]
            .into(),
            ..HostCounters::default()
        };
        let end = HostCounters {
            at_ns: 4_000_000_000,
            ..start.clone()
        };
        Ok(HostWindow {
            start,
            end,
            foreign_cpu_ns: Some(0),
        })
    }

    fn alive(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }
}

struct FakeProcess {
    name: String,
    hello: Hello,
    log: Log,
    told: Told,
    warm_up: WarmUp,
    faults: Vec<Fault>,
    says: VecDeque<Result<FromChild, Failure>>,
    receiver: Option<ReceiverPrepare>,
    generator: Option<GeneratorPrepare>,
}

impl FakeProcess {
    fn say(&self, line: String) -> Result<(), Failure> {
        let told = (self.told)(&line);
        self.log.borrow_mut().push(line);
        told
    }

    fn has(&self, fault: &Fault) -> bool {
        self.faults.contains(fault)
    }

    fn is_of(&self, arm: &str) -> bool {
        self.name == format!("receiver of {arm}")
    }

    fn dies_when_arming(&self) -> bool {
        self.faults
            .iter()
            .any(|f| matches!(f, Fault::DiesWhenArming(arm) if self.is_of(arm)))
    }

    fn one_in(&self) -> Option<u64> {
        self.faults.iter().find_map(|fault| match fault {
            Fault::Drops(arm, one_in) if self.is_of(arm) => Some(*one_in),
            _ => None,
        })
    }

    fn warm_up_sent(&self) -> u64 {
        let port = self.receiver.as_ref().map_or(0, |prepare| prepare.port);
        self.warm_up.borrow().get(&port).copied().unwrap_or(0)
    }

    fn ns_per_packet(&self) -> u64 {
        let ns = if self.name == "receiver of candidate" {
            500
        } else {
            3000
        };
        let trial = self.receiver.as_ref().map_or(0, |r| r.identity.trial);
        if self.has(&Fault::Varies) {
            ns + ns * u64::from(trial * 5 % 7) / 100
        } else {
            ns
        }
    }

    fn ready(&self, prepare: &ReceiverPrepare) -> FromChild {
        FromChild::Ready(Ready::Receiver(ReceiverReady {
            interface: prepare.interface.clone(),
            addresses: vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
            link_type: Some("EN10MB".into()),
            program: None,
            ring: None,
            filter: String::new(),
            cpus: vec![1],
        }))
    }
}

impl Process for FakeProcess {
    fn name(&self) -> &str {
        &self.name
    }

    fn hello(&self) -> &Hello {
        &self.hello
    }

    fn send(&mut self, message: &ToChild) -> Result<(), Failure> {
        let word = match message {
            ToChild::PrepareReceiver(prepare) => {
                self.receiver = Some(prepare.clone());
                self.says.push_back(Ok(self.ready(prepare)));
                // Probe datagrams come from the generator; this receiver will see the first.
                self.says.push_back(Ok(FromChild::Seen));
                self.says.push_back(if self.dies_when_arming() {
                    Err(Failure::evidence(format!("{} ended (signal 9)", self.name)))
                } else {
                    Ok(FromChild::Armed)
                });
                "prepare"
            }
            ToChild::PrepareOutside(_) | ToChild::PreparePasses(_) | ToChild::Pass(_) => {
                panic!("no campaign here asks for it")
            }
            ToChild::PrepareGenerator(prepare) => {
                self.generator = Some(prepare.clone());
                self.says
                    .push_back(Ok(FromChild::Ready(Ready::Generator(GeneratorReady {
                        method: prepare.method,
                        batch: prepare.batch,
                        sources: vec![],
                        cpus: vec![],
                    }))));
                "prepare"
            }
            ToChild::Probe => "probe",
            ToChild::Go => {
                let prepare = self.generator.clone().unwrap();
                let groups = prepare.groups.iter();
                let by_port = groups.map(|group| (group.target.port(), warm_up(group)));
                self.warm_up.borrow_mut().extend(by_port);
                if self.has(&Fault::SignalWhileSending) {
                    self.says.push_back(Err(Failure::interrupted()));
                } else {
                    self.says.push_back(Ok(FromChild::Done(Done {
                        accepted: prepare.groups.iter().map(|g| vec![planned(g)]).collect(),
                        first_ns: Some(1),
                        last_ns: Some(2),
                    })));
                    self.says.push_back(Ok(sent(&prepare)));
                }
                "go"
            }
            ToChild::Stop(stop) => {
                let accepted: u64 = stop.accepted.iter().sum();
                let dropped = self.one_in().map_or(0, |one_in| accepted / one_in);
                self.says.push_back(Ok(FromChild::Done(Done::default())));
                self.says
                    .push_back(Ok(FromChild::ReceiverReport(Box::new(seen(
                        accepted - dropped,
                        dropped,
                        self.warm_up_sent(),
                        self.ns_per_packet(),
                    )))));
                "stop"
            }
            ToChild::Beat => "beat",
            ToChild::Bye => "bye",
        };
        self.say(format!("{word} -> {}", self.name))
    }

    fn poll(&mut self, limit: Duration) -> Result<Option<FromChild>, Failure> {
        if limit.is_zero() {
            // Nothing is said before its time.
            return Ok(None);
        }
        let said = self.says.pop_front().transpose();
        if let Ok(Some(message)) = &said {
            let word = match message {
                FromChild::Hello(_) => "hello",
                FromChild::Ready(_) => "ready",
                FromChild::Seen => "seen",
                FromChild::Armed => "armed",
                FromChild::Done(_) => "done",
                FromChild::GeneratorReport(_)
                | FromChild::ReceiverReport(_)
                | FromChild::CountReport(_)
                | FromChild::PassReport(_) => "report",
                FromChild::Error(_) => "error",
            };
            self.say(format!("{word} <- {}", self.name))?;
        }
        said
    }

    fn end(&mut self) {
        // A process ends all the same where somebody does not like it.
        let _ = self.say(format!("end {}", self.name));
    }
}

fn planned(group: &Group) -> u64 {
    group
        .slices
        .iter()
        .filter(|slice| slice.class == Class::Counted)
        .map(|s| s.packets)
        .sum()
}

fn warm_up(group: &Group) -> u64 {
    group
        .slices
        .iter()
        .filter(|slice| slice.class == Class::WarmUp)
        .map(|s| s.packets)
        .sum()
}

fn sent(prepare: &GeneratorPrepare) -> FromChild {
    let tallies = prepare.groups.iter().map(|group| {
        let planned = planned(group);
        GroupTally {
            name: group.name.clone(),
            planned,
            attempted: planned,
            accepted: planned,
            accepted_per_flow: vec![planned],
            warm_up_accepted: warm_up(group),
            probe_accepted: 16,
            filler_accepted: 0,
            receive_cpu_ns: None,
            errors: [].into(),
            send_calls: planned,
            short_calls: 0,
            stalled_calls: 0,
            stalled_ns: 0,
            send_call_ns: planned
                * if group.name == GroupName::Control {
                    1000
                } else {
                    3000
                },
            sending_ns: planned * 1_000_000_000 / prepare.rate_pps,
            slices: group.slices.len() as u64,
            first_ns: Some(1),
            last_ns: Some(2),
            lateness: Quantiles::default(),
        }
    });
    FromChild::GeneratorReport(Box::new(GeneratorReport {
        method: prepare.method,
        batch: prepare.batch,
        senders: prepare.senders,
        cpus: vec![vec![0]],
        scheduled_ns: 3_600_000_000,
        shifted_ns: 0,
        longest_burst: 1,
        busy_share: 0.1,
        process_cpu_ns: 1,
        involuntary_switches: None,
        groups: tallies.collect(),
    }))
}

fn seen(unique: u64, dropped: u64, warm_up: u64, ns_per_packet: u64) -> ReceiverReport {
    let copies = Copies {
        unique,
        warm_up,
        ..Copies::default()
    };
    ReceiverReport {
        latency: None,
        heap_bytes: None,
        series: Vec::new(),
        copies,
        unique_per_flow: vec![unique],
        reordered: 0,
        late: 0,
        truncated: 0,
        pcap: Some(PcapCounters {
            received: unique + warm_up + dropped,
            dropped,
            interface_dropped: None,
        }),
        dispatches: 1,
        instructions: None,
        process_cpu_ns: Some(unique * ns_per_packet),
        start_up_cpu_ns: 1,
        owed_at_stop: Some(0),
        drain_ns: 0,
        residence: Vec::new(),
        first_ns: Some(1),
        last_ns: Some(2),
        peak_rss_bytes: Some(1 << 20),
        voluntary_switches: None,
        involuntary_switches: None,
        minor_faults: None,
        major_faults: None,
        clock_at_armed: ClockPair {
            offset_ns: 0,
            error_ns: 1,
        },
        clock_at_end: ClockPair {
            offset_ns: 0,
            error_ns: 1,
        },
        sink_dropped: None,
    }
}
