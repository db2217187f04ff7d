//! `wiretrial new`: a commented campaign file to begin with.

use clap::{Args, ValueEnum};
use wiretrial_contract::failure::Failure;

use super::output;
use crate::campaign::shipped;
use crate::campaign::skeleton::{self, Skeleton};

/// Print a campaign file with every key, its allowed values and default; or one that is shipped.
///
/// Example: wiretrial new program > .wiretrial.toml
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// What to begin with
    #[arg(value_enum, default_value_t)]
    kind: Kind,
    /// Print a shipped campaign or adapter instead, such as demo or tcpdump
    #[arg(long, value_name = "NAME", conflicts_with = "kind")]
    from: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Kind {
    /// Two configurations of the built-in receiver under live traffic
    #[default]
    Paired,
    /// A table of many configurations of the built-in receiver under live traffic
    Table,
    /// The highest rate that is sustained; not run by this version
    Probe,
    /// A capture program of yours
    Program,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(name) = &arguments.from {
        return output::data(shipped::find(name)?.text);
    }
    output::data(&skeleton::text(match arguments.kind {
        Kind::Paired => Skeleton::Paired,
        Kind::Table => Skeleton::Table,
        Kind::Probe => Skeleton::Probe,
        Kind::Program => Skeleton::Program,
    }))
}
