//! What the running kernel was built with, where it says so.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;

use flate2::read::GzDecoder;

/// Bytes of a configuration at most; they are some 300,000.
const LIMIT: u64 = 8 << 20;

/// The options that are built in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Config(BTreeSet<String>);

impl Config {
    /// That of the running kernel: /proc/config.gz, or where distributions keep it.
    pub(super) fn read() -> Option<Self> {
        let zipped = || {
            let mut text = String::new();
            let file = File::open("/proc/config.gz").ok()?;
            let mut reader = GzDecoder::new(file).take(LIMIT);
            reader.read_to_string(&mut text).ok().map(|_| text)
        };
        let plain = || {
            let release = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
            let release = release.trim();
            [
                format!("/boot/config-{release}"),
                format!("/lib/modules/{release}/config"),
            ]
            .iter()
            .find_map(|path| fs::read_to_string(path).ok())
        };
        zipped()
            .or_else(plain)
            .map(|text| Self::from(text.as_str()))
    }

    /// Whether an option, such as `CONFIG_NO_HZ_FULL`, is built in.
    pub(super) fn has(&self, option: &str) -> bool {
        self.0.contains(option)
    }
}

impl From<&str> for Config {
    fn from(text: &str) -> Self {
        let options = text.lines().filter_map(|line| line.strip_suffix("=y"));
        Self(options.map(ToOwned::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_built_in_is_there() {
        let config = Config::from(
            "# Linux/x86 6.18\nCONFIG_HZ_250=y\nCONFIG_HZ=250\nCONFIG_KVM=m\n\
             # CONFIG_NO_HZ_FULL is not set\n",
        );
        assert!(config.has("CONFIG_HZ_250"));
        for option in [
            "CONFIG_HZ",
            "CONFIG_KVM",
            "CONFIG_NO_HZ_FULL",
            "CONFIG_HZ_25",
        ] {
            assert!(!config.has(option), "{option}");
        }
    }
}
