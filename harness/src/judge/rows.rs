//! The rows of a case as they are judged: by pair or round, the members in the order of the arms.

use wiretrial_contract::plan::{Case, LaunchOrder, Plan};
use wiretrial_contract::record::{Outcome, TrialRecord};
use wiretrial_stats::order::First;

use crate::trial::pairs::{by_pair, counts, interrupted};

/// The rows of one case: the pairs that count, and all of them.
#[derive(Debug, Clone)]
pub(super) struct CaseRows<'a> {
    pub(super) case: &'a Case,
    /// Indices of the arms that are looked at, the reference first.
    pub(super) arms: Vec<usize>,
    /// Pairs in the estimate, one member an arm in the order of `arms`, in the order in which they ran.
    pub(super) pairs: Vec<Vec<&'a TrialRecord>>,
    /// Every row of the case.
    pub(super) all: Vec<&'a TrialRecord>,
}

impl<'a> CaseRows<'a> {
    /// Of all arms of the campaign.
    pub(super) fn of(plan: &Plan, case: &'a Case, rows: &'a [TrialRecord]) -> Self {
        let reference = plan.campaign.reference();
        let others = (0..plan.campaign.arms.len()).filter(|arm| *arm != reference);
        let all: Vec<&TrialRecord> = rows.iter().filter(|row| row.case == case.name).collect();
        let mut of = Self {
            case,
            arms: std::iter::once(reference).chain(others).collect(),
            pairs: Vec::new(),
            all,
        };
        of.pairs = by_pair(of.all.iter().copied())
            .into_values()
            .filter(|rows| counts(rows))
            .filter_map(|rows| of.by_arm(plan, &rows))
            .collect();
        of
    }

    /// Pairs that a signal ended though a member of them had been measured: somebody may have looked at it
    /// first, and such pairs are replaced without a limit.
    pub(super) fn ended_after_a_member(&self) -> usize {
        let pairs = by_pair(self.all.iter().copied()).into_values();
        let measured = |rows: &Vec<&TrialRecord>| rows.iter().any(|row| row.outcome == Outcome::Ok);
        pairs
            .filter(|rows| interrupted(rows) && measured(rows))
            .count()
    }

    /// The reference and each of the other arms.
    pub(super) fn compared(&self) -> Vec<Self> {
        let beside = |place: usize| Self {
            case: self.case,
            arms: vec![self.arms[0], self.arms[place]],
            pairs: self
                .pairs
                .iter()
                .map(|pair| vec![pair[0], pair[place]])
                .collect(),
            all: self.all.clone(),
        };
        (1..self.arms.len()).map(beside).collect()
    }

    /// The rows of one pair in the order of the arms; `None` where one is missing.
    pub(super) fn by_arm(
        &self,
        plan: &Plan,
        rows: &[&'a TrialRecord],
    ) -> Option<Vec<&'a TrialRecord>> {
        let of = |arm: &usize| {
            let name = &plan.campaign.arms[*arm].name;
            rows.iter().copied().find(|row| row.arm == *name)
        };
        self.arms.iter().map(of).collect()
    }

    /// Which of two compared arms was launched first in the pair of `row`.
    pub(super) fn first(&self, row: &TrialRecord) -> First {
        match &row.order {
            LaunchOrder::BaselineFirst => First::Baseline,
            LaunchOrder::CandidateFirst => First::Candidate,
            LaunchOrder::Arms(_) => {
                let arms = row.order.arms();
                let place = |arm: usize| arms.iter().position(|one| *one == arm);
                if place(self.arms[0]) < place(self.arms[1]) {
                    First::Baseline
                } else {
                    First::Candidate
                }
            }
        }
    }

    /// Every row that counts.
    pub(super) fn counted(&self) -> impl Iterator<Item = &'a TrialRecord> + use<'_, 'a> {
        self.pairs.iter().flatten().copied()
    }

    /// Counted rows of the arm at a place of `arms`.
    pub(super) fn of_arm(
        &self,
        place: usize,
    ) -> impl Iterator<Item = &'a TrialRecord> + use<'_, 'a> {
        self.pairs.iter().map(move |pair| pair[place])
    }

    /// Trials that count.
    pub(super) fn trials(&self) -> u64 {
        (self.pairs.len() * self.arms.len()) as u64
    }

    /// Rows of two arms, for tests of what is made of them.
    #[cfg(test)]
    pub(super) fn of_pairs(case: &'a Case, pairs: Vec<[&'a TrialRecord; 2]>) -> Self {
        Self {
            case,
            arms: vec![0, 1],
            pairs: pairs.into_iter().map(Vec::from).collect(),
            all: Vec::new(),
        }
    }
}
