//! The UDP generator of wiretrial, by hand or as a child of the harness.

use std::process::ExitCode;

fn main() -> ExitCode {
    wiretrial_generator::cli::run()
}
