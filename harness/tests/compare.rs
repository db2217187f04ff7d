//! `wiretrial compare` on a C program of a repository made here: its revisions differ in ways that
//! are known. Verdicts come from real passes over a real file, and from real packets on a wire.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod probe;
mod real;

use probe::{Build, Change, Repository};
use real::{Bench, Ended, json, rows};
use serde_json::Value;

/// Enough passes that a difference of 3 % shows on a busy machine.
const FILE: [&str; 10] = [
    "--file",
    "standard:mix/20k",
    "--set",
    "workload.passes=6",
    "--set",
    "design.foreign-cpu=100%",
    "--set",
    "design.rest=0ms",
    "--out",
    "out",
];

fn compare(bench: &Bench, repository: &Repository, arguments: &[&str]) -> Ended {
    let mut command = bench.wiretrial(&["compare"]);
    command.args(arguments).current_dir(repository.path());
    command.output().unwrap().into()
}

/// Compares `base` with `candidate` by passes over a file.
fn by_file(candidate: Change) -> (Bench, Repository, Ended) {
    let bench = Bench::new();
    let repository = Repository::new(&bench.path("repository"), Build::Compiler);
    repository.branch("candidate", candidate);
    let mut arguments = vec!["base", "candidate"];
    arguments.extend(FILE);
    let ended = compare(&bench, &repository, &arguments);
    (bench, repository, ended)
}

fn primary(repository: &Repository) -> Value {
    let analysis = json(&repository.path().join("out/analysis.json"));
    let comparisons = analysis["comparisons"].as_array().unwrap();
    comparisons
        .iter()
        .find(|comparison| comparison["primary"] == true)
        .unwrap()
        .clone()
}

fn say(ended: &Ended) -> String {
    format!("stdout:\n{}\nstderr:\n{}", ended.stdout, ended.stderr)
}

#[test]
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
        assert_eq!(passes.len(), 12, "6 of the whole input, 6 of the short one");
        for pass in passes {
            let units = if pass["input"] == "whole" {
                20_000
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
fn the_same_behaviour_is_the_same() {
    let (_bench, repository, ended) = by_file(Change::Renamed);
    assert_eq!(ended.code, Some(0), "{}", say(&ended));
    assert_eq!(
        primary(&repository)["verdict"],
        "equivalent",
        "{}",
        say(&ended)
    );
}

#[test]
fn a_slower_start_is_the_same_and_shown_apart() {
    let (_bench, repository, ended) = by_file(Change::SlowStart);
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

#[test]
fn wrong_work_is_invalid() {
    let (_bench, repository, ended) = by_file(Change::WrongWork);
    assert_eq!(ended.code, Some(4), "{}", say(&ended));
    let primary = primary(&repository);
    assert_eq!(primary["verdict"], "invalid");
    assert_eq!(primary["reasons"][0], "wrong_result");
}

#[test]
fn what_does_not_build_is_said_with_its_last_lines() {
    let (_bench, repository, ended) = by_file(Change::Broken);
    assert_eq!(ended.code, Some(3), "{}", say(&ended));
    let head = repository.commit_of("candidate");
    let said = format!(
        "build of candidate {} failed at step 1 of 2 (cc, exit 1); last",
        &head[..7]
    );
    assert!(ended.stderr.contains(&said), "{}", say(&ended));
    assert!(ended.stderr.contains("error:"), "{}", say(&ended));
    assert!(
        ended.stderr.contains("raw/build-candidate.log"),
        "{}",
        say(&ended)
    );
    assert!(!repository.path().join("out").exists());
}

#[test]
fn the_working_tree_is_the_candidate_and_the_merge_base_the_baseline() {
    let bench = Bench::new();
    let repository = Repository::new(&bench.path("repository"), Build::Compiler);
    repository.branch("topic", Change::Renamed);
    repository.edit(Change::SlowStart);
    let mut arguments = vec!["--pairs", "6"];
    arguments.extend(FILE);
    let ended = compare(&bench, &repository, &arguments);
    assert_eq!(ended.code, Some(0), "{}", say(&ended));
    let plan = json(&repository.path().join("out/plan.json"));
    let identities = &plan["identities"];
    assert_eq!(
        identities["baseline"]["commit"].as_str(),
        Some(repository.commit_of("main").as_str())
    );
    assert!(identities["baseline"]["dirty_sha256"].is_null());
    assert_eq!(
        identities["candidate"]["commit"].as_str(),
        Some(repository.commit_of("topic").as_str())
    );
    assert_eq!(
        identities["candidate"]["dirty_sha256"]
            .as_str()
            .unwrap()
            .len(),
        64
    );
    assert!(ended.stdout.contains("exploratory"), "{}", say(&ended));
}

/// Commands of the jobs for CI, as they stand in `campaigns/ci/`.
fn ci_commands(job: &str) -> Vec<&str> {
    let commands = job.lines().map(str::trim).filter_map(|line| {
        let command = line
            .strip_prefix("run: ")
            .or_else(|| line.strip_prefix("- "))?;
        command.starts_with("wiretrial ").then_some(command)
    });
    commands.collect()
}

#[test]
fn the_jobs_for_ci_run_as_they_stand() {
    for (job, summary, said) in [
        (
            include_str!("../../campaigns/ci/github.yml"),
            "step.md",
            "GITHUB_STEP_SUMMARY",
        ),
        (
            include_str!("../../campaigns/ci/gitlab.yml"),
            "wiretrial.md",
            "UNUSED",
        ),
    ] {
        let bench = Bench::new();
        let repository = Repository::new(&bench.path("repository"), Build::Compiler);
        repository.branch("topic", Change::Renamed);
        let commands = ci_commands(job);
        assert_eq!(commands.len(), 2, "{commands:?}");
        for (command, codes) in commands.iter().zip([&[0, 4][..], &[0][..]]) {
            let path = std::env::var("PATH").unwrap();
            let output = std::process::Command::new("sh")
                .args(["-c", command])
                .current_dir(repository.path())
                .env("PATH", format!("{}:{path}", bench.path("").display()))
                .env("HOME", bench.path(""))
                .env("TMPDIR", bench.path("tmp"))
                .env(said, repository.path().join(summary))
                .env_remove("XDG_CACHE_HOME")
                .output()
                .unwrap();
            let ended = Ended::from(output);
            // A busy host may void too many pairs: then nothing is proven, and that is said.
            assert!(
                codes.contains(&ended.code.unwrap()),
                "{command}\n{}",
                say(&ended)
            );
        }
        let read = |name: &str| std::fs::read_to_string(repository.path().join(name)).unwrap();
        assert!(read("wiretrial.xml").starts_with("<?xml"));
        let answer = json(&repository.path().join("evidence/latest/analysis.json"));
        let answer = answer["answer"].as_str().unwrap();
        assert!(read(summary).contains(answer), "{}", read(summary));
        assert_eq!(
            repository.status(),
            format!("?? {summary}\n?? wiretrial.xml\n"),
            "git ignores the evidence"
        );
    }
}

#[test]
fn a_revision_that_builds_nothing_new_is_refused() {
    let bench = Bench::new();
    let repository = Repository::new(&bench.path("repository"), Build::Compiler);
    repository.branch("candidate", Change::Comment);
    let mut arguments = vec!["base", "candidate"];
    arguments.extend(FILE);
    let ended = compare(&bench, &repository, &arguments);
    assert_eq!(ended.code, Some(2), "{}", say(&ended));
    let line = ended.last_line();
    assert!(
        line.starts_with("wiretrial: exit 2: baseline and candidate are the same binary (sha256 ")
            && line.ends_with("...): nothing to compare. --aa measures the floor on purpose"),
        "{line}"
    );
    assert!(!repository.path().join("out").exists());
    let ended = compare(
        &bench,
        &repository,
        &[&arguments[..], &["--aa", "--quick"]].concat(),
    );
    assert_eq!(ended.code, Some(0), "{}", say(&ended));
}

/// Live effects are smaller than what is planted: a slower consumer sleeps less.
#[test]
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
            "design.primary=process-cpu-ns-per-packet",
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

/// Without a read time limit the last block of the ring stays unread: not lost, and said.
#[test]
fn a_ring_that_is_never_read_to_its_end_loses_nothing() {
    let bench = Bench::new();
    let repository = Repository::new(&bench.path("repository"), Build::Compiler);
    repository.branch("candidate", Change::NoTimeLimit);
    let ended = compare(
        &bench,
        &repository,
        &[
            "base",
            "candidate",
            "--quick",
            "--set",
            "traffic.rate-pps=20k",
            "--set",
            "design.foreign-cpu=100%",
            "--fail-on",
            "never",
            "--out",
            "out",
        ],
    );
    assert!(matches!(ended.code, Some(0 | 4)), "{}", say(&ended));
    let rows = rows(&repository.path().join("out"));
    let of_candidate = rows.iter().filter(|row| row["arm"] == "candidate");
    for row in of_candidate {
        assert_eq!(
            row["ledger"]["lost"], row["ledger"]["dropped"]["link"],
            "{row}"
        );
        assert!(row["ledger"]["ring_tail"].as_u64().unwrap() > 0, "{row}");
        assert!(
            row["flags"]
                .as_array()
                .unwrap()
                .contains(&"ring_tail".into())
        );
    }
}
