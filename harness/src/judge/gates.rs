//! What an automated caller is told: the implicit gate, and the exit code of a judged campaign.

use wiretrial_contract::analysis::{Analysis, Comparison, Gate, Verdict};
use wiretrial_contract::exit;
use wiretrial_reports::number;

/// The gate every paired campaign has: no case is shown to be worse by more than the margin. That
/// is not to say that none is: the reason names the cases that were not decided.
pub(super) fn no_regression(comparisons: &[Comparison], margin: Option<f64>) -> Gate {
    let name = "no_regression".to_owned();
    let Some(margin) = margin else {
        let reason = "no margin is declared, so no case can be worse by more than it".into();
        return Gate {
            name,
            passed: true,
            reason,
        };
    };
    let of = |wanted: &dyn Fn(Verdict) -> bool| -> Vec<&str> {
        let cases = comparisons.iter().filter(|c| c.verdict.is_some_and(wanted));
        cases.map(|comparison| comparison.case.as_str()).collect()
    };
    let worse = of(&|verdict| verdict == Verdict::RegressedWorthwhile);
    let percent = number::margin(margin);
    if !worse.is_empty() {
        let reason = format!("worse by more than {percent}: {}", worse.join(", "));
        return Gate {
            name,
            passed: false,
            reason,
        };
    }
    let open = of(&|verdict| {
        !matches!(
            verdict,
            Verdict::Equivalent | Verdict::Improved | Verdict::ImprovedWorthwhile
        )
    });
    let mut reason = format!("no case shown worse by more than {percent}");
    if !open.is_empty() {
        reason.push_str(&format!("; not excluded in {}", open.join(", ")));
    }
    Gate {
        name,
        passed: true,
        reason,
    }
}

/// Exit code of a judged campaign, with the sentence for it when it is not 0: evidence that does
/// not hold goes before a gate that failed.
#[must_use]
pub fn exit_code(analysis: &Analysis) -> (u8, Option<String>) {
    const BROKEN: [Verdict; 5] = [
        Verdict::Invalid,
        Verdict::AsymmetricFailures,
        Verdict::Unstable,
        Verdict::NotComparable,
        Verdict::Incomplete,
    ];
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
