//! What order and time raised, and the pairs that were marked, in words.

use wiretrial_contract::analysis::{Analysis, Comparison};
use wiretrial_contract::record::Flag;

use crate::number;
use crate::shorten::shortened;

/// The flags of order and time.
const FLAGS: [Flag; 4] = [
    Flag::PositionEffect,
    Flag::Drift,
    Flag::ChangePoint,
    Flag::Outlying,
];

/// Level of a family's claims.
const LEVEL: f64 = 0.05;

/// Everything that is flagged in at most `width` characters, by case and in the words of `explain`;
/// cases that do not fit are counted. `None` where nothing is.
pub(crate) fn line(analysis: &Analysis, width: usize) -> Option<String> {
    let primary = analysis.comparisons.iter().filter(|one| one.primary);
    let cases: Vec<String> = primary.filter_map(in_case).collect();
    (1..=cases.len())
        .rev()
        .map(|kept| {
            let mut text = cases[..kept].join("; ");
            if kept < cases.len() {
                text += &format!("; {} more: report.md", cases.len() - kept);
            }
            if kept == 1 {
                shortened(&text, width)
            } else {
                text
            }
        })
        .find(|text| text.chars().count() <= width)
}

/// `20k: drift, outlying (pair 7, kept)`; `None` where nothing is flagged.
fn in_case(one: &Comparison) -> Option<String> {
    let raised = FLAGS.iter().filter(|flag| one.flags.contains(flag));
    let words: Vec<String> = raised
        .map(|flag| match (flag, one.outlying.len()) {
            (Flag::Outlying, 1) => format!("outlying (pair {}, kept)", one.outlying[0]),
            (Flag::Outlying, _) => {
                format!("outlying (pairs {}, kept)", pair_numbers(&one.outlying))
            }
            _ => flag.name().to_owned(),
        })
        .collect();
    (!words.is_empty()).then(|| format!("{}: {}", shortened(&one.label(), 40), words.join(", ")))
}

/// The same as sentences, one a flag and case.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let mut sentences = Vec::new();
    for flag in FLAGS {
        for one in with(analysis, flag) {
            let case = &one.case;
            sentences.push(match flag {
                Flag::Outlying => {
                    format!(
                        "{case}: {} far from the others, marked and kept",
                        pairs(one)
                    )
                }
                Flag::Drift => format!("{case}: {}", drifting(one)),
                Flag::PositionEffect => format!("{case}: the place in a pair moved the result"),
                _ => format!("{case}: the result changed its level"),
            });
        }
    }
    sentences
}

/// Where the randomization test cannot reach the level that each of several cases is held to.
pub(crate) fn cannot_reach(analysis: &Analysis) -> Option<String> {
    let primary: Vec<&Comparison> = analysis
        .comparisons
        .iter()
        .filter(|one| one.primary)
        .collect();
    let cases = u32::try_from(primary.len()).ok()?;
    let level = LEVEL / f64::from(cases.max(1));
    // The effect and its mirror image are always among the drawn orders.
    let orders = primary.iter().filter_map(|one| one.randomization_p);
    let fewest = orders.map(|p| p.den).min()?;
    let most = u32::try_from(fewest).map_or(f64::INFINITY, f64::from);
    (2.0 / most > level).then(|| {
        let level = number::p_value(level);
        let of = match cases {
            1 => String::new(),
            cases => format!(", the level of each of {cases} cases"),
        };
        format!(
            "The randomization test cannot reach {level}{of}: its smallest p is 2/{} with so few pairs.",
            number::count(fewest)
        )
    })
}

/// Numbers of pairs: `7, 12`.
pub(crate) fn pair_numbers(numbers: &[u64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    numbers.join(", ")
}

fn with(analysis: &Analysis, flag: Flag) -> Vec<&Comparison> {
    let primary = analysis.comparisons.iter().filter(|one| one.primary);
    primary.filter(|one| one.flags.contains(&flag)).collect()
}

fn pairs(one: &Comparison) -> String {
    let numbers = pair_numbers(&one.outlying);
    match one.outlying.len() {
        1 => format!("pair {numbers} is"),
        _ => format!("pairs {numbers} are"),
    }
}

/// Which of the two followed time.
fn drifting(one: &Comparison) -> &'static str {
    let below = |p: Option<f64>| p.is_some_and(|p| p < 0.01);
    let found = one.diagnostics.unwrap_or_default();
    match (below(found.spearman_p), below(found.level_spearman_p)) {
        (true, true) => "the effect and the level of the pairs followed time",
        (true, false) => "the effect of the pairs followed time",
        _ => "the level of the pairs followed time, which cancels inside each",
    }
}
