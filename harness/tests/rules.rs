//! Forms that a real campaign takes besides the plain one: a table of arms, a pair that is cut between
//! its members, a budget. Nothing here asserts a time or a rate.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod real;

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use real::{Bench, Ended, Running, children, json, rows, run, wait_for};
use serde_json::Value;

fn say(ended: &Ended) -> String {
    format!("stdout:\n{}\nstderr:\n{}", ended.stdout, ended.stderr)
}

/// Both recomputations agree with what was written.
fn verified(bench: &Bench) {
    let ended = run(bench.wiretrial(&["verify", "out"]));
    assert_eq!(ended.code, Some(0), "{}", say(&ended));
    let mut script = std::process::Command::new("python3");
    script.arg(bench.path("out/recompute.py"));
    let ended = run(script);
    assert_eq!(ended.code, Some(0), "{}", say(&ended));
}

fn text<'a>(row: &'a Value, name: &str) -> &'a str {
    row[name].as_str().unwrap()
}

const TABLE: &str = r#"
schema = 1
kind = "table"
topology.kind = "loopback"
traffic.rate-pps = 20000
receiver.timeout = "2ms"
design.reference = "block"
arm.at-once.receiver.immediate = true
arm.block.receiver.immediate = false
arm.small.receiver.buffer-size = "4MiB"
"#;

#[test]
fn a_table_of_three_arms_is_sent_to_in_turns_and_compared_with_one() {
    let bench = Bench::new();
    let ended = run(bench.text("three", TABLE, &["--out", "out"]));
    assert_eq!(ended.code, Some(0), "{}", say(&ended));
    let rows = rows(&bench.path("out"));
    let mut rounds = 0;
    let mut first = std::collections::BTreeSet::new();
    for round in rows.chunk_by(|one, other| one["pair"] == other["pair"]) {
        let mut arms: Vec<&str> = round.iter().map(|row| text(row, "arm")).collect();
        arms.sort_unstable();
        assert_eq!(arms, ["at-once", "block", "small"]);
        first.insert(round[0]["order"].to_string());
        if round.iter().any(|row| row["outcome"] != "ok") {
            continue;
        }
        rounds += 1;
        for row in round {
            // All three share one generator, which numbers each arm's packets by themselves.
            let groups = row["generator"]["groups"].as_array().unwrap();
            let names = groups
                .iter()
                .filter(|group| group["name"]["arm"].is_string());
            assert_eq!(names.count(), 3, "{row}");
            assert_eq!(row["ledger"]["state"], "balanced", "{row}");
            assert_eq!(row["ledger"]["unexplained"], 0, "{row}");
        }
    }
    assert_eq!(rounds, 6, "{}", say(&ended));
    assert!(first.len() > 1, "orders are drawn: {first:?}");
    let analysis = json(&bench.path("out/analysis.json"));
    let comparisons = analysis["comparisons"].as_array().unwrap();
    let primary = comparisons.iter().filter(|one| one["primary"] == true);
    let compared: Vec<&str> = primary.map(|one| text(one, "arm")).collect();
    assert_eq!(compared, ["at-once", "small"]);
    verified(&bench);
    bench.wait_until_gone();
}

#[test]
fn a_pair_killed_in_its_second_member_is_completed() {
    let bench = Bench::new();
    let sequential = ["--set", "design.arrangement=sequential", "--out", "out"];
    let mut running = Running::start(bench.one_case(&sequential));
    let harness = Pid::from_raw(i32::try_from(running.0.id()).unwrap());
    let file = bench.path("out/trials.jsonl");
    let cut = || {
        let text = fs::read_to_string(&file).unwrap_or_default();
        text.lines().count() % 2 == 1 && text.ends_with('\n')
    };
    wait_for("the second member of a pair", || {
        assert_eq!(running.0.try_wait().unwrap(), None, "it ended before");
        let sending = !children(running.0.id(), "wiretrial-generator").is_empty();
        if !(cut() && sending) {
            return None;
        }
        // It may have ended since: only one that is stopped stays where it is.
        kill(harness, Signal::SIGSTOP).unwrap();
        if cut() {
            return Some(());
        }
        kill(harness, Signal::SIGCONT).unwrap();
        None
    });
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    bench.wait_until_gone();
    let kept = rows(&bench.path("out"));
    let unfinished = run(bench.wiretrial(&["verify", "out"]));
    assert_eq!(unfinished.code, Some(4), "{}", say(&unfinished));

    let ended = run(bench.wiretrial(&["run", "--resume", "out"]));
    assert_eq!(ended.code, Some(0), "{}", say(&ended));
    let all = rows(&bench.path("out"));
    assert_eq!(all[..kept.len()], kept[..], "rows are only added");
    let [first, second] = [&all[kept.len() - 1], &all[kept.len()]];
    assert_eq!(first["pair"], second["pair"]);
    assert_ne!(first["arm"], second["arm"]);
    // A busy host may void any pair, this one too, but not for having been cut.
    for row in [first, second] {
        let guards = row["guards"].as_array().unwrap();
        assert!(
            guards.iter().all(|guard| guard["name"] != "interrupted"),
            "{row}"
        );
        assert!(!row["delivery"].is_null(), "it was measured: {row}");
    }
    let pairs = all.chunk_by(|one, other| one["pair"] == other["pair"]);
    let counted =
        pairs.filter(|rows| rows.len() == 2 && rows.iter().all(|row| row["outcome"] == "ok"));
    assert_eq!(counted.count(), 6, "{}", say(&ended));
    let environment = json(&bench.path("out/environment.json"));
    assert_eq!(environment["sessions"].as_array().unwrap().len(), 2);
    verified(&bench);
}

#[test]
fn a_budget_ends_a_campaign_and_decides_nothing() {
    let bench = Bench::new();
    let ended = run(bench.one_case(&["--set", "design.budget=1s", "--out", "out"]));
    assert_eq!(ended.code, Some(4), "{}", say(&ended));
    let measured = rows(&bench.path("out"));
    assert!(!measured.is_empty() && measured.len() < 12 && measured.len().is_multiple_of(2));
    let analysis = json(&bench.path("out/analysis.json"));
    for comparison in analysis["comparisons"].as_array().unwrap() {
        if comparison["primary"] == true {
            assert_eq!(comparison["verdict"], "incomplete");
        }
    }
    verified(&bench);
    let again = run(bench.wiretrial(&["run", "--resume", "out"]));
    again.assert(
        2,
        "the budget of 1s is spent, no pair is begun after it; a larger design.budget is a new campaign",
    );
    assert_eq!(rows(&bench.path("out")), measured);
}
