//! `wiretrial-receiver`: as a child of the harness, or by hand.

use std::process::ExitCode;

use wiretrial_receiver::cli;

fn main() -> ExitCode {
    cli::main("wiretrial-receiver")
}
