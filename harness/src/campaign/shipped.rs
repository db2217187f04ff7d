//! The campaigns inside the binary, and the choice between them and a file.

use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::Campaign;

use super::file;
use super::overrides::Overrides;

/// A campaign inside the binary.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    /// What it is called on the command line.
    pub name: &'static str,
    /// Where it stands in the source tree; error messages name it.
    pub path: &'static str,
    /// The file.
    pub text: &'static str,
}

/// All of them.
pub const ALL: [Shipped; 2] = [
    Shipped {
        name: "demo",
        path: "campaigns/demo.toml",
        text: include_str!("../../../campaigns/demo.toml"),
    },
    Shipped {
        name: "floor",
        path: "campaigns/floor.toml",
        text: include_str!("../../../campaigns/floor.toml"),
    },
];

/// The campaign that an argument means: a file if it holds a `/` or ends in `.toml`, else a
/// shipped name.
///
/// # Errors
///
/// No such shipped campaign, a file that cannot be read, or what [`file::parse`] refuses; all with
/// exit code 2.
pub fn load(argument: &str, overrides: &Overrides) -> Result<Campaign, Failure> {
    if argument.contains('/') || argument.ends_with(".toml") {
        return file::parse(argument, &read(argument)?, overrides);
    }
    let Some(shipped) = ALL.iter().find(|shipped| shipped.name == argument) else {
        let names: Vec<&str> = ALL.iter().map(|shipped| shipped.name).collect();
        return Err(Failure::usage(format!(
            "unknown campaign {argument}; shipped: {}; a file is named with a / or .toml",
            names.join(", ")
        )));
    };
    file::parse(shipped.path, shipped.text, overrides)
}

/// Longest campaign file, bytes.
const LONGEST: u64 = 1 << 20;

fn read(path: &str) -> Result<String, Failure> {
    let cannot = |why: String| Failure::usage(format!("cannot read {path}: {why}"));
    let data = std::fs::metadata(path).map_err(|error| cannot(error.to_string()))?;
    if !data.is_file() {
        return Err(cannot("it is no file".into()));
    }
    if data.len() > LONGEST {
        return Err(cannot(format!(
            "it has {} bytes, a campaign at most {LONGEST}",
            data.len()
        )));
    }
    std::fs::read_to_string(path).map_err(|error| cannot(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_campaign_is_read_and_has_its_own_name() {
        for shipped in ALL {
            let campaign = load(shipped.name, &Overrides::default()).unwrap();
            assert_eq!(campaign.name, shipped.name);
        }
    }

    #[test]
    fn an_argument_with_a_slash_or_the_ending_is_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.toml");
        std::fs::write(&path, ALL[0].text).unwrap();
        let campaign = load(path.to_str().unwrap(), &Overrides::default()).unwrap();
        assert_eq!(campaign.name, "demo");
        let failure = load("missing.toml", &Overrides::default()).unwrap_err();
        assert!(
            failure.message.starts_with("cannot read missing.toml: "),
            "{failure}"
        );
        assert_eq!(
            load("dmo", &Overrides::default()).unwrap_err(),
            Failure::usage(
                "unknown campaign dmo; shipped: demo, floor; a file is named with a / or .toml"
            )
        );
    }
}
