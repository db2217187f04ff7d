//! Where the datagrams of one trial went.
//!
//! Two identities. Sets decide: accepted = unique + lost, by number, exactly. Copies explain:
//! what went in from armed to the end of the drain equals what was delivered plus what each stage
//! dropped. Pure: counts in, ledger out. Every counter is a delta at its own width.

use std::collections::BTreeMap;

use wiretrial_contract::control::TopologyKind;
use wiretrial_contract::record::{Delivery, HostWindow, Ledger, LedgerState, RingCheck, Stage};
use wiretrial_contract::report::{GroupTally, ReceiverReport};

use super::count;
use super::drops::{BeforeRing, share, signed};

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
        Delivery::Count(seen) => count::of_trial(topology, sent, seen, host),
        Delivery::Passes(_) => None,
    }
}

/// The ledger of one trial of the built-in receiver.
#[must_use]
pub fn of_trial(
    topology: TopologyKind,
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
    let before = BeforeRing::of(topology, interface, host);
    let shared = before.within(missing.max(0).unsigned_abs());
    let unexplained = missing.saturating_sub(signed(shared.total()));
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
        LedgerState::Balanced if shared.total() > 0 => LedgerState::Ambiguous {
            copies: shared.total(),
        },
        state => state,
    };
    let lost_count = lost.max(0).unsigned_abs();
    let mut dropped = BTreeMap::from([(Stage::Ring, ring)]);
    let mut lost_at = BTreeMap::from([(
        Stage::Ring,
        ring.map(|count| share(count.saturating_sub(hidden), count, lost_count)),
    )]);
    // Stages this topology does not have are left out; a counter that could not be read is null.
    for (stage, count) in shared.stages(topology) {
        dropped.insert(stage, count);
    }
    let most = missing.max(0).unsigned_abs();
    for (stage, count) in before.stages(topology) {
        lost_at.insert(
            stage,
            count.map(|count| share(0, count.min(most), lost_count)),
        );
    }
    Ledger {
        accepted: sent.accepted,
        unique: copies.unique,
        lost,
        lost_least: None,
        ring_tail: None,
        copies_in,
        copies_delivered,
        dropped,
        lost_at,
        unexplained,
        ring_check,
        state,
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
    use wiretrial_contract::record::{HostCounters, Share};
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
        ledger_on(
            TopologyKind::Loopback,
            [accepted, warm_up],
            copies,
            drop,
            host,
        )
    }

    fn ledger_on(
        topology: TopologyKind,
        [accepted, warm_up]: [u64; 2],
        copies: Copies,
        drop: u64,
        host: &HostWindow,
    ) -> Ledger {
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
        of_trial(topology, topology.interface(), &sent, &seen, host)
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

    /// Deltas on a wire: the sender's tx_dropped, the receiver's rx_dropped, softnet's dropped.
    fn wire(tx: u64, rx: u64, softnet: u64) -> HostWindow {
        let link = |name: &str, statistic: &str, value| {
            BTreeMap::from([(
                name.to_owned(),
                BTreeMap::from([(statistic.to_owned(), value)]),
            )])
        };
        let at = |tx, rx, softnet| HostCounters {
            links: link("wtr0", "rx_dropped", rx),
            sender_links: link("wts0", "tx_dropped", tx),
            softnet: BTreeMap::from([("dropped".to_owned(), softnet)]),
            ..HostCounters::default()
        };
        HostWindow {
            start: at(3, 5, 7),
            end: at(3 + tx, 5 + rx, 7 + softnet),
            foreign_cpu_ns: None,
        }
    }

    fn wire_ledger(accepted: u64, copies: Copies, drop: u64, host: &HostWindow) -> Ledger {
        ledger_on(TopologyKind::Wire, [accepted, 0], copies, drop, host)
    }

    fn unique(unique: u64) -> Copies {
        Copies {
            unique,
            ..Copies::default()
        }
    }

    #[test]
    fn one_drop_of_the_backlog_in_three_counters_is_one_loss() {
        let ledger = wire_ledger(1000, unique(960), 0, &wire(40, 40, 40));
        assert_eq!((ledger.lost, ledger.unexplained), (40, 0));
        assert_eq!(ledger.dropped[&Stage::Backlog], Some(40));
        assert_eq!(ledger.dropped[&Stage::Link], Some(0));
        assert_eq!(ledger.lost_at[&Stage::Link], Some(Share::Count(0)));
    }

    #[test]
    fn a_full_queue_of_a_polled_end_is_the_links() {
        let ledger = wire_ledger(1000, unique(950), 10, &wire(40, 0, 6));
        assert_eq!((ledger.lost, ledger.unexplained), (50, 0));
        assert_eq!(ledger.dropped[&Stage::Link], Some(40));
        assert_eq!(ledger.dropped[&Stage::Backlog], Some(0));
        assert_eq!(ledger.dropped[&Stage::Ring], Some(10));
        assert_eq!(
            ledger.lost_at[&Stage::Link],
            Some(Share::Range { min: 0, max: 40 })
        );
        assert_eq!(ledger.state, LedgerState::Ambiguous { copies: 40 });
    }

    #[test]
    fn drops_of_others_are_not_this_arms() {
        let clean = wire_ledger(1000, unique(1000), 0, &wire(70, 30, 30));
        assert_eq!(clean.state, LedgerState::Balanced);
        let some = wire_ledger(1000, unique(950), 0, &wire(70, 30, 30));
        assert_eq!(some.unexplained, 0);
        let total: u64 = some.dropped.values().flatten().sum();
        assert_eq!(total, 50);
        assert_eq!(
            some.lost_at[&Stage::Backlog],
            Some(Share::Range { min: 0, max: 30 })
        );
    }

    #[test]
    fn without_the_senders_counters_its_drops_are_null() {
        let mut host = wire(40, 0, 0);
        host.end.sender_links.clear();
        let ledger = wire_ledger(1000, unique(960), 0, &host);
        assert_eq!(ledger.dropped[&Stage::Link], None);
        assert_eq!(ledger.lost_at[&Stage::Link], None);
        assert_eq!(ledger.state, LedgerState::Unexplained { copies: 40 });
    }

    #[test]
    fn loopback_has_no_link() {
        let ledger = ledger(1000, 0, unique(1000), 0, &window([0, 0]));
        assert!(!ledger.dropped.contains_key(&Stage::Link));
        assert!(!ledger.lost_at.contains_key(&Stage::Link));
    }

    proptest! {
        /// On a wire too, wherever frames were dropped, mine or those of others.
        #[test]
        fn a_wire_balances_under_any_fate(
            link in 0_u64..50, backlog in 0_u64..50, ring in 0_u64..50, seen in 0_u64..1000,
            others_link in 0_u64..50, others_backlog in 0_u64..50,
            unwanted in 0_u64..9, elsewhere in 0_u64..9,
        ) {
            let in_backlog = backlog + others_backlog;
            let host = wire(link + others_link + in_backlog, in_backlog + unwanted, in_backlog + elsewhere);
            let ledger = wire_ledger(seen + link + backlog + ring, unique(seen), ring, &host);
            prop_assert_eq!(ledger.unexplained, 0);
            let dropped: u64 = ledger.dropped.values().flatten().sum();
            prop_assert_eq!(dropped, link + backlog + ring);
            for (stage, truth) in [(Stage::Ring, ring), (Stage::Link, link), (Stage::Backlog, backlog)] {
                // What nobody wanted can hide in the backlog's bound, and then is the link's.
                let slack = if stage == Stage::Link { unwanted.min(elsewhere) } else { 0 };
                match ledger.lost_at[&stage] {
                    Some(Share::Count(count)) => prop_assert!(count.abs_diff(truth) <= slack),
                    Some(Share::Range { min, max }) => prop_assert!(min <= truth && truth <= max + slack),
                    None => prop_assert!(false, "all counters were read"),
                }
            }
        }

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
