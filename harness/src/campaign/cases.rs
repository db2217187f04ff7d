//! Cases as they come out of a file: what layers may not claim twice, and sweeps multiplied out.

use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::Kind;

use super::keys::Key;
use super::layers::{ArmLayer, CaseLayer, Entry, Layers, Place, Sweep};
use super::overrides::{Override, no_such_arm};

/// The name of the only case of a file without `[[case]]`.
const ONLY_CASE: &str = "default";

/// Cases of a campaign, at most: a slip in a sweep must not plan for years.
const MAX_CASES: usize = 1_000;

/// What no single layer can see: arms that do not exist, and keys that two layers claim. `arms` are
/// those of the campaign.
pub(super) fn check(
    layers: &Layers,
    overlay: &[Override],
    kind: Kind,
    arms: &[String],
) -> Result<(), Failure> {
    if let Some(arm) = layers.arms.iter().find(|arm| !arms.contains(&arm.name)) {
        return Err(arm.place.refuse(no_such_arm(&arm.name, kind, arms)));
    }
    let unknown = overlay.iter().find_map(|set| {
        let arm = set.arm.as_ref().filter(|arm| !arms.contains(arm))?;
        Some((set, arm))
    });
    if let Some((set, arm)) = unknown {
        return Err(Failure::usage(format!(
            "--set arm.{arm}.{}: {}",
            set.entry.key.path,
            no_such_arm(arm, kind, arms)
        )));
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
pub(super) fn multiply(
    mut cases: Vec<CaseLayer>,
    sweeps: &[Sweep],
) -> Result<Vec<CaseLayer>, Failure> {
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
