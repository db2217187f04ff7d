//! What an automated caller is told: the campaign's verdict, the gates and the exit code.

mod declared;

use wiretrial_contract::analysis::{Analysis, Comparison, Gate, GateCase, Verdict};
use wiretrial_contract::exit;
use wiretrial_contract::plan::{Campaign, FailOn};
use wiretrial_reports::answer::margin_text;

/// Verdicts of evidence that does not hold, the worst first.
pub(super) const BROKEN: [Verdict; 5] = [
    Verdict::Invalid,
    Verdict::AsymmetricFailures,
    Verdict::Unstable,
    Verdict::NotComparable,
    Verdict::Incomplete,
];

/// Verdicts of evidence that holds, the worst first.
const JUDGED: [Verdict; 6] = [
    Verdict::RegressedWorthwhile,
    Verdict::Regressed,
    Verdict::Inconclusive,
    Verdict::Equivalent,
    Verdict::Improved,
    Verdict::ImprovedWorthwhile,
];

/// The worst verdict of the comparisons that decide.
pub(super) fn worst(comparisons: &[Comparison]) -> Option<Verdict> {
    BROKEN.into_iter().chain(JUDGED).find(|worst| {
        comparisons
            .iter()
            .any(|comparison| comparison.verdict == Some(*worst))
    })
}

/// All gates: the one that every campaign has, then the declared ones in their order.
pub(super) fn gates(campaign: &Campaign, comparisons: &[Comparison]) -> Vec<Gate> {
    let design = &campaign.design;
    let implicit = no_regression(comparisons, design.margin, design.fail_on);
    let declared = campaign.gates.iter();
    std::iter::once(implicit)
        .chain(declared.map(|gate| declared::gate(gate, comparisons)))
        .collect()
}

/// The gate every paired campaign has: every case is judged, and none is shown to be worse, by more
/// than the margin unless `fail_on` says otherwise. That is not to say that none is: the reason names
/// the cases that were not decided, and those that are worse by less or without a margin.
fn no_regression(comparisons: &[Comparison], margin: Option<f64>, fail_on: FailOn) -> Gate {
    let cases: Vec<GateCase> = comparisons
        .iter()
        .filter_map(|comparison| Some((comparison, comparison.verdict?)))
        .map(|(comparison, verdict)| in_case(comparison, verdict, margin, fail_on))
        .collect();
    let of = |wanted: &dyn Fn(Verdict) -> bool| -> Option<String> {
        let cases = comparisons.iter().filter(|c| c.verdict.is_some_and(wanted));
        let names: Vec<&str> = cases.map(|comparison| comparison.case.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let passed = cases.iter().all(|case| case.passed);
    let gate = |reason| Gate {
        name: "no_regression".into(),
        passed,
        reason,
        cases: cases.clone(),
    };
    let beyond = comparisons
        .iter()
        .find(|one| one.primary)
        .map_or_else(|| "a margin".into(), |one| beyond(one, margin));
    let far = of(&|verdict| verdict == Verdict::RegressedWorthwhile);
    let near = of(&|verdict| verdict == Verdict::Regressed);
    let broken = of(&|verdict| BROKEN.contains(&verdict));
    if fail_on == FailOn::Never {
        let found = [
            far.map(|cases| format!("worse by more than {beyond}: {cases}")),
            near.map(|cases| format!("worse: {cases}")),
            broken.map(|cases| format!("not judged: {cases}")),
        ];
        let found: Vec<String> = found.into_iter().flatten().collect();
        let found = if found.is_empty() {
            "no case shown worse".into()
        } else {
            found.join("; ")
        };
        return gate(format!("never fails (fail-on never); {found}"));
    }
    if let Some(cases) = far {
        return gate(format!("worse by more than {beyond}: {cases}"));
    }
    if let Some(cases) = near.as_ref().filter(|_| fail_on == FailOn::Regressed) {
        return gate(format!("worse (fail-on regressed): {cases}"));
    }
    if let Some(cases) = broken {
        return gate(format!("not judged: {cases}"));
    }
    let mut reason = match fail_on {
        FailOn::Regressed => "no case shown worse".to_owned(),
        _ => format!("no case shown worse by more than {beyond}"),
    };
    if let Some(cases) = near {
        reason.push_str(&format!("; worse by less: {cases}"));
    }
    if let Some(cases) = of(&|verdict| verdict == Verdict::Inconclusive) {
        reason.push_str(&format!("; not excluded in {cases}"));
    }
    gate(reason)
}

fn in_case(
    comparison: &Comparison,
    verdict: Verdict,
    margin: Option<f64>,
    fail_on: FailOn,
) -> GateCase {
    let beyond = beyond(comparison, margin);
    let (held, reason) = match verdict {
        Verdict::RegressedWorthwhile => (false, format!("worse by more than {beyond}")),
        Verdict::Regressed => (fail_on != FailOn::Regressed, "worse".into()),
        Verdict::Inconclusive => (true, format!("not decided{}", why(comparison))),
        verdict if BROKEN.contains(&verdict) => (
            false,
            format!("not judged: {}{}", verdict.name(), why(comparison)),
        ),
        _ => (true, "not shown worse".into()),
    };
    GateCase {
        case: comparison.case.clone(),
        passed: held || fail_on == FailOn::Never,
        reason,
    }
}

fn beyond(one: &Comparison, margin: Option<f64>) -> String {
    margin.map_or_else(
        || "a margin (none is declared)".into(),
        |margin| margin_text(margin, one.scale, &one.unit),
    )
}

/// The reasons of a verdict in brackets; nothing where there are none.
fn why(comparison: &Comparison) -> String {
    if comparison.reasons.is_empty() {
        String::new()
    } else {
        let reasons: Vec<&str> = comparison.reasons.iter().map(|r| r.name()).collect();
        format!(" ({})", reasons.join(", "))
    }
}

/// Exit code of a judged campaign, with the sentence for it when it is not 0: evidence that does
/// not hold goes before a gate that failed, and so does a case that is not decided where the campaign
/// asks for a conclusion.
#[must_use]
pub fn exit_code(analysis: &Analysis) -> (u8, Option<String>) {
    let of = |verdict: &Verdict| {
        analysis
            .comparisons
            .iter()
            .find(|c| c.verdict == Some(*verdict))
    };
    if let Some((verdict, comparison)) = BROKEN.iter().find_map(|v| Some((v, of(v)?))) {
        let mut sentence = format!(
            "case {}: {}{}",
            comparison.label(),
            verdict.name(),
            why(comparison)
        );
        let checks = analysis.validity.iter().filter(|check| !check.holds);
        let checks: Vec<String> = checks
            .map(|check| format!("{}: {} against {}", check.name, check.left, check.right))
            .collect();
        if !checks.is_empty() {
            sentence.push_str(&format!("; {}", checks.join("; ")));
        }
        return (exit::EVIDENCE, Some(sentence));
    }
    if analysis.conditions.require_conclusion
        && let Some(comparison) = of(&Verdict::Inconclusive)
    {
        let sentence = format!(
            "case {}: not decided{}, and a conclusion is required",
            comparison.label(),
            why(comparison)
        );
        return (exit::EVIDENCE, Some(sentence));
    }
    let failed = analysis.gates.iter().find(|gate| !gate.passed);
    failed.map_or((exit::DONE, None), |gate| {
        (
            exit::GATE,
            Some(format!("gate {}: {}", gate.name, gate.reason)),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiretrial_contract::metric::Metric;

    /// A comparison that decides, without numbers.
    pub(super) fn comparison(case: &str, metric: Metric, verdict: Verdict) -> Comparison {
        Comparison {
            primary: true,
            pairs: 6,
            verdict: Some(verdict),
            ..Comparison::empty(case, metric)
        }
    }

    fn of(verdicts: &[Verdict], fail_on: FailOn) -> Gate {
        let comparisons: Vec<Comparison> = verdicts
            .iter()
            .zip(["a", "b", "c"])
            .map(|(verdict, case)| comparison(case, Metric::ElapsedNsPerUnit, *verdict))
            .collect();
        no_regression(&comparisons, Some(0.03), fail_on)
    }

    #[test]
    fn the_implicit_gate_fails_on_what_was_declared() {
        use Verdict::{Equivalent, Invalid, Regressed, RegressedWorthwhile};
        for (verdict, default, regressed, never) in [
            (Equivalent, true, true, true),
            (Verdict::Inconclusive, true, true, true),
            (Regressed, true, false, true),
            (RegressedWorthwhile, false, false, true),
            (Invalid, false, false, true),
        ] {
            for (fail_on, passed) in FailOn::ALL.into_iter().zip([default, regressed, never]) {
                let gate = of(&[Equivalent, verdict], fail_on);
                assert_eq!(gate.passed, passed, "{verdict:?} {fail_on:?}");
                assert!(gate.cases[0].passed);
                assert_eq!(gate.cases[1].passed, passed, "{verdict:?} {fail_on:?}");
            }
        }
        assert_eq!(
            of(&[Regressed], FailOn::Regressed).reason,
            "worse (fail-on regressed): a"
        );
        assert_eq!(
            of(&[RegressedWorthwhile, Regressed], FailOn::Never).reason,
            "never fails (fail-on never); worse by more than 3 %: a; worse: b"
        );
        assert_eq!(
            of(&[Equivalent, Verdict::Inconclusive], FailOn::default()).reason,
            "no case shown worse by more than 3 %; not excluded in b"
        );
    }

    #[test]
    fn every_verdict_has_one_place_in_the_order() {
        let order: Vec<Verdict> = BROKEN.into_iter().chain(JUDGED).collect();
        assert_eq!(order.len(), Verdict::ALL.len());
        for verdict in Verdict::ALL {
            assert!(order.contains(&verdict), "{} has no place", verdict.name());
        }
    }
}
