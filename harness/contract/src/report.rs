//! What a generator and a receiver say at the end of a trial.
//!
//! A counter that a process could not read is `None`, never 0. Every field's unit is in its name;
//! a field without one is a number of datagrams, frames or events.

use serde::{Deserialize, Serialize};

use crate::clock::ClockPair;
use crate::control::{Errors, GroupName, PassInput, SendMethod};
use crate::program::Counts;

/// Quantiles of a distribution of times, ns, from a histogram with three significant digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Quantiles {
    /// Samples in it.
    pub count: u64,
    /// Half of the samples are at most this.
    pub p50_ns: u64,
    /// 99 % are at most this.
    pub p99_ns: u64,
    /// 99.9 % are at most this.
    pub p999_ns: u64,
    /// The largest, exactly.
    pub max_ns: u64,
}

/// One generator, one trial or one interleaved pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GeneratorReport {
    /// How datagrams were handed to the kernel.
    pub method: SendMethod,
    /// Datagrams a call at most.
    pub batch: u32,
    /// Sender threads.
    pub senders: u32,
    /// CPUs each sender was allowed to run on, read back.
    pub cpus: Vec<Vec<u32>>,
    /// Length of the schedule, warm-up included, ns.
    pub scheduled_ns: u64,
    /// Time by which the schedule was shifted because a sender was late by more than its burst, ns;
    /// the largest over the senders.
    pub shifted_ns: u64,
    /// Most datagrams that one sender sent back to back while it was late.
    pub longest_burst: u64,
    /// Share of the schedule a sender did not sleep, 0..=1; the largest over the senders. Waiting
    /// by spinning is busy.
    pub busy_share: f64,
    /// CPU time of the process from `go` to the last send, ns.
    pub process_cpu_ns: u64,
    /// Times the kernel took the CPU from a sender, summed; `None` when not read.
    pub involuntary_switches: Option<u64>,
    /// Tallies, in the order of the groups in `prepare`.
    pub groups: Vec<GroupTally>,
}

/// A send call that takes longer is a stall of the host, ns: a thousand times what one takes.
pub const STALL_NS: u64 = 1_000_000;

impl GeneratorReport {
    /// The tally of a group.
    #[must_use]
    pub fn group(&self, name: &GroupName) -> Option<&GroupTally> {
        self.groups.iter().find(|group| group.name == *name)
    }
}

/// The datagrams of one group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupTally {
    /// Whose they are.
    pub name: GroupName,
    /// Counted datagrams in the schedule.
    pub planned: u64,
    /// Counted datagrams for which a send call was made.
    pub attempted: u64,
    /// Counted datagrams the kernel accepted.
    pub accepted: u64,
    /// The same by flow.
    pub accepted_per_flow: Vec<u64>,
    /// Warm-up datagrams the kernel accepted.
    pub warm_up_accepted: u64,
    /// Probe datagrams the kernel accepted.
    pub probe_accepted: u64,
    /// Filler datagrams the kernel accepted.
    #[serde(default)]
    pub filler_accepted: u64,
    /// Refused datagrams of every class by errno name.
    pub errors: Errors,
    /// Send calls for counted datagrams.
    pub send_calls: u64,
    /// Send calls of those that took fewer datagrams than they were given.
    pub short_calls: u64,
    /// Time inside send calls for counted datagrams, ns, over all senders.
    pub send_call_ns: u64,
    /// Send calls of those that took longer than [`STALL_NS`].
    pub stalled_calls: u64,
    /// Time inside them, ns; it is part of `send_call_ns`.
    pub stalled_ns: u64,
    /// Busy time of the kernel thread that receives in the counted slices, ns: read before each
    /// slice's first send call and before the next slice's. `None` where there is no such thread.
    #[serde(default)]
    pub receive_cpu_ns: Option<u64>,
    /// Measured sending time of counted datagrams, ns, summed over slices: for each slice from its
    /// first send call to its last, plus the time the first call's datagrams cover at the intended
    /// rate. A batch is sent when its last datagram is due, so the first call ends the time that
    /// its datagrams cover, and the last one ends the slice.
    pub sending_ns: u64,
    /// Counted slices in the schedule.
    pub slices: u64,
    /// First counted send call, `CLOCK_MONOTONIC` ns.
    pub first_ns: Option<u64>,
    /// Return of the last counted send call, `CLOCK_MONOTONIC` ns.
    pub last_ns: Option<u64>,
    /// Actual send less intended send of counted datagrams; never negative.
    pub lateness: Quantiles,
}

impl GroupTally {
    /// Datagrams the kernel accepted in all: counted ones, warm-up, probes and filler.
    #[must_use]
    pub const fn all_accepted(&self) -> u64 {
        self.accepted
            .saturating_add(self.warm_up_accepted)
            .saturating_add(self.probe_accepted)
            .saturating_add(self.filler_accepted)
    }

    /// Offered load, packets per second: accepted over the measured sending time. `None` when
    /// nothing was accepted.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts and times of one trial are below 2^53"
    )]
    pub fn offered_pps(&self) -> Option<f64> {
        (self.accepted > 0 && self.sending_ns > 0)
            .then(|| self.accepted as f64 * 1e9 / self.sending_ns as f64)
    }
}

/// The kernel's packet ring, as sock_diag(7) shows it for an `AF_PACKET` socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingGeometry {
    /// TPACKET version, 2 or 3.
    pub version: u32,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Blocks.
    pub blocks: u32,
    /// Bytes of a frame slot; TPACKET_V3 packs frames closer than this.
    pub frame_bytes: u32,
    /// Frame slots.
    pub frames: u32,
    /// Time after which a partly filled block is handed over, ms; TPACKET_V3 only.
    pub retire_ms: u32,
}

impl RingGeometry {
    /// Bytes of the whole ring.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.block_bytes as u64 * self.blocks as u64
    }
}

/// libpcap's counters from armed to the end of the drain, as deltas that wrap at 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PcapCounters {
    /// `ps_recv`. On Linux: frames that passed the kernel's filter, dropped ones included.
    pub received: u64,
    /// `ps_drop`: frames for which the ring had no room.
    pub dropped: u64,
    /// `ps_ifdrop`. On Linux read only in promiscuous mode, else `None`.
    pub interface_dropped: Option<u64>,
}

/// Frames by what their stamp says; every copy that was delivered is in exactly one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Copies {
    /// Counted datagrams seen for the first time.
    pub unique: u64,
    /// Further copies of counted datagrams already seen.
    pub duplicate: u64,
    /// Warm-up datagrams, all copies.
    pub warm_up: u64,
    /// Probe datagrams, all copies.
    pub probe: u64,
    /// Filler datagrams, all copies.
    pub filler: u64,
    /// Datagrams of another trial.
    pub stale: u64,
    /// Frames that passed the filter and are not ours.
    pub foreign: u64,
    /// Frames with our magic and a wrong checksum, or a flow or number outside the plan.
    pub corrupt: u64,
}

impl Copies {
    /// All delivered copies.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.unique
            .saturating_add(self.duplicate)
            .saturating_add(self.warm_up)
            .saturating_add(self.probe)
            .saturating_add(self.filler)
            .saturating_add(self.stale)
            .saturating_add(self.foreign)
            .saturating_add(self.corrupt)
    }
}

/// How long frames of one twentieth of the trial stayed in the ring: hand-over to the consumer less
/// the kernel's time stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Residence {
    /// First copies of counted datagrams in it.
    pub count: u64,
    /// Their mean, ns; 0 when `count` is 0.
    pub mean_ns: u64,
    /// Their largest, ns.
    pub max_ns: u64,
}

/// A trial at one moment. What could not be read, or the receiver does not know, is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sample {
    /// Since armed, ns.
    pub at_ns: u64,
    /// Counted datagrams seen for the first time so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unique: Option<u64>,
    /// `ps_drop` so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<u64>,
    /// How long the first frame of the dispatch just before had lain in the ring, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residence_ns: Option<u64>,
    /// Resident memory of the process (proc_pid_statm(5)), bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
    /// CPU time of the process since armed, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_cpu_ns: Option<u64>,
}

/// One receiver, one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReceiverReport {
    /// Delivered copies from armed to the end of the drain.
    pub copies: Copies,
    /// First copies of counted datagrams by flow.
    pub unique_per_flow: Vec<u64>,
    /// First copies with a number below one seen before in their flow (RFC 4737 section 3).
    pub reordered: u64,
    /// First copies that came after `stop`: not lost, and not in time either.
    pub late: u64,
    /// Frames shorter than the headers and the stamp; they are among the foreign.
    pub truncated: u64,
    /// libpcap's counters; `None` when `pcap_stats` failed.
    pub pcap: Option<PcapCounters>,
    /// Calls of `pcap_dispatch` that delivered something.
    pub dispatches: u64,
    /// CPU time of the process, all threads, from the first counted frame to the return of the
    /// dispatch with the last, ns; `None` when no counted frame came.
    pub process_cpu_ns: Option<u64>,
    /// Instructions of the process in user space, all threads, over the same window; `None` where
    /// the processor or the kernel does not count them, or did so for a part of the time only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<u64>,
    /// CPU time of the process up to ready, ns.
    pub start_up_cpu_ns: u64,
    /// First copies missing when `stop` came, against the accepted numbers in it.
    pub owed_at_stop: Option<u64>,
    /// From `stop` to the last first copy, ns; 0 when all had come before.
    pub drain_ns: u64,
    /// Ring residence by twentieth of the planned numbers, 20 of them.
    pub residence: Vec<Residence>,
    /// First delivery of a counted frame, `CLOCK_MONOTONIC` ns.
    pub first_ns: Option<u64>,
    /// Last delivery of a counted frame, `CLOCK_MONOTONIC` ns.
    pub last_ns: Option<u64>,
    /// The highest resident memory of the process (VmHWM), bytes.
    pub peak_rss_bytes: Option<u64>,
    /// Voluntary context switches of the process from armed to the end of the drain.
    pub voluntary_switches: Option<u64>,
    /// Involuntary ones.
    pub involuntary_switches: Option<u64>,
    /// Page faults of the process that took no reading from a disk, from armed to the end of the
    /// drain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minor_faults: Option<u64>,
    /// Those that took one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub major_faults: Option<u64>,
    /// Real time less monotonic time when armed.
    pub clock_at_armed: ClockPair,
    /// The same at the end of the drain.
    pub clock_at_end: ClockPair,
    /// Datagrams the sink socket took off the network stack and dropped, where it counts them
    /// (`sk_drops`); printed, never part of a ledger.
    pub sink_dropped: Option<u64>,
    /// From the intended send to the hand-over of first copies, where stamps are full and both
    /// clocks are one.
    #[serde(default)]
    pub latency: Option<Quantiles>,
    /// Bytes taken from the allocator from armed to the end of the drain; only by the receiver that
    /// counts them.
    #[serde(default)]
    pub heap_bytes: Option<u64>,
    /// How it went, of a trial of ten seconds or more: samples from armed to the end of the drain
    /// while frames came, at most once a second and at most 3,600. When they are so many, every
    /// other one is dropped and the time between two is doubled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Sample>,
}

/// How a CPU time was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuClock {
    /// The clock of the process (clock_getcpuclockid(3)), exact.
    Process,
    /// The usage of a control group that holds the program and all it starts.
    Cgroup,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProgramEnd {
    /// Its exit status.
    pub status: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Signals it was sent to end it, in order.
    pub asked: Vec<String>,
}

/// A program of the user's in one live trial. Counts cover its whole life, CPU time the window from
/// armed to the end of the drain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountReport {
    /// What it said it counted.
    pub counts: Counts,
    /// CPU time, all threads, ns; and of everything it started, where a control group says so.
    pub process_cpu_ns: Option<u64>,
    /// How the CPU time was taken.
    pub cpu_clock: CpuClock,
    /// CPU time until it captured, ns.
    pub start_up_cpu_ns: Option<u64>,
    /// The highest resident memory of the process (VmHWM), bytes.
    pub peak_rss_bytes: Option<u64>,
    /// How it ended.
    pub end: ProgramEnd,
    /// From `stop` until nothing moved any more, ns.
    pub drain_ns: u64,
    /// Real time less monotonic time when armed.
    pub clock_at_armed: ClockPair,
    /// The same at the end of the drain.
    pub clock_at_end: ClockPair,
    /// Datagrams the sink socket dropped (`sk_drops`), over its whole life; printed, never a term.
    pub sink_dropped: Option<u64>,
    /// Memory and CPU time of its process from armed to `stop`, by the rule of
    /// [`ReceiverReport::series`]; the first process's alone where it started others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Sample>,
}

/// One pass of a program over its input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassReport {
    /// Which input it read.
    pub input: PassInput,
    /// From its start to its end, ns.
    pub elapsed_ns: u64,
    /// CPU time, user and system, of the process and of all it waited for, ns.
    pub cpu_ns: u64,
    /// Units of work it says it did: packets it processed, or `units` of its work line.
    pub units: Option<u64>,
    /// Bytes in them, where it says so.
    pub bytes: Option<u64>,
    /// Errors it met, where it says so.
    pub errors: Option<u64>,
    /// `checksum` of its work line, or the sum over the frames.
    pub checksum: Option<String>,
    /// The highest resident memory, bytes; unknown where what started it had more.
    pub peak_rss_bytes: Option<u64>,
    /// Instructions in user space, of the process and of all it started: from execve(2) to the end
    /// of the program, or over the receiver's own reading. `None` where nothing counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<u64>,
    /// SHA-256 of the executable, taken again before this pass; of the receiver where that itself
    /// reads.
    pub program_sha256: String,
    /// Whether the program left processes behind, which were ended: their work is not in the times.
    pub left_processes: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_copy_is_in_the_total_once() {
        let copies = Copies {
            unique: 1,
            duplicate: 10,
            warm_up: 100,
            probe: 1_000,
            filler: 10_000,
            stale: 100_000,
            foreign: 1_000_000,
            corrupt: 10_000_000,
        };
        assert_eq!(copies.total(), 11_111_111);
    }
}
