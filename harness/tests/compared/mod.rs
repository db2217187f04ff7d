//! Running `wiretrial compare` in a repository, and reading what it found.

#![allow(dead_code, reason = "each test crate uses its own part")]

use serde_json::Value;

use crate::probe::{Build, Change, Repository};
use crate::real::{Bench, Ended, json};

/// Enough passes that a difference of 3 % shows on a busy machine.
pub(crate) const FILE: [&str; 12] = [
    "--file",
    "standard:mix/100k",
    "--set",
    "workload.passes=3",
    "--set",
    "design.foreign-cpu=100%",
    "--set",
    "design.rest=0ms",
    "--set",
    "design.pilot=0",
    "--out",
    "out",
];

pub(crate) fn compare(bench: &Bench, repository: &Repository, arguments: &[&str]) -> Ended {
    let mut command = bench.wiretrial(&["compare"]);
    command.args(arguments).current_dir(repository.path());
    command.output().unwrap().into()
}

/// Compares `base` with `candidate` by passes over a file.
pub(crate) fn by_file(candidate: Change, more: &[&str]) -> (Bench, Repository, Ended) {
    let bench = Bench::new();
    let repository = Repository::new(&bench.path("repository"), Build::Compiler);
    repository.branch("candidate", candidate);
    let mut arguments = vec!["base", "candidate"];
    arguments.extend(FILE);
    arguments.extend(more);
    let ended = compare(&bench, &repository, &arguments);
    (bench, repository, ended)
}

pub(crate) fn primary(repository: &Repository) -> Value {
    let analysis = json(&repository.path().join("out/analysis.json"));
    let comparisons = analysis["comparisons"].as_array().unwrap();
    comparisons
        .iter()
        .find(|comparison| comparison["primary"] == true)
        .unwrap()
        .clone()
}

pub(crate) fn say(ended: &Ended) -> String {
    format!("stdout:\n{}\nstderr:\n{}", ended.stdout, ended.stderr)
}
