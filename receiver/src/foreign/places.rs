//! What the placeholders of a program's argument lists stand for.

use std::path::Path;

use wiretrial_contract::failure::Failure;
use wiretrial_contract::program::{Placeholder, expand};

/// Values of all placeholders in one launch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places<'a> {
    /// The executable.
    pub(super) binary: &'a str,
    /// What it works on.
    pub(super) input: Input<'a>,
    /// Its empty folder.
    pub(super) work: &'a Path,
    /// Packets in the file, or sent in the trial.
    pub(super) packets: u64,
}

/// What a program works on.
#[derive(Debug, Clone, Copy)]
pub(super) enum Input<'a> {
    /// Packets on an interface.
    Live {
        /// The interface.
        interface: &'a str,
        /// UDP port they go to.
        port: u16,
        /// A filter that takes them.
        filter: &'a str,
    },
    /// A capture file; none for a command line that reads none.
    File(Option<&'a str>),
}

impl Places<'_> {
    /// `text` with its placeholders replaced.
    ///
    /// # Errors
    ///
    /// A usage failure that names `key` and the placeholder that does not exist, or not here.
    pub(super) fn fill(&self, key: &str, text: &str) -> Result<String, Failure> {
        expand(text, |placeholder| self.value(placeholder))
            .map_err(|cause| Failure::usage(format!("program.{key}: {cause}")))
    }

    /// Each text of a list with its placeholders replaced.
    ///
    /// # Errors
    ///
    /// As [`Places::fill`].
    pub(super) fn fill_all(&self, key: &str, texts: &[String]) -> Result<Vec<String>, Failure> {
        texts.iter().map(|text| self.fill(key, text)).collect()
    }

    fn value(&self, placeholder: Placeholder) -> Result<String, String> {
        match (placeholder, self.input) {
            (Placeholder::Binary, _) => Ok(self.binary.to_owned()),
            (Placeholder::Work, _) => Ok(self.work.display().to_string()),
            (Placeholder::Packets, _) => Ok(self.packets.to_string()),
            (Placeholder::Interface, Input::Live { interface, .. }) => Ok(interface.to_owned()),
            (Placeholder::Port, Input::Live { port, .. }) => Ok(port.to_string()),
            (Placeholder::Filter, Input::Live { filter, .. }) => Ok(filter.to_owned()),
            (Placeholder::File, Input::File(Some(file))) => Ok(file.to_owned()),
            (Placeholder::File, Input::File(None)) => Err(format!(
                "{placeholder} stands for nothing here: this workload has no capture file"
            )),
            (Placeholder::File, Input::Live { .. }) => Err(format!(
                "{placeholder} stands for nothing in a live trial; use {{interface}} and {{filter}}"
            )),
            (Placeholder::Interface | Placeholder::Port | Placeholder::Filter, _) => Err(format!(
                "{placeholder} stands for nothing in a pass over a file; use {{file}}"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_input_has_its_own_placeholders() {
        let live = Places {
            binary: "/bin/x",
            input: Input::Live {
                interface: "wtr0",
                port: 39053,
                filter: "udp",
            },
            work: Path::new("/w"),
            packets: 7,
        };
        let text = "{binary} {interface} {port} {filter} {work} {packets} {{}}";
        assert_eq!(
            live.fill("arguments", text).unwrap(),
            "/bin/x wtr0 39053 udp /w 7 {}"
        );
        let file = Places {
            input: Input::File(Some("a.pcap")),
            ..live
        };
        assert_eq!(file.fill("arguments", "-r{file}").unwrap(), "-ra.pcap");
        for (places, text, words) in [
            (
                live,
                "{file}",
                "program.env: {file} stands for nothing in a live trial; use {interface} and {filter}",
            ),
            (
                file,
                "{port}",
                "program.env: {port} stands for nothing in a pass over a file; use {file}",
            ),
            (
                file,
                "{x}",
                "program.env: unknown placeholder {x}; there are",
            ),
        ] {
            let failure = places.fill("env", text).unwrap_err();
            assert_eq!(failure.code, 2);
            assert!(failure.message.starts_with(words), "{failure}");
        }
    }
}
