//! `wiretrial run`: plan, seal, run, judge, report.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use wiretrial_contract::analysis::Analysis;
use wiretrial_contract::clock;
use wiretrial_contract::exit;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{Arrangement, Plan, Seed};
use wiretrial_contract::record::TrialRecord;
use wiretrial_reports::screen::{self, Colour};
use wiretrial_reports::{csv, markdown, table};

use super::options::{self, CampaignOptions, HostOptions};
use super::output::{data, note};
use crate::campaign::{shipped, text};
use crate::evidence::json::pretty;
use crate::host::Interrupt;
use crate::judge;
use crate::session::{self, Options, Session};
use crate::trial::pairs::{by_pair, counts};

/// Time between two lines of progress.
const PROGRESS_NS: u64 = 10_000_000_000;
/// Remarks shown before the run, at most.
const NOTES: usize = 3;

/// Run a campaign: plan it, rehearse it, seal the plan, run its pairs in drawn order, judge the rows
/// and write reports. Every trial is a row of evidence, also one that failed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wiretrial run demo
  wiretrial run my-campaign.toml --pairs 24 --seed 0x5eed
  wiretrial run --resume evidence/latest

Exit codes: 0 done, 1 a gate failed, 2 wrong command line or file, 3 this host cannot,
4 the evidence does not hold, 5 a broken row, 130 interrupted (resumable)")]
pub(super) struct Arguments {
    /// A campaign file, or the name of a shipped campaign
    #[arg(required_unless_present = "resume")]
    campaign: Option<String>,
    /// Go on with an interrupted campaign in this evidence folder
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["campaign", "out", "seed", "pairs", "aa", "set", "quick", "port"]
    )]
    resume: Option<PathBuf>,
    /// Evidence folder to make; below evidence/ when left out
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seed of all drawn orders; from the kernel when left out
    #[arg(long, value_parser = options::seed)]
    seed: Option<Seed>,
    /// What to print at the end
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    campaign_options: CampaignOptions,
    #[command(flatten)]
    host: HostOptions,
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

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let interrupt = Interrupt::on_signals()
        .map_err(|error| Failure::host(format!("cannot handle signals: {error}")))?;
    let options = Options {
        isolation: arguments.host.isolation,
        allowed_targets: arguments.host.allow_target.clone(),
        named: arguments.host.named(),
        interrupt,
    };
    let mut session = match (&arguments.resume, &arguments.campaign) {
        (Some(folder), _) => Session::resume(folder, &options)?,
        (None, Some(name)) => start(name, arguments, &options)?,
        (None, None) => {
            return Err(Failure::usage(
                "name a campaign, such as wiretrial run demo",
            ));
        }
    };
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
            note(&format!(
                "  go on with: wiretrial run --resume {}",
                session.folder().display()
            ));
        }
        return Err(failure);
    }
    note(&progress(&plan, session.records()));
    let analysis = session.finish()?;
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
    data(&printed(&analysis, &shown, arguments.format))?;
    match judge::exit_code(&analysis) {
        (exit::DONE, _) => Ok(()),
        (code, sentence) => Err(Failure {
            code,
            message: sentence.unwrap_or_default(),
        }),
    }
}

fn start(name: &str, arguments: &Arguments, options: &Options) -> Result<Session, Failure> {
    let campaign = shipped::load(name, &arguments.campaign_options.overrides())?;
    note(&format!(
        "wiretrial {}  {}",
        env!("CARGO_PKG_VERSION"),
        text::duration(&campaign)
    ));
    let seed = arguments.seed.map_or_else(session::random_seed, Ok)?;
    Session::start(campaign, seed, arguments.out.as_deref(), options)
}

/// Lines before the first pair.
fn begin(session: &Session) {
    for remark in session.notes().iter().take(NOTES) {
        note(&format!("  {remark}"));
    }
    let plan = session.plan();
    note(&format!(
        "  sealed as {}, seed {}, {}: {}",
        &session.plan_sha256()[..8],
        plan.seed,
        plan.isolation,
        session.folder().display()
    ));
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
        Format::Csv => csv::render(&table::effect(analysis, analysis.conditions.primary)),
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
