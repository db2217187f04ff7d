//! One connected UDP socket a group and flow: its source port is the flow's.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use socket2::{Domain, Protocol, Socket, Type};
use wiretrial_contract::control::GeneratorPrepare;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::units::{ETHERNET_HEADER, FCS, Family};

use super::sys;
use crate::limits;

/// Send buffer asked for, bytes; the kernel gives less where `net.core.wmem_max` says so. The
/// sockets block when it is full.
const SEND_BUFFER: usize = 4 << 20;
/// Descriptors beside the sockets: standard streams, pipes of the signal handler, files read.
const OTHER_DESCRIPTORS: u64 = 64;

/// The sockets of one `prepare`.
#[derive(Debug)]
pub struct Sockets {
    groups: Vec<Vec<UdpSocket>>,
    sources: Vec<IpAddr>,
}

impl Sockets {
    /// Opens them all. Nothing is sent.
    ///
    /// # Errors
    ///
    /// A source port is taken, a target has no route, is a broadcast address or lies behind an MTU
    /// that `frame_size` exceeds, or the process may not have as many descriptors.
    pub fn open(prepare: &GeneratorPrepare) -> Result<Self, Failure> {
        let flows = prepare
            .groups
            .iter()
            .map(|g| u64::from(g.source_ports.count));
        allow_descriptors(flows.sum::<u64>() + OTHER_DESCRIPTORS);
        let mut sockets = Self {
            groups: Vec::new(),
            sources: Vec::new(),
        };
        for group in &prepare.groups {
            let ports = group.source_ports;
            let family = limits::family(group);
            let of_group = (0..ports.count)
                .map(|flow| open(ports.first + flow, group.target, family))
                .collect::<Result<Vec<_>, _>>()?;
            let first = &of_group[0];
            check_mtu(first, group.target, family, prepare.frame_size)?;
            let source = first.local_addr().map_err(|error| {
                Failure::host(format!("cannot read the address of a socket: {error}"))
            })?;
            sockets.sources.push(source.ip());
            sockets.groups.push(of_group);
        }
        Ok(sockets)
    }

    /// The socket of a flow.
    #[must_use]
    pub fn of(&self, group: usize, flow: u16) -> BorrowedFd<'_> {
        self.groups[group][usize::from(flow)].as_fd()
    }

    /// Source address of each group.
    #[must_use]
    pub fn sources(&self) -> &[IpAddr] {
        &self.sources
    }
}

fn open(port: u16, target: SocketAddr, family: Family) -> Result<UdpSocket, Failure> {
    let (domain, any): (_, IpAddr) = match family {
        Family::Ipv4 => (Domain::IPV4, Ipv4Addr::UNSPECIFIED.into()),
        Family::Ipv6 => (Domain::IPV6, Ipv6Addr::UNSPECIFIED.into()),
    };
    let broken = |error: &dyn std::fmt::Display| {
        Failure::host(format!(
            "cannot make a UDP socket for source port {port}: {error}"
        ))
    };
    let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP)).map_err(|e| broken(&e))?;
    if family == Family::Ipv6 {
        socket.set_only_v6(true).map_err(|e| broken(&e))?;
    }
    socket
        .set_send_buffer_size(SEND_BUFFER)
        .map_err(|e| broken(&e))?;
    sys::forbid_fragments(socket.as_fd(), family).map_err(|e| broken(&e))?;
    socket
        .bind(&SocketAddr::new(any, port).into())
        .map_err(|error| {
            Failure::host(format!(
                "source port {port} cannot be used ({error}); choose free ones"
            ))
        })?;
    socket.connect(&target.into()).map_err(|error| {
        match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::EACCES) => Failure::usage(format!(
                "target {target} is a broadcast address of this host's networks; name one host"
            )),
            _ => Failure::host(format!("target {target} cannot be reached: {error}")),
        }
    })?;
    Ok(socket.into())
}

fn check_mtu(
    socket: &UdpSocket,
    target: SocketAddr,
    family: Family,
    frame_size: u32,
) -> Result<(), Failure> {
    let mtu = sys::route_mtu(socket.as_fd(), family).map_err(|error| {
        Failure::host(format!(
            "cannot read the MTU of the route to {target}: {error}"
        ))
    })?;
    let most = mtu.saturating_add(ETHERNET_HEADER + FCS);
    if frame_size > most {
        return Err(Failure::host(format!(
            "frame-size {frame_size} does not fit the route to {target}: its MTU of {mtu} allows \
             {most}"
        )));
    }
    Ok(())
}

/// Raises the soft limit of open descriptors as far as `wanted` needs and the hard limit lets it.
fn allow_descriptors(wanted: u64) {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < wanted
    {
        // If this fails, opening the sockets says which one was too many.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, wanted.min(hard), hard);
    }
}
