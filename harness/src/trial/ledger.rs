//! Where the datagrams of one trial went.
//!
//! Two identities. Sets decide: accepted = unique + lost, by number, exactly. Copies explain:
//! what went in from armed to the end of the drain equals what was delivered plus what each stage
//! dropped. Pure: counts in, ledger out. Every counter is a delta at its own width.

use std::collections::BTreeMap;

use wiretrial_contract::control::TopologyKind;
use wiretrial_contract::record::{
    Delivery, HostCounters, HostWindow, Ledger, LedgerState, RingCheck, Share, Stage,
};
use wiretrial_contract::report::{GroupTally, ReceiverReport};

use super::count;

/// The ledger of one trial; none where nothing is sent, or where a program of the user's says nothing.
#[must_use]
pub fn of_delivery(
    topology: TopologyKind,
    sent: &GroupTally,
    delivery: &Delivery,
    host: &HostWindow,
) -> Option<Ledger> {
    match delivery {
        Delivery::Sequences(seen) => {
            Some(of_trial(topology, topology.interface(), sent, seen, host))
        }
        Delivery::Count(seen) => count::of_trial(sent, seen),
        Delivery::Passes(_) => None,
    }
}

/// The ledger of one trial of the built-in receiver.
#[must_use]
pub fn of_trial(
    _topology: TopologyKind,
    interface: &str,
    sent: &GroupTally,
    seen: &ReceiverReport,
    host: &HostWindow,
) -> Ledger {
    let copies = &seen.copies;
    let beside = total(&[
        copies.duplicate,
        copies.probe,
        copies.filler,
        copies.stale,
        copies.foreign,
        copies.corrupt,
    ]);
    let copies_in = total(&[sent.accepted, sent.warm_up_accepted, beside]);
    let copies_delivered = copies.total();
    let ring = seen.pcap.map(|pcap| pcap.dropped);
    // Behind its own ring nobody else's copies are; what is missing before it may lie in a counter
    // that the other arm and the control port share.
    let missing = signed(copies_in)
        .saturating_sub(signed(copies_delivered))
        .saturating_sub(signed(ring.unwrap_or(0)));
    let shared = backlog(interface, &host.start, &host.end)
        .map(|count| count.min(missing.max(0).unsigned_abs()));
    let unexplained = missing.saturating_sub(signed(shared.unwrap_or(0)));
    let lost = signed(sent.accepted).saturating_sub(signed(copies.unique));
    let ring_check = seen.pcap.map(|pcap| RingCheck {
        received: pcap.received,
        delivered: copies_delivered,
        dropped: pcap.dropped,
    });
    // Copies that are in no total and were dropped hide a stage's share of the lost.
    let hidden =
        sent.warm_up_accepted.saturating_sub(copies.warm_up) + unexplained.min(0).unsigned_abs();
    let state = match state(sent, seen, unexplained, ring_check, beside) {
        LedgerState::Balanced if shared.is_some_and(|copies| copies > 0) => {
            LedgerState::Ambiguous {
                copies: shared.unwrap_or(0),
            }
        }
        state => state,
    };
    let lost_count = lost.max(0).unsigned_abs();
    Ledger {
        accepted: sent.accepted,
        unique: copies.unique,
        lost,
        lost_least: None,
        ring_tail: None,
        copies_in,
        copies_delivered,
        // Stages this topology does not have are left out; a counter that could not be read is null.
        dropped: BTreeMap::from([(Stage::Backlog, shared), (Stage::Ring, ring)]),
        lost_at: BTreeMap::from([
            (
                Stage::Backlog,
                shared.map(|count| share(0, count, lost_count)),
            ),
            (
                Stage::Ring,
                ring.map(|count| share(count.saturating_sub(hidden), count, lost_count)),
            ),
        ]),
        unexplained,
        ring_check,
        state,
    }
}

/// What a full per-CPU backlog dropped. The kernel counts it in the device's rx_dropped (64 bits),
/// where frames that no protocol wanted are counted too, and in softnet_stat (32 bits, machine-wide);
/// neither can be below the truth, so the smaller one bounds it.
fn backlog(interface: &str, start: &HostCounters, end: &HostCounters) -> Option<u64> {
    let of_link =
        |counters: &HostCounters| counters.links.get(interface)?.get("rx_dropped").copied();
    let link = of_link(end)?.wrapping_sub(of_link(start)?);
    let of_machine = |counters: &HostCounters| counters.softnet.get("dropped").copied();
    let machine = of_machine(end).zip(of_machine(start));
    let machine = machine.map(|(end, start)| end.wrapping_sub(start) & u64::from(u32::MAX));
    Some(machine.map_or(link, |machine| machine.min(link)))
}

/// Between `min` and `max` of the `lost`.
fn share(min: u64, max: u64, lost: u64) -> Share {
    let (min, max) = (min.min(lost), max.min(lost));
    if min == max {
        Share::Count(min)
    } else {
        Share::Range { min, max }
    }
}

fn state(
    sent: &GroupTally,
    seen: &ReceiverReport,
    unexplained: i64,
    ring_check: Option<RingCheck>,
    beside: u64,
) -> LedgerState {
    if sent.accepted > sent.planned {
        return invalid(format!(
            "accepted {} of {} planned",
            sent.accepted, sent.planned
        ));
    }
    if seen.copies.unique > sent.accepted {
        return invalid(format!(
            "unique {} > accepted {}",
            seen.copies.unique, sent.accepted
        ));
    }
    if total(&sent.accepted_per_flow) != sent.accepted {
        return invalid(format!(
            "accepted {}, by flow {}",
            sent.accepted,
            total(&sent.accepted_per_flow)
        ));
    }
    if total(&seen.unique_per_flow) != seen.copies.unique
        || seen.unique_per_flow.len() != sent.accepted_per_flow.len()
    {
        return invalid(format!(
            "unique {}, by flow {} in {} flows of {}",
            seen.copies.unique,
            total(&seen.unique_per_flow),
            seen.unique_per_flow.len(),
            sent.accepted_per_flow.len()
        ));
    }
    if let Some(check) = ring_check.filter(|check| !check.holds()) {
        let RingCheck {
            received,
            delivered,
            dropped,
        } = check;
        return invalid(format!(
            "ps_recv {received}, delivered {delivered} + ps_drop {dropped}"
        ));
    }
    // Copies that do not count: they may sit in a drop counter without being among those put in.
    let not_counted = total(&[sent.warm_up_accepted, sent.probe_accepted, beside]);
    match unexplained {
        0 => LedgerState::Balanced,
        1.. => LedgerState::Unexplained {
            copies: unexplained.unsigned_abs(),
        },
        _ if unexplained.unsigned_abs() <= not_counted => LedgerState::Ambiguous {
            copies: unexplained.unsigned_abs(),
        },
        _ => invalid(format!(
            "drops exceed the missing copies by {}, and only {not_counted} copies do not count",
            unexplained.unsigned_abs()
        )),
    }
}

fn invalid(cause: String) -> LedgerState {
    LedgerState::Invalid { cause }
}

/// Beyond 2^63 lies no count that a generator's caps allow; evidence may say anything, and a number
/// that large breaks an identity wherever it stands.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn total(counts: &[u64]) -> u64 {
    counts
        .iter()
        .fold(0, |sum, count| sum.saturating_add(*count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::samples;
    use proptest::prelude::*;
    use wiretrial_contract::report::{Copies, PcapCounters};

    fn window(rx_dropped: [u64; 2]) -> HostWindow {
        let at = |i: usize| HostCounters {
            links: BTreeMap::from([(
                "lo".to_owned(),
                BTreeMap::from([("rx_dropped".to_owned(), rx_dropped[i])]),
            )]),
            ..HostCounters::default()
        };
        HostWindow {
            start: at(0),
            end: at(1),
            foreign_cpu_ns: None,
        }
    }

    fn ledger(accepted: u64, warm_up: u64, copies: Copies, drop: u64, host: &HostWindow) -> Ledger {
        let sent = GroupTally {
            planned: 1_000_000,
            accepted,
            warm_up_accepted: warm_up,
            accepted_per_flow: vec![accepted],
            ..samples::tally()
        };
        let pcap = PcapCounters {
            received: copies.total() + drop,
            dropped: drop,
            interface_dropped: None,
        };
        let seen = ReceiverReport {
            copies,
            unique_per_flow: vec![copies.unique],
            pcap: Some(pcap),
            ..samples::receiver()
        };
        of_trial(TopologyKind::Loopback, "lo", &sent, &seen, host)
    }

    #[test]
    fn nothing_lost() {
        let copies = Copies {
            unique: 1000,
            warm_up: 200,
            ..Copies::default()
        };
        let ledger = ledger(1000, 200, copies, 0, &window([5, 5]));
        assert_eq!((ledger.lost, ledger.unexplained), (0, 0));
        assert_eq!(ledger.state, LedgerState::Balanced);
        assert_eq!(ledger.lost_at[&Stage::Backlog], Some(Share::Count(0)));
    }

    #[test]
    fn lost_in_the_ring_is_exact_while_only_counted_copies_were_dropped() {
        let copies = Copies {
            unique: 900,
            warm_up: 200,
            duplicate: 3,
            ..Copies::default()
        };
        let ledger = ledger(1000, 200, copies, 100, &window([0, 0]));
        assert_eq!((ledger.lost, ledger.unexplained), (100, 0));
        assert_eq!(ledger.lost_at[&Stage::Ring], Some(Share::Count(100)));
        assert_eq!(ledger.state, LedgerState::Balanced);
    }

    #[test]
    fn a_stage_is_a_range_where_warm_up_was_dropped_too() {
        let copies = Copies {
            unique: 900,
            warm_up: 150,
            ..Copies::default()
        };
        let ledger = ledger(1000, 200, copies, 120, &window([0, 30]));
        assert_eq!((ledger.lost, ledger.unexplained), (100, 0));
        assert_eq!(
            ledger.lost_at[&Stage::Ring],
            Some(Share::Range { min: 70, max: 100 })
        );
        assert_eq!(
            ledger.lost_at[&Stage::Backlog],
            Some(Share::Range { min: 0, max: 30 })
        );
    }

    #[test]
    fn another_arms_backlog_is_not_this_arms_loss() {
        let copies = Copies {
            unique: 1000,
            ..Copies::default()
        };
        let clean = ledger(1000, 0, copies, 0, &window([0, 100]));
        assert_eq!(clean.state, LedgerState::Balanced);
        assert_eq!(clean.lost_at[&Stage::Backlog], Some(Share::Count(0)));
        let copies = Copies {
            unique: 900,
            ..Copies::default()
        };
        let lossy = ledger(1000, 0, copies, 0, &window([0, 100]));
        assert_eq!(lossy.state, LedgerState::Ambiguous { copies: 100 });
        assert_eq!(
            lossy.lost_at[&Stage::Backlog],
            Some(Share::Range { min: 0, max: 100 })
        );
    }

    #[test]
    fn the_smaller_of_both_backlog_counters_bounds_it() {
        let mut host = window([0, 100]);
        host.start
            .softnet
            .insert("dropped".into(), u64::from(u32::MAX));
        host.end.softnet.insert("dropped".into(), (1 << 32) + 9);
        let copies = Copies {
            unique: 900,
            ..Copies::default()
        };
        let ledger = ledger(1000, 0, copies, 0, &host);
        assert_eq!(ledger.dropped[&Stage::Backlog], Some(10));
        assert_eq!(ledger.state, LedgerState::Unexplained { copies: 90 });
    }

    #[test]
    fn an_unread_counter_is_null_and_its_losses_unexplained() {
        let copies = Copies {
            unique: 999,
            ..Copies::default()
        };
        let ledger = ledger(1000, 0, copies, 0, &HostWindow::default());
        assert_eq!(ledger.dropped[&Stage::Backlog], None);
        assert_eq!(ledger.lost_at[&Stage::Backlog], None);
        assert_eq!(ledger.state, LedgerState::Unexplained { copies: 1 });
    }

    #[test]
    fn broken_identities_are_invalid_with_both_numbers() {
        let copies = Copies {
            unique: 1001,
            ..Copies::default()
        };
        let more = ledger(1000, 0, copies, 0, &HostWindow::default());
        assert_eq!(more.lost, -1);
        assert_eq!(more.state, invalid("unique 1001 > accepted 1000".into()));
        let copies = Copies {
            unique: 1000,
            ..Copies::default()
        };
        let doubled = ledger(1000, 0, copies, 500, &HostWindow::default());
        assert!(
            matches!(doubled.state, LedgerState::Invalid { .. }),
            "{:?}",
            doubled.state
        );
    }

    #[test]
    fn a_doubled_ps_recv_is_caught() {
        let copies = Copies {
            unique: 1000,
            ..Copies::default()
        };
        let pcap = PcapCounters {
            received: 2000,
            dropped: 0,
            interface_dropped: None,
        };
        let seen = ReceiverReport {
            copies,
            unique_per_flow: vec![copies.unique],
            pcap: Some(pcap),
            ..samples::receiver()
        };
        let sent = GroupTally {
            planned: 1000,
            accepted: 1000,
            accepted_per_flow: vec![1000],
            ..samples::tally()
        };
        let ledger = of_trial(
            TopologyKind::Loopback,
            "lo",
            &sent,
            &seen,
            &HostWindow::default(),
        );
        assert_eq!(
            ledger.state,
            invalid("ps_recv 2000, delivered 1000 + ps_drop 0".into())
        );
    }

    proptest! {
        /// Whatever was dropped, duplicated or added on the way, the ledger balances, and the true
        /// share of each stage lies inside what is said.
        #[test]
        fn balances_under_any_fate(
            counted_ring in 0_u64..50, counted_backlog in 0_u64..50, unique in 0_u64..1000,
            warm_ring in 0_u64..20, warm_backlog in 0_u64..20, warm_seen in 0_u64..100,
            duplicate in 0_u64..9, foreign in 0_u64..9, stale in 0_u64..9, others in 0_u64..99,
        ) {
            let copies = Copies { unique, warm_up: warm_seen, duplicate, foreign, stale, ..Copies::default() };
            let ledger = ledger(
                unique + counted_ring + counted_backlog,
                warm_seen + warm_ring + warm_backlog,
                copies,
                counted_ring + warm_ring,
                &window([7, 7 + counted_backlog + warm_backlog + others]),
            );
            prop_assert_eq!(ledger.unexplained, 0);
            // Drops of the other arm and the control port are in the same counter.
            let copies = counted_backlog + warm_backlog;
            let state =
                if copies == 0 { LedgerState::Balanced } else { LedgerState::Ambiguous { copies } };
            prop_assert_eq!(&ledger.state, &state);
            for (stage, truth) in [(Stage::Ring, counted_ring), (Stage::Backlog, counted_backlog)] {
                match ledger.lost_at[&stage] {
                    Some(Share::Count(count)) => prop_assert_eq!(count, truth),
                    Some(Share::Range { min, max }) => prop_assert!((min..=max).contains(&truth)),
                    None => prop_assert!(false, "both counters were read"),
                }
            }
        }
    }
}
