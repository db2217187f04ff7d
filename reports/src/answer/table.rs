//! The answer of a table: what each arm is beside the reference, in how many cases.

use wiretrial_contract::analysis::{Analysis, Answer, Comparison};

use super::claim::claim;
use super::measure::effect_text;
use super::{loss, work};

/// The answer: `table`, unless something in it is invalid.
pub(super) fn answer(analysis: &Analysis) -> Answer {
    let margin = analysis.conditions.margin;
    let primary: Vec<&Comparison> = analysis
        .comparisons
        .iter()
        .filter(|one| one.primary)
        .collect();
    let words = |arm: &str| -> String {
        let of_arm = primary.iter().filter(|one| one.arm.as_deref() == Some(arm));
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for one in of_arm {
            let word = claim(one, margin).word();
            match counts.iter_mut().find(|(known, _)| *known == word) {
                Some((_, count)) => *count += 1,
                None => counts.push((word, 1)),
            }
        }
        let words = counts
            .iter()
            .map(|(word, count)| format!("{word} in {count}"));
        let words = words.collect::<Vec<_>>().join(", ");
        let of_arm = primary.iter().filter(|one| one.arm.as_deref() == Some(arm));
        let effects: Vec<String> = of_arm.map(|one| effect_text(one)).collect();
        match &effects[..] {
            [first, .., last] if first != last => format!("{arm} {first} to {last}, {words}"),
            [first, ..] => format!("{arm} {first}, {words}"),
            [] => format!("{arm} {words}"),
        }
    };
    let mut arms: Vec<&str> = Vec::new();
    for arm in primary.iter().filter_map(|one| one.arm.as_deref()) {
        if !arms.contains(&arm) {
            arms.push(arm);
        }
    }
    let reference = analysis.estimates.iter().find(|one| one.reference);
    let reference = reference.map_or("nothing", |one| one.arm.as_str());
    let cases = primary.len() / arms.len().max(1);
    let each: Vec<String> = arms.iter().map(|arm| words(arm)).collect();
    let invalid = primary
        .iter()
        .any(|one| claim(one, margin).word() == "invalid");
    let packets = if analysis.passes.is_empty() {
        loss::clause(&analysis.loads)
    } else {
        work::clause(&analysis.passes)
    };
    Answer {
        word: if invalid { "invalid" } else { "table" }.into(),
        text: format!(
            "{} in {cases} {}, beside {reference}: {}; {packets}",
            if arms.len() == 1 {
                "1 arm".to_owned()
            } else {
                format!("{} arms", arms.len())
            },
            if cases == 1 { "case" } else { "cases" },
            each.join("; "),
        ),
    }
}
