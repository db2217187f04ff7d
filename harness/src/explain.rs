//! `wiretrial explain WORD`: what a word in a report means, who counts it, what usually causes it and
//! what to do. One table, from which `harness/docs/GLOSSARY.md` is made as well.
//!
//! A word may have several entries when it names several things (`invalid` is a verdict of a
//! comparison, of a load and of a ledger); each kind has it once.

mod entries;
mod terms;

use std::fmt::Write as _;

use entries::ENTRIES;
use terms::TERMS;
use wiretrial_contract::control::quote;
use wiretrial_contract::failure::Failure;

/// What a word names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The leading word of an answer.
    Answer,
    /// Verdict of a comparison.
    Verdict,
    /// Verdict of a load.
    Load,
    /// A place where packets are lost.
    Stage,
    /// Copies that are counted apart.
    Copies,
    /// A note beside a trial, comparison or load.
    Flag,
    /// A condition on the design of a trial.
    Guard,
    /// A condition on the verdicts that sets the exit code.
    Gate,
    /// How far the work of passes is known to be right.
    Proof,
    /// What is compared.
    Metric,
    /// Exit code of every executable.
    Exit,
    /// State of a trial's ledger.
    Ledger,
    /// How far evidence carries.
    Class,
    /// How a campaign is separated from its host.
    Isolation,
    /// How the members of a pair share the time.
    Arrangement,
    /// Why a verdict is what it is.
    Reason,
    /// What evidence does not establish.
    Limit,
}

impl Kind {
    /// All kinds, in the order of the glossary.
    pub const ALL: [Self; 17] = [
        Self::Answer,
        Self::Verdict,
        Self::Load,
        Self::Stage,
        Self::Copies,
        Self::Flag,
        Self::Guard,
        Self::Gate,
        Self::Proof,
        Self::Metric,
        Self::Exit,
        Self::Ledger,
        Self::Class,
        Self::Isolation,
        Self::Arrangement,
        Self::Reason,
        Self::Limit,
    ];

    /// Its name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Verdict => "verdict of a comparison",
            Self::Load => "verdict of a load",
            Self::Stage => "stage",
            Self::Copies => "copies",
            Self::Flag => "flag",
            Self::Guard => "guard",
            Self::Gate => "gate",
            Self::Proof => "proof of work",
            Self::Metric => "metric",
            Self::Exit => "exit code",
            Self::Ledger => "state of a ledger",
            Self::Class => "evidence class",
            Self::Isolation => "isolation",
            Self::Arrangement => "arrangement",
            Self::Reason => "reason",
            Self::Limit => "limit",
        }
    }
}

/// One word of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// As it stands in evidence or reports.
    pub word: &'static str,
    /// What it names.
    pub kind: Kind,
    /// What it means.
    pub means: &'static str,
    /// Who counts or decides it.
    pub counted_by: &'static str,
    /// Its usual cause.
    pub cause: &'static str,
    /// What to do.
    pub action: &'static str,
}

/// Columns of a printed text.
const WIDTH: usize = 100;
/// Columns of the labels before the texts.
const LABEL: usize = 12;

/// Everything the table knows of `word`, ready to print. Case, hyphens, underscores and spaces do not
/// matter, and `exit 3` is `3`.
///
/// # Errors
///
/// [`Failure::usage`] for a word that is not in the table; it names the nearest ones.
pub fn explain(word: &str) -> Result<String, Failure> {
    let wanted = plain(word);
    let wanted = wanted.strip_prefix("exit-").unwrap_or(&wanted);
    let found: Vec<&Entry> = ENTRIES
        .iter()
        .filter(|entry| plain(entry.word) == wanted)
        .collect();
    let mut texts: Vec<String> = found.into_iter().map(entry_text).collect();
    if let Some((term, meaning)) = TERMS.iter().find(|(term, _)| is_term(term, wanted)) {
        let lines = wrapped(meaning, WIDTH - 2).join("\n  ");
        texts.push(format!("{term}  (term)\n  {lines}\n"));
    }
    if texts.is_empty() {
        return Err(Failure::usage(format!(
            "unknown word \"{}\"; nearest: {}; wiretrial explain lists all",
            quote(word),
            nearest(wanted).join(", ")
        )));
    }
    Ok(texts.join("\n"))
}

/// Whether a term, or one of the terms in a heading such as `baseline, candidate`, is meant; one of
/// several means the one.
fn is_term(term: &str, wanted: &str) -> bool {
    let one = wanted.strip_suffix('s').unwrap_or(wanted);
    let parts = term.split(',').chain(term.split('/')).map(plain);
    parts.into_iter().any(|term| term == wanted || term == one)
}

/// All words, each once, in the order of the table.
#[must_use]
pub fn words() -> Vec<&'static str> {
    let mut words: Vec<&str> = Vec::new();
    for entry in ENTRIES {
        if !words.contains(&entry.word) {
            words.push(entry.word);
        }
    }
    words
}

/// The words of limits.
#[cfg(test)]
pub(crate) fn of_limits() -> Vec<&'static str> {
    of_kind(Kind::Limit).map(|entry| entry.word).collect()
}

/// All words by kind, for `wiretrial explain` without a word.
#[must_use]
pub fn list() -> String {
    let mut out = String::new();
    for kind in Kind::ALL {
        let words: Vec<&str> = of_kind(kind).map(|entry| entry.word).collect();
        let _ = writeln!(out, "{}", kind.name());
        for line in wrapped(&words.join(", "), WIDTH - 2) {
            let _ = writeln!(out, "  {line}");
        }
    }
    let terms: Vec<&str> = TERMS.iter().map(|(term, _)| *term).collect();
    let _ = writeln!(out, "term");
    for line in wrapped(&terms.join(", "), WIDTH - 2) {
        let _ = writeln!(out, "  {line}");
    }
    out
}

/// The bytes of `harness/docs/GLOSSARY.md`.
#[must_use]
pub fn glossary() -> String {
    let mut out = String::from(
        "# Glossary\n\n\
         Made from the tables behind `wiretrial explain`; a test compares this file with them.\n\
         Code, configuration and prose use exactly these words.\n\n\
         ## Terms\n\n\
         | term | meaning |\n| --- | --- |\n",
    );
    for (term, meaning) in TERMS {
        let _ = writeln!(out, "| {term} | {meaning} |");
    }
    out += "\nNot used: speed or performance as a quantity, dropped without by whom, run for a \
            trial, benchmark for a campaign.\n";
    for kind in Kind::ALL {
        let _ = write!(
            out,
            "\n## {}\n\n| word | means | counted or decided by | usual cause | what to do |\n\
             | --- | --- | --- | --- | --- |\n",
            heading(kind)
        );
        for entry in of_kind(kind) {
            let _ = writeln!(
                out,
                "| `{}` | {} | {} | {} | {} |",
                entry.word, entry.means, entry.counted_by, entry.cause, entry.action
            );
        }
    }
    out
}

fn of_kind(kind: Kind) -> impl Iterator<Item = &'static Entry> {
    ENTRIES.iter().filter(move |entry| entry.kind == kind)
}

fn entry_text(entry: &Entry) -> String {
    let mut out = format!("{}  ({})\n", entry.word, entry.kind.name());
    for (label, text) in [
        ("means", entry.means),
        ("counted by", entry.counted_by),
        ("cause", entry.cause),
        ("what to do", entry.action),
    ] {
        for (index, line) in wrapped(text, WIDTH - LABEL - 2).iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            let _ = writeln!(out, "  {label:LABEL$}{line}");
        }
    }
    out
}

fn heading(kind: Kind) -> String {
    let name = kind.name();
    let (first, rest) = name.split_at(1);
    first.to_uppercase() + rest
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            *line += word;
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            *line += " ";
            *line += word;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

fn plain(word: &str) -> String {
    word.trim().to_lowercase().replace(['_', ' '], "-")
}

/// The three nearest words: those that contain it or are contained first, then by edit distance.
fn nearest(wanted: &str) -> Vec<&'static str> {
    let mut ranked: Vec<(usize, &str)> = words()
        .into_iter()
        .map(|word| {
            let known = plain(word);
            let part = wanted.len() > 2 && (known.contains(wanted) || wanted.contains(&known));
            (if part { 0 } else { distance(&known, wanted) }, word)
        })
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().take(3).map(|(_, word)| word).collect()
}

/// Levenshtein's edit distance in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiretrial_contract::analysis::{EvidenceClass, LoadVerdict, Verdict, WorkProof};
    use wiretrial_contract::control::Isolation;
    use wiretrial_contract::exit;
    use wiretrial_contract::metric::Metric;
    use wiretrial_contract::plan::{Arrangement, Need, Test};
    use wiretrial_contract::record::{Flag, GuardName, LedgerState, Stage};

    /// The entries of a kind are exactly these words, each once.
    fn exactly(kind: Kind, names: &[&str]) {
        let mut entries: Vec<&str> = of_kind(kind).map(|entry| entry.word).collect();
        let mut wanted = names.to_vec();
        entries.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(entries, wanted, "{kind:?}");
    }

    #[test]
    fn every_value_of_the_contract_has_one_entry() {
        exactly(Kind::Verdict, &Verdict::ALL.map(Verdict::name));
        exactly(Kind::Load, &LoadVerdict::ALL.map(LoadVerdict::name));
        exactly(Kind::Stage, &Stage::ALL.map(Stage::name));
        exactly(Kind::Flag, &Flag::ALL.map(Flag::name));
        exactly(Kind::Guard, &GuardName::ALL.map(GuardName::name));
        exactly(Kind::Metric, &Metric::ALL.map(Metric::name));
        exactly(Kind::Proof, &WorkProof::ALL.map(WorkProof::name));
        exactly(
            Kind::Class,
            &[
                EvidenceClass::Smoke,
                EvidenceClass::Exploratory,
                EvidenceClass::Confirmatory,
            ]
            .map(EvidenceClass::name),
        );
        exactly(
            Kind::Isolation,
            &[Isolation::Sandbox, Isolation::Netns, Isolation::None].map(Isolation::name),
        );
        let arrangements = [Arrangement::Interleaved, Arrangement::Sequential]
            .map(|arrangement| arrangement.to_string());
        exactly(
            Kind::Arrangement,
            &arrangements.each_ref().map(String::as_str),
        );
        let codes: Vec<String> = exit::ALL.iter().map(|exit| exit.code.to_string()).collect();
        exactly(
            Kind::Exit,
            &codes.iter().map(String::as_str).collect::<Vec<_>>(),
        );
    }

    #[test]
    fn every_word_of_a_gate_has_one_entry() {
        let mut words: Vec<String> = ["no_regression", "fail_on", "require_conclusion"]
            .map(String::from)
            .to_vec();
        for test in [
            Test::Up(0.1),
            Test::Down(0.1),
            Test::AtLeast(1.0),
            Test::AtMost(1.0),
        ] {
            let value = serde_json::to_value(test).unwrap();
            words.extend(value.as_object().unwrap().keys().cloned());
        }
        for need in [Need::Any, Need::All] {
            let value = serde_json::to_value(need).unwrap();
            words.push(value.as_str().unwrap().to_owned());
        }
        exactly(
            Kind::Gate,
            &words.iter().map(String::as_str).collect::<Vec<_>>(),
        );
    }

    #[test]
    fn a_word_that_is_a_term_too_is_explained_as_both() {
        let pass = explain("pass").unwrap();
        assert!(pass.contains("pass  (verdict of a load)"), "{pass}");
        assert!(pass.contains("pass  (term)"), "{pass}");
    }

    #[test]
    fn every_ledger_state_has_one_entry() {
        let states = [
            LedgerState::Balanced,
            LedgerState::Ambiguous { copies: 1 },
            LedgerState::Unexplained { copies: 1 },
            LedgerState::Invalid {
                cause: String::new(),
            },
        ]
        .map(|state| {
            let value = serde_json::to_value(state).unwrap();
            match value {
                serde_json::Value::String(name) => name,
                other => other.as_object().unwrap().keys().next().unwrap().clone(),
            }
        });
        exactly(Kind::Ledger, &states.each_ref().map(String::as_str));
    }

    #[test]
    fn reasons_are_explained() {
        use wiretrial_contract::analysis::{LoadReason, Reason};
        let mut names: Vec<&str> = Reason::ALL.map(Reason::name).to_vec();
        names.extend(LoadReason::ALL.map(LoadReason::name));
        let words = words();
        for name in &names {
            assert!(words.contains(name), "{name}");
        }
        // A bound of a load stands among its reasons in reports.
        names.push("at_least");
        for entry in of_kind(Kind::Reason) {
            assert!(names.contains(&entry.word), "nobody gives {}", entry.word);
        }
    }

    #[test]
    fn no_word_is_twice_in_a_kind_and_no_text_is_empty_or_long() {
        for (index, entry) in ENTRIES.iter().enumerate() {
            assert!(
                !ENTRIES[..index]
                    .iter()
                    .any(|other| other.word == entry.word && other.kind == entry.kind),
                "{}",
                entry.word
            );
            for text in [entry.means, entry.counted_by, entry.cause, entry.action] {
                assert!(!text.trim().is_empty(), "{}", entry.word);
                assert!(!text.contains(['|', '\n']), "{}", entry.word);
                assert!(
                    wrapped(text, WIDTH - LABEL - 2).len() <= 2,
                    "{}: {text}",
                    entry.word
                );
            }
        }
        for (term, meaning) in TERMS {
            assert!(!format!("{term}{meaning}").contains(['|', '\n']), "{term}");
        }
    }

    #[test]
    fn a_word_is_found_however_it_is_written() {
        let ring = explain("ring").unwrap();
        assert!(ring.starts_with("ring  (stage)\n  means       passed the filter"));
        assert!(ring.lines().all(|line| line.chars().count() <= WIDTH));
        assert_eq!(explain("Need-Packets"), explain("need_packets"));
        assert_eq!(explain("exit 3"), explain("3"));
        assert_eq!(explain("invalid").unwrap().matches("invalid  (").count(), 3);
        for word in words() {
            assert!(explain(word).is_ok());
        }
    }

    #[test]
    fn an_unknown_word_is_answered_with_the_nearest() {
        let failure = explain("backlg").unwrap_err();
        assert_eq!(failure.code, exit::USAGE);
        assert!(failure.message.contains("nearest: backlog,"), "{failure}");
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn the_list_has_every_word() {
        let list = list();
        for word in words() {
            assert!(list.contains(word), "{word}");
        }
    }

    /// `WIRETRIAL_BLESS=1 cargo test -p wiretrial glossary` writes the file first.
    #[test]
    fn the_committed_glossary_is_the_generated_one() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/GLOSSARY.md");
        if std::env::var_os("WIRETRIAL_BLESS").is_some() {
            std::fs::write(path, glossary()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), glossary());
    }
}
