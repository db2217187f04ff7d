//! Paired effect: one row a case, candidate against baseline, for one metric.

use wiretrial_contract::analysis::{Analysis, Comparison, Interval, Verdict};
use wiretrial_contract::metric::{Direction, Metric, Scale};

use super::{Cell, Column, Table, Tone};
use crate::answer::{change_decimals, mean_decimals, words};
use crate::number;

/// Paired effect on `metric`, one row a case in the order of the analysis. The sign convention is in
/// the title.
#[must_use]
pub fn effect(analysis: &Analysis, metric: Metric) -> Table {
    let rows: Vec<&Comparison> = analysis
        .comparisons
        .iter()
        .filter(|comparison| comparison.metric == metric)
        .collect();
    let scale = rows.first().map(|one| one.scale).unwrap_or_default();
    // A margin is declared on the scale of the metric that decides.
    let mut primary = analysis.comparisons.iter().filter(|one| one.primary);
    let margin = analysis
        .conditions
        .margin
        .filter(|_| primary.next().is_none_or(|one| one.scale == scale));
    let good = match metric.direction() {
        Direction::LowerIsBetter => "lower is better",
        Direction::HigherIsBetter => "higher is better",
    };
    let unit = metric.unit_in(analysis.conditions.workload);
    let mean = |arm: &str| {
        Column::right(arm, &format!("{arm}, {unit}"))
            .short(arm)
            .in_unit(csv_unit(metric))
    };
    let effect_unit = match scale {
        Scale::Ratio => "percent",
        Scale::Difference => csv_unit(metric),
    };
    let effect = match scale {
        Scale::Ratio => "change",
        Scale::Difference => "difference",
    };
    let interval = |name: &str, header: &str| Column::interval(name, header).in_unit(effect_unit);
    Table {
        name: format!("effect-{}", metric.name()),
        title: format!("{}, {unit} ({good})", metric.title()),
        note: format!("{}, 95 % decision interval", pairs(&rows)),
        columns: vec![
            Column::left("case", "case"),
            mean("baseline"),
            mean("candidate"),
            Column::right(effect, &format!("{effect}, {good}"))
                .short(effect)
                .in_unit(effect_unit),
            interval("decision95", "95 % decision interval").short("interval"),
            interval("percentile95", "95 % percentile interval"),
            Column::right("margin", "margin").in_unit(effect_unit),
            Column::right("pairs", "pairs"),
            Column::left("verdict", "verdict"),
            Column::left("reasons", "reasons and flags"),
        ],
        rows: rows
            .iter()
            .map(|comparison| row(comparison, margin))
            .collect(),
    }
}

fn row(comparison: &Comparison, margin: Option<f64>) -> Vec<Cell> {
    let digits = mean_decimals(comparison);
    let mean = |value: Option<f64>| {
        value.map_or(Cell::Unknown, |value| Cell::Number {
            value,
            decimals: digits,
        })
    };
    let flags = comparison.flags.iter().map(|flag| flag.name());
    let mut reasons: Vec<&str> = Vec::new();
    // A word may be both.
    for word in comparison.reasons.iter().map(|r| r.name()).chain(flags) {
        if !reasons.contains(&word) {
            reasons.push(word);
        }
    }
    vec![
        Cell::Text(comparison.label()),
        mean(comparison.mean_baseline),
        mean(comparison.mean_candidate),
        effect_cell(comparison, comparison.estimate()),
        interval_cell(comparison, &comparison.decision),
        interval_cell(comparison, &comparison.percentile),
        match (margin, comparison.scale) {
            (None, _) => Cell::Absent,
            (Some(margin), Scale::Ratio) => Cell::Percent(margin),
            (Some(margin), Scale::Difference) => Cell::Text(number::short(margin)),
        },
        Cell::Count(comparison.pairs.into()),
        verdict(comparison, margin),
        Cell::Text(reasons.join(", ")),
    ]
}

/// An effect of a comparison, on its scale: a change of a ratio, or a difference.
pub(crate) fn effect_cell(comparison: &Comparison, estimate: Option<f64>) -> Cell {
    let decimals = change_decimals(comparison);
    match (estimate, comparison.scale) {
        (None, _) => Cell::Unknown,
        (Some(ratio), Scale::Ratio) => Cell::Change {
            change: ratio - 1.0,
            decimals,
        },
        (Some(value), Scale::Difference) => Cell::Difference { value, decimals },
    }
}

/// An interval of a comparison at 95 %, on its scale.
pub(crate) fn interval_cell(comparison: &Comparison, interval: &Interval) -> Cell {
    let decimals = change_decimals(comparison);
    match comparison.scale {
        Scale::Ratio => Cell::Interval {
            lo: interval.lo95.map(|ratio| ratio - 1.0),
            hi: interval.hi95.map(|ratio| ratio - 1.0),
            decimals,
        },
        Scale::Difference => Cell::Span {
            lo: interval.lo95,
            hi: interval.hi95,
            decimals,
        },
    }
}

pub(super) fn verdict(comparison: &Comparison, margin: Option<f64>) -> Cell {
    if !comparison.primary {
        return Cell::Text("for information".into());
    }
    let tone = match comparison.verdict {
        Some(Verdict::ImprovedWorthwhile | Verdict::Improved) => Tone::Good,
        Some(
            Verdict::Regressed
            | Verdict::RegressedWorthwhile
            | Verdict::Invalid
            | Verdict::AsymmetricFailures,
        ) => Tone::Bad,
        Some(Verdict::Equivalent) => Tone::Plain,
        _ => Tone::Open,
    };
    Cell::Verdict(words(comparison, margin), tone)
}

fn pairs(rows: &[&Comparison]) -> String {
    let least = rows.iter().map(|row| row.pairs).min().unwrap_or(0);
    let most = rows.iter().map(|row| row.pairs).max().unwrap_or(0);
    if least == most {
        format!("{least} pairs")
    } else {
        format!("{least} to {most} pairs")
    }
}

pub(super) const fn csv_unit(metric: Metric) -> &'static str {
    match metric {
        Metric::CaptureCostNsPerPacket
        | Metric::ProcessCpuNsPerPacket
        | Metric::ReceiveCpuNsPerPacket
        | Metric::CaptureKernelNsPerPacket
        | Metric::SendCallNsPerPacket => "ns_per_packet",
        Metric::LatencyP50Ns | Metric::LatencyP99Ns => "ns",
        Metric::PeakRssBytes => "bytes",
        Metric::InstructionsPerPacket => "instructions_per_packet",
        Metric::HeapBytesPerPacket => "bytes_per_packet",
        Metric::LostPerMillion
        | Metric::ContextSwitchesPerMillion
        | Metric::PageFaultsPerMillion => "per_million",
        Metric::ElapsedNsPerUnit => "ns_per_unit",
        Metric::UnitsPerSecond => "units_per_second",
        Metric::MaxSustainedPps => "pps",
    }
}
