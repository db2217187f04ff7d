//! From the interface to the counts: what is opened for a trial, and the engine that moves frames.

mod counters;
mod direct;
mod watch;

use std::sync::OnceLock;

use nix::ifaddrs::getifaddrs;
use std::net::IpAddr;
use wiretrial_capture::source::{self, Live, LiveSettings};
use wiretrial_contract::control::{ReceiverPrepare, ReceiverReady, SourcePorts};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::report::{ReceiverReport, RingGeometry};
use wiretrial_contract::units::Family;

use crate::failure::of_capture;
use crate::process;
use crate::sink::Sink;

pub use direct::{Start, spawn};

/// Everything that is open for a trial, before its first frame is counted.
#[derive(Debug)]
pub struct Opened {
    /// The capture.
    pub live: Live,
    /// The socket that keeps the port open.
    pub sink: Sink,
    /// What was granted.
    pub ready: ReceiverReady,
}

/// What the capture thread tells the thread that controls it.
#[derive(Debug)]
pub enum Notice {
    /// The first probe datagram came.
    Seen,
    /// It is quiet, the start of all counters is taken, and copies are counted from now on.
    Armed,
    /// Every planned datagram has come.
    Complete,
    /// Drained; the counts.
    Report(Box<ReceiverReport>),
    /// It cannot go on.
    Failed(Failure),
}

/// What the controlling thread tells the capture thread, once. The capture's waker makes it look.
pub type Order = OnceLock<Stop>;

/// Drain, then report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// Counted datagrams the sender's kernel accepted; `None` when nobody said.
    pub accepted: Option<u64>,
}

/// Pins the process, then opens sink and capture.
///
/// # Errors
///
/// A host failure: no such CPU, a port in use, no such interface, no right to capture.
pub fn open(prepare: &ReceiverPrepare) -> Result<Opened, Failure> {
    if let Some(cpu) = prepare.cpu {
        process::pin(cpu)?;
    }
    let sink = Sink::bind(prepare.family, prepare.port)?;
    let filter = filter(prepare.family, prepare.port, prepare.source_ports);
    let capture = &prepare.capture;
    let settings = LiveSettings {
        interface: prepare.interface.clone(),
        buffer_bytes: capture.buffer_bytes,
        immediate: capture.immediate,
        timeout_ms: u32::try_from(capture.timeout_ns / 1_000_000).unwrap_or(u32::MAX),
        snaplen: capture.snaplen,
        promiscuous: capture.promiscuous,
    };
    let live = Live::open(&settings, &filter).map_err(of_capture)?;
    // A kernel without the listing leaves the ring unknown; that is no reason not to capture.
    let ring = live.ring().ok().flatten().map(of_ring);
    let ready = ReceiverReady {
        addresses: addresses(&prepare.interface),
        interface: prepare.interface.clone(),
        link_type: Some(live.link_type().to_string()),
        ring,
        filter,
        cpus: process::cpus()
            .map_err(|error| Failure::host(format!("cannot read the allowed cpus: {error}")))?,
        program: None,
    };
    Ok(Opened { live, sink, ready })
}

/// The capture filter (pcap-filter(7)): our port, our flows, our family, and no direction.
#[must_use]
pub fn filter(family: Family, port: u16, ports: SourcePorts) -> String {
    let family = match family {
        Family::Ipv4 => "ip",
        Family::Ipv6 => "ip6",
    };
    let first = ports.first;
    let source = match ports.count {
        1 => format!("src port {first}"),
        count => format!(
            "src portrange {first}-{}",
            u32::from(first) + u32::from(count) - 1
        ),
    };
    format!("{family} and udp and dst port {port} and {source}")
}

/// A ring as messages say it.
pub(crate) fn of_ring(ring: source::RingGeometry) -> RingGeometry {
    RingGeometry {
        version: ring.version,
        block_bytes: ring.block_bytes,
        blocks: ring.blocks,
        frame_bytes: ring.frame_bytes,
        frames: ring.frames,
        retire_ms: ring.retire_ms,
    }
}

/// The addresses of an interface, in order.
pub(crate) fn addresses(interface: &str) -> Vec<IpAddr> {
    let mut found: Vec<IpAddr> = getifaddrs()
        .into_iter()
        .flatten()
        .filter(|entry| entry.interface_name == interface)
        .filter_map(|entry| {
            let address = entry.address?;
            let v4 = address.as_sockaddr_in().map(|a| IpAddr::from(a.ip()));
            v4.or_else(|| address.as_sockaddr_in6().map(|a| IpAddr::from(a.ip())))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}
