//! Strings that tell which host, user or network evidence came from. Logs are cleaned of them when a
//! campaign is finished, and nothing that holds one is packed.
//!
//! A string is searched as a whole word, in any case: `tower` is not found in `towers`. Names that say
//! nothing of anybody (`root`, `localhost`) and addresses that are the same everywhere are not private.

mod host;
mod search;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use wiretrial_contract::failure::Failure;

use super::environment::PRIVATE_SCHEMA;
use super::folder::{Folder, PILOT, PRIVATE, RAW};
use search::{find, replaced};

/// What a private string tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
    /// A string of `private.json`.
    Kept,
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
            Self::Kept => "a string of private.json",
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
            Self::Kept => "PRIVATE",
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
        walk(&kept(folder)?, "", &mut |place, text| {
            // Keys name themselves, its schema is no secret, and a relative path is none either.
            let key = place.ends_with(&format!("/{text}"));
            let relative = place == "/folder" && !text.starts_with('/');
            if !key && !relative && place != "/schema" {
                strings.push((text.to_owned(), Kind::Kept));
            }
        });
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
    let logs = [format!("{RAW}/"), format!("{PILOT}/{RAW}/")];
    for name in folder.files()? {
        if logs.iter().any(|logs| name.starts_with(logs.as_str()))
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

/// What the campaign kept of the host that ran it.
fn kept(folder: &Folder) -> Result<Value, Failure> {
    let unknown = |cause: &str| {
        Failure::evidence(format!(
            "{PRIVATE} {cause}, so what is private of the host that ran the campaign is not known; \
             pack where it ran"
        ))
    };
    if !folder.path().join(PRIVATE).exists() {
        return Err(unknown("is missing"));
    }
    let value: Value =
        serde_json::from_slice(&folder.read(PRIVATE)?).map_err(|_| unknown("is damaged"))?;
    if value["schema"] == PRIVATE_SCHEMA && value["hosts"].is_object() {
        Ok(value)
    } else {
        Err(unknown("is of another schema"))
    }
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
    fn what_cannot_be_known_is_not_taken_for_nothing() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(&root.path().join("x")).unwrap();
        let said = |folder: &Folder| Private::of(folder).unwrap_err().message;
        assert!(said(&folder).starts_with("private.json is missing, so what is private"));
        folder.write(PRIVATE, b"[").unwrap();
        assert!(said(&folder).starts_with("private.json is damaged"));
        folder.write(PRIVATE, b"{\"schema\":\"x/1\"}").unwrap();
        assert!(said(&folder).starts_with("private.json is of another schema"));
    }

    #[test]
    fn names_of_another_host_are_known_from_private_json() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(&root.path().join("x")).unwrap();
        let text = br#"{"schema":"wiretrial.private/1","hosts":{"host-a":{"host_name":"lighthouse",
            "boot_id":null}},"folder":"out"}"#;
        folder.write(PRIVATE, text).unwrap();
        let private = Private::of(&folder).unwrap();
        assert_eq!(private.found_in(b"on lighthouse").unwrap().kind, Kind::Kept);
        for public in [
            &b"host-a"[..],
            b"host_name",
            b"wiretrial.private/1",
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
