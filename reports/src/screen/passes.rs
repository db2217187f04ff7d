//! The parts of a screen where programs ran over an input and no packets were sent.

use wiretrial_contract::analysis::{Analysis, WorkProof};
use wiretrial_contract::plan::{Arrangement, Workload};

use super::Colour;
use super::layout::grid;
use crate::table;

/// What the passes did, and what starting them takes: at most `most` cases by themselves, those with
/// wrong work first.
pub(super) fn work(analysis: &Analysis, most: usize, colour: Colour) -> Vec<String> {
    let mut cases: Vec<&str> = Vec::new();
    for work in &analysis.passes {
        if !cases.contains(&work.case.as_str()) {
            cases.push(&work.case);
        }
    }
    let all = cases.len();
    let wrong = |case: &str| {
        let mut passes = analysis.passes.iter();
        passes.any(|work| work.case == case && work.proof == WorkProof::Wrong)
    };
    if all > most {
        cases.sort_by_key(|case| !wrong(case));
        cases.truncate(most);
    }
    let mut table = table::passes(analysis).only(&[
        "case",
        "arm",
        "passes",
        "units",
        "cpu",
        "start_up_cpu",
        "start_up_share",
        "work",
    ]);
    let rows = table.rows.iter().zip(&analysis.passes);
    table.rows = rows
        .filter(|(_, work)| cases.contains(&work.case.as_str()))
        .map(|(row, _)| row.clone())
        .collect();
    let mut lines = grid(&table, colour);
    if all > cases.len() {
        lines.push(format!("{} more: report.md", all - cases.len()));
    }
    lines
}

/// Cases in which an arm did wrong work.
pub(super) fn wrong_cases(analysis: &Analysis) -> usize {
    let mut cases: Vec<&str> = analysis
        .passes
        .iter()
        .filter(|work| work.proof == WorkProof::Wrong)
        .map(|work| work.case.as_str())
        .collect();
    cases.dedup();
    cases.len()
}

/// What ran, where and in which order.
pub(super) fn place(analysis: &Analysis, notes: &[String]) -> String {
    let conditions = &analysis.conditions;
    let what = match conditions.workload {
        Workload::Command => "commands",
        _ => "programs read files",
    };
    let pinned = conditions
        .receiver_cpu
        .map_or("not pinned".into(), |cpu| format!("on CPU {cpu}"));
    let arms = match conditions.arrangement {
        Arrangement::Interleaved => "passes of both arms alternate",
        Arrangement::Sequential => "one arm after the other",
    };
    let mut last = vec![arms.to_owned()];
    last.extend(notes.iter().cloned());
    format!("{what} | {pinned} | {}", last.join(", "))
}
