//! The words of the rule as evidence writes them.

use wiretrial_contract::analysis::{LoadReason, Reason, Verdict};
use wiretrial_contract::record::Flag;
use wiretrial_stats::{loss, verdict as rule};

/// The verdict of the rule.
pub(super) const fn verdict(verdict: rule::Verdict) -> Verdict {
    match verdict {
        rule::Verdict::ImprovedWorthwhile => Verdict::ImprovedWorthwhile,
        rule::Verdict::Improved => Verdict::Improved,
        rule::Verdict::Equivalent => Verdict::Equivalent,
        rule::Verdict::Inconclusive => Verdict::Inconclusive,
        rule::Verdict::Regressed => Verdict::Regressed,
        rule::Verdict::RegressedWorthwhile => Verdict::RegressedWorthwhile,
        rule::Verdict::Invalid => Verdict::Invalid,
        rule::Verdict::Unstable => Verdict::Unstable,
        rule::Verdict::AsymmetricFailures => Verdict::AsymmetricFailures,
        rule::Verdict::NotComparable => Verdict::NotComparable,
        rule::Verdict::Incomplete => Verdict::Incomplete,
    }
}

/// A flag of the rule.
pub(super) const fn flag(flag: rule::Flag) -> Flag {
    match flag {
        rule::Flag::Detectable => Flag::Detectable,
        rule::Flag::Fragile => Flag::Fragile,
        rule::Flag::MeanTypicalSplit => Flag::MeanTypicalSplit,
        rule::Flag::Deterministic => Flag::Deterministic,
    }
}

/// A reason of the rule.
pub(super) const fn reason(reason: rule::Reason) -> Reason {
    match reason {
        rule::Reason::BudgetExhausted => Reason::BudgetExhausted,
        rule::Reason::Interrupted => Reason::Interrupted,
        rule::Reason::ReplacementsExhausted => Reason::ReplacementsExhausted,
        rule::Reason::WrongResult => Reason::WrongResult,
        rule::Reason::CounterMismatch => Reason::CounterMismatch,
        rule::Reason::NotPositive => Reason::NotPositive,
        rule::Reason::UnknownValue => Reason::UnknownValue,
        rule::Reason::VoidsOnOneArm => Reason::VoidsOnOneArm,
        rule::Reason::UnequalWork => Reason::UnequalWork,
        rule::Reason::CoupledLimit => Reason::CoupledLimit,
        rule::Reason::PositionEffect => Reason::PositionEffect,
        rule::Reason::OrderAdjustment => Reason::OrderAdjustment,
        rule::Reason::ChangePoint => Reason::ChangePoint,
        rule::Reason::LayoutSensitive => Reason::LayoutSensitive,
        rule::Reason::LayoutUnknown => Reason::LayoutUnknown,
        rule::Reason::WorkUnproven => Reason::WorkUnproven,
        rule::Reason::TailUnknown => Reason::TailUnknown,
        rule::Reason::TooFewPairs => Reason::TooFewPairs,
        rule::Reason::NoMargin => Reason::NoMargin,
        rule::Reason::BelowFloor => Reason::BelowFloor,
        rule::Reason::SpansNoDifference => Reason::SpansNoDifference,
    }
}

/// A reason of a load's rule.
pub(super) const fn load_reason(reason: loss::LoadReason) -> LoadReason {
    match reason {
        loss::LoadReason::NoRepeats => LoadReason::NoRepeats,
        loss::LoadReason::CounterMismatch => LoadReason::CounterMismatch,
        loss::LoadReason::InvalidTrial => LoadReason::InvalidTrial,
        loss::LoadReason::MissingBlocks => LoadReason::MissingBlocks,
        loss::LoadReason::OfferedOffTarget => LoadReason::OfferedOffTarget,
        loss::LoadReason::BurstExceeded => LoadReason::BurstExceeded,
        loss::LoadReason::StretchExceeded => LoadReason::StretchExceeded,
        loss::LoadReason::SenderDrops => LoadReason::SenderDrops,
        loss::LoadReason::PathFailed => LoadReason::PathFailed,
        loss::LoadReason::RepeatsDisagree => LoadReason::RepeatsDisagree,
        loss::LoadReason::BacklogGrows => LoadReason::BacklogGrows,
        loss::LoadReason::RepeatsFailed => LoadReason::RepeatsFailed,
        loss::LoadReason::BoundAboveLimit => LoadReason::BoundAboveLimit,
        loss::LoadReason::NeedPackets => LoadReason::NeedPackets,
        loss::LoadReason::BelowMinimum => LoadReason::BelowMinimum,
        loss::LoadReason::Marginal => LoadReason::Marginal,
        loss::LoadReason::TailUnknown => LoadReason::TailUnknown,
    }
}
