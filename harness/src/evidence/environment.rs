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

    /// The last session that began before there were so many rows.
    #[must_use]
    pub fn last_that_ran(&self, rows: u64) -> Option<&Session> {
        let mut sessions = self.sessions.iter().rev();
        sessions.find(|session| session.rows_before < rows)
    }

    /// Checks that sessions began with the rows there were, of so many there are; before the first there
    /// is none.
    ///
    /// # Errors
    ///
    /// They did not (exit 5).
    pub fn check(&self, rows: u64) -> Result<(), Failure> {
        let sessions = self.sessions.iter();
        let before: Vec<u64> = sessions.map(|session| session.rows_before).collect();
        let first = before.first().copied().unwrap_or(rows);
        let last = before.last().copied().unwrap_or(0);
        if first == 0 && before.is_sorted() && last <= rows {
            return Ok(());
        }
        Err(Failure::mismatch(format!(
            "{FILE}: sessions began with {before:?} rows of {rows}"
        )))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(before: &[u64]) -> Environment {
        let session = |rows_before: &u64| Session {
            began: format!("2026-01-01T00:00:{rows_before:02}Z"),
            rows_before: *rows_before,
            torn_bytes: None,
            boot: None,
            isolation: Isolation::None,
            notes: Vec::new(),
            hosts: BTreeMap::new(),
            classes: BTreeMap::new(),
            libpcap: None,
        };
        Environment {
            sessions: before.iter().map(session).collect(),
            ..Environment::new()
        }
    }

    #[test]
    fn a_session_that_ran_nothing_is_not_the_last_that_ran() {
        let environment = sessions(&[0, 4, 12, 12]);
        assert_eq!(environment.last_that_ran(12).unwrap().rows_before, 4);
        assert!(sessions(&[0]).last_that_ran(0).is_none());
    }

    #[test]
    fn sessions_begin_with_the_rows_there_were() {
        assert_eq!(sessions(&[0, 4, 12]).check(12), Ok(()));
        assert_eq!(sessions(&[]).check(0), Ok(()));
        for (before, rows) in [(&[1][..], 4), (&[0, 5, 4], 9), (&[0, 12], 6), (&[], 2)] {
            assert_eq!(sessions(before).check(rows).unwrap_err().code, 5);
        }
    }
}
