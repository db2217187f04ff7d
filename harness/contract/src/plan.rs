//! The sealed plan: what will be run, in which order, and the rule that will judge it.
//!
//! Written once as `plan.json`, after the binaries are built and every arm was rehearsed; its SHA-256
//! is the start of the chain of rows. It holds no time of day, no host name and no path of the
//! harness's own, so that the same question with the same seed and binaries has the same bytes but for
//! what the pilot and earlier A/A campaigns showed. What a campaign says of a program of the user's is
//! in it as written: arguments, folders and environment variables too.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::control::{
    CaptureSettings, Engine, Isolation, ReceiveCpu, SendMethod, Steering, TopologyKind,
};
use crate::identity::Identity;
use crate::metric::Metric;
use crate::program::{CountName, ProgramSpec};
use crate::stamp::Form;
use crate::units::{Family, FrameSize};

/// Schema of `plan.json`.
pub const PLAN_SCHEMA: &str = "wiretrial.plan/3";

/// A campaign with every default filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Campaign {
    /// Name, `[a-z0-9._-]+`.
    pub name: String,
    /// What it gives.
    pub kind: Kind,
    /// The question in words.
    pub question: String,
    /// How the answer is reached.
    pub design: Design,
    /// Where the trials run.
    pub topology: Topology,
    /// The arms, the reference first.
    pub arms: Vec<ArmSpec>,
    /// The cases, in the order of the file.
    pub cases: Vec<Case>,
    /// Declared gates, beside the implicit one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateSpec>,
}

impl Campaign {
    /// What every case of the campaign is made of.
    ///
    /// # Panics
    ///
    /// A campaign without cases, which the campaign file's checks refuse.
    #[must_use]
    pub fn workload(&self) -> Workload {
        match &self.cases.first().expect("a campaign has a case").work {
            Work::Live(_) => Workload::Live,
            Work::Passes(passes) if passes.input.is_some() => Workload::File,
            Work::Passes(_) => Workload::Command,
        }
    }

    /// Index of the arm that the others are compared with: the one that a table names, else the first.
    #[must_use]
    pub fn reference(&self) -> usize {
        let named = self.design.reference.as_ref();
        let named = named.and_then(|name| self.arms.iter().position(|arm| arm.name == *name));
        named.unwrap_or(0)
    }

    /// The metrics that its trials have, the default primary first.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        if self.is_diagnostic() {
            return vec![Metric::HeapBytesPerPacket];
        }
        let latency = self.cases.iter().all(|case| self.has_latency(case));
        let all = Metric::of(self.workload(), self.topology.receive_cpu);
        let lost = self.cases.iter().all(Case::tells_lost);
        let built_in =
            self.workload() != Workload::Live || self.cases.iter().all(Case::is_built_in);
        let known = all.iter().filter(|metric| match metric {
            Metric::LostPerMillion => lost,
            metric if metric.is_a_latency() => latency,
            metric => built_in || !metric.is_told_by_the_receiver(),
        });
        known.copied().collect()
    }

    /// Whether its receivers count what they take from the allocator: its trials have no times then,
    /// since counting takes some.
    #[must_use]
    pub fn is_diagnostic(&self) -> bool {
        self.design.primary == Metric::HeapBytesPerPacket
    }

    /// Whether the receivers of a case know when a datagram was to be sent: the built-in one, from
    /// full stamps.
    fn has_latency(&self, case: &Case) -> bool {
        case.live().is_some_and(|live| {
            let payload = FrameSize(live.traffic.frame_size).payload(self.topology.family);
            payload.and_then(Form::for_payload) == Some(Form::Full) && case.is_built_in()
        })
    }
}

/// What a program is given to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Workload {
    /// Packets on an interface.
    #[default]
    Live,
    /// A capture file to read.
    File,
    /// A command line.
    Command,
}

impl Workload {
    /// Its name in campaign files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::File => "file",
            Self::Command => "command",
        }
    }
}

/// What a campaign gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Two arms, a verdict per case.
    Paired,
    /// Any number of arms, each beside one of them that is the reference.
    Table,
}

impl Kind {
    /// Its name in campaign files and evidence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paired => "paired",
            Self::Table => "table",
        }
    }
}

/// How the answer is reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// Pairs per case, even, at least 6.
    pub pairs: u32,
    /// Worthwhile effect and equivalence margin: a ratio, or a number in the unit of a primary metric
    /// that is compared as a difference; `None` when not declared.
    pub margin: Option<f64>,
    /// The metric that decides.
    pub primary: Metric,
    /// How the members of a pair share the time.
    pub arrangement: Arrangement,
    /// Both arms are the same on purpose, to measure the floor.
    pub aa: bool,
    /// The arm of a table that the others are compared with; a paired campaign compares with its first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The arm of a table that is its reference built anew in another layout, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout_control: Option<String>,
    /// Voided pairs replaced per case, at most.
    pub replacements: u32,
    /// Rest between pairs, ns.
    pub rest_ns: u64,
    /// Largest CPU use of other programs, in CPUs; above it a trial is voided.
    pub foreign_cpu: f64,
    /// When the implicit gate `no_regression` fails.
    pub fail_on: FailOn,
    /// Whether a case that is not decided ends with exit code 4.
    pub require_conclusion: bool,
    /// Whether a case that order or time moved by more than the margin is `unstable`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub require_stable: bool,
    /// Pairs a case that are run before the plan is sealed, to learn the noise; 0 to 6, 0 for none.
    #[serde(default)]
    pub pilot: u32,
    /// Running time after which no pair is begun, ns; `None` when nothing but the plan ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_ns: Option<u64>,
    /// Time the pairs were to fit in, ns, when the pilot chose their number; `None` when they were
    /// declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
}

/// When the implicit gate `no_regression` fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailOn {
    /// A case is shown to be worse by more than the margin.
    #[default]
    RegressedWorthwhile,
    /// A case is shown to be worse.
    Regressed,
    /// Never.
    Never,
}

impl FailOn {
    /// All of them, the default first.
    pub const ALL: [Self; 3] = [Self::RegressedWorthwhile, Self::Regressed, Self::Never];

    /// Its name in campaign files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RegressedWorthwhile => "regressed_worthwhile",
            Self::Regressed => "regressed",
            Self::Never => "never",
        }
    }
}

/// A declared gate: in every case one of its conditions holds, or all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateSpec {
    /// Its name, unique.
    pub name: String,
    /// Whether one condition is enough.
    pub need: Need,
    /// The conditions.
    pub conditions: Vec<Condition>,
}

/// How many conditions of a gate must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// One.
    Any,
    /// Every one.
    All,
}

/// A condition on one metric. It holds only where the interval shows it: a change on the decision
/// interval's end, a value on the one-sided 95 % bound of the candidate's mean.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// The metric.
    pub metric: Metric,
    /// What must be shown of it.
    pub test: Test,
}

/// What must be shown of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// The candidate is higher than the baseline by at least this ratio.
    Up(f64),
    /// The candidate is lower than the baseline by at least this ratio, below 1.
    Down(f64),
    /// The candidate's mean is at least this, in the metric's unit.
    AtLeast(f64),
    /// The candidate's mean is at most this, in the metric's unit.
    AtMost(f64),
}

/// How the members of a pair share the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrangement {
    /// Both receivers are alive and one generator alternates between their ports.
    Interleaved,
    /// One member after the other.
    Sequential,
}

impl std::fmt::Display for Arrangement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Interleaved => "interleaved",
            Self::Sequential => "sequential",
        })
    }
}

/// Where the trials run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// The topology.
    pub kind: TopologyKind,
    /// Which CPU does the kernel's receive work.
    pub receive_cpu: ReceiveCpu,
    /// IP version.
    pub family: Family,
    /// First of the UDP ports in a row: one an arm, and the control port.
    pub port: u16,
}

impl Topology {
    /// Address that datagrams are sent to.
    #[must_use]
    pub const fn address(&self) -> IpAddr {
        self.kind.receiver_address(self.family)
    }

    /// Whether the sender does the kernel's receive work: what a capture costs then slows it.
    #[must_use]
    pub const fn coupled(&self) -> bool {
        matches!(self.receive_cpu, ReceiveCpu::Sender)
    }

    /// The ports of a campaign of so many arms: one an arm, and the control port.
    #[must_use]
    pub const fn ports(arms: usize) -> usize {
        arms + 1
    }

    /// Where the datagrams of arm `index` go; the control port counts as the arm after the last.
    ///
    /// # Panics
    ///
    /// When the ports run out, which the campaign file's checks refuse.
    #[must_use]
    pub fn target(&self, index: usize) -> SocketAddr {
        let port = u16::try_from(index)
            .ok()
            .and_then(|index| self.port.checked_add(index));
        SocketAddr::new(
            self.address(),
            port.expect("room for the arms' ports was checked"),
        )
    }
}

/// One of the things compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArmSpec {
    /// Its name, `[a-z0-9._-]+`: `baseline` or `candidate` in a paired campaign.
    pub name: String,
}

/// A named point: what both arms are given, and each arm's own program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Unique name, `[a-z0-9._/-]+`.
    pub name: String,
    /// What is done.
    pub work: Work,
}

impl Case {
    /// Its traffic and receivers, when packets are sent.
    #[must_use]
    pub const fn live(&self) -> Option<&Live> {
        match &self.work {
            Work::Live(live) => Some(live),
            Work::Passes(_) => None,
        }
    }

    /// Its passes, when none are.
    #[must_use]
    pub const fn passes(&self) -> Option<&Passes> {
        match &self.work {
            Work::Live(_) => None,
            Work::Passes(passes) => Some(passes),
        }
    }

    /// Whether packets are sent, and to the built-in receiver in every arm.
    fn is_built_in(&self) -> bool {
        let receivers = self.live().map(|live| &live.receivers);
        receivers.is_some_and(|all| all.iter().all(|receiver| receiver.outside().is_none()))
    }

    /// Whether every arm's receiver says enough to know what was lost: a program of the user's what
    /// it processed, or what its ring took and dropped.
    fn tells_lost(&self) -> bool {
        let says = |program: &ProgramSpec, name| program.counts.contains_key(&name);
        let enough = |program: &ProgramSpec| {
            says(program, CountName::Processed)
                || says(program, CountName::Received) && says(program, CountName::Dropped)
        };
        self.live().is_some_and(|live| {
            let outside = live.receivers.iter().filter_map(ReceiverSpec::outside);
            outside.into_iter().all(enough)
        })
    }

    /// The program of the user's that arm number `arm` measures; none for the built-in receiver.
    #[must_use]
    pub fn outside(&self, arm: usize) -> Option<&ProgramSpec> {
        match &self.work {
            Work::Live(live) => live.receivers.get(arm)?.outside(),
            Work::Passes(passes) => match passes.programs.get(arm)? {
                PassProgram::RawFold => None,
                PassProgram::Outside(program) => Some(program),
            },
        }
    }

    /// Number of arms it has a program for.
    #[must_use]
    pub const fn arms(&self) -> usize {
        match &self.work {
            Work::Live(live) => live.receivers.len(),
            Work::Passes(passes) => passes.programs.len(),
        }
    }
}

/// What is done in a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Datagrams are sent and captured.
    Live(Live),
    /// Programs run over the same input again and again.
    Passes(Passes),
}

/// Datagrams that are sent and captured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Live {
    /// What is sent.
    pub traffic: Traffic,
    /// The receiver of each arm, in the order of the arms.
    pub receivers: Vec<ReceiverSpec>,
}

/// Passes of programs over the same input, the arms' in drawn order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passes {
    /// The capture file; none for command lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Input>,
    /// What every pass must have processed.
    #[serde(default, skip_serializing_if = "is_all")]
    pub units: UnitsRule,
    /// Passes an arm and pair.
    pub passes: u32,
    /// Longest pass, ns; a program that takes longer is ended and the trial fails.
    pub limit_ns: u64,
    /// The program of each arm, in the order of the arms.
    pub programs: Vec<PassProgram>,
}

/// What every pass over an input must have processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitsRule {
    /// Every packet of the file.
    #[default]
    All,
    /// As many as every other pass of both arms: for programs that leave frames of some kinds out.
    Equal,
}

impl UnitsRule {
    /// Its name in campaign files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Equal => "equal",
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the shape that serde calls"
)]
fn is_all(rule: &UnitsRule) -> bool {
    *rule == UnitsRule::All
}

/// A capture file, by content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Its path as written in the campaign; its name alone when that was absolute.
    pub file: String,
    /// SHA-256 of its bytes; empty until a session has read it.
    pub sha256: String,
    /// Packets in it, counted by the harness.
    pub units: u64,
    /// Packets of the short input, which shows what starting costs.
    pub short_units: u64,
    /// SHA-256 of the short input's bytes.
    pub short_sha256: String,
}

/// What reads the input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassProgram {
    /// The built-in receiver: frames are read and folded into a sum, without decoding.
    RawFold,
    /// A program of the user's.
    Outside(ProgramSpec),
}

/// What is sent in a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Intended rate over all senders, packets per second.
    pub rate_pps: u64,
    /// Ethernet frame with FCS, bytes.
    pub frame_size: u32,
    /// Sending time per arm and for the control port, ns.
    pub duration_ns: u64,
    /// Warm-up per arm before it, in the same schedule, ns.
    pub warm_up_ns: u64,
    /// Nominal length of a slice, ns; interleaved only.
    pub slice_ns: u64,
    /// UDP flows, a multiple of `senders`.
    pub flows: u16,
    /// Sender threads.
    pub senders: u32,
    /// How datagrams are handed to the kernel.
    pub method: SendMethod,
    /// Datagrams a call at most.
    pub batch: u32,
    /// Overdue datagrams sent back to back before the schedule shifts.
    pub max_burst: u32,
}

/// The receiver of one arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiverSpec {
    /// What captures.
    pub program: Measured,
    /// Longest drain, ns.
    pub drain_limit_ns: u64,
}

impl ReceiverSpec {
    /// The capture's packet buffer timeout, ns; unknown for a program of the user's.
    #[must_use]
    pub const fn timeout_ns(&self) -> Option<u64> {
        match &self.program {
            Measured::BuiltIn { capture, .. } => Some(capture.timeout_ns),
            Measured::Outside(_) => None,
        }
    }

    /// The program of the user's, if it is one.
    #[must_use]
    pub const fn outside(&self) -> Option<&ProgramSpec> {
        match &self.program {
            Measured::BuiltIn { .. } => None,
            Measured::Outside(program) => Some(program),
        }
    }
}

/// What captures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measured {
    /// The built-in receiver.
    BuiltIn {
        /// How it captures.
        capture: CaptureSettings,
        /// How frames travel.
        engine: Engine,
    },
    /// A program of the user's, started and watched by the built-in receiver.
    Outside(ProgramSpec),
}

/// `plan.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// [`PLAN_SCHEMA`].
    pub schema: String,
    /// Version of the harness that sealed it.
    pub version: String,
    /// The campaign, every default filled in.
    pub campaign: Campaign,
    /// SHA-256 of what is asked: kind, what every case does and with which settings or programs, topology
    /// without ports, primary metric, arrangement, A/A. Not of seed, binaries, names, pairs, margin or gates.
    pub question_sha256: String,
    /// 1 + earlier plans of the same question under the same evidence root.
    pub attempt: u32,
    /// Those plans' SHA-256, oldest first.
    pub earlier_plans: Vec<String>,
    /// The how-manyth attempt of its job a CI system says this is: a fresh runner has no earlier
    /// plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci_attempt: Option<u32>,
    /// Campaign seed.
    pub seed: Seed,
    /// How trials are separated from the host.
    pub isolation: Isolation,
    /// SHA-256 of every executable, by role and arm: `harness`, `generator`, `receiver/baseline`, and
    /// `program/baseline` where a program of the user's is measured.
    pub binaries: BTreeMap<String, String>,
    /// What is measured in each arm, by its name.
    pub identities: BTreeMap<String, Identity>,
    /// Where it comes from, by arm.
    pub origins: BTreeMap<String, Origin>,
    /// Where the processes run.
    pub placement: Placement,
    /// The decision rule's constants.
    pub rule: Rule,
    /// How far equal arms are known to come out apart on hosts of this class, at most one a case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub floors: Vec<Floor>,
    /// What the pilot showed, one a case in their order; empty where none was run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pilot: Vec<PilotCase>,
    /// The pairs, in the order in which they run.
    pub pairs: Vec<PlannedPair>,
}

impl Plan {
    /// The how-manyth attempt at its question this is, by the plans there were or by what a CI system
    /// says.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempt.max(self.ci_attempt.unwrap_or(1))
    }

    /// SHA-256 of what an arm measures, as sealed.
    #[must_use]
    pub fn measured(&self, arm: &str) -> Option<&String> {
        self.binaries
            .get(&format!("program/{arm}"))
            .or_else(|| self.binaries.get(&format!("receiver/{arm}")))
    }
}

/// How far equal arms came out apart in a case, on hosts of this class, in earlier A/A campaigns: what
/// was known when the plan was sealed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// The case.
    pub case: String,
    /// The arm of a table that is compared with its reference; a paired campaign has but one candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// The one of the two arms whose settings it is known for; none where it is known for both's, and is
    /// the larger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    /// The primary metric, whose floor it is.
    pub metric: Metric,
    /// The floor at the planned pairs ([`ShownFloor::size`](crate::analysis::ShownFloor::size)): of a ratio
    /// as a ratio less 1 (0.03 for 3 %), of a difference in its unit.
    pub size: f64,
    /// The part of it that more pairs make smaller
    /// ([`ShownFloor::half_width`](crate::analysis::ShownFloor::half_width)), likewise.
    pub half_width: f64,
    /// A/A campaigns it is made from: the middle one of them counts.
    pub occasions: u32,
    /// Whole days since that one.
    pub age_days: u32,
}

/// What the pairs before the seal showed of one case. The pilot's own plan and rows lie beside it;
/// everything here can be recomputed from them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PilotCase {
    /// The case.
    pub case: String,
    /// Its pilot pairs that count.
    pub pairs: u32,
    /// Mean time from the end of one pair to the end of the next, ns, void ones included; unknown
    /// where none ran.
    pub pair_ns: Option<u64>,
    /// Standard deviation of the pair effects of the primary metric: of the logarithms of pair ratios, or
    /// of pair differences in the metric's unit; unknown below 2 pairs.
    pub sd: Option<f64>,
    /// That raised to its upper 80 % limit, since few pairs may show little of the noise there is; the
    /// same unit.
    pub sd_upper: Option<f64>,
    /// The smallest true effect found with 80 % power at the planned pairs, as a ratio less 1,
    /// or in the unit of a difference.
    pub detectable: Option<f64>,
    /// The smallest margin inside which equal arms are called equivalent with 80 % power, as a ratio
    /// less 1, or in the unit of a difference.
    pub equivalence_margin: Option<f64>,
    /// The smallest true effect called worthwhile with 80 % power, as a ratio less 1, or in the unit
    /// of a difference; none without a margin.
    pub worthwhile: Option<f64>,
    /// Pairs at which equal arms are called equivalent with 80 % power; none without a margin, or
    /// where no number of pairs that a plan may have is enough.
    pub pairs_needed: Option<u32>,
    /// How passes and launches vary; none where packets are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<PilotPasses>,
}

/// How the passes inside a launch and the launches vary, by the log of a pass's cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PilotPasses {
    /// Standard deviation of a pass among its launch's.
    pub iteration_sd: Option<f64>,
    /// Standard deviation of the launches of a pair beside each other, beyond what their passes
    /// explain; unknown where they vary no more than that.
    pub launch_sd: Option<f64>,
    /// Passes a launch that would spend the same time best (Kalibera and Jones, "Rigorous
    /// benchmarking in reasonable time", 2013).
    pub advised: Option<u32>,
}

/// Where what an arm measures comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Beside the harness: its own receiver.
    Sibling,
    /// Built from a revision, or named by its path; kept by its content.
    Given,
    /// Installed; it runs where it is.
    Installed,
}

/// A campaign's seed, written as `0x` and 16 hexadecimal digits, since 64 bits do not fit the
/// numbers of every JSON reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Seed(pub u64);

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

impl FromStr for Seed {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let value = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        value
            .map(Self)
            .map_err(|_| format!("\"{text}\" is not a seed such as 0x5eed5eed5eed5eed or 12345"))
    }
}

impl TryFrom<String> for Seed {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Seed> for String {
    fn from(seed: Seed) -> Self {
        seed.to_string()
    }
}

/// Which CPUs the processes are pinned to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Placement {
    /// Senders, in turn; empty when unpinned.
    pub senders: Vec<u32>,
    /// Receivers; `None` when unpinned.
    pub receiver: Option<u32>,
    /// How the kernel's receive work is kept off the senders' CPUs; `None` when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steering: Option<Steering>,
    /// CPU that the kernel thread which receives is kept on; `None` when there is no such thread or
    /// the kernel does not let this user keep it anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_thread: Option<u32>,
}

/// Constants of the decision rule, so that a third party needs nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Resamples of the percentile intervals, over whole pairs.
    pub resamples: u32,
    /// Level of the decision interval for "different", 0.95.
    pub level_difference: f64,
    /// Level of the decision interval for "equivalent", 0.90.
    pub level_equivalence: f64,
    /// Offered load allowed, as a ratio of the intended: lowest and highest.
    pub offered: [f64; 2],
    /// Largest difference between the members' offered loads, as a ratio.
    pub pair_offered: f64,
    /// Largest CPU use of other processes, in CPUs.
    pub foreign_cpu: f64,
    /// Lost packets allowed per thousand accepted.
    pub lost_per_thousand: u64,
}

/// In which order the members of a pair, or of a round of a table, are launched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchOrder {
    /// The baseline, then the candidate.
    BaselineFirst,
    /// The candidate, then the baseline.
    CandidateFirst,
    /// The arms of a table, by their index.
    #[serde(untagged)]
    Arms(Vec<u32>),
}

impl LaunchOrder {
    /// Indices of the arms in launch order.
    #[must_use]
    pub fn arms(&self) -> Vec<usize> {
        match self {
            Self::BaselineFirst => vec![0, 1],
            Self::CandidateFirst => vec![1, 0],
            Self::Arms(arms) => arms.iter().map(|arm| *arm as usize).collect(),
        }
    }

    /// Members of the pair or round.
    #[must_use]
    pub fn members(&self) -> usize {
        match self {
            Self::BaselineFirst | Self::CandidateFirst => 2,
            Self::Arms(arms) => arms.len(),
        }
    }
}

/// One pair of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedPair {
    /// Number of the pair, from 0, in the order in which they run.
    pub pair: u64,
    /// Index of its case.
    pub case: u32,
    /// Its round: the how-manyth pair of its case, from 0.
    pub round: u32,
    /// Launch order.
    pub order: LaunchOrder,
    /// Jitter before it, ns.
    pub gap_ns: u64,
    /// Bytes of environment padding, the same for both members.
    pub padding: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_order_is_a_word_or_a_list() {
        let text = |order: &LaunchOrder| serde_json::to_string(order).unwrap();
        let of_table = LaunchOrder::Arms(vec![2, 0, 1]);
        assert_eq!(text(&LaunchOrder::CandidateFirst), "\"candidate_first\"");
        assert_eq!(text(&of_table), "[2,0,1]");
        for order in [LaunchOrder::BaselineFirst, of_table] {
            let again: LaunchOrder = serde_json::from_str(&text(&order)).unwrap();
            assert_eq!(again, order);
            assert_eq!(order.arms().len(), order.members());
        }
        assert!(serde_json::from_str::<LaunchOrder>("\"candidate_last\"").is_err());
    }

    #[test]
    fn seeds_are_text_in_evidence() {
        let seed = Seed(0x5eed);
        assert_eq!(
            serde_json::to_string(&seed).unwrap(),
            "\"0x0000000000005eed\""
        );
        assert_eq!("0x5eed".parse(), Ok(seed));
        assert_eq!("24301".parse(), Ok(seed));
        assert!("0xseed".parse::<Seed>().unwrap_err().contains("0xseed"));
        assert!("18446744073709551616".parse::<Seed>().is_err());
    }
}
