//! A program's counts, read from what it printed, wrote or answered. What is not there is unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use regex::Regex;
use serde_json::Value;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::program::{CountName, CountSource, Counts};

use super::output::Kept;
use super::places::Places;

/// Where each count is read, with its placeholders replaced.
#[derive(Debug)]
pub(super) struct Readers(BTreeMap<CountName, Source>);

#[derive(Debug)]
enum Source {
    Stdout(Regex),
    Stderr(Regex),
    File(String, Regex),
    Json(String),
    Command(Vec<String>, Regex),
}

/// What a program left to read.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// Its standard output.
    pub(super) stdout: String,
    /// Its standard error.
    pub(super) stderr: String,
    /// What the commands of its counts printed, by argument list.
    pub(super) answers: BTreeMap<Vec<String>, String>,
}

impl Readers {
    /// The readers of a specification.
    ///
    /// # Errors
    ///
    /// A usage failure: an expression that is none or has not exactly one group, an empty command, a
    /// placeholder that stands for nothing.
    pub(super) fn new(
        counts: &BTreeMap<CountName, CountSource>,
        places: &Places<'_>,
    ) -> Result<Self, Failure> {
        let mut readers = BTreeMap::new();
        for (name, source) in counts {
            let key = format!("counts.{}", name.name());
            let source = match source {
                CountSource::Stdout(regex) => Source::Stdout(one_group(&key, regex)?),
                CountSource::Stderr(regex) => Source::Stderr(one_group(&key, regex)?),
                CountSource::File { path, regex } => {
                    Source::File(places.fill(&key, path)?, one_group(&key, regex)?)
                }
                CountSource::Json(pointer) => Source::Json(pointer.clone()),
                CountSource::Command { arguments, regex } => {
                    if arguments.is_empty() {
                        return Err(Failure::usage(format!(
                            "program.{key}: its command is empty"
                        )));
                    }
                    Source::Command(places.fill_all(&key, arguments)?, one_group(&key, regex)?)
                }
            };
            readers.insert(*name, source);
        }
        Ok(Self(readers))
    }

    /// The commands to run before the program is asked to end, each once.
    pub(super) fn commands(&self) -> BTreeSet<&[String]> {
        self.0
            .values()
            .filter_map(|source| match source {
                Source::Command(arguments, _) => Some(arguments.as_slice()),
                _ => None,
            })
            .collect()
    }

    /// The counts in `words` and in the files they stand in.
    pub(super) fn read(&self, words: &Words) -> Counts {
        let mut counts = Counts::default();
        for (name, source) in &self.0 {
            let count = match source {
                Source::Stdout(regex) => last_match(regex, &words.stdout),
                Source::Stderr(regex) => last_match(regex, &words.stderr),
                Source::File(path, regex) => {
                    content(Path::new(path)).and_then(|text| last_match(regex, &text))
                }
                Source::Json(pointer) => at_pointer(&words.stdout, pointer),
                Source::Command(arguments, regex) => words
                    .answers
                    .get(arguments)
                    .and_then(|text| last_match(regex, text)),
            };
            counts.set(*name, count);
        }
        counts
    }
}

/// Why a regular expression of `program.KEY` is none, in the last words of what refused it.
pub(super) fn no_regex(key: &str, text: &str, error: &regex::Error) -> Failure {
    let error = error.to_string();
    let cause = error.lines().last().unwrap_or_default();
    let cause = cause.trim_start_matches("error: ");
    Failure::usage(format!(
        "program.{key}: '{text}' is no regular expression: {cause}"
    ))
}

fn one_group(key: &str, text: &str) -> Result<Regex, Failure> {
    let refuse = |what: String| Failure::usage(format!("program.{key}: '{text}' {what}"));
    let regex = Regex::new(text).map_err(|error| no_regex(key, text, &error))?;
    match regex.captures_len() - 1 {
        1 => Ok(regex),
        0 => Err(refuse(
            "has no group; put the number into one, as in (\\d+)".into(),
        )),
        groups => Err(refuse(format!(
            "has {groups} groups; it must have one, which holds the number ((?:...) groups nothing)"
        ))),
    }
}

fn last_match(regex: &Regex, text: &str) -> Option<u64> {
    number(regex.captures_iter(text).last()?.get(1)?.as_str())
}

/// A whole number, with separators of thousands or without.
fn number(text: &str) -> Option<u64> {
    text.trim().replace([',', '_', '\''], "").parse().ok()
}

fn at_pointer(stdout: &str, pointer: &str) -> Option<u64> {
    match last_document(stdout)?.pointer(pointer)? {
        Value::Number(value) => value.as_u64(),
        Value::String(text) => number(text),
        _ => None,
    }
}

/// The last line that is a JSON object or array.
pub(super) fn last_document(stdout: &str) -> Option<Value> {
    stdout
        .lines()
        .rev()
        .filter(|line| line.trim_start().starts_with(['{', '[']))
        .find_map(|line| serde_json::from_str(line).ok())
}

fn content(path: &Path) -> Option<String> {
    // Opening anything but a file could wait for ever.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut file = File::open(path).ok()?;
    let mut kept = Kept::default();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(kept.text()),
            read => kept.push(&buffer[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foreign::places::Input;

    fn readers(name: CountName, source: CountSource, work: &Path) -> Result<Readers, Failure> {
        let places = Places {
            binary: "x",
            input: Input::File(None),
            work,
            packets: 0,
        };
        Readers::new(&[(name, source)].into(), &places)
    }

    fn read(source: CountSource, words: &Words) -> Option<u64> {
        let readers = readers(CountName::Processed, source, Path::new("/nowhere")).unwrap();
        readers.read(words).processed
    }

    #[test]
    fn the_last_match_counts_and_thousands_may_be_separated() {
        let words = Words {
            stdout: "seen 1\nseen 2,000,001\n".into(),
            stderr: "Packets received/dropped on interface 'x': 9/1 (pcap:0/dumpcap:0/flushed:0/\
                     ps_ifdrop:0) (90.0%)\n"
                .into(),
            answers: BTreeMap::new(),
        };
        let stdout = |regex: &str| read(CountSource::Stdout(regex.into()), &words);
        let stderr = |regex: &str| read(CountSource::Stderr(regex.into()), &words);
        assert_eq!(stdout(r"seen ([\d,]+)"), Some(2_000_001));
        assert_eq!(stdout(r"lost (\d+)"), None);
        assert_eq!(stderr(r"dropped on interface .*: (\d+)/"), Some(9));
        assert_eq!(stderr(r"dropped on interface .*: \d+/(\d+)"), Some(1));
        assert_eq!(stderr(r"\((\d+\.\d)%"), None, "not a whole number");
        assert_eq!(number("18_446'744,073709551616"), None, "over 64 bits");
    }

    #[test]
    fn json_is_the_last_line_that_is_some() {
        let words = Words {
            stdout: "{\"n\":1}\n{\"a\":{\"n\":7},\"t\":\"1_000\",\"m\":-1}\nbye {\n42\n".into(),
            ..Words::default()
        };
        let at = |pointer: &str| read(CountSource::Json(pointer.into()), &words);
        assert_eq!((at("/a/n"), at("/t")), (Some(7), Some(1000)));
        assert_eq!((at("/n"), at("/m"), at("/a")), (None, None, None));
    }

    #[test]
    fn a_file_and_an_answer_are_read_and_what_is_not_there_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("stats"), "written=12\n").unwrap();
        let source = |path: &str| CountSource::File {
            path: path.into(),
            regex: "written=(\\d+)".into(),
        };
        for (path, count) in [
            ("{work}/stats", Some(12)),
            ("{work}/no", None),
            ("{work}", None),
        ] {
            let readers = readers(CountName::Written, source(path), folder.path()).unwrap();
            assert_eq!(readers.read(&Words::default()).written, count);
        }
        let command = CountSource::Command {
            arguments: vec!["ctl".into(), "{work}/s".into()],
            regex: "recv (\\d+)".into(),
        };
        let readers = readers(CountName::Received, command, Path::new("/w")).unwrap();
        let asked = vec!["ctl".to_owned(), "/w/s".to_owned()];
        assert_eq!(Vec::from_iter(readers.commands()), [&asked[..]]);
        assert_eq!(readers.read(&Words::default()).received, None);
        let words = Words {
            answers: [(asked, "recv 5".into())].into(),
            ..Words::default()
        };
        assert_eq!(readers.read(&words).received, Some(5));
    }

    #[test]
    fn an_expression_without_exactly_one_group_is_refused() {
        for (regex, words) in [
            (
                "x",
                "program.counts.dropped: 'x' has no group; put the number into one, as in (\\d+)",
            ),
            (
                "(a)(b)",
                "program.counts.dropped: '(a)(b)' has 2 groups; it must have one",
            ),
            (
                "(\\d+",
                "program.counts.dropped: '(\\d+' is no regular expression: unclosed group",
            ),
        ] {
            let source = CountSource::Stderr(regex.into());
            let failure = readers(CountName::Dropped, source, Path::new("/")).unwrap_err();
            assert_eq!(failure.code, 2);
            assert!(failure.message.starts_with(words), "{failure}");
        }
    }
}
