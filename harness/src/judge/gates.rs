//! What an automated caller is told: the campaign's verdict, the implicit gate and the exit code.

use wiretrial_contract::analysis::{Analysis, Comparison, Gate, Verdict};
use wiretrial_contract::exit;
use wiretrial_reports::number;

/// Verdicts of evidence that does not hold, the worst first.
const BROKEN: [Verdict; 5] = [
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

/// The gate every paired campaign has: every case is judged, and none is shown to be worse by more
/// than the margin. That is not to say that none is: the reason names the cases that were not
/// decided, and those that are worse by less or without a margin.
pub(super) fn no_regression(comparisons: &[Comparison], margin: Option<f64>) -> Gate {
    let of = |wanted: &dyn Fn(Verdict) -> bool| -> Option<String> {
        let cases = comparisons.iter().filter(|c| c.verdict.is_some_and(wanted));
        let names: Vec<&str> = cases.map(|comparison| comparison.case.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let gate = |passed, reason| Gate {
        name: "no_regression".into(),
        passed,
        reason,
    };
    let beyond = margin.map_or_else(|| "a margin (none is declared)".into(), number::margin);
    if let Some(cases) = of(&|verdict| verdict == Verdict::RegressedWorthwhile) {
        return gate(false, format!("worse by more than {beyond}: {cases}"));
    }
    if let Some(cases) = of(&|verdict| BROKEN.contains(&verdict)) {
        return gate(false, format!("not judged: {cases}"));
    }
    let mut reason = format!("no case shown worse by more than {beyond}");
    if let Some(cases) = of(&|verdict| verdict == Verdict::Regressed) {
        reason.push_str(&format!("; worse by less: {cases}"));
    }
    if let Some(cases) = of(&|verdict| verdict == Verdict::Inconclusive) {
        reason.push_str(&format!("; not excluded in {cases}"));
    }
    gate(true, reason)
}

/// Exit code of a judged campaign, with the sentence for it when it is not 0: evidence that does
/// not hold goes before a gate that failed.
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
            "case {}: {} ({})",
            comparison.case,
            verdict.name(),
            comparison.reasons.join(", ")
        );
        let checks = analysis.validity.iter().filter(|check| !check.holds);
        let checks: Vec<String> = checks
            .map(|check| format!("{}: {} of {}", check.name, check.left, check.right))
            .collect();
        if !checks.is_empty() {
            sentence.push_str(&format!("; {}", checks.join("; ")));
        }
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

    #[test]
    fn every_verdict_has_one_place_in_the_order() {
        let order: Vec<Verdict> = BROKEN.into_iter().chain(JUDGED).collect();
        assert_eq!(order.len(), Verdict::ALL.len());
        for verdict in Verdict::ALL {
            assert!(order.contains(&verdict), "{} has no place", verdict.name());
        }
    }
}
