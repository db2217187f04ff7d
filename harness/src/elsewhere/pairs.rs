//! Reads a CSV file (RFC 4180, without quotes) of pairs: `baseline,candidate[,order]`.
//!
//! A header says which column is which. Lines that begin with `#` and empty ones are left out. The file
//! is read once and line by line, so that its size is no matter until a row is too many.

use std::io::{BufRead, Read};

use wiretrial_contract::control::quote;
use wiretrial_contract::failure::Failure;
use wiretrial_stats::order::First;

/// Rows that are read at most: 16 MB of values. A comparison needs dozens.
pub const MOST_ROWS: usize = 1_000_000;
/// Bytes of a line at most.
const LONGEST_LINE: u64 = 4_096;
/// Sizes that a value may have: beyond, the squares of a million of them are no longer numbers.
const SIZES: std::ops::RangeInclusive<f64> = 1e-150..=1e150;
const HEADER: &str = "baseline,candidate or baseline,candidate,order";

/// Pairs in the order of their rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pairs {
    /// Baseline and candidate.
    pub values: Vec<[f64; 2]>,
    /// Who was measured first; empty without that column.
    pub orders: Vec<First>,
}

/// Which values a pair may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// Above 0: they are compared as a ratio.
    Positive,
    /// Any number: they are subtracted.
    Any,
}

/// Reads pairs. `name` is what the file is called in messages.
///
/// # Errors
///
/// Exit 2: the line, what stands there, and what should. Exit 4: it cannot be read to its end.
pub fn read(name: &str, file: impl BufRead, domain: Domain) -> Result<Pairs, Failure> {
    let mut lines = Lines {
        name,
        file,
        number: 0,
    };
    let columns = match lines.next()? {
        Some(header) => Columns::of(&header).map_err(|why| lines.wrong(&why))?,
        None => {
            return Err(Failure::usage(format!(
                "{name} is empty; its first line says which column is which: {HEADER}"
            )));
        }
    };
    let mut pairs = Pairs::default();
    while let Some(line) = lines.next()? {
        if pairs.values.len() == MOST_ROWS {
            return Err(lines.wrong(&format!(
                "more than {MOST_ROWS} pairs; a comparison needs dozens, so take the mean of each \
                 launch, or a sample"
            )));
        }
        let (values, order) = columns
            .row(&line, domain)
            .map_err(|why| lines.wrong(&why))?;
        pairs.values.push(values);
        pairs.orders.extend(order);
    }
    if pairs.values.is_empty() {
        return Err(Failure::usage(format!(
            "{name} has a header and no pair; a verdict needs at least 6"
        )));
    }
    Ok(pairs)
}

/// Where the columns are.
#[derive(Debug, Clone, Copy)]
struct Columns {
    count: usize,
    baseline: usize,
    candidate: usize,
    order: Option<usize>,
}

impl Columns {
    fn of(header: &str) -> Result<Self, String> {
        let wrong = || format!("the header \"{}\" is not {HEADER}", quote(header));
        let names: Vec<&str> = header.split(',').map(str::trim).collect();
        let at = |wanted: &str| names.iter().position(|name| *name == wanted);
        let columns = Self {
            count: names.len(),
            baseline: at("baseline").ok_or_else(wrong)?,
            candidate: at("candidate").ok_or_else(wrong)?,
            order: at("order"),
        };
        // Neither a column that is not known, nor one that stands twice.
        let known = 2 + usize::from(columns.order.is_some());
        (columns.count == known)
            .then_some(columns)
            .ok_or_else(wrong)
    }

    fn row(&self, line: &str, domain: Domain) -> Result<([f64; 2], Option<First>), String> {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if fields.len() != self.count {
            return Err(format!(
                "{} columns, the header has {}; a number has a point and no comma in it",
                fields.len(),
                self.count
            ));
        }
        let values = [
            number("baseline", fields[self.baseline], domain)?,
            number("candidate", fields[self.candidate], domain)?,
        ];
        let order = self.order.map(|at| order(fields[at])).transpose()?;
        Ok((values, order))
    }
}

fn number(column: &str, text: &str, domain: Domain) -> Result<f64, String> {
    let shown = quote(text);
    let Ok(value) = text.parse::<f64>() else {
        return Err(format!(
            "{column} is \"{shown}\", which is no number such as 12.5; leave the pair out if it was not \
             measured"
        ));
    };
    if !value.is_finite() {
        return Err(format!(
            "{column} is {shown}, which is no finite number; leave the pair out if it was not measured"
        ));
    }
    if domain == Domain::Positive && value <= 0.0 {
        return Err(format!(
            "{column} is {shown}; a ratio needs values above 0. --difference subtracts, with a margin \
             in the unit of the values"
        ));
    }
    if value != 0.0 && !SIZES.contains(&value.abs()) {
        return Err(format!(
            "{column} is {shown}, whose size is not within 1e-150 to 1e150; give the values in another unit"
        ));
    }
    Ok(value)
}

fn order(text: &str) -> Result<First, String> {
    match text {
        "baseline" => Ok(First::Baseline),
        "candidate" => Ok(First::Candidate),
        _ => Err(format!(
            "order is \"{}\"; it says which was measured first, baseline or candidate",
            quote(text)
        )),
    }
}

/// Lines that say something, each with its number.
struct Lines<'a, R> {
    name: &'a str,
    file: R,
    number: u64,
}

impl<R: BufRead> Lines<'_, R> {
    fn next(&mut self) -> Result<Option<String>, Failure> {
        loop {
            let mut bytes = Vec::new();
            self.number += 1;
            let read = self
                .file
                .by_ref()
                .take(LONGEST_LINE)
                .read_until(b'\n', &mut bytes);
            let length = read.map_err(|error| {
                Failure::evidence(format!("{} cannot be read: {error}", self.name))
            })?;
            if length == 0 {
                return Ok(None);
            }
            if length as u64 == LONGEST_LINE && !bytes.ends_with(b"\n") {
                return Err(self.wrong(&format!(
                    "a line of more than {LONGEST_LINE} bytes; a pair is two numbers"
                )));
            }
            let text = match String::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => text,
                _ => {
                    return Err(self.wrong("this is no text; the file is CSV in UTF-8"));
                }
            };
            // Spreadsheets begin a file with a byte order mark.
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text).trim();
            if !text.is_empty() && !text.starts_with('#') {
                return Ok(Some(text.to_owned()));
            }
        }
    }

    fn wrong(&self, why: &str) -> Failure {
        Failure::usage(format!("{}:{}: {why}", self.name, self.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(text: &str) -> Pairs {
        read("x.csv", text.as_bytes(), Domain::Positive).unwrap()
    }

    fn refused(bytes: impl AsRef<[u8]>) -> String {
        let failure = read("x.csv", bytes.as_ref(), Domain::Positive).unwrap_err();
        assert_eq!(failure.code, 2);
        failure.message
    }

    #[test]
    fn comments_blank_lines_carriage_returns_and_columns_in_any_order() {
        let text = "\u{feff}# ns\r\n\r\nbaseline,candidate\r\n1.5, 2\r\n# odd\r\n 3e2 ,+4\r\n";
        assert_eq!(pairs(text).values, [[1.5, 2.0], [300.0, 4.0]]);
        assert_eq!(pairs(text).orders, []);
        let text = "order,candidate,baseline\ncandidate,2,1\nbaseline,4,3";
        let read = pairs(text);
        assert_eq!(read.values, [[1.0, 2.0], [3.0, 4.0]]);
        assert_eq!(read.orders, [First::Candidate, First::Baseline]);
    }

    #[test]
    fn what_is_no_pair_is_said_with_its_line() {
        let after = |line: &str| refused(format!("# c\nbaseline,candidate\n1,2\n{line}\n"));
        for (line, said) in [
            (
                "1,fast",
                "x.csv:4: candidate is \"fast\", which is no number such as 12.5",
            ),
            (",2", "x.csv:4: baseline is \"\", which is no number"),
            (
                "nan,2",
                "x.csv:4: baseline is nan, which is no finite number",
            ),
            (
                "1,-inf",
                "x.csv:4: candidate is -inf, which is no finite number",
            ),
            (
                "1,1e999",
                "x.csv:4: candidate is 1e999, which is no finite number",
            ),
            (
                "0,2",
                "x.csv:4: baseline is 0; a ratio needs values above 0. --difference",
            ),
            (
                "1,-2",
                "x.csv:4: candidate is -2; a ratio needs values above 0. --difference",
            ),
            (
                "1e308,2",
                "x.csv:4: baseline is 1e308, whose size is not within 1e-150 to 1e150",
            ),
            (
                "1,9e-151",
                "x.csv:4: candidate is 9e-151, whose size is not within 1e-150 to 1e150",
            ),
            ("1,2,3", "x.csv:4: 3 columns, the header has 2"),
            ("1", "x.csv:4: 1 columns, the header has 2"),
            ("1;2", "x.csv:4: 1 columns, the header has 2"),
        ] {
            assert!(after(line).starts_with(said), "{line}: {}", after(line));
        }
        let said = refused("baseline,candidate,order\n1,2,first\n");
        assert_eq!(
            said,
            "x.csv:2: order is \"first\"; it says which was measured first, baseline or candidate"
        );
    }

    #[test]
    fn headers() {
        let header = "is not baseline,candidate or baseline,candidate,order";
        for text in [
            "1,2\n",
            "baseline;candidate\n1;2\n",
            "baseline,candidate,candidate\n",
            "baseline,candidate,unit\n",
            "Baseline,Candidate\n",
        ] {
            assert!(refused(text).ends_with(header), "{text}: {}", refused(text));
        }
        for text in ["", "\n\n# nothing\n"] {
            assert!(refused(text).starts_with("x.csv is empty; "), "{text}");
        }
        assert_eq!(
            refused("baseline,candidate\n"),
            "x.csv has a header and no pair; a verdict needs at least 6"
        );
    }

    #[test]
    fn differences_may_be_anything_finite() {
        let text = "baseline,candidate\n0,-2.5\n";
        let read = read("x.csv", text.as_bytes(), Domain::Any).unwrap();
        assert_eq!(read.values, [[0.0, -2.5]]);
        for number in ["-1e151", "1e-151", "5e-324"] {
            let text = format!("baseline,candidate\n0,{number}\n");
            let failure = super::read("x.csv", text.as_bytes(), Domain::Any).unwrap_err();
            let said = format!("x.csv:2: candidate is {number}, whose size");
            assert!(failure.message.starts_with(&said), "{failure}");
        }
    }

    #[test]
    fn what_is_no_text_or_has_no_lines_is_refused_early() {
        assert_eq!(
            refused(b"\x7fELF\x02\x01\x00\x00\xff\n"),
            "x.csv:1: this is no text; the file is CSV in UTF-8"
        );
        assert!(
            refused(b"baseline,candidate\n1,2\n\xff,2\n").starts_with("x.csv:3: this is no text")
        );
        assert!(
            refused(vec![b'1'; 10_000_000]).starts_with("x.csv:1: a line of more than 4096 bytes")
        );
    }

    /// Rows without end, of which no more are made than are read.
    struct Endless {
        made: usize,
        line: &'static [u8],
    }

    impl Read for Endless {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            unreachable!("lines are read from the buffer")
        }
    }

    impl BufRead for Endless {
        fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
            if self.line.is_empty() {
                self.made += 1;
                self.line = b"1,2\n";
            }
            Ok(self.line)
        }

        fn consume(&mut self, amount: usize) {
            self.line = &self.line[amount..];
        }
    }

    #[test]
    fn a_row_too_many_ends_the_reading() {
        let mut endless = Endless {
            made: 0,
            line: b"baseline,candidate\n",
        };
        let failure = read("x.csv", &mut endless, Domain::Positive).unwrap_err();
        assert_eq!(failure.code, 2);
        assert!(
            failure
                .message
                .starts_with("x.csv:1000002: more than 1000000 pairs; "),
            "{failure}"
        );
        assert_eq!(endless.made, MOST_ROWS + 1);
    }

    proptest! {
        #[test]
        fn damage_is_one_sentence(bytes in prop::collection::vec(any::<u8>(), 0..60), keep: bool) {
            let mut file = if keep { b"baseline,candidate\n1,2\n".to_vec() } else { Vec::new() };
            file.extend(bytes);
            if let Err(failure) = read("x.csv", &file[..], Domain::Positive) {
                prop_assert_eq!(failure.code, 2);
                prop_assert!(!failure.message.contains('\n') && !failure.message.ends_with('.'));
            }
        }
    }
}
