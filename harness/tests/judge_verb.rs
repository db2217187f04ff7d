//! `wiretrial judge` from the command line: what it prints, and one sentence with exit code 2 for every
//! file that is wrong.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod real;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use real::{Ended, run, skipped};
use serde_json::Value;
use tempfile::TempDir;

/// `wiretrial` in a folder of its own; it measures nothing, so no turn is taken.
struct Room(TempDir);

impl Room {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn with(self, name: &str, bytes: impl AsRef<[u8]>) -> Self {
        fs::write(self.0.path().join(name), bytes).unwrap();
        self
    }

    fn wiretrial(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wiretrial"));
        command
            .arg("judge")
            .args(arguments)
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        command
    }

    fn judge(&self, arguments: &[&str]) -> Ended {
        run(self.wiretrial(arguments))
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let mut all = arguments.to_vec();
        all.extend(["--format", "json"]);
        let ended = self.judge(&all);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        serde_json::from_str(&ended.stdout).unwrap()
    }
}

const TWELVE: &str = "baseline,candidate,order
101.3,99.1,baseline\n99.7,97.9,candidate\n100.4,98.6,candidate\n102.2,99.8,baseline
98.9,97.1,baseline\n100.8,98.5,candidate\n99.4,97.6,candidate\n101.0,98.8,baseline
100.1,98.3,baseline\n98.7,97.0,candidate\n101.9,99.5,baseline\n100.6,98.4,candidate
";

#[test]
fn twelve_pairs_of_a_file_or_of_standard_input() {
    let room = Room::new().with("times.csv", TWELVE);
    let asked = ["--margin", "1%", "--metric", "time", "--unit", "ms"];
    let mut arguments = vec!["pairs", "times.csv"];
    arguments.extend(asked);
    let ended = room.judge(&arguments);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(
        ended.stdout,
        "time: 100.4 -> 98.4 ms, -2.0 % [-2.2 %, -1.9 %] (95 %, 12 pairs): better, beyond the margin of 1 %\n  \
         randomization p 2/924, as if the given order had been drawn among all balanced ones\n"
    );
    arguments[1] = "-";
    let mut command = room.wiretrial(&arguments);
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(TWELVE.as_bytes()).unwrap();
    drop(stdin);
    let piped: Ended = child.wait_with_output().unwrap().into();
    assert_eq!(piped.stdout, ended.stdout, "{}", piped.stderr);
}

#[test]
fn the_document_has_the_names_of_an_analysis() {
    let room = Room::new().with("times.csv", TWELVE);
    let document = room.json(&["pairs", "times.csv", "--margin", "2%", "--metric", "time"]);
    let names: Vec<&String> = document.as_object().unwrap().keys().collect();
    assert_eq!(names, ["comparisons"]);
    let one = &document["comparisons"][0];
    assert_eq!(one["metric"], "time");
    assert_eq!(one["pairs"], 12);
    assert_eq!(one["verdict"], "improved");
    assert_eq!(one["values"][0], serde_json::json!([101.3, 99.1]));
    for name in [
        "case",
        "unit",
        "direction",
        "primary",
        "mean_baseline",
        "mean_candidate",
        "ratio",
        "change",
        "percentile",
        "decision",
        "exact",
        "expanded",
        "delta_t",
        "index_sha256",
        "reasons",
        "flags",
        "statement",
    ] {
        assert!(one.get(name).is_some(), "{name}");
    }
    let again = room.json(&["pairs", "times.csv", "--margin", "2%", "--metric", "time"]);
    assert_eq!(again, document, "the same values give the same intervals");
    let other = room.json(&["pairs", "times.csv", "--seed", "7"]);
    assert_ne!(other["comparisons"][0]["index_sha256"], one["index_sha256"]);
    assert_eq!(other["comparisons"][0]["delta_t"], one["delta_t"]);
}

#[test]
fn rates_and_differences() {
    let room = Room::new().with("x.csv", TWELVE);
    let rate = room.json(&["pairs", "x.csv", "--margin", "1%", "--direction", "higher"]);
    assert_eq!(rate["comparisons"][0]["verdict"], "regressed_worthwhile");
    let zeros = "baseline,candidate\n0,0\n1,0\n0,-1\n2,1\n0,0\n3,1\n";
    let room = room.with("lost.csv", zeros);
    let ended = room.judge(&[
        "pairs",
        "lost.csv",
        "--difference",
        "--margin",
        "5",
        "--unit",
        "packets",
    ]);
    assert!(
        ended.stdout.contains("the same within 5 packets"),
        "{}",
        ended.stdout
    );
    let document = room.json(&["pairs", "lost.csv", "--difference"]);
    assert!(document["comparisons"][0]["ratio"].is_null());
    assert_eq!(document["comparisons"][0]["reasons"][0], "no_margin");
}

#[test]
fn one_pair_is_shown_and_not_judged() {
    let room = Room::new().with("x.csv", "baseline,candidate\n2,1\n");
    let ended = room.judge(&["pairs", "x.csv", "--margin", "3%"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(
        ended.stdout,
        "value: 2.00 -> 1.00, -50.0 % no interval (95 %, 1 pair): not decided, no interval, fewer pairs than an \
         interval needs\n  2 -> 1\n"
    );
    let document = room.json(&["pairs", "x.csv"]);
    assert_eq!(document["comparisons"][0]["reasons"][0], "too_few_pairs");
    assert!(document["comparisons"][0]["decision"]["lo95"].is_null());
}

#[test]
fn two_pairs_that_agree_are_no_evidence() {
    let room = Room::new().with("x.csv", "baseline,candidate\n10,11\n10,11\n");
    let ended = room.judge(&["pairs", "x.csv", "--margin", "2%"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended
            .stdout
            .contains("no interval (95 %, 2 pairs): not decided, no interval, fewer pairs than"),
        "{}",
        ended.stdout
    );
    let document = room.json(&["pairs", "x.csv", "--margin", "2%"]);
    assert_eq!(document["comparisons"][0]["verdict"], "inconclusive");
    assert_eq!(document["comparisons"][0]["reasons"][0], "too_few_pairs");
}

#[test]
fn more_pairs_than_are_resampled_are_asked_about() {
    let mut text = String::from("baseline,candidate\n");
    for pair in 0..257 {
        text.push_str(&format!("{},{}\n", 100 + pair % 7, 90 + pair % 5));
    }
    let room = Room::new().with("x.csv", &text);
    let ended = room.judge(&["pairs", "x.csv", "--margin", "3%"]);
    assert!(
        ended
            .stdout
            .contains("are these launches, or samples of one launch"),
        "{}",
        ended.stdout
    );
    let document = room.json(&["pairs", "x.csv", "--margin", "3%"]);
    let one = &document["comparisons"][0];
    assert!(
        one["flags"]
            .as_array()
            .unwrap()
            .contains(&"student_alone".into())
    );
    assert!(one["diagnostics"]["lag1"].is_number() && one["diagnostics"]["cusum"].is_null());
}

#[test]
fn many_pairs_are_judged() {
    let mut text = String::from("baseline,candidate\n");
    for pair in 0..256 {
        text.push_str(&format!("{},{}\n", 100 + pair % 7, 90 + pair % 5));
    }
    let room = Room::new().with("x.csv", &text);
    let document = room.json(&["pairs", "x.csv", "--margin", "3%"]);
    assert_eq!(document["comparisons"][0]["pairs"], 256);
    assert_eq!(document["comparisons"][0]["verdict"], "improved_worthwhile");
}

#[test]
fn wrong_files_and_options_are_one_sentence() {
    let room = Room::new()
        .with("text.csv", "baseline,candidate\n1,2\n3,slow\n")
        .with("zero.csv", "baseline,candidate\n0,2\n")
        .with("columns.csv", "baseline,candidate\n1,2,3\n")
        .with("header.csv", "1,2\n3,4\n")
        .with("empty.csv", "")
        .with("huge.csv", "baseline,candidate\n1e308,1\n")
        .with("binary.csv", b"\x7fELF\x00\x01\xff\xfe")
        .with("line.csv", vec![b'9'; 100_000]);
    fs::create_dir(room.0.path().join("folder")).unwrap();
    for (file, said) in [
        (
            "text.csv",
            "text.csv:3: candidate is \"slow\", which is no number such as 12.5; leave the pair \
                      out if it was not measured",
        ),
        (
            "huge.csv",
            "huge.csv:2: baseline is 1e308, whose size is not within 1e-150 to 1e150; give the values in \
                      another unit",
        ),
        (
            "zero.csv",
            "zero.csv:2: baseline is 0; a ratio needs values above 0. --difference subtracts, \
                      with a margin in the unit of the values",
        ),
        (
            "columns.csv",
            "columns.csv:2: 3 columns, the header has 2; a number has a point and no comma \
                         in it",
        ),
        (
            "header.csv",
            "header.csv:1: the header \"1,2\" is not baseline,candidate or \
                        baseline,candidate,order",
        ),
        (
            "empty.csv",
            "empty.csv is empty; its first line says which column is which: \
                       baseline,candidate or baseline,candidate,order",
        ),
        (
            "binary.csv",
            "binary.csv:1: this is no text; the file is CSV in UTF-8",
        ),
        (
            "line.csv",
            "line.csv:1: a line of more than 4096 bytes; a pair is two numbers",
        ),
        (
            "folder",
            "folder: it is a folder; name a CSV file, or - for standard input",
        ),
        (
            "none.csv",
            "none.csv: it cannot be read: No such file or directory (os error 2)",
        ),
    ] {
        let ended = room.judge(&["pairs", file]);
        assert_eq!(ended.stdout, "");
        ended.assert(2, said);
    }
    for (margin, said) in [
        (
            "3",
            "--margin 3 is not a percentage above 0% and at most 50%, such as 3%",
        ),
        (
            "0%",
            "--margin 0% is not a percentage above 0% and at most 50%, such as 3%",
        ),
        (
            "-3%",
            "--margin -3% is not a percentage above 0% and at most 50%, such as 3%",
        ),
        (
            "80%",
            "--margin 80% is not a percentage above 0% and at most 50%, such as 3%",
        ),
    ] {
        let ended = room.judge(&["pairs", "text.csv", "--margin", margin]);
        ended.assert(2, said);
    }
    let ended = room.judge(&["pairs", "text.csv", "--difference", "--margin", "3%"]);
    ended.assert(
        2,
        "--margin 3% is not a number above 0 in the unit of the values, as --difference subtracts",
    );
}

fn recorded() -> Room {
    let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/elsewhere");
    let read = |name| fs::read(reports.join(name)).unwrap();
    Room::new()
        .with("gen.json", read("generator.json"))
        .with("recv.json", read("receiver.json"))
}

#[test]
fn recorded_reports_are_a_load() {
    let room = recorded();
    let ended = room.judge(&["trial", "gen.json", "recv.json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    insta::assert_snapshot!(ended.stdout, @"
    rate      20,000 packets per second asked, 20,000 offered, 20,004 delivered
    packets   10,000 accepted = 10,000 seen + 0 lost: 0 %, 95 % bound 0.03 %; the 0.1 % rule holds
    lost in   backlog unknown, ring 0; 0 unexplained
    beside    0 duplicate, 0 reordered, 0 foreign
    verdict   pass (coupled, low_information)
    ");
    let document = room.json(&["trial", "gen.json", "recv.json"]);
    let names: Vec<&String> = document.as_object().unwrap().keys().collect();
    assert_eq!(names, ["loads"]);
    let load = &document["loads"][0];
    assert_eq!(
        (&load["accepted"], &load["unique"]),
        (&10_000.into(), &10_000.into())
    );
    assert!(load["lost_at"]["backlog"].is_null());
    let ended = room.judge(&["trial", "recv.json", "gen.json"]);
    ended.assert(
        2,
        "recv.json: it is the report of wiretrial-receiver capture, and that of wiretrial-generator \
         send belongs there; wiretrial judge trial GENERATOR RECEIVER",
    );
}

/// The executables of this build, in a network of their own.
#[test]
fn reports_printed_now_are_joined() {
    const TRIAL: &str = "ip link set lo up
        $BIN/wiretrial-receiver capture --interface lo --packets 4000 --flows 2 --for 20s \
            > recv.json 2> ready &
        for try in $(seq 200); do grep -q 'capture ready' ready && break; sleep 0.05; done
        $BIN/wiretrial-generator send --target 127.0.0.1:39053 --packets 4000 --flows 2 --senders 1 \
            --rate 20k > gen.json
        wait";
    let own = ["--user", "--map-root-user", "--net"];
    let can = Command::new("unshare").args(own).arg("true").status();
    if !can.is_ok_and(|status| status.success()) {
        return skipped("no network of one's own");
    }
    let room = Room::new();
    let executables = Path::new(env!("CARGO_BIN_EXE_wiretrial")).parent().unwrap();
    let mut command = Command::new("unshare");
    command
        .args(own)
        .args(["sh", "-c", TRIAL])
        .current_dir(room.0.path())
        .env("BIN", executables);
    let ended = run(command);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let load = &room.json(&["trial", "gen.json", "recv.json"])["loads"][0];
    assert_eq!(load["accepted"], 4_000);
    let sum = ["unique", "lost"].map(|name| load[name].as_u64().unwrap());
    assert_eq!(sum[0] + sum[1], 4_000);
    assert_eq!(load["foreign"], 0);
}
