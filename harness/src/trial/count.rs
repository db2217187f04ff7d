//! Where the datagrams of one trial went when only the program's own counts say so.
//!
//! A program of the user's has no list of what it saw. What its ring took is `received - dropped`,
//! since libpcap counts at the entry to the ring, dropped packets included; what is missing of that
//! in `processed` was left in the ring's last block and is not lost. With `processed` alone a tail
//! cannot be told from a loss, so filler datagrams are sent after the counted ones to push it out,
//! and the loss is an interval. Its counts cover its whole life: probes and warm-up are in them.

use std::collections::BTreeMap;

use wiretrial_contract::control::TopologyKind;
use wiretrial_contract::plan::ReceiverSpec;
use wiretrial_contract::program::CountName;
use wiretrial_contract::record::{HostWindow, Ledger, LedgerState, Stage};
use wiretrial_contract::report::{CountReport, GroupTally};

use super::drops::{BeforeRing, share, signed};

/// Filler datagrams that are sent when a program says only what it processed: more than one block of
/// a TPACKET_V3 ring holds of the smallest frames (libpcap's blocks are 256 KiB, a frame takes at
/// least 112 bytes of it).
pub const FILLER: u64 = 4_096;

/// Whether a receiver's program says what it processed, and not what its ring took.
#[must_use]
pub fn needs_filler(receiver: &ReceiverSpec) -> bool {
    receiver.outside().is_some_and(|program| {
        let says = |name| program.counts.contains_key(&name);
        says(CountName::Processed) && !(says(CountName::Received) && says(CountName::Dropped))
    })
}

/// The ledger of one trial of a program of the user's. A program that says nothing has none: what it
/// lost is unknown.
#[must_use]
pub fn of_trial(
    topology: TopologyKind,
    sent: &GroupTally,
    seen: &CountReport,
    host: &HostWindow,
) -> Option<Ledger> {
    let counts = &seen.counts;
    // Probes are sent when its socket is open, so they are in its counts.
    let copies_in = sent.all_accepted();
    let (taken, tail) = match (counts.received, counts.dropped, counts.processed) {
        (Some(received), Some(dropped), processed) => {
            let taken = received.saturating_sub(dropped);
            (
                taken,
                processed.map(|processed| taken.saturating_sub(processed)),
            )
        }
        (_, _, processed) => (processed?, None),
    };
    let missing = signed(copies_in).saturating_sub(signed(taken));
    let gone = missing.max(0).unsigned_abs();
    // What it does not say was dropped may sit in its ring's tail, unless what the ring took is known.
    let surely = match (counts.received, counts.dropped) {
        (Some(_), Some(_)) => gone,
        (None, Some(dropped)) => dropped.min(gone),
        // Filler was sent to push the tail out; as much of it may be left in the ring.
        (_, None) => gone,
    };
    let most = gone.min(sent.accepted);
    // Of what is missing, warm-up and filler may be any part. The few probes are not: the first is
    // waited for, and the rest meet an empty ring.
    let uncounted = sent.warm_up_accepted.saturating_add(sent.filler_accepted);
    let least = surely.saturating_sub(uncounted).min(sent.accepted);
    let ring = counts.dropped;
    // What is missing before its ring may lie in a counter that others share.
    let before_ring = missing.saturating_sub(signed(ring.unwrap_or(0)));
    let before = BeforeRing::of(topology, topology.interface(), host);
    let shared = before.within(before_ring.max(0).unsigned_abs());
    let unexplained = before_ring.saturating_sub(signed(shared.total()));
    let state = if missing < 0 {
        LedgerState::Invalid {
            cause: format!("the program counted {taken} packets, {copies_in} were sent"),
        }
    } else if unexplained > 0 {
        LedgerState::Unexplained {
            copies: unexplained.unsigned_abs(),
        }
    } else if unexplained < 0 || shared.total() > 0 {
        LedgerState::Ambiguous {
            copies: unexplained.unsigned_abs().max(shared.total()),
        }
    } else {
        LedgerState::Balanced
    };
    let mut dropped = BTreeMap::from([(Stage::Ring, ring)]);
    let sure = |count: u64| share(count.min(least), count, most);
    let mut lost_at = BTreeMap::from([(Stage::Ring, ring.map(sure))]);
    for (stage, count) in shared.stages(topology) {
        dropped.insert(stage, count);
    }
    for (stage, count) in before.stages(topology) {
        lost_at.insert(stage, count.map(|count| share(0, count.min(gone), most)));
    }
    Some(Ledger {
        accepted: sent.accepted,
        unique: sent.accepted - most,
        lost: signed(most),
        lost_least: (least < most).then_some(least),
        ring_tail: tail,
        copies_in,
        copies_delivered: taken,
        dropped,
        lost_at,
        unexplained,
        ring_check: None,
        state,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::samples;
    use std::collections::BTreeMap;
    use wiretrial_contract::program::Counts;
    use wiretrial_contract::record::{HostCounters, Share};

    /// 20,000 counted, 4,000 of warm-up and 16 probes sent.
    fn ledger(counts: Counts, filler: u64) -> Option<Ledger> {
        let sent = GroupTally {
            filler_accepted: filler,
            ..samples::tally()
        };
        let seen = CountReport {
            counts,
            ..samples::count()
        };
        of_trial(TopologyKind::Loopback, &sent, &seen, &HostWindow::default())
    }

    #[test]
    fn all_received_and_none_dropped_is_nothing_lost() {
        let ledger = ledger(
            Counts {
                received: Some(24_016),
                dropped: Some(0),
                processed: Some(24_016),
                ..Counts::default()
            },
            0,
        )
        .unwrap();
        assert_eq!((ledger.lost, ledger.lost_least), (0, None));
        assert_eq!((ledger.ring_tail, ledger.unexplained), (Some(0), 0));
        assert_eq!(ledger.state, LedgerState::Balanced);
    }

    /// The published case: softflowd reads without a time limit and leaves its last block unread.
    #[test]
    fn what_is_left_in_the_ring_is_not_lost() {
        let ledger = ledger(
            Counts {
                received: Some(24_016),
                dropped: Some(0),
                processed: Some(22_720),
                ..Counts::default()
            },
            0,
        )
        .unwrap();
        assert_eq!((ledger.lost, ledger.ring_tail), (0, Some(1_296)));
        assert_eq!(ledger.state, LedgerState::Balanced);
    }

    #[test]
    fn dropped_packets_may_be_of_the_warm_up() {
        let ledger = ledger(
            Counts {
                received: Some(24_016),
                dropped: Some(5_000),
                processed: Some(19_016),
                ..Counts::default()
            },
            0,
        )
        .unwrap();
        assert_eq!((ledger.lost, ledger.lost_least), (5_000, Some(1_000)));
        assert_eq!(
            ledger.lost_at[&Stage::Ring],
            Some(Share::Range {
                min: 1_000,
                max: 5_000
            })
        );
        assert_eq!((ledger.unique, ledger.unexplained), (15_000, 0));
    }

    #[test]
    fn with_processed_alone_the_loss_is_an_interval() {
        let counts = |processed| Counts {
            processed: Some(processed),
            ..Counts::default()
        };
        let all = ledger(counts(28_112), FILLER).unwrap();
        assert_eq!((all.lost, all.lost_least), (0, None));
        let tail = ledger(counts(26_112), FILLER).unwrap();
        assert_eq!((tail.lost, tail.lost_least), (2_000, Some(0)));
        let lost = ledger(counts(10_000), FILLER).unwrap();
        assert_eq!((lost.lost, lost.lost_least), (18_112, Some(10_016)));
    }

    /// A stall of the receiving thread fills the queue of the wire, which only its sending end counts.
    #[test]
    fn what_the_wire_dropped_is_explained() {
        let at = |dropped| HostCounters {
            sender_links: BTreeMap::from([(
                "wts0".to_owned(),
                BTreeMap::from([("tx_dropped".to_owned(), dropped)]),
            )]),
            ..HostCounters::default()
        };
        let host = HostWindow {
            start: at(5),
            end: at(34),
            foreign_cpu_ns: None,
        };
        let seen = CountReport {
            counts: Counts {
                received: Some(24_001),
                dropped: Some(0),
                processed: Some(24_001),
                ..Counts::default()
            },
            ..samples::count()
        };
        let ledger = of_trial(TopologyKind::Wire, &samples::tally(), &seen, &host).unwrap();
        assert_eq!((ledger.lost, ledger.lost_least), (15, Some(0)));
        assert_eq!(
            (ledger.unexplained, ledger.dropped[&Stage::Link]),
            (0, Some(15))
        );
        assert_eq!(ledger.state, LedgerState::Ambiguous { copies: 15 });
    }

    /// As dumpcap says it: its own count, and what the ring dropped.
    #[test]
    fn beside_processed_only_what_was_dropped_is_surely_lost() {
        let counts = |processed, dropped| Counts {
            processed: Some(processed),
            dropped: Some(dropped),
            ..Counts::default()
        };
        let all = ledger(counts(28_112, 0), FILLER).unwrap();
        assert_eq!((all.lost, all.lost_least, all.unexplained), (0, None, 0));
        let tail = ledger(counts(27_112, 0), FILLER).unwrap();
        assert_eq!((tail.lost, tail.lost_least), (1_000, Some(0)));
        let dropped = ledger(counts(18_112, 10_000), FILLER).unwrap();
        assert_eq!((dropped.lost, dropped.lost_least), (10_000, Some(1_904)));
        assert_eq!(dropped.unexplained, 0);
    }

    #[test]
    fn what_the_ring_took_takes_both_counts() {
        let says = |names: &[CountName]| {
            let counts = names.iter().map(|name| {
                let source = wiretrial_contract::program::CountSource::Stdout("(x)".into());
                (*name, source)
            });
            ReceiverSpec {
                program: wiretrial_contract::plan::Measured::Outside(
                    wiretrial_contract::program::ProgramSpec {
                        counts: counts.collect(),
                        ..Default::default()
                    },
                ),
                drain_limit_ns: 0,
            }
        };
        use CountName::{Dropped, Processed, Received};
        assert!(needs_filler(&says(&[Processed])));
        assert!(needs_filler(&says(&[Processed, Received])));
        assert!(needs_filler(&says(&[Processed, Dropped])));
        assert!(!needs_filler(&says(&[Processed, Received, Dropped])));
        assert!(!needs_filler(&says(&[])));
    }

    #[test]
    fn a_program_that_says_nothing_has_no_ledger() {
        assert_eq!(ledger(Counts::default(), 0), None);
    }

    #[test]
    fn more_than_was_sent_is_invalid() {
        let ledger = ledger(
            Counts {
                processed: Some(24_017),
                ..Counts::default()
            },
            0,
        )
        .unwrap();
        assert_eq!(
            ledger.state,
            LedgerState::Invalid {
                cause: "the program counted 24017 packets, 24016 were sent".into()
            }
        );
    }
}
