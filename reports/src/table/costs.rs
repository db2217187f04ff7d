//! Every cost of every case in one table, each with what it leaves out.

use wiretrial_contract::analysis::{Analysis, Comparison};
use wiretrial_contract::metric::Scale;
use wiretrial_contract::plan::Workload;

use super::{Cell, Column, Table, effect_cell, interval_cell};
use crate::answer::mean_decimals;

/// One row a case and metric in the order of the analysis: the primary metric first within a case.
#[must_use]
pub fn costs(analysis: &Analysis) -> Table {
    let mut columns = vec![
        Column::left("case", "case"),
        Column::left("metric", "metric"),
        Column::left("unit", "unit"),
        Column::right("baseline", "baseline"),
        Column::right("candidate", "candidate"),
        Column::right("change", "change").in_unit("percent"),
        Column::interval("decision95", "95 % decision interval"),
    ];
    let differences = has_differences(analysis);
    if differences {
        columns.push(Column::right("difference", "difference"));
        columns.push(Column::interval("difference95", "its 95 % decision interval").in_unit(""));
    }
    columns.push(Column::left("leaves_out", "leaves out"));
    Table {
        name: "costs".into(),
        title: "all costs".into(),
        note: "the first of a case decides, the others are for information".into(),
        columns,
        rows: analysis
            .comparisons
            .iter()
            .map(|comparison| row(comparison, analysis.conditions.workload, differences))
            .collect(),
    }
}

/// Whether some metric is compared as a difference, which needs columns without percent.
fn has_differences(analysis: &Analysis) -> bool {
    let mut comparisons = analysis.comparisons.iter();
    comparisons.any(|one| one.scale == Scale::Difference)
}

fn row(comparison: &Comparison, workload: Workload, differences: bool) -> Vec<Cell> {
    let mean = |value: Option<f64>| {
        value.map_or(Cell::Unknown, |value| Cell::Number {
            value,
            decimals: mean_decimals(comparison),
        })
    };
    let mut cells = vec![
        Cell::Text(comparison.label()),
        Cell::Text(comparison.metric.name().into()),
        Cell::Text(comparison.unit.clone()),
        mean(comparison.mean_baseline),
        mean(comparison.mean_candidate),
    ];
    let effect = [
        effect_cell(comparison, comparison.estimate()),
        interval_cell(comparison, &comparison.decision),
    ];
    let none = [Cell::Absent, Cell::AbsentInterval];
    match (comparison.scale, differences) {
        (Scale::Ratio, false) => cells.extend(effect),
        (Scale::Ratio, true) => cells.extend(effect.into_iter().chain(none)),
        (Scale::Difference, _) => cells.extend(none.into_iter().chain(effect)),
    }
    cells.push(Cell::Text(comparison.metric.excludes_in(workload).into()));
    cells
}
