//! What `run` and `report` print: at most 24 lines for six cases, at most 100 columns.
//!
//! The order is fixed: header, answer, effect, packets, gates, limits, class, evidence. When the lines
//! do not fit, what leaves first is what other lines imply: cases without loss share a packet row, then
//! the split of the cost, further limits, empty lines, what is flagged and the hint at the end go; a
//! long answer may cost rows of the tables, never words of its own. More than six cases show the six
//! worst and a line with the number of the others.

mod layout;
mod passes;
mod sections;

use wiretrial_contract::analysis::Analysis;

use crate::answer;
use crate::table;
use layout::{paint, wrap};
use sections::Footer;

/// Columns of a screen, at most.
pub const WIDTH: usize = 100;
/// Lines of a screen of at most six cases; the number of further cases takes one more.
pub const LINES: usize = 24;
/// Cases shown by themselves, at most.
pub const CASES: usize = 6;

/// What is not in an analysis because it differs from session to session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Session {
    /// From the first trial to the last report, ns.
    pub elapsed_ns: u64,
    /// Of it, time in which counted or warm-up datagrams were sent, ns.
    pub sending_ns: u64,
    /// The evidence folder as the user can type it.
    pub evidence_path: String,
    /// Short facts that stand behind the arrangement in the header, such as `50 ms slices`.
    pub notes: Vec<String>,
}

/// Whether to colour the words of verdicts. Colour repeats them and carries nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colour {
    /// Bytes without escape sequences.
    #[default]
    Never,
    /// ANSI escape sequences (ECMA-48, SGR).
    Ansi,
}

/// The screen of a finished campaign, with a newline after each line.
#[must_use]
pub fn screen(analysis: &Analysis, session: &Session, colour: Colour) -> String {
    let cases = analysis
        .comparisons
        .iter()
        .filter(|one| one.primary)
        .count();
    let most = LINES + usize::from(cases > CASES);
    let mut lines = Vec::new();
    for fit in Fit::all(analysis) {
        lines = render(analysis, session, colour, &fit);
        if lines.len() <= most {
            break;
        }
    }
    lines.join("\n") + "\n"
}

/// How much is shown.
struct Fit {
    cases: usize,
    packet_rows: usize,
    split: bool,
    limit_lines: usize,
    blanks: bool,
    hint: bool,
}

impl Fit {
    /// From everything to the least, each step leaving out one thing more.
    fn all(analysis: &Analysis) -> [Self; 12] {
        let unclean = table::unclean_cases(analysis).max(passes::wrong_cases(analysis));
        let need = (unclean + 1).min(3);
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map(|step: usize| Self {
            cases: CASES - step.saturating_sub(6),
            packet_rows: match step {
                0 => CASES,
                1..6 => need,
                _ => 1,
            },
            split: step < 2,
            limit_lines: if step < 3 { 2 } else { 1 },
            blanks: step < 4,
            hint: step < 5,
        })
    }
}

fn render(analysis: &Analysis, session: &Session, colour: Colour, fit: &Fit) -> Vec<String> {
    let mut lines = sections::header(analysis, session);
    let mut section = |more: Vec<String>| {
        if fit.blanks && !more.is_empty() {
            lines.push(String::new());
        }
        lines.extend(more);
    };
    section(answer_lines(analysis, colour));
    section(sections::effect(
        analysis, fit.cases, fit.split, fit.hint, colour,
    ));
    section(if table::is_live(analysis) {
        sections::packets(analysis, fit.packet_rows, colour)
    } else {
        passes::work(analysis, fit.packet_rows, colour)
    });
    section(sections::footer(
        analysis,
        session,
        &Footer {
            limit_lines: fit.limit_lines,
            hint: fit.hint,
        },
    ));
    lines
}

fn answer_lines(analysis: &Analysis, colour: Colour) -> Vec<String> {
    let mut lines = wrap("ANSWER  ", &answer::sentence(&analysis.answer));
    let word = &analysis.answer.word;
    let painted = paint(word, table::answer_tone(word), colour);
    if !word.is_empty() {
        lines[0] = lines[0].replacen(word.as_str(), &painted, 1);
    }
    lines
}
