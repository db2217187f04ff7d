//! What the plan draws: who goes first, the order of cases and slices, gaps and padding.
//!
//! Fixed orders confuse the effect of a build with drift, position and periodic load of the host;
//! a balanced random order keeps the nominal false alarm rate under all three. Nothing here is
//! drawn while a campaign runs.

use crate::random::Stream;
use std::fmt;

/// Longest drawn pause before a launch, in milliseconds; the shortest is 0.
pub const MAX_GAP_MS: u64 = 250;
/// Largest drawn environment padding, in bytes; the smallest is 0.
pub const MAX_PADDING_BYTES: u64 = 4_095;
/// Slice lengths stay within this many thousandths of the nominal length, either way.
pub const SLICE_JITTER_PERMILLE: u64 = 200;
/// Most arms whose launch orders are all run; four have 24.
const MAX_ENUMERATED_ARMS: usize = 3;

/// The arm of a pair that is launched first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum First {
    /// Written as 0.
    Baseline,
    /// Written as 1.
    Candidate,
}

/// An order that gives both arms the first place equally often needs an even number of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OddPairs {
    /// The number of pairs asked for.
    pub pairs: usize,
}

impl fmt::Display for OddPairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} pairs cannot be balanced, use an even number above 0",
            self.pairs
        )
    }
}

impl std::error::Error for OddPairs {}

/// Draws one of the C(n, n/2) balanced orders of `pairs` pairs, each equally likely.
///
/// # Errors
/// [`OddPairs`] when `pairs` is odd or 0.
pub fn balanced(pairs: usize, stream: &mut Stream) -> Result<Vec<First>, OddPairs> {
    if pairs == 0 || !pairs.is_multiple_of(2) {
        return Err(OddPairs { pairs });
    }
    let mut order = vec![First::Baseline; pairs];
    order[pairs / 2..].fill(First::Candidate);
    shuffle(&mut order, stream);
    Ok(order)
}

/// Fisher-Yates from the last place down to the second: one draw a place, in that order. Also used
/// for the slices inside a block.
pub fn shuffle<T>(items: &mut [T], stream: &mut Stream) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(stream, last + 1));
    }
}

/// The order in which one round visits `cases` cases, as indices. Rounds of a plan draw one after
/// the other from the same stream.
#[must_use]
pub fn round(cases: usize, stream: &mut Stream) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cases).collect();
    shuffle(&mut order, stream);
    order
}

/// `rows` orders of `members`: rotations of shuffled rows, themselves shuffled, so that in as many
/// rows as there are members each stands once at each place.
#[must_use]
pub fn rotations(members: usize, rows: usize, stream: &mut Stream) -> Vec<Vec<usize>> {
    let mut orders = Vec::new();
    while orders.len() < rows && members > 0 {
        let row = round(members, stream);
        let mut square: Vec<Vec<usize>> = (0..members)
            .map(|turn| {
                let mut turned = row.clone();
                turned.rotate_left(turn);
                turned
            })
            .collect();
        shuffle(&mut square, stream);
        orders.append(&mut square);
    }
    orders.truncate(rows);
    orders
}

/// The launch orders of `rounds` rounds of a table of `arms` arms. Up to three arms every order there
/// is comes equally often, as far as the rounds divide by their number (all six twice in twelve rounds
/// of three arms); beyond that each arm stands equally often at each place.
#[must_use]
pub fn rounds(arms: usize, rounds: usize, stream: &mut Stream) -> Vec<Vec<usize>> {
    let mut orders = Vec::new();
    if arms > MAX_ENUMERATED_ARMS {
        orders = rotations(arms, rounds, stream);
    }
    while orders.len() < rounds && arms > 0 {
        let mut all = permutations(arms);
        shuffle(&mut all, stream);
        orders.append(&mut all);
    }
    orders.truncate(rounds);
    shuffle(&mut orders, stream);
    orders
}

/// All orders of so many members.
fn permutations(members: usize) -> Vec<Vec<usize>> {
    let Some(last) = members.checked_sub(1) else {
        return vec![Vec::new()];
    };
    let shorter = permutations(last);
    let insert = |order: &Vec<usize>, place: usize| {
        let mut longer = order.clone();
        longer.insert(place, last);
        longer
    };
    shorter
        .iter()
        .flat_map(|order| (0..members).map(move |place| insert(order, place)))
        .collect()
}

/// A pause before a launch, 0..=[`MAX_GAP_MS`] milliseconds, against phase lock with the host.
pub fn gap_ms(stream: &mut Stream) -> u64 {
    stream.below(MAX_GAP_MS + 1)
}

/// Bytes of padding in the environment of both members of a pair, 0..=[`MAX_PADDING_BYTES`]. The
/// size of the environment moves the stack and with it the timing (Mytkowicz et al., 2009).
pub fn padding_bytes(stream: &mut Stream) -> u64 {
    stream.below(MAX_PADDING_BYTES + 1)
}

/// The length of one slice: `nominal_ns` times a drawn 0.800..=1.200, rounded down.
pub fn slice_ns(nominal_ns: u64, stream: &mut Stream) -> u64 {
    let permille = 1_000 - SLICE_JITTER_PERMILLE + stream.below(2 * SLICE_JITTER_PERMILLE + 1);
    let length = u128::from(nominal_ns) * u128::from(permille) / 1_000;
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// An index in `0..n`.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the result is below n, a usize"
)]
fn below(stream: &mut Stream, n: usize) -> usize {
    stream.below(n as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream_seed};
    use crate::sum::real;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn digits(order: &[First]) -> Vec<u8> {
        order
            .iter()
            .map(|first| u8::from(*first == First::Candidate))
            .collect()
    }

    fn counted(orders: &[Vec<usize>]) -> BTreeMap<Vec<usize>, usize> {
        let mut counts = BTreeMap::new();
        for order in orders {
            *counts.entry(order.clone()).or_default() += 1;
        }
        counts
    }

    #[test]
    fn three_arms_have_each_of_six_orders_twice_in_twelve_rounds() {
        let mut stream = Stream::new(stream_seed(Purpose::Schedule, "case", 1));
        let orders = rounds(3, 12, &mut stream);
        let counts = counted(&orders);
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| *count == 2), "{counts:?}");
        assert_eq!(rounds(2, 6, &mut stream).len(), 6);
        assert_eq!(counted(&rounds(2, 6, &mut stream))[&vec![1, 0]], 3);
        assert_eq!(rounds(3, 8, &mut stream).len(), 8);
        assert!(rounds(0, 4, &mut stream).is_empty());
    }

    #[test]
    fn many_arms_stand_equally_often_at_each_place() {
        let mut stream = Stream::new(stream_seed(Purpose::Schedule, "case", 2));
        let orders = rounds(5, 10, &mut stream);
        for place in 0..5 {
            for arm in 0..5 {
                let times = orders.iter().filter(|order| order[place] == arm).count();
                assert_eq!(times, 2, "arm {arm} at place {place}");
            }
        }
    }

    #[test]
    fn reference_schedule() {
        let mut stream = Stream::new(stream_seed(Purpose::Schedule, "case-a", 1));
        let order = balanced(12, &mut stream).unwrap();
        assert_eq!(digits(&order), [1, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn odd_and_empty_are_refused() {
        assert_eq!(balanced(7, &mut Stream::new(1)), Err(OddPairs { pairs: 7 }));
        assert_eq!(balanced(0, &mut Stream::new(1)), Err(OddPairs { pairs: 0 }));
    }

    #[test]
    fn all_924_orders_are_equally_likely() {
        let mut seen: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        for seed in 0..92_400 {
            let mut stream = Stream::new(stream_seed(Purpose::Schedule, "uniform", seed));
            *seen
                .entry(digits(&balanced(12, &mut stream).unwrap()))
                .or_default() += 1;
        }
        assert_eq!(seen.len(), 924);
        let statistic: f64 = seen
            .values()
            .map(|count| (real(*count) - 100.0).powi(2) / 100.0)
            .sum();
        // chi-square with 923 degrees of freedom: mean 923, standard deviation 43
        assert!((794.0..1_052.0).contains(&statistic), "{statistic}");
    }

    #[test]
    fn draws_reach_both_ends_of_their_ranges() {
        let mut stream = Stream::new(3);
        let gaps: Vec<u64> = (0..5_000).map(|_| gap_ms(&mut stream)).collect();
        assert_eq!(
            (gaps.iter().min(), gaps.iter().max()),
            (Some(&0), Some(&MAX_GAP_MS))
        );
        let lengths: Vec<u64> = (0..8_000).map(|_| slice_ns(1_000, &mut stream)).collect();
        assert_eq!(
            (lengths.iter().min(), lengths.iter().max()),
            (Some(&800), Some(&1_200))
        );
        let pads: Vec<u64> = (0..60_000).map(|_| padding_bytes(&mut stream)).collect();
        assert_eq!(
            (pads.iter().min(), pads.iter().max()),
            (Some(&0), Some(&MAX_PADDING_BYTES))
        );
        let longest: Vec<u64> = (0..50).map(|_| slice_ns(u64::MAX, &mut stream)).collect();
        assert!(longest.iter().all(|length| *length >= u64::MAX / 10 * 8));
    }

    proptest! {
        #[test]
        fn every_order_is_balanced(half in 1usize..40, seed: u64) {
            let order = balanced(2 * half, &mut Stream::new(seed)).unwrap();
            let first = order.iter().filter(|first| **first == First::Baseline).count();
            prop_assert_eq!(first, half);
        }

        #[test]
        fn a_round_visits_every_case_once(cases in 0usize..50, seed: u64) {
            let mut order = round(cases, &mut Stream::new(seed));
            order.sort_unstable();
            prop_assert_eq!(order, (0..cases).collect::<Vec<_>>());
        }
    }
}
