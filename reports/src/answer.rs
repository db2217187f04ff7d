//! The fixed list of sentences that answer a campaign's question.
//!
//! Every claim is checked again against the decision interval and the margin before it becomes
//! words (`claim`), so that a sentence that says too much cannot be made, not even from an analysis
//! that was edited: "same" needs a margin and a 90 % interval inside it, "better" and "worse" an
//! interval on one side of 1. An interval over 1 outside that rule reads "spans 1 and does not
//! establish equivalence".
//!
//! The leading word is the worst that holds: `invalid` when any case is; `mixed` when some case is
//! better and another is not; `worse` when some case is worse and none better; `not decided` when
//! some case is open, not comparable, unstable or incomplete; `same` or `better` only for all cases. A
//! table says `table`, and what each of its arms is.

mod claim;
mod loss;
mod measure;
mod phrase;
mod table;
mod work;

use wiretrial_contract::analysis::{Analysis, Answer, Calibration, Comparison, Load, PassSummary};
use wiretrial_contract::metric::Scale;
use wiretrial_contract::record::Flag;

use crate::number;
use crate::shorten::listed;
use claim::{Claim, claim};
use measure::with_unit;
use phrase::Phrase;

pub(crate) use claim::words;
use measure::spread_text;
pub(crate) use measure::{change_decimals, effect_text, interval_text, mean_decimals};
pub use measure::{floor_text, margin_text};

/// The answer over all cases, from the primary comparisons among `comparisons`, the loads or the
/// passes, and the declared margin (a ratio, or a number in the unit of a difference). Comparisons that
/// are not primary are ignored.
#[must_use]
pub fn answer(
    comparisons: &[Comparison],
    loads: &[Load],
    passes: &[PassSummary],
    margin: Option<f64>,
) -> Answer {
    let judged: Vec<(Claim, &Comparison)> = comparisons
        .iter()
        .filter(|comparison| comparison.primary)
        .map(|comparison| (claim(comparison, margin), comparison))
        .collect();
    let Some((_, first)) = judged.first() else {
        return Answer {
            word: "invalid".into(),
            text: "no case was compared".into(),
        };
    };
    let phrase = Phrase::of(first, margin, judged.len());
    // Where programs ran over an input there are no packets to lose.
    let work = if passes.is_empty() {
        loss::clause(loads)
    } else {
        work::clause(passes)
    };
    Answer {
        word: leading(&judged).into(),
        text: format!("{}; {work}", phrase.all(&judged)),
    }
}

/// The answer of a table: what each arm is beside the reference, in how many cases.
#[must_use]
pub fn of_table(analysis: &Analysis) -> Answer {
    table::answer(analysis)
}

/// The whole sentence: word, colon, text.
#[must_use]
pub fn sentence(answer: &Answer) -> String {
    format!("{}: {}", answer.word, answer.text)
}

/// One comparison in a sentence, for `comparisons[].statement`: means, change, decision interval,
/// pairs, and what follows from them.
#[must_use]
pub fn statement(comparison: &Comparison, margin: Option<f64>) -> String {
    let (label, title) = (comparison.label(), comparison.metric.title());
    format!("{label}: {title} {}", numbers(comparison, margin))
}

/// The same under a title of its own, for values that are of no case and no metric.
#[must_use]
pub fn statement_titled(title: &str, comparison: &Comparison, margin: Option<f64>) -> String {
    format!("{title}: {}", numbers(comparison, margin))
}

fn numbers(comparison: &Comparison, margin: Option<f64>) -> String {
    let means = match (comparison.mean_baseline, comparison.mean_candidate) {
        (Some(baseline), Some(candidate)) => {
            let digits = mean_decimals(comparison);
            let candidate = number::decimal(candidate, digits);
            format!(
                "{} -> {}",
                number::decimal(baseline, digits),
                with_unit(candidate, &comparison.unit)
            )
        }
        _ => "unknown".into(),
    };
    let effect = effect_text(comparison);
    let interval = interval_text(comparison, &comparison.decision);
    let follows = match comparison.verdict {
        None => "for information, decides nothing".into(),
        Some(_) => Phrase::of(comparison, margin, 1).verdict(claim(comparison, margin), comparison),
    };
    format!(
        "{means}, {effect} {interval} ({}): {follows}",
        resting_on(comparison)
    )
}

/// What an interval rests on: a level and pairs, or that these do not vary, where no level has a meaning.
fn resting_on(comparison: &Comparison) -> String {
    let pairs = match comparison.pairs {
        1 => "1 pair".into(),
        pairs => format!("{} pairs", number::count(pairs.into())),
    };
    let point = comparison.decision.lo95.is_some();
    if point && comparison.flags.contains(&Flag::Deterministic) {
        format!("no variation in {pairs}")
    } else {
        format!("95 %, {pairs}")
    }
}

/// That the margin is under the floor, and where: `cannot see 3 % (floor 4.1 %) in 20k`; `None` where it
/// is not.
pub(crate) fn cannot_see(analysis: &Analysis) -> Option<String> {
    let margin = analysis.conditions.margin;
    let primary = analysis.comparisons.iter().filter(|one| one.primary);
    let blind: Vec<&Comparison> = primary
        .filter(|one| claim(one, margin) == Claim::BelowFloor)
        .collect();
    let phrase = Phrase::of(blind.first()?, margin, blind.len());
    let names: Vec<&str> = blind.iter().map(|one| one.case.as_str()).collect();
    Some(format!(
        "{} in {}",
        phrase.cannot_see(&blind)?,
        listed(&names)
    ))
}

/// The statement of an A/A comparison, with what it says of the floor: how far the arms came out apart, the
/// scatter of the pairs, and what the place in a pair did.
#[must_use]
pub fn statement_of_equal_arms(comparison: &Comparison, margin: Option<f64>) -> String {
    let statement = statement(comparison, margin);
    match floor(comparison) {
        Some(floor) => format!("{statement}; {floor}"),
        None => statement,
    }
}

/// The floor that an A/A comparison shows, if it shows one.
fn floor(comparison: &Comparison) -> Option<String> {
    let shown = comparison.shown_floor()?;
    let text = |size: f64| spread_text(size, comparison.scale, &comparison.unit);
    let effects = match comparison.scale {
        Scale::Ratio => "log pair ratios",
        Scale::Difference => "pair differences",
    };
    let floor = floor_text(shown.size, comparison.scale, &comparison.unit);
    let mut parts = vec![format!("floor {floor}")];
    if let Some(sd) = comparison.sd_log {
        parts.push(format!("sd of {effects} {}", text(sd)));
    }
    let found = comparison.diagnostics.unwrap_or_default();
    if let Some(position) = found.position_effect {
        let sign = if position < 0.0 { "-" } else { "" };
        parts.push(format!("order effect {sign}{}", text(position.abs())));
    }
    Some(parts.join(", "))
}

/// The answer of an A/A campaign: what it says of the method comes first, of the host last. Both are left
/// out where its cases cannot say it.
#[must_use]
pub fn of_equal_arms(
    answer: Answer,
    calibration: &Calibration,
    comparisons: &[Comparison],
) -> Answer {
    let clauses = [
        calibration_clause(calibration),
        Some(answer.text),
        floor_clause(comparisons),
    ];
    let clauses: Vec<String> = clauses.into_iter().flatten().collect();
    Answer {
        text: clauses.join("; "),
        ..answer
    }
}

/// `equal arms called different in 1 of 20 cases, the method is not rejected (5 would reject it, seen with 4 %
/// if 10 % were, 37 % if 20 %)`; `None` where so few cases reject nothing.
fn calibration_clause(calibration: &Calibration) -> Option<String> {
    let held = if calibration.passed? {
        "the method is not rejected"
    } else {
        "the method is rejected"
    };
    Some(format!(
        "equal arms called different in {} of {} cases, {held} ({} reject it, seen with {:.0} % if 10 % were, \
         {:.0} % if 20 %)",
        calibration.excluded,
        calibration.cases,
        calibration.limit,
        calibration.power_10 * 100.0,
        calibration.power_20 * 100.0
    ))
}

/// What an A/A campaign's answer says of the host: `A/A floor 1.2 % to 1.9 %`; `None` where no case shows
/// one.
fn floor_clause(comparisons: &[Comparison]) -> Option<String> {
    let primary = comparisons.iter().filter(|one| one.primary);
    let mut floors: Vec<(f64, String)> = primary
        .filter_map(|one| {
            let size = one.shown_floor()?.size;
            let text = floor_text(size, one.scale, &one.unit);
            Some((size, text))
        })
        .collect();
    floors.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (_, least) = floors.first()?;
    let (_, most) = floors.last()?;
    Some(if least == most {
        format!("A/A floor {most}")
    } else {
        format!("A/A floor {least} to {most}")
    })
}

fn leading(judged: &[(Claim, &Comparison)]) -> &'static str {
    let has = |word: &str| judged.iter().any(|(claim, _)| claim.word() == word);
    let all = |word: &str| judged.iter().all(|(claim, _)| claim.word() == word);
    if has("invalid") {
        "invalid"
    } else if has("better") && !all("better") {
        "mixed"
    } else if has("worse") {
        "worse"
    } else if has("not decided") {
        "not decided"
    } else if all("same") {
        "same"
    } else {
        "better"
    }
}
