//! How many datagrams were sent, delivered and lost, where what was lost may be a range.

use wiretrial_contract::record::TrialRecord;

/// Datagrams of one trial or of several.
#[derive(Default, Clone, Copy)]
pub(super) struct Totals {
    pub(super) accepted: u64,
    /// Delivered, at least.
    pub(super) unique: u64,
    /// Lost, at most.
    pub(super) lost: u64,
    /// Lost, at least.
    pub(super) least: u64,
    /// Whether `least` and `lost` are the ends of a range.
    pub(super) range: bool,
    pub(super) unexplained: i64,
}

impl Totals {
    /// The sum of these trials.
    pub(super) fn of<'a>(rows: impl Iterator<Item = &'a TrialRecord>) -> Self {
        rows.filter_map(Self::of_trial)
            .fold(Self::default(), |sum, one| Self {
                accepted: sum.accepted.saturating_add(one.accepted),
                unique: sum.unique.saturating_add(one.unique),
                lost: sum.lost.saturating_add(one.lost),
                least: sum.least.saturating_add(one.least),
                range: sum.range || one.range,
                unexplained: sum.unexplained.saturating_add(one.unexplained),
            })
    }

    /// Of a program that told nothing there is no ledger: it may have lost nothing or everything.
    pub(super) fn of_trial(row: &TrialRecord) -> Option<Self> {
        let Some(ledger) = &row.ledger else {
            let accepted = row.tally().filter(|_| row.count().is_some())?.accepted;
            return Some(Self {
                accepted,
                lost: accepted,
                range: true,
                ..Self::default()
            });
        };
        let lost = ledger.lost.max(0).unsigned_abs();
        Some(Self {
            accepted: ledger.accepted,
            unique: ledger.unique,
            lost,
            least: ledger.lost_least.unwrap_or(lost),
            range: ledger.lost_least.is_some(),
            unexplained: ledger.unexplained,
        })
    }
}
