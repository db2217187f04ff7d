//! What all cases say together, and what equal arms say of the method.

use wiretrial_contract::analysis::{Analysis, Comparison};

use super::order::effect_unit;
use super::{Cell, Column, Table, Tone, effect_cell, interval_cell};

/// The family as one row; `None` with a single case.
#[must_use]
pub fn family(analysis: &Analysis) -> Option<Table> {
    let family = analysis.family?;
    Some(Table {
        name: "family".into(),
        title: "all cases together".into(),
        note: "sides of the estimates, whatever the verdicts".into(),
        columns: vec![
            Column::right("cases", "cases"),
            Column::right("improved", "on the better side"),
            Column::right("regressed", "on the worse side"),
            Column::right("sign_p", "sign test p"),
            Column::left("none_worse_than_margin", "no case worse by the margin"),
            Column::right("smallest_randomization_p", "smallest randomization p"),
        ],
        rows: vec![vec![
            Cell::Count(family.cases.into()),
            Cell::Count(family.improved.into()),
            Cell::Count(family.regressed.into()),
            family.sign_p.map_or(Cell::Absent, Cell::P),
            match family.none_worse_than_margin {
                Some(true) => Cell::Verdict("shown".into(), Tone::Good),
                Some(false) => Cell::Verdict("not shown".into(), Tone::Open),
                None if analysis.conditions.margin.is_some() => {
                    Cell::Verdict("not decided".into(), Tone::Open)
                }
                None => Cell::Text("no margin declared".into()),
            },
            family
                .smallest_randomization_p
                .map_or(Cell::Absent, Cell::P),
        ]],
    })
}

/// The intervals that hold for all cases at once, one row a case; `None` with a single case.
#[must_use]
pub fn simultaneous(analysis: &Analysis) -> Option<Table> {
    let rows: Vec<Vec<Cell>> = analysis
        .comparisons
        .iter()
        .filter_map(|one: &Comparison| Some((one, one.simultaneous?)))
        .map(|(one, all)| {
            vec![
                Cell::Text(one.label()),
                effect_cell(one, one.estimate()),
                interval_cell(one, &one.decision),
                interval_cell(one, &all),
                one.p_delta.map_or(Cell::Absent, Cell::P),
                one.p_holm.map_or(Cell::Absent, Cell::P),
            ]
        })
        .collect();
    let unit = effect_unit(analysis);
    let interval = |name: &str, header: &str| Column::interval(name, header).in_unit(unit);
    (!rows.is_empty()).then(|| Table {
        name: "simultaneous".into(),
        title: "every case, adjusted for being many".into(),
        note: "Student's t, intervals by Bonferroni and p values by Holm".into(),
        columns: vec![
            Column::left("case", "case"),
            Column::right("effect", "effect").in_unit(unit),
            interval("decision95", "95 % decision interval, this case alone"),
            interval("simultaneous95", "95 % interval, all cases at once"),
            Column::right("t_p", "p alone"),
            Column::right("holm_p", "p over all cases"),
        ],
        rows,
    })
}

/// What equal arms say of the method, as one row; only of an A/A campaign.
#[must_use]
pub fn calibration(analysis: &Analysis) -> Option<Table> {
    let calibration = analysis.calibration?;
    Some(Table {
        name: "calibration".into(),
        title: "calibration".into(),
        note: "equal arms, of which 5 % are called different by chance".into(),
        columns: vec![
            Column::right("cases", "cases"),
            Column::right("excluded", "called different"),
            Column::right("limit", "rejected from"),
            Column::left("passed", "calibration"),
            Column::right("power_10", "found if 10 % were").in_unit("percent"),
            Column::right("power_20", "found if 20 % were").in_unit("percent"),
        ],
        rows: vec![vec![
            Cell::Count(calibration.cases.into()),
            Cell::Count(calibration.excluded.into()),
            Cell::Count(calibration.limit.into()),
            match calibration.passed {
                Some(true) => Cell::Verdict("not rejected".into(), Tone::Good),
                Some(false) => Cell::Verdict("rejected".into(), Tone::Bad),
                None => Cell::Text("too few cases to reject it".into()),
            },
            Cell::Share(calibration.power_10),
            Cell::Share(calibration.power_20),
        ]],
    })
}
