//! Loads and rates: one row a case and arm, with what was asked, offered, delivered and lost.

use wiretrial_contract::analysis::{Analysis, Load, LoadVerdict};
use wiretrial_contract::record::{Share, Stage};

use super::{Cell, Column, Table, Tone};
use crate::number;

/// Loads and rates, one row a case and arm in the order of the analysis. Rates name their window in
/// the header; counts of copies are over all trials of the row.
#[must_use]
pub fn loads(analysis: &Analysis) -> Table {
    Table {
        name: "loads".into(),
        title: "loads, by arm".into(),
        note: "offered: accepted over the measured sending time; delivered: unique over first to \
               last delivery, unknown where arms alternate"
            .into(),
        columns: vec![
            Column::left("case", "case"),
            Column::left("arm", "arm"),
            Column::right("trials", "trials"),
            Column::right("intended", "intended, packets/s").in_unit("pps"),
            Column::right("offered", "offered, packets/s").in_unit("pps"),
            Column::right("delivered", "delivered, packets/s").in_unit("pps"),
            Column::right("accepted", "sent, packets").in_unit("packets"),
            Column::right("unique", "seen, packets").in_unit("packets"),
            Column::right("lost", "lost, packets").in_unit("packets"),
            Column::right("lost_least", "lost at least, packets").in_unit("packets"),
            Column::right("ring_tail", "unread in the ring, packets").in_unit("packets"),
            Column::right("loss", "loss of sent, %").in_unit("percent"),
            Column::right("loss_upper95", "95 % upper bound, %").in_unit("percent"),
            Column::right("worst_upper95", "worst trial's bound, %").in_unit("percent"),
            Column::left("lost_at", "lost in"),
            Column::right("unexplained", "unexplained, copies").in_unit("copies"),
            Column::right("duplicate", "duplicate, copies").in_unit("copies"),
            Column::right("reordered", "reordered, packets").in_unit("packets"),
            Column::right("foreign", "foreign, copies").in_unit("copies"),
            Column::left("rule", "0.1 % rule"),
            Column::left("verdict", "verdict"),
            Column::left("reasons", "reasons, bounds and flags"),
        ],
        rows: analysis.loads.iter().map(row).collect(),
    }
}

fn row(load: &Load) -> Vec<Cell> {
    let rate = |value: Option<f64>| {
        value.map_or(Cell::Unknown, |value| Cell::Number { value, decimals: 0 })
    };
    let bound = |value: Option<f64>| value.map_or(Cell::Unknown, Cell::Bound);
    let flags = load.flags.iter().map(|flag| flag.name());
    let bounds = load.bounds.iter().map(String::as_str);
    let words: Vec<&str> = load
        .reasons
        .iter()
        .map(|reason| reason.name())
        .chain(bounds)
        .chain(flags)
        .collect();
    vec![
        Cell::Text(load.case.clone()),
        Cell::Text(load.arm.clone()),
        Cell::Count(load.repeats.into()),
        Cell::Count(load.intended_pps),
        rate(load.offered_pps),
        rate(load.delivered_pps),
        Cell::Count(load.accepted),
        seen(load),
        lost(load),
        load.lost_least
            .filter(|_| !load.loss_unknown())
            .map_or(Cell::Absent, Cell::Count),
        ring_tail(load),
        loss(load),
        bound(load.loss_upper95),
        bound(load.worst_upper95),
        lost_at(load),
        Cell::Signed(load.unexplained),
        known(load.duplicate),
        known(load.reordered),
        known(load.foreign),
        load.rule_ok.map_or(Cell::Unknown, |ok| {
            Cell::Text(if ok { "holds" } else { "broken" }.into())
        }),
        Cell::Verdict(
            verdict_words(load.verdict).into(),
            verdict_tone(load.verdict),
        ),
        Cell::Text(words.join(", ")),
    ]
}

/// Delivered at least once.
fn seen(load: &Load) -> Cell {
    let (least, _) = load.lost_range();
    if load.loss_unknown() {
        return Cell::Unknown;
    }
    Cell::Range {
        most: load.accepted.saturating_sub(least).max(load.unique),
        least: load.unique,
    }
}

fn lost(load: &Load) -> Cell {
    let (least, most) = load.lost_range();
    if load.loss_unknown() {
        Cell::Unknown
    } else {
        Cell::Range { least, most }
    }
}

fn loss(load: &Load) -> Cell {
    let (least, lost) = load.lost_range();
    if load.loss_unknown() {
        return Cell::Unknown;
    }
    Cell::Loss {
        least,
        lost,
        accepted: load.accepted,
    }
}

/// What a program left in its ring; the built-in receiver, which counts copies of its own, leaves
/// nothing.
fn ring_tail(load: &Load) -> Cell {
    match load.ring_tail {
        Some(packets) => Cell::Count(packets),
        None if load.duplicate.is_some() => Cell::Absent,
        None => Cell::Unknown,
    }
}

/// The stages that took or may have taken some of the lost, and those that could not be read.
fn lost_at(load: &Load) -> Cell {
    let parts: Vec<String> = load
        .lost_at
        .iter()
        .filter_map(|(stage, share)| {
            let name = stage_words(*stage);
            match share {
                None => Some(format!("{name} unknown")),
                Some(Share::Count(0) | Share::Range { max: 0, .. }) => None,
                Some(Share::Count(count)) => Some(format!("{name} {}", number::count(*count))),
                Some(Share::Range { min, max }) => Some(format!(
                    "{name} {} to {}",
                    number::count(*min),
                    number::count(*max)
                )),
            }
        })
        .collect();
    if !parts.is_empty() {
        Cell::Text(parts.join(", "))
    } else if load.lost == 0 {
        Cell::Absent
    } else {
        Cell::Text("no counter tells".into())
    }
}

const fn stage_words(stage: Stage) -> &'static str {
    match stage {
        Stage::Ring => "capture ring",
        Stage::Nic => "NIC ring",
        Stage::ConsumerGap => "consumer gap",
        other => other.name(),
    }
}

pub(super) const fn verdict_words(verdict: LoadVerdict) -> &'static str {
    match verdict {
        LoadVerdict::Pass => "pass",
        LoadVerdict::Fail => "fail",
        LoadVerdict::Inconclusive => "not decided",
        LoadVerdict::CoupledLimit => "rate not reached, coupled",
        LoadVerdict::GeneratorLimited => "generator limited",
        LoadVerdict::PathVariable => "path variable",
        LoadVerdict::Invalid => "invalid",
    }
}

pub(super) const fn verdict_tone(verdict: LoadVerdict) -> Tone {
    match verdict {
        LoadVerdict::Pass => Tone::Good,
        LoadVerdict::Fail | LoadVerdict::Invalid => Tone::Bad,
        _ => Tone::Open,
    }
}

fn known(count: Option<u64>) -> Cell {
    count.map_or(Cell::Unknown, Cell::Count)
}
