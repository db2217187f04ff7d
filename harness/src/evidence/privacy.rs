//! Strings that tell which host, user or network evidence came from. Logs are cleaned of them when a
//! campaign is finished, and nothing that holds one is packed.
//!
//! A string is searched as a whole word, in any case: `tower` is not found in `towers`. Names that say
//! nothing of anybody (`root`, `localhost`) and addresses that are the same everywhere are not private.

mod host;
mod kept;
mod search;

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wiretrial_contract::failure::Failure;

use super::folder::{Folder, is_log};
pub use kept::keep;
use search::{find, replaced};

/// What a private string tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The name of the host, long or short.
    Host,
    /// The name of the user.
    User,
    /// The user's home folder.
    Home,
    /// Another absolute path: of the evidence, the cache, or where the command was started.
    Path,
    /// The hardware address of an interface.
    Mac,
    /// The address of an interface.
    Address,
    /// The id of this boot.
    Boot,
}

impl Kind {
    /// What it is, in a sentence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "the host's name",
            Self::User => "the user's name",
            Self::Home => "the user's home folder",
            Self::Path => "an absolute path of this host",
            Self::Mac => "the hardware address of an interface",
            Self::Address => "the address of an interface",
            Self::Boot => "the id of a boot",
        }
    }

    /// What stands in its place in logs.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Host => "HOST",
            Self::User => "USER",
            Self::Home => "HOME",
            Self::Path => "PATH",
            Self::Mac => "MAC",
            Self::Address => "ADDRESS",
            Self::Boot => "BOOT",
        }
    }
}

/// Private strings, the longest first, so that a path is found before the name in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Private {
    strings: Vec<(String, Kind)>,
    too_short: Vec<Kind>,
}

/// A private string that was found. It does not hold the string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What it tells.
    pub kind: Kind,
    /// Where in the file: a JSON pointer (RFC 6901), else a line.
    pub place: String,
}

/// Shorter strings are found in everything.
const SHORTEST: usize = 3;

impl Private {
    /// Those of this host and user, of the evidence in `folder`, and of its `private.json`.
    ///
    /// # Errors
    ///
    /// What is private of the host that ran is not known: `private.json` is missing, damaged or of
    /// another schema (exit 4).
    pub fn of(folder: &Folder) -> Result<Self, Failure> {
        let mut strings = host::strings(folder.path());
        strings.extend(kept::strings(folder)?);
        Ok(Self::from(strings))
    }

    /// What strings that are too short to be searched for would tell.
    #[must_use]
    pub fn too_short(&self) -> &[Kind] {
        &self.too_short
    }

    /// Without strings that are said to be public.
    #[must_use]
    pub fn without(mut self, public: &[String]) -> Self {
        self.strings
            .retain(|(text, _)| !public.iter().any(|one| one.eq_ignore_ascii_case(text)));
        self
    }

    /// The first private string in the bytes of a file, if there is one.
    #[must_use]
    pub fn found_in(&self, bytes: &[u8]) -> Option<Found> {
        let (kind, at) = self
            .strings
            .iter()
            .find_map(|(text, kind)| Some((*kind, find(bytes, text, 0)?)))?;
        let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        Some(Found {
            kind,
            place: format!("line {line}"),
        })
    }

    /// The same for JSON, which may write a character in several ways: the texts and keys in it.
    #[must_use]
    pub fn found_in_json(&self, value: &Value) -> Option<Found> {
        let mut found = None;
        walk(value, "", &mut |place, text| {
            if found.is_none()
                && let Some(there) = self.found_in(text.as_bytes())
            {
                found = Some(Found {
                    place: place.to_owned(),
                    ..there
                });
            }
        });
        found
    }

    /// The bytes with a word in place of every private string; `None` when there is none.
    #[must_use]
    pub fn redacted(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut clean = None;
        for (text, kind) in &self.strings {
            let before = clean.as_deref().unwrap_or(bytes);
            if let Some(after) = replaced(before, text, kind.word()) {
                clean = Some(after);
            }
        }
        clean
    }
}

impl From<Vec<(String, Kind)>> for Private {
    fn from(strings: Vec<(String, Kind)>) -> Self {
        let public = |text: &str| {
            host::PUBLIC
                .iter()
                .any(|one| one.eq_ignore_ascii_case(text))
        };
        let mut seen = BTreeSet::new();
        let (mut strings, short): (Vec<_>, Vec<_>) = strings
            .into_iter()
            .filter(|(text, _)| !text.is_empty() && !public(text))
            .filter(|(text, _)| seen.insert(text.to_ascii_lowercase()))
            .partition(|(text, _)| text.len() >= SHORTEST);
        strings.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        let too_short = short.into_iter().map(|(_, kind)| kind).collect();
        Self { strings, too_short }
    }
}

/// Puts words in place of the private strings in the logs of a campaign: what children said, and how
/// programs were built. Everything else is either sealed or made without them.
///
/// # Errors
///
/// A log cannot be read or written (exit 4).
pub fn clean_logs(folder: &Folder) -> Result<(), Failure> {
    // To end a campaign is worth more than what a file that somebody removed would add on its own host.
    let private =
        Private::of(folder).unwrap_or_else(|_| Private::from(host::strings(folder.path())));
    for name in folder.files()? {
        if is_log(&name)
            && let Some(clean) = private.redacted(&folder.read(&name)?)
        {
            folder.write(&name, &clean)?;
        }
    }
    Ok(())
}

/// What a person should know before trials are run whose evidence cannot be packed.
#[must_use]
pub fn remark(folder: &Folder, name: &str) -> Option<String> {
    let found = search(folder, name, &Private::of(folder).ok()?).ok()??;
    Some(format!(
        "{name} holds {} ({}): wiretrial pack will refuse this evidence",
        found.kind.name(),
        found.place
    ))
}

/// Where a file of evidence holds a private string.
///
/// # Errors
///
/// It cannot be read (exit 4).
pub fn search(folder: &Folder, name: &str, private: &Private) -> Result<Option<Found>, Failure> {
    let bytes = folder.read(name)?;
    let json = Path::new(name).extension().is_some_and(|e| e == "json");
    if json && let Ok(value) = serde_json::from_slice(&bytes) {
        return Ok(private.found_in_json(&value));
    }
    if name.ends_with(".jsonl") {
        let lines = bytes.split(|byte| *byte == b'\n').enumerate();
        for (row, line) in lines.filter(|(_, line)| !line.is_empty()) {
            let Ok(value) = serde_json::from_slice(line) else {
                break;
            };
            if let Some(found) = private.found_in_json(&value) {
                return Ok(Some(Found {
                    place: format!("row {row}, {}", found.place),
                    ..found
                }));
            }
        }
    }
    Ok(private.found_in(&bytes))
}

/// Every key and text with its JSON pointer.
fn walk(value: &Value, place: &str, each: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::String(text) => each(place, text),
        Value::Array(all) => {
            for (index, one) in all.iter().enumerate() {
                walk(one, &format!("{place}/{index}"), each);
            }
        }
        Value::Object(all) => {
            for (key, one) in all {
                let inner = format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"));
                each(&inner, key);
                walk(one, &inner, each);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::folder::{LOGS, PRIVATE};
    use serde_json::json;

    fn private() -> Private {
        Private::from(vec![
            ("tower.example.org".into(), Kind::Host),
            ("tower".into(), Kind::Host),
            ("alice".into(), Kind::User),
            ("/home/alice".into(), Kind::Home),
            ("52:54:00:ab:cd:ef".into(), Kind::Mac),
            ("192.0.2.7".into(), Kind::Address),
            ("root".into(), Kind::User),
            ("Runner".into(), Kind::User),
            ("vm".into(), Kind::Host),
        ])
    }

    #[test]
    fn logs_keep_everything_but_the_names() {
        let clean = private()
            .redacted(
                b"alice@TOWER: cc /home/alice/a.c; 52:54:00:AB:cd:ef 192.0.2.7 towers vm \xff",
            )
            .unwrap();
        assert_eq!(
            clean,
            b"USER@HOST: cc HOME/a.c; MAC ADDRESS towers vm \xff".to_vec()
        );
        assert_eq!(
            private().redacted(b"malice, 192.0.2.71, as root, this runner"),
            None
        );
    }

    #[test]
    fn where_a_string_stands_is_said_and_never_the_string() {
        let found = private().found_in(b"a\nb\n/home/alice/x").unwrap();
        assert_eq!((found.kind, found.place.as_str()), (Kind::Home, "line 3"));
        let value = json!({"a": [{"b/c": "in /home/alice"}], "tower": 1});
        let found = private().found_in_json(&value).unwrap();
        assert_eq!(found.place, "/a/0/b~1c");
        let found = private().found_in_json(&json!({"tower": 1})).unwrap();
        assert_eq!(found.place, "/tower");
        assert_eq!(private().found_in_json(&json!({"a": "b"})), None);
    }

    #[test]
    fn logs_of_rehearsal_and_pilot_are_logs_too() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(&root.path().join("x")).unwrap();
        let said = format!("in {}/here", root.path().join("x").display());
        for logs in LOGS {
            folder.write(&format!("{logs}/l"), said.as_bytes()).unwrap();
        }
        folder.write("report.md", said.as_bytes()).unwrap();
        clean_logs(&folder).unwrap();
        for logs in LOGS {
            let clean = folder.read(&format!("{logs}/l")).unwrap();
            assert_eq!(clean, b"in PATH/here", "{logs}");
        }
        assert_eq!(folder.read("report.md").unwrap(), said.as_bytes());
    }

    #[test]
    fn json_escapes_hide_nothing() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(&root.path().join("x")).unwrap();
        folder
            .write("plan.json", br#"{"a":"\/home\/\u0061lice\/x"}"#)
            .unwrap();
        let found = search(&folder, "plan.json", &private()).unwrap().unwrap();
        assert_eq!((found.kind, found.place.as_str()), (Kind::Home, "/a"));
        folder
            .write("trials.jsonl", b"{}\n{\"b\":\"t\\u006fwer\"}\n")
            .unwrap();
        let found = search(&folder, "trials.jsonl", &private())
            .unwrap()
            .unwrap();
        assert_eq!(found.place, "row 1, /b");
    }

    #[test]
    fn what_is_said_to_be_public_is_not_looked_for() {
        let private = private().without(&["Alice".into()]);
        assert_eq!(private.found_in(b"alice"), None);
        assert!(private.found_in(b"/home/alice").is_some());
    }

    #[test]
    fn what_is_too_short_is_said() {
        assert_eq!(private().too_short(), [Kind::Host]);
    }

    #[test]
    fn names_of_another_host_are_known_from_private_json() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(&root.path().join("x")).unwrap();
        let text =
            br#"{"schema":"wiretrial.private/2","hosts":{"host-a":{"host":["lighthouse"]}}}"#;
        folder.write(PRIVATE, text).unwrap();
        let private = Private::of(&folder).unwrap();
        assert_eq!(private.found_in(b"on lighthouse").unwrap().kind, Kind::Host);
        for public in [
            &b"host-a"[..],
            b"host",
            b"wiretrial.private/2",
            b"leave_one_out",
        ] {
            assert_eq!(
                private.found_in(public),
                None,
                "{}",
                String::from_utf8_lossy(public)
            );
        }
    }
}
