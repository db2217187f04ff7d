//! Messages of generators and receivers.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::line::{LineError, Message, quote, typed};
use crate::program::ProgramSpec;
use crate::report::{CountReport, GeneratorReport, PassReport, ReceiverReport, RingGeometry};
use crate::stamp::{Class, Form};
use crate::units::Family;

/// Where a process stands in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Sends datagrams.
    Generator,
    /// Captures and counts them.
    Receiver,
    /// Holds namespaces, counters and facts of a host.
    Agent,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Generator => "generator",
            Self::Receiver => "receiver",
            Self::Agent => "agent",
        })
    }
}

/// The first line of every child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// What the child is.
    pub role: Role,
    /// Lowest and highest protocol version it speaks.
    pub protocol: [u32; 2],
    /// Lowest and highest stamp version it handles; `[0, 0]` for an agent.
    pub stamp: [u32; 2],
    /// Version of its package.
    pub version: String,
    /// SHA-256 of the executable it runs, read through `/proc/self/exe`.
    pub sha256: String,
    /// Its process id, in its own pid namespace.
    pub pid: u32,
    /// What libpcap calls itself; receivers only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub libpcap: Option<String>,
}

/// A run of consecutive UDP source ports, one a flow: flow `i` sends from `first + i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourcePorts {
    /// Port of flow 0.
    pub first: u16,
    /// Number of flows, 1..=1024.
    pub count: u16,
}

/// Identity of one trial's datagrams; see [`crate::stamp::Identity`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialIdentity {
    /// Campaign and session, 16 hexadecimal digits.
    #[serde(with = "hex_u64")]
    pub run_id: u64,
    /// Number of the trial in the campaign.
    pub trial: u32,
    /// Random per trial.
    pub nonce: u32,
}

impl From<TrialIdentity> for crate::stamp::Identity {
    fn from(identity: TrialIdentity) -> Self {
        Self {
            run_id: identity.run_id,
            trial: identity.trial,
            nonce: identity.nonce,
        }
    }
}

/// How the built-in receiver opens its capture. Every field is part of the treatment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureSettings {
    /// Kernel ring asked for, bytes; what was granted is in [`ReceiverReady::ring`].
    pub buffer_bytes: u32,
    /// Deliver each packet at once (libpcap then uses TPACKET_V2) or by block.
    pub immediate: bool,
    /// libpcap's packet buffer timeout, ns; whole milliseconds, never 0.
    pub timeout_ns: u64,
    /// Bytes kept of each frame.
    pub snaplen: u32,
    /// Promiscuous mode.
    pub promiscuous: bool,
}

/// How frames travel from the source to the accounting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// Counted inside libpcap's callback, on the capture thread.
    #[default]
    Direct,
}

/// `prepare` for a receiver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiverPrepare {
    /// Interface to capture on.
    pub interface: String,
    /// IP version of the datagrams.
    pub family: Family,
    /// UDP port the datagrams are sent to.
    pub port: u16,
    /// Their source ports; part of the capture filter.
    pub source_ports: SourcePorts,
    /// Their identity.
    pub identity: TrialIdentity,
    /// Form of their stamps.
    pub form: Form,
    /// Counted datagrams planned per flow; bounds the bitmaps.
    pub planned: Vec<u64>,
    /// How to capture.
    pub capture: CaptureSettings,
    /// How frames travel; left out at its default.
    #[serde(default, skip_serializing_if = "is_default")]
    pub engine: Engine,
    /// Longest drain after `stop`, ns.
    pub drain_limit_ns: u64,
    /// Quiet time that ends a drain, ns.
    pub quiet_ns: u64,
    /// The receiver ends by itself this long after `prepare`, ns.
    pub deadline_ns: u64,
    /// CPU to pin the process to; left out when unpinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
}

/// `prepare` for a receiver that is to start and watch a program of the user's; protocol 2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutsidePrepare {
    /// Interface the program captures on.
    pub interface: String,
    /// IP version of the datagrams.
    pub family: Family,
    /// UDP port the datagrams are sent to.
    pub port: u16,
    /// Their source ports; part of the filter.
    pub source_ports: SourcePorts,
    /// Datagrams that will be sent, probes apart: what `{packets}` stands for.
    pub packets: u64,
    /// What is started.
    pub program: Executable,
    /// Longest drain after `stop`, ns.
    pub drain_limit_ns: u64,
    /// Quiet time that ends a drain, ns.
    pub quiet_ns: u64,
    /// The receiver ends by itself this long after `prepare`, ns.
    pub deadline_ns: u64,
    /// CPU to pin the program to; left out when unpinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
}

/// `prepare` for a receiver that is to run passes over an input; protocol 2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassesPrepare {
    /// What runs.
    pub passes: PassWork,
    /// The capture file; none for command lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its first packets as a file of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_file: Option<String>,
    /// Packets in the file and in the short one: what `{packets}` stands for.
    pub packets: [u64; 2],
    /// Longest pass, ns.
    pub limit_ns: u64,
    /// The receiver ends by itself this long after `prepare`, ns.
    pub deadline_ns: u64,
    /// CPU to pin to; left out when unpinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
}

/// What runs in a pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "there is one a trial")]
pub enum PassWork {
    /// The receiver itself reads the file and folds frames into a sum.
    RawFold,
    /// A program, started anew for each pass.
    Outside(Executable),
}

/// A program of the user's with the file to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Executable {
    /// Where the executable is: what `{binary}` stands for.
    pub path: String,
    /// SHA-256 it was sealed with; another one is not started.
    pub sha256: String,
    /// How it is started, stopped and counted.
    pub spec: ProgramSpec,
}

/// Which input a pass reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassInput {
    /// All of it.
    Whole,
    /// The first packets, to see what starting costs.
    Short,
}

/// What a group of datagrams is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupName {
    /// The control port: no capture matches it.
    Control,
    /// An arm, by name.
    Arm(String),
}

/// A stretch of the schedule that belongs to one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// When its first datagram is due, ns from `go`.
    pub start_ns: u64,
    /// Datagrams in it, over all flows. Datagram `i` is due `i / rate` after the start and belongs
    /// to flow `i mod flows`.
    pub packets: u64,
    /// Warm-up, counted or filler.
    pub class: Class,
}

/// Datagrams that go to one target and are tallied together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// What it is for.
    pub name: GroupName,
    /// Where its datagrams go.
    pub target: SocketAddr,
    /// One source port a flow.
    pub source_ports: SourcePorts,
    /// Identity of its datagrams.
    pub identity: TrialIdentity,
    /// Its stretches, by start. The slices of all groups never overlap.
    pub slices: Vec<Slice>,
}

/// How datagrams are handed to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SendMethod {
    /// `sendmmsg(2)`, `batch` datagrams a call.
    #[default]
    Sendmmsg,
}

impl fmt::Display for SendMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sendmmsg")
    }
}

/// `prepare` for a generator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratorPrepare {
    /// Who gets what, when.
    pub groups: Vec<Group>,
    /// Rate inside every slice, over all senders, packets per second.
    pub rate_pps: u64,
    /// Ethernet frame with FCS, bytes.
    pub frame_size: u32,
    /// Form of the stamps.
    pub form: Form,
    /// How datagrams are handed to the kernel; left out at its default.
    #[serde(default, skip_serializing_if = "is_default")]
    pub method: SendMethod,
    /// Datagrams a call at most.
    pub batch: u32,
    /// Sender threads; the number of flows is a multiple of it.
    pub senders: u32,
    /// Overdue datagrams a sender sends back to back before the rest of its schedule shifts.
    pub max_burst: u32,
    /// The generator ends by itself this long after `prepare`, ns.
    pub deadline_ns: u64,
    /// CPUs to pin the senders to, in turn; left out when unpinned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
    /// Kernel thread that receives, whose CPU time is read at the edges of slices; left out where
    /// there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_thread: Option<u32>,
    /// Targets allowed beyond private, link-local and benchmarking networks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_targets: Vec<IpAddr>,
}

impl GeneratorPrepare {
    /// Whether it asks for what came with protocol 2: filler, or the times of a receive thread.
    fn needs_protocol_2(&self) -> bool {
        let mut slices = self.groups.iter().flat_map(|group| &group.slices);
        self.receive_thread.is_some() || slices.any(|slice| slice.class == Class::Filler)
    }
}

/// `ready`: everything is open and nothing has been sent or counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Ready {
    /// A receiver is capturing.
    Receiver(ReceiverReady),
    /// A receiver is ready to run passes.
    Passes(PassesReady),
    /// A generator has its sockets.
    Generator(GeneratorReady),
}

/// What a receiver that runs passes got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassesReady {
    /// CPUs the passes may run on: read back where the receiver itself reads; else those that each
    /// program is put on before it is executed, which was tried.
    pub cpus: Vec<u32>,
    /// SHA-256 of the executable; none when the receiver itself is what runs.
    pub program_sha256: Option<String>,
}

/// What a receiver got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiverReady {
    /// Interface the capture is on.
    pub interface: String,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// Link type, by libpcap's name without the DLT_ prefix; unknown for a program of the user's.
    pub link_type: Option<String>,
    /// The ring as the kernel made it, or `None` when it could not be read.
    pub ring: Option<RingGeometry>,
    /// The filter in force.
    pub filter: String,
    /// CPUs the process may run on, read back.
    pub cpus: Vec<u32>,
    /// The program of the user's, when one is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramReady>,
}

/// A program of the user's that is running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramReady {
    /// SHA-256 of the executable, taken again right before this launch.
    pub sha256: String,
    /// Its process id.
    pub pid: u32,
    /// Packet sockets it holds.
    pub packet_sockets: u32,
    /// CPU time it took until it captured, ns.
    pub start_up_cpu_ns: Option<u64>,
}

/// What a generator got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratorReady {
    /// How it will send.
    pub method: SendMethod,
    /// Datagrams a call at most.
    pub batch: u32,
    /// Source address of each group.
    pub sources: Vec<IpAddr>,
    /// CPUs each sender may run on, read back.
    pub cpus: Vec<Vec<u32>>,
}

/// `stop` for a receiver: what the generator's kernel accepted, so that a receiver knows when it
/// has everything. Empty aborts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stop {
    /// Accepted counted datagrams per flow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<u64>,
}

/// `done`: a generator has sent everything, or a receiver has drained.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Done {
    /// Accepted counted datagrams per group and flow; generators only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<Vec<u64>>,
    /// First send call of a counted datagram, `CLOCK_MONOTONIC` ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_ns: Option<u64>,
    /// Return of the last send call of a counted datagram, `CLOCK_MONOTONIC` ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_ns: Option<u64>,
}

/// `error`: the child ends with `code` after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildError {
    /// Exit code, see [`crate::exit`].
    pub code: u8,
    /// One sentence: place, value, what to do.
    pub message: String,
}

/// `pass`: run one pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// Over which input.
    pub input: PassInput,
}

/// What the harness says to a generator or a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToChild {
    /// Open everything for one trial (receiver).
    PrepareReceiver(ReceiverPrepare),
    /// Start a program of the user's for one trial (receiver).
    PrepareOutside(OutsidePrepare),
    /// Get ready to run passes (receiver).
    PreparePasses(PassesPrepare),
    /// Run one pass (receiver).
    Pass(Pass),
    /// Open everything for one trial (generator).
    PrepareGenerator(GeneratorPrepare),
    /// Send [`PROBE_BURST`](super::PROBE_BURST) probe datagrams to each group (generator).
    Probe,
    /// Start the schedule (generator).
    Go,
    /// Drain and report (receiver); abort, at any time.
    Stop(Stop),
    /// The harness is alive; children behind ssh only.
    Beat,
    /// End now.
    Bye,
}

/// What a generator or a receiver says to the harness.
#[derive(Debug, Clone, PartialEq)]
pub enum FromChild {
    /// First line.
    Hello(Hello),
    /// Open.
    Ready(Ready),
    /// The first probe datagram was seen (receiver).
    Seen,
    /// Quiet, and the counters' start is taken (receiver).
    Armed,
    /// Sent, or drained.
    Done(Done),
    /// The generator's tallies.
    GeneratorReport(Box<GeneratorReport>),
    /// The receiver's counts.
    ReceiverReport(Box<ReceiverReport>),
    /// What a program of the user's counted.
    CountReport(Box<CountReport>),
    /// One pass is over.
    PassReport(Box<PassReport>),
    /// It cannot go on.
    Error(ChildError),
}

/// Counts by errno name, such as `ENOBUFS`.
pub type Errors = BTreeMap<String, u64>;

impl Message for ToChild {
    fn version(&self) -> u32 {
        match self {
            Self::PrepareOutside(_) | Self::PreparePasses(_) | Self::Pass(_) => 2,
            Self::PrepareGenerator(prepare) if prepare.needs_protocol_2() => 2,
            _ => 1,
        }
    }

    fn fields(&self) -> serde_json::Result<(&'static str, Value)> {
        Ok(match self {
            Self::PrepareReceiver(prepare) => (
                "prepare",
                with_job(Job::Capture, serde_json::to_value(prepare)?),
            ),
            Self::PrepareOutside(prepare) => (
                "prepare",
                with_job(Job::Program, serde_json::to_value(prepare)?),
            ),
            Self::PreparePasses(prepare) => (
                "prepare",
                with_job(Job::Passes, serde_json::to_value(prepare)?),
            ),
            Self::PrepareGenerator(prepare) => (
                "prepare",
                with_role(Role::Generator, serde_json::to_value(prepare)?),
            ),
            Self::Probe => ("probe", empty()),
            Self::Pass(pass) => ("pass", serde_json::to_value(pass)?),
            Self::Go => ("go", empty()),
            Self::Stop(stop) => ("stop", serde_json::to_value(stop)?),
            Self::Beat => ("beat", empty()),
            Self::Bye => ("bye", empty()),
        })
    }

    fn from_fields(kind: &str, mut fields: Value) -> Result<Self, LineError> {
        Ok(match kind {
            "prepare" => match take_role(kind, &mut fields)? {
                Role::Receiver => match take_job(kind, &mut fields)? {
                    Job::Capture => Self::PrepareReceiver(typed(kind, fields)?),
                    Job::Program => Self::PrepareOutside(typed(kind, fields)?),
                    Job::Passes => Self::PreparePasses(typed(kind, fields)?),
                },
                Role::Generator => Self::PrepareGenerator(typed(kind, fields)?),
                Role::Agent => return Err(LineError::UnknownType("prepare of an agent".into())),
            },
            "probe" => Self::Probe,
            "pass" => Self::Pass(typed(kind, fields)?),
            "go" => Self::Go,
            "stop" => Self::Stop(typed(kind, fields)?),
            "beat" => Self::Beat,
            "bye" => Self::Bye,
            other => return Err(LineError::UnknownType(quote(other))),
        })
    }
}

impl Message for FromChild {
    fn version(&self) -> u32 {
        match self {
            Self::CountReport(_) | Self::PassReport(_) | Self::Ready(Ready::Passes(_)) => 2,
            _ => 1,
        }
    }

    fn fields(&self) -> serde_json::Result<(&'static str, Value)> {
        Ok(match self {
            Self::Hello(hello) => ("hello", serde_json::to_value(hello)?),
            Self::Ready(ready) => ("ready", serde_json::to_value(ready)?),
            Self::Seen => ("seen", empty()),
            Self::Armed => ("armed", empty()),
            Self::Done(done) => ("done", serde_json::to_value(done)?),
            Self::GeneratorReport(report) => (
                "report",
                with_role(Role::Generator, serde_json::to_value(report)?),
            ),
            Self::ReceiverReport(report) => (
                "report",
                with_job(Job::Capture, serde_json::to_value(report)?),
            ),
            Self::CountReport(report) => (
                "report",
                with_job(Job::Program, serde_json::to_value(report)?),
            ),
            Self::PassReport(report) => (
                "report",
                with_job(Job::Passes, serde_json::to_value(report)?),
            ),
            Self::Error(error) => ("error", serde_json::to_value(error)?),
        })
    }

    fn from_fields(kind: &str, mut fields: Value) -> Result<Self, LineError> {
        Ok(match kind {
            "hello" => Self::Hello(typed(kind, fields)?),
            "ready" => Self::Ready(typed(kind, fields)?),
            "seen" => Self::Seen,
            "armed" => Self::Armed,
            "done" => Self::Done(typed(kind, fields)?),
            "report" => match take_role(kind, &mut fields)? {
                Role::Generator => Self::GeneratorReport(typed(kind, fields)?),
                Role::Receiver => match take_job(kind, &mut fields)? {
                    Job::Capture => Self::ReceiverReport(typed(kind, fields)?),
                    Job::Program => Self::CountReport(typed(kind, fields)?),
                    Job::Passes => Self::PassReport(typed(kind, fields)?),
                },
                Role::Agent => return Err(LineError::UnknownType("report of an agent".into())),
            },
            "error" => Self::Error(typed(kind, fields)?),
            other => return Err(LineError::UnknownType(quote(other))),
        })
    }
}

fn empty() -> Value {
    Value::Object(Map::new())
}

fn with_role(role: Role, mut fields: Value) -> Value {
    if let Value::Object(fields) = &mut fields {
        fields.insert("role".into(), role.to_string().into());
    }
    fields
}

/// What a receiver is to do, as `job` beside its role; capturing needs no word, since protocol 1 knows
/// nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Job {
    #[default]
    Capture,
    Program,
    Passes,
}

fn with_job(job: Job, fields: Value) -> Value {
    let mut fields = with_role(Role::Receiver, fields);
    let name = match job {
        Job::Capture => return fields,
        Job::Program => "program",
        Job::Passes => "passes",
    };
    if let Value::Object(fields) = &mut fields {
        fields.insert("job".into(), name.into());
    }
    fields
}

fn take_job(kind: &str, fields: &mut Value) -> Result<Job, LineError> {
    let job = fields
        .as_object_mut()
        .and_then(|fields| fields.remove("job"));
    job.map_or(Ok(Job::default()), |job| typed(kind, job))
}

fn take_role(kind: &str, fields: &mut Value) -> Result<Role, LineError> {
    let role = fields
        .as_object_mut()
        .and_then(|fields| fields.remove("role"));
    typed(kind, role.unwrap_or(Value::Null))
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

mod hex_u64 {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &u64, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(&format_args!("{value:016x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<u64, D::Error> {
        let text = String::deserialize(input)?;
        u64::from_str_radix(&text, 16).map_err(serde::de::Error::custom)
    }
}
