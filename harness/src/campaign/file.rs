//! A campaign file and the command line's overrides, resolved to a campaign.
//!
//! Layers merge: defaults < file < case < arm < `--quick` < `--set` < the flags of their own. Every
//! key is known and every value has its form before anything is merged; what values mean together
//! is checked after it.

use std::collections::BTreeMap;

use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{ArmSpec, Campaign, Case, Kind, Live, Work};

use super::keys::{self, Default as KeyDefault, Key, Level};
use super::layers::{self, ArmLayer, CaseLayer, Entry, Layers, Place, Sweep};
use super::overrides::{Override, Overrides, PAIRED_ARMS, no_such_arm};
use super::resolve::{self, Settings};
use super::rules;
use super::value::is_name;

/// The name of the only case of a file without `[[case]]`.
const ONLY_CASE: &str = "default";

/// Cases of a campaign, at most: a slip in a sweep must not plan for years.
const MAX_CASES: usize = 1_000;

/// Resolves the text of a campaign file. `label` is what error messages call the file.
///
/// # Errors
///
/// One sentence with exit code 2: what is wrong, with file and line where it was written, and what
/// to do.
pub fn parse(label: &str, text: &str, overrides: &Overrides) -> Result<Campaign, Failure> {
    let mut layers = layers::read(label, text)?;
    let overlay = overrides.read()?;
    check_layers(&layers, &overlay)?;
    layers.cases = multiply(std::mem::take(&mut layers.cases), &layers.sweeps)?;

    let file = merged(&[&layers.file], &overlay, None);
    require(label, &file, Level::Campaign, "")?;
    let kind = Kind::Paired;
    let design = resolve::design(&file);
    let topology = resolve::topology(&file);
    let mut cases = Vec::new();
    for case in &layers.cases {
        let mut arms = Vec::new();
        for name in PAIRED_ARMS {
            // An A/A campaign has the candidate twice.
            let name = if design.aa { PAIRED_ARMS[1] } else { name };
            let arm: &[Entry] = layers
                .arms
                .iter()
                .find(|arm| arm.name == name)
                .map_or(&[], |arm| &arm.entries);
            let settings = merged(&[&layers.file, &case.entries, arm], &overlay, Some(name));
            require(
                label,
                &settings,
                Level::Arm,
                &format!(" in case {}", case.name),
            )?;
            arms.push(settings);
        }
        let traffic = resolve::traffic(&arms, topology.family);
        let receivers = arms
            .iter()
            .map(|arm| resolve::receiver(arm, topology.family, traffic.frame_size))
            .collect();
        cases.push(Case {
            name: case.name.clone(),
            work: Work::Live(Live { traffic, receivers }),
        });
    }
    let campaign = Campaign {
        name: file.word("name").unwrap_or_else(|| stem(label)),
        kind,
        question: file.fixed_word("question"),
        design,
        topology,
        arms: PAIRED_ARMS.map(|name| ArmSpec { name: name.into() }).into(),
        cases,
        gates: Vec::new(),
    };
    rules::check(&campaign)?;
    Ok(campaign)
}

/// Whether the arms are configured alike in every case although nobody asked for an A/A campaign.
/// If their executables are the same too, there is nothing to compare.
#[must_use]
pub fn identical_arms(campaign: &Campaign) -> bool {
    !campaign.design.aa
        && campaign.cases.iter().all(|case| match &case.work {
            Work::Live(live) => live.receivers.windows(2).all(|pair| pair[0] == pair[1]),
            Work::Passes(passes) => passes.programs.windows(2).all(|pair| pair[0] == pair[1]),
        })
}

/// What no single layer can see: arms that do not exist, and keys that two layers claim.
fn check_layers(layers: &Layers, overlay: &[Override]) -> Result<(), Failure> {
    for arm in &layers.arms {
        if !PAIRED_ARMS.contains(&arm.name.as_str()) {
            return Err(arm.place.refuse(no_such_arm(&arm.name)));
        }
    }
    for case in &layers.cases {
        let claim = format!("set by case {}", case.name);
        for entry in &case.entries {
            refuse_claimed_by_arm(&layers.arms, entry.key, &entry.place, &claim)?;
        }
    }
    for (index, case) in layers.cases.iter().enumerate() {
        if layers.cases[..index]
            .iter()
            .any(|other| other.name == case.name)
        {
            return Err(case.place.refuse(format_args!(
                "a second case is called {}; names are unique",
                case.name
            )));
        }
    }
    for sweep in &layers.sweeps {
        let path = sweep.key.path;
        refuse_claimed_by_arm(&layers.arms, sweep.key, &sweep.place, "swept")?;
        let claimed = layers
            .cases
            .iter()
            .find(|case| case.entries.iter().any(|entry| entry.key.path == path));
        if let Some(case) = claimed {
            return Err(sweep.place.refuse(format_args!(
                "{path} is swept and set by case {}; leave one of them",
                case.name
            )));
        }
        if let Some(Override { entry, .. }) = overlay.iter().find(|set| set.entry.key.path == path)
        {
            let flag = match entry.place {
                Place::Flag(name) => name,
                _ => "--set",
            };
            return Err(Failure::usage(format!(
                "{flag} cannot set {path}: the campaign sweeps it, and its cases are named after it"
            )));
        }
    }
    Ok(())
}

fn refuse_claimed_by_arm(
    arms: &[ArmLayer],
    key: &Key,
    place: &Place,
    claimed: &str,
) -> Result<(), Failure> {
    let claim = arms
        .iter()
        .find(|arm| arm.entries.iter().any(|entry| entry.key.path == key.path));
    claim.map_or(Ok(()), |arm| {
        Err(place.refuse(format_args!(
            "{} is {claimed} and set by arm {}; leave one of them",
            key.path, arm.name
        )))
    })
}

/// Every case once per combination of the swept values, the first key of the file slowest.
fn multiply(mut cases: Vec<CaseLayer>, sweeps: &[Sweep]) -> Result<Vec<CaseLayer>, Failure> {
    if cases.is_empty() {
        cases.push(CaseLayer {
            name: ONLY_CASE.into(),
            place: Place::Table,
            entries: Vec::new(),
        });
    }
    for sweep in sweeps {
        let number = cases.len().saturating_mul(sweep.steps.len());
        if number > MAX_CASES {
            return Err(sweep.place.refuse(format_args!(
                "sweep.{} makes {number} cases; at most {MAX_CASES} are allowed",
                sweep.key.path
            )));
        }
        let mut product = Vec::new();
        for case in &cases {
            for (suffix, value) in &sweep.steps {
                let mut case = case.clone();
                case.name = format!("{}/{suffix}", case.name);
                case.entries.push(Entry {
                    key: sweep.key,
                    value: value.clone(),
                    place: sweep.place.clone(),
                });
                product.push(case);
            }
        }
        cases = product;
        if let Some(name) = repeated(&cases) {
            return Err(sweep.place.refuse(format_args!(
                "sweep.{} makes two cases called {name}; names are unique",
                sweep.key.path
            )));
        }
    }
    Ok(cases)
}

fn repeated(cases: &[CaseLayer]) -> Option<&str> {
    let mut names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    names.sort_unstable();
    names
        .windows(2)
        .find(|pair| pair[0] == pair[1])
        .map(|pair| pair[0])
}

fn merged(layers: &[&[Entry]], overlay: &[Override], arm: Option<&str>) -> Settings {
    let mut settings = BTreeMap::new();
    for key in keys::KEYS {
        if let KeyDefault::Fixed(text) = key.default {
            let value = key.form.read_default(text);
            settings.insert(key.path, value.expect("a test reads every fixed default"));
        }
    }
    let overlay = overlay
        .iter()
        .filter(|set| set.arm.is_none() || set.arm.as_deref() == arm)
        .map(|set| &set.entry);
    for entry in layers.iter().copied().flatten().chain(overlay) {
        settings.insert(entry.key.path, entry.value.clone());
    }
    Settings(settings)
}

/// Refuses a required key that nobody set. Keys of cases are looked for only when `level` is of
/// cases or arms.
fn require(label: &str, settings: &Settings, level: Level, place: &str) -> Result<(), Failure> {
    let missing = keys::KEYS.iter().find(|key| {
        key.default == KeyDefault::Required && key.level <= level && !settings.has(key.path)
    });
    missing.map_or(Ok(()), |key| {
        Err(Failure::usage(format!(
            "{label}: {} is not set{place}; it has no default",
            key.path
        )))
    })
}

/// A name from that of the file: `bench/Mix.toml` is `mix`, `.wiretrial.toml` is `wiretrial`.
fn stem(label: &str) -> String {
    let file = label.rsplit('/').next().unwrap_or(label).to_lowercase();
    let stem = file.strip_suffix(".toml").unwrap_or(&file);
    let stem = stem.trim_start_matches('.');
    if is_name(stem) { stem } else { "campaign" }.into()
}
