//! What was measured in each arm, so that nobody has to believe a label.

use wiretrial_contract::analysis::{Analysis, ArmIdentity};

use super::{Cell, Column, Table};

/// One row an arm: hashes, commit, compiler and the argument lists that built it.
#[must_use]
pub fn identities(analysis: &Analysis) -> Table {
    Table {
        name: "arms".into(),
        title: "what was measured".into(),
        note: String::new(),
        columns: vec![
            Column::left("arm", "arm"),
            Column::left("sha256", "SHA-256"),
            Column::left("build_id", "build id"),
            Column::left("commit", "commit"),
            Column::left("uncommitted", "uncommitted changes, SHA-256"),
            Column::left("compiler", "compiler"),
            Column::left("build", "built by"),
        ],
        rows: analysis.conditions.arms.iter().map(row).collect(),
    }
}

/// `baseline 3f9a1c0 (sha 4be1..) -> candidate 77aa012 + uncommitted`; `None` where the arms are the
/// same bytes, so that their settings are what is compared.
pub(crate) fn compared(analysis: &Analysis) -> Option<String> {
    let [one, other] = &analysis.conditions.arms[..] else {
        return None;
    };
    (one.identity.sha256 != other.identity.sha256)
        .then(|| format!("{} -> {}", named(one), named(other)))
}

fn named(arm: &ArmIdentity) -> String {
    let identity = &arm.identity;
    let start = |text: &str, digits: usize| text.chars().take(digits).collect::<String>();
    let sha = start(&identity.sha256, 12);
    let mut text = match &identity.commit {
        Some(commit) => format!("{} {} (sha {sha})", arm.arm, start(commit, 7)),
        None => format!("{} sha {sha}", arm.arm),
    };
    if identity.dirty_sha256.is_some() {
        text += " + uncommitted";
    }
    text
}

fn row(arm: &ArmIdentity) -> Vec<Cell> {
    let identity = &arm.identity;
    let known = |text: &Option<String>| text.clone().map_or(Cell::Unknown, Cell::Text);
    let steps: Vec<String> = identity.build.iter().map(|step| step.join(" ")).collect();
    vec![
        Cell::Text(arm.arm.clone()),
        Cell::Text(identity.sha256.clone()),
        known(&identity.build_id),
        known(&identity.commit),
        // A tree that is clean has none; without a commit there is no tree.
        match (&identity.dirty_sha256, &identity.commit) {
            (Some(changes), _) => Cell::Text(changes.clone()),
            (None, Some(_)) => Cell::Absent,
            (None, None) => Cell::Unknown,
        },
        known(&identity.compiler),
        if steps.is_empty() {
            Cell::Absent
        } else {
            Cell::Text(steps.join("; "))
        },
    ]
}
