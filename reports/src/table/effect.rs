//! Paired effect: one row a case, candidate against baseline, for one metric.

use wiretrial_contract::analysis::{Analysis, Comparison, Interval, Verdict};
use wiretrial_contract::metric::{Direction, Metric};

use super::{Cell, Column, Table, Tone};
use crate::answer::{change_decimals, mean_decimals, words};

/// Paired effect on `metric`, one row a case in the order of the analysis. The sign convention is in
/// the title.
#[must_use]
pub fn effect(analysis: &Analysis, metric: Metric) -> Table {
    let rows: Vec<&Comparison> = analysis
        .comparisons
        .iter()
        .filter(|comparison| comparison.metric == metric)
        .collect();
    let margin = analysis.conditions.margin;
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
    Table {
        name: format!("effect-{}", metric.name()),
        title: format!("{}, {unit} ({good})", metric.title()),
        note: format!("{}, 95 % decision interval", pairs(&rows)),
        columns: vec![
            Column::left("case", "case"),
            mean("baseline"),
            mean("candidate"),
            Column::right("change", &format!("change, {good}"))
                .short("change")
                .in_unit("percent"),
            Column::interval("decision95", "95 % decision interval").short("interval"),
            Column::interval("percentile95", "95 % percentile interval"),
            Column::right("margin", "margin").in_unit("percent"),
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
    let decimals = change_decimals(comparison);
    let digits = mean_decimals(comparison);
    let mean = |value: Option<f64>| {
        value.map_or(Cell::Unknown, |value| Cell::Number {
            value,
            decimals: digits,
        })
    };
    // A difference has no relative change.
    let change = |ratio: Option<f64>| {
        let ratio = ratio.filter(|_| !comparison.metric.is_difference());
        ratio.map(|ratio| ratio - 1.0)
    };
    let interval = |interval: &Interval| Cell::Interval {
        lo: change(interval.lo95),
        hi: change(interval.hi95),
        decimals,
    };
    let flags = comparison.flags.iter().map(|flag| flag.name().to_owned());
    let mut reasons: Vec<String> = Vec::new();
    // A word may be both.
    for word in comparison.reasons.iter().cloned().chain(flags) {
        if !reasons.contains(&word) {
            reasons.push(word);
        }
    }
    vec![
        Cell::Text(comparison.case.clone()),
        mean(comparison.mean_baseline),
        mean(comparison.mean_candidate),
        comparison
            .change
            .map_or(Cell::Unknown, |change| Cell::Change { change, decimals }),
        interval(&comparison.decision),
        interval(&comparison.percentile),
        margin.map_or(Cell::Absent, Cell::Percent),
        Cell::Count(comparison.pairs.into()),
        verdict(comparison, margin),
        Cell::Text(reasons.join(", ")),
    ]
}

fn verdict(comparison: &Comparison, margin: Option<f64>) -> Cell {
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

const fn csv_unit(metric: Metric) -> &'static str {
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
