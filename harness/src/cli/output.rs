//! The one place that prints.

use std::io::{self, ErrorKind, Write};

use wiretrial_contract::failure::Failure;

/// Data, to standard output. A reader that has gone, as `head` does, is no failure.
///
/// # Errors
///
/// Standard output cannot be written, for instance on a full disk (exit 4).
pub(super) fn data(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::evidence(format!(
            "standard output could not be written: {error}"
        ))),
        _ => Ok(()),
    }
}

/// A line for the person at the terminal, to standard error.
pub(super) fn note(text: &str) {
    // Nobody is there to hear that nobody is there.
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}
