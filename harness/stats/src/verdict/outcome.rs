//! The words of the paired rule: verdicts, reasons, flags.

/// The answer for one case and metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Better by more than the margin.
    ImprovedWorthwhile,
    /// Better, by less than the margin or without one.
    Improved,
    /// Inside the margin on both sides.
    Equivalent,
    /// Worse, by less than the margin or without one.
    Regressed,
    /// Worse by more than the margin.
    RegressedWorthwhile,
    /// The interval allows too much.
    Inconclusive,
    /// The trials do not measure what was asked.
    Invalid,
    /// Order or time moved the result by more than the margin.
    Unstable,
    /// One arm lost its trials more often than the other.
    AsymmetricFailures,
    /// The arms did not do the same work.
    NotComparable,
    /// Fewer pairs than the plan has.
    Incomplete,
}

impl Verdict {
    /// The word used in evidence, exit codes and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ImprovedWorthwhile => "improved_worthwhile",
            Self::Improved => "improved",
            Self::Equivalent => "equivalent",
            Self::Regressed => "regressed",
            Self::RegressedWorthwhile => "regressed_worthwhile",
            Self::Inconclusive => "inconclusive",
            Self::Invalid => "invalid",
            Self::Unstable => "unstable",
            Self::AsymmetricFailures => "asymmetric_failures",
            Self::NotComparable => "not_comparable",
            Self::Incomplete => "incomplete",
        }
    }
}

/// Why a verdict is what it is, where the interval alone does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The budget ended before the plan.
    BudgetExhausted,
    /// The campaign was stopped before its plan was done.
    Interrupted,
    /// More pairs were void than may be replaced.
    ReplacementsExhausted,
    /// The work of an arm was wrong.
    WrongResult,
    /// Counters of a trial contradict each other.
    CounterMismatch,
    /// A ratio metric was not above 0.
    NotPositive,
    /// A trial that counts has no value of the metric.
    UnknownValue,
    /// Void trials gather on one arm.
    VoidsOnOneArm,
    /// Loss or delivered counts differ by more than 0.1 %.
    UnequalWork,
    /// The capture may have slowed the sender that shares its CPU.
    CoupledLimit,
    /// The place in a pair moved the result by more than the margin.
    PositionEffect,
    /// Adjusting for order changes the verdict.
    OrderAdjustment,
    /// The level shifted during the campaign by more than the margin.
    ChangePoint,
    /// Rebuilding the same source in another layout moves the result by more than the margin.
    LayoutSensitive,
    /// What rebuilding in another layout does is not known, though the plan asked.
    LayoutUnknown,
    /// An arm does not say how much work it did.
    WorkUnproven,
    /// How many packets an arm lost is a range around the limit.
    TailUnknown,
    /// Fewer pairs than an interval needs.
    TooFewPairs,
    /// No margin was declared, so nothing can be equivalent or worthwhile.
    NoMargin,
    /// Equal arms are known to come out further apart than the margin, and the 95 % decision interval
    /// does not lie beyond that.
    BelowFloor,
    /// The 95 % decision interval contains no difference; this does not establish equivalence.
    SpansNoDifference,
}

/// What a reader should know beside the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flag {
    /// Equivalent, and yet the 95 % decision interval excludes no difference.
    Detectable,
    /// Another verdict appears when some one pair is left out.
    Fragile,
    /// Mean and median pair tell different stories.
    MeanTypicalSplit,
    /// No variation: the verdict is an exact comparison.
    Deterministic,
}

impl Flag {
    /// The word used in evidence and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Detectable => "detectable",
            Self::Fragile => "fragile",
            Self::MeanTypicalSplit => "mean_typical_split",
            Self::Deterministic => "deterministic",
        }
    }
}
