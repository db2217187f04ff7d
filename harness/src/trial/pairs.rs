//! Rows as pairs, and which of those count.

use std::collections::BTreeMap;

use wiretrial_contract::record::{GuardName, Outcome, TrialRecord};
use wiretrial_contract::report::GroupTally;

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

/// Whether a pair counts: every member ran and passed every guard.
#[must_use]
pub fn counts(rows: &[&TrialRecord]) -> bool {
    all_there(rows) && clean(rows)
}

/// Whether every member of a pair has a row.
#[must_use]
pub fn all_there(rows: &[&TrialRecord]) -> bool {
    rows.first()
        .is_some_and(|row| rows.len() == row.order.members())
}

/// Whether every row there is ran to its end and passed every guard.
#[must_use]
pub fn clean(rows: &[&TrialRecord]) -> bool {
    rows.iter().all(|row| row.outcome == Outcome::Ok)
}

/// The offered load of every member of a pair, packets per second. `None` until all of them have run
/// to their end, and where nothing is sent.
#[must_use]
pub fn offered_of_all(rows: &[&TrialRecord]) -> Option<Vec<f64>> {
    let offered = |row: &&TrialRecord| row.tally().and_then(GroupTally::offered_pps);
    let all: Option<Vec<f64>> = rows.iter().map(offered).collect();
    all.filter(|_| all_there(rows))
}

/// Whether a signal ended a pair: no member failed, and one was cut short, or never began although
/// nothing was wrong with those before it.
#[must_use]
pub fn interrupted(rows: &[&TrialRecord]) -> bool {
    let failed = rows
        .iter()
        .any(|row| matches!(row.outcome, Outcome::Failed { .. }));
    !failed && ((!all_there(rows) && clean(rows)) || rows.iter().any(|row| signalled(row)))
}

/// Whether a signal cut a trial short, or it never began.
#[must_use]
pub fn signalled(row: &TrialRecord) -> bool {
    let mut guards = row.guards.iter();
    guards.any(|guard| guard.name == GuardName::Interrupted && !guard.passed)
}
