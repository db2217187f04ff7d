//! Revisions whose difference is known, and the verdicts they must get. These tests measure, so they
//! run alone, one after the other: `.ci/run` starts them, `cargo test` does not.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::print_stdout,
    reason = "what was measured is printed beside what was planted"
)]

mod compared;
mod probe;
mod real;

use compared::{FILE, by_file, compare, primary, say};
use probe::{Build, Change, Repository};
use real::{Bench, Ended, json, rows};
use serde_json::Value;

/// Rounds more than the ten thousand of a packet.
const TWO_PERCENT: u32 = 200;
/// Rounds more than the thousand of a packet.
const ON_A_WIRE: u32 = 150;
/// A busy host holds up the generator, and pairs whose arms were sent unequal numbers are void.
const REPLACEMENTS: &str = "design.replacements=12";

#[test]
#[ignore = "measures: .ci/run starts it alone"]
fn more_cpu_a_packet_is_worse() {
    let bench = Bench::new();
    let repository = Repository::new(&bench.path("repository"), Build::Autotools);
    repository.branch("candidate", Change::Slower);
    let ended = compare(
        &bench,
        &repository,
        &[&["base", "candidate"], &FILE[..]].concat(),
    );
    assert_eq!(ended.code, Some(1), "{}", say(&ended));
    let primary = primary(&repository);
    assert_eq!(primary["metric"], "process-cpu-ns-per-packet");
    assert_eq!(primary["verdict"], "regressed_worthwhile", "{primary}");
    assert!(
        ended.last_line().contains("gate no_regression"),
        "{}",
        say(&ended)
    );
    // Both builds are told apart, and every pass is of the one that was sealed.
    let plan = json(&repository.path().join("out/plan.json"));
    let [baseline, candidate] =
        ["baseline", "candidate"].map(|arm| plan["identities"][arm].clone());
    for identity in [&baseline, &candidate] {
        assert_eq!(identity["commit"].as_str().unwrap().len(), 40);
        assert!(identity["compiler"].as_str().unwrap().contains("GCC"));
        assert_eq!(identity["build"].as_array().unwrap().len(), 3);
    }
    assert_ne!(baseline["sha256"], candidate["sha256"]);
    for row in rows(&repository.path().join("out")) {
        let sealed = &plan["identities"][row["arm"].as_str().unwrap()]["sha256"];
        assert_eq!(row["program_sha256"], *sealed);
        let passes = row["delivery"]["passes"].as_array().unwrap();
        assert_eq!(passes.len(), 6, "3 of the whole input, 3 of the short one");
        for pass in passes {
            let units = if pass["input"] == "whole" {
                100_000
            } else {
                100
            };
            assert_eq!(pass["units"], units);
            assert_eq!(pass["program_sha256"], *sealed);
        }
    }
    let log = std::fs::read_to_string(repository.path().join("out/raw/build-candidate.log"));
    assert!(log.unwrap().contains("./configure"));
    let verified: Ended = {
        let mut command = bench.wiretrial(&["verify", "out"]);
        command
            .current_dir(repository.path())
            .output()
            .unwrap()
            .into()
    };
    assert_eq!(verified.code, Some(0), "{}", say(&verified));
    assert_eq!(repository.status(), "?? out/\n");
}

#[test]
#[ignore = "measures: .ci/run starts it alone"]
fn the_same_behaviour_is_the_same() {
    let (_bench, repository, ended) = by_file(Change::Renamed, &[]);
    assert_eq!(ended.code, Some(0), "{}", say(&ended));
    assert_eq!(
        primary(&repository)["verdict"],
        "equivalent",
        "{}",
        say(&ended)
    );
}

#[test]
#[ignore = "measures: .ci/run starts it alone"]
fn a_slower_start_is_the_same_and_shown_apart() {
    let (_bench, repository, ended) = by_file(Change::SlowStart, &[]);
    assert_eq!(ended.code, Some(0), "{}", say(&ended));
    assert_eq!(
        primary(&repository)["verdict"],
        "equivalent",
        "{}",
        say(&ended)
    );
    let analysis = json(&repository.path().join("out/analysis.json"));
    let passes = analysis["passes"].as_array().unwrap();
    let start_up = |arm: &str| {
        let of_arm = passes.iter().find(|passes| passes["arm"] == arm).unwrap();
        of_arm["start_up_cpu_ns"].as_f64().unwrap()
    };
    assert!(
        start_up("candidate") > 2.0 * start_up("baseline"),
        "{passes:?}"
    );
    assert!(ended.stdout.contains("start-up"), "{}", say(&ended));
}

/// Live effects are smaller than what is planted: a slower consumer sleeps less.
#[test]
#[ignore = "measures: .ci/run starts it alone"]
fn more_cpu_a_packet_is_worse_on_a_wire() {
    let bench = Bench::new();
    let repository = Repository::new(&bench.path("repository"), Build::Compiler);
    repository.branch("candidate", Change::MuchSlower);
    let ended = compare(
        &bench,
        &repository,
        &[
            "base",
            "candidate",
            "--set",
            "traffic.rate-pps=50k",
            "--set",
            "traffic.duration=400ms",
            "--set",
            "design.foreign-cpu=100%",
            "--set",
            "design.pilot=0",
            "--set",
            REPLACEMENTS,
            "--out",
            "out",
        ],
    );
    assert_eq!(ended.code, Some(1), "{}", say(&ended));
    assert_eq!(primary(&repository)["verdict"], "regressed_worthwhile");
    for row in rows(&repository.path().join("out")) {
        // A stall of the host may overflow the wire's queue: then the link says so.
        let ledger = &row["ledger"];
        assert_eq!(ledger["unexplained"], 0, "{row}");
        assert_eq!(ledger["lost"], ledger["dropped"]["link"], "{row}");
        let counts = &row["delivery"]["count"]["counts"];
        assert_eq!(counts["processed"], counts["received"]);
    }
}

/// What was planted beside what was measured, as shares of the baseline's cost of a packet: rounds whose
/// number is known, times what a round costs by itself. The decision interval is to hold it in 95 of 100
/// campaigns, so that one campaign cannot be asked for it; it must show the change, in its direction, and
/// be off by less than half of it, which no noise of an interval that shows it explains.
fn beside(repository: &Repository, rounds: u32, round_ns: f64) {
    let primary = primary(repository);
    let number = |field: &Value| field.as_f64().unwrap_or_else(|| panic!("{primary}"));
    let baseline_ns = number(&primary["mean_baseline"]);
    let planted = f64::from(rounds) * round_ns / baseline_ns;
    let measured = number(&primary["change"]);
    let [low, high] = ["lo95", "hi95"].map(|end| number(&primary["decision"][end]) - 1.0);
    let held = if low <= planted && planted <= high {
        "in"
    } else {
        "not in"
    };
    println!(
        "planted {rounds} rounds of {round_ns:.3} ns a packet, {:+.2} % of {baseline_ns:.0} ns; measured \
         {:+.2} % [{:+.2}, {:+.2}], the planted is {held} it",
        100.0 * planted,
        100.0 * measured,
        100.0 * low,
        100.0 * high
    );
    assert!(low > 0.0, "{primary}");
    assert!(
        (0.5 * planted..1.5 * planted).contains(&measured),
        "planted {planted}: {primary}"
    );
}

/// The smallest change that matters to many: two rounds on a hundred.
#[test]
#[ignore = "measures: .ci/run starts it alone"]
fn planted_two_percent_is_found_in_a_file() {
    let bench = Bench::new();
    let repository = Repository::new(&bench.path("repository"), Build::Compiler);
    let round_ns = repository.round_ns();
    repository.change_base(Change::TenTimes);
    repository.branch("candidate", Change::Rounds(TWO_PERCENT));
    found(
        &bench,
        &repository,
        &["--file", "standard:mix/10k", "--set", "workload.passes=5"],
    );
    beside(&repository, TWO_PERCENT, round_ns);
}

/// On a wire a packet costs more than its rounds, and how much more differs from launch to launch.
#[test]
#[ignore = "measures: .ci/run starts it alone"]
fn a_planted_difference_is_found_on_a_wire() {
    let bench = Bench::new();
    let repository = Repository::new(&bench.path("repository"), Build::Compiler);
    let round_ns = repository.round_ns();
    repository.branch("candidate", Change::Rounds(ON_A_WIRE));
    found(
        &bench,
        &repository,
        &[
            "--set",
            "traffic.rate-pps=25k",
            "--set",
            "traffic.duration=600ms",
            "--set",
            REPLACEMENTS,
        ],
    );
    beside(&repository, ON_A_WIRE, round_ns);
}

/// Compares with a margin of 1 %, and it is worse: by how much more than that is the host's to say.
fn found(bench: &Bench, repository: &Repository, arguments: &[&str]) {
    let mut all = vec![
        "base",
        "candidate",
        "--fail-on",
        "regressed",
        "--out",
        "out",
    ];
    for set in [
        "design.margin=1%",
        "design.foreign-cpu=100%",
        "design.pilot=0",
    ] {
        all.extend(["--set", set]);
    }
    all.extend(arguments);
    let ended = compare(bench, repository, &all);
    assert_eq!(ended.code, Some(1), "{}", say(&ended));
    let verdict = primary(repository)["verdict"].clone();
    assert!(
        ["regressed", "regressed_worthwhile"].contains(&verdict.as_str().unwrap()),
        "{verdict}"
    );
    assert!(ended.stdout.contains("ANSWER  worse"), "{}", say(&ended));
}
