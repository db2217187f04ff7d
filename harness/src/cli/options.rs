//! Options that mean the same on every verb that measures.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{Campaign, Seed};
use wiretrial_contract::units::{Nanos, UnitError};

use super::output;
use crate::campaign::keys::{self, Range};
use crate::campaign::overrides::Overrides;
use crate::executables::Named;
use crate::host::{Interrupt, IsolationChoice};
use crate::session::Options;

/// What the command line sets over a campaign file.
#[derive(Debug, Args)]
pub(super) struct CampaignOptions {
    /// Pairs per case, even, at least 6
    #[arg(long, value_name = "N")]
    pairs: Option<u32>,
    /// Smallest change worth having, declared before the data: 3%, or a number where the metric is
    /// compared as a difference
    #[arg(long, value_name = "MARGIN")]
    margin: Option<String>,
    /// Run the candidate against itself, to see the floor of this host
    #[arg(long)]
    aa: bool,
    /// Set a key of the campaign, as in --set traffic.duration=2s; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Few short pairs: shows that all parts work, decides little
    #[arg(long)]
    quick: bool,
    /// First of the UDP ports in a row: one an arm, then the control port
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
}

impl CampaignOptions {
    pub(super) fn overrides(&self) -> Overrides {
        Overrides {
            set: self.set.clone(),
            pairs: self.pairs,
            margin: self.margin.clone(),
            aa: self.aa,
            quick: self.quick,
            port: self.port,
        }
    }
}

/// How many pairs, by the time there is for them.
#[derive(Debug, Args)]
pub(super) struct TimeOption {
    /// As many pairs as fit in this time, by what the pilot's take
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "pairs")]
    time: Option<Nanos>,
}

impl TimeOption {
    /// Asks it of a campaign.
    ///
    /// # Errors
    ///
    /// The campaign has no pilot to choose them (exit 2).
    pub(super) fn ask(&self, campaign: &mut Campaign) -> Result<(), Failure> {
        let Some(Nanos(time_ns)) = self.time else {
            return Ok(());
        };
        if campaign.design.pilot == 0 {
            return Err(Failure::usage(
                "--time lets the pilot choose the pairs, and design.pilot is 0, as with --quick; \
                 --set design.pilot=3, or --pairs",
            ));
        }
        campaign.design.time_ns = Some(time_ns);
        Ok(())
    }
}

/// Where and with what trials run.
#[derive(Debug, Args)]
pub(super) struct HostOptions {
    /// How trials are kept apart from this host
    #[arg(long, value_enum, default_value_t)]
    pub(super) isolation: IsolationChoice,
    /// A target beyond private networks that is yours; may be repeated
    #[arg(long, value_name = "ADDR")]
    pub(super) allow_target: Vec<IpAddr>,
    /// The receiver to run, instead of the one beside this executable
    #[arg(long, value_name = "FILE")]
    receiver_binary: Option<PathBuf>,
    /// The generator to run, instead of the one beside this executable
    #[arg(long, value_name = "FILE")]
    generator_binary: Option<PathBuf>,
}

impl HostOptions {
    pub(super) fn options(&self, interrupt: Interrupt) -> Options {
        Options {
            isolation: self.isolation,
            allowed_targets: self.allow_target.clone(),
            named: Named {
                generator: self.generator_binary.clone(),
                receiver: self.receiver_binary.clone(),
            },
            interrupt,
            lock: None,
            ci_attempt: ci_attempt(|name| std::env::var(name).ok()),
            say: output::note,
        }
    }
}

/// What GitHub says (`GITHUB_RUN_ATTEMPT`, docs.github.com, "Variables reference"). GitLab gives a
/// retried job no number.
fn ci_attempt(variable: impl Fn(&str) -> Option<String>) -> Option<u32> {
    variable("GITHUB_RUN_ATTEMPT")?.parse().ok()
}

/// Reads a time that pairs may take: of the range of `design.budget`, the other limit on running time.
fn time(text: &str) -> Result<Nanos, String> {
    let time: Nanos = text.parse().map_err(|error: UnitError| error.to_string())?;
    let budget = keys::find("design.budget").expect("a key of campaign files");
    match budget.range {
        Range::Within(least, most) if !(least..=most).contains(&time.0) => {
            Err(format!("it must be {}", budget.range_text()))
        }
        _ => Ok(time),
    }
}

/// Reads a seed.
pub(super) fn seed(text: &str) -> Result<Seed, String> {
    text.parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_one_that_a_budget_may_be() {
        for (text, is) in [
            ("1s", true),
            ("10080m", true),
            ("0s", false),
            ("999ms", false),
            ("604801s", false),
        ] {
            assert_eq!(time(text).is_ok(), is, "{text}");
        }
        assert_eq!(time("0s").unwrap_err(), "it must be 1s to 604800s");
    }
}
