//! The rows of evidence: what one trial was, what each process said, what it adds up to.
//!
//! A row keeps the raw counts; the ledger beside them can be recomputed from them, and `verify`
//! does. A failed trial is a row like any other. Rows hold no wall time, host name, user or
//! absolute path. Times are ns from the campaign's start on `CLOCK_MONOTONIC`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::control::{GroupName, Ready, ReceiverReady, TrialIdentity};
use crate::plan::LaunchOrder;
use crate::report::{CountReport, GeneratorReport, GroupTally, PassReport, ReceiverReport};

/// Schema of a row. The number changes when a reader of the old one would misread a row.
pub const TRIAL_SCHEMA: &str = "wiretrial.trial/2";

/// When in a campaign a trial ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Once per arm and case, before the plan is sealed; never in an estimate.
    Rehearsal,
    /// Before the plan is sealed, to learn the noise; never in an estimate.
    Pilot,
    /// Part of the sealed plan.
    Confirm,
}

/// One trial: one arm of one pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// [`TRIAL_SCHEMA`].
    pub schema: String,
    /// SHA-256 of the line before, without its newline; of the plan for row 0.
    pub prev: String,
    /// Number of the row, from 0.
    pub row: u64,
    /// When in the campaign.
    pub phase: Phase,
    /// The case.
    pub case: String,
    /// The arm.
    pub arm: String,
    /// The pair, as numbered in the plan; replacements are numbered on from there.
    pub pair: u64,
    /// The voided pair this one replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<u64>,
    /// Launch order of the pair.
    pub order: LaunchOrder,
    /// Identity of the trial's datagrams.
    pub identity: TrialIdentity,
    /// How it ended.
    pub outcome: Outcome,
    /// When its receiver was started, ns from the campaign's start.
    pub started_ns: u64,
    /// When its report was in, ns from the campaign's start.
    pub ended_ns: u64,
    /// Intended rate, packets per second: a label; none where nothing is sent.
    pub intended_pps: Option<u64>,
    /// SHA-256 of the receiver, as it said itself.
    pub receiver_sha256: Option<String>,
    /// SHA-256 of the program measured, as hashed at its launch; the receiver's own when that is
    /// what is measured.
    pub program_sha256: Option<String>,
    /// SHA-256 of the generator, as it said itself.
    pub generator_sha256: Option<String>,
    /// What the receiver got.
    pub ready: Option<Ready>,
    /// What the generator counted; an interleaved pair's two rows hold the same one.
    pub generator: Option<GeneratorReport>,
    /// What was delivered.
    pub delivery: Option<Delivery>,
    /// Counters of the host, armed to end of drain.
    pub host: Option<HostWindow>,
    /// What it adds up to; `None` when a side is missing.
    pub ledger: Option<Ledger>,
    /// The guards, each with what it saw.
    pub guards: Vec<Guard>,
    /// Notes that do not decide anything.
    pub flags: Vec<Flag>,
}

impl TrialRecord {
    /// The tally of the row's own arm.
    #[must_use]
    pub fn tally(&self) -> Option<&GroupTally> {
        self.generator
            .as_ref()?
            .group(&GroupName::Arm(self.arm.clone()))
    }

    /// The tally of the control port.
    #[must_use]
    pub fn control(&self) -> Option<&GroupTally> {
        self.generator.as_ref()?.group(&GroupName::Control)
    }

    /// What the built-in receiver reported.
    #[must_use]
    pub fn receiver(&self) -> Option<&ReceiverReport> {
        match self.delivery.as_ref()? {
            Delivery::Sequences(report) => Some(report),
            Delivery::Count(_) | Delivery::Passes(_) => None,
        }
    }

    /// What a program of the user's counted.
    #[must_use]
    pub fn count(&self) -> Option<&CountReport> {
        match self.delivery.as_ref()? {
            Delivery::Count(report) => Some(report),
            Delivery::Sequences(_) | Delivery::Passes(_) => None,
        }
    }

    /// The passes.
    #[must_use]
    pub fn passes(&self) -> Option<&[PassReport]> {
        match self.delivery.as_ref()? {
            Delivery::Passes(passes) => Some(passes),
            Delivery::Sequences(_) | Delivery::Count(_) => None,
        }
    }

    /// What the receiver of a live trial got.
    #[must_use]
    pub fn capturing(&self) -> Option<&ReceiverReady> {
        match self.ready.as_ref()? {
            Ready::Receiver(ready) => Some(ready),
            Ready::Passes(_) | Ready::Generator(_) => None,
        }
    }
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ran to its end and every guard passed.
    Ok,
    /// It ran to its end and a guard did not pass: the pair is replaced.
    Voided,
    /// It did not run to its end.
    Failed {
        /// The step it was in.
        step: Step,
        /// What went wrong, one sentence.
        cause: String,
        /// Exit code the cause stands for.
        code: u8,
    },
}

/// The steps of a trial, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Wait for the host to be quiet.
    Quiet,
    /// Start the processes.
    Launch,
    /// Open captures and sockets.
    Prepare,
    /// Send probe datagrams until every receiver has seen one.
    Probe,
    /// Wait for every receiver to be quiet and to take its counters.
    Arm,
    /// Send.
    Send,
    /// Drain.
    Drain,
    /// Collect the reports.
    Report,
    /// Run passes.
    Pass,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Quiet => "quiet",
            Self::Launch => "launch",
            Self::Prepare => "prepare",
            Self::Probe => "probe",
            Self::Arm => "arm",
            Self::Send => "send",
            Self::Drain => "drain",
            Self::Report => "report",
            Self::Pass => "pass",
        })
    }
}

/// What was delivered, and how well it is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Every counted datagram by its number: the built-in receiver.
    Sequences(Box<ReceiverReport>),
    /// Only how many: a program of the user's.
    Count(Box<CountReport>),
    /// What each pass over the input did, in the order in which they ran.
    Passes(Vec<PassReport>),
}

/// A place where a packet can be lost, each with one counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The egress queueing discipline (`tc -s qdisc`).
    Qdisc,
    /// The path between the hosts (its own counters).
    Path,
    /// The sender's end of the link (tx_dropped less backlog).
    Link,
    /// The receiving NIC (one named field a driver).
    Nic,
    /// The per-CPU backlog of the receiving side (rx_dropped, at most softnet_stat's dropped).
    Backlog,
    /// The capture ring (ps_drop).
    Ring,
    /// The bounded queue behind the capture.
    Queue,
    /// Left in a queue at the end.
    Abandoned,
    /// Between two counted hand-overs.
    ConsumerGap,
}

impl Stage {
    /// All stages, in the order a packet passes them.
    pub const ALL: [Self; 9] = [
        Self::Qdisc,
        Self::Path,
        Self::Link,
        Self::Nic,
        Self::Backlog,
        Self::Ring,
        Self::Queue,
        Self::Abandoned,
        Self::ConsumerGap,
    ];

    /// Its name in evidence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Qdisc => "qdisc",
            Self::Path => "path",
            Self::Link => "link",
            Self::Nic => "nic",
            Self::Backlog => "backlog",
            Self::Ring => "ring",
            Self::Queue => "queue",
            Self::Abandoned => "abandoned",
            Self::ConsumerGap => "consumer_gap",
        }
    }
}

/// How many of the lost a stage took: a number, or a range where copies that do not count were
/// dropped too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Share {
    /// Exactly this many.
    Count(u64),
    /// Between these, both included.
    Range {
        /// At least.
        min: u64,
        /// At most.
        max: u64,
    },
}

/// Where the datagrams of one trial went. Two identities: sets decide how many are lost, copies
/// explain where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Counted datagrams the sender's kernel accepted.
    pub accepted: u64,
    /// Counted datagrams delivered at least once.
    pub unique: u64,
    /// accepted - unique, exactly; negative only in an invalid ledger.
    pub lost: i64,
    /// Fewest that may have been lost, where a program's counts leave that open: then `lost` is the
    /// most, and `unique` the fewest delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_least: Option<u64>,
    /// Packets that a program's ring took and that it never processed: its last block, for a program
    /// that reads without a time limit. Not lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring_tail: Option<u64>,
    /// Copies that went in from armed to the end of the drain: accepted, warm-up and filler, and
    /// what came beside them (duplicate, stale, foreign, corrupt).
    pub copies_in: u64,
    /// Delivered copies of every class.
    pub copies_delivered: u64,
    /// Copies dropped by stage; a counter that others share is capped at what is missing. A stage that
    /// this topology does not have is left out, one that could not be read is `null`.
    pub dropped: BTreeMap<Stage, Option<u64>>,
    /// The lost by stage, from `dropped`.
    pub lost_at: BTreeMap<Stage, Option<Share>>,
    /// copies_in - copies_delivered - dropped: copies no counter explains. Negative: more
    /// explanations than losses.
    pub unexplained: i64,
    /// `ps_recv = delivered copies + ps_drop`; `None` when libpcap's counters are unknown.
    pub ring_check: Option<RingCheck>,
    /// What the identities say together.
    pub state: LedgerState,
}

/// Both sides of `ps_recv = delivered copies + ps_drop`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingCheck {
    /// The left side.
    pub received: u64,
    /// First term of the right side.
    pub delivered: u64,
    /// Second term of the right side.
    pub dropped: u64,
}

impl RingCheck {
    /// Whether both sides are equal.
    #[must_use]
    pub const fn holds(&self) -> bool {
        matches!(self.delivered.checked_add(self.dropped), Some(sum) if sum == self.received)
    }
}

/// Whether a ledger can be believed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerState {
    /// Every copy is accounted for.
    Balanced,
    /// Copies are missing that no counter saw: `lost` stands, its places are not all known.
    Unexplained {
        /// How many.
        copies: u64,
    },
    /// Counters that others share, or that also count copies in no total, leave this many copies in
    /// doubt.
    Ambiguous {
        /// Copies in doubt.
        copies: u64,
    },
    /// An identity is broken.
    Invalid {
        /// Which, with both numbers.
        cause: String,
    },
}

/// A condition on the design of a trial, never on its metric. A guard that did not pass voids the
/// pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    /// Which.
    pub name: GuardName,
    /// Whether it passed.
    pub passed: bool,
    /// What it saw and what it allows.
    pub saw: String,
}

/// The guards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardName {
    /// Offered load 95-105 % of the intended.
    Offered,
    /// The members' offered loads within 0.5 % of each other.
    PairOffered,
    /// Sending method, batch and senders as sealed.
    SendingAsSealed,
    /// Same executables as sealed.
    Binary,
    /// CPU time of other processes under 2.5 % of a CPU.
    ForeignCpu,
    /// No step of the wall clock.
    ClockStep,
    /// No signal came, and the other member did not fail.
    Interrupted,
}

impl GuardName {
    /// All guards.
    pub const ALL: [Self; 7] = [
        Self::Offered,
        Self::PairOffered,
        Self::SendingAsSealed,
        Self::Binary,
        Self::ForeignCpu,
        Self::ClockStep,
        Self::Interrupted,
    ];

    /// Its name in evidence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Offered => "offered",
            Self::PairOffered => "pair_offered",
            Self::SendingAsSealed => "sending_as_sealed",
            Self::Binary => "binary",
            Self::ForeignCpu => "foreign_cpu",
            Self::ClockStep => "clock_step",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Notes beside a trial or a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// The sender does the kernel's receive work: nothing can be lost in front of the ring, and a
    /// rate not reached may be the capture's doing.
    Coupled,
    /// Fewer than 20 slices an arm.
    FewSlices,
    /// Processes could not be kept on CPUs of their own.
    PlacementFree,
    /// The receiver fell behind the sender.
    BacklogGrows,
    /// Interval without variance; the verdict is an exact comparison.
    Deterministic,
    /// Leaving one pair out changes the verdict.
    Fragile,
    /// Mean and median disagree.
    MeanTypicalSplit,
    /// Equivalent, and yet different from 1.
    Detectable,
    /// Too few repeats, or losses in bursts, for the bound to mean what it says.
    LowInformation,
    /// The program does not say how many packets it processed.
    WorkUnproven,
    /// Packets were left unread in the program's ring.
    RingTail,
    /// The place in a pair moved the result, p below 1 %.
    PositionEffect,
    /// The result or the level of the pairs followed time, p below 1 %.
    Drift,
    /// The result changed its level during the campaign, p below 1 %.
    ChangePoint,
    /// A pair lies far from the others; it is kept.
    Outlying,
    /// More pairs than are resampled: the decision interval is Student's t alone.
    StudentAlone,
}

impl Flag {
    /// All flags.
    pub const ALL: [Self; 16] = [
        Self::Coupled,
        Self::FewSlices,
        Self::PlacementFree,
        Self::BacklogGrows,
        Self::Deterministic,
        Self::Fragile,
        Self::MeanTypicalSplit,
        Self::Detectable,
        Self::LowInformation,
        Self::WorkUnproven,
        Self::RingTail,
        Self::PositionEffect,
        Self::Drift,
        Self::ChangePoint,
        Self::Outlying,
        Self::StudentAlone,
    ];

    /// Its name in evidence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Coupled => "coupled",
            Self::FewSlices => "few_slices",
            Self::PlacementFree => "placement_free",
            Self::BacklogGrows => "backlog_grows",
            Self::Deterministic => "deterministic",
            Self::Fragile => "fragile",
            Self::MeanTypicalSplit => "mean_typical_split",
            Self::Detectable => "detectable",
            Self::LowInformation => "low_information",
            Self::WorkUnproven => "work_unproven",
            Self::RingTail => "ring_tail",
            Self::PositionEffect => "position_effect",
            Self::Drift => "drift",
            Self::ChangePoint => "change_point",
            Self::Outlying => "outlying",
            Self::StudentAlone => "student_alone",
        }
    }
}

/// Counters of a host at one moment, as the kernel shows them in the namespace of the receiver.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostCounters {
    /// `CLOCK_MONOTONIC` ns of the reading.
    pub at_ns: u64,
    /// Statistics of each link (64 bits wide), by interface and name.
    pub links: BTreeMap<String, BTreeMap<String, u64>>,
    /// softnet_stat summed over CPUs (32 bits wide each): processed, dropped, squeezed. Machine-wide.
    pub softnet: BTreeMap<String, u64>,
    /// Udp lines of /proc/net/snmp and Udp6 of snmp6, by name.
    pub udp: BTreeMap<String, u64>,
    /// Drops of the control port's sink, where the kernel shows them.
    pub sink_dropped: Option<u64>,
    /// Statistics of each link in the sender's namespace, where that is another one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sender_links: BTreeMap<String, BTreeMap<String, u64>>,
    /// CPU time of the kernel thread that receives, ns, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_thread_ns: Option<u64>,
}

/// Counters around a trial, as read; deltas are taken where they are used, at each counter's width.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostWindow {
    /// When armed.
    pub start: HostCounters,
    /// After the drain.
    pub end: HostCounters,
    /// CPU time that tasks of other programs used in between, ns, from their schedstat; kernel
    /// threads and tasks that ended in between are not in it. `None` when schedstat is missing.
    pub foreign_cpu_ns: Option<u64>,
}

/// What the kernel charges user and system time by. CPU times of one mode are not those of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuAccounting {
    /// Each tick of the timer is charged to what it interrupts.
    Tick,
    /// Time is read at every entry to the kernel and every exit from it.
    Precise,
}

/// Facts of a host that are the same for a whole campaign.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostFacts {
    /// CPU model name.
    pub cpu_model: Option<String>,
    /// CPUs online.
    pub cpus_online: Option<u32>,
    /// CPUs the harness may use.
    pub cpus_allowed: Vec<u32>,
    /// Whether sibling threads share a core.
    pub smt: Option<bool>,
    /// Frequency governor of CPU 0.
    pub governor: Option<String>,
    /// Hypervisor, `none` on bare metal.
    pub virtualisation: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Clock source.
    pub clock_source: Option<String>,
    /// Timer interrupts a second of a busy CPU: 100, 250, 300 or 1000; `None` also where a busy CPU
    /// has none.
    #[serde(default)]
    pub hz: Option<u32>,
    /// What user and system time are charged by.
    #[serde(default)]
    pub cpu_accounting: Option<CpuAccounting>,
    /// Whether the kernel is built to take the time of interrupts out of the CPU time of the process
    /// that they interrupt (`CONFIG_IRQ_TIME_ACCOUNTING`).
    #[serde(default)]
    pub irq_time_apart: Option<bool>,
    /// Settings under /proc/sys that matter to a capture, by dotted name.
    pub sysctls: BTreeMap<String, Option<String>>,
    /// Boot id; private.
    pub boot_id: Option<String>,
    /// Host name; private.
    pub host_name: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of<T: Serialize>(value: &T) -> String {
        serde_json::to_value(value)
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    }

    #[test]
    fn names_are_what_serde_writes() {
        assert!(
            Stage::ALL
                .iter()
                .all(|stage| name_of(stage) == stage.name())
        );
        assert!(
            GuardName::ALL
                .iter()
                .all(|guard| name_of(guard) == guard.name())
        );
        assert!(Flag::ALL.iter().all(|flag| name_of(flag) == flag.name()));
    }

    #[test]
    fn a_share_is_a_number_a_range_or_null() {
        let mut lost: BTreeMap<Stage, Option<Share>> = BTreeMap::new();
        lost.insert(Stage::Ring, Some(Share::Count(3)));
        lost.insert(Stage::Nic, None);
        lost.insert(Stage::Backlog, Some(Share::Range { min: 0, max: 2 }));
        let text = serde_json::to_string(&lost).unwrap();
        assert_eq!(text, r#"{"nic":null,"backlog":{"min":0,"max":2},"ring":3}"#);
        assert_eq!(
            serde_json::from_str::<BTreeMap<Stage, Option<Share>>>(&text).unwrap(),
            lost
        );
    }
}
