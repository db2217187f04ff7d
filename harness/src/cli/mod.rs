//! The command line: one file a verb, and what turns their failures into exit codes.

mod campaign;
mod compare;
mod doctor;
mod explain;
mod judge;
mod new;
mod options;
mod output;
mod pack;
mod plan;
mod run;
mod verify;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use wiretrial_contract::exit;
use wiretrial_contract::failure::Failure;

/// What `wiretrial` alone prints.
const OVERVIEW: &str = "\
wiretrial: did this change make a packet-capture program better or worse?

measure  run CAMPAIGN    plan, seal, run, judge, report      wiretrial run demo
         compare BASE CAND   two revisions of a program      wiretrial compare main
look     plan CAMPAIGN   what would run, nothing is touched  wiretrial plan demo --full
         explain WORD    what a word in a report means       wiretrial explain coupled
         doctor          what this host can do               wiretrial doctor
check    verify [DIR]    recompute evidence from its rows    wiretrial verify
         judge pairs FILE    numbers measured elsewhere      wiretrial judge pairs times.csv
keep     new [KIND]      a commented campaign to start from  wiretrial new program
         pack [DIR]      one archive of evidence             wiretrial pack evidence/latest

Every verb has --help with its options. Data goes to stdout, the rest to stderr.
";

/// Honest measurement of packet-capture software: randomized paired trials on real packets, with
/// an interval, a verdict and evidence that can be recomputed.
#[derive(Debug, Parser)]
#[command(name = "wiretrial", version)]
struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Run(run::Arguments),
    Compare(compare::Arguments),
    Plan(plan::Arguments),
    New(new::Arguments),
    Explain(explain::Arguments),
    Doctor(doctor::Arguments),
    Verify(verify::Arguments),
    Judge(judge::Arguments),
    Pack(pack::Arguments),
    /// Hold a campaign's namespaces and counters; speaks the line protocol
    #[command(hide = true)]
    Agent,
}

/// Parses the command line, does what it says, and gives the exit code of
/// [`wiretrial_contract::exit`].
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Where help cannot be printed there is nobody to tell.
            let _ = error.print();
            if error.use_stderr() {
                return ExitCode::from(report(&Failure::usage(
                    "the command line is wrong, as said above; --help shows how it goes",
                )));
            }
            return ExitCode::from(exit::DONE);
        }
    };
    let result = match cli.verb {
        None => output::data(OVERVIEW),
        Some(Verb::Agent) => return crate::agent::serve(),
        Some(Verb::Run(arguments)) => run::run(&arguments),
        Some(Verb::Compare(arguments)) => compare::run(&arguments),
        Some(Verb::Plan(arguments)) => plan::run(&arguments),
        Some(Verb::New(arguments)) => new::run(&arguments),
        Some(Verb::Explain(arguments)) => explain::run(&arguments),
        Some(Verb::Doctor(arguments)) => doctor::run(&arguments),
        Some(Verb::Verify(arguments)) => verify::run(&arguments),
        Some(Verb::Judge(arguments)) => judge::run(&arguments),
        Some(Verb::Pack(arguments)) => pack::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::from(exit::DONE),
        Err(failure) => ExitCode::from(report(&failure)),
    }
}

/// The last line on standard error of a command that did not end well.
fn report(failure: &Failure) -> u8 {
    let line = failure.last_line("wiretrial");
    // Standard error may be closed; the code still says what happened.
    let _ = io::stderr().write_all(line.as_bytes());
    failure.code
}
