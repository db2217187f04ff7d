//! `trials.jsonl`: one row a trial, each carrying the hash of the line before, on disk before the
//! next launch.
//!
//! Invariant: after every successful [`Rows::append`] the file is a chain of whole lines. A write
//! that fails, for instance on a full disk, is cut back to the last whole line, so that rows
//! already measured are kept.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Write};
use std::path::Path;

use wiretrial_contract::digest::sha256;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::record::TrialRecord;

use super::chain::{Broken, Chain};

/// Name of the file in an evidence folder.
pub const FILE: &str = "trials.jsonl";

/// An open chain of rows.
#[derive(Debug)]
pub struct Rows {
    file: File,
    /// Hash of the last line, or of the plan.
    head: String,
    count: u64,
    /// Bytes of whole lines.
    length: u64,
    /// Whether there is half a line behind them.
    torn: bool,
}

/// What an existing file held.
#[derive(Debug)]
pub struct Resumed {
    /// The chain, ready for more rows.
    pub rows: Rows,
    /// The rows in it.
    pub records: Vec<TrialRecord>,
    /// Bytes of a last line that is not whole; [`Rows::cut`] takes them off the file.
    pub torn: Option<Vec<u8>>,
}

/// Locks the file for this process: two that add rows would break the chain.
fn alone(file: &File, path: &Path) -> Result<(), Failure> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Failure::host(format!(
            "another process adds rows to {}; wait until it has ended",
            path.display()
        ))),
        Err(TryLockError::Error(error)) => {
            Err(Failure::evidence(format!("{}: {error}", path.display())))
        }
    }
}

impl Rows {
    /// Starts an empty chain in `folder` that hangs on the plan's hash.
    ///
    /// # Errors
    ///
    /// The file exists or cannot be made (exit 4).
    pub fn create(folder: &Path, plan_sha256: &str) -> Result<Self, Failure> {
        let path = folder.join(FILE);
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(&path)
            .and_then(|file| File::open(folder)?.sync_all().map(|()| file))
            .map_err(|error| Failure::evidence(format!("{}: {error}", path.display())))?;
        alone(&file, &path)?;
        Ok(Self {
            file,
            head: plan_sha256.to_owned(),
            count: 0,
            length: 0,
            torn: false,
        })
    }

    /// Opens the chain in `folder` to add to it. A last line without its newline, or that does not
    /// parse, is given back; it stays in the file until it is cut or something is added.
    ///
    /// # Errors
    ///
    /// The file cannot be read (exit 4); a row before the last is broken (exit 5); another process adds rows
    /// to it (exit 3).
    pub fn resume(folder: &Path, plan_sha256: &str) -> Result<Resumed, Failure> {
        let path = folder.join(FILE);
        let broken = |error: io::Error| Failure::evidence(format!("{}: {error}", path.display()));
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .open(&path)
            .map_err(broken)?;
        alone(&file, &path)?;
        let mut chain = Chain::new(BufReader::new(&file), plan_sha256);
        let mut records = Vec::new();
        let unreadable = loop {
            match chain.read() {
                Ok(Some(record)) => records.push(record),
                Ok(None) => break None,
                Err(Broken::Unreadable(failure)) => break Some(failure),
                Err(Broken::Wrong(failure)) => return Err(failure),
            }
        };
        let head = chain.head().to_owned();
        let (count, length) = (chain.rows_read(), chain.bytes_read());
        let torn = match unreadable {
            Some(failure) => Some(chain.into_last().map_err(broken)?.ok_or(failure)?),
            None => None,
        };
        let rows = Self {
            file,
            head,
            count,
            length,
            torn: torn.is_some(),
        };
        Ok(Resumed {
            rows,
            records,
            torn,
        })
    }

    /// Takes a torn last line off the file.
    ///
    /// # Errors
    ///
    /// The file cannot be cut (exit 4).
    pub fn cut(&mut self) -> Result<(), Failure> {
        let cut = self
            .file
            .set_len(self.length)
            .and_then(|()| self.file.sync_all());
        cut.map_err(|error| {
            Failure::evidence(format!("{FILE}: the torn last line stays: {error}"))
        })?;
        self.torn = false;
        Ok(())
    }

    /// Adds rows as whole lines in one write and waits until they are on disk. Their number and
    /// chain are filled in here.
    ///
    /// # Errors
    ///
    /// The disk is full or the file is gone; the rows before are kept and nothing of these is.
    ///
    /// # Panics
    ///
    /// Never: rows have string keys.
    pub fn append(&mut self, records: &mut [TrialRecord]) -> Result<(), Failure> {
        if self.torn {
            self.cut()?;
        }
        let (mut head, mut count, mut bytes) = (self.head.clone(), self.count, Vec::new());
        for record in records {
            record.prev = head;
            record.row = count;
            let line =
                serde_json::to_vec(record).expect("rows have string keys and finite numbers");
            head = sha256(&line);
            count += 1;
            bytes.extend(line);
            bytes.push(b'\n');
        }
        if let Err(error) = self
            .file
            .write_all(&bytes)
            .and_then(|()| self.file.sync_data())
        {
            // The rows before are whole lines below `length`; what was written of these goes.
            let cut = self
                .file
                .set_len(self.length)
                .and_then(|()| self.file.sync_all());
            let rest = match cut {
                Ok(()) => String::new(),
                Err(cut) => format!(", nor cut back: {cut}"),
            };
            return Err(Failure::evidence(format!(
                "row {} could not be written: {error}{rest}; the {} rows before it are kept",
                self.count, self.count
            )));
        }
        self.length += bytes.len() as u64;
        self.head = head;
        self.count = count;
        Ok(())
    }

    /// Rows in the chain.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::samples;

    const PLAN: &str = "ab";

    fn three_rows() -> (tempfile::TempDir, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let mut rows = Rows::create(folder.path(), PLAN).unwrap();
        rows.append(&mut [samples::row(0), samples::row(0)])
            .unwrap();
        rows.append(&mut [samples::row(1)]).unwrap();
        let bytes = std::fs::read(folder.path().join(FILE)).unwrap();
        (folder, bytes)
    }

    #[test]
    fn a_torn_last_line_is_cut_at_every_byte_and_the_rest_goes_on() {
        let (folder, bytes) = three_rows();
        let third = bytes[..bytes.len() - 1]
            .iter()
            .rposition(|b| *b == b'\n')
            .unwrap()
            + 1;
        for end in [third + 1, third + 100, bytes.len() - 1] {
            std::fs::write(folder.path().join(FILE), &bytes[..end]).unwrap();
            let mut resumed = Rows::resume(folder.path(), PLAN).unwrap();
            assert_eq!(resumed.records.len(), 2);
            assert_eq!(resumed.torn.as_deref(), Some(&bytes[third..end]));
            // Whoever only looks, loses nothing.
            assert_eq!(
                std::fs::read(folder.path().join(FILE)).unwrap(),
                bytes[..end]
            );
            resumed.rows.append(&mut [samples::row(1)]).unwrap();
            assert_eq!(std::fs::read(folder.path().join(FILE)).unwrap(), bytes);
        }
    }

    #[test]
    fn a_last_line_with_its_newline_that_does_not_parse_is_cut_too() {
        let (folder, mut bytes) = three_rows();
        bytes.extend(b"{\"schema\":\n");
        std::fs::write(folder.path().join(FILE), &bytes).unwrap();
        let resumed = Rows::resume(folder.path(), PLAN).unwrap();
        assert_eq!((resumed.records.len(), resumed.rows.count()), (3, 3));
        assert_eq!(resumed.torn.as_deref(), Some(&b"{\"schema\":\n"[..]));
    }

    #[test]
    fn a_broken_earlier_line_is_never_cut() {
        let (folder, bytes) = three_rows();
        let mut broken = bytes;
        broken[0] = b'x';
        std::fs::write(folder.path().join(FILE), &broken).unwrap();
        assert_eq!(Rows::resume(folder.path(), PLAN).unwrap_err().code, 5);
        assert_eq!(std::fs::read(folder.path().join(FILE)).unwrap(), broken);
    }

    #[test]
    fn a_last_line_of_another_schema_is_never_cut() {
        let (folder, mut bytes) = three_rows();
        bytes.extend(b"{\"schema\":\"wiretrial.trial/9\"}\n");
        std::fs::write(folder.path().join(FILE), &bytes).unwrap();
        let failure = Rows::resume(folder.path(), PLAN).unwrap_err();
        assert_eq!(failure.code, 5);
        assert!(failure.message.starts_with("row 3 has schema"), "{failure}");
    }

    /// /dev/full fails every write with ENOSPC (full(4)).
    #[test]
    fn a_full_disk_is_an_error_that_counts_the_rows_kept() {
        let file = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut rows = Rows {
            file,
            head: PLAN.into(),
            count: 4,
            length: 0,
            torn: false,
        };
        let failure = rows.append(&mut [samples::row(0)]).unwrap_err();
        assert_eq!(failure.code, 4);
        assert!(failure.message.contains("No space left"), "{failure}");
        assert!(
            failure.message.contains("4 rows before it are kept"),
            "{failure}"
        );
        assert_eq!(rows.count(), 4);
    }
}
