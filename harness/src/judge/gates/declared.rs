//! Declared gates: conditions on metrics that hold only where an interval shows it.

use wiretrial_contract::analysis::{Comparison, Gate, GateCase};
use wiretrial_contract::metric::Scale;
use wiretrial_contract::plan::{Condition, GateSpec, Need, Test};
use wiretrial_reports::number;
use wiretrial_stats::mean;

use super::{BROKEN, why};

/// Confidence of the one-sided bound of the candidate's mean.
const CONFIDENCE: f64 = 0.95;
/// Slack for what rounding to 12 digits may have moved, as a ratio.
const SLACK: f64 = 1e-9;

/// The gate over all cases: it passes where it passes in every one.
pub(super) fn gate(spec: &GateSpec, comparisons: &[Comparison]) -> Gate {
    let cases: Vec<GateCase> = comparisons
        .iter()
        .filter(|comparison| comparison.verdict.is_some())
        .map(|primary| in_case(spec, primary, comparisons))
        .collect();
    let failed: Vec<&GateCase> = cases.iter().filter(|case| !case.passed).collect();
    let passed = failed.is_empty() && !cases.is_empty();
    let told: Vec<&GateCase> = if failed.is_empty() {
        cases.iter().collect()
    } else {
        failed
    };
    let reason = match &told[..] {
        [] => "no case was judged".into(),
        [only] => format!("{} in case {}", only.reason, only.case),
        [first, rest @ ..] => format!(
            "{} in case {}; {} in {} more",
            first.reason,
            first.case,
            if passed { "shown" } else { "not shown" },
            rest.len()
        ),
    };
    Gate {
        name: spec.name.clone(),
        passed,
        reason,
        cases,
    }
}

/// The gate in the case of a comparison that decides.
fn in_case(spec: &GateSpec, primary: &Comparison, comparisons: &[Comparison]) -> GateCase {
    let case = |passed, reason| GateCase {
        case: primary.case.clone(),
        passed,
        reason,
    };
    if let Some(verdict) = primary.verdict.filter(|verdict| BROKEN.contains(verdict)) {
        return case(
            false,
            format!("not judged: {}{}", verdict.name(), why(primary)),
        );
    }
    let found: Vec<(bool, String)> = spec
        .conditions
        .iter()
        .map(|condition| {
            let comparison = comparisons
                .iter()
                .find(|one| one.case == primary.case && one.metric == condition.metric);
            held(condition, comparison)
        })
        .collect();
    let passed = match spec.need {
        Need::Any => found.iter().any(|(held, _)| *held),
        Need::All => found.iter().all(|(held, _)| *held) && !found.is_empty(),
    };
    let told = found.into_iter().filter(|(held, _)| *held == passed);
    let told: Vec<String> = told.map(|(_, reason)| reason).collect();
    case(passed, told.join("; "))
}

/// Whether a condition is shown to hold, and the sentence that says by what.
fn held(condition: &Condition, comparison: Option<&Comparison>) -> (bool, String) {
    let metric = condition.metric;
    let Some(comparison) = comparison else {
        return (false, format!("{metric} was not measured"));
    };
    match condition.test {
        Test::Up(ratio) => change(comparison, ratio, true),
        Test::Down(ratio) => change(comparison, ratio, false),
        Test::AtLeast(limit) => value(comparison, limit, true),
        Test::AtMost(limit) => value(comparison, limit, false),
    }
}

/// A change is shown where the near end of the 95 % decision interval lies beyond it.
fn change(comparison: &Comparison, ratio: f64, up: bool) -> (bool, String) {
    let way = if up { "up" } else { "down" };
    let rule = format!(
        "{} {way} at least {}",
        comparison.metric,
        number::margin(ratio)
    );
    if comparison.scale == Scale::Difference {
        return (
            false,
            format!("{rule} not shown: it is compared as a difference, which has no percentage"),
        );
    }
    let decision = &comparison.decision;
    let (end, limit, name) = if up {
        (decision.lo95, 1.0 + ratio, "lower")
    } else {
        (decision.hi95, 1.0 - ratio, "upper")
    };
    let Some(end) = end else {
        return (false, format!("{rule} not shown: there is no interval"));
    };
    let held = if up {
        end >= limit - SLACK
    } else {
        end <= limit + SLACK
    };
    let shown = number::change_against(end - 1.0, limit - 1.0);
    let not = if held { "" } else { " not shown" };
    (
        held,
        format!("{rule}{not}: {name} end of the 95 % interval {shown}"),
    )
}

/// A floor or a ceiling is kept where the one-sided bound of the candidate's mean over pairs keeps it.
fn value(comparison: &Comparison, limit: f64, floor: bool) -> (bool, String) {
    let way = if floor { "at least" } else { "at most" };
    let rule = format!("{} {way} {}", comparison.metric, number::short(limit));
    let values: Vec<f64> = comparison.values.iter().map(|[_, value]| *value).collect();
    let Some(bounds) = mean::bounds(&values, CONFIDENCE) else {
        return (false, format!("{rule} not shown: too few values"));
    };
    let (held, bound, name) = if floor {
        (bounds.lower >= limit, bounds.lower, "lower")
    } else {
        (bounds.upper <= limit, bounds.upper, "upper")
    };
    let shown = number::against(bound, limit);
    let not = if held { "" } else { " not shown" };
    (held, format!("{rule}{not}: {name} 95 % bound {shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiretrial_contract::analysis::{Interval, Reason, Verdict};
    use wiretrial_contract::metric::Metric;

    /// Units per second: the candidate's six values have mean 371,000 and sd 1,000, whose lower 95 %
    /// bound is 371,000 - 2.015048 * 1,000 / sqrt(6) = 370,177.4.
    fn rate(case: &str, decision: [f64; 2]) -> Comparison {
        let step = 1_000.0 * (5.0_f64 / 6.0).sqrt();
        let values = [-step, step, -step, step, -step, step];
        Comparison {
            values: values.map(|off| [320_000.0, 371_000.0 + off]).to_vec(),
            decision: Interval {
                lo95: Some(decision[0]),
                hi95: Some(decision[1]),
                ..Interval::default()
            },
            ..super::super::tests::comparison(case, Metric::UnitsPerSecond, Verdict::Improved)
        }
    }

    fn spec(need: Need, tests: &[Test]) -> GateSpec {
        GateSpec {
            name: "floor".into(),
            need,
            conditions: tests
                .iter()
                .map(|test| Condition {
                    metric: Metric::UnitsPerSecond,
                    test: *test,
                })
                .collect(),
        }
    }

    fn judged(need: Need, tests: &[Test], comparisons: &[Comparison]) -> (bool, String) {
        let gate = gate(&spec(need, tests), comparisons);
        (gate.passed, gate.reason)
    }

    #[test]
    fn a_floor_is_held_against_the_bound_of_the_candidate() {
        let one = [rate("a", [1.15, 1.17])];
        let of = |limit| judged(Need::All, &[Test::AtLeast(limit)], &one);
        assert_eq!(
            of(369_000.0),
            (
                true,
                "units-per-second at least 369,000: lower 95 % bound 370,177 in case a".into()
            )
        );
        // The mean is above it, the bound is not.
        assert_eq!(
            of(370_500.0),
            (
                false,
                "units-per-second at least 370,500 not shown: lower 95 % bound 370,177 in case a"
                    .into()
            )
        );
    }

    #[test]
    fn a_ceiling_is_held_against_the_upper_bound() {
        let one = [rate("a", [1.15, 1.17])];
        let of = |limit| judged(Need::All, &[Test::AtMost(limit)], &one).0;
        assert!(of(372_000.0));
        assert!(!of(371_500.0), "the upper bound is 371,822.6");
    }

    #[test]
    fn a_change_must_be_shown_by_the_near_end() {
        let of = |test, decision| judged(Need::All, &[test], &[rate("a", decision)]);
        assert_eq!(
            of(Test::Up(0.15), [1.152, 1.17]),
            (
                true,
                "units-per-second up at least 15 %: lower end of the 95 % interval +15.2 % in case a"
                    .into()
            )
        );
        assert!(
            of(Test::Up(0.15), [1.15, 1.17]).0,
            "the end itself is enough"
        );
        assert_eq!(
            of(Test::Up(0.15), [1.1499, 1.2]),
            (
                false,
                "units-per-second up at least 15 % not shown: lower end of the 95 % interval \
                 +14.99 % in case a"
                    .into()
            )
        );
        assert!(of(Test::Down(0.2), [0.7, 0.8]).0);
        assert!(!of(Test::Down(0.2), [0.7, 0.81]).0);
        let mut without = rate("a", [1.0, 1.0]);
        without.decision = Interval::default();
        let (passed, reason) = judged(Need::All, &[Test::Up(0.1)], &[without]);
        assert!(
            !passed && reason.contains("there is no interval"),
            "{reason}"
        );
    }

    #[test]
    fn any_needs_one_and_all_needs_every_condition_in_every_case() {
        let both = [Test::Up(0.15), Test::AtLeast(369_000.0)];
        let cases = [rate("a", [1.152, 1.17]), rate("b", [1.1, 1.2])];
        assert!(judged(Need::Any, &both, &cases).0, "b keeps the floor");
        let (passed, reason) = judged(Need::All, &both, &cases);
        assert!(!passed);
        assert_eq!(
            reason,
            "units-per-second up at least 15 % not shown: lower end of the 95 % interval +10.0 % \
             in case b"
        );
        let gate = gate(&spec(Need::All, &both), &cases);
        let passed: Vec<bool> = gate.cases.iter().map(|case| case.passed).collect();
        assert_eq!(passed, [true, false]);
    }

    #[test]
    fn a_case_that_does_not_hold_or_a_metric_that_is_not_there_fails() {
        let mut broken = rate("a", [1.2, 1.3]);
        broken.verdict = Some(Verdict::Invalid);
        broken.reasons = vec![Reason::WrongResult];
        let (passed, reason) = judged(Need::Any, &[Test::Up(0.1)], &[broken]);
        assert!(!passed);
        assert_eq!(reason, "not judged: invalid (wrong_result) in case a");
        let other = super::super::tests::comparison("a", Metric::PeakRssBytes, Verdict::Improved);
        let (passed, reason) = judged(Need::Any, &[Test::Up(0.1)], &[other]);
        assert!(!passed && reason.contains("was not measured"), "{reason}");
        assert_eq!(
            judged(Need::All, &[Test::Up(0.1)], &[]),
            (false, "no case was judged".into())
        );
    }
}
