//! Tables as CSV, RFC 4180: comma, CRLF, quotes doubled. Numbers are plain and unrounded with the
//! unit in the column's name, an interval is two columns, unknown is empty.

use wiretrial_contract::analysis::{Analysis, round12};
use wiretrial_contract::metric::Scale;
use wiretrial_contract::units::loss_ratio;

use crate::table::{self, Cell, Table};

/// The files of `tables/`, by name, in a fixed order.
#[must_use]
pub fn files(analysis: &Analysis) -> Vec<(String, String)> {
    table::all(analysis)
        .iter()
        .map(|table| (format!("{}.csv", table.name), render(table)))
        .collect()
}

/// One table with its header line.
#[must_use]
pub fn render(table: &Table) -> String {
    let mut out = String::new();
    let names: Vec<String> = table
        .columns
        .iter()
        .flat_map(table::Column::csv_names)
        .collect();
    line(&mut out, &names);
    for row in &table.rows {
        let fields: Vec<String> = row.iter().flat_map(fields).collect();
        line(&mut out, &fields);
    }
    out
}

fn fields(cell: &Cell) -> Vec<String> {
    let percent = |ratio: f64| round12(ratio * 100.0).to_string();
    match cell {
        Cell::Unknown | Cell::Absent => vec![String::new()],
        Cell::AbsentInterval => vec![String::new(), String::new()],
        Cell::Size { value, scale } | Cell::Spread { value, scale } => match scale {
            Scale::Ratio => vec![percent(*value)],
            Scale::Difference => vec![round12(*value).to_string()],
        },
        Cell::Text(text) | Cell::Verdict(text, _) => vec![text.clone()],
        Cell::Count(value) => vec![value.to_string()],
        Cell::Signed(value) => vec![value.to_string()],
        Cell::Number { value, .. } | Cell::Difference { value, .. } | Cell::P(value) => {
            vec![round12(*value).to_string()]
        }
        Cell::Span { lo, hi, .. } | Cell::Between { lo, hi, .. } => [lo, hi]
            .map(|end| end.map(|end| round12(end).to_string()).unwrap_or_default())
            .to_vec(),
        Cell::Percent(ratio) | Cell::Bound(ratio) | Cell::Share(ratio) => vec![percent(*ratio)],
        Cell::Change { change, .. } => vec![percent(*change)],
        Cell::Interval { lo, hi, .. } => [lo, hi]
            .map(|end| end.map(percent).unwrap_or_default())
            .to_vec(),
        Cell::Range { most, .. } => vec![most.to_string()],
        Cell::Loss { lost, accepted, .. } => {
            vec![
                loss_ratio(*lost, *accepted)
                    .map(percent)
                    .unwrap_or_default(),
            ]
        }
    }
}

fn line(out: &mut String, fields: &[String]) {
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        if field.contains([',', '"', '\r', '\n']) {
            out.push('"');
            out.push_str(&field.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(field);
        }
    }
    out.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Align, Column};

    #[test]
    fn fields_are_quoted_as_rfc_4180_says() {
        let column = |name: &str, interval| Column {
            name: name.into(),
            unit: if interval { "percent" } else { "" },
            header: String::new(),
            short: String::new(),
            align: Align::Left,
            interval,
        };
        let table = Table {
            name: "t".into(),
            title: String::new(),
            note: String::new(),
            columns: vec![column("words", false), column("change", true)],
            rows: vec![
                vec![
                    Cell::Text("a \"b\", c".into()),
                    Cell::Interval {
                        lo: Some(-0.5),
                        hi: None,
                        decimals: 0,
                    },
                ],
                vec![
                    Cell::Unknown,
                    Cell::Interval {
                        lo: None,
                        hi: None,
                        decimals: 0,
                    },
                ],
            ],
        };
        assert_eq!(
            render(&table),
            "words,change_lo_percent,change_hi_percent\r\n\"a \"\"b\"\", c\",-50,\r\n,,\r\n"
        );
    }
}
