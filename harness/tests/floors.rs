//! What equal arms show of this host is kept, sealed into the next plan of the same conditions, and a
//! margin under it decides nothing. Nothing here asserts how large it is.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod compared;
mod probe;
mod real;

use std::fs;
use std::path::Path;

use compared::{compare, say};
use probe::{Build, Change, Repository};
use real::{Bench, Ended, json, run};
use serde_json::{Value, json};
use wiretrial_contract::digest::sha256;

/// Under what any host can see.
const MARGIN: &str = "design.margin=0.001%";

/// The only floor below a folder that campaigns ran in: what its file says.
fn kept(folder: &Path) -> Value {
    let below = |folder: &Path| {
        let mut paths: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(paths.len(), 1, "{paths:?}");
        paths.remove(0)
    };
    json(&below(&below(&folder.join("evidence/floors"))))
}

/// An A/A in `aa` left a floor, the plan in `out` has it, of one arm only where that is named, and that
/// was said before the first pair.
fn sealed(folder: &Path, ended: &Ended, only: Option<&str>) {
    let floor = kept(folder);
    assert_eq!(
        floor["plan_sha256"],
        sha256(&fs::read(folder.join("aa/plan.json")).unwrap())
    );
    let plan = json(&folder.join("out/plan.json"));
    let metric = &plan["campaign"]["design"]["primary"];
    let floors = floor["floors"].as_array().unwrap();
    let shown = floors.iter().find(|one| one["metric"] == *metric).unwrap();
    let equal = json(&folder.join("aa/analysis.json"));
    let end = |name: &str| primary(&equal)["decision"][name].as_f64().unwrap();
    let (low, high) = (end("lo95").ln(), end("hi95").ln());
    let half = (high - low) / 2.0;
    let far = if low > 0.0 || high < 0.0 {
        high.max(-low)
    } else {
        half
    };
    let number = |name: &str| shown[name].as_f64().unwrap();
    assert!(
        (number("half_width") - half.exp_m1()).abs() < 1e-9,
        "{shown}"
    );
    let written = number("floor");
    assert!((written - far.exp_m1()).abs() < 1e-9, "{shown}");

    let case = &plan["campaign"]["cases"][0]["name"];
    let sealed = plan["floors"].as_array().unwrap();
    assert_eq!(sealed.len(), 1, "{sealed:?}");
    // As many pairs as the A/A had, so that nothing is scaled.
    let mut rest = sealed[0].clone();
    for (there, here) in [("size", "floor"), ("half_width", "half_width")] {
        let same = rest.as_object_mut().unwrap().remove(there).unwrap();
        let same = same.as_f64().unwrap();
        assert!((same - number(here)).abs() < 1e-9, "{sealed:?}");
    }
    let mut meant = json!({"case": case, "metric": metric, "occasions": 1, "age_days": 0});
    if let Some(only) = only {
        meant["only"] = only.into();
        let text = format!(", floor of the {only} only)");
        assert!(ended.stderr.contains(&text), "{}", say(ended));
    }
    assert_eq!(rest, meant);

    assert!(
        ended.stderr.contains("cannot see 0.001 % here (A/A floor "),
        "{}",
        say(ended)
    );
}

/// The verdict in `out` is that nothing can be seen.
fn undecided(folder: &Path, ended: &Ended) {
    let analysis = json(&folder.join("out/analysis.json"));
    let answer = analysis["answer"].as_str().unwrap();
    assert!(
        answer.starts_with("not decided: cannot see 0.001 % of ") && answer.contains(" (floor "),
        "{answer}"
    );
    assert_eq!(primary(&analysis)["verdict"], "inconclusive", "{answer}");
    let screen = "ANSWER  not decided: cannot see 0.001 % of ";
    assert!(ended.stdout.contains(screen), "{}", say(ended));
}

fn primary(analysis: &Value) -> &Value {
    let comparisons = analysis["comparisons"].as_array().unwrap();
    comparisons
        .iter()
        .find(|comparison| comparison["primary"] == true)
        .unwrap()
}

#[test]
fn a_floor_of_passes_is_sealed_and_a_margin_under_it_decides_nothing() {
    let bench = Bench::new();
    let repository = Repository::new(&bench.path("repository"), Build::Compiler);
    repository.branch("candidate", Change::Renamed);
    let of_file = |more: &[&str]| {
        let quick = ["base", "candidate", "--quick"];
        let foreign = ["--set", "design.foreign-cpu=100%"];
        compare(&bench, &repository, &[&quick[..], &foreign, more].concat())
    };
    let mix10k = ["--file", "standard:mix/10k"];
    let aa = of_file(&[&mix10k[..], &["--aa", "--out", "aa"]].concat());
    let ended = of_file(&[&mix10k[..], &["--set", MARGIN, "--out", "out"]].concat());
    for ended in [&aa, &ended] {
        assert_eq!(ended.code, Some(0), "{}", say(ended));
    }
    sealed(repository.path(), &ended, None);
    undecided(repository.path(), &ended);
    // Another input is another condition, which has no floor.
    let other = of_file(&["--file", "standard:mix/1k", "--out", "other"]);
    assert_eq!(other.code, Some(0), "{}", say(&other));
    let plan = json(&repository.path().join("other/plan.json"));
    assert_eq!(plan["floors"].as_array().map_or(0, Vec::len), 0, "{plan}");
}

/// Arms that differ in nothing that a packet notices.
const LIVE: &str = r#"
schema = 1
kind = "paired"
topology.kind = "loopback"
traffic.rate-pps = 20000
design.replacements = 12
arm.baseline.receiver.snaplen = 128
arm.candidate.receiver.snaplen = 129
"#;

#[test]
fn a_live_floor_is_sealed_and_a_margin_under_it_decides_nothing() {
    let bench = Bench::new();
    let live = |more: &[&str]| run(bench.text("two", LIVE, more));
    let aa = live(&["--aa", "--out", "aa"]);
    let ended = live(&["--set", MARGIN, "--out", "out"]);
    // A busy host may send the arms unequal loads, and then there is nothing to compare.
    for ended in [&aa, &ended] {
        assert!(matches!(ended.code, Some(0 | 4)), "{}", say(ended));
    }
    sealed(bench.folder.path(), &ended, Some("candidate"));
    if ended.code == Some(0) {
        undecided(bench.folder.path(), &ended);
    }
    // Other conditions have no floor.
    let other = live(&["--set", "traffic.frame-size=128", "--out", "other"]);
    assert!(matches!(other.code, Some(0 | 4)), "{}", say(&other));
    let plan = json(&bench.path("other/plan.json"));
    assert_eq!(plan["floors"].as_array().map_or(0, Vec::len), 0, "{plan}");
}
