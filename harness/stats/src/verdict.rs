//! The sealed rule: guards and a decision interval in, one word with its reasons out.
//!
//! An interval around no difference never becomes a claim of sameness: that needs a margin, declared
//! before the data, and the 90 % decision interval inside it. Costs are compared, so lower is better.

mod outcome;

pub use outcome::{Flag, Reason, Verdict};

use crate::interval::{Limits, Scale};

/// What the guards found, from facts of the design alone. The default is a clean campaign.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guards {
    /// The plan was not finished.
    pub incomplete: Option<Reason>,
    /// The trials do not count.
    pub invalid: Option<Reason>,
    /// Voids gather on one arm.
    pub asymmetric: Option<Reason>,
    /// The arms did unequal work.
    pub not_comparable: Option<Reason>,
    /// Order or time moved the result, where the plan declared that to matter.
    pub unstable: Option<Reason>,
    /// Something else than the change may have moved the result: nothing is called worthwhile.
    pub capped: Option<Reason>,
}

/// No difference, and the margin around it, on the scale of the comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question {
    scale: Scale,
    null: f64,
    margin: Option<(f64, f64)>,
    /// The floor of equal arms, where it is wider than the margin.
    floor: Option<(f64, f64)>,
}

impl Question {
    /// A margin is a share (0.03 for 3 %: 1/1.03 to 1.03) for a ratio and a number in the unit of the
    /// metric for a difference. One that is not above 0 counts as none.
    #[must_use]
    pub fn new(scale: Scale, margin: Option<f64>) -> Self {
        let margin = margin.filter(|margin| *margin > 0.0);
        Self {
            scale,
            null: match scale {
                Scale::Ratio => 1.0,
                Scale::Difference => 0.0,
            },
            margin: margin.map(|margin| around(scale, margin)),
            floor: None,
        }
    }

    /// The same where equal arms are known to come out this far apart, either way, as a margin is
    /// given. A margin under that floor cannot be seen: only an interval that lies beyond the floor as a
    /// whole is classed then. Nothing without a margin, and nothing for a floor that is not wider.
    #[must_use]
    pub fn with_floor(self, floor: Option<f64>) -> Self {
        let floor = floor.map(|floor| around(self.scale, floor));
        Self {
            floor: floor.filter(|floor| self.margin.is_some_and(|margin| floor.1 > margin.1)),
            ..self
        }
    }

    /// The class of a decision interval, guards aside; first match in the order worthwhile,
    /// equivalent, improved or regressed, inconclusive.
    #[must_use]
    pub fn classify(&self, limits: &Limits) -> Verdict {
        if let Some((low, high)) = self.margin {
            if limits.hi95 < low {
                return Verdict::ImprovedWorthwhile;
            }
            if limits.lo95 > high {
                return Verdict::RegressedWorthwhile;
            }
            if limits.lo90 > low && limits.hi90 < high {
                return Verdict::Equivalent;
            }
        }
        if limits.hi95 < self.null {
            Verdict::Improved
        } else if limits.lo95 > self.null {
            Verdict::Regressed
        } else {
            Verdict::Inconclusive
        }
    }

    /// Whether a floor above the margin leaves nothing to say of these limits.
    fn below_floor(&self, limits: &Limits) -> bool {
        self.floor
            .is_some_and(|(low, high)| limits.hi95 >= low && limits.lo95 <= high)
    }

    /// The class of a decision interval, or that nothing can be said below the floor.
    fn seen(&self, limits: &Limits) -> Verdict {
        if self.below_floor(limits) {
            Verdict::Inconclusive
        } else {
            self.classify(limits)
        }
    }

    fn excluded(&self, limits: &Limits) -> bool {
        limits.hi95 < self.null || limits.lo95 > self.null
    }
}

/// No difference with this much around it: a share of a ratio, or a number of a difference.
fn around(scale: Scale, reach: f64) -> (f64, f64) {
    match scale {
        Scale::Ratio => (1.0 / (1.0 + reach), 1.0 + reach),
        Scale::Difference => (-reach, reach),
    }
}

/// What is known about one comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Findings<'a> {
    /// The decision interval, `None` where it was refused.
    pub decision: Option<&'a Limits>,
    /// The decision interval without each pair in turn; empty where that was not computed.
    pub leave_one_out: &'a [Limits],
    /// Mean and median pair disagree.
    pub mean_typical_split: bool,
    /// No variation.
    pub deterministic: bool,
}

/// A verdict with what stands beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Its reasons, the deciding one first.
    pub reasons: Vec<Reason>,
    /// Its flags.
    pub flags: Vec<Flag>,
}

/// Applies the rule: guards first (incomplete, invalid, asymmetric, not comparable, unstable), then the
/// class of the decision interval, which is inconclusive where a known floor is wider than the margin
/// and the interval does not lie beyond both. Where `capped` says why, that is at most improved, and at
/// most regressed unless it is work that is not proven.
#[must_use]
pub fn judge(guards: &Guards, findings: &Findings<'_>, question: &Question) -> Judgement {
    let stops = [
        (Verdict::Incomplete, guards.incomplete),
        (Verdict::Invalid, guards.invalid),
        (Verdict::AsymmetricFailures, guards.asymmetric),
        (Verdict::NotComparable, guards.not_comparable),
        (Verdict::Unstable, guards.unstable),
    ];
    let mut reasons: Vec<Reason> = stops.iter().filter_map(|stop| stop.1).collect();
    let mut flags = Vec::new();
    let stopped = stops
        .iter()
        .find(|stop| stop.1.is_some())
        .map(|stop| stop.0);
    let verdict = match (stopped, findings.decision) {
        (Some(verdict), _) => verdict,
        (None, None) => {
            reasons.push(Reason::TooFewPairs);
            Verdict::Inconclusive
        }
        (None, Some(limits)) => {
            let class = question.seen(limits);
            let verdict = capped(class, guards.capped);
            if question.below_floor(limits) {
                reasons.push(Reason::BelowFloor);
            }
            if verdict != class {
                reasons.extend(guards.capped);
            }
            if verdict == Verdict::Equivalent && question.excluded(limits) {
                flags.push(Flag::Detectable);
            }
            if verdict == Verdict::Inconclusive && !question.excluded(limits) {
                reasons.push(Reason::SpansNoDifference);
            }
            let other = |limits| capped(question.seen(limits), guards.capped) != verdict;
            if findings.leave_one_out.iter().any(other) {
                flags.push(Flag::Fragile);
            }
            verdict
        }
    };
    if stopped.is_none() && question.margin.is_none() {
        reasons.push(Reason::NoMargin);
    }
    if findings.mean_typical_split {
        flags.push(Flag::MeanTypicalSplit);
    }
    if findings.deterministic {
        flags.push(Flag::Deterministic);
    }
    Judgement {
        verdict,
        reasons,
        flags,
    }
}

/// Work that is not proven may be work that was not done, which is cheaper and never dearer: then a
/// regression stands.
const fn capped(class: Verdict, cap: Option<Reason>) -> Verdict {
    match (class, cap) {
        (Verdict::ImprovedWorthwhile, Some(_)) => Verdict::Improved,
        (Verdict::RegressedWorthwhile, Some(Reason::WorkUnproven)) | (_, None) => class,
        (Verdict::RegressedWorthwhile, Some(_)) => Verdict::Regressed,
        (other, Some(_)) => other,
    }
}

/// A behaviour shared by fewer launches than this is absent from `pairs` launches with probability
/// 5 % or more: 1 - 0.05^(1/n). No interval can show what was never sampled.
#[must_use]
pub fn undetectable_mode(pairs: usize) -> f64 {
    1.0 - 0.05f64.powf(1.0 / crate::sum::length(pairs))
}

/// Step-down adjusted p values (Holm, 1979), in the order given.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|left, right| p[*left].total_cmp(&p[*right]));
    let mut adjusted = vec![0.0; p.len()];
    let mut largest: f64 = 0.0;
    for (rank, index) in order.into_iter().enumerate() {
        let factor = crate::sum::length(p.len() - rank);
        largest = largest.max((p[index] * factor).min(1.0));
        adjusted[index] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limits(lo95: f64, lo90: f64, hi90: f64, hi95: f64) -> Limits {
        Limits {
            lo95,
            hi95,
            lo90,
            hi90,
        }
    }

    fn findings(limits: &Limits) -> Findings<'_> {
        Findings {
            decision: Some(limits),
            leave_one_out: &[],
            mean_typical_split: false,
            deterministic: false,
        }
    }

    #[test]
    fn table_of_classes() {
        let margin = Question::new(Scale::Ratio, Some(0.02));
        let none = Question::new(Scale::Ratio, None);
        let cases = [
            (
                limits(0.95, 0.951, 0.97, 0.98),
                Verdict::ImprovedWorthwhile,
                Verdict::Improved,
            ),
            (
                limits(0.95, 0.955, 0.985, 0.99),
                Verdict::Improved,
                Verdict::Improved,
            ),
            (
                limits(0.982, 0.983, 0.99, 0.995),
                Verdict::Equivalent,
                Verdict::Improved,
            ),
            (
                limits(0.979, 0.985, 1.01, 1.03),
                Verdict::Equivalent,
                Verdict::Inconclusive,
            ),
            (
                limits(0.95, 0.96, 1.01, 1.02),
                Verdict::Inconclusive,
                Verdict::Inconclusive,
            ),
            (
                limits(1.01, 1.015, 1.03, 1.04),
                Verdict::Regressed,
                Verdict::Regressed,
            ),
            (
                limits(1.021, 1.022, 1.04, 1.05),
                Verdict::RegressedWorthwhile,
                Verdict::Regressed,
            ),
        ];
        for (limits, with, without) in cases {
            assert_eq!(margin.classify(&limits), with, "{limits:?}");
            assert_eq!(none.classify(&limits), without, "{limits:?}");
        }
    }

    #[test]
    fn first_guard_decides_and_all_are_reported() {
        let interval = limits(0.9, 0.91, 0.92, 0.93);
        let question = Question::new(Scale::Ratio, Some(0.02));
        let mut guards = Guards {
            unstable: Some(Reason::ChangePoint),
            ..Guards::default()
        };
        let judged = |guards: &Guards| judge(guards, &findings(&interval), &question);
        assert_eq!(judged(&guards).verdict, Verdict::Unstable);
        guards.not_comparable = Some(Reason::UnequalWork);
        assert_eq!(judged(&guards).verdict, Verdict::NotComparable);
        guards.asymmetric = Some(Reason::VoidsOnOneArm);
        assert_eq!(judged(&guards).verdict, Verdict::AsymmetricFailures);
        guards.invalid = Some(Reason::WrongResult);
        assert_eq!(judged(&guards).verdict, Verdict::Invalid);
        guards.incomplete = Some(Reason::BudgetExhausted);
        assert_eq!(judged(&guards).verdict, Verdict::Incomplete);
        assert_eq!(judged(&guards).reasons.len(), 5);
        assert_eq!(judged(&guards).reasons[0], Reason::BudgetExhausted);
    }

    #[test]
    fn a_cap_takes_worthwhile_away_and_nothing_else() {
        let question = Question::new(Scale::Ratio, Some(0.02));
        for cap in [
            Reason::LayoutSensitive,
            Reason::LayoutUnknown,
            Reason::WorkUnproven,
            Reason::TailUnknown,
        ] {
            let guards = Guards {
                capped: Some(cap),
                ..Guards::default()
            };
            let judged = |interval: Limits| {
                let judged = judge(&guards, &findings(&interval), &question);
                (judged.verdict, judged.reasons)
            };
            assert_eq!(
                judged(limits(0.9, 0.91, 0.92, 0.93)),
                (Verdict::Improved, vec![cap])
            );
            let worse = if cap == Reason::WorkUnproven {
                (Verdict::RegressedWorthwhile, Vec::new())
            } else {
                (Verdict::Regressed, vec![cap])
            };
            assert_eq!(judged(limits(1.07, 1.08, 1.09, 1.1)), worse);
            assert_eq!(
                judged(limits(0.99, 0.991, 1.009, 1.01)),
                (Verdict::Equivalent, vec![])
            );
        }
    }

    #[test]
    fn a_margin_under_the_floor_decides_nothing_but_what_lies_beyond_both() {
        let question = Question::new(Scale::Ratio, Some(0.03)).with_floor(Some(0.041));
        let judged = |interval: Limits| {
            let judged = judge(&Guards::default(), &findings(&interval), &question);
            (judged.verdict, judged.reasons)
        };
        let hidden = (Verdict::Inconclusive, vec![Reason::BelowFloor]);
        // beyond the margin and not beyond the floor, then better by less than the margin
        assert_eq!(judged(limits(0.93, 0.94, 0.965, 0.968)), hidden);
        assert_eq!(judged(limits(0.95, 0.96, 0.985, 0.99)), hidden);
        assert_eq!(judged(limits(1.031, 1.032, 1.05, 1.06)), hidden);
        // equivalent without the floor
        assert_eq!(
            judged(limits(0.99, 0.991, 1.009, 1.01)),
            (
                Verdict::Inconclusive,
                vec![Reason::BelowFloor, Reason::SpansNoDifference]
            )
        );
        assert_eq!(
            judged(limits(0.04, 0.041, 0.05, 0.051)),
            (Verdict::ImprovedWorthwhile, vec![])
        );
        assert_eq!(
            judged(limits(1.042, 1.043, 1.1, 1.2)),
            (Verdict::RegressedWorthwhile, vec![])
        );
        // A floor within the margin, or none of either, changes nothing.
        let equal = limits(0.99, 0.991, 1.009, 1.01);
        for (margin, floor) in [(0.03, Some(0.02)), (0.03, None)] {
            let plain = Question::new(Scale::Ratio, Some(margin)).with_floor(floor);
            let judged = judge(&Guards::default(), &findings(&equal), &plain);
            assert_eq!(judged.verdict, Verdict::Equivalent);
        }
        let none = Question::new(Scale::Ratio, None);
        assert_eq!(none.with_floor(Some(0.5)), none);
    }

    #[test]
    fn points_compare_exactly() {
        let question = Question::new(Scale::Ratio, Some(0.03));
        assert_eq!(
            question.classify(&Limits::point(1.1)),
            Verdict::RegressedWorthwhile
        );
        assert_eq!(question.classify(&Limits::point(1.03)), Verdict::Regressed);
        assert_eq!(question.classify(&Limits::point(1.0)), Verdict::Equivalent);
        assert_eq!(
            question.classify(&Limits::point(0.5)),
            Verdict::ImprovedWorthwhile
        );
        let none = Question::new(Scale::Difference, None);
        assert_eq!(none.classify(&Limits::point(0.0)), Verdict::Inconclusive);
        assert_eq!(none.classify(&Limits::point(-1e-9)), Verdict::Improved);
    }

    #[test]
    fn flags_and_missing_intervals() {
        let interval = limits(1.001, 1.002, 1.01, 1.011);
        let found = Findings {
            leave_one_out: &[limits(0.999, 1.0, 1.025, 1.03)],
            mean_typical_split: true,
            deterministic: true,
            ..findings(&interval)
        };
        let question = Question::new(Scale::Ratio, Some(0.02));
        let judged = judge(&Guards::default(), &found, &question);
        assert_eq!(judged.verdict, Verdict::Equivalent);
        let all = [
            Flag::Detectable,
            Flag::Fragile,
            Flag::MeanTypicalSplit,
            Flag::Deterministic,
        ];
        assert_eq!(judged.flags, all);
        let refused = Findings {
            decision: None,
            ..findings(&interval)
        };
        let judged = judge(
            &Guards::default(),
            &refused,
            &Question::new(Scale::Ratio, None),
        );
        assert_eq!(judged.verdict, Verdict::Inconclusive);
        assert_eq!(judged.reasons, [Reason::TooFewPairs, Reason::NoMargin]);
    }

    #[test]
    fn holm_reference() {
        for (value, expected) in holm(&[0.01, 0.04, 0.03, 0.005])
            .iter()
            .zip([0.03, 0.06, 0.06, 0.02])
        {
            assert!((value - expected).abs() < 1e-12);
        }
        assert!(holm(&[]).is_empty());
        assert!((holm(&[0.9, 0.8])[0] - 1.0).abs() < 1e-15);
    }

    #[test]
    fn rare_modes() {
        assert!((undetectable_mode(12) - 0.2209).abs() < 1e-4);
    }

    proptest! {
        /// Every interval has one class, and its mirror image has the mirrored class.
        #[test]
        fn classes_mirror(mut ends in prop::array::uniform4(-0.08..0.08f64), margin in 0.001..0.05f64) {
            ends.sort_unstable_by(f64::total_cmp);
            let [a, b, c, d] = ends;
            for question in [
                Question::new(Scale::Difference, Some(margin)),
                Question::new(Scale::Difference, Some(margin)).with_floor(Some(2.0 * margin)),
                Question::new(Scale::Difference, None),
            ] {
                let class = question.seen(&limits(a, b, c, d));
                let mirrored = question.seen(&limits(-d, -c, -b, -a));
                let expected = match class {
                    Verdict::ImprovedWorthwhile => Verdict::RegressedWorthwhile,
                    Verdict::Improved => Verdict::Regressed,
                    Verdict::Regressed => Verdict::Improved,
                    Verdict::RegressedWorthwhile => Verdict::ImprovedWorthwhile,
                    same => same,
                };
                prop_assert_eq!(mirrored, expected);
            }
        }
    }
}
