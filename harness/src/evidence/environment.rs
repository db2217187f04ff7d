//! `environment.json`: facts of the host for every session of running.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wiretrial_contract::control::Isolation;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::record::HostFacts;

use super::folder::Folder;
use super::json::{pretty, schema};

/// Name of the file.
pub const FILE: &str = "environment.json";
const SCHEMA: &str = "wiretrial.environment/1";
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
