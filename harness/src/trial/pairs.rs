//! Rows as pairs, and which of those count.

use std::collections::BTreeMap;

use wiretrial_contract::record::{GuardName, Outcome, TrialRecord};

/// Rows by pair, in the order of their numbers.
#[must_use]
pub fn by_pair<'a>(
    rows: impl IntoIterator<Item = &'a TrialRecord>,
) -> BTreeMap<u64, Vec<&'a TrialRecord>> {
    let mut pairs: BTreeMap<u64, Vec<&TrialRecord>> = BTreeMap::new();
    for row in rows {
        pairs.entry(row.pair).or_default().push(row);
    }
    pairs
}

/// Whether a pair counts: both members ran and passed every guard.
#[must_use]
pub fn counts(rows: &[&TrialRecord]) -> bool {
    rows.len() == 2 && rows.iter().all(|row| row.outcome == Outcome::Ok)
}

/// Whether a signal ended a pair: no member failed, and one was cut short or never began.
#[must_use]
pub fn interrupted(rows: &[&TrialRecord]) -> bool {
    let failed = rows
        .iter()
        .any(|row| matches!(row.outcome, Outcome::Failed { .. }));
    let cut = |row: &TrialRecord| {
        row.guards
            .iter()
            .any(|g| g.name == GuardName::Interrupted && !g.passed)
    };
    !failed && (rows.len() < 2 || rows.iter().any(|row| cut(row)))
}
