//! Every cost of every case in one table, each with what it leaves out.

use wiretrial_contract::analysis::{Analysis, Comparison};
use wiretrial_contract::plan::Workload;

use super::{Cell, Column, Table};
use crate::answer::{change_decimals, mean_decimals};

/// One row a case and metric in the order of the analysis: the primary metric first within a case.
#[must_use]
pub fn costs(analysis: &Analysis) -> Table {
    Table {
        name: "costs".into(),
        title: "all costs".into(),
        note: "the first of a case decides, the others are for information".into(),
        columns: vec![
            Column::left("case", "case"),
            Column::left("metric", "metric"),
            Column::left("unit", "unit"),
            Column::right("baseline", "baseline"),
            Column::right("candidate", "candidate"),
            Column::right("change", "change").in_unit("percent"),
            Column::interval("decision95", "95 % decision interval"),
            Column::left("leaves_out", "leaves out"),
        ],
        rows: analysis
            .comparisons
            .iter()
            .map(|comparison| row(comparison, analysis.conditions.workload))
            .collect(),
    }
}

fn row(comparison: &Comparison, workload: Workload) -> Vec<Cell> {
    let decimals = change_decimals(comparison);
    let mean = |value: Option<f64>| {
        value.map_or(Cell::Unknown, |value| Cell::Number {
            value,
            decimals: mean_decimals(comparison),
        })
    };
    // A difference has no relative change.
    let change = |ratio: Option<f64>| {
        let ratio = ratio.filter(|_| !comparison.metric.is_difference());
        ratio.map(|ratio| ratio - 1.0)
    };
    vec![
        Cell::Text(comparison.case.clone()),
        Cell::Text(comparison.metric.name().into()),
        Cell::Text(comparison.unit.clone()),
        mean(comparison.mean_baseline),
        mean(comparison.mean_candidate),
        comparison
            .change
            .map_or(Cell::Unknown, |change| Cell::Change { change, decimals }),
        Cell::Interval {
            lo: change(comparison.decision.lo95),
            hi: change(comparison.decision.hi95),
            decimals,
        },
        Cell::Text(comparison.metric.excludes_in(workload).into()),
    ]
}
