//! `wiretrial-receiver`: as a child of the harness, or by hand.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use wiretrial_contract::exit;
use wiretrial_receiver::cli::{Cli, Command};
use wiretrial_receiver::{cli, serve};

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Serve => serve::run(),
        Command::Capture(arguments) => cli::capture(&arguments),
    };
    match result {
        Ok(()) => ExitCode::from(exit::DONE),
        Err(failure) => {
            // Standard error may be closed; the exit code still says what happened.
            let line = failure.last_line("wiretrial-receiver");
            let _ = std::io::stderr().write_all(line.as_bytes());
            ExitCode::from(failure.code)
        }
    }
}
