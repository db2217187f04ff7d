//! Finished evidence that was edited, by one byte anywhere, by a file more or less, or by another
//! version, does not verify. The evidence is of a real campaign; all else happens in this process.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod real;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use real::{Bench, run};
use serde_json::Value;
use tempfile::TempDir;
use wiretrial::evidence::again;
use wiretrial::evidence::folder::Folder;
use wiretrial::evidence::verify::{check_sums, verify};
use wiretrial_contract::failure::Failure;

/// Bytes of a file that is changed at every one of them.
const SMALL: usize = 4_096;
/// Bytes that are changed of a larger one.
const SPREAD: usize = 400;
/// Changes of each file that are recomputed in full.
const IN_FULL: usize = 4;
/// Files that follow from others, or carry them: to edit one unseen is not enough to hash it again.
const DERIVED: [&str; 6] = [
    "plan.json",
    "trials.jsonl",
    "analysis.json",
    "report.md",
    "recompute.py",
    "rehearsal/plan.json",
];

/// Finished evidence of six pairs of two commands.
struct Finished {
    root: TempDir,
}

impl Finished {
    fn new() -> Self {
        let bench = Bench::new();
        let mut arguments = vec!["compare", "--command", "true", "sleep 0", "--quick"];
        arguments.extend([
            "--set",
            "design.foreign-cpu=100%",
            "--set",
            "workload.passes=1",
        ]);
        arguments.extend([
            "--set",
            "design.rest=0ms",
            "--fail-on",
            "never",
            "--out",
            "out",
        ]);
        let ended = run(bench.wiretrial(&arguments));
        // A busy host may void too many pairs; the evidence of that is finished too.
        let sums = bench.path("out/SHA256SUMS");
        assert!(sums.is_file(), "{}", ended.stderr);
        let root = tempfile::tempdir().unwrap();
        let finished = Self { root };
        let from = Folder::open(&bench.path("out")).unwrap();
        let mut names = from.files().unwrap();
        names.push("SHA256SUMS".into());
        for name in names {
            let to = finished.path(&name);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::write(to, from.read(&name).unwrap()).unwrap();
        }
        assert!(verify(&finished.folder()).is_ok());
        finished
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("out").join(name)
    }

    fn folder(&self) -> Folder {
        Folder::open(&self.path("")).unwrap()
    }

    /// All files but the list of hashes.
    fn names(&self) -> Vec<String> {
        self.folder().files().unwrap()
    }

    fn refused(&self) -> Failure {
        verify(&self.folder()).unwrap_err()
    }

    /// Does something with a changed file, then puts it back.
    fn with<T>(&self, name: &str, bytes: &[u8], look: impl FnOnce(&Self) -> T) -> T {
        let before = fs::read(self.path(name)).unwrap();
        fs::write(self.path(name), bytes).unwrap();
        let seen = look(self);
        fs::write(self.path(name), before).unwrap();
        seen
    }

    /// The same, with the hashes as an editor who knows of them would write them.
    fn hashed_again<T>(&self, name: &str, bytes: &[u8], look: impl FnOnce(&Self) -> T) -> T {
        let sums = fs::read(self.path("SHA256SUMS")).unwrap();
        let seen = self.with(name, bytes, |this| {
            this.folder().write_sums().unwrap();
            look(this)
        });
        fs::write(self.path("SHA256SUMS"), sums).unwrap();
        seen
    }
}

/// Places in so many bytes: each, or some from the first to the last.
fn places(length: usize, most: usize) -> impl Iterator<Item = usize> {
    let count = length.min(most);
    (0..count).map(move |n| {
        if count == length {
            n
        } else {
            n * (length - 1) / (count - 1)
        }
    })
}

/// Whether both are one JSON document but for floats closer than verify compares them, 1e-9 relative:
/// another mathematical library gives other last digits, so these are no edit that it can tell.
fn same_numbers(written: &[u8], edited: &[u8]) -> bool {
    fn same(one: &Value, other: &Value) -> bool {
        match (one, other) {
            (Value::Object(one), Value::Object(other)) => {
                one.len() == other.len()
                    && one.iter().all(|(name, value)| {
                        other.get(name).is_some_and(|there| same(value, there))
                    })
            }
            (Value::Array(one), Value::Array(other)) => {
                one.len() == other.len()
                    && one.iter().zip(other).all(|(one, other)| same(one, other))
            }
            (Value::Number(one), Value::Number(other)) if one.is_f64() && other.is_f64() => {
                let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
                (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
            }
            _ => one == other,
        }
    }
    let read = |bytes| serde_json::from_slice::<Value>(bytes);
    matches!((read(written), read(edited)), (Ok(one), Ok(other)) if same(&one, &other))
}

fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    changed[at] ^= 1 << (at % 8);
    changed
}

#[test]
fn one_byte_anywhere_is_found() {
    let evidence = Finished::new();
    let mut names = evidence.names();
    names.push("SHA256SUMS".into());
    for name in &names {
        let bytes = fs::read(evidence.path(name)).unwrap();
        let most = if bytes.len() <= SMALL { SMALL } else { SPREAD };
        for at in places(bytes.len(), most) {
            let hashed = evidence.with(name, &flipped(&bytes, at), |this| {
                check_sums(&this.folder())
            });
            let failure = hashed.expect_err(&format!("byte {at} of {name}"));
            assert_eq!(failure.code, 5, "byte {at} of {name}: {failure}");
        }
        for at in places(bytes.len(), IN_FULL) {
            let failure = evidence.with(name, &flipped(&bytes, at), Finished::refused);
            assert_eq!(failure.code, 5, "byte {at} of {name}: {failure}");
        }
    }
    assert!(verify(&evidence.folder()).is_ok(), "nothing of it is left");
}

#[test]
fn hashes_made_again_hide_no_edit() {
    let evidence = Finished::new();
    let names = evidence.names();
    let tables = names.iter().filter(|name| name.starts_with("tables/"));
    for name in tables.map(String::as_str).chain(DERIVED) {
        let bytes = fs::read(evidence.path(name)).unwrap();
        for at in places(bytes.len(), 3 * IN_FULL) {
            let edited = flipped(&bytes, at);
            let verified = evidence.hashed_again(name, &edited, |this| verify(&this.folder()));
            let code = verified.err().map(|failure| failure.code);
            let below = name == "analysis.json" && same_numbers(&bytes, &edited);
            let expected = if below { None } else { Some(5) };
            assert_eq!(code, expected, "byte {at} of {name}");
        }
    }
    assert!(verify(&evidence.folder()).is_ok(), "nothing of it is left");
}

#[test]
fn rows_lost_after_the_end_are_an_edit_and_no_interruption() {
    let evidence = Finished::new();
    let rows = fs::read_to_string(evidence.path("trials.jsonl")).unwrap();
    let lines: Vec<&str> = rows.split_inclusive('\n').collect();
    let torn = format!("{}{{\"row\":", lines[..lines.len() - 1].concat());
    for kept in [lines[..lines.len() - 2].concat(), String::new(), torn] {
        fs::write(evidence.path("trials.jsonl"), kept).unwrap();
        assert_eq!(evidence.refused().code, 5);
        let again = again::open(evidence.folder()).unwrap_err();
        assert_eq!(again.code, 5, "{again}");
        assert!(
            again.message.starts_with("trials.jsonl has SHA-256 "),
            "{again}"
        );
    }
}

#[test]
fn digits_below_the_tolerance_and_no_others_are_the_same_numbers() {
    let written = br#"{"a": [0.123456789012, 3, 0.0], "b": "x"}"#;
    for (from, to, same) in [
        ("0.123456789012", "0.123456789013", true),
        ("0.123456789012", "0.123456788012", false),
        ("3", "2", false),
        ("0.0", "1.0", false),
        (r#""x""#, r#""y""#, false),
        ("{", "[", false),
    ] {
        let edited = String::from_utf8_lossy(written).replacen(from, to, 1);
        assert_eq!(same_numbers(written, edited.as_bytes()), same, "{edited}");
    }
}

#[test]
fn a_file_more_or_less_or_under_another_name_is_found() {
    let evidence = Finished::new();
    for name in evidence.names() {
        if name == "plan.json" {
            continue;
        }
        let (here, away) = (evidence.path(&name), evidence.path("../away"));
        fs::rename(&here, &away).unwrap();
        let failure = evidence.refused();
        assert_eq!(failure.code, 5, "{name}: {failure}");
        assert!(failure.message.contains(&name), "{name}: {failure}");
        // Waiting for a writer, or following a link to what was taken away, would not be refused.
        mkfifo(&here, Mode::S_IRWXU).unwrap();
        assert_eq!(evidence.refused().code, 5, "{name}");
        fs::remove_file(&here).unwrap();
        symlink(&away, &here).unwrap();
        assert_eq!(evidence.refused().code, 5, "{name}");
        fs::remove_file(&here).unwrap();
        fs::rename(&away, &here).unwrap();
        let other = evidence.path(&format!("{name}.old"));
        fs::rename(&here, &other).unwrap();
        assert_eq!(evidence.refused().code, 5, "{name}");
        fs::rename(&other, &here).unwrap();
    }
    for name in ["x", "raw/x", "rehearsal/raw/x", "tables/x.csv", "pilot/x"] {
        let path = evidence.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "x").unwrap();
        assert_eq!(evidence.refused().code, 5, "{name}");
        fs::remove_file(&path).unwrap();
    }
    symlink("plan.json", evidence.path("raw-link")).unwrap();
    assert_eq!(evidence.refused().code, 5);
    fs::remove_file(evidence.path("raw-link")).unwrap();
    fs::remove_file(evidence.path("SHA256SUMS")).unwrap();
    assert_eq!(evidence.refused().code, 4);
    fs::remove_file(evidence.path("plan.json")).unwrap();
    let failure = Folder::open(&evidence.path("")).unwrap_err();
    assert_eq!(failure.code, 2, "{failure}");
}

#[test]
fn another_version_is_named_with_the_one_that_is_read() {
    let evidence = Finished::new();
    for (name, schema) in [
        ("plan.json", "wiretrial.plan/"),
        ("trials.jsonl", "wiretrial.trial/"),
        ("analysis.json", "wiretrial.analysis/"),
        ("environment.json", "wiretrial.environment/"),
    ] {
        let text = fs::read_to_string(evidence.path(name)).unwrap();
        let start = text.find(schema).unwrap() + schema.len();
        let end = start + text[start..].find('"').unwrap();
        let read = format!("{schema}{}", &text[start..end]);
        // A field that is not known may not hide that the whole file is of another version.
        let newer = format!(
            "{}99\",\"new\":{{\"a\":[1]}},\"x\":\"{}",
            &text[..start],
            &text[end..]
        );
        let failure = evidence.hashed_again(name, newer.as_bytes(), Finished::refused);
        assert_eq!(failure.code, 5, "{failure}");
        let said = format!("has schema {schema}99, this version reads {read}");
        assert!(failure.message.ends_with(&said), "{failure}");
    }
}

#[test]
fn places_reach_both_ends() {
    assert_eq!(places(3, 9).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(places(101, 3).collect::<Vec<_>>(), [0, 50, 100]);
}
