//! What the verbs that measure have in common: the lines before the first pair, the progress, the
//! screen and files at the end, and the exit code.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use wiretrial_contract::analysis::Analysis;
use wiretrial_contract::clock;
use wiretrial_contract::exit;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{Arrangement, Plan};
use wiretrial_contract::record::TrialRecord;
use wiretrial_reports::screen::{self, Colour};
use wiretrial_reports::{csv, junit, markdown, summary, table};

use super::output::{data, note};
use crate::evidence::json::pretty;
use crate::judge;
use crate::pilot::outlook;
use crate::session::Session;
use crate::trial::pairs::{by_pair, counts};

/// Time between two lines of progress.
const PROGRESS_NS: u64 = 10_000_000_000;
/// Remarks shown before the run, at most.
const NOTES: usize = 3;

/// What is printed and written at the end.
#[derive(Debug, Args)]
pub(super) struct Output {
    /// What to print at the end
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Also write the gates as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Also write a summary in Markdown, such as $GITHUB_STEP_SUMMARY
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
}

/// What is printed on standard output.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Format {
    /// The screen
    #[default]
    Screen,
    /// report.md
    Markdown,
    /// analysis.json
    Json,
    /// The paired-effect table
    Csv,
}

impl Output {
    /// Opens what is to be written, before anything is measured.
    ///
    /// # Errors
    ///
    /// A file cannot be written (exit 2).
    pub(super) fn open(&self) -> Result<Files, Failure> {
        let open = |file: &Option<PathBuf>, append: bool| {
            let Some(path) = file else { return Ok(None) };
            let opened = fs::OpenOptions::new()
                .create(true)
                .write(true)
                .append(append)
                .open(path);
            opened
                .map(|file| Some((path.clone(), file)))
                .map_err(|error| {
                    Failure::usage(format!("{} cannot be written: {error}", path.display()))
                })
        };
        Ok(Files {
            format: self.format,
            junit: open(&self.junit, false)?,
            // A summary of a job holds what its other steps said.
            summary: open(&self.summary, true)?,
        })
    }
}

/// What is printed and written at the end, opened.
#[derive(Debug)]
pub(super) struct Files {
    format: Format,
    junit: Option<(PathBuf, fs::File)>,
    summary: Option<(PathBuf, fs::File)>,
}

impl Files {
    /// Writes why nothing was run into the files of a CI system.
    pub(super) fn not_run(self, failure: &Failure) {
        let sentence = &failure.message;
        let files = [
            (self.junit, junit::not_run(sentence)),
            (self.summary, summary::not_run(sentence)),
        ];
        for ((path, mut file), text) in files.into_iter().filter_map(|(f, text)| Some((f?, text))) {
            if let Err(error) = file.write_all(text.as_bytes()) {
                note(&format!(
                    "  {} could not be written: {error}",
                    path.display()
                ));
            }
        }
    }
}

/// Runs a sealed campaign to its end, prints and writes what was asked for.
///
/// # Errors
///
/// The session's own failures, and the exit code that the analysis stands for.
pub(super) fn run(mut session: Session, output: Files) -> Result<(), Failure> {
    begin(&session);
    if let Err(failure) = session.link_latest() {
        // The evidence is whole without it.
        note(&format!("  {failure}"));
    }
    let plan = session.plan().clone();
    let mut shown_ns = clock::monotonic_ns();
    let ran = session.run(&mut |rows| {
        let now = clock::monotonic_ns();
        if now - shown_ns >= PROGRESS_NS {
            shown_ns = now;
            note(&progress(&plan, rows));
        }
    });
    if let Err(failure) = ran {
        if matches!(failure.code, exit::INTERRUPTED | exit::HOST) {
            note(&progress(&plan, session.records()));
            note(&format!(
                "  go on with: wiretrial run --resume {}",
                session.folder().display()
            ));
        }
        return Err(failure);
    }
    note(&progress(&plan, session.records()));
    let analysis = session.finish()?;
    if let Err(failure) = session.keep_floor(&analysis) {
        // The evidence is whole without it.
        note(&format!("  {failure}"));
    }
    let shown = screen::Session {
        elapsed_ns: session
            .records()
            .iter()
            .map(|row| row.ended_ns)
            .max()
            .unwrap_or(0),
        sending_ns: sending_ns(&plan, session.records()),
        evidence_path: session.folder().display().to_string(),
        notes: slices(&plan),
    };
    data(&printed(&analysis, &shown, output.format))?;
    if let Some((path, file)) = output.junit {
        let written = file.set_len(0).and_then(|()| {
            let text = junit::document(&analysis);
            (&file).write_all(text.as_bytes())
        });
        written.map_err(|error| not_written(&path, &error))?;
    }
    if let Some((path, mut file)) = output.summary {
        let text = summary::summary(&analysis);
        let written = file.write_all(text.as_bytes());
        written.map_err(|error| not_written(&path, &error))?;
    }
    match judge::exit_code(&analysis) {
        (exit::DONE, _) => Ok(()),
        (code, sentence) => Err(Failure {
            code,
            message: sentence.unwrap_or_default(),
        }),
    }
}

fn not_written(file: &Path, error: &io::Error) -> Failure {
    Failure::evidence(format!("{} could not be written: {error}", file.display()))
}

/// Lines before the first pair.
fn begin(session: &Session) {
    let plan = session.plan();
    let warning = outlook::warning(plan);
    for remark in warning.iter().chain(session.notes()).take(NOTES) {
        note(&format!("  {remark}"));
    }
    if let Some(remark) = session.names_host() {
        note(&format!("  {remark}"));
    }
    note(&format!("  {}", outlook::line(plan)));
    note(&format!(
        "  sealed as {}, seed {}, isolation {}: {}",
        &session.plan_sha256()[..8],
        plan.seed,
        plan.isolation,
        session.folder().display()
    ));
    if !session.records().is_empty() {
        note(&format!("  going on:{}", progress(plan, session.records())));
    }
}

fn progress(plan: &Plan, rows: &[TrialRecord]) -> String {
    let pairs = by_pair(rows);
    let done = pairs.values().filter(|rows| counts(rows)).count();
    format!(
        "  {done} of {} pairs done, {} voided",
        plan.pairs.len(),
        pairs.len() - done
    )
}

/// Measured sending time of counted datagrams, those to the control port included. The rows of an
/// interleaved pair share one generator.
fn sending_ns(plan: &Plan, rows: &[TrialRecord]) -> u64 {
    let of = |row: &TrialRecord| -> u64 {
        row.generator
            .iter()
            .flat_map(|g| &g.groups)
            .map(|group| group.sending_ns)
            .sum()
    };
    match plan.campaign.design.arrangement {
        Arrangement::Sequential => rows.iter().map(of).sum(),
        Arrangement::Interleaved => by_pair(rows)
            .values()
            .filter_map(|rows| rows.first().copied())
            .map(of)
            .sum(),
    }
}

fn slices(plan: &Plan) -> Vec<String> {
    if plan.campaign.design.arrangement == Arrangement::Sequential {
        return Vec::new();
    }
    let mut lengths: Vec<u64> = plan
        .campaign
        .cases
        .iter()
        .filter_map(|case| Some(case.live()?.traffic.slice_ns))
        .collect();
    lengths.dedup();
    match lengths[..] {
        [length] => vec![format!("{} ms slices", length / 1_000_000)],
        _ => Vec::new(),
    }
}

fn printed(analysis: &Analysis, session: &screen::Session, format: Format) -> String {
    match format {
        Format::Screen => screen::screen(analysis, session, colour()),
        Format::Markdown => markdown::report(analysis),
        Format::Json => String::from_utf8(pretty(analysis)).expect("JSON is UTF-8"),
        Format::Csv => csv::render(&table::outcome(analysis, analysis.conditions.primary)),
    }
}

/// Colour on a terminal, unless NO_COLOR is set and not empty (no-color.org).
fn colour() -> Colour {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if std::io::stdout().is_terminal() && !refused {
        Colour::Ansi
    } else {
        Colour::Never
    }
}
