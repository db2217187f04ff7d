//! What is compared: the fixed names of costs, their units and what each leaves out.

use serde::{Deserialize, Serialize};

/// A metric of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Capture process and the kernel's share of capture.
    CaptureCostNsPerPacket,
    /// CPU time of the capture process.
    ProcessCpuNsPerPacket,
    /// Time inside send calls to the arm's port less the control port's.
    CaptureKernelNsPerPacket,
    /// Time inside send calls to the arm's port.
    SendCallNsPerPacket,
    /// Peak resident memory of the capture process.
    PeakRssBytes,
    /// Time a unit of work; `file` and `command` workloads only.
    ElapsedNsPerUnit,
    /// Units of work a second; `file` and `command` workloads only.
    UnitsPerSecond,
    /// The highest rate below the loss limit; kind `search` only.
    MaxSustainedPps,
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
    /// All metrics, the default primary first.
    pub const ALL: [Self; 8] = [
        Self::CaptureCostNsPerPacket,
        Self::ProcessCpuNsPerPacket,
        Self::CaptureKernelNsPerPacket,
        Self::SendCallNsPerPacket,
        Self::PeakRssBytes,
        Self::ElapsedNsPerUnit,
        Self::UnitsPerSecond,
        Self::MaxSustainedPps,
    ];

    /// The metrics a trial at a fixed offered rate has, the default primary first.
    pub const LIVE: [Self; 5] = [
        Self::CaptureCostNsPerPacket,
        Self::ProcessCpuNsPerPacket,
        Self::CaptureKernelNsPerPacket,
        Self::SendCallNsPerPacket,
        Self::PeakRssBytes,
    ];

    /// Its name in campaign files, rows and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CaptureCostNsPerPacket => "capture-cost-ns-per-packet",
            Self::ProcessCpuNsPerPacket => "process-cpu-ns-per-packet",
            Self::CaptureKernelNsPerPacket => "capture-kernel-ns-per-packet",
            Self::SendCallNsPerPacket => "send-call-ns-per-packet",
            Self::PeakRssBytes => "peak-rss-bytes",
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
            Self::ProcessCpuNsPerPacket => "capture process CPU",
            Self::CaptureKernelNsPerPacket => "capture's kernel share",
            Self::SendCallNsPerPacket => "send calls",
            Self::PeakRssBytes => "peak memory",
            Self::ElapsedNsPerUnit => "elapsed",
            Self::UnitsPerSecond => "units",
            Self::MaxSustainedPps => "sustained rate",
        }
    }

    /// Its unit for people.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::CaptureCostNsPerPacket
            | Self::ProcessCpuNsPerPacket
            | Self::CaptureKernelNsPerPacket
            | Self::SendCallNsPerPacket => "ns per packet",
            Self::PeakRssBytes => "bytes",
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

    /// What the number leaves out.
    #[must_use]
    pub const fn excludes(self) -> &'static str {
        match self {
            Self::CaptureCostNsPerPacket => {
                "the sender's own path to the interface, the sink socket, start-up and drain"
            }
            Self::ProcessCpuNsPerPacket => "start-up, and all kernel work outside the process",
            Self::CaptureKernelNsPerPacket => {
                "the capture process, wake-ups on another CPU, and what rejecting a packet costs every capture"
            }
            Self::SendCallNsPerPacket => "the capture process; it includes the sender's own path",
            Self::PeakRssBytes => "the kernel's ring before it is touched",
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
}
