//! Golden report.md and tables/*.csv.

use wiretrial_reports::{csv, markdown};

use crate::fixture;
use crate::noise;

pub(crate) fn tables(analysis: &wiretrial_contract::analysis::Analysis) -> String {
    csv::files(analysis)
        .into_iter()
        .map(|(name, text)| format!("{name}\n{}\n", text.replace("\r\n", "\n")))
        .collect()
}

#[test]
fn demo_report() {
    insta::assert_snapshot!(markdown::report(&fixture::demo()));
}

#[test]
fn report_of_a_loss() {
    insta::assert_snapshot!(markdown::report(&fixture::eight()));
}

#[test]
fn report_without_margin() {
    insta::assert_snapshot!(markdown::report(&fixture::without_margin()));
}

#[test]
fn report_of_same_arms() {
    insta::assert_snapshot!(markdown::report(&fixture::same_arms()));
}

#[test]
fn report_of_a_file() {
    insta::assert_snapshot!(markdown::report(&fixture::file()));
}

#[test]
fn report_of_outside_programs() {
    insta::assert_snapshot!(markdown::report(&fixture::outside()));
}

#[test]
fn tables_of_a_file() {
    insta::assert_snapshot!(tables(&fixture::file()));
}

#[test]
fn tables_of_outside_programs() {
    insta::assert_snapshot!(tables(&fixture::outside()));
}

#[test]
fn demo_tables() {
    insta::assert_snapshot!(tables(&fixture::demo()));
}

#[test]
fn tables_of_an_invalid_campaign() {
    insta::assert_snapshot!(tables(&fixture::invalid()));
}

#[test]
fn every_row_of_every_file_has_the_fields_of_its_header() {
    let all = [
        fixture::demo(),
        noise::flagged(),
        noise::equal(),
        noise::differences(),
    ];
    for (name, text) in all.iter().flat_map(csv::files) {
        let fields: Vec<usize> = text
            .split_terminator("\r\n")
            .map(|line| line.split('"').step_by(2).collect::<String>())
            .map(|unquoted| unquoted.split(',').count())
            .collect();
        assert!(fields.len() > 1, "{name}");
        assert!(
            fields.iter().all(|count| *count == fields[0]),
            "{name}: {fields:?}"
        );
    }
}

#[test]
fn text_of_users_cannot_make_cells_or_tags() {
    let mut analysis = fixture::demo();
    analysis.question = "a | b <script>\n# c".into();
    let report = markdown::report(&analysis);
    assert!(report.contains("a \\| b &lt;script> # c"));
}
