//! What one trial at one load brings to the classifier.

use super::OFFERED_TOLERANCE;

/// Packets lost by one repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// Counted packet by packet: this many arrived, each once.
    Unique(u64),
    /// A foreign program left the tail of its ring unread: the truth lies between.
    Between {
        /// Fewest lost packets.
        least: u64,
        /// Most lost packets.
        most: u64,
    },
}

/// What the sender did wrong, by its own counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sender {
    /// Planned packets the sending host refused or dropped.
    pub dropped: u64,
    /// A back-to-back run was longer than `max-burst`.
    pub burst_exceeded: bool,
    /// The schedule was stretched by more than its bound.
    pub stretch_exceeded: bool,
}

/// One trial at one load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repeat<'a> {
    /// Packets of the plan.
    pub planned: u64,
    /// Packets the kernel of the sender accepted.
    pub accepted: u64,
    /// Packets that did not arrive.
    pub lost: Lost,
    /// (lost, accepted) of equal time blocks; empty where none were counted.
    pub blocks: &'a [(u64, u64)],
    /// Load asked for, packets per second.
    pub intended_pps: f64,
    /// Load of record, packets per second.
    pub offered_pps: f64,
    /// The sender's own faults.
    pub sender: Sender,
    /// The receiver owed more at the end than it could hold, or its backlog grew.
    pub backlog_grows: bool,
    /// Mismatched work, a clock step, or counters that contradict each other.
    pub invalid: bool,
}

/// What is known about a load beside its repeats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// The sender shares its CPU with the receiving kernel (`receive-cpu = sender`).
    pub coupled: bool,
    /// How far the offered load may lie from the intended one, as a share of it. Campaigns that ask
    /// for a rate use [`OFFERED_TOLERANCE`]; paired ones judge the load they got.
    pub offered_tolerance: f64,
    /// Calibrated ceiling of the generator, packets per second.
    pub ceiling_pps: Option<f64>,
    /// A control path without the system under test, or a reference rate, failed the rule.
    pub path_failed: bool,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            coupled: false,
            offered_tolerance: OFFERED_TOLERANCE,
            ceiling_pps: None,
            path_failed: false,
        }
    }
}
