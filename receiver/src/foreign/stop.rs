//! Asking a program to end: its own signal, then TERM, then KILL.

use nix::sys::signal::Signal;
use wiretrial_contract::clock;
use wiretrial_contract::program::StopSignal;

use super::Cut;
use super::launch::Program;

/// How long it may take after the first signal, ns.
const PATIENCE_NS: u64 = 3_000_000_000;
/// How long it may take after SIGTERM, ns.
const LAST_PATIENCE_NS: u64 = 2_000_000_000;

/// Ends a program; gives the signals it took, in order. It is not reaped.
///
/// # Errors
///
/// What `check` says while it waits.
pub(super) fn ask(
    program: &Program,
    first: StopSignal,
    mut check: impl FnMut() -> Result<(), Cut>,
) -> Result<Vec<String>, Cut> {
    let first = match first {
        StopSignal::SigInt => Signal::SIGINT,
        StopSignal::SigTerm => Signal::SIGTERM,
        StopSignal::SigHup => Signal::SIGHUP,
    };
    let mut asked = vec![first.to_string()];
    program.signal(first);
    if program.wait(within(PATIENCE_NS), &mut check)? {
        return Ok(asked);
    }
    asked.push(Signal::SIGTERM.to_string());
    program.signal_group(Signal::SIGTERM);
    if program.wait(within(LAST_PATIENCE_NS), &mut check)? {
        return Ok(asked);
    }
    asked.push(Signal::SIGKILL.to_string());
    program.signal_group(Signal::SIGKILL);
    program.signal(Signal::SIGKILL);
    program.wait(within(LAST_PATIENCE_NS), &mut check)?;
    Ok(asked)
}

fn within(ns: u64) -> u64 {
    clock::monotonic_ns().saturating_add(ns)
}
