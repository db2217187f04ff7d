//! `report.md`: the answer, how it was made, every table, what it does not establish, and the command
//! that checks it. No time of day and no path, so that the same evidence gives the same bytes.

use wiretrial_contract::analysis::Analysis;
use wiretrial_contract::plan::{Arrangement, Workload};

use crate::answer;
use crate::flags;
use crate::number;
use crate::table::{self, Align, Table};

/// The whole report.
#[must_use]
pub fn report(analysis: &Analysis) -> String {
    let mut out = String::new();
    let mut push = |text: &str| {
        out.push_str(text);
        out.push_str("\n\n");
    };
    push(&format!("# {}", escape(&analysis.campaign)));
    push(&escape(&analysis.question));
    push(&format!(
        "**{}**: {}.",
        analysis.answer.word,
        escape(&analysis.answer.text)
    ));
    push("## Conditions");
    push(&conditions(analysis));
    let primary = table::outcome(analysis, analysis.conditions.primary);
    push("## Effect");
    push(&captioned(&primary));
    push(&statements(analysis));
    if table::is_live(analysis) {
        push("## Loads and packets");
        push(&captioned(&table::packets(analysis)));
        push(&captioned(&table::loads(analysis)));
    } else {
        push("## Work");
        push(&captioned(&table::passes(analysis)));
    }
    if let Some(table) = table::intervals(analysis) {
        push("## Intervals by method");
        push(&captioned(&table));
    }
    if let Some(text) = order_and_time(analysis) {
        push("## Order and time");
        push(&text);
    }
    for (heading, table) in [
        ("## Voided pairs", table::with_voided(analysis)),
        ("## Floors", table::floors(analysis)),
        ("## All cases together", table::family(analysis)),
        ("", table::simultaneous(analysis)),
        ("## Calibration", table::calibration(analysis)),
    ] {
        let Some(table) = table else {
            continue;
        };
        if !heading.is_empty() {
            push(heading);
        }
        push(&captioned(&table));
    }
    if let Some(text) = calibration(analysis) {
        push(&text);
    }
    push("## Gates");
    push(&render(&table::gates(analysis)));
    push("## Identities and guards");
    push(&captioned(&table::validity(analysis)));
    if !analysis.conditions.arms.is_empty() {
        push("## What was measured");
        push(&render(&table::identities(analysis)));
    }
    push("## All costs");
    push(&captioned(&table::costs(analysis)));
    let others = table::other_metrics(analysis);
    if !others.is_empty() {
        push("## Other metrics, for information");
        push("They decide nothing, and their intervals are not adjusted for being many.");
        for metric in others {
            push(&captioned(&table::outcome(analysis, metric)));
            let left_out = metric.excludes_in(analysis.conditions.workload);
            push(&format!("It leaves out {left_out}."));
        }
    }
    push("## What this does not establish");
    push(&limits(analysis));
    push("## Class");
    push(&class(analysis));
    push("## Check");
    push("Everything above is computed from the rows. In the evidence folder:");
    push("```\nwiretrial verify\n```");
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// One table in Markdown's pipe form.
#[must_use]
pub fn render(table: &Table) -> String {
    if table.rows.is_empty() {
        return "None.".into();
    }
    let mut lines = vec![
        line(table.columns.iter().map(|column| escape(&column.header))),
        line(table.columns.iter().map(|column| {
            match column.align {
                Align::Left => "---",
                Align::Right => "---:",
            }
            .to_owned()
        })),
    ];
    lines.extend(
        table
            .rows
            .iter()
            .map(|row| line(row.iter().map(|cell| escape(&cell.text())))),
    );
    lines.join("\n")
}

fn captioned(table: &Table) -> String {
    let note = if table.note.is_empty() {
        String::new()
    } else {
        format!("; {}", table.note)
    };
    format!("{}{}:\n\n{}", table.title, escape(&note), render(table))
}

/// What order and time did, what is flagged, and what these tests cannot show; `None` where nothing of
/// it was looked at.
fn order_and_time(analysis: &Analysis) -> Option<String> {
    let tables = [table::order(analysis), table::time(analysis)];
    let tables: Vec<String> = tables.iter().flatten().map(captioned).collect();
    if tables.is_empty() {
        return None;
    }
    let mut parts = tables;
    let flagged = flags::sentences(analysis);
    parts.push(if flagged.is_empty() {
        "Nothing is flagged. With a dozen pairs that proves little: of an effect of the place in a pair \
         as large as 0.9 deviations of the pairs one in five is missed."
            .into()
    } else {
        let lines: Vec<String> = flagged.iter().map(|one| format!("- {}", escape(one))).collect();
        format!("Flagged:\n\n{}", lines.join("\n"))
    });
    parts.extend(flags::cannot_reach(analysis));
    Some(parts.join("\n\n"))
}

/// What a calibration can and cannot say.
fn calibration(analysis: &Analysis) -> Option<String> {
    let calibration = analysis.calibration?;
    Some(match calibration.passed {
        None => "So few cases cannot reject the method, and do not certify it.".into(),
        Some(_) => format!(
            "A method that calls 10 % of equal arms different is rejected by so many cases with \
             probability {:.0} %, one that calls 20 % so with {:.0} %.",
            calibration.power_10 * 100.0,
            calibration.power_20 * 100.0
        ),
    })
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
}

fn conditions(analysis: &Analysis) -> String {
    let conditions = &analysis.conditions;
    let arrangement = match (conditions.workload, conditions.arrangement) {
        (Workload::Live, Arrangement::Interleaved) => {
            let arms = table::both_or_all(analysis);
            format!("interleaved: {arms} arms alive, one generator alternates between them")
        }
        (_, Arrangement::Interleaved) => "interleaved: passes of the arms alternate".into(),
        (_, Arrangement::Sequential) => "sequential: one arm after the other".into(),
    };
    let margin = conditions.margin.map_or(
        "none declared, so nothing can be called the same or worthwhile".into(),
        |margin| margin_text(analysis, margin),
    );
    let senders: Vec<String> = conditions
        .sender_cpus
        .iter()
        .map(ToString::to_string)
        .collect();
    let senders = if senders.is_empty() {
        "not pinned".into()
    } else {
        format!("CPU {}", senders.join(", "))
    };
    let receiver = conditions
        .receiver_cpu
        .map_or("not pinned".into(), |cpu| format!("CPU {cpu}"));
    let mut items = vec![
        ("wiretrial", conditions.version.clone()),
        ("plan", format!("`{}`", analysis.plan_sha256)),
        ("rows", format!("`{}`", analysis.rows_sha256)),
        ("seed", format!("`{}`", conditions.seed)),
        (
            "attempt at this question",
            number::count(conditions.attempt.into()),
        ),
        (
            "pairs",
            format!(
                "{} of {} done, {} voided, {} planned per case",
                number::count(conditions.pairs_done),
                number::count(conditions.pairs_total),
                number::count(conditions.pairs_voided),
                number::count(conditions.pairs_planned.into())
            ),
        ),
        (
            "primary metric",
            format!(
                "`{}`; it leaves out {}",
                conditions.primary,
                conditions.primary.excludes_in(conditions.workload)
            ),
        ),
        ("margin", margin),
        ("arrangement", arrangement),
        (
            "the gate no_regression fails on",
            conditions.fail_on.name().into(),
        ),
    ];
    if conditions.require_conclusion {
        items.push(("a case that is not decided", "exit code 4".into()));
    }
    if table::is_live(analysis) {
        items.extend([
            ("topology", escape(&conditions.topology)),
            ("isolation", conditions.isolation.to_string()),
            (
                "placement",
                format!("generator {senders}, receivers {receiver}"),
            ),
        ]);
    } else {
        items.push(("placement", format!("programs {receiver}")));
    }
    items.push((
        "host",
        escape(&format!("{}; {}", conditions.host_class, conditions.host)),
    ));
    if conditions.treatment.is_empty() {
        items.push((
            "what differs between the arms",
            "nothing: both arms are the same on purpose (A/A)".into(),
        ));
    }
    let mut lines: Vec<String> = items
        .into_iter()
        .map(|(name, value)| format!("- {name}: {value}"))
        .collect();
    let given = if table::is_live(analysis) {
        "how it was sent"
    } else {
        "what was run"
    };
    let plans = conditions.earlier_plans.iter();
    let plans: Vec<String> = plans.map(|sha256| format!("`{sha256}`")).collect();
    for (name, values) in [
        ("earlier plans of this question, oldest first", &plans),
        ("what differs between the arms", &conditions.treatment),
        (given, &conditions.sending),
    ] {
        if !values.is_empty() {
            lines.push(format!("- {name}:"));
            lines.extend(values.iter().map(|value| format!("  - {}", escape(value))));
        }
    }
    lines.join("\n")
}

/// The margin in percent, or in the unit of a difference.
fn margin_text(analysis: &Analysis, margin: f64) -> String {
    let mut primary = analysis.comparisons.iter().filter(|one| one.primary);
    match primary.next() {
        Some(one) => answer::margin_text(margin, one.scale, &one.unit),
        None => number::margin(margin),
    }
}

fn statements(analysis: &Analysis) -> String {
    let margin = analysis.conditions.margin;
    let statement = if analysis.calibration.is_some() {
        answer::statement_of_equal_arms
    } else {
        answer::statement
    };
    let lines: Vec<String> = analysis
        .comparisons
        .iter()
        .filter(|comparison| comparison.primary)
        .map(|comparison| format!("- {}", escape(&statement(comparison, margin))))
        .collect();
    if lines.is_empty() {
        return "No case was compared.".into();
    }
    lines.join("\n")
}

fn limits(analysis: &Analysis) -> String {
    if analysis.limitations.is_empty() {
        return "No limit was recorded.".into();
    }
    analysis
        .limitations
        .iter()
        .map(|limit| {
            format!(
                "- {} (`wiretrial explain {}`)",
                escape(&limit.text),
                limit.word
            )
        })
        .collect::<Vec<_>>()
        .join("\n")
}

fn class(analysis: &Analysis) -> String {
    let name = analysis.class.name();
    if analysis.class_reasons.is_empty() {
        format!("{name}: sealed plan, complete, enough pairs.")
    } else {
        format!(
            "{name}, because: {}.",
            escape(&analysis.class_reasons.join("; "))
        )
    }
}

/// Text that Markdown takes as it is: no table bars, tags or line ends.
pub(crate) fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace('<', "&lt;")
        .replace(['\n', '\r'], " ")
}
