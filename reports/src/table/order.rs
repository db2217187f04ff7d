//! What order and time did to the primary metric, and the same pairs seen in other ways.

use wiretrial_contract::analysis::{Analysis, Comparison, Diagnostics, Variant};
use wiretrial_contract::metric::Scale;

use super::effect::csv_unit;
use super::{Cell, Column, Table, effect_cell, interval_cell};
use crate::flags;

/// Launch order, one row a case: what it did, the effect without it, and tests that need no normal
/// noise. `None` where no case has anything of it.
#[must_use]
pub fn order(analysis: &Analysis) -> Option<Table> {
    let unit = effect_unit(analysis);
    let effect = |name: &str, header: &str| Column::right(name, header).in_unit(unit);
    table(
        analysis,
        "order",
        "launch order, and tests without a model of the noise",
        vec![
            Column::left("case", "case"),
            effect("position_effect", "position effect"),
            Column::right("position_p", "p"),
            effect("adjusted", "adjusted for order"),
            Column::interval("adjusted95", "95 % interval").in_unit(unit),
            Column::left("randomization_p", "randomization p"),
            Column::right("better_pairs", "better pairs"),
            Column::right("sign_p", "sign test p"),
            Column::right("t_p", "t test p"),
            Column::right("holm_p", "over all cases"),
        ],
        |one, found| {
            vec![
                effect_cell(one, natural(one, found.position_effect)),
                p(found.p),
                effect_cell(one, one.order_adjusted.and_then(estimate)),
                interval_cell(
                    one,
                    &one.order_adjusted
                        .map(|adjusted| adjusted.interval)
                        .unwrap_or_default(),
                ),
                one.randomization_p
                    .map_or(Cell::Absent, |p| Cell::Text(format!("{}/{}", p.num, p.den))),
                one.faster_pairs
                    .map_or(Cell::Unknown, |pairs| Cell::Count(pairs.into())),
                p(one.sign_p),
                p(one.p_delta),
                p(one.p_holm),
            ]
        },
    )
}

/// Time, one row a case: whether the effect or the level of pairs followed it. `None` where no case has
/// anything of it.
#[must_use]
pub fn time(analysis: &Analysis) -> Option<Table> {
    let unit = effect_unit(analysis);
    let effect = |name: &str, header: &str| Column::right(name, header).in_unit(unit);
    table(
        analysis,
        "time",
        "time: rank correlation of pairs with it, and the likeliest change of level",
        vec![
            Column::left("case", "case"),
            Column::right("effect_spearman", "effect with time"),
            Column::right("effect_p", "p"),
            Column::right("level_spearman", "level with time"),
            Column::right("level_p", "p"),
            Column::right("lag1", "lag 1"),
            Column::right("von_neumann", "von Neumann"),
            Column::right("pairs_before", "pairs before the change"),
            effect("shift", "its size"),
            Column::right("change_p", "p"),
            Column::left("outlying", "pairs far from the others, kept"),
        ],
        |one, found| {
            let number = |value: Option<f64>| {
                value.map_or(Cell::Unknown, |value| Cell::Number { value, decimals: 2 })
            };
            let shift = found.cusum;
            vec![
                number(found.spearman),
                p(found.spearman_p),
                number(found.level_spearman),
                p(found.level_spearman_p),
                number(found.lag1),
                number(found.von_neumann),
                shift.map_or(Cell::Absent, |shift| Cell::Count(shift.before.into())),
                effect_cell(one, natural(one, shift.map(|shift| shift.shift))),
                p(shift.map(|shift| shift.p)),
                if one.outlying.is_empty() {
                    Cell::Absent
                } else {
                    Cell::Text(flags::pair_numbers(&one.outlying))
                },
            ]
        },
    )
}

/// The effect with the voided pairs that were measured, one row a case that has such; `None` without.
#[must_use]
pub fn with_voided(analysis: &Analysis) -> Option<Table> {
    let unit = effect_unit(analysis);
    let effect = |name: &str, header: &str| Column::right(name, header).in_unit(unit);
    let rows: Vec<Vec<Cell>> = analysis
        .comparisons
        .iter()
        .filter_map(|one| Some((one, one.with_voided?)))
        .map(|(one, all)| {
            vec![
                Cell::Text(one.label()),
                Cell::Count(one.pairs.into()),
                effect_cell(one, one.estimate()),
                interval_cell(one, &one.decision),
                Cell::Count(all.pairs.into()),
                effect_cell(one, estimate(all)),
                interval_cell(one, &all.interval),
            ]
        })
        .collect();
    let interval = |name: &str| Column::interval(name, "95 % decision interval").in_unit(unit);
    (!rows.is_empty()).then(|| Table {
        name: "with-voided".into(),
        title: "with the voided pairs that were measured".into(),
        note: "they were voided for what their values cannot show, and count nowhere else".into(),
        columns: vec![
            Column::left("case", "case"),
            Column::right("pairs", "pairs that count"),
            effect("effect", "effect"),
            interval("decision95"),
            Column::right("all_pairs", "with voided"),
            effect("all_effect", "effect"),
            interval("all_decision95"),
        ],
        rows,
    })
}

/// Unit suffix of effects on the primary metric in CSV.
pub(super) fn effect_unit(analysis: &Analysis) -> &'static str {
    let mut comparisons = analysis.comparisons.iter().filter(|one| one.primary);
    match comparisons.next().map(|one| one.scale).unwrap_or_default() {
        Scale::Ratio => "percent",
        Scale::Difference => csv_unit(analysis.conditions.primary),
    }
}

/// The rows of the cases with diagnostics, each beginning with the name of its case.
fn table(
    analysis: &Analysis,
    name: &str,
    title: &str,
    columns: Vec<Column>,
    cells: impl Fn(&Comparison, &Diagnostics) -> Vec<Cell>,
) -> Option<Table> {
    let rows: Vec<Vec<Cell>> = analysis
        .comparisons
        .iter()
        .filter(|one| one.primary)
        .filter_map(|one| Some((one, one.diagnostics.as_ref()?)))
        .map(|(one, found)| {
            let case = Cell::Text(one.label());
            std::iter::once(case).chain(cells(one, found)).collect()
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        name: name.into(),
        title: title.into(),
        note: "what is flagged has a p below 0.01".into(),
        columns,
        rows,
    })
}

/// An effect of pairs on the scale of its comparison: the ratio that a log ratio stands for.
fn natural(one: &Comparison, effect: Option<f64>) -> Option<f64> {
    effect.map(|effect| match one.scale {
        Scale::Ratio => effect.exp(),
        Scale::Difference => effect,
    })
}

fn estimate(variant: Variant) -> Option<f64> {
    variant.ratio.or(variant.difference)
}

fn p(p: Option<f64>) -> Cell {
    p.map_or(Cell::Absent, Cell::P)
}
