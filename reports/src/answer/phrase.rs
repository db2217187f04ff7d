//! Claims in words, for one case or for all of them.

use wiretrial_contract::analysis::{Comparison, Reason};
use wiretrial_contract::metric::{Metric, Scale};
use wiretrial_contract::record::Flag;

use super::claim::{Claim, claim};
use super::measure::{change_decimals, floor_text, interval_text, margin_text, null_text};
use crate::number;
use crate::shorten::listed;

/// What every clause of a sentence has in common.
pub(super) struct Phrase<'a> {
    metric: Metric,
    scale: Scale,
    unit: &'a str,
    margin: Option<f64>,
    /// Primary comparisons in all.
    cases: usize,
}

impl<'a> Phrase<'a> {
    /// The phrase for comparisons such as this, `cases` in all.
    pub(super) fn of(one: &'a Comparison, margin: Option<f64>, cases: usize) -> Self {
        Self {
            metric: one.metric,
            scale: one.scale,
            unit: &one.unit,
            margin,
            cases,
        }
    }

    /// All cases: one full clause when they claim the same, else the metric once and a short clause
    /// for each group of cases, the worst first.
    pub(super) fn all(&self, judged: &[(Claim, &Comparison)]) -> String {
        let groups: Vec<(Claim, Vec<&Comparison>)> = Claim::GROUPS
            .iter()
            .map(|group| {
                let members: Vec<&Comparison> = judged
                    .iter()
                    .filter(|(claim, _)| group.contains(claim))
                    .map(|(_, comparison)| *comparison)
                    .collect();
                (group[0], members)
            })
            .filter(|(_, members)| !members.is_empty())
            .collect();
        if let [(claim, members)] = &groups[..] {
            return self.only(*claim, members);
        }
        let clauses: Vec<String> = groups
            .iter()
            .enumerate()
            .map(|(index, (claim, members))| {
                let of = if index == 0 {
                    format!(" of {} cases", self.cases)
                } else {
                    String::new()
                };
                self.group(*claim, members, &of)
            })
            .collect();
        let number_of = match self.metric {
            Metric::UnitsPerSecond => "the number of ",
            _ => "",
        };
        format!("{number_of}{} is {}", noun(self.metric), clauses.join(", "))
    }

    /// What follows from one comparison.
    pub(super) fn verdict(&self, claim: Claim, comparison: &Comparison) -> String {
        match (claim, self.margin_text()) {
            // A margin of a ratio is a factor either way: 3 % below is 2.9 %.
            (Claim::BetterBeyond, Some(margin)) if self.scale == Scale::Ratio => {
                format!("better, beyond the margin of {margin}")
            }
            (Claim::BetterBeyond, Some(margin)) => format!("better by more than {margin}"),
            (Claim::WorseBeyond, Some(margin)) => format!("worse by more than {margin}"),
            (Claim::Better | Claim::Worse, Some(margin)) if is_capped(comparison) => format!(
                "{}, not held against {margin}: {}",
                claim.word(),
                unproven(&[comparison])
            ),
            (Claim::Better | Claim::Worse, Some(margin)) => {
                format!("{}, not shown to exceed {margin}", claim.word())
            }
            (Claim::Better | Claim::Worse, None) => {
                format!("{}, no margin was declared", claim.word())
            }
            (Claim::Same, Some(margin)) => {
                let and = if comparison.flags.contains(&Flag::Detectable) {
                    ", with a smaller difference detected"
                } else {
                    ""
                };
                format!("the same within {margin}{and}")
            }
            (Claim::Open, _) => {
                let needs = comparison.pairs_needed.map_or_else(String::new, |pairs| {
                    format!("; if the arms are the same, about {pairs} pairs show it")
                });
                let null = null_text(self.scale);
                format!("not decided, spans {null}; does not establish equivalence{needs}")
            }
            (Claim::BelowFloor, _) => {
                let blind = self.cannot_see(&[comparison]).unwrap_or_default();
                format!("not decided, {blind}")
            }
            (other, _) => format!("{}, {}", other.word(), self.only(other, &[comparison])),
        }
    }

    /// The clause when every case has this claim. The group of better or worse may hold both grades.
    fn only(&self, claim: Claim, members: &[&Comparison]) -> String {
        let noun = noun(self.metric);
        let place = match members.len() {
            1 => String::new(),
            2 => " in both cases".into(),
            n => format!(" in all {n} cases"),
        };
        match claim {
            Claim::BetterBeyond | Claim::Better | Claim::WorseBeyond | Claim::Worse => {
                let against = self.against_margin(members);
                match self.scale {
                    Scale::Ratio => format!("{} {noun}{place}, {against}", size(members)),
                    Scale::Difference => format!("{noun} {}{place}, {against}", size(members)),
                }
            }
            Claim::Same => format!("{noun} {}{place}{}", self.within(), detected(members)),
            Claim::Open => {
                let shown = if let [only] = members {
                    format!(" {}", interval_text(only, &only.decision))
                } else {
                    String::new()
                };
                format!("the interval{shown} of {noun} {}{place}", self.open())
            }
            Claim::BelowFloor => format!(
                "cannot see {} of {noun}{place} (floor {})",
                self.margin_text().unwrap_or_default(),
                self.floor(members)
            ),
            other => {
                let why = why(other, members);
                format!("{why}{place}")
            }
        }
    }

    /// The short clause of some cases, `of` telling how many there are.
    fn group(&self, claim: Claim, members: &[&Comparison], of: &str) -> String {
        let names: Vec<&str> = members.iter().map(|member| member.case.as_str()).collect();
        let names = listed(&names);
        let n = members.len();
        match claim {
            Claim::BetterBeyond | Claim::Better | Claim::WorseBeyond | Claim::Worse => format!(
                "{} in {n}{of} ({names}: {}, {})",
                claim.word(),
                size(members),
                self.against_margin(members)
            ),
            Claim::Same => format!(
                "the same {} in {n}{of} ({names}{})",
                self.within(),
                detected(members)
            ),
            Claim::Open => {
                let open = self.open();
                format!("not decided in {n}{of} ({names}: the interval {open})")
            }
            Claim::BelowFloor => format!(
                "not decided in {n}{of} ({names}: cannot see {}, floor {})",
                self.margin_text().unwrap_or_default(),
                self.floor(members)
            ),
            other => format!(
                "{} in {n}{of} ({names}: {})",
                other.word(),
                why(other, members)
            ),
        }
    }

    fn margin_text(&self) -> Option<String> {
        let margin = self.margin?;
        Some(margin_text(margin, self.scale, self.unit))
    }

    /// `cannot see 3 % (floor 4.1 %)`; `None` without a margin.
    pub(super) fn cannot_see(&self, members: &[&Comparison]) -> Option<String> {
        let floor = self.floor(members);
        Some(format!(
            "cannot see {} (floor {floor})",
            self.margin_text()?
        ))
    }

    fn within(&self) -> String {
        format!("within {}", self.margin_text().unwrap_or_default())
    }

    fn open(&self) -> String {
        let null = null_text(self.scale);
        format!("spans {null} and does not establish equivalence")
    }

    /// The known floors of cases, from the lowest to the highest.
    fn floor(&self, members: &[&Comparison]) -> String {
        let floors = members.iter().filter_map(|one| one.floor);
        let mut floors: Vec<f64> = floors.map(|floor| floor.size).collect();
        floors.sort_by(f64::total_cmp);
        let text = |floor: Option<&f64>| {
            floor.map_or_else(String::new, |floor| {
                floor_text(*floor, self.scale, self.unit)
            })
        };
        let (least, most) = (text(floors.first()), text(floors.last()));
        if least == most {
            most
        } else {
            format!("{least} to {most}")
        }
    }

    fn against_margin(&self, members: &[&Comparison]) -> String {
        let Some((margin, text)) = self.margin.zip(self.margin_text()) else {
            return "no margin was declared".into();
        };
        let beyond = members
            .iter()
            .filter(|comparison| {
                matches!(
                    claim(comparison, self.margin),
                    Claim::BetterBeyond | Claim::WorseBeyond
                )
            })
            .count();
        let capped = members.iter().all(|comparison| is_capped(comparison));
        if beyond == 0 && capped {
            format!("not held against the {text} margin, {}", unproven(members))
        } else if beyond == 0 {
            format!("not shown to exceed the {text} margin")
        } else if beyond < members.len() {
            format!("over the {text} margin in {beyond} of {}", members.len())
        } else if members.iter().all(|comparison| is_far(comparison, margin)) {
            format!("far over the {text} margin")
        } else {
            format!("over the {text} margin")
        }
    }
}

/// A reason as a clause.
const fn clause(reason: Reason) -> &'static str {
    match reason {
        Reason::UnequalWork => "the arms did not do the same work",
        Reason::CoupledLimit => {
            "the rate was not reached, and the sender also does the capture's kernel work"
        }
        Reason::BudgetExhausted => "the time was up before the plan was done",
        Reason::Interrupted => "stopped before the plan was done",
        Reason::ReplacementsExhausted => "more pairs were voided than may be replaced",
        Reason::WrongResult => "an arm did wrong work or none",
        Reason::NotPositive => "a cost was not above 0",
        Reason::UnknownValue => "a trial has no value of the metric",
        Reason::NoMargin => "no margin was declared",
        Reason::SpansNoDifference => "the interval holds no difference",
        Reason::BelowFloor => "the margin is under the floor",
        Reason::WorkUnproven => "an arm does not say how much it did",
        Reason::TailUnknown => "how much an arm lost is a range around the limit",
        Reason::LayoutSensitive => "its layout alone moves the result",
        Reason::LayoutUnknown => "what its layout does is not known",
        Reason::VoidsOnOneArm => "the voids gather on one arm",
        Reason::PositionEffect => "the place in a pair moved the result",
        Reason::OrderAdjustment => "adjusting for order changes the verdict",
        Reason::ChangePoint => "the level shifted during the campaign",
        Reason::TooFewPairs => "fewer pairs than an interval needs",
        Reason::CounterMismatch => "the packet counts contradict each other",
    }
}

/// How large the effects are and which way they go: `4 % to 10 % lower`, or `lower by 4 to 10 bytes`.
fn size(members: &[&Comparison]) -> String {
    let mut sizes: Vec<(f64, usize)> = members
        .iter()
        .map(|comparison| {
            let effect = match comparison.scale {
                Scale::Ratio => comparison.change,
                Scale::Difference => comparison.difference,
            };
            (effect.unwrap_or_default(), change_decimals(comparison))
        })
        .collect();
    sizes.sort_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    let scale = members[0].scale;
    let text = |(effect, decimals): (f64, usize)| match scale {
        Scale::Ratio => number::magnitude(effect, decimals),
        Scale::Difference => number::decimal(effect.abs(), decimals),
    };
    let (least, most) = (sizes[0], sizes[sizes.len() - 1]);
    let way = match (members[0].metric, most.0 < 0.0) {
        (Metric::UnitsPerSecond, true) => "fewer",
        (Metric::UnitsPerSecond, false) => "more",
        (_, true) => "lower",
        (_, false) => "higher",
    };
    let range = if text(least) == text(most) {
        text(most)
    } else {
        format!("{} to {}", text(least), text(most))
    };
    match scale {
        Scale::Ratio => format!("{range} {way}"),
        Scale::Difference => format!("{way} by {range} {}", members[0].unit),
    }
}

/// Reasons for which the judge calls nothing worthwhile, whatever the interval says.
const CAPS: [Reason; 4] = [
    Reason::WorkUnproven,
    Reason::TailUnknown,
    Reason::LayoutSensitive,
    Reason::LayoutUnknown,
];

fn is_capped(comparison: &Comparison) -> bool {
    comparison.reasons.iter().any(|one| CAPS.contains(one))
}

/// Why nothing is called worthwhile.
fn unproven(members: &[&Comparison]) -> &'static str {
    let mut reasons = members.iter().flat_map(|comparison| &comparison.reasons);
    let cap = reasons.find(|one| CAPS.contains(one));
    cap.map_or("its work is not proven", |cap| clause(*cap))
}

/// Beyond the margin by a factor of three (of ratios on the log scale), at the end nearest to no
/// difference.
fn is_far(comparison: &Comparison, margin: f64) -> bool {
    let null = comparison.scale.null();
    let near = match comparison.estimate() {
        Some(estimate) if estimate < null => comparison.decision.hi95,
        _ => comparison.decision.lo95,
    };
    near.is_some_and(|near| match comparison.scale {
        Scale::Ratio => near > 0.0 && near.ln().abs() >= 3.0 * margin.ln_1p(),
        Scale::Difference => near.abs() >= 3.0 * margin,
    })
}

fn detected(members: &[&Comparison]) -> String {
    match members
        .iter()
        .filter(|comparison| comparison.flags.contains(&Flag::Detectable))
        .count()
    {
        0 => String::new(),
        n if n == members.len() => ", with a smaller difference detected".into(),
        n => format!(", with a smaller difference detected in {n}"),
    }
}

/// Why cases have no answer: what stands in the way, then the judge's reasons.
fn why(claim: Claim, members: &[&Comparison]) -> String {
    let what = match claim {
        Claim::NoInterval => "no interval",
        Claim::NotComparable => "not comparable",
        Claim::Unstable => "the result moved during the campaign by more than the margin",
        Claim::Incomplete => "not all planned pairs were run",
        Claim::Asymmetric => "one arm's trials were voided more often than the other's",
        Claim::Unsupported => "the verdict does not follow from its own interval",
        _ => "the evidence does not count",
    };
    let mut texts: Vec<&str> = Vec::new();
    for reason in members.iter().flat_map(|comparison| &comparison.reasons) {
        let text = clause(*reason);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    if texts.is_empty() {
        what.into()
    } else {
        format!("{what}, {}", texts.join(", "))
    }
}

const fn noun(metric: Metric) -> &'static str {
    match metric {
        Metric::CaptureCostNsPerPacket => "capture cost per packet",
        Metric::ProcessCpuNsPerPacket => "process CPU per packet",
        Metric::ReceiveCpuNsPerPacket => "receive CPU per packet",
        Metric::CaptureKernelNsPerPacket => "kernel share of capture per packet",
        Metric::SendCallNsPerPacket => "send call time per packet",
        Metric::LatencyP50Ns => "median latency",
        Metric::LatencyP99Ns => "p99 latency",
        Metric::PeakRssBytes => "peak memory",
        Metric::InstructionsPerPacket => "instructions per packet",
        Metric::HeapBytesPerPacket => "heap bytes per packet",
        Metric::LostPerMillion => "lost packets per million",
        Metric::ContextSwitchesPerMillion => "context switches per million",
        Metric::PageFaultsPerMillion => "page faults per million",
        Metric::ElapsedNsPerUnit => "elapsed time per unit",
        Metric::UnitsPerSecond => "units per second",
        Metric::MaxSustainedPps => "sustained rate",
    }
}
