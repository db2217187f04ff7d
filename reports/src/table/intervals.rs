//! The interval of each case's effect by every method, the deciding one first.

use wiretrial_contract::analysis::{Analysis, Interval};

use super::effect::interval_cell;
use super::order::effect_unit;
use super::{Cell, Column, Table};

/// One row a case; `None` without a case that has them.
#[must_use]
pub fn intervals(analysis: &Analysis) -> Option<Table> {
    let unit = effect_unit(analysis);
    let rows: Vec<Vec<Cell>> = analysis
        .comparisons
        .iter()
        .filter_map(|one| Some((one, one.secondary?)))
        .map(|(one, other)| {
            let cell = |interval: Option<Interval>| match interval {
                Some(interval) => interval_cell(one, &interval),
                None => Cell::AbsentInterval,
            };
            vec![
                Cell::Text(one.label()),
                interval_cell(one, &one.decision),
                interval_cell(one, &one.percentile),
                cell(one.exact),
                interval_cell(one, &one.expanded),
                interval_cell(one, &one.delta_t),
                cell(other.fieller),
                cell(other.geometric),
                cell(other.bca),
            ]
        })
        .collect();
    let column = |name: &str, header: &str| Column::interval(name, header).in_unit(unit);
    (!rows.is_empty()).then(|| Table {
        name: "intervals".into(),
        title: "95 % intervals of the effect by method".into(),
        note: "the decision interval is the hull of expanded and t; none of the others decides"
            .into(),
        columns: vec![
            Column::left("case", "case"),
            column("decision95", "decision"),
            column("percentile95", "percentile"),
            column("exact95", "all resamples"),
            column("expanded95", "expanded"),
            column("delta_t95", "t"),
            column("fieller95", "Fieller"),
            column("geometric95", "t, geometric ratio"),
            column("bca95", "BCa"),
        ],
        rows,
    })
}
