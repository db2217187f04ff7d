//! The command line: what `wiretrial-generator` can be asked, and how it answers.

mod send;

use std::io::{self, BufReader, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use wiretrial_contract::exit;
use wiretrial_contract::failure::Failure;

use crate::serve;

const EXAMPLE: &str = "\
Example:
  wiretrial-generator send --target 10.99.0.2:39053 --packets 15000000 --rate 250k \\
      --frame-size 64 --senders 4

Exit codes: 0 every planned packet was accepted, 2 wrong command line or target not allowed,
3 this host cannot, 4 some planned packet was not accepted, 130 interrupted.";

/// Sends stamped UDP datagrams on an absolute schedule and accounts for each.
#[derive(Debug, Parser)]
#[command(name = "wiretrial-generator", version, about, after_help = EXAMPLE)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Send by hand; prints one JSON report
    #[command(after_help = EXAMPLE)]
    Send(send::Arguments),
    /// Speak the line protocol of the harness on stdin and stdout
    Serve,
}

/// Runs what the process was asked for. The only place that prints.
#[must_use]
pub fn run() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() {
                exit::USAGE
            } else {
                exit::DONE
            });
        }
    };
    let outcome = match arguments.verb {
        Verb::Serve => serve::run(BufReader::new(io::stdin()), &mut io::stdout().lock()),
        Verb::Send(arguments) => by_hand(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::from(exit::DONE),
        Err(failure) => {
            let line = failure.last_line("wiretrial-generator");
            // Standard error may be closed or full; the exit code still says what happened.
            let _ = io::stderr().write_all(line.as_bytes());
            ExitCode::from(failure.code)
        }
    }
}

fn by_hand(arguments: &send::Arguments) -> Result<(), Failure> {
    let sent = send::run(arguments)?;
    if let Some(remark) = &sent.remark {
        // A closed standard error does not undo what was sent.
        let _ = writeln!(io::stderr(), "{remark}");
    }
    writeln!(io::stdout().lock(), "{}", sent.json)
        .map_err(|error| Failure::evidence(format!("the report cannot be printed: {error}")))?;
    sent.outcome
}
