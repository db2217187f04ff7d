//! `wiretrial plan`: what a campaign would run. Builds and writes nothing.

use clap::Args;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::Seed;

use super::options::{self, CampaignOptions};
use super::output;
use crate::campaign::{shipped, text};

/// Print what a campaign would run; nothing is built, sent or written.
///
/// Example: wiretrial plan demo --full
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A campaign file, or the name of a shipped campaign
    campaign: String,
    /// Every trial and every default
    #[arg(long)]
    full: bool,
    /// Seed of the order shown with --full
    #[arg(long, value_parser = options::seed, default_value = "0x5eed5eed5eed5eed")]
    seed: Seed,
    #[command(flatten)]
    options: CampaignOptions,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let campaign = shipped::load(&arguments.campaign, &arguments.options.overrides())?;
    let text = if arguments.full {
        text::full(&campaign, arguments.seed.0)
    } else {
        text::brief(&campaign)
    };
    output::data(&text)
}
