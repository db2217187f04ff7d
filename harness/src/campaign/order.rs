//! The order in which pairs run: rounds of one pair per case, drawn from the seed.

use wiretrial_contract::plan::{Campaign, Kind, LaunchOrder, PlannedPair};
use wiretrial_stats::order::{self, First};
use wiretrial_stats::random::{Purpose, Stream, stream_seed};

/// All pairs in the order in which they run. Each round runs one pair of every case in a drawn
/// order of cases; over a case's rounds each arm is launched first equally often.
///
/// # Panics
///
/// When the campaign's pairs are odd or 0, which the campaign file's checks refuse.
#[must_use]
pub fn pairs(campaign: &Campaign, seed: u64) -> Vec<PlannedPair> {
    let rounds = campaign.design.pairs;
    let mut cases: Vec<(Vec<LaunchOrder>, Spacing)> = campaign
        .cases
        .iter()
        .map(|case| {
            let launches = launches(campaign, &case.name, seed);
            (launches, Spacing::new(&case.name, seed))
        })
        .collect();
    // The order of cases belongs to the campaign, not to one case: its stream has no case's name.
    let mut rounds_of_cases = Stream::new(stream_seed(Purpose::Caseorder, "", seed));
    let mut pairs = Vec::new();
    for round in 0..rounds {
        for case in order::round(cases.len(), &mut rounds_of_cases) {
            let (launches, spacing) = &mut cases[case];
            let (gap_ns, padding) = spacing.draw();
            pairs.push(PlannedPair {
                pair: index(pairs.len()),
                case: u32::try_from(case).expect("cases are few"),
                round,
                order: launches[round as usize].clone(),
                gap_ns,
                padding,
            });
        }
    }
    pairs
}

/// The pair that replaces a voided one: the same case, round and launch order, so that the balance
/// holds; its gap and padding are the next ones of its case. `number` is its own number and
/// `earlier` counts the replacements of its case before it.
#[must_use]
pub fn replacement(
    campaign: &Campaign,
    seed: u64,
    voided: &PlannedPair,
    number: u64,
    earlier: u32,
) -> PlannedPair {
    let case = &campaign.cases[voided.case as usize].name;
    Replacements::new(campaign, case, seed).pair(voided, number, earlier)
}

/// The pairs that replace voided ones of a case, as [`replacement`] makes them; what was drawn for one
/// is kept for the next.
#[derive(Debug)]
pub struct Replacements {
    spacing: Spacing,
    /// Gap and padding of each.
    drawn: Vec<(u64, u32)>,
}

impl Replacements {
    /// Of the case called `case`.
    #[must_use]
    pub fn new(campaign: &Campaign, case: &str, seed: u64) -> Self {
        let mut spacing = Spacing::new(case, seed);
        for _ in 0..campaign.design.pairs {
            spacing.draw();
        }
        Self {
            spacing,
            drawn: Vec::new(),
        }
    }

    /// The pair numbered `number` that replaces `voided`, after `earlier` replacements of the case.
    pub fn pair(&mut self, voided: &PlannedPair, number: u64, earlier: u32) -> PlannedPair {
        let earlier = earlier as usize;
        while self.drawn.len() <= earlier {
            self.drawn.push(self.spacing.draw());
        }
        let (gap_ns, padding) = self.drawn[earlier];
        PlannedPair {
            pair: number,
            gap_ns,
            padding,
            ..voided.clone()
        }
    }
}

/// The launch orders of one case, from a stream of its own.
fn launches(campaign: &Campaign, case: &str, seed: u64) -> Vec<LaunchOrder> {
    let pairs = campaign.design.pairs as usize;
    let mut schedule = Stream::new(stream_seed(Purpose::Schedule, case, seed));
    match campaign.kind {
        Kind::Paired => order::balanced(pairs, &mut schedule)
            .expect("the campaign's checks refuse odd pairs")
            .into_iter()
            .map(|first| match first {
                First::Baseline => LaunchOrder::BaselineFirst,
                First::Candidate => LaunchOrder::CandidateFirst,
            })
            .collect(),
        Kind::Table => order::rounds(campaign.arms.len(), pairs, &mut schedule)
            .into_iter()
            .map(|arms| LaunchOrder::Arms(arms.into_iter().map(arm_index).collect()))
            .collect(),
    }
}

/// Gaps and paddings of one case's pairs, from streams of their own.
#[derive(Debug)]
struct Spacing {
    gaps: Stream,
    paddings: Stream,
}

impl Spacing {
    fn new(case: &str, seed: u64) -> Self {
        let stream = |purpose| Stream::new(stream_seed(purpose, case, seed));
        Self {
            gaps: stream(Purpose::Gap),
            paddings: stream(Purpose::Pad),
        }
    }

    /// Gap, ns, and padding, bytes, of the next pair.
    fn draw(&mut self) -> (u64, u32) {
        let gap_ns = order::gap_ms(&mut self.gaps) * 1_000_000;
        let padding = u32::try_from(order::padding_bytes(&mut self.paddings));
        (gap_ns, padding.expect("a padding is at most 4095"))
    }
}

fn arm_index(arm: usize) -> u32 {
    u32::try_from(arm).expect("a handful of arms")
}

fn index(index: usize) -> u64 {
    u64::try_from(index).expect("Linux has at most 64-bit sizes")
}

#[cfg(test)]
mod tests {
    use super::super::overrides::Overrides;
    use super::super::shipped;
    use super::*;
    use proptest::prelude::*;

    fn demo(pairs: u32) -> Campaign {
        let overrides = Overrides {
            pairs: Some(pairs),
            ..Overrides::default()
        };
        shipped::load("demo", &overrides).unwrap()
    }

    #[test]
    fn seeds_decide() {
        let campaign = demo(12);
        assert_eq!(pairs(&campaign, 1), pairs(&campaign, 1));
        assert_ne!(pairs(&campaign, 1), pairs(&campaign, 2));
    }

    #[test]
    fn a_case_keeps_its_launches_beside_other_cases() {
        let both = demo(12);
        let mut alone = demo(12);
        alone.cases.remove(0);
        let launches = |campaign: &Campaign, case: u32| -> Vec<(LaunchOrder, u64, u32)> {
            pairs(campaign, 5)
                .into_iter()
                .filter(|pair| pair.case == case)
                .map(|pair| (pair.order, pair.gap_ns, pair.padding))
                .collect()
        };
        assert_eq!(launches(&both, 1), launches(&alone, 0));
    }

    #[test]
    fn a_replacement_keeps_the_order_and_draws_on() {
        let campaign = demo(6);
        let planned = pairs(&campaign, 3);
        let first = replacement(&campaign, 3, &planned[4], 12, 0);
        assert_eq!(
            (first.pair, first.case, first.round, &first.order),
            (12, planned[4].case, planned[4].round, &planned[4].order)
        );
        let second = replacement(&campaign, 3, &planned[4], 13, 1);
        assert_ne!(first.padding, second.padding);
        // The next of the same streams: what a longer campaign would have drawn.
        let longer = pairs(&demo(8), 3);
        let next = |round| {
            longer
                .iter()
                .find(|pair| pair.case == planned[4].case && pair.round == round)
                .map(|pair| (pair.gap_ns, pair.padding))
        };
        assert_eq!(next(6), Some((first.gap_ns, first.padding)));
        assert_eq!(next(7), Some((second.gap_ns, second.padding)));
    }

    proptest! {
        #[test]
        fn rounds_are_complete_and_launches_balanced(half in 3_u32..12, seed: u64) {
            let campaign = demo(2 * half);
            let planned = pairs(&campaign, seed);
            prop_assert_eq!(planned.len(), 4 * half as usize);
            for (number, pair) in planned.iter().enumerate() {
                prop_assert_eq!(pair.pair, index(number));
                prop_assert_eq!(pair.round as usize, number / 2);
                prop_assert!(pair.gap_ns <= 250_000_000 && pair.gap_ns.is_multiple_of(1_000_000));
                prop_assert!(pair.padding <= 4_095);
            }
            for round in planned.chunks(2) {
                prop_assert_ne!(round[0].case, round[1].case);
            }
            for case in 0..2 {
                let first = planned.iter()
                    .filter(|pair| pair.case == case && pair.order == LaunchOrder::BaselineFirst);
                prop_assert_eq!(first.count(), half as usize);
            }
        }
    }
}
