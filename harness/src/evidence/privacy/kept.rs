//! `private.json`: what every session of a campaign knew to be private of its host, so that it can be
//! looked for where the evidence is packed later.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use serde::{Deserialize, Serialize};
use wiretrial_contract::failure::Failure;

use super::{Kind, host};
use crate::evidence::environment::HOST;
use crate::evidence::folder::{Folder, PRIVATE};
use crate::evidence::json::pretty;

const SCHEMA: &str = "wiretrial.private/2";

/// The strings of one host, by what they tell.
type Strings = BTreeMap<Kind, BTreeSet<String>>;

/// `private.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    schema: String,
    hosts: BTreeMap<String, Strings>,
}

impl Kept {
    fn new() -> Self {
        Self {
            schema: SCHEMA.into(),
            hosts: BTreeMap::new(),
        }
    }

    fn read(folder: &Folder) -> Result<Self, Failure> {
        let unknown = |cause: &str| {
            Failure::evidence(format!(
                "{PRIVATE} {cause}, so what is private of the host that ran the campaign is not \
                 known; pack where it ran"
            ))
        };
        if !folder.path().join(PRIVATE).exists() {
            return Err(unknown("is missing"));
        }
        let kept: Self =
            serde_json::from_slice(&folder.read(PRIVATE)?).map_err(|_| unknown("is damaged"))?;
        if kept.schema == SCHEMA {
            Ok(kept)
        } else {
            Err(unknown("is of another schema"))
        }
    }
}

/// Adds what is private of this host and user to what earlier sessions kept, readable by the owner
/// alone. Where theirs is missing or damaged it stays so: a new file would say that nothing was lost.
///
/// # Errors
///
/// The file cannot be written (exit 4).
pub fn keep(folder: &Folder, sessions_before: usize) -> Result<(), Failure> {
    let mut kept = match Kept::read(folder) {
        Ok(kept) => kept,
        Err(_) if sessions_before > 0 => return Ok(()),
        Err(_) => Kept::new(),
    };
    let strings = kept.hosts.entry(HOST.to_owned()).or_default();
    for (text, kind) in host::strings(folder.path()) {
        strings.entry(kind).or_default().insert(text);
    }
    let path = folder.path().join(PRIVATE);
    fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut file| file.write_all(&pretty(&kept)))
        .map_err(|error| {
            Failure::evidence(format!("{} could not be written: {error}", path.display()))
        })
}

/// What the sessions kept.
pub(super) fn strings(folder: &Folder) -> Result<Vec<(String, Kind)>, Failure> {
    let hosts = Kept::read(folder)?.hosts.into_values();
    let kinds = hosts.flatten();
    Ok(kinds
        .flat_map(|(kind, texts)| texts.into_iter().map(move |text| (text, kind)))
        .collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(&root.path().join("x")).unwrap();
        (root, folder)
    }

    #[test]
    fn only_the_owner_reads_what_every_session_added() {
        let (_root, folder) = folder();
        let earlier = br#"{"schema":"wiretrial.private/2",
            "hosts":{"host-a":{"host":["lighthouse"],"user":["alice"]}}}"#;
        keep(&folder, 0).unwrap();
        let path = folder.path().join(PRIVATE);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::write(&path, earlier).unwrap();
        keep(&folder, 1).unwrap();
        let kept = strings(&folder).unwrap();
        assert!(kept.contains(&("lighthouse".into(), Kind::Host)));
        assert!(kept.contains(&("alice".into(), Kind::User)));
        assert!(
            kept.iter().any(|(_, kind)| *kind == Kind::Boot),
            "this host's"
        );
    }

    #[test]
    fn what_was_lost_between_sessions_stays_unknown() {
        let (_root, folder) = folder();
        keep(&folder, 1).unwrap();
        assert!(!folder.path().join(PRIVATE).exists());
        fs::write(folder.path().join(PRIVATE), "[").unwrap();
        keep(&folder, 1).unwrap();
        assert_eq!(fs::read(folder.path().join(PRIVATE)).unwrap(), b"[");
    }

    #[test]
    fn what_cannot_be_known_is_not_taken_for_nothing() {
        let (_root, folder) = folder();
        let said = || strings(&folder).unwrap_err().message;
        assert!(said().starts_with("private.json is missing, so what is private"));
        folder.write(PRIVATE, b"[").unwrap();
        assert!(said().starts_with("private.json is damaged"));
        let other = br#"{"schema":"x/1","hosts":{}}"#;
        folder.write(PRIVATE, other).unwrap();
        assert!(said().starts_with("private.json is of another schema"));
    }
}
