//! What the evidence does not establish.

use wiretrial_contract::analysis::Analysis;

use super::{Cell, Column, Table};

/// The limits as values: a word that `wiretrial explain` knows and a clause.
#[must_use]
pub fn limits(analysis: &Analysis) -> Table {
    Table {
        name: "limits".into(),
        title: "what this does not establish".into(),
        note: String::new(),
        columns: vec![Column::left("word", "word"), Column::left("limit", "limit")],
        rows: analysis
            .limitations
            .iter()
            .map(|limit| {
                vec![
                    Cell::Text(limit.word.clone()),
                    Cell::Text(limit.text.clone()),
                ]
            })
            .collect(),
    }
}
