//! The parts of a screen, from top to bottom.

use wiretrial_contract::analysis::{Analysis, Comparison, Verdict};
use wiretrial_contract::control::Isolation;
use wiretrial_contract::metric::{Direction, Metric};
use wiretrial_contract::plan::Arrangement;

use super::layout::{ends, grid, length, wrap};
use super::{Colour, Session, WIDTH, passes};
use crate::answer::mean_decimals;
use crate::flags;
use crate::number;
use crate::shorten::shortened;
use crate::table::{self, Cell};

/// What may be left out of the footer.
pub(super) struct Footer {
    pub(super) limit_lines: usize,
    pub(super) hint: bool,
}

/// What was run, where, and how much of it is there.
pub(super) fn header(analysis: &Analysis, session: &Session) -> Vec<String> {
    let conditions = &analysis.conditions;
    let plan: String = analysis.plan_sha256.chars().take(8).collect();
    let mut first = format!(
        "wiretrial {}  {}  plan {plan}  seed {}",
        conditions.version, analysis.campaign, conditions.seed
    );
    if conditions.attempt > 1 {
        first += &format!("  attempt {}", conditions.attempt);
    }
    let mut lines = wrap("", &first);
    lines.extend(question(&analysis.question));
    lines.extend(wrap("  ", &place(analysis, &session.notes)));
    if let Some(text) = table::compared(analysis) {
        lines.extend(wrap("  ", &text));
    }
    let mut done = format!(
        "  {} of {} {} done, {} voided, {}",
        number::count(conditions.pairs_done),
        number::count(conditions.pairs_total),
        match conditions.treatment.is_empty() {
            _ if !analysis.estimates.is_empty() => "rounds",
            true => "A/A pairs",
            false => "pairs",
        },
        number::count(conditions.pairs_voided),
        number::duration(session.elapsed_ns),
    );
    if table::is_live(analysis) {
        done += &format!(
            " ({} sending, {} not)",
            number::seconds(session.sending_ns),
            number::seconds(session.elapsed_ns.saturating_sub(session.sending_ns)),
        );
    }
    lines.push(done);
    lines
}

/// The effect on the primary metric in the worst `cases` cases, what its parts did in one, and what is
/// flagged.
pub(super) fn effect(
    analysis: &Analysis,
    cases: usize,
    split: bool,
    flags: bool,
    colour: Colour,
) -> Vec<String> {
    let primary = analysis.conditions.primary;
    if !analysis.estimates.is_empty() {
        return arms(analysis, 2 * cases, flags, colour);
    }
    let mut table = table::effect(analysis, primary).only(&[
        "case",
        "baseline",
        "candidate",
        "change",
        "difference",
        "decision95",
        "verdict",
    ]);
    let comparisons: Vec<&Comparison> = analysis
        .comparisons
        .iter()
        .filter(|comparison| comparison.metric == primary)
        .collect();
    let shown = worst(&comparisons, cases);
    table.rows = shown.iter().map(|at| table.rows[*at].clone()).collect();
    let rows = grid(&table, Colour::Never);
    let width = rows.iter().map(|row| length(row)).max().unwrap_or(0);
    let mut lines = vec![ends(&table.title, &table.note, width.min(WIDTH))];
    lines.extend(grid(&table, colour));
    if comparisons.len() > shown.len() {
        lines.push(format!(
            "{} more: report.md",
            comparisons.len() - shown.len()
        ));
    }
    if split && let Some(text) = parts(analysis, &comparisons, &shown) {
        lines.extend(wrap("          ", &text));
    }
    lines.extend(flagged(analysis).filter(|_| flags));
    lines
}

/// The first `most` arms of a table, and what is flagged.
fn arms(analysis: &Analysis, most: usize, flags: bool, colour: Colour) -> Vec<String> {
    let mut table = table::arms(analysis, analysis.conditions.primary).only(&[
        "case",
        "arm",
        "median",
        "median95",
        "change",
        "difference",
        "decision95",
        "verdict",
    ]);
    let more = table.rows.len().saturating_sub(most);
    table.rows.truncate(most);
    let rows = grid(&table, Colour::Never);
    let width = rows.iter().map(|row| length(row)).max().unwrap_or(0);
    let mut lines = vec![ends(&table.title, &table.note, width.min(WIDTH))];
    lines.extend(grid(&table, colour));
    lines.extend((more > 0).then(|| format!("{more} more: report.md")));
    lines.extend(flagged(analysis).filter(|_| flags));
    lines
}

fn flagged(analysis: &Analysis) -> Option<String> {
    let label = "flagged   ";
    let text = flags::line(analysis, WIDTH - label.len())?;
    Some(format!("{label}{text}"))
}

/// Sent, seen and lost.
pub(super) fn packets(analysis: &Analysis, rows: usize, colour: Colour) -> Vec<String> {
    if analysis.loads.is_empty() {
        return Vec::new();
    }
    grid(&table::packets_in(analysis, rows), colour)
}

/// Gates, limits, class, evidence.
pub(super) fn footer(analysis: &Analysis, session: &Session, footer: &Footer) -> Vec<String> {
    let mut lines = wrap("gates     ", &gates(analysis));
    lines.extend(limits(analysis, footer.limit_lines));
    let conditions = &analysis.conditions;
    let mut class = analysis.class.name().to_owned();
    if !analysis.class_reasons.is_empty() {
        class += &format!(" ({})", analysis.class_reasons.join(", "));
    }
    lines.extend(wrap(
        "class     ",
        &format!(
            "{class}     host  {}",
            host(&conditions.host_class, &conditions.host)
        ),
    ));
    lines.extend(wrap("evidence  ", &session.evidence_path));
    if footer.hint {
        lines.push(
            "          open report.md there, or check everything again: wiretrial verify".into(),
        );
    }
    lines
}

/// The rows to show: all in their order, or the worst of more than `most`, worst first.
fn worst(comparisons: &[&Comparison], most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..comparisons.len()).collect();
    if order.len() > most {
        let better = |at: &usize| {
            let comparison = comparisons[*at];
            let effect = comparison.estimate().unwrap_or(f64::INFINITY);
            match comparison.direction {
                Direction::LowerIsBetter => -effect,
                Direction::HigherIsBetter => effect,
            }
        };
        order.sort_by(|a, b| {
            rank(comparisons[*a])
                .cmp(&rank(comparisons[*b]))
                .then(better(a).total_cmp(&better(b)))
        });
        order.truncate(most);
    }
    order
}

/// The worst verdict first.
const fn rank(comparison: &Comparison) -> u8 {
    match comparison.verdict {
        Some(Verdict::Invalid) => 0,
        Some(Verdict::AsymmetricFailures) => 1,
        Some(Verdict::RegressedWorthwhile) => 2,
        Some(Verdict::Regressed) => 3,
        Some(Verdict::NotComparable) => 4,
        Some(Verdict::Unstable) => 5,
        Some(Verdict::Incomplete) | None => 6,
        Some(Verdict::Inconclusive) => 7,
        Some(Verdict::Equivalent) => 8,
        Some(Verdict::Improved) => 9,
        Some(Verdict::ImprovedWorthwhile) => 10,
    }
}

/// What the capture process and the kernel's share did, in the last shown case that has both.
fn parts(analysis: &Analysis, primaries: &[&Comparison], shown: &[usize]) -> Option<String> {
    if analysis.conditions.primary != Metric::CaptureCostNsPerPacket {
        return None;
    }
    let means = |case: &str, metric: Metric| {
        let comparison = analysis
            .comparisons
            .iter()
            .find(|comparison| comparison.case == case && comparison.metric == metric)?;
        let digits = mean_decimals(comparison);
        Some(format!(
            "{} -> {}",
            number::decimal(comparison.mean_baseline?, digits),
            number::decimal(comparison.mean_candidate?, digits)
        ))
    };
    shown.iter().rev().find_map(|at| {
        let case = &primaries[*at].case;
        let kernel = match means(case, Metric::CaptureKernelNsPerPacket) {
            Some(kernel) => format!("kernel on the sender's CPU {kernel}"),
            None => format!(
                "kernel on the receiving CPU {}",
                means(case, Metric::ReceiveCpuNsPerPacket)?
            ),
        };
        Some(format!(
            "capture process {}, {kernel} ({case})",
            means(case, Metric::ProcessCpuNsPerPacket)?,
        ))
    })
}

/// The question in two lines at most.
fn question(text: &str) -> Vec<String> {
    let mut lines = wrap("  ", text);
    if lines.len() > 2 {
        lines.truncate(2);
        lines[1] += " ..";
        lines[1] = shortened(&lines[1], WIDTH);
    }
    lines
}

fn place(analysis: &Analysis, notes: &[String]) -> String {
    let conditions = &analysis.conditions;
    if !table::is_live(analysis) {
        return passes::place(analysis, notes);
    }
    let interface = match conditions.topology.as_str() {
        "loopback" => "lo",
        other => other,
    };
    let network = match conditions.isolation {
        Isolation::Sandbox if interface == "wire" => {
            "private networks joined by veth, no root".into()
        }
        Isolation::Netns if interface == "wire" => {
            "private networks joined by veth, as root".into()
        }
        Isolation::Sandbox => format!("private network on {interface}, no root"),
        Isolation::Netns => format!("private network on {interface}, as root"),
        Isolation::None => format!("the host's own network, {interface}"),
    };
    let cpus: Vec<String> = conditions
        .sender_cpus
        .iter()
        .map(ToString::to_string)
        .collect();
    let pinned = match (cpus.len(), conditions.receiver_cpu) {
        (0, None) => "processes not pinned".into(),
        (0, Some(cpu)) => format!("generator not pinned, receivers CPU {cpu}"),
        (_, None) => format!("generator CPU {}, receivers not pinned", cpus.join(",")),
        (_, Some(cpu)) => format!("generator CPU {}, receivers CPU {cpu}", cpus.join(",")),
    };
    let arms = match conditions.arrangement {
        Arrangement::Interleaved => format!("{} arms alive", table::both_or_all(analysis)),
        Arrangement::Sequential => "one arm after the other".into(),
    };
    let mut last = vec![arms];
    last.extend(notes.iter().cloned());
    format!("{network} | {pinned} | {}", last.join(", "))
}

/// How the checks of guards are named; a guard that did not pass voided its pair and broke nothing.
const GUARD: &str = "guard ";

fn gates(analysis: &Analysis) -> String {
    let passed = analysis.gates.iter().filter(|gate| gate.passed).count();
    let named: Vec<String> = analysis
        .gates
        .iter()
        .map(|gate| {
            if gate.passed {
                gate.reason.clone()
            } else {
                format!("{} FAILED, {}", gate.name.replace('_', " "), gate.reason)
            }
        })
        .collect();
    let checks = analysis.validity.len();
    let failed = |guards: bool| -> Vec<&str> {
        let checks = analysis.validity.iter().filter(|check| !check.holds);
        let names = checks.map(|check| check.name.as_str());
        names
            .filter(|name| name.starts_with(GUARD) == guards)
            .collect()
    };
    let (broken, voided_by) = (failed(false), failed(true));
    let checks = if broken.is_empty() {
        let holding = checks - voided_by.len();
        format!("{holding} of {holding} checks hold")
    } else {
        format!("BROKEN: {}", broken.join(", "))
    };
    let gates = if named.is_empty() {
        "none".into()
    } else {
        format!(
            "{passed} of {} pass: {}",
            analysis.gates.len(),
            named.join("; ")
        )
    };
    let voids = match analysis.conditions.pairs_voided {
        1 => "1 void".into(),
        n => format!("{} voids", number::count(n)),
    };
    let by: Vec<&str> = voided_by
        .iter()
        .map(|name| name.trim_start_matches(GUARD))
        .collect();
    let voids = if by.is_empty() {
        voids
    } else {
        format!("{voids} by {}", by.join(", "))
    };
    format!("{gates}    guards: {voids}; {checks}")
}

/// The limits in at most `most` lines; those that do not fit are counted.
fn limits(analysis: &Analysis, most: usize) -> Vec<String> {
    let rows = table::limits(analysis).rows;
    let texts: Vec<String> = rows
        .iter()
        .enumerate()
        .map(|(index, row)| {
            let text = row.get(1).map(Cell::text).unwrap_or_default();
            match row.first() {
                Some(word) if index == 0 => format!("{text} (explain {})", word.text()),
                _ => text,
            }
        })
        .collect();
    if texts.is_empty() {
        return Vec::new();
    }
    let label = "limits    ";
    let all = texts.len();
    (1..=all)
        .rev()
        .map(|kept| {
            let mut text = texts[..kept].join("; ");
            if kept < all {
                text += &format!("; {} more: report.md", all - kept);
            }
            wrap(label, &text)
        })
        .find(|lines| lines.len() <= most)
        .unwrap_or_else(|| wrap(label, &format!("{all}: report.md")))
}

/// Class and words of the host, without saying the words twice.
fn host(class: &str, words: &str) -> String {
    if words.is_empty() || class.contains(words) {
        class.to_owned()
    } else {
        format!("{class}: {words}")
    }
}
