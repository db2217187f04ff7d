//! The words of the rule as evidence writes them.

use wiretrial_contract::analysis::Verdict;
use wiretrial_contract::record::Flag;
use wiretrial_stats::verdict as rule;

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
