//! The arms of a table side by side: one row a case and arm, with what each is beside the reference.

use wiretrial_contract::analysis::{Analysis, Comparison, Estimate};
use wiretrial_contract::metric::{Direction, Metric, Scale};

use super::effect::{csv_unit, effect_cell, interval_cell, verdict};
use super::{Cell, Column, Table};
use crate::number;

/// The arms on `metric`, one row a case and arm in the order of the analysis, the reference of a case
/// first. The sign convention is in the title.
#[must_use]
pub fn arms(analysis: &Analysis, metric: Metric) -> Table {
    let rows: Vec<&Estimate> = analysis
        .estimates
        .iter()
        .filter(|estimate| estimate.metric == metric)
        .collect();
    let good = match metric.direction() {
        Direction::LowerIsBetter => "lower is better",
        Direction::HigherIsBetter => "higher is better",
    };
    let unit = metric.unit_in(analysis.conditions.workload);
    let (effect, effect_unit) = match metric.scale() {
        Scale::Ratio => ("change", "percent"),
        Scale::Difference => ("difference", csv_unit(metric)),
    };
    Table {
        name: format!("arms-{}", metric.name()),
        title: format!("{}, {unit} ({good})", metric.title()),
        note: format!("{}, 95 % intervals", rounds(&rows)),
        columns: vec![
            Column::left("case", "case"),
            Column::left("arm", "arm"),
            Column::right("median", &format!("median, {unit}"))
                .short("median")
                .in_unit(csv_unit(metric)),
            Column::interval("median95", "95 % interval of the median")
                .short("of the median")
                .in_unit(csv_unit(metric)),
            Column::right("rounds", "rounds"),
            Column::right(effect, &format!("{effect} of the mean, {good}"))
                .short(effect)
                .in_unit(effect_unit),
            Column::interval("decision95", "95 % decision interval")
                .short("interval")
                .in_unit(effect_unit),
            Column::left("verdict", "verdict"),
        ],
        rows: rows
            .iter()
            .map(|estimate| row(analysis, estimate))
            .collect(),
    }
}

fn row(analysis: &Analysis, estimate: &Estimate) -> Vec<Cell> {
    let decimals = decimals(estimate);
    let mut cells = vec![
        Cell::Text(estimate.case.clone()),
        Cell::Text(estimate.arm.clone()),
        estimate
            .median
            .map_or(Cell::Unknown, |value| Cell::Number { value, decimals }),
        Cell::Between {
            lo: estimate.lo95,
            hi: estimate.hi95,
            decimals,
        },
        Cell::Count(estimate.rounds.into()),
    ];
    let compared = |one: &&Comparison| {
        one.metric == estimate.metric
            && one.case == estimate.case
            && one.arm.as_ref() == Some(&estimate.arm)
    };
    cells.extend(match analysis.comparisons.iter().find(compared) {
        Some(one) => [
            effect_cell(one, one.estimate()),
            interval_cell(one, &one.decision),
            verdict(one, analysis.conditions.margin),
        ],
        None => [Cell::Absent, Cell::Absent, Cell::Text("reference".into())],
    });
    cells
}

/// Decimals that the interval of the median supports; none without one.
fn decimals(estimate: &Estimate) -> usize {
    let width = estimate.lo95.zip(estimate.hi95).map(|(lo, hi)| hi - lo);
    width.map_or(0, |width| number::decimals(width / 2.0))
}

fn rounds(rows: &[&Estimate]) -> String {
    let least = rows.iter().map(|row| row.rounds).min().unwrap_or(0);
    let most = rows.iter().map(|row| row.rounds).max().unwrap_or(0);
    if least == most {
        format!("{least} rounds")
    } else {
        format!("{least} to {most} rounds")
    }
}
