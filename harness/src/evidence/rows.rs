//! `trials.jsonl`: one row a trial, each carrying the hash of the line before, on disk before the
//! next launch.
//!
//! Invariant: after every successful [`Rows::append`] the file is a chain of whole lines. A write
//! that fails, for instance on a full disk, is cut back to the last whole line, so that rows
//! already measured are kept.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use wiretrial_contract::control::quote;
use wiretrial_contract::digest::sha256;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::record::{TRIAL_SCHEMA, TrialRecord};

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

impl Rows {
    /// Starts an empty chain in `folder` that hangs on the plan's hash.
    ///
    /// # Errors
    ///
    /// The file exists or cannot be made.
    pub fn create(folder: &Path, plan_sha256: &str) -> Result<Self, Failure> {
        let path = folder.join(FILE);
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(&path)
            .and_then(|file| File::open(folder)?.sync_all().map(|()| file))
            .map_err(|error| Failure::evidence(format!("{}: {error}", path.display())))?;
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
    /// The file cannot be read; or, exit 5, a row before the last is broken.
    pub fn resume(folder: &Path, plan_sha256: &str) -> Result<Resumed, Failure> {
        let path = folder.join(FILE);
        let broken = |error: io::Error| Failure::evidence(format!("{}: {error}", path.display()));
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .open(&path)
            .map_err(broken)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(broken)?;
        let whole = whole_length(&bytes);
        let torn = (whole < bytes.len()).then(|| bytes[whole..].to_vec());
        let (records, head) = read_chain(&bytes[..whole], plan_sha256)?;
        let rows = Self {
            file,
            head,
            count: records.len() as u64,
            length: whole as u64,
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

/// Reads a finished chain of whole lines: the rows and the hash of the last line.
///
/// # Errors
///
/// Exit 5: a line does not parse, is out of its place, or does not carry the hash of the line
/// before it.
pub fn read_chain(bytes: &[u8], plan_sha256: &str) -> Result<(Vec<TrialRecord>, String), Failure> {
    let mut head = plan_sha256.to_owned();
    let mut records = Vec::new();
    for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let Some(line) = line.strip_suffix(b"\n") else {
            return Err(Failure::mismatch(format!("row {number} has no end")));
        };
        schema(number, line)?;
        let record: TrialRecord = serde_json::from_slice(line)
            .map_err(|error| Failure::mismatch(format!("row {number} cannot be read: {error}")))?;
        if record.row != number as u64 {
            return Err(Failure::mismatch(format!(
                "row {number} says it is row {}",
                record.row
            )));
        }
        if record.prev != head {
            return Err(Failure::mismatch(format!(
                "row {number} does not follow the line before it: it names {}, that is {}",
                short(&record.prev),
                short(&head)
            )));
        }
        head = sha256(line);
        records.push(record);
    }
    Ok((records, head))
}

/// A row of another schema is refused for that, before its fields are read.
fn schema(number: usize, line: &[u8]) -> Result<(), Failure> {
    #[derive(serde::Deserialize)]
    struct Schema {
        schema: String,
    }
    match serde_json::from_slice::<Schema>(line) {
        Ok(Schema { schema }) if schema != TRIAL_SCHEMA => Err(Failure::mismatch(format!(
            "row {number} has schema {}, this version reads {TRIAL_SCHEMA}",
            quote(&schema)
        ))),
        // What is no row at all is said by the reading of it.
        _ => Ok(()),
    }
}

/// Length of the leading part made of whole lines whose last one parses.
fn whole_length(bytes: &[u8]) -> usize {
    let end = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let Some(body) = bytes[..end].strip_suffix(b"\n") else {
        return end;
    };
    let start = body
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let parses = serde_json::from_slice::<TrialRecord>(&body[start..]).is_ok();
    if parses || end < bytes.len() {
        end
    } else {
        start
    }
}

fn short(hash: &str) -> &str {
    hash.get(..8).unwrap_or(hash)
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
    fn rows_chain_on_the_plan_and_on_each_other() {
        let (_folder, bytes) = three_rows();
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let (records, head) = read_chain(&bytes, PLAN).unwrap();
        assert_eq!(records[0].prev, PLAN);
        assert_eq!(records[1].prev, sha256(lines[0]));
        assert_eq!(records[2].prev, sha256(lines[1]));
        assert_eq!(head, sha256(lines[2]));
        assert_eq!(records.iter().map(|r| r.row).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn any_changed_byte_of_a_line_breaks_the_chain_after_it() {
        let (_folder, bytes) = three_rows();
        let at = bytes.windows(8).position(|w| w == b"accepted").unwrap() + 10;
        let mut changed = bytes.clone();
        changed[at] = if changed[at] == b'1' { b'2' } else { b'1' };
        assert_eq!(read_chain(&changed, PLAN).unwrap_err().code, 5);
        assert_eq!(read_chain(&bytes, "cd").unwrap_err().code, 5);
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
    fn another_schema_is_named() {
        let (_folder, bytes) = three_rows();
        let text = String::from_utf8(bytes)
            .unwrap()
            .replace(TRIAL_SCHEMA, "wiretrial.trial/9");
        let failure = read_chain(text.as_bytes(), PLAN).unwrap_err();
        assert_eq!(failure.code, 5);
        assert_eq!(
            failure.message,
            format!("row 0 has schema wiretrial.trial/9, this version reads {TRIAL_SCHEMA}")
        );
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
