//! What the main thread waits for: one queue, so that it sleeps until something happens.

use std::io::{self, BufRead};
use std::sync::mpsc::Sender;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use wiretrial_contract::control::{LineError, Reader, ToChild};

use crate::tally::SenderTally;

/// Something that happened.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a handful in a process's life")]
pub enum Event {
    /// The harness said something.
    Said(ToChild),
    /// What it said is not a message; nothing more is read.
    Broken(LineError),
    /// The harness is gone: the end of stdin.
    Ended,
    /// SIGINT, SIGTERM or SIGHUP.
    Signal,
    /// A sender has sent its share or was told to stop; `None` when it panicked.
    Finished {
        /// Its number.
        sender: usize,
        /// What it counted.
        tally: Option<Box<SenderTally>>,
    },
}

/// Turns signals that end a process into events, from now on.
///
/// # Errors
///
/// The error of installing a handler.
pub fn watch_signals(events: Sender<Event>) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for _ in signals.forever() {
                if events.send(Event::Signal).is_err() {
                    break;
                }
            }
        })?;
    Ok(())
}

/// Turns the lines of `input` into events until it ends or breaks.
///
/// # Errors
///
/// The error of starting a thread.
pub fn watch_input(input: impl BufRead + Send + 'static, events: Sender<Event>) -> io::Result<()> {
    thread::Builder::new().name("input".into()).spawn(move || {
        let mut reader = Reader::new(input);
        loop {
            let (event, last) = match reader.receive() {
                Ok(Some(message)) => (Event::Said(message), false),
                Ok(None) => (Event::Ended, true),
                Err(error) => (Event::Broken(error), true),
            };
            if events.send(event).is_err() || last {
                break;
            }
        }
    })?;
    Ok(())
}
