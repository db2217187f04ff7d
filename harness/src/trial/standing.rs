//! How far a campaign has come: what of its rows decides which pair is next, kept as they come, so
//! that the work grows with the rows and not with their square.

#[cfg(test)]
mod properties;

use std::collections::{BTreeMap, BTreeSet};

use wiretrial_contract::plan::{Arrangement, Plan, PlannedPair};
use wiretrial_contract::record::{Outcome, TrialRecord};

use super::next::Next;
use super::pairs::signalled;
use super::setting::together;
use crate::campaign::order::Replacements;

/// A plan and what ran of it. A pair that replaces another has its rows after that one's.
#[derive(Debug)]
pub struct Standing<'a> {
    plan: &'a Plan,
    /// Index of a planned pair by its number.
    planned: BTreeMap<u64, usize>,
    /// Every pair with a row, by its number.
    pairs: BTreeMap<u64, Pair>,
    /// Planned pairs at whose head all have rows.
    begun: usize,
    /// Pairs that others replace.
    replaced: BTreeSet<u64>,
    /// Pairs that do not count, that stand for one of the plan and that none replaces.
    waiting: BTreeSet<u64>,
    /// Pairs of each case that do not count, but for what a signal ended.
    voided: BTreeMap<u32, u32>,
    /// Replacements with rows, by case.
    replacements: BTreeMap<u32, u32>,
    /// What is drawn for replacements, by case.
    drawn: BTreeMap<u32, Replacements>,
    /// When the last row was written, ns from the campaign's start.
    ran_ns: Option<u64>,
}

/// What matters of a pair's rows.
#[derive(Debug, Clone, Copy)]
struct Pair {
    /// Index of the planned pair that it is or stands in for.
    origin: Option<usize>,
    replaces: Option<u64>,
    members: usize,
    rows: usize,
    /// Every row ran to its end and passed every guard.
    clean: bool,
    failed: bool,
    /// A signal cut a row short.
    cut: bool,
}

impl Pair {
    fn counts(&self) -> bool {
        self.rows == self.members && self.clean
    }

    /// As [`super::pairs::interrupted`].
    fn interrupted(&self) -> bool {
        !self.failed && ((self.rows != self.members && self.clean) || self.cut)
    }

    fn voided(&self) -> bool {
        !self.counts() && !self.interrupted()
    }

    fn take(&mut self, row: &TrialRecord) {
        self.rows += 1;
        self.clean &= row.outcome == Outcome::Ok;
        self.failed |= matches!(row.outcome, Outcome::Failed { .. });
        self.cut |= signalled(row);
    }
}

impl<'a> Standing<'a> {
    /// Of a plan of which nothing ran.
    #[must_use]
    pub fn new(plan: &'a Plan) -> Self {
        let mut planned = BTreeMap::new();
        for (index, pair) in plan.pairs.iter().enumerate() {
            planned.entry(pair.pair).or_insert(index);
        }
        Self {
            plan,
            planned,
            pairs: BTreeMap::new(),
            begun: 0,
            replaced: BTreeSet::new(),
            waiting: BTreeSet::new(),
            voided: BTreeMap::new(),
            replacements: BTreeMap::new(),
            drawn: BTreeMap::new(),
            ran_ns: None,
        }
    }

    /// Adds rows in the order in which they were written.
    pub fn add(&mut self, rows: &[TrialRecord]) {
        rows.iter().for_each(|row| self.add_row(row));
    }

    /// The next step, as [`super::next::next`] has it.
    ///
    /// # Panics
    ///
    /// With more than 2^32 pairs, which no campaign has.
    pub fn step(&mut self) -> Next {
        match self.unlimited() {
            Next::Run { planned, .. }
                if self.spent() && !self.pairs.contains_key(&planned.pair) =>
            {
                Next::Spent
            }
            other => other,
        }
    }

    fn add_row(&mut self, row: &TrialRecord) {
        let known = self.pairs.get(&row.pair).copied();
        let mut pair = known.unwrap_or_else(|| self.first_of(row));
        let voided_before = known.is_some_and(|pair| pair.voided());
        pair.take(row);
        self.pairs.insert(row.pair, pair);
        if let Some(origin) = pair.origin {
            let case = self.plan.pairs[origin].case;
            let voided = self.voided.entry(case).or_default();
            *voided = *voided + u32::from(pair.voided()) - u32::from(voided_before);
            if pair.counts() || self.replaced.contains(&row.pair) {
                self.waiting.remove(&row.pair);
            } else {
                self.waiting.insert(row.pair);
            }
        }
        if let Some(replaces) = row.replaces {
            self.replaced.insert(replaces);
            self.waiting.remove(&replaces);
        }
        self.ran_ns = self.ran_ns.max(Some(row.ended_ns));
        let left = &self.plan.pairs[self.begun..];
        self.begun += left
            .iter()
            .take_while(|planned| self.pairs.contains_key(&planned.pair))
            .count();
    }

    /// A pair before its first row.
    fn first_of(&mut self, row: &TrialRecord) -> Pair {
        let origin = self.origin(row);
        if let Some(origin) = origin.filter(|_| row.replaces.is_some()) {
            let case = self.plan.pairs[origin].case;
            *self.replacements.entry(case).or_default() += 1;
        }
        Pair {
            origin,
            replaces: row.replaces,
            members: row.order.members(),
            rows: 0,
            clean: true,
            failed: false,
            cut: false,
        }
    }

    /// What a replacement replaces is followed back to the plan.
    fn origin(&self, row: &TrialRecord) -> Option<usize> {
        let planned = |pair: u64| self.planned.get(&pair).copied();
        planned(row.pair).or_else(|| {
            let replaces = row.replaces.filter(|replaces| *replaces < row.pair)?;
            planned(replaces).or_else(|| self.pairs.get(&replaces)?.origin)
        })
    }

    fn spent(&self) -> bool {
        let budget_ns = self.plan.campaign.design.budget_ns;
        budget_ns
            .zip(self.ran_ns)
            .is_some_and(|(budget_ns, ran_ns)| ran_ns >= budget_ns)
    }

    fn unlimited(&mut self) -> Next {
        if let Some(run) = self.rest_of_last() {
            return run;
        }
        let mut left = self.plan.pairs[self.begun..].iter();
        let planned = left.find(|planned| {
            !self.exhausted(planned.case) && !self.pairs.contains_key(&planned.pair)
        });
        if let Some(planned) = planned {
            return self.whole(planned.clone(), None);
        }
        let waiting = self.waiting.iter().filter_map(|void| {
            let origin = self.pairs[void].origin?;
            Some((*void, origin))
        });
        let mut replaced =
            waiting.filter(|(_, origin)| !self.exhausted(self.plan.pairs[*origin].case));
        let Some((void, origin)) = replaced.next() else {
            return Next::Finished;
        };
        let last = self.pairs.keys().next_back().map_or(0, |last| last + 1);
        let number = last.max(self.plan.pairs.len() as u64);
        let planned = self.replacement(origin, number, 0);
        self.whole(planned, Some(void))
    }

    /// The first step of a pair.
    fn whole(&self, planned: PlannedPair, replaces: Option<u64>) -> Next {
        Next::Run {
            arms: together(&self.plan.campaign, &planned).swap_remove(0),
            planned,
            replaces,
        }
    }

    /// What is left of the last pair, if its members run one after the other and nothing is wrong
    /// with those that ran.
    fn rest_of_last(&mut self) -> Option<Next> {
        let (number, pair) = self.pairs.last_key_value()?;
        let (number, pair) = (*number, *pair);
        let sequential = self.plan.campaign.design.arrangement == Arrangement::Sequential;
        if !sequential || pair.rows >= pair.members || !pair.clean {
            return None;
        }
        let origin = pair.origin?;
        let planned = if self.plan.pairs[origin].pair == number {
            self.plan.pairs[origin].clone()
        } else {
            self.replacement(origin, number, 1)
        };
        Some(Next::Run {
            arms: together(&self.plan.campaign, &planned).swap_remove(pair.rows),
            planned,
            replaces: pair.replaces,
        })
    }

    /// Whether more pairs of a case were voided than the plan replaces.
    fn exhausted(&self, case: u32) -> bool {
        let voided = self.voided.get(&case).copied().unwrap_or(0);
        voided > self.plan.campaign.design.replacements
    }

    /// The pair numbered `number` that stands in for one of the plan; `begun` is 1 where it has rows
    /// itself.
    fn replacement(&mut self, origin: usize, number: u64, begun: u32) -> PlannedPair {
        let planned = &self.plan.pairs[origin];
        let case = planned.case;
        let earlier = self.replacements.get(&case).copied().unwrap_or(0);
        let drawn = self.drawn.entry(case).or_insert_with(|| {
            let campaign = &self.plan.campaign;
            Replacements::new(
                campaign,
                &campaign.cases[case as usize].name,
                self.plan.seed.0,
            )
        });
        drawn.pair(planned, number, earlier - begun)
    }
}
