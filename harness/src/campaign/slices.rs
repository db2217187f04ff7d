//! Who is sent to when inside a trial: slices, drawn from the seed.
//!
//! Time is cut into blocks, first those of the warm-up, then the counted ones. A block holds one
//! slice of every group, all with the same number of packets, so that groups are compared over the
//! same moments. Orders are random and balanced: in as many blocks as there are groups, each group
//! stands once at each place. Lengths are drawn within +-20 % in mirrored couples and shuffled, so
//! that they add up to the planned packets exactly and lock to no rhythm of the host.
//!
//! Every slice begins where the packets before it end: packet `n` of the schedule is due at
//! `n / rate`, computed in whole numbers, never as a sum of rounded lengths.

use wiretrial_contract::control::Slice;
use wiretrial_contract::plan::Traffic;
use wiretrial_contract::stamp::Class;
use wiretrial_stats::order;
use wiretrial_stats::random::{Purpose, Stream, stream_seed};

/// Slices of a trial at most. A slice is at most 72 bytes of the generator's `prepare`, a line of at
/// most 1 MiB.
const MAX_SLICES: u64 = 12_000;

/// Blocks of a trial of so many arms at most: one slice an arm and one for the control port.
#[must_use]
pub const fn max_blocks(arms: u64) -> u64 {
    MAX_SLICES / (arms + 1)
}

/// Slices an arm from which on a trial is not flagged `few_slices`.
pub const ENOUGH: u64 = 20;

/// The slices of each of `groups` groups, by start. They depend on the seed, the case and the
/// number of the pair, and on no other pair; the members of a sequential pair get the same ones.
#[must_use]
pub fn draw(traffic: &Traffic, groups: usize, seed: u64, case: &str, pair: u64) -> Vec<Vec<Slice>> {
    let seeds = Stream::new(stream_seed(Purpose::Slice, case, seed));
    let mut stream = Stream::new(seeds.at(pair));
    let mut slices = vec![Vec::new(); groups];
    let mut sent = 0;
    for (class, blocks, time_ns) in [
        (Class::WarmUp, warm_up_blocks(traffic), traffic.warm_up_ns),
        (Class::Counted, counted_blocks(traffic), traffic.duration_ns),
    ] {
        let total = packets(traffic.rate_pps, time_ns);
        if total == 0 {
            continue;
        }
        let lengths = lengths(blocks, total, &mut stream);
        let orders = order::rotations(groups, lengths.len(), &mut stream);
        for (packets, order) in lengths.into_iter().zip(orders) {
            for group in order {
                slices[group].push(Slice {
                    start_ns: due_ns(sent, traffic.rate_pps),
                    packets,
                    class,
                });
                sent += packets;
            }
        }
    }
    slices
}

/// Adds a slice of `packets` filler datagrams to each of the groups named, behind everything else.
pub fn add_filler(slices: &mut [Vec<Slice>], groups: &[usize], packets: u64, rate_pps: u64) {
    let mut sent: u64 = slices.iter().flatten().map(|slice| slice.packets).sum();
    for group in groups {
        slices[*group].push(Slice {
            start_ns: due_ns(sent, rate_pps),
            packets,
            class: Class::Filler,
        });
        sent += packets;
    }
}

/// Counted packets per flow of one group, as the stamps will number them: packet `i` of a slice
/// belongs to flow `i mod flows`.
#[must_use]
pub fn planned_per_flow(slices: &[Slice], flows: u16) -> Vec<u64> {
    let mut planned = vec![0; flows.into()];
    for slice in slices.iter().filter(|slice| slice.class == Class::Counted) {
        let rest = slice.packets % u64::from(flows);
        for (flow, planned) in (0_u64..).zip(&mut planned) {
            *planned += slice.packets / u64::from(flows) + u64::from(flow < rest);
        }
    }
    planned
}

/// Whole packets in a time.
#[must_use]
pub fn packets(rate_pps: u64, time_ns: u64) -> u64 {
    let packets = u128::from(rate_pps) * u128::from(time_ns) / 1_000_000_000;
    u64::try_from(packets).unwrap_or(u64::MAX)
}

/// Blocks of the warm-up, at least one.
#[must_use]
pub fn warm_up_blocks(traffic: &Traffic) -> u64 {
    blocks(traffic.warm_up_ns, traffic.slice_ns)
}

/// Counted blocks, which is counted slices an arm; at least one.
#[must_use]
pub fn counted_blocks(traffic: &Traffic) -> u64 {
    blocks(traffic.duration_ns, traffic.slice_ns)
}

/// As many as fit; they share what is left over, so that none is nominally shorter than asked for.
fn blocks(time_ns: u64, slice_ns: u64) -> u64 {
    (time_ns / slice_ns.max(1)).max(1)
}

/// Packets of each block, `total` together.
fn lengths(blocks: u64, total: u64, stream: &mut Stream) -> Vec<u64> {
    const NOMINAL: u64 = 1_000;
    let mut parts = Vec::new();
    for _ in 0..blocks / 2 {
        let part = order::slice_ns(NOMINAL, stream);
        parts.extend([part, 2 * NOMINAL - part]);
    }
    parts.extend((!blocks.is_multiple_of(2)).then_some(NOMINAL));
    order::shuffle(&mut parts, stream);
    let whole = u128::from(blocks * NOMINAL);
    let (mut end, mut before) = (0, 0);
    parts
        .into_iter()
        .map(|part| {
            end += part;
            let packets = u128::from(total) * u128::from(end) / whole;
            let upto = u64::try_from(packets).expect("a part of the total");
            let length = upto - before;
            before = upto;
            length
        })
        .collect()
}

/// When packet `n` of the schedule is due, ns from its start.
fn due_ns(n: u64, rate_pps: u64) -> u64 {
    let due = u128::from(n) * 1_000_000_000 / u128::from(rate_pps.max(1));
    u64::try_from(due).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wiretrial_contract::control::SendMethod;

    fn traffic(rate_pps: u64, duration_ms: u64, slice_ms: u64) -> Traffic {
        Traffic {
            rate_pps,
            frame_size: 64,
            duration_ns: duration_ms * 1_000_000,
            warm_up_ns: 200_000_000,
            slice_ns: slice_ms * 1_000_000,
            flows: 3,
            senders: 1,
            method: SendMethod::Sendmmsg,
            batch: 1,
            max_burst: 20,
        }
    }

    /// Slices of all groups by start, each with its group.
    fn in_time(groups: &[Vec<Slice>]) -> Vec<(usize, Slice)> {
        let mut all: Vec<(usize, Slice)> = groups
            .iter()
            .enumerate()
            .flat_map(|(group, slices)| slices.iter().map(move |slice| (group, *slice)))
            .collect();
        all.sort_by_key(|(_, slice)| slice.start_ns);
        all
    }

    fn total(slices: &[Slice], class: Class) -> u64 {
        let of_class = slices.iter().filter(|slice| slice.class == class);
        of_class.map(|slice| slice.packets).sum()
    }

    #[test]
    fn filler_comes_after_everything_and_only_where_it_is_wanted() {
        let traffic = traffic(20_000, 1_000, 50);
        let mut groups = draw(&traffic, 3, 7, "20k", 0);
        let before = in_time(&groups).last().map(|(_, slice)| *slice).unwrap();
        add_filler(&mut groups, &[1, 0], 500, traffic.rate_pps);
        let filler: Vec<_> = in_time(&groups)
            .into_iter()
            .filter(|(_, slice)| slice.class == Class::Filler)
            .map(|(group, slice)| (group, slice.packets))
            .collect();
        assert_eq!(filler, [(1, 500), (0, 500)]);
        let end_ns = before.start_ns + due_ns(before.packets, traffic.rate_pps);
        let first = in_time(&groups)
            .into_iter()
            .find(|(_, slice)| slice.class == Class::Filler)
            .unwrap();
        assert_eq!(first.1.start_ns, end_ns);
    }

    #[test]
    fn the_demo_has_twenty_slices_an_arm() {
        let traffic = traffic(20_000, 1_000, 50);
        let groups = draw(&traffic, 3, 7, "20k", 0);
        for slices in &groups {
            assert_eq!(slices.len(), 24);
            assert_eq!(total(slices, Class::WarmUp), 4_000);
            assert_eq!(total(slices, Class::Counted), 20_000);
        }
        assert_eq!(counted_blocks(&traffic), ENOUGH);
        let last = *in_time(&groups).last().unwrap();
        assert_eq!(last.1.start_ns + last.1.packets * 50_000, 3_600_000_000);
    }

    #[test]
    fn every_pair_and_case_has_its_own_slices() {
        let traffic = traffic(20_000, 1_000, 50);
        let first = draw(&traffic, 3, 7, "20k", 0);
        assert_eq!(first, draw(&traffic, 3, 7, "20k", 0));
        for other in [
            draw(&traffic, 3, 7, "20k", 1),
            draw(&traffic, 3, 7, "50k", 0),
            draw(&traffic, 3, 8, "20k", 0),
        ] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn flows_take_turns_from_the_start_of_every_slice() {
        let slice = |packets, class| Slice {
            start_ns: 0,
            packets,
            class,
        };
        let slices = [
            slice(9, Class::WarmUp),
            slice(4, Class::Counted),
            slice(5, Class::Counted),
        ];
        assert_eq!(planned_per_flow(&slices, 3), [4, 3, 2]);
        assert_eq!(planned_per_flow(&slices, 1), [9]);
    }

    #[test]
    fn the_longest_schedule_fits_a_message() {
        let slice = Slice {
            start_ns: 86_400 * 3 * 1_000_000_000,
            packets: u64::from(u32::MAX),
            class: Class::WarmUp,
        };
        let bytes = u64::try_from(serde_json::to_string(&slice).unwrap().len()).unwrap() + 1;
        let limit = u64::try_from(wiretrial_contract::control::MAX_LINE).unwrap();
        assert!(MAX_SLICES * bytes < limit - 64 * 1024, "{bytes}");
        assert_eq!((max_blocks(2), max_blocks(8)), (4_000, 1_333));
    }

    proptest! {
        #[test]
        fn schedules_are_exact_and_tile_time(
            rate in 1_000_u64..2_000_000, duration_ms in 50_u64..3_000, slice_ms in 10_u64..=50,
            groups in 2_usize..5, seed: u64, pair in 0_u64..1_000,
        ) {
            let traffic = traffic(rate, duration_ms, slice_ms);
            let drawn = draw(&traffic, groups, seed, "case", pair);

            for slices in &drawn {
                prop_assert_eq!(total(slices, Class::WarmUp), packets(rate, traffic.warm_up_ns));
                prop_assert_eq!(total(slices, Class::Counted), packets(rate, traffic.duration_ns));
                let planned: u64 = planned_per_flow(slices, traffic.flows).iter().sum();
                prop_assert_eq!(planned, packets(rate, traffic.duration_ns));
            }

            // Each slice starts exactly where the packets before it end.
            let all = in_time(&drawn);
            let mut sent = 0_u128;
            for (_, slice) in &all {
                let due = sent * 1_000_000_000 / u128::from(rate);
                prop_assert_eq!(u128::from(slice.start_ns), due);
                sent += u128::from(slice.packets);
            }

            // Every block is complete and its slices are alike; the warm-up comes first.
            for block in all.chunks(groups) {
                let mut seen: Vec<usize> = block.iter().map(|(group, _)| *group).collect();
                seen.sort_unstable();
                prop_assert_eq!(seen, (0..groups).collect::<Vec<_>>());
                let first = block[0].1;
                prop_assert!(block.iter().all(|(_, slice)|
                    (slice.packets, slice.class) == (first.packets, first.class)));
            }
            prop_assert!(all.is_sorted_by_key(|(_, slice)| slice.class == Class::Counted));
        }

        #[test]
        fn lengths_stay_within_a_fifth_of_the_nominal(
            blocks in 1_u64..200, per_block in 10_u64..100_000, rest in 0_u64..1_000, seed: u64,
        ) {
            let total = blocks * per_block + rest;
            let lengths = lengths(blocks, total, &mut Stream::new(seed));
            prop_assert_eq!(lengths.iter().sum::<u64>(), total);
            for length in lengths {
                // Rounding to whole packets moves an end by less than one.
                prop_assert!((length + 1) * 1_000 * blocks > 800 * total);
                prop_assert!((length - 1) * 1_000 * blocks < 1_200 * total);
            }
        }

        #[test]
        fn each_group_stands_equally_often_at_each_place(
            groups in 1_usize..6, rounds in 1_usize..20, seed: u64,
        ) {
            let orders = order::rotations(groups, groups * rounds, &mut Stream::new(seed));
            for place in 0..groups {
                for group in 0..groups {
                    let times = orders.iter().filter(|order| order[place] == group).count();
                    prop_assert_eq!(times, rounds);
                }
            }
        }
    }

    #[test]
    fn orders_and_lengths_are_random() {
        let mut stream = Stream::new(11);
        let orders = order::rotations(3, 300, &mut stream);
        for first in 0..3 {
            for second in (0..3).filter(|second| *second != first) {
                let times = orders
                    .iter()
                    .filter(|order| order[..2] == [first, second])
                    .count();
                assert!((30..=70).contains(&times), "{first} {second}: {times}");
            }
        }
        let lengths = lengths(1_000, 100_000, &mut stream);
        let short = lengths.iter().filter(|length| **length < 90).count();
        let long = lengths.iter().filter(|length| **length > 110).count();
        assert!(
            (180..320).contains(&short) && (180..320).contains(&long),
            "{short} {long}"
        );
    }
}
