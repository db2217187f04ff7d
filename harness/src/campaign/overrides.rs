//! What the command line sets over a campaign file.

use toml::de::DeValue;

use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::Kind;

use super::keys::{self, Level};
use super::layers::{self, Entry, Place};
use super::value::Raw;

/// The arms of a paired campaign, the reference first.
pub const PAIRED_ARMS: [&str; 2] = ["baseline", "candidate"];

/// Keys that `--quick` sets where a campaign has them, and to what. Its results are flagged by these
/// effects: few pairs and few slices make evidence exploratory.
pub const QUICK: [(&str, &str); 4] = [
    ("design.pairs", "6"),
    ("design.pilot", "0"),
    ("traffic.duration", "200ms"),
    ("workload.passes", "2"),
];

/// What the command line sets over the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--set key=value`, in order; the value is TOML, else a text. A key may be one of an arm:
    /// `arm.candidate.receiver.timeout=1ms`.
    pub set: Vec<String>,
    /// `--pairs`.
    pub pairs: Option<u32>,
    /// `--margin`.
    pub margin: Option<String>,
    /// `--aa`.
    pub aa: bool,
    /// `--quick`: [`QUICK`].
    pub quick: bool,
    /// `--port`.
    pub port: Option<u16>,
}

/// One setting of the command line; `arm` limits it to one.
#[derive(Debug)]
pub(super) struct Override {
    pub(super) arm: Option<String>,
    pub(super) entry: Entry,
}

impl Overrides {
    /// Reads them in the order in which they are laid over the file.
    pub(super) fn read(&self) -> Result<Vec<Override>, Failure> {
        let mut overlay = Vec::new();
        let flag = |path: &str, raw: &Raw, name: &'static str| {
            let key = keys::find(path).expect("flags set known keys");
            let place = Place::Flag(name);
            layers::typed(key, raw, &place).map(|value| Override {
                arm: None,
                entry: Entry { key, value, place },
            })
        };
        if self.quick {
            for (path, text) in QUICK {
                overlay.push(flag(path, &Raw::Text(text.into()), "--quick")?);
            }
        }
        for assignment in &self.set {
            overlay.push(set(assignment)?);
        }
        if let Some(pairs) = self.pairs {
            overlay.push(flag(
                "design.pairs",
                &Raw::Integer(pairs.into()),
                "--pairs",
            )?);
        }
        if let Some(margin) = &self.margin {
            overlay.push(flag(
                "design.margin",
                &Raw::Text(margin.clone()),
                "--margin",
            )?);
        }
        if self.aa {
            overlay.push(flag("design.aa", &Raw::Switch(true), "--aa")?);
        }
        if let Some(port) = self.port {
            overlay.push(flag("topology.port", &Raw::Integer(port.into()), "--port")?);
        }
        Ok(overlay)
    }
}

fn set(assignment: &str) -> Result<Override, Failure> {
    let Some((written, value)) = assignment.split_once('=') else {
        return Err(Failure::usage(format!(
            "--set {assignment}: no value; write --set key=value"
        )));
    };
    let (written, value) = (written.trim(), value.trim());
    let (arm, path) = match written
        .strip_prefix("arm.")
        .and_then(|rest| rest.split_once('.'))
    {
        Some((arm, path)) => (Some(arm.to_owned()), path),
        None => (None, written),
    };
    let prefix = &written[..written.len() - path.len()];
    let refuse = |sentence: String| Failure::usage(format!("--set {written}: {sentence}"));
    let Some(key) = keys::find(path) else {
        return Err(refuse(keys::suggestion(path).map_or_else(
            || "unknown key; wiretrial new lists all keys".into(),
            |meant| format!("unknown key; did you mean {prefix}{meant}?"),
        )));
    };
    if path == "schema" {
        return Err(refuse("the version belongs to the file".into()));
    }
    if arm.is_some() && key.level != Level::Arm {
        return Err(refuse(layers::OF_ARMS.into()));
    }
    let raw = DeValue::parse(value).map_or_else(
        |_| Raw::Text(value.into()),
        |parsed| Raw::from_toml(parsed.get_ref()),
    );
    let place = Place::Set;
    let value = layers::typed(key, &raw, &place)?;
    Ok(Override {
        arm,
        entry: Entry { key, value, place },
    })
}

/// The sentence about an arm that there is not.
pub(super) fn no_such_arm(name: &str, kind: Kind, arms: &[String]) -> String {
    format!(
        "{name} is not an arm of a {} campaign; they are {}",
        kind.name(),
        arms.join(" and ")
    )
}
