//! `wiretrial run`: plan, seal, run, judge, report.

use std::path::PathBuf;

use clap::Args;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::Seed;

use super::campaign;
use super::options::{self, CampaignOptions, HostOptions, TimeOption};
use super::output::note;
use crate::campaign::{shipped, text};
use crate::host::Interrupt;
use crate::session::{self, Options, Question, Session};

/// Run a campaign: plan it, rehearse it, seal the plan, run its pairs in drawn order, judge the rows
/// and write reports. Every trial is a row of evidence, also one that failed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wiretrial run demo
  wiretrial run my-campaign.toml --pairs 24 --seed 0x5eed
  wiretrial run my-campaign.toml --time 5m
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
        conflicts_with_all = ["campaign", "out", "seed", "pairs", "margin", "aa", "set", "quick", "port", "time"]
    )]
    resume: Option<PathBuf>,
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

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let interrupt = Interrupt::on_signals()
        .map_err(|error| Failure::host(format!("cannot handle signals: {error}")))?;
    let options = arguments.host.options(interrupt);
    let output = arguments.output.open()?;
    let session = match (&arguments.resume, &arguments.campaign) {
        (Some(folder), _) => Session::resume(folder, &options),
        (None, Some(name)) => start(name, arguments, &options),
        (None, None) => Err(Failure::usage(
            "name a campaign, such as wiretrial run demo",
        )),
    };
    match session {
        Ok(session) => campaign::run(session, output),
        Err(failure) => {
            output.not_run(&failure);
            Err(failure)
        }
    }
}

fn start(name: &str, arguments: &Arguments, options: &Options) -> Result<Session, Failure> {
    let mut resolved = shipped::resolve(name, &arguments.campaign_options.overrides())?;
    arguments.time.ask(&mut resolved.campaign)?;
    note(&format!(
        "wiretrial {}  {}",
        env!("CARGO_PKG_VERSION"),
        text::duration(&resolved.campaign)
    ));
    let seed = arguments.seed.map_or_else(session::random_seed, Ok)?;
    let question = Question {
        campaign: resolved.campaign,
        files: resolved.inputs,
        given: None,
        logs: None,
    };
    let out = arguments.out.as_deref();
    Session::start(question, seed, out, options, &mut note)
}
