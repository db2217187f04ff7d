//! Why a verdict is what it is, in fixed words.

use serde::{Deserialize, Serialize};

/// Why the verdict of a comparison is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

impl Reason {
    /// All reasons of a comparison.
    pub const ALL: [Self; 21] = [
        Self::BudgetExhausted,
        Self::Interrupted,
        Self::ReplacementsExhausted,
        Self::WrongResult,
        Self::CounterMismatch,
        Self::NotPositive,
        Self::UnknownValue,
        Self::VoidsOnOneArm,
        Self::UnequalWork,
        Self::CoupledLimit,
        Self::PositionEffect,
        Self::OrderAdjustment,
        Self::ChangePoint,
        Self::LayoutSensitive,
        Self::LayoutUnknown,
        Self::WorkUnproven,
        Self::TailUnknown,
        Self::TooFewPairs,
        Self::NoMargin,
        Self::BelowFloor,
        Self::SpansNoDifference,
    ];

    /// Its name in evidence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BudgetExhausted => "budget_exhausted",
            Self::Interrupted => "interrupted",
            Self::ReplacementsExhausted => "replacements_exhausted",
            Self::WrongResult => "wrong_result",
            Self::CounterMismatch => "counter_mismatch",
            Self::NotPositive => "not_positive",
            Self::UnknownValue => "unknown_value",
            Self::VoidsOnOneArm => "voids_on_one_arm",
            Self::UnequalWork => "unequal_work",
            Self::CoupledLimit => "coupled_limit",
            Self::PositionEffect => "position_effect",
            Self::OrderAdjustment => "order_adjustment",
            Self::ChangePoint => "change_point",
            Self::LayoutSensitive => "layout_sensitive",
            Self::LayoutUnknown => "layout_unknown",
            Self::WorkUnproven => "work_unproven",
            Self::TailUnknown => "tail_unknown",
            Self::TooFewPairs => "too_few_pairs",
            Self::NoMargin => "no_margin",
            Self::BelowFloor => "below_floor",
            Self::SpansNoDifference => "spans_no_difference",
        }
    }
}

/// Why the verdict of a load is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadReason {
    /// No repeat at all.
    NoRepeats,
    /// More arrived than was accepted, more accepted than planned, or nothing accepted.
    CounterMismatch,
    /// A trial was declared invalid.
    InvalidTrial,
    /// Some blocks were counted, too few or without all packets.
    MissingBlocks,
    /// Offered further from intended than the plan tolerates: 5 % in paired campaigns, 1 % by hand.
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

impl LoadReason {
    /// All reasons of a load.
    pub const ALL: [Self; 17] = [
        Self::NoRepeats,
        Self::CounterMismatch,
        Self::InvalidTrial,
        Self::MissingBlocks,
        Self::OfferedOffTarget,
        Self::BurstExceeded,
        Self::StretchExceeded,
        Self::SenderDrops,
        Self::PathFailed,
        Self::RepeatsDisagree,
        Self::BacklogGrows,
        Self::RepeatsFailed,
        Self::BoundAboveLimit,
        Self::NeedPackets,
        Self::BelowMinimum,
        Self::Marginal,
        Self::TailUnknown,
    ];

    /// Its name in evidence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoRepeats => "no_repeats",
            Self::CounterMismatch => "counter_mismatch",
            Self::InvalidTrial => "invalid_trial",
            Self::MissingBlocks => "missing_blocks",
            Self::OfferedOffTarget => "offered_off_target",
            Self::BurstExceeded => "burst_exceeded",
            Self::StretchExceeded => "stretch_exceeded",
            Self::SenderDrops => "sender_drops",
            Self::PathFailed => "path_failed",
            Self::RepeatsDisagree => "repeats_disagree",
            Self::BacklogGrows => "backlog_grows",
            Self::RepeatsFailed => "repeats_failed",
            Self::BoundAboveLimit => "bound_above_limit",
            Self::NeedPackets => "need_packets",
            Self::BelowMinimum => "below_minimum",
            Self::Marginal => "marginal",
            Self::TailUnknown => "tail_unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_serde_writes_and_no_other_word_is_read() {
        for reason in Reason::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
        }
        for reason in LoadReason::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
        }
        assert!(serde_json::from_str::<Reason>("\"solar_wind\"").is_err());
    }
}
