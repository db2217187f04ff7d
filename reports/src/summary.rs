//! The summary of a CI job, in GitHub-flavoured Markdown: the answer first, then the tables.
//!
//! It is at most [`MOST_BYTES`] long. What does not fit leaves as rows, and the number of rows that
//! left is said below their table.

use wiretrial_contract::analysis::Analysis;

use crate::answer;
use crate::markdown::{escape, render};
use crate::table::{self, Table};

/// Bytes of a summary, at most: 60 KB. A step of GitHub Actions may have 1 MiB; other readers less.
pub const MOST_BYTES: usize = 60 * 1024;

/// The whole summary. The second line says when there is no A/A floor for the host, or that the margin
/// is under it.
#[must_use]
pub fn summary(analysis: &Analysis) -> String {
    let mut rows = tables(analysis)
        .iter()
        .map(|(_, table)| table.rows.len())
        .max()
        .unwrap_or(0);
    let mut text = render_with(analysis, rows);
    while text.len() > MOST_BYTES && rows > 0 {
        rows = rows * 3 / 4;
        text = render_with(analysis, rows);
    }
    cut(text)
}

/// The summary of a campaign that could not be run.
#[must_use]
pub fn not_run(sentence: &str) -> String {
    cut(format!("**not run**: {}\n", escape(sentence)))
}

/// The summary with at most `most` rows in each table.
fn render_with(analysis: &Analysis, most: usize) -> String {
    let mut out = format!("**{}**", escape(&answer::sentence(&analysis.answer)));
    for text in floors(analysis) {
        // Two spaces: a line of its own in the same paragraph.
        out += "  \n";
        out += &escape(&text);
    }
    let mut push = |text: &str| {
        if !text.is_empty() {
            out.push_str("\n\n");
            out.push_str(text);
        }
    };
    push(&escape(&analysis.question));
    if let Some(compared) = table::compared(analysis) {
        push(&format!("`{}`", compared.replace('`', "'")));
    }
    for (title, table) in tables(analysis) {
        push(&format!("#### {title}"));
        push(&trimmed(&table, most));
    }
    push(&format!("Class: {}.", class(analysis)));
    push(&format!(
        "wiretrial {}, plan `{}`, host {}.",
        escape(&analysis.conditions.version),
        analysis.plan_sha256,
        escape(&analysis.conditions.host_class)
    ));
    out.push('\n');
    out
}

/// What is not known of the floor, and what cannot be seen below it.
fn floors(analysis: &Analysis) -> Vec<String> {
    let mut lines = Vec::new();
    let mut limits = analysis.limitations.iter();
    if let Some(limit) = limits.find(|limit| limit.word == "no_aa_floor") {
        // Where some cases have one the limit counts the others.
        let what = if limit.text.starts_with("no A/A floor in ") {
            limit.text.as_str()
        } else {
            "no A/A floor for this host class"
        };
        lines.push(format!(
            "There is {what}: how far equal arms come out apart here is not known."
        ));
    }
    if let Some(blind) = answer::cannot_see(analysis) {
        lines.push(format!("This runner {blind}."));
    }
    lines
}

fn tables(analysis: &Analysis) -> Vec<(String, Table)> {
    let effect = table::outcome(analysis, analysis.conditions.primary);
    let note = format!("{}; {}", effect.title, effect.note);
    let mut tables = vec![(note, effect)];
    if table::is_live(analysis) {
        let packets = table::packets(analysis);
        tables.push((packets.title.clone(), packets));
    } else {
        let passes = table::passes(analysis);
        tables.push((passes.title.clone(), passes));
    }
    for table in [table::gates(analysis), table::limits(analysis)] {
        tables.push((table.title.clone(), table));
    }
    tables
}

/// A table with at most `most` rows and the number of those that were cut.
fn trimmed(table: &Table, most: usize) -> String {
    let all = table.rows.len();
    if all <= most {
        return render(table);
    }
    let kept = Table {
        rows: table.rows[..most].to_vec(),
        ..table.clone()
    };
    let shown = if most == 0 {
        String::new()
    } else {
        format!("{}\n\n", render(&kept))
    };
    format!("{shown}{} more rows: report.md.", all - most)
}

fn class(analysis: &Analysis) -> String {
    let name = analysis.class.name();
    if analysis.class_reasons.is_empty() {
        name.into()
    } else {
        format!("{name} ({})", escape(&analysis.class_reasons.join("; ")))
    }
}

/// The last resort, for texts of the user's that are longer than a summary by themselves.
fn cut(mut text: String) -> String {
    const END: &str = "\n\nCut here: report.md has the rest.\n";
    if text.len() > MOST_BYTES {
        let mut end = MOST_BYTES - END.len();
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(END);
    }
    text
}
