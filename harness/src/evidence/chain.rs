//! Reading `trials.jsonl`: one row after the other, each checked against the line before it, in the
//! memory of one line however many there are.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use wiretrial_contract::control::{MAX_LINE, quote};
use wiretrial_contract::digest::sha256;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::record::{TRIAL_SCHEMA, TrialRecord};

use super::regular;

/// Longest line of a row, bytes, its newline not included. A row holds what a generator and a receiver
/// said, each in one message, and the harness's own counters.
pub const LONGEST: usize = 4 * MAX_LINE;

/// The rows of a chain that hangs on the hash of a plan, read as they are asked for. The first line
/// that is not as it should be is the last thing given.
#[derive(Debug)]
pub struct Chain<R> {
    lines: R,
    /// The line looked at, with its newline.
    line: Vec<u8>,
    /// Hash of the line before, or of the plan.
    head: String,
    /// Rows read.
    count: u64,
    /// Bytes of their lines.
    length: u64,
    broken: bool,
}

/// Why a line is no row of the chain.
#[derive(Debug)]
pub(super) enum Broken {
    /// It has no end, or cannot be read as a row: at the end of a file, perhaps half of one.
    Unreadable(Failure),
    /// All else.
    Wrong(Failure),
}

impl Broken {
    fn failure(self) -> Failure {
        match self {
            Self::Unreadable(failure) | Self::Wrong(failure) => failure,
        }
    }
}

impl Chain<BufReader<File>> {
    /// The chain in the file at `path` that hangs on the plan's hash.
    ///
    /// # Errors
    ///
    /// The file cannot be opened (exit 4), or is none (exit 5).
    pub fn open(path: &Path, plan_sha256: &str) -> Result<Self, Failure> {
        let file = regular::open(path)?;
        Ok(Self::new(BufReader::new(file), plan_sha256))
    }
}

impl<R: BufRead> Chain<R> {
    /// The chain in `lines` that hangs on the plan's hash.
    pub fn new(lines: R, plan_sha256: &str) -> Self {
        Self {
            lines,
            line: Vec::new(),
            head: plan_sha256.to_owned(),
            count: 0,
            length: 0,
            broken: false,
        }
    }

    /// Hash of the last line read, without its newline; of the plan before the first.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// Rows read.
    pub(super) fn rows_read(&self) -> u64 {
        self.count
    }

    /// Bytes of the lines of the rows read.
    pub(super) fn bytes_read(&self) -> u64 {
        self.length
    }

    /// The next row; `None` at the end.
    pub(super) fn read(&mut self) -> Result<Option<TrialRecord>, Broken> {
        let row = self.parse()?;
        if let Some(row) = &row {
            self.follows(row)?;
            self.head = sha256(body(&self.line));
            self.count += 1;
            self.length += self.line.len() as u64;
        }
        Ok(row)
    }

    /// The line that could not be read, if nothing is behind it.
    ///
    /// # Errors
    ///
    /// What is behind it cannot be read.
    pub(super) fn into_last(mut self) -> io::Result<Option<Vec<u8>>> {
        let last = self.lines.fill_buf()?.is_empty();
        Ok(last.then_some(self.line))
    }

    fn parse(&mut self) -> Result<Option<TrialRecord>, Broken> {
        let number = self.count;
        self.line.clear();
        let longest = LONGEST as u64 + 1;
        (&mut self.lines)
            .take(longest)
            .read_until(b'\n', &mut self.line)
            .map_err(|error| Broken::Wrong(Failure::evidence(format!("row {number}: {error}"))))?;
        let line = body(&self.line);
        if self.line.is_empty() {
            return Ok(None);
        }
        if line.len() > LONGEST {
            return Err(wrong(format!(
                "row {number} has more than {LONGEST} bytes, no row has"
            )));
        }
        if line.len() == self.line.len() {
            let failure = Failure::mismatch(format!("row {number} has no end"));
            return Err(Broken::Unreadable(failure));
        }
        // A row of another schema is refused for that, and not for the fields it lacks.
        match serde_json::from_slice::<TrialRecord>(line) {
            Ok(row) if row.schema == TRIAL_SCHEMA => Ok(Some(row)),
            Ok(row) => Err(wrong(of_schema(number, &row.schema))),
            Err(error) => Err(match schema(line) {
                Some(schema) if schema != TRIAL_SCHEMA => wrong(of_schema(number, &schema)),
                // What is no row at all is said by the reading of it.
                _ => Broken::Unreadable(Failure::mismatch(format!(
                    "row {number} cannot be read: {error}"
                ))),
            }),
        }
    }

    fn follows(&self, row: &TrialRecord) -> Result<(), Broken> {
        let number = self.count;
        if row.row != number {
            return Err(wrong(format!("row {number} says it is row {}", row.row)));
        }
        if row.prev != self.head {
            return Err(wrong(format!(
                "row {number} does not follow the line before it: it names {}, that is {}",
                short(&row.prev),
                short(&self.head)
            )));
        }
        Ok(())
    }
}

/// # Errors
///
/// Exit 5: a line has no end or is too long, does not parse, is out of its place, or does not carry
/// the hash of the line before it. Exit 4: the lines cannot be read.
impl<R: BufRead> Iterator for Chain<R> {
    type Item = Result<TrialRecord, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.broken {
            return None;
        }
        let row = self.read().map_err(Broken::failure).transpose();
        self.broken = matches!(row, Some(Err(_)));
        row
    }
}

fn wrong(message: String) -> Broken {
    Broken::Wrong(Failure::mismatch(message))
}

fn body(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

fn schema(line: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Schema {
        schema: String,
    }
    let schema: Schema = serde_json::from_slice(line).ok()?;
    Some(schema.schema)
}

fn of_schema(number: u64, schema: &str) -> String {
    format!(
        "row {number} has schema {}, this version reads {TRIAL_SCHEMA}",
        quote(schema)
    )
}

fn short(hash: &str) -> &str {
    hash.get(..8).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::samples;

    const PLAN: &str = "ab";

    fn three_rows() -> Vec<u8> {
        let mut head = PLAN.to_owned();
        let mut bytes = Vec::new();
        for (row, pair) in (0..).zip([0, 0, 1]) {
            let line = serde_json::to_vec(&TrialRecord {
                prev: head,
                row,
                ..samples::row(pair)
            })
            .unwrap();
            head = sha256(&line);
            bytes.extend(line);
            bytes.push(b'\n');
        }
        bytes
    }

    fn all(bytes: &[u8], plan_sha256: &str) -> Result<Vec<TrialRecord>, Failure> {
        Chain::new(bytes, plan_sha256).collect()
    }

    #[test]
    fn rows_chain_on_the_plan_and_on_each_other() {
        let bytes = three_rows();
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        // A buffer smaller than a line.
        let mut chain = Chain::new(BufReader::with_capacity(7, &bytes[..]), PLAN);
        let records: Vec<TrialRecord> = chain.by_ref().map(Result::unwrap).collect();
        assert_eq!(records[0].prev, PLAN);
        assert_eq!(records[1].prev, sha256(lines[0]));
        assert_eq!(records[2].prev, sha256(lines[1]));
        assert_eq!(chain.head(), sha256(lines[2]));
        assert_eq!(records.iter().map(|r| r.row).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(
            (chain.rows_read(), chain.bytes_read()),
            (3, bytes.len() as u64)
        );
        assert_eq!(Chain::new(&b""[..], PLAN).head(), PLAN);
    }

    #[test]
    fn any_changed_byte_of_a_line_breaks_the_chain_after_it() {
        let bytes = three_rows();
        let at = bytes.windows(8).position(|w| w == b"accepted").unwrap() + 10;
        let mut changed = bytes.clone();
        changed[at] = if changed[at] == b'1' { b'2' } else { b'1' };
        assert_eq!(all(&changed, PLAN).unwrap_err().code, 5);
        assert_eq!(all(&bytes, "cd").unwrap_err().code, 5);
    }

    #[test]
    fn nothing_is_given_after_a_broken_line() {
        let mut bytes = three_rows();
        let second = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        bytes[second] = b'x';
        let given: Vec<_> = Chain::new(&bytes[..], PLAN).collect();
        assert_eq!(given.len(), 2);
        let failure = given[1].as_ref().unwrap_err();
        assert_eq!(failure.code, 5);
        assert!(
            failure.message.starts_with("row 1 cannot be read: "),
            "{failure}"
        );
    }

    #[test]
    fn a_row_without_its_end_or_without_end_is_refused() {
        let bytes = three_rows();
        let failure = all(&bytes[..bytes.len() - 1], PLAN).unwrap_err();
        assert_eq!(
            (failure.code, &failure.message[..]),
            (5, "row 2 has no end")
        );
        // No more than that is read of it.
        let endless = BufReader::new(io::repeat(b' '));
        let failure = Chain::new(endless, PLAN).next().unwrap().unwrap_err();
        assert_eq!(failure.code, 5);
        assert!(
            failure
                .message
                .starts_with("row 0 has more than 4194304 bytes")
        );
    }

    #[test]
    fn a_longest_row_is_read() {
        let mut bytes = three_rows();
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
        bytes.truncate(end);
        bytes.resize(LONGEST, b' ');
        bytes.push(b'\n');
        assert_eq!(all(&bytes, PLAN).unwrap().len(), 1);
        bytes.insert(LONGEST, b' ');
        assert!(all(&bytes, PLAN).is_err());
    }

    #[test]
    fn another_schema_is_named() {
        let text = String::from_utf8(three_rows()).unwrap();
        for other in [
            text.replace(TRIAL_SCHEMA, "wiretrial.trial/9"),
            "{\"schema\":\"wiretrial.trial/9\"}\n".into(),
        ] {
            let failure = all(other.as_bytes(), PLAN).unwrap_err();
            assert_eq!(failure.code, 5);
            assert_eq!(
                failure.message,
                format!("row 0 has schema wiretrial.trial/9, this version reads {TRIAL_SCHEMA}")
            );
        }
    }
}
