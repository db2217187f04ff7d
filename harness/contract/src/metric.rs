//! What is compared: the fixed names of costs, their units and what each leaves out.

use serde::{Deserialize, Serialize};

use crate::control::ReceiveCpu;
use crate::plan::Workload;

/// A metric of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Capture process and the kernel's share of capture, or its receive CPU.
    CaptureCostNsPerPacket,
    /// CPU time of the capture process; of a program that reads a file, less what starting it takes.
    ProcessCpuNsPerPacket,
    /// Busy time of the kernel thread that receives; `receive-cpu = separate` only.
    ReceiveCpuNsPerPacket,
    /// Time inside send calls to the arm's port less the control port's.
    CaptureKernelNsPerPacket,
    /// Time inside send calls to the arm's port.
    SendCallNsPerPacket,
    /// Half of the packets reached the consumer within this time of their intended send.
    LatencyP50Ns,
    /// 99 % of the packets did.
    LatencyP99Ns,
    /// Peak resident memory of the capture process.
    PeakRssBytes,
    /// Instructions that the capture process executed, where a counter for them exists.
    InstructionsPerPacket,
    /// Bytes that the capture process took from its allocator; diagnostic trials only.
    HeapBytesPerPacket,
    /// Lost of a million accepted packets, from the ledger; it can be 0.
    LostPerMillion,
    /// Context switches of the capture process, voluntary and involuntary, for a million packets
    /// handed to it; it can be 0.
    ContextSwitchesPerMillion,
    /// Page faults of the capture process, minor and major, for a million packets handed to it; it
    /// can be 0.
    PageFaultsPerMillion,
    /// Time a unit of work; `file` and `command` workloads only.
    ElapsedNsPerUnit,
    /// Units of work a second; `file` and `command` workloads only.
    UnitsPerSecond,
    /// The highest rate below the loss limit; kind `search` only.
    MaxSustainedPps,
}

/// How a metric is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Mean of the candidate over mean of the baseline; 1 is no difference.
    #[default]
    Ratio,
    /// Mean of candidate less baseline, in the unit of the metric; 0 is no difference. For metrics
    /// that can be 0.
    Difference,
}

impl Scale {
    /// The size of an effect, as a share of change or in the unit of a difference, of one on the scale of
    /// pair effects: logarithms of ratios, or differences.
    #[must_use]
    pub fn size(self, effect: f64) -> f64 {
        match self {
            Self::Ratio => effect.exp_m1(),
            Self::Difference => effect,
        }
    }

    /// The opposite of [`Scale::size`].
    #[must_use]
    pub fn effect(self, size: f64) -> f64 {
        match self {
            Self::Ratio => size.ln_1p(),
            Self::Difference => size,
        }
    }
}

/// Which way is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// A cost.
    LowerIsBetter,
    /// A rate.
    HigherIsBetter,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Self; 16] = [
        Self::CaptureCostNsPerPacket,
        Self::ProcessCpuNsPerPacket,
        Self::ReceiveCpuNsPerPacket,
        Self::CaptureKernelNsPerPacket,
        Self::SendCallNsPerPacket,
        Self::LatencyP50Ns,
        Self::LatencyP99Ns,
        Self::PeakRssBytes,
        Self::InstructionsPerPacket,
        Self::HeapBytesPerPacket,
        Self::LostPerMillion,
        Self::ContextSwitchesPerMillion,
        Self::PageFaultsPerMillion,
        Self::ElapsedNsPerUnit,
        Self::UnitsPerSecond,
        Self::MaxSustainedPps,
    ];

    /// The metrics of a campaign's trials, the default primary first.
    #[must_use]
    pub const fn of(workload: Workload, receive_cpu: ReceiveCpu) -> &'static [Self] {
        match (workload, receive_cpu) {
            (Workload::Live, ReceiveCpu::Sender) => &[
                Self::CaptureCostNsPerPacket,
                Self::ProcessCpuNsPerPacket,
                Self::CaptureKernelNsPerPacket,
                Self::SendCallNsPerPacket,
                Self::LatencyP50Ns,
                Self::LatencyP99Ns,
                Self::PeakRssBytes,
                Self::LostPerMillion,
                Self::ContextSwitchesPerMillion,
                Self::PageFaultsPerMillion,
                Self::InstructionsPerPacket,
            ],
            // The receiving CPU spends far more on waking up than on a capture: its share is noise
            // beside what the programs differ in.
            (Workload::Live, ReceiveCpu::Separate) => &[
                Self::ProcessCpuNsPerPacket,
                Self::CaptureCostNsPerPacket,
                Self::ReceiveCpuNsPerPacket,
                Self::SendCallNsPerPacket,
                Self::LatencyP50Ns,
                Self::LatencyP99Ns,
                Self::PeakRssBytes,
                Self::LostPerMillion,
                Self::ContextSwitchesPerMillion,
                Self::PageFaultsPerMillion,
                Self::InstructionsPerPacket,
            ],
            (Workload::File, _) => &[
                Self::ProcessCpuNsPerPacket,
                Self::ElapsedNsPerUnit,
                Self::UnitsPerSecond,
                Self::PeakRssBytes,
                Self::InstructionsPerPacket,
            ],
            (Workload::Command, _) => &[
                Self::ElapsedNsPerUnit,
                Self::ProcessCpuNsPerPacket,
                Self::UnitsPerSecond,
                Self::PeakRssBytes,
                Self::InstructionsPerPacket,
            ],
        }
    }

    /// Whether it is a length of the generator's schedule where packets are sent at a fixed rate.
    #[must_use]
    pub const fn is_the_generators_clock(self) -> bool {
        matches!(
            self,
            Self::ElapsedNsPerUnit | Self::UnitsPerSecond | Self::MaxSustainedPps
        )
    }

    /// Whether it is a time from intended send to consumer.
    #[must_use]
    pub const fn is_a_latency(self) -> bool {
        matches!(self, Self::LatencyP50Ns | Self::LatencyP99Ns)
    }

    /// How the arms are compared on it: where 0 is a value like any other, by the difference of the
    /// means, else by their ratio.
    #[must_use]
    pub const fn scale(self) -> Scale {
        match self {
            Self::LostPerMillion | Self::ContextSwitchesPerMillion | Self::PageFaultsPerMillion => {
                Scale::Difference
            }
            _ => Scale::Ratio,
        }
    }

    /// Whether in live trials only the built-in receiver tells it.
    #[must_use]
    pub const fn is_told_by_the_receiver(self) -> bool {
        matches!(
            self,
            Self::ContextSwitchesPerMillion
                | Self::PageFaultsPerMillion
                | Self::InstructionsPerPacket
        )
    }

    /// Its name in campaign files, rows and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CaptureCostNsPerPacket => "capture-cost-ns-per-packet",
            Self::ProcessCpuNsPerPacket => "process-cpu-ns-per-packet",
            Self::ReceiveCpuNsPerPacket => "receive-cpu-ns-per-packet",
            Self::CaptureKernelNsPerPacket => "capture-kernel-ns-per-packet",
            Self::SendCallNsPerPacket => "send-call-ns-per-packet",
            Self::LatencyP50Ns => "latency-p50-ns",
            Self::LatencyP99Ns => "latency-p99-ns",
            Self::PeakRssBytes => "peak-rss-bytes",
            Self::InstructionsPerPacket => "instructions-per-packet",
            Self::HeapBytesPerPacket => "heap-bytes-per-packet",
            Self::LostPerMillion => "lost-per-million",
            Self::ContextSwitchesPerMillion => "context-switches-per-million",
            Self::PageFaultsPerMillion => "page-faults-per-million",
            Self::ElapsedNsPerUnit => "elapsed-ns-per-unit",
            Self::UnitsPerSecond => "units-per-second",
            Self::MaxSustainedPps => "max-sustained-pps",
        }
    }

    /// Its name for people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::CaptureCostNsPerPacket => "capture cost",
            Self::ProcessCpuNsPerPacket => "process CPU",
            Self::ReceiveCpuNsPerPacket => "receive CPU",
            Self::CaptureKernelNsPerPacket => "capture's kernel share",
            Self::SendCallNsPerPacket => "send calls",
            Self::LatencyP50Ns => "median latency",
            Self::LatencyP99Ns => "p99 latency",
            Self::PeakRssBytes => "peak memory",
            Self::InstructionsPerPacket => "instructions",
            Self::HeapBytesPerPacket => "heap",
            Self::LostPerMillion => "lost",
            Self::ContextSwitchesPerMillion => "context switches",
            Self::PageFaultsPerMillion => "page faults",
            Self::ElapsedNsPerUnit => "elapsed",
            Self::UnitsPerSecond => "rate",
            Self::MaxSustainedPps => "sustained rate",
        }
    }

    /// Its unit for people.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::CaptureCostNsPerPacket
            | Self::ProcessCpuNsPerPacket
            | Self::ReceiveCpuNsPerPacket
            | Self::CaptureKernelNsPerPacket
            | Self::SendCallNsPerPacket => "ns per packet",
            Self::LatencyP50Ns | Self::LatencyP99Ns => "ns",
            Self::PeakRssBytes => "bytes",
            Self::InstructionsPerPacket => "instructions per packet",
            Self::HeapBytesPerPacket => "bytes per packet",
            Self::LostPerMillion => "lost per million",
            Self::ContextSwitchesPerMillion => "switches per million",
            Self::PageFaultsPerMillion => "faults per million",
            Self::ElapsedNsPerUnit => "ns per unit",
            Self::UnitsPerSecond => "units per second",
            Self::MaxSustainedPps => "packets per second",
        }
    }

    /// Which way is good.
    #[must_use]
    pub const fn direction(self) -> Direction {
        match self {
            Self::UnitsPerSecond | Self::MaxSustainedPps => Direction::HigherIsBetter,
            _ => Direction::LowerIsBetter,
        }
    }

    /// What the number leaves out where the programs were given this to do.
    #[must_use]
    pub const fn excludes_in(self, workload: Workload) -> &'static str {
        match (self, workload) {
            // There is no short input that would show what starting takes.
            (Self::ProcessCpuNsPerPacket, Workload::Command) => {
                "all kernel work outside the process; start-up is in it"
            }
            (Self::InstructionsPerPacket, Workload::Command) => "the kernel; start-up is in it",
            _ => self.excludes(),
        }
    }

    /// Its unit for people, in trials of this workload.
    #[must_use]
    pub const fn unit_in(self, workload: Workload) -> &'static str {
        match (self, workload) {
            // Command lines need not have packets.
            (Self::ProcessCpuNsPerPacket, Workload::Command) => "ns per unit",
            (Self::InstructionsPerPacket, Workload::Command) => "instructions per unit",
            _ => self.unit(),
        }
    }

    /// What the number leaves out.
    #[must_use]
    pub const fn excludes(self) -> &'static str {
        match self {
            Self::CaptureCostNsPerPacket => {
                "the sender's own path to the interface, the sink socket, what rejecting a packet costs every capture, start-up and drain"
            }
            Self::ProcessCpuNsPerPacket => "start-up, and all kernel work outside the process",
            Self::ReceiveCpuNsPerPacket => {
                "the capture process, the sender, and interrupts on the receiving CPU"
            }
            Self::CaptureKernelNsPerPacket => {
                "the capture process, wake-ups on another CPU, and what rejecting a packet costs every capture"
            }
            Self::SendCallNsPerPacket => "the capture process; it includes the sender's own path",
            Self::LatencyP50Ns | Self::LatencyP99Ns => {
                "packets that were lost; a late sender is in it, since it counts from the intended send"
            }
            Self::PeakRssBytes => {
                "the kernel's ring before it is touched; unknown in passes of a program that needs less than what starts it"
            }
            Self::InstructionsPerPacket => "start-up, and the kernel",
            Self::HeapBytesPerPacket => "start-up, and memory that is mapped and not allocated",
            Self::LostPerMillion => "packets that the sender's kernel did not accept",
            Self::ContextSwitchesPerMillion => {
                "start-up, and those of the sender and of the kernel's own threads"
            }
            Self::PageFaultsPerMillion => "start-up, and the pages of the kernel's ring",
            Self::ElapsedNsPerUnit | Self::UnitsPerSecond => "nothing: start-up is in it",
            Self::MaxSustainedPps => "rates above the generator's ceiling",
        }
    }
}

impl std::fmt::Display for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Metric {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|metric| metric.name() == text)
            .ok_or_else(|| {
                format!(
                    "\"{text}\" is not a metric; there are {}",
                    names(&Self::ALL)
                )
            })
    }
}

/// Metric names, comma separated.
#[must_use]
pub fn names(metrics: &[Metric]) -> String {
    metrics
        .iter()
        .map(|metric| metric.name())
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_serde_writes() {
        for metric in Metric::ALL {
            assert_eq!(
                serde_json::to_string(&metric).unwrap(),
                format!("\"{}\"", metric.name())
            );
            assert_eq!(metric.name().parse(), Ok(metric));
        }
    }

    #[test]
    fn what_can_be_0_is_a_count_for_a_million_and_never_decides_by_default() {
        for metric in Metric::ALL {
            let of_a_million = metric.name().ends_with("-per-million");
            assert_eq!(
                metric.scale() == Scale::Difference,
                of_a_million,
                "{metric}"
            );
        }
        for workload in [Workload::Live, Workload::File, Workload::Command] {
            for receive_cpu in [ReceiveCpu::Sender, ReceiveCpu::Separate] {
                assert_eq!(Metric::of(workload, receive_cpu)[0].scale(), Scale::Ratio);
            }
        }
    }
}
