//! The reports of an analysis as files of the evidence folder.

use wiretrial_contract::analysis::Analysis;
use wiretrial_reports::{csv, markdown};

/// Names relative to the folder, and contents.
#[must_use]
pub fn render(analysis: &Analysis) -> Vec<(String, String)> {
    let tables = csv::files(analysis)
        .into_iter()
        .map(|(name, text)| (format!("tables/{name}"), text));
    std::iter::once(("report.md".to_owned(), markdown::report(analysis)))
        .chain(tables)
        .collect()
}
