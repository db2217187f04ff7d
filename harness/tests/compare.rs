//! `wiretrial compare` on a C program of a repository made here, whose revisions differ in known ways.
//! What is asserted does not depend on how long anything took; `planted.rs` has the verdicts that do.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod compared;
mod probe;
mod real;

use compared::{FILE, by_file, compare, primary, say};
use probe::{Build, Change, Repository};
use real::{Bench, Ended, json, rows};

#[test]
fn wrong_work_is_invalid() {
    let (_bench, repository, ended) = by_file(Change::WrongWork, &["--pairs", "6"]);
    assert_eq!(ended.code, Some(4), "{}", say(&ended));
    let primary = primary(&repository);
    assert_eq!(primary["verdict"], "invalid");
    assert_eq!(primary["reasons"][0], "wrong_result");
}

#[test]
fn what_does_not_build_is_said_with_its_last_lines() {
    let (_bench, repository, ended) = by_file(Change::Broken, &[]);
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
    // The verdict is the host's to give: with a busy one too many pairs may be void.
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
