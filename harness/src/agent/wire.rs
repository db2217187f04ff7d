//! The link of topology `wire`: a pair of virtual Ethernet interfaces between the sender's and the
//! receiver's network namespace, with nothing on it but what the generator sends.
//!
//! Addresses are fixed, neighbours are permanent, and both ends have `arp off`: without address
//! resolution IPv6 joins no solicited-node group and asks for no router, so no frame is ever sent
//! that somebody did not ask for.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use wiretrial_contract::control::{Made, ReceiveCpu, Steering, TopologyKind};
use wiretrial_contract::units::Family;

use super::namespaces::Sender;
use super::nursery::Nursery;
use super::programs::{self, Place};
use super::proof;
use super::steering;
use super::sys::ethtool;

/// The interface that is captured on.
pub(super) const RECEIVER: &str = TopologyKind::Wire.interface();
/// The sender's interface.
const SENDER: &str = match TopologyKind::Wire.sender_interface() {
    Some(name) => name,
    None => panic!("a wire has two ends"),
};
/// Addresses of both ends, locally administered (IEEE 802, the second bit of the first byte).
const RECEIVER_MAC: &str = "02:57:54:00:00:02";
const SENDER_MAC: &str = "02:57:54:00:00:01";

/// The pair, as `ip` makes it.
const PAIR: [&str; 12] = [
    "link",
    "add",
    SENDER,
    "address",
    SENDER_MAC,
    "type",
    "veth",
    "peer",
    "name",
    RECEIVER,
    "address",
    RECEIVER_MAC,
];
/// Segmentation offloads of the sending end: with any of TCP's on, veth does not poll for the frames
/// of a plain socket (drivers/net/veth.c, `veth_skb_is_eligible_for_gro`); with UDP's, taps would see
/// one frame for many datagrams.
const SENDER_FEATURES: [(&str, bool); 6] = [
    ("tx-tcp-segmentation", false),
    ("tx-tcp-ecn-segmentation", false),
    ("tx-tcp-mangleid-segmentation", false),
    ("tx-tcp6-segmentation", false),
    ("tx-generic-segmentation", false),
    ("tx-udp-segmentation", false),
];

/// A wire that stands.
#[derive(Debug)]
pub(super) struct Wire {
    sender: Sender,
    keep_rights: bool,
    made: Made,
}

impl Wire {
    /// Joins this process's network namespace and `sender` and moves the receive work where
    /// `receive_cpu` says; `cpus` are those allowed to this process, ascending. With `keep_rights`
    /// programs get the network capabilities of this process although its user is not root.
    ///
    /// # Errors
    ///
    /// One sentence: what cannot be had and what to do.
    pub(super) fn make(
        sender: Sender,
        keep_rights: bool,
        receive_cpu: ReceiveCpu,
        cpus: &[u32],
    ) -> Result<Self, String> {
        let mut wire = Self {
            made: Made {
                sender_namespace: Some(sender.descriptor()),
                ..Made::default()
            },
            sender,
            keep_rights,
        };
        quiet_ipv6();
        wire.sender.within(quiet_ipv6)?;
        match receive_cpu {
            ReceiveCpu::Sender => {
                wire.add()?;
                wire.set_up(false)?;
                proof::arrives(&wire.sender)?;
            }
            ReceiveCpu::Separate => wire.separate(cpus)?,
        }
        Ok(wire)
    }

    /// What it came to be.
    pub(super) fn made(&self) -> Made {
        self.made
    }

    /// The sender's namespace.
    pub(super) fn sender(&self) -> &Sender {
        &self.sender
    }

    fn separate(&mut self, cpus: &[u32]) -> Result<(), String> {
        let [sender, .., receiver] = cpus[..] else {
            return Err(refusal("it takes two CPUs, and this process may use one"));
        };
        let away = proof::Away::to(sender);
        let threaded = match self.threaded_napi(receiver) {
            Ok(thread) => {
                self.made.steering = Some(Steering::ThreadedNapi);
                self.made.receive_thread = Some(thread);
                return Ok(());
            }
            Err(why) => why,
        };
        self.cut();
        let steered = self.packet_steering(receiver);
        drop(away);
        steered.map_err(|why| {
            refusal(&format!(
                "threaded NAPI: {threaded}; receive packet steering: {why}"
            ))
        })?;
        self.made.steering = Some(Steering::Rps);
        Ok(())
    }

    /// The kernel thread that polls the receiver's end, proven by what it did.
    fn threaded_napi(&self, cpu: u32) -> Result<u32, String> {
        let before = steering::threads();
        self.add()?;
        self.set_up(true)?;
        if let Err(refused) = steering::start_thread(Path::new("/sys/class/net")) {
            self.cut();
            self.add_threaded()
                .map_err(|why| format!("{refused}, and {why}"))?;
            self.set_up(true)?;
        }
        let new = steering::new_threads(&before)?;
        let thread = proof::by_threads(&self.sender, &new)?;
        // Only root may; the harness reads back where it runs.
        let _ = steering::pin(thread, cpu);
        Ok(thread)
    }

    fn packet_steering(&self, cpu: u32) -> Result<(), String> {
        // Only the real root may change a queue that is there; the default of queues to come is the
        // namespace's own.
        steering::set_default_mask(cpu)?;
        self.add()?;
        self.set_up(false)?;
        proof::by_steering(&self.sender, cpu)
    }

    /// Makes the pair, an end in each namespace.
    fn add(&self) -> Result<(), String> {
        let agent = std::process::id().to_string();
        let mut words = PAIR.to_vec();
        words.extend(["netns", &agent]);
        self.there(&words)
    }

    /// The same with a thread that polls the receiver's end, where this process may not ask for one.
    fn add_threaded(&self) -> Result<(), String> {
        let nursery = Nursery::open(&owned(&PAIR))?;
        let agent = std::process::id().to_string();
        let bring = |interface: &str| {
            let words = owned(&["link", "set", interface, "netns", &agent]);
            self.ip(Some(nursery.as_fd()), &words)
        };
        bring(RECEIVER)?;
        self.sender.within(|| bring(SENDER))?
    }

    /// Sets the pair up. With `poll` the receiver's end has a NAPI instance: veth makes one for `gro
    /// on` (drivers/net/veth.c, `veth_set_features`).
    fn set_up(&self, poll: bool) -> Result<(), String> {
        let offloads = |error| format!("cannot set the offloads of the wire: {error}");
        self.sender
            .within(|| ethtool::set_features(SENDER, &SENDER_FEATURES))?
            .map_err(offloads)?;
        let gro = [
            ("rx-gro", poll),
            ("rx-gro-list", false),
            ("rx-udp-gro-forwarding", false),
        ];
        ethtool::set_features(RECEIVER, &gro).map_err(offloads)?;
        self.here(&["link", "set", RECEIVER, "arp", "off", "up"])?;
        self.there(&["link", "set", SENDER, "arp", "off", "up"])?;
        for family in [Family::Ipv4, Family::Ipv6] {
            if family == Family::Ipv6 && !Path::new("/proc/sys/net/ipv6").exists() {
                continue;
            }
            let (receiver, sender) = addresses(family);
            let (prefix, checked) = match family {
                Family::Ipv4 => (30, None),
                Family::Ipv6 => (126, Some("nodad")),
            };
            let add = |address: &str, interface: &str| -> Vec<String> {
                let address = format!("{address}/{prefix}");
                let words = ["address", "add", &address, "dev", interface];
                words.into_iter().chain(checked).map(String::from).collect()
            };
            self.ip(None, &add(&receiver, RECEIVER))?;
            self.ip(Some(self.sender.as_fd()), &add(&sender, SENDER))?;
            self.here(&neighbour(&sender, SENDER_MAC, RECEIVER))?;
            self.there(&neighbour(&receiver, RECEIVER_MAC, SENDER))?;
        }
        Ok(())
    }

    /// Removes the pair, if it was made.
    fn cut(&self) {
        let _ = self.here(&["link", "delete", RECEIVER]);
    }

    fn here(&self, words: &[&str]) -> Result<(), String> {
        self.ip(None, &owned(words))
    }

    fn there(&self, words: &[&str]) -> Result<(), String> {
        self.ip(Some(self.sender.as_fd()), &owned(words))
    }

    fn ip(&self, network: Option<BorrowedFd<'_>>, arguments: &[String]) -> Result<(), String> {
        let place = Place {
            keep_rights: self.keep_rights,
            network,
        };
        programs::succeed("ip", arguments, place).map_err(|error| {
            format!("cannot make the wire, which takes ip(8) of package iproute2: {error}")
        })
    }
}

fn refusal(why: &str) -> String {
    format!(
        "the receive work cannot be moved off the sender's CPU ({why}); it stays there with --set \
         topology.receive-cpu=sender"
    )
}

fn addresses(family: Family) -> (String, String) {
    let wire = TopologyKind::Wire;
    (
        wire.receiver_address(family).to_string(),
        wire.sender_address(family).to_string(),
    )
}

fn neighbour<'a>(address: &'a str, mac: &'a str, interface: &'a str) -> [&'a str; 9] {
    [
        "neighbour",
        "replace",
        address,
        "lladdr",
        mac,
        "nud",
        "permanent",
        "dev",
        interface,
    ]
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Keeps IPv6 from sending anything by itself on interfaces that come (ip-sysctl of the kernel's
/// documentation). Where a setting cannot be written `arp off` still silences it.
fn quiet_ipv6() {
    const SETTINGS: [(&str, &str); 6] = [
        ("disable_ipv6", "0"),
        ("accept_dad", "0"),
        ("accept_ra", "0"),
        ("autoconf", "0"),
        ("router_solicitations", "0"),
        // IN6_ADDR_GEN_MODE_NONE: no link-local address.
        ("addr_gen_mode", "1"),
    ];
    for (name, value) in SETTINGS {
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/default/{name}"), value);
    }
}
