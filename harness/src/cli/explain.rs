//! `wiretrial explain`: what a word in a report means.

use clap::Args;
use wiretrial_contract::failure::Failure;

use super::output;
use crate::explain;

/// Say what a verdict, stage, flag, guard, metric, limit or exit code means: who counts it, the
/// usual cause, what to do. Without a word, list them.
///
/// Example: wiretrial explain coupled_limit
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The word
    word: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.word {
        Some(word) => output::data(&explain::explain(word)?),
        None => output::data(&explain::list()),
    }
}
