//! Identities, guards and gates, each with what it saw.

use wiretrial_contract::analysis::Analysis;

use super::{Cell, Column, Table, Tone};

/// Identities and guards with both sides' numbers, one row a check.
#[must_use]
pub fn validity(analysis: &Analysis) -> Table {
    Table {
        name: "validity".into(),
        title: "identities and guards".into(),
        note: "each in every trial of the campaign where it applies".into(),
        columns: vec![
            Column::left("check", "check"),
            Column::right("left", "left side"),
            Column::right("right", "right side"),
            Column::right("trials", "trials"),
            Column::left("holds", "holds"),
        ],
        rows: analysis
            .validity
            .iter()
            .map(|check| {
                vec![
                    Cell::Text(check.name.clone()),
                    Cell::Text(check.left.clone()),
                    Cell::Text(check.right.clone()),
                    Cell::Count(check.trials),
                    yes(check.holds),
                ]
            })
            .collect(),
    }
}

/// The gates, one row each.
#[must_use]
pub fn gates(analysis: &Analysis) -> Table {
    Table {
        name: "gates".into(),
        title: "gates".into(),
        note: String::new(),
        columns: vec![
            Column::left("gate", "gate"),
            Column::left("passed", "passed"),
            Column::left("reason", "reason"),
        ],
        rows: analysis
            .gates
            .iter()
            .map(|gate| {
                vec![
                    Cell::Text(gate.name.clone()),
                    yes(gate.passed),
                    Cell::Text(gate.reason.clone()),
                ]
            })
            .collect(),
    }
}

fn yes(holds: bool) -> Cell {
    if holds {
        Cell::Verdict("yes".into(), Tone::Good)
    } else {
        Cell::Verdict("no".into(), Tone::Bad)
    }
}
