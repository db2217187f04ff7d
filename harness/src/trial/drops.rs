//! Drops in front of every ring: counters that both arms and the control port share.

use std::collections::BTreeMap;

use wiretrial_contract::control::TopologyKind;
use wiretrial_contract::record::{HostCounters, HostWindow, Share, Stage};

/// Drops in front of every ring, which the arms and the control port share; `None` where a counter
/// could not be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct BeforeRing {
    link: Option<u64>,
    backlog: Option<u64>,
}

impl BeforeRing {
    /// What a full per-CPU backlog dropped, and what a wire did. The kernel counts a backlog's drop
    /// in the device's rx_dropped (64 bits), where frames that no protocol wanted are counted too,
    /// and in softnet_stat (32 bits, machine-wide); neither can be below the truth, so the smaller
    /// one bounds it.
    ///
    /// On a wire the sending end counts every frame that its peer did not take in its tx_dropped
    /// (drivers/net/veth.c, `veth_xmit`): a full queue of a polled peer, which nothing else counts,
    /// and a full backlog behind one that is not polled, which `netif_rx` has reported to it. So a
    /// backlog's drop is one loss in three counters, the smallest of which bounds it, and the rest
    /// of tx_dropped is the link's.
    pub(super) fn of(topology: TopologyKind, interface: &str, host: &HostWindow) -> Self {
        let link_delta = |links: fn(&HostCounters) -> &Links, link: &str, name: &str| {
            let of = |counters| links(counters).get(link)?.get(name).copied();
            Some(of(&host.end)?.wrapping_sub(of(&host.start)?))
        };
        let of_machine = |counters: &HostCounters| counters.softnet.get("dropped").copied();
        let machine = of_machine(&host.end).zip(of_machine(&host.start));
        let machine = machine.map(|(end, start)| end.wrapping_sub(start) & u64::from(u32::MAX));
        let received = link_delta(|counters| &counters.links, interface, "rx_dropped");
        let sent = (topology.sender_interface())
            .and_then(|end| link_delta(|counters| &counters.sender_links, end, "tx_dropped"));
        let bounds = [received, machine, sent].into_iter().flatten();
        let backlog = received.and(bounds.min());
        Self {
            link: sent.map(|sent| sent - backlog.unwrap_or(0)),
            backlog,
        }
    }

    /// As much of them as can be `missing`; the link's come first, where both had some.
    pub(super) fn within(self, missing: u64) -> Self {
        let link = self.link.map(|count| count.min(missing));
        let left = missing - link.unwrap_or(0);
        Self {
            link,
            backlog: self.backlog.map(|count| count.min(left)),
        }
    }

    pub(super) fn total(self) -> u64 {
        self.link
            .unwrap_or(0)
            .saturating_add(self.backlog.unwrap_or(0))
    }

    /// Those that `topology` has.
    pub(super) fn stages(
        self,
        topology: TopologyKind,
    ) -> impl Iterator<Item = (Stage, Option<u64>)> {
        let link = match topology {
            TopologyKind::Loopback => None,
            TopologyKind::Wire => Some((Stage::Link, self.link)),
        };
        link.into_iter().chain([(Stage::Backlog, self.backlog)])
    }
}

/// Statistics of links by interface and name.
type Links = BTreeMap<String, BTreeMap<String, u64>>;

/// Between `min` and `max` of the `lost`.
pub(super) fn share(min: u64, max: u64, lost: u64) -> Share {
    let (min, max) = (min.min(lost), max.min(lost));
    if min == max {
        Share::Count(min)
    } else {
        Share::Range { min, max }
    }
}

/// Beyond 2^63 lies no count that a generator's caps allow; evidence may say anything, and a number
/// that large breaks an identity wherever it stands.
pub(super) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
