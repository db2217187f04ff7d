//! Adapters: files with a `[program]` that other files name instead of repeating it.

use std::path::{Path, PathBuf};

use wiretrial_contract::failure::Failure;

use super::layers::{self, Entry, Place};
use super::outside::PREFIX;
use super::shipped;

/// Where adapters are looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Adapters<'f> {
    /// The campaign file's folder.
    pub(super) folder: &'f Path,
}

impl Adapters<'_> {
    /// What an adapter sets: a file if its name holds a `/` or ends in `.toml`, else a shipped one.
    pub(super) fn entries(self, name: &str, place: &Place) -> Result<Vec<Entry>, Failure> {
        if shipped::is_file(name) {
            let path = seen_from(self.folder, name, place).display().to_string();
            let text = shipped::read(&path).map_err(|failure| {
                place.refuse(format_args!("program.adapter: {}", failure.message))
            })?;
            return read(&path, &text);
        }
        let found = shipped::ADAPTERS
            .iter()
            .find(|shipped| shipped.name == name);
        let Some(shipped) = found else {
            return Err(place.refuse(format_args!(
                "program.adapter is \"{name}\"; shipped: {}; a file is named with a / or .toml",
                shipped::names(&shipped::ADAPTERS)
            )));
        };
        read(shipped.path, shipped.text)
    }
}

/// A path as it was written: in a file seen from the campaign file's folder, on the command line
/// from the current one.
pub(super) fn seen_from(folder: &Path, path: &str, place: &Place) -> PathBuf {
    match place {
        Place::Line(..) => folder.join(path),
        _ => path.into(),
    }
}

fn read(label: &str, text: &str) -> Result<Vec<Entry>, Failure> {
    let layers = layers::read(label, text)?;
    let others = layers.arms.len() + layers.cases.len() + layers.sweeps.len() + layers.gates.len();
    if others > 0 {
        return Err(Failure::usage(format!(
            "{label}: an adapter holds schema and [program] only; arms, cases, sweeps and gates \
             belong to the campaign"
        )));
    }
    let mut entries = Vec::new();
    for entry in layers.file {
        match entry.key.path {
            "schema" => {}
            "program.adapter" => {
                return Err(entry
                    .place
                    .refuse("program.adapter is set in an adapter; it cannot name another"));
            }
            path if path.starts_with(PREFIX) => entries.push(entry),
            path => {
                return Err(entry.place.refuse(format_args!(
                    "{path} is set in an adapter; it holds schema and [program] only"
                )));
            }
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        read("a.toml", text).unwrap_err().message
    }

    #[test]
    fn an_adapter_holds_a_program_and_nothing_else() {
        assert_eq!(
            refused("schema = 1\n[traffic]\nbatch = 1\n"),
            "a.toml:3: traffic.batch is set in an adapter; it holds schema and [program] only"
        );
        assert_eq!(
            refused("schema = 1\n[program]\nadapter = \"tcpdump\"\n"),
            "a.toml:3: program.adapter is set in an adapter; it cannot name another"
        );
        assert!(refused("schema = 1\n[[case]]\nname = \"a\"\n").contains("belong to the campaign"));
    }

    #[test]
    fn every_shipped_adapter_is_read() {
        for shipped in shipped::ADAPTERS {
            let entries = read(shipped.path, shipped.text).unwrap();
            assert!(
                entries
                    .iter()
                    .any(|entry| entry.key.path == "program.binary"),
                "{}",
                shipped.name
            );
        }
    }

    #[test]
    fn a_path_of_the_command_line_is_seen_from_the_current_folder() {
        let line = Place::Line("bench/x.toml".into(), 3);
        let folder = Path::new("bench");
        assert_eq!(
            seen_from(folder, "a.pcap", &line),
            PathBuf::from("bench/a.pcap")
        );
        assert_eq!(
            seen_from(folder, "a.pcap", &Place::Set),
            PathBuf::from("a.pcap")
        );
        assert_eq!(
            seen_from(folder, "/a.pcap", &line),
            PathBuf::from("/a.pcap")
        );
    }
}
