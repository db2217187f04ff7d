//! What an automated caller is told: the implicit gate, and the exit code of a judged campaign.

use wiretrial_contract::analysis::{Analysis, Comparison, Gate, Verdict};
use wiretrial_contract::exit;

/// The gate every paired campaign has: no case is worse by more than the margin.
pub(super) fn no_regression(comparisons: &[Comparison]) -> Gate {
    let worse: Vec<&str> = comparisons
        .iter()
        .filter(|comparison| comparison.verdict == Some(Verdict::RegressedWorthwhile))
        .map(|comparison| comparison.case.as_str())
        .collect();
    let reason = if worse.is_empty() {
        "no regression".to_owned()
    } else {
        format!("worse by more than the margin: {}", worse.join(", "))
    };
    Gate {
        name: "no_regression".into(),
        passed: worse.is_empty(),
        reason,
    }
}

/// Exit code of a judged campaign, with the sentence for it when it is not 0: evidence that does
/// not hold goes before a gate that failed.
#[must_use]
pub fn exit_code(analysis: &Analysis) -> (u8, Option<String>) {
    let broken = analysis.comparisons.iter().find(|comparison| {
        matches!(
            comparison.verdict,
            Some(
                Verdict::Invalid
                    | Verdict::Unstable
                    | Verdict::AsymmetricFailures
                    | Verdict::NotComparable
                    | Verdict::Incomplete
            )
        )
    });
    if let Some(comparison) = broken {
        let verdict = comparison.verdict.unwrap_or(Verdict::Invalid);
        let sentence = format!(
            "case {}: {} ({})",
            comparison.case,
            verdict.name(),
            comparison.reasons.join(", ")
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
