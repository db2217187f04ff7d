//! `wiretrial plan`: what a campaign would run. Builds and writes nothing.

use std::path::Path;

use clap::Args;
use wiretrial_contract::clock;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{Campaign, Seed};

use super::options::{self, CampaignOptions};
use super::output;
use crate::campaign::{shipped, text};
use crate::evidence::floors;
use crate::pilot::outlook;
use crate::root::ROOT;

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
    let effect = effect(&campaign);
    let text = if arguments.full {
        text::full(&campaign, arguments.seed.0, effect.as_deref())
    } else {
        text::brief(&campaign, effect.as_deref())
    };
    output::data(&text)
}

/// The effect that can be detected by the newest floors there are, whichever host class they are of:
/// which one this host is shows only when it is opened.
fn effect(campaign: &Campaign) -> Option<String> {
    let read = floors::read(Path::new(ROOT), None, clock::realtime_ns());
    let mut known = read.known;
    known.sort_by(|one, other| one.occasion.host_class.cmp(&other.occasion.host_class));
    let of_class =
        known.chunk_by(|one, other| one.occasion.host_class == other.occasion.host_class);
    let with_floors = of_class
        .map(|known| (&known[0].occasion.host_class, floors::of(campaign, known)))
        .filter(|(_, floors)| !floors.is_empty());
    let newest = with_floors.min_by_key(|(_, floors)| floors.iter().map(|one| one.age_days).min());
    let (class, floors) = newest?;
    outlook::effect(campaign, &floors, class.get(..4)?)
}
