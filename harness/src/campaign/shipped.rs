//! The campaigns and adapters inside the binary, and the choice between them and a file.

use std::path::Path;

use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::Campaign;

use super::file::{self, Resolved};
use super::overrides::Overrides;

/// A campaign or an adapter inside the binary.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    /// What it is called on the command line or in a campaign.
    pub name: &'static str,
    /// Where it stands in the source tree; error messages name it.
    pub path: &'static str,
    /// The file.
    pub text: &'static str,
}

/// All campaigns.
pub const ALL: [Shipped; 4] = [
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
    Shipped {
        name: "calibrate",
        path: "campaigns/calibrate.toml",
        text: include_str!("../../../campaigns/calibrate.toml"),
    },
    Shipped {
        name: "tcpdump-dumpcap",
        path: "campaigns/tcpdump-dumpcap.toml",
        text: include_str!("../../../campaigns/tcpdump-dumpcap.toml"),
    },
];

/// All adapters: how known programs are started, stopped and counted.
pub const ADAPTERS: [Shipped; 4] = [
    Shipped {
        name: "tcpdump",
        path: "campaigns/adapters/tcpdump.toml",
        text: include_str!("../../../campaigns/adapters/tcpdump.toml"),
    },
    Shipped {
        name: "dumpcap",
        path: "campaigns/adapters/dumpcap.toml",
        text: include_str!("../../../campaigns/adapters/dumpcap.toml"),
    },
    Shipped {
        name: "tshark",
        path: "campaigns/adapters/tshark.toml",
        text: include_str!("../../../campaigns/adapters/tshark.toml"),
    },
    Shipped {
        name: "softflowd",
        path: "campaigns/adapters/softflowd.toml",
        text: include_str!("../../../campaigns/adapters/softflowd.toml"),
    },
];

/// The campaign that an argument means, as [`resolve`] reads it.
///
/// # Errors
///
/// As of [`resolve`].
pub fn load(argument: &str, overrides: &Overrides) -> Result<Campaign, Failure> {
    resolve(argument, overrides).map(|resolved| resolved.campaign)
}

/// The campaign that an argument means, and where the files are that it names: a file if it holds a
/// `/` or ends in `.toml`, else a shipped name, whose files are seen from the current folder.
///
/// # Errors
///
/// No such shipped campaign, a file that cannot be read, or what [`file::parse`] refuses; all with
/// exit code 2.
pub fn resolve(argument: &str, overrides: &Overrides) -> Result<Resolved, Failure> {
    if is_file(argument) {
        let folder = Path::new(argument).parent().unwrap_or(Path::new(""));
        return file::resolve(argument, &read(argument)?, folder, overrides);
    }
    let Some(shipped) = ALL.iter().find(|shipped| shipped.name == argument) else {
        return Err(Failure::usage(format!(
            "unknown campaign {argument}; shipped: {}; a file is named with a / or .toml",
            names(&ALL)
        )));
    };
    file::resolve(shipped.path, shipped.text, Path::new(""), overrides)
}

/// The shipped campaign or adapter of this name.
///
/// # Errors
///
/// There is none; exit code 2.
pub fn find(name: &str) -> Result<Shipped, Failure> {
    let mut all = ALL.into_iter().chain(ADAPTERS);
    all.find(|shipped| shipped.name == name).ok_or_else(|| {
        Failure::usage(format!(
            "nothing shipped is called {name}; campaigns: {}; adapters: {}",
            names(&ALL),
            names(&ADAPTERS)
        ))
    })
}

/// Whether an argument names a file.
#[must_use]
pub fn is_file(argument: &str) -> bool {
    argument.contains('/') || argument.ends_with(".toml")
}

/// Names, comma separated.
pub(super) fn names(shipped: &[Shipped]) -> String {
    let names: Vec<&str> = shipped.iter().map(|shipped| shipped.name).collect();
    names.join(", ")
}

/// Longest campaign file, bytes.
const LONGEST: u64 = 1 << 20;

/// The text of a campaign file or adapter.
pub(super) fn read(path: &str) -> Result<String, Failure> {
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
                "unknown campaign dmo; shipped: demo, floor, calibrate, tcpdump-dumpcap; a file is named with a / or .toml"
            )
        );
    }
}
