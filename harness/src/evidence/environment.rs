//! `environment.json`: facts of the host for every session of running; `private.json`: the names
//! that never leave it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use serde::{Deserialize, Serialize};
use wiretrial_contract::control::Isolation;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::record::HostFacts;

use super::folder::{Folder, PRIVATE};
use super::json::{pretty, schema};

/// Name of the file.
pub const FILE: &str = "environment.json";
const SCHEMA: &str = "wiretrial.environment/1";
/// The schema of `private.json`.
pub const PRIVATE_SCHEMA: &str = "wiretrial.private/1";
/// What the only host is called in evidence.
pub const HOST: &str = "host-a";

/// `environment.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Its schema.
    pub schema: String,
    /// One entry a session of running: the first, and one for each resume.
    pub sessions: Vec<Session>,
}

/// One session of running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// When it began, RFC 3339.
    pub began: String,
    /// Rows there were.
    pub rows_before: u64,
    /// Bytes of a torn last line, kept in `raw/`.
    pub torn_bytes: Option<u64>,
    /// SHA-256 of the boot id: sessions of one boot have the same.
    pub boot: Option<String>,
    /// Isolation used.
    pub isolation: Isolation,
    /// Remarks made when it was chosen.
    pub notes: Vec<String>,
    /// Facts by host.
    pub hosts: BTreeMap<String, HostFacts>,
    /// Host class by host: 64 hexadecimal digits and words.
    pub classes: BTreeMap<String, (String, String)>,
    /// What libpcap calls itself.
    pub libpcap: Option<String>,
}

impl Environment {
    /// An environment without sessions.
    #[must_use]
    pub fn new() -> Self {
        Self {
            schema: SCHEMA.into(),
            sessions: Vec::new(),
        }
    }

    /// What the folder holds.
    ///
    /// # Errors
    ///
    /// It cannot be read (exit 4) or parsed (exit 5).
    pub fn read(folder: &Folder) -> Result<Self, Failure> {
        let bytes = folder.read(FILE)?;
        schema(FILE, &bytes, SCHEMA)?;
        serde_json::from_slice(&bytes)
            .map_err(|error| Failure::mismatch(format!("{FILE}: {error}")))
    }

    /// Writes it.
    ///
    /// # Errors
    ///
    /// As [`Folder::write`].
    pub fn write(&self, folder: &Folder) -> Result<(), Failure> {
        folder.write(FILE, &pretty(self))
    }
}

impl Default for Environment {
    fn default() -> Self {
        Self::new()
    }
}

#[derive(Serialize)]
struct Private<'a> {
    schema: &'static str,
    hosts: BTreeMap<&'static str, PrivateHost<'a>>,
    folder: String,
}

#[derive(Serialize)]
struct PrivateHost<'a> {
    host_name: Option<&'a str>,
    boot_id: Option<&'a str>,
}

/// Takes the private facts out of `facts` and writes them beside the evidence, readable by the
/// owner alone.
///
/// # Errors
///
/// The file cannot be written (exit 4).
pub fn keep_private(folder: &Folder, facts: &mut HostFacts) -> Result<(), Failure> {
    let host_name = facts.host_name.take();
    let boot_id = facts.boot_id.take();
    let private = Private {
        schema: PRIVATE_SCHEMA,
        hosts: BTreeMap::from([(
            HOST,
            PrivateHost {
                host_name: host_name.as_deref(),
                boot_id: boot_id.as_deref(),
            },
        )]),
        folder: folder.path().display().to_string(),
    };
    let path = folder.path().join(PRIVATE);
    fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut file| file.write_all(&pretty(&private)))
        .map_err(|error| {
            Failure::evidence(format!("{} could not be written: {error}", path.display()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn private_facts_leave_the_public_ones_and_only_the_owner_reads_them() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(&root.path().join("x")).unwrap();
        let mut facts = HostFacts {
            host_name: Some("tower".into()),
            boot_id: Some("b00t".into()),
            ..HostFacts::default()
        };
        keep_private(&folder, &mut facts).unwrap();
        assert_eq!((facts.host_name, facts.boot_id), (None, None));
        let path = folder.path().join(PRIVATE);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert!(fs::read_to_string(path).unwrap().contains("tower"));
    }
}
