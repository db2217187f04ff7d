//! Everything of a host that a campaign touches, behind one trait, so that the order of a trial's
//! steps can be tested on a host that only writes them down.

use std::path::PathBuf;
use std::time::Duration;

use wiretrial_contract::control::{FromChild, Hello, Role, ToChild};
use wiretrial_contract::record::HostWindow;

use crate::failure::Failure;

/// A program to start in the campaign's namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// What it is.
    pub role: Role,
    /// Whose it is, for messages: `generator`, `receiver of baseline`.
    pub name: String,
    /// The executable.
    pub program: PathBuf,
    /// Bytes of environment padding (the variable `WIRETRIAL_PADDING`).
    pub padding: u32,
    /// Where its standard error goes, appended.
    pub stderr: PathBuf,
}

/// A host that trials run on.
pub trait Host {
    /// Starts a child and reads its hello.
    ///
    /// # Errors
    ///
    /// The program is missing, ends before its hello, says something else, or has no protocol
    /// version in common with this harness.
    fn launch(&mut self, launch: &Launch) -> Result<Box<dyn Process>, Failure>;

    /// Waits until other programs leave the host alone, or the limit for that has passed. Says how
    /// many CPUs they used in the last window; `None` when it cannot be told.
    ///
    /// # Errors
    ///
    /// [`Failure::interrupted`].
    fn wait_quiet(&mut self) -> Result<Option<f64>, Failure>;

    /// Takes the counters at the start of a trial. `ours` are the processes of the trial.
    ///
    /// # Errors
    ///
    /// The agent is gone or cannot read them.
    fn begin_window(&mut self, ours: &[u32]) -> Result<(), Failure>;

    /// Takes the counters at its end, and gives both.
    ///
    /// # Errors
    ///
    /// As [`Host::begin_window`].
    fn end_window(&mut self) -> Result<HostWindow, Failure>;

    /// `CLOCK_MONOTONIC`, ns.
    fn now_ns(&self) -> u64;

    /// Sleeps.
    ///
    /// # Errors
    ///
    /// [`Failure::interrupted`].
    fn rest(&mut self, time: Duration) -> Result<(), Failure>;
}

/// A child that speaks the line protocol. Dropping it ends it, whatever it is doing.
pub trait Process {
    /// What it said first.
    fn hello(&self) -> &Hello;

    /// Says something to it.
    ///
    /// # Errors
    ///
    /// It is gone; the sentence has its exit status and the end of its standard error.
    fn send(&mut self, message: &ToChild) -> Result<(), Failure>;

    /// Hears from it within `limit`.
    ///
    /// # Errors
    ///
    /// It said `error` (its code and sentence), is gone, said something that is not a message, said
    /// nothing in time, or a signal came ([`Failure::interrupted`]).
    fn receive(&mut self, limit: Duration) -> Result<FromChild, Failure>;

    /// Asks it to end and waits for that, at most a second, then kills it.
    fn end(&mut self);
}
