//! `wiretrial compare`: two revisions, two executables or two command lines, with a verdict.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::Seed;

use super::campaign;
use super::options::{self, CampaignOptions, HostOptions, TimeOption};
use super::output::note;
use crate::campaign::text;
use crate::compare::{self, Ask, How};
use crate::evidence::folder::discard_logs;
use crate::host::{HostLock, Interrupt};
use crate::session::{self, Session};

/// Compare two revisions of a program: build both, prove that they differ, run them in pairs in
/// drawn order, judge.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wiretrial compare                         the working tree against its merge base
  wiretrial compare v1.2 v1.3 --file mix.pcap
  wiretrial compare ./old/prog ./new/prog --program prog.toml
  wiretrial compare --command 'gzip -kf f' 'zstd -kf f'

Where the campaign declares no margin, 3 % is: a smaller difference is not worth having or fearing.

BASE and CAND are revisions, or executables when they hold a /; A...B as in git. How a program is
built and run stands in .wiretrial.toml of its repository: wiretrial new program.

Exit codes: 0 done, 1 a gate failed, 2 wrong command line or file, 3 this host cannot or a build
failed, 4 the evidence does not hold, 130 interrupted (wiretrial run --resume DIR)")]
pub(super) struct Arguments {
    /// What the candidate is compared with [default: the merge base with the default branch]
    base: Option<String>,
    /// What is in question [default: the working tree]
    #[arg(value_name = "CAND")]
    candidate: Option<String>,
    /// A capture file that both read, or a standard one such as standard:mix/100k
    #[arg(long, value_name = "CAPTURE")]
    file: Option<String>,
    /// How the program is run: a shipped adapter, or a file
    #[arg(long, value_name = "FILE", conflicts_with = "campaign")]
    program: Option<String>,
    /// The campaign to run, instead of .wiretrial.toml
    #[arg(long, value_name = "FILE")]
    campaign: Option<String>,
    /// Two command lines; quoted as in a shell, run without one
    #[arg(
        long,
        num_args = 2,
        value_names = ["A", "B"],
        allow_hyphen_values = true,
        conflicts_with_all = ["base", "candidate", "file", "program", "campaign"]
    )]
    command: Option<Vec<String>>,
    /// When the gate no_regression fails [default: regressed_worthwhile]
    #[arg(long, value_name = "VERDICT", value_enum)]
    fail_on: Option<FailOn>,
    /// End with 4 when a case is not decided
    #[arg(long)]
    require_conclusion: bool,
    /// Evidence folder to make; below evidence/ when left out
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seed of all drawn orders; from the kernel when left out
    #[arg(long, value_parser = options::seed)]
    seed: Option<Seed>,
    #[command(flatten)]
    campaign_options: CampaignOptions,
    #[command(flatten)]
    time: TimeOption,
    #[command(flatten)]
    host: HostOptions,
    #[command(flatten)]
    output: campaign::Output,
}

/// When the gate fails.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum FailOn {
    /// A case is worse by more than the margin
    RegressedWorthwhile,
    /// A case is worse
    Regressed,
    /// Never
    Never,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let interrupt = Interrupt::on_signals()
        .map_err(|error| Failure::host(format!("cannot handle signals: {error}")))?;
    note(&format!("wiretrial {}  compare", env!("CARGO_PKG_VERSION")));
    let output = arguments.output.open()?;
    match start(arguments, &interrupt) {
        Ok(session) => campaign::run(session, output),
        Err(failure) => {
            output.not_run(&failure);
            Err(failure)
        }
    }
}

fn start(arguments: &Arguments, interrupt: &Interrupt) -> Result<Session, Failure> {
    let mut options = arguments.host.options(interrupt.clone());
    // A build would run beside the measurement of another campaign.
    options.lock = Some(HostLock::take()?);
    let mut question = compare::question(&arguments.ask(), interrupt, &|text| {
        note(&format!("  {text}"));
    })?;
    arguments.time.ask(&mut question.campaign)?;
    note(&format!("  {}", text::duration(&question.campaign)));
    let seed = arguments.seed.map_or_else(session::random_seed, Ok)?;
    let logs = question.logs.clone();
    let out = arguments.out.as_deref();
    let started = Session::start(question, seed, out, &options, &mut note);
    if let (Err(_), Some(logs)) = (&started, logs) {
        discard_logs(&logs);
    }
    started
}

impl Arguments {
    fn ask(&self) -> Ask<'_> {
        let how = match (&self.command, &self.program, &self.campaign) {
            (Some(commands), ..) => How::Commands([&commands[0], &commands[1]]),
            (None, Some(program), _) => How::Program(program),
            (None, None, Some(campaign)) => How::Campaign(campaign),
            (None, None, None) => How::Unsaid,
        };
        let mut overrides = self.campaign_options.overrides();
        if let Some(fail_on) = self.fail_on {
            let name = fail_on.to_possible_value();
            let name = name.as_ref().map_or("", |value| value.get_name());
            overrides.set.push(format!("design.fail-on={name}"));
        }
        if self.require_conclusion {
            overrides.set.push("design.require-conclusion=true".into());
        }
        Ask {
            sides: [self.base.as_deref(), self.candidate.as_deref()],
            how,
            file: self.file.as_deref(),
            overrides,
        }
    }
}
