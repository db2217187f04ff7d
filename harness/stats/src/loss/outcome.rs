//! The words of the loss classifier.

/// The verdict on one load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadVerdict {
    /// The rule holds in every repeat, and so does the bound.
    Pass,
    /// The rule is broken beyond a single marginal repeat.
    Fail,
    /// The evidence decides neither.
    Inconclusive,
    /// The generator did not offer the load.
    GeneratorLimited,
    /// The load was not offered, and the capture may be why.
    CoupledLimit,
    /// The path, not the system under test, decides the outcome.
    PathVariable,
    /// The trials do not count.
    Invalid,
}

impl LoadVerdict {
    /// The word used in evidence and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
            Self::GeneratorLimited => "generator_limited",
            Self::CoupledLimit => "coupled_limit",
            Self::PathVariable => "path_variable",
            Self::Invalid => "invalid",
        }
    }
}

/// Why a load got its verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadReason {
    /// No repeat at all.
    NoRepeats,
    /// More arrived than was accepted, more accepted than planned, or nothing accepted.
    CounterMismatch,
    /// A trial was declared invalid.
    InvalidTrial,
    /// Some blocks were counted, too few or without all packets.
    MissingBlocks,
    /// Offered further from intended than [`Setting::offered_tolerance`](super::Setting::offered_tolerance).
    OfferedOffTarget,
    /// A back-to-back run over its bound.
    BurstExceeded,
    /// Stretch over its bound.
    StretchExceeded,
    /// The sending host dropped more than 0.1 %.
    SenderDrops,
    /// The control path or reference rate failed.
    PathFailed,
    /// Repeats split into pass and fail, and scatter more than one loss ratio explains.
    RepeatsDisagree,
    /// The receiver fell behind.
    BacklogGrows,
    /// At least two repeats broke the rule.
    RepeatsFailed,
    /// The lower bound of a repeat is above the limit.
    BoundAboveLimit,
    /// The rule holds, the bound does not: more packets are needed.
    NeedPackets,
    /// A repeat is smaller than 10,000 accepted packets.
    BelowMinimum,
    /// A single repeat broke the rule, within chance.
    Marginal,
    /// The interval of lost packets straddles the limit.
    TailUnknown,
}
