//! Which of our packages may use which: the floors of the README's layout.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Every package of the workspace and those of ours that it may use.
const ALLOWED: [(&str, &[&str]); 7] = [
    ("wiretrial-capture", &[]),
    ("wiretrial-contract", &[]),
    ("wiretrial-stats", &[]),
    ("wiretrial-generator", &["wiretrial-contract"]),
    (
        "wiretrial-receiver",
        &["wiretrial-capture", "wiretrial-contract"],
    ),
    ("wiretrial-reports", &["wiretrial-contract"]),
    (
        "wiretrial",
        &["wiretrial-contract", "wiretrial-reports", "wiretrial-stats"],
    ),
];

#[test]
fn arrows_go_down_only() {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let names: BTreeSet<&str> = packages
        .iter()
        .map(|p| p["name"].as_str().unwrap())
        .collect();
    let found: BTreeMap<&str, BTreeSet<&str>> = packages
        .iter()
        .map(|package| {
            let used = package["dependencies"]
                .as_array()
                .unwrap()
                .iter()
                // Tests may look anywhere; `kind` is null for a normal dependency.
                .filter(|dependency| dependency["kind"] != "dev")
                .map(|dependency| dependency["name"].as_str().unwrap())
                .filter(|name| names.contains(name));
            (package["name"].as_str().unwrap(), used.collect())
        })
        .collect();
    let allowed: BTreeMap<&str, BTreeSet<&str>> = ALLOWED
        .iter()
        .map(|(name, uses)| (*name, uses.iter().copied().collect()))
        .collect();
    assert_eq!(found, allowed);
}
