//! What a comparison may claim: its verdict, checked against its own interval and the margin.

use wiretrial_contract::analysis::{Comparison, Verdict};
use wiretrial_contract::metric::{Direction, Scale};

use super::measure::margin_text;

/// What is said of one case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    BetterBeyond,
    Better,
    Same,
    Open,
    NoInterval,
    /// The margin is under the floor.
    BelowFloor,
    Worse,
    WorseBeyond,
    NotComparable,
    Unstable,
    Incomplete,
    Asymmetric,
    Invalid,
    /// The verdict does not follow from the interval and the margin.
    Unsupported,
}

impl Claim {
    /// Claims that share a clause, in the order in which a sentence says them.
    pub(super) const GROUPS: [&'static [Self]; 12] = [
        &[Self::Unsupported],
        &[Self::Invalid],
        &[Self::Asymmetric],
        &[Self::WorseBeyond, Self::Worse],
        &[Self::BetterBeyond, Self::Better],
        &[Self::Incomplete],
        &[Self::NotComparable],
        &[Self::Unstable],
        &[Self::NoInterval],
        &[Self::BelowFloor],
        &[Self::Open],
        &[Self::Same],
    ];

    /// The word for people.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::BetterBeyond | Self::Better => "better",
            Self::Same => "same",
            Self::Worse | Self::WorseBeyond => "worse",
            Self::Open
            | Self::NoInterval
            | Self::BelowFloor
            | Self::NotComparable
            | Self::Unstable
            | Self::Incomplete => "not decided",
            Self::Asymmetric | Self::Invalid | Self::Unsupported => "invalid",
        }
    }
}

/// The claim of a primary comparison.
pub(super) fn claim(comparison: &Comparison, margin: Option<f64>) -> Claim {
    let claim = match comparison.verdict {
        Some(Verdict::ImprovedWorthwhile) => Claim::BetterBeyond,
        Some(Verdict::Improved) => Claim::Better,
        Some(Verdict::Equivalent) => Claim::Same,
        Some(Verdict::Inconclusive) if comparison.decision.lo95.is_none() => Claim::NoInterval,
        Some(Verdict::Inconclusive) if comparison.is_below_floor(margin) => Claim::BelowFloor,
        Some(Verdict::Inconclusive) => Claim::Open,
        Some(Verdict::Regressed) => Claim::Worse,
        Some(Verdict::RegressedWorthwhile) => Claim::WorseBeyond,
        Some(Verdict::NotComparable) => Claim::NotComparable,
        Some(Verdict::Unstable) => Claim::Unstable,
        Some(Verdict::AsymmetricFailures) => Claim::Asymmetric,
        Some(Verdict::Invalid) => Claim::Invalid,
        Some(Verdict::Incomplete) | None => Claim::Incomplete,
    };
    if supported(claim, comparison, margin) {
        claim
    } else {
        Claim::Unsupported
    }
}

/// The verdict of a comparison for a table's cell: `better, > 3 %`, `same, within 3 %`.
pub(crate) fn words(comparison: &Comparison, margin: Option<f64>) -> String {
    let text = |margin| margin_text(margin, comparison.scale, &comparison.unit);
    let margin_text = margin.map(text);
    match (claim(comparison, margin), margin_text) {
        (Claim::BetterBeyond, Some(margin)) => format!("better, > {margin}"),
        (Claim::WorseBeyond, Some(margin)) => format!("worse, > {margin}"),
        (Claim::Same, Some(margin)) => format!("same, within {margin}"),
        (Claim::BelowFloor, Some(margin)) => format!("cannot see {margin}"),
        (Claim::NotComparable, _) => "not comparable".into(),
        (Claim::Unstable, _) => "unstable".into(),
        (Claim::Incomplete, _) => "incomplete".into(),
        (Claim::Asymmetric, _) => "uneven voids".into(),
        (Claim::NoInterval, _) => "no interval".into(),
        (Claim::Open, _) => match comparison.pairs_needed {
            Some(pairs) => format!("not decided ({pairs} pairs if same)"),
            None => Claim::Open.word().into(),
        },
        (Claim::Unsupported, _) => "unsupported".into(),
        (other, _) => other.word().into(),
    }
}

/// Whether the rule of the verdict holds for the decision interval, with a slack of 1e-9 for what
/// rounding to 12 digits may have moved. A claim about sides needs its interval on that side.
fn supported(claim: Claim, comparison: &Comparison, margin: Option<f64>) -> bool {
    const SLACK: f64 = 1e-9;
    let scale = comparison.scale;
    let around = |reach: f64| match scale {
        Scale::Ratio => (1.0 / (1.0 + reach), 1.0 + reach),
        Scale::Difference => (-reach, reach),
    };
    let within = |value: f64, limit: f64| value < limit + SLACK * limit.abs().max(1e-3);
    let decision = &comparison.decision;
    let better = match claim {
        Claim::BetterBeyond | Claim::Better => true,
        Claim::Worse | Claim::WorseBeyond => false,
        Claim::Same => {
            return margin.map(around).is_some_and(|(low, high)| {
                let ends = decision.lo90.zip(decision.hi90);
                ends.is_some_and(|(lo, hi)| within(low, lo) && within(hi, high))
            });
        }
        _ => return true,
    };
    let beyond = match (claim, margin) {
        (Claim::BetterBeyond | Claim::WorseBeyond, Some(margin)) => margin,
        (Claim::BetterBeyond | Claim::WorseBeyond, None) => return false,
        _ => 0.0,
    };
    let down = better == (comparison.direction == Direction::LowerIsBetter);
    let Some(estimate) = comparison.estimate() else {
        return false;
    };
    let (low, high) = around(beyond);
    if down {
        estimate < scale.null() && decision.hi95.is_some_and(|hi| within(hi, low))
    } else {
        estimate > scale.null() && decision.lo95.is_some_and(|lo| within(high, lo))
    }
}
