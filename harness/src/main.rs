//! Parses the command line, dispatches, and maps failures to exit codes.

use std::process::ExitCode;

fn main() -> ExitCode {
    wiretrial::cli::main()
}
