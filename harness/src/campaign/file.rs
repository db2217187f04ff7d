//! A campaign file and the command line's overrides, resolved to a campaign.
//!
//! Layers merge: defaults < file < case < arm < `--quick` < `--set` < the flags of their own; the keys
//! of an adapter lie right below those of the layer that names it. Every key is known and every value
//! has its form before anything is merged; what values mean together is checked after it.

use std::path::{Path, PathBuf};

use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{ArmSpec, Campaign, Case, Kind, Work, Workload};

use super::adapters::{Adapters, seen_from};
use super::keys::{self, Default as KeyDefault, Level};
use super::layers::{self, CaseLayer, Entry, Layers, Place};
use super::overrides::{Override, Overrides, PAIRED_ARMS};
use super::settings::Settings;
use super::value::is_name;
use super::{cases, gates, outside, resolve, rules};
use crate::workload;

/// Arms of a table, at least and at most: every one has a ring, a process and a port at the same time.
const TABLE_ARMS: [usize; 2] = [2, 8];

/// A campaign and where the files are that it names.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// The campaign, every default filled in. Capture files were not read: their sums are empty.
    pub campaign: Campaign,
    /// The capture file of every case, in the order of the cases; empty unless they read files.
    pub inputs: Vec<PathBuf>,
    /// The folder that relative paths in the campaign are seen from; empty for the current one.
    pub folder: PathBuf,
}

/// Resolves the text of a campaign file. `label` is its path, and what error messages call it.
///
/// # Errors
///
/// As of [`resolve`].
pub fn parse(label: &str, text: &str, overrides: &Overrides) -> Result<Campaign, Failure> {
    let folder = Path::new(label).parent().unwrap_or(Path::new(""));
    resolve(label, text, folder, overrides).map(|resolved| resolved.campaign)
}

/// Resolves the text of a campaign file. `label` is what error messages call it; `folder` is where
/// its paths begin. Only adapters that it names by path are read.
///
/// # Errors
///
/// One sentence with exit code 2: what is wrong, with file and line where it was written, and what
/// to do.
pub fn resolve(
    label: &str,
    text: &str,
    folder: &Path,
    overrides: &Overrides,
) -> Result<Resolved, Failure> {
    let mut layers = layers::read(label, text)?;
    let mut overlay = overrides.read()?;
    let adapters = Adapters { folder };
    let file = merged(&[&layers.file], &overlay, None, adapters)?;
    let kind = resolve::kind(&file);
    let names = arm_names(label, kind, &layers)?;
    cases::check(&layers, &overlay, kind, &names)?;
    layers.cases = cases::multiply(std::mem::take(&mut layers.cases), &layers.sweeps)?;
    let workload = resolve::workload(&file);
    overlay.retain(|set| {
        set.entry.place != Place::Flag("--quick")
            || resolve::not_here(set.entry.key.path, workload).is_none()
    });
    require(label, &file, Level::Campaign, workload, "")?;
    let aa = file.switch("design.aa");
    let mut settings = Vec::new();
    for case in &layers.cases {
        let arms = arms(&layers, case, &overlay, &names, aa, adapters)?;
        for arm in &arms {
            refuse_idle(arm, workload)?;
            let place = format!(" in case {}", case.name);
            require(label, arm, Level::Arm, workload, &place)?;
        }
        settings.push((case, arms));
    }
    let outside = outside(label, &settings, &names, workload)?;
    let topology = resolve::topology(&file, outside && workload == Workload::Live);
    let design = resolve::design(&file, kind, &names, workload, topology.receive_cpu)?;
    let mut cases = Vec::new();
    let mut inputs = Vec::new();
    for (case, arms) in &settings {
        let mut programs = Vec::new();
        for (arm, name) in arms.iter().zip(&names) {
            let place = format!(" for arm {name} in case {}", case.name);
            programs.push(if outside {
                Some(outside::program(arm, workload, label, &place)?)
            } else {
                None
            });
        }
        let work = match workload {
            Workload::Live => Work::Live(resolve::live(arms, programs, topology.family)),
            Workload::File | Workload::Command => {
                Work::Passes(resolve::passes(arms, programs, workload))
            }
        };
        if workload == Workload::File {
            let Some(written) = arms[0].word("workload.file") else {
                return Err(Failure::usage(format!(
                    "{label}: workload.file is not set in case {}; a file workload reads one",
                    case.name
                )));
            };
            // A standard input lies in no folder.
            inputs.push(match workload::parse_standard(&written) {
                Some(_) => written.into(),
                None => seen_from(folder, &written, arms[0].place("workload.file")),
            });
        }
        cases.push(Case {
            name: case.name.clone(),
            work,
        });
    }
    let campaign = Campaign {
        name: file.word("name").unwrap_or_else(|| stem(label)),
        kind,
        question: file.fixed_word("question"),
        design,
        topology,
        arms: names.into_iter().map(|name| ArmSpec { name }).collect(),
        cases,
        gates: layers.gates.iter().map(|gate| gate.spec.clone()).collect(),
    };
    gates::check(&layers.gates, &campaign)?;
    rules::check(&campaign)?;
    Ok(Resolved {
        campaign,
        inputs,
        folder: folder.into(),
    })
}

/// Whether the arms are configured alike in every case although nobody asked for an A/A campaign.
/// If their executables are the same too, there is nothing to compare.
#[must_use]
pub fn identical_arms(campaign: &Campaign) -> bool {
    // A table may have an arm twice, to see how far equal ones come out apart beside the others.
    campaign.kind == Kind::Paired
        && !campaign.design.aa
        && campaign.cases.iter().all(|case| match &case.work {
            Work::Live(live) => live.receivers.windows(2).all(|pair| pair[0] == pair[1]),
            Work::Passes(passes) => passes.programs.windows(2).all(|pair| pair[0] == pair[1]),
        })
}

/// The names of the arms: those of every paired campaign, or those that the file of a table has, in its
/// order.
fn arm_names(label: &str, kind: Kind, layers: &Layers) -> Result<Vec<String>, Failure> {
    if kind == Kind::Paired {
        return Ok(PAIRED_ARMS.map(str::to_owned).into());
    }
    if let Some(arm) = layers.arms.iter().find(|arm| !is_name(&arm.name)) {
        return Err(arm.place.refuse(format_args!(
            "arm {} is no name: a-z, 0-9, dot, underscore and dash, a letter or digit first",
            arm.name
        )));
    }
    let names: Vec<String> = layers.arms.iter().map(|arm| arm.name.clone()).collect();
    let allowed = TABLE_ARMS[0]..=TABLE_ARMS[1];
    if !allowed.contains(&names.len()) {
        return Err(Failure::usage(format!(
            "{label}: a table of {} arms; write {} to {} tables [arm.NAME.receiver] or \
             [arm.NAME.program]",
            names.len(),
            TABLE_ARMS[0],
            TABLE_ARMS[1]
        )));
    }
    Ok(names)
}

/// The settings of all arms in a case.
fn arms(
    layers: &Layers,
    case: &CaseLayer,
    overlay: &[Override],
    names: &[String],
    aa: bool,
    adapters: Adapters<'_>,
) -> Result<Vec<Settings>, Failure> {
    let settings = names.iter().map(|name| {
        // An A/A campaign has the candidate twice.
        let name = if aa { PAIRED_ARMS[1] } else { name };
        let arm = layers.arms.iter().find(|arm| arm.name == name);
        let arm: &[Entry] = arm.map_or(&[], |arm| &arm.entries);
        let layers = [&layers.file[..], &case.entries, arm];
        merged(&layers, overlay, Some(name), adapters)
    });
    settings.collect()
}

/// Whether programs of the user's are measured: in every arm of every case, or in none.
fn outside(
    label: &str,
    cases: &[(&CaseLayer, Vec<Settings>)],
    names: &[String],
    workload: Workload,
) -> Result<bool, Failure> {
    let find = |outside: bool| {
        cases.iter().find_map(|(case, arms)| {
            let arms = arms.iter().zip(names);
            let mut names = arms.filter(|(arm, _)| is_outside(arm) == outside);
            names
                .next()
                .map(|(_, arm)| format!("arm {arm} of case {}", case.name))
        })
    };
    match (find(true), find(false)) {
        (Some(one), Some(other)) => Err(Failure::usage(format!(
            "{label}: {one} has a [program] and {other} has none; measure programs in all arms \
             of every case, or the built-in receiver in all"
        ))),
        (one, _) => Ok(one.is_some() || workload == Workload::Command),
    }
}

fn is_outside(arm: &Settings) -> bool {
    arm.set_by_hand(outside::PREFIX).next().is_some()
}

/// Refuses a key that somebody set and that means nothing in this workload. Where the command line
/// chose the workload, the file may hold keys of the one it would have had.
fn refuse_idle(settings: &Settings, workload: Workload) -> Result<(), Failure> {
    let of_file = |path| matches!(settings.place(path), Place::Line(..) | Place::Table);
    let idle = settings
        .set_by_hand("")
        .filter(|path| of_file("workload.kind") || !of_file(path))
        .find_map(|path| Some((path, resolve::not_here(path, workload)?)));
    idle.map_or(Ok(()), |(path, why)| {
        Err(settings.refuse(
            path,
            &format!(
                "is set, but a {} workload {why}; leave it out",
                workload.name()
            ),
        ))
    })
}

fn merged(
    layers: &[&[Entry]],
    overlay: &[Override],
    arm: Option<&str>,
    adapters: Adapters<'_>,
) -> Result<Settings, Failure> {
    let mut settings = Settings::defaults();
    for layer in layers {
        settings.lay(layer.iter(), adapters)?;
    }
    let overlay = overlay
        .iter()
        .filter(|set| set.arm.is_none() || set.arm.as_deref() == arm);
    for set in overlay {
        settings.lay(std::iter::once(&set.entry), adapters)?;
    }
    Ok(settings)
}

/// Refuses a required key that nobody set. Keys of cases are looked for only when `level` is of
/// cases or arms.
fn require(
    label: &str,
    settings: &Settings,
    level: Level,
    workload: Workload,
    place: &str,
) -> Result<(), Failure> {
    let missing = keys::KEYS.iter().find(|key| {
        key.default == KeyDefault::Required
            && key.level <= level
            && resolve::not_here(key.path, workload).is_none()
            && !settings.has(key.path)
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
