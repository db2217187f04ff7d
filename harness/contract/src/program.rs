//! A capture program that is not ours: how it is started, stopped and counted.
//!
//! What a program does not say of itself is unknown, never 0. Its counters are what it prints; they
//! cover its whole life, so that probes and warm-up are in them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A program of the user's, as a campaign declares it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramSpec {
    /// The executable: a path inside the repository after a build, else a name that is looked for in
    /// PATH, or a path.
    pub binary: String,
    /// Argument lists that build it in a checkout, in order, without a shell; empty when there is
    /// nothing to build.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub build: Vec<Vec<String>>,
    /// Its argument list; placeholders as in [`Placeholder`].
    pub arguments: Vec<String>,
    /// Environment variables beside the harness's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Its working folder, with placeholders; left out: a new empty folder, `{work}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What shows that it captures; live trials only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ready: ReadySign,
    /// The first signal of its end; live trials only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stop: StopSignal,
    /// Where it says its counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<CountName, CountSource>,
}

/// What shows that a program captures.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadySign {
    /// Its packet socket is there with its ring, and stays as it is.
    #[default]
    Seen,
    /// It printed a line that matches on standard error, and its packet socket is there.
    Stderr(String),
}

/// The signal that asks a program to end. When it does not, TERM and then KILL follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum StopSignal {
    /// As Ctrl-C does.
    #[default]
    SigInt,
    /// As kill(1) does.
    SigTerm,
    /// As a terminal that goes away does.
    SigHup,
}

impl StopSignal {
    /// All of them, the default first.
    pub const ALL: [Self; 3] = [Self::SigInt, Self::SigTerm, Self::SigHup];

    /// Its name, `SIGINT`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SigInt => "SIGINT",
            Self::SigTerm => "SIGTERM",
            Self::SigHup => "SIGHUP",
        }
    }
}

/// A counter that a program may report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CountName {
    /// Packets that went through its own processing.
    Processed,
    /// Packets its kernel socket counted, dropped ones included (`ps_recv`).
    Received,
    /// Packets for which its ring had no room (`ps_drop`).
    Dropped,
    /// Packets its interface dropped (`ps_ifdrop`); printed, never a term.
    InterfaceDropped,
    /// Packets it wrote to a file.
    Written,
}

impl CountName {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Processed,
        Self::Received,
        Self::Dropped,
        Self::InterfaceDropped,
        Self::Written,
    ];

    /// Its name in campaign files and evidence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Processed => "processed",
            Self::Received => "received",
            Self::Dropped => "dropped",
            Self::InterfaceDropped => "interface-dropped",
            Self::Written => "written",
        }
    }
}

/// Where a count is read. A regular expression has one group, which holds the number; of several
/// matches the last counts. A number may have separators of thousands (`,`, `_`, `'`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountSource {
    /// In what it printed on standard output, after its end.
    Stdout(String),
    /// In what it printed on standard error, after its end.
    Stderr(String),
    /// In a file, after its end.
    File {
        /// The file, with placeholders.
        path: String,
        /// The regular expression.
        regex: String,
    },
    /// At a JSON pointer (RFC 6901) into the last line of its standard output that is JSON.
    Json(String),
    /// In the standard output of a command that runs before it is asked to end.
    Command {
        /// The argument list, with placeholders.
        arguments: Vec<String>,
        /// The regular expression.
        regex: String,
    },
}

impl CountSource {
    /// Where it looks and for what, for a sentence.
    #[must_use]
    pub fn described(&self) -> String {
        match self {
            Self::Stdout(regex) => format!("'{regex}' in its standard output"),
            Self::Stderr(regex) => format!("'{regex}' in its standard error"),
            Self::File { path, regex } => format!("'{regex}' in {path}"),
            Self::Json(pointer) => format!("{pointer} of the last JSON on its standard output"),
            Self::Command { arguments, regex } => {
                format!(
                    "'{regex}' in the standard output of {}",
                    arguments.join(" ")
                )
            }
        }
    }
}

/// What a program counted over its whole life; unknown where it did not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Packets that went through its own processing.
    pub processed: Option<u64>,
    /// Packets its kernel socket counted, dropped ones included.
    pub received: Option<u64>,
    /// Packets for which its ring had no room.
    pub dropped: Option<u64>,
    /// Packets its interface dropped; printed, never a term.
    pub interface_dropped: Option<u64>,
    /// Packets it wrote to a file.
    pub written: Option<u64>,
}

impl Counts {
    /// The count of this name.
    #[must_use]
    pub const fn get(&self, name: CountName) -> Option<u64> {
        match name {
            CountName::Processed => self.processed,
            CountName::Received => self.received,
            CountName::Dropped => self.dropped,
            CountName::InterfaceDropped => self.interface_dropped,
            CountName::Written => self.written,
        }
    }

    /// Sets the count of this name.
    pub const fn set(&mut self, name: CountName, count: Option<u64>) {
        let place = match name {
            CountName::Processed => &mut self.processed,
            CountName::Received => &mut self.received,
            CountName::Dropped => &mut self.dropped,
            CountName::InterfaceDropped => &mut self.interface_dropped,
            CountName::Written => &mut self.written,
        };
        *place = count;
    }
}

/// What an argument list may leave open. `{{` and `}}` stand for the braces themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placeholder {
    /// The executable of the arm.
    Binary,
    /// The interface to capture on; live only.
    Interface,
    /// The UDP port the datagrams are sent to; live only.
    Port,
    /// A filter in the language of pcap-filter(7) that takes this arm's datagrams alone; live only.
    Filter,
    /// The capture file to read; file only.
    File,
    /// A new empty folder that is removed at the end.
    Work,
    /// Packets: in the file, or sent in the trial.
    Packets,
}

impl Placeholder {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Binary,
        Self::Interface,
        Self::Port,
        Self::Filter,
        Self::File,
        Self::Work,
        Self::Packets,
    ];

    /// Its name, without braces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Interface => "interface",
            Self::Port => "port",
            Self::Filter => "filter",
            Self::File => "file",
            Self::Work => "work",
            Self::Packets => "packets",
        }
    }
}

impl fmt::Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}}}", self.name())
    }
}

impl FromStr for Placeholder {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|placeholder| placeholder.name() == name)
            .ok_or_else(|| {
                let known: Vec<String> = Self::ALL.iter().map(ToString::to_string).collect();
                format!(
                    "unknown placeholder {{{name}}}; there are {} ({{{{ for a brace)",
                    known.join(" ")
                )
            })
    }
}

/// `text` with every placeholder replaced by what `value` gives.
///
/// # Errors
///
/// A placeholder that does not exist, a brace without its partner, or the sentence of `value`.
pub fn expand(
    text: &str,
    mut value: impl FnMut(Placeholder) -> Result<String, String>,
) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        if let Some(after) = tail.strip_prefix("{{") {
            out.push('{');
            rest = after;
        } else if let Some(after) = tail.strip_prefix("}}") {
            out.push('}');
            rest = after;
        } else if let Some((name, after)) =
            tail[1..].split_once('}').filter(|_| tail.starts_with('{'))
        {
            out.push_str(&value(name.parse()?)?);
            rest = after;
        } else {
            return Err(format!(
                "\"{text}\" has a brace without its partner; {{{{ and }}}} stand for braces"
            ));
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<String, String> {
        expand(text, |placeholder| Ok(placeholder.name().to_uppercase()))
    }

    #[test]
    fn placeholders_are_replaced_and_doubled_braces_are_braces() {
        assert_eq!(
            expanded("-i{interface}:{port}").unwrap(),
            "-iINTERFACE:PORT"
        );
        assert_eq!(expanded("{{x}} {work}/ctl").unwrap(), "{x} WORK/ctl");
        assert_eq!(expanded("plain").unwrap(), "plain");
    }

    #[test]
    fn what_is_no_placeholder_is_refused_with_those_there_are() {
        let unknown = expanded("{iface}").unwrap_err();
        assert_eq!(
            unknown,
            "unknown placeholder {iface}; there are {binary} {interface} {port} {filter} {file} \
             {work} {packets} ({{ for a brace)"
        );
        for text in ["{port", "port}", "}{"] {
            assert!(expanded(text).unwrap_err().contains("partner"), "{text}");
        }
    }

    #[test]
    fn names_are_what_serde_writes() {
        for name in CountName::ALL {
            assert_eq!(serde_json::to_value(name).unwrap(), name.name());
        }
        for signal in StopSignal::ALL {
            assert_eq!(serde_json::to_value(signal).unwrap(), signal.name());
        }
    }

    #[test]
    fn a_count_is_read_back_by_its_name() {
        let mut counts = Counts::default();
        for (value, name) in (1..).zip(CountName::ALL) {
            counts.set(name, Some(value));
        }
        let read: Vec<_> = CountName::ALL.map(|name| counts.get(name)).into();
        assert_eq!(read, [Some(1), Some(2), Some(3), Some(4), Some(5)]);
    }
}
