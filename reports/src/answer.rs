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
//! some case is open, not comparable, unstable or incomplete; `same` or `better` only for all cases.

mod claim;
mod loss;
mod phrase;
mod work;

use wiretrial_contract::analysis::{Answer, Comparison, Interval, Load, PassSummary};

use crate::number;
use claim::{Claim, claim};
use phrase::Phrase;

pub(crate) use claim::words;

/// The answer over all cases, from the primary comparisons among `comparisons`, the loads or the
/// passes, and the declared margin (a ratio). Comparisons that are not primary are ignored.
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
    let phrase = Phrase {
        metric: first.metric,
        margin,
        cases: judged.len(),
    };
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

/// The whole sentence: word, colon, text.
#[must_use]
pub fn sentence(answer: &Answer) -> String {
    format!("{}: {}", answer.word, answer.text)
}

/// One comparison in a sentence, for `comparisons[].statement`: means, change, decision interval,
/// pairs, and what follows from them.
#[must_use]
pub fn statement(comparison: &Comparison, margin: Option<f64>) -> String {
    let title = comparison.metric.title();
    let means = match (comparison.mean_baseline, comparison.mean_candidate) {
        (Some(baseline), Some(candidate)) => {
            let digits = mean_decimals(comparison);
            format!(
                "{} -> {} {}",
                number::decimal(baseline, digits),
                number::decimal(candidate, digits),
                comparison.unit
            )
        }
        _ => "unknown".into(),
    };
    let change = comparison.change.map_or("change unknown".into(), |change| {
        number::change(change, change_decimals(comparison))
    });
    let interval = interval_text(&comparison.decision, change_decimals(comparison));
    let follows = match comparison.verdict {
        None => "for information, decides nothing".into(),
        Some(_) => Phrase {
            metric: comparison.metric,
            margin,
            cases: 1,
        }
        .verdict(claim(comparison, margin), comparison),
    };
    let pairs = number::count(comparison.pairs.into());
    format!(
        "{}: {title} {means}, {change} {interval} (95 %, {pairs} pairs): {follows}",
        comparison.case
    )
}

/// Decimals of a comparison's change in percent: down to the first digit of half the decision
/// interval, and at least one while that is under 10 %. One without an interval. An end that is not 0
/// does not read 0 where four decimals can show it.
pub(crate) fn change_decimals(comparison: &Comparison) -> usize {
    let (Some(lo), Some(hi)) = (comparison.decision.lo95, comparison.decision.hi95) else {
        return 1;
    };
    let half_width = (hi - lo) * 50.0;
    let least = number::decimals(half_width).max(usize::from(half_width < 10.0));
    let shows = |digits: &usize| {
        [lo, hi].iter().all(|end| {
            (end - 1.0).abs() < 1e-9 || number::change(end - 1.0, *digits).starts_with(['-', '+'])
        })
    };
    (least..=4).find(shows).unwrap_or(least)
}

/// Decimals of a comparison's means: what half its decision interval is in the unit of the baseline,
/// down to its first digit. None without an interval.
pub(crate) fn mean_decimals(comparison: &Comparison) -> usize {
    match (
        comparison.decision.lo95,
        comparison.decision.hi95,
        comparison.mean_baseline,
    ) {
        // The interval of a difference is in the unit already.
        (Some(lo), Some(hi), _) if comparison.metric.is_difference() => {
            number::decimals((hi - lo) / 2.0)
        }
        (Some(lo), Some(hi), Some(mean)) => number::decimals((hi - lo) / 2.0 * mean.abs()),
        _ => 0,
    }
}

/// An interval of the ratio as one of the change: `[-89.8 %, -89.2 %]`.
pub(crate) fn interval_text(interval: &Interval, decimals: usize) -> String {
    if interval.lo95.is_none() && interval.hi95.is_none() {
        return "no interval".into();
    }
    let end = |ratio: Option<f64>| {
        ratio.map_or("unresolved".into(), |ratio| {
            number::change(ratio - 1.0, decimals)
        })
    };
    format!("[{}, {}]", end(interval.lo95), end(interval.hi95))
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
