//! Revisions whose difference is known, and the verdicts they must get. These tests measure, so they
//! run alone, one after the other: `.ci/run` starts them, `cargo test` does not.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod compared;
mod probe;
mod real;

use compared::{FILE, by_file, compare, primary, say};
use probe::{Build, Change, Repository};
use real::{Bench, Ended, json, rows};

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
