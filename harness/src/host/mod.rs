//! Everything of a host that a campaign touches, behind one trait, so that the order of a trial's
//! steps can be tested on a host that only writes them down.

mod agent;
mod child;
pub mod class;
mod interrupt;
mod isolation;
mod local;
mod lock;
mod namespaces;
mod peer;
mod placement;
mod ports;
mod processor;
mod quiet;
mod tasks;

use std::path::PathBuf;
use std::time::Duration;

use wiretrial_contract::control::{FromChild, Hello, Role, ToChild};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::record::HostWindow;

pub use agent::Agent;
pub use interrupt::Interrupt;
pub use isolation::IsolationChoice;
pub use local::{LocalHost, Setting};
pub use lock::HostLock;
pub use placement::choose as choose_placement;
pub use processor::counts_instructions;
pub use tasks::TaskTimes;

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

    /// Rests, and watches other programs while it does: for `rest` and at least a quarter second,
    /// then in further windows until they use less than `cpus` CPUs or 40 s have passed. Says how
    /// many they used in the last window; `None` when it cannot be told.
    ///
    /// # Errors
    ///
    /// [`Failure::interrupted`].
    fn wait_quiet(&mut self, rest: Duration, cpus: f64) -> Result<Option<f64>, Failure>;

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

    /// Whether the host itself still stands: asked after a trial that failed.
    ///
    /// # Errors
    ///
    /// Its agent is gone (exit 3): no further trial can run, and none is to blame.
    fn alive(&mut self) -> Result<(), Failure>;

    /// `CLOCK_MONOTONIC`, ns.
    fn now_ns(&self) -> u64;
}

/// A child that speaks the line protocol. Dropping it ends it, whatever it is doing.
pub trait Process {
    /// Whose it is, as in [`Launch::name`].
    fn name(&self) -> &str;

    /// What it said first.
    fn hello(&self) -> &Hello;

    /// Says something to it.
    ///
    /// # Errors
    ///
    /// It is gone; the sentence has its exit status and the end of its standard error.
    fn send(&mut self, message: &ToChild) -> Result<(), Failure>;

    /// Hears from it within `limit`; `None` when it said nothing.
    ///
    /// # Errors
    ///
    /// It said `error` (its code and sentence), is gone, said something that is not a message, or a
    /// signal came ([`Failure::interrupted`]).
    fn poll(&mut self, limit: Duration) -> Result<Option<FromChild>, Failure>;

    /// Hears from it within `limit`.
    ///
    /// # Errors
    ///
    /// As [`Process::poll`], and silence.
    fn receive(&mut self, limit: Duration) -> Result<FromChild, Failure> {
        self.poll(limit)?.ok_or_else(|| {
            Failure::evidence(format!(
                "{} said nothing for {} s",
                self.name(),
                limit.as_secs_f64()
            ))
        })
    }

    /// Asks it to end and waits for that, at most a second, then kills it.
    fn end(&mut self);
}
