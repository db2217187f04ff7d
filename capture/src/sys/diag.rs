//! Packet sockets and their rings as the kernel made them, through `NETLINK_SOCK_DIAG` (sock_diag(7)).
//!
//! libpcap shrinks a ring without saying so when memory is short, and rounds it to blocks; the
//! kernel's own listing is the only outside view. Layouts are those of linux/packet_diag.h,
//! linux/sock_diag.h and linux/netlink.h, all in the host's byte order.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto,
    setsockopt, socket, sockopt,
};
use nix::sys::stat::fstat;
use nix::sys::time::{TimeVal, TimeValLike};

use crate::source::RingGeometry;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST_DUMP: u16 = 0x1 | 0x300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const HEADER: usize = 16;
const DIAG_MESSAGE: usize = 16;
/// Information, ring and filter.
const SHOW: u32 = 0x1 | 0x4 | 0x20;
const ATTRIBUTE_INFO: u16 = 0;
const ATTRIBUTE_RX_RING: u16 = 2;
const ATTRIBUTE_FILTER: u16 = 7;
/// Replies read before giving up; a reply holds many sockets.
const MOST_REPLIES: usize = 1024;

/// A packet socket of any process, as the kernel lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketSocket {
    /// Its inode: what `/proc/PID/fd` of its holder points to.
    pub inode: u32,
    /// The Ethernet protocol it takes, such as 3 for all; 0 while it takes nothing.
    pub protocol: u16,
    /// Index of the interface it is bound to; 0 for all of them.
    pub interface: Option<u32>,
    /// Its receive ring, when it has one.
    pub ring: Option<RingGeometry>,
    /// Bytes of its classic filter; 0 without one, and for callers that may not see it.
    pub filter_bytes: usize,
}

/// The receive ring of a packet socket of this network namespace, or `None` when it has none.
///
/// # Errors
///
/// Netlink or its packet module is not there, or gave no answer within a second.
pub(crate) fn ring_of(packet_socket: BorrowedFd<'_>) -> io::Result<Option<RingGeometry>> {
    let inode = u32::try_from(fstat(packet_socket)?.st_ino).map_err(io::Error::other)?;
    let sockets = packet_sockets()?;
    let ours = sockets.into_iter().find(|socket| socket.inode == inode);
    Ok(ours.and_then(|socket| socket.ring))
}

/// All packet sockets of the calling thread's network namespace, whoever holds them.
///
/// # Errors
///
/// Netlink or its packet module is not there, or gave no answer within a second.
pub fn packet_sockets() -> io::Result<Vec<PacketSocket>> {
    let netlink = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkSockDiag,
    )?;
    setsockopt(&netlink, sockopt::ReceiveTimeout, &TimeVal::seconds(1))?;
    let fd = netlink.as_raw_fd();
    sendto(fd, &request(), &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
    let mut buffer = vec![0_u8; 32 << 10];
    let mut found = Vec::new();
    for _ in 0..MOST_REPLIES {
        let length = recv(fd, &mut buffer, MsgFlags::empty())?;
        if read_reply(&buffer[..length], &mut found)? {
            return Ok(found);
        }
    }
    Err(io::Error::other("sock_diag did not end its answer"))
}

/// A dump request for all packet sockets, with their information and rings.
fn request() -> Vec<u8> {
    let mut out = Vec::with_capacity(36);
    out.extend(36_u32.to_ne_bytes());
    out.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    out.extend(NLM_F_REQUEST_DUMP.to_ne_bytes());
    out.extend([0; 8]); // sequence, port: the kernel's answer needs neither
    out.extend([AddressFamily::Packet as u8, 0, 0, 0]);
    out.extend([0; 4]); // inode: a dump ignores it
    out.extend(SHOW.to_ne_bytes());
    out.extend([0; 8]); // cookie
    out
}

/// Reads the messages of one datagram; true when the dump has ended.
fn read_reply(mut bytes: &[u8], found: &mut Vec<PacketSocket>) -> io::Result<bool> {
    while let Some(length) = u32_at(bytes, 0) {
        let length = length as usize;
        let (Some(kind), Some(message)) = (u16_at(bytes, 4), bytes.get(HEADER..length)) else {
            return Err(io::Error::other("sock_diag sent a broken message"));
        };
        match kind {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => {
                let code = u32_at(message, 0).map_or(0, u32::cast_signed);
                return Err(io::Error::from_raw_os_error(-code));
            }
            SOCK_DIAG_BY_FAMILY => found.extend(read_socket(message)),
            _ => {}
        }
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
    }
    Ok(false)
}

fn read_socket(message: &[u8]) -> Option<PacketSocket> {
    let mut socket = PacketSocket {
        inode: u32_at(message, 4)?,
        protocol: u16_at(message, 2)?,
        interface: None,
        ring: None,
        filter_bytes: 0,
    };
    let mut version = None;
    let mut ring = None;
    let mut attributes = message.get(DIAG_MESSAGE..)?;
    while let (Some(length), Some(kind)) = (u16_at(attributes, 0), u16_at(attributes, 2)) {
        let length = usize::from(length);
        let value = attributes.get(4..length)?;
        match kind {
            ATTRIBUTE_INFO => {
                socket.interface = u32_at(value, 0);
                version = u32_at(value, 4);
            }
            ATTRIBUTE_RX_RING => ring = Some(value),
            ATTRIBUTE_FILTER => socket.filter_bytes = value.len(),
            _ => {}
        }
        attributes = attributes.get(aligned(length)..).unwrap_or_default();
    }
    socket.ring = ring.and_then(|ring| read_ring(ring, version?));
    Some(socket)
}

fn read_ring(ring: &[u8], version: u32) -> Option<RingGeometry> {
    Some(RingGeometry {
        version: version + 1,
        block_bytes: u32_at(ring, 0)?,
        blocks: u32_at(ring, 4)?,
        frame_bytes: u32_at(ring, 8)?,
        frames: u32_at(ring, 12)?,
        retire_ms: u32_at(ring, 16)?,
    })
}

/// Netlink messages and attributes start at multiples of four bytes.
const fn aligned(length: usize) -> usize {
    (length + 3) & !3
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, words: &[u32]) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(u16::try_from(4 + 4 * words.len()).unwrap().to_ne_bytes());
        out.extend(kind.to_ne_bytes());
        out.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        out
    }

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(u32::try_from(HEADER + body.len()).unwrap().to_ne_bytes());
        out.extend(kind.to_ne_bytes());
        out.extend([0; 10]);
        out.extend(body);
        out
    }

    fn socket_message(inode: u32, attributes: &[u8]) -> Vec<u8> {
        let mut body = vec![17, 3, 0, 3];
        body.extend(inode.to_ne_bytes());
        body.extend([0; 8]);
        body.extend(attributes);
        message(SOCK_DIAG_BY_FAMILY, &body)
    }

    #[test]
    fn the_ring_of_our_inode_is_found_among_others() {
        let ours = [
            attribute(ATTRIBUTE_INFO, &[1, 2, 0, 0, 0, 0]),
            attribute(5, &[0]),
            attribute(ATTRIBUTE_FILTER, &[0]),
            attribute(ATTRIBUTE_RX_RING, &[262_144, 64, 80, 209_664, 10, 0, 0]),
        ]
        .concat();
        let other = attribute(ATTRIBUTE_RX_RING, &[4096, 1, 2048, 2, 0, 0, 0]);
        let reply = [
            socket_message(6, &other),
            socket_message(7, &ours),
            socket_message(8, &other),
        ]
        .concat();
        let mut found = Vec::new();
        assert!(!read_reply(&reply, &mut found).unwrap());
        assert!(read_reply(&message(NLMSG_DONE, &[0; 4]), &mut found).unwrap());
        assert_eq!(found.iter().map(|s| s.inode).collect::<Vec<_>>(), [6, 7, 8]);
        assert_eq!((found[1].protocol, found[1].interface), (768, Some(1)));
        assert_eq!((found[0].ring, found[1].filter_bytes), (None, 4));
        let ring = found[1].ring.unwrap();
        assert_eq!(
            (ring.version, ring.block_bytes, ring.blocks),
            (3, 262_144, 64)
        );
        assert_eq!(
            (ring.frame_bytes, ring.frames, ring.retire_ms),
            (80, 209_664, 10)
        );
    }

    #[test]
    fn a_socket_without_a_ring_has_none_and_an_error_is_one() {
        let info = attribute(ATTRIBUTE_INFO, &[1, 2, 0, 0, 0, 0]);
        let mut found = Vec::new();
        read_reply(&socket_message(7, &info), &mut found).unwrap();
        assert_eq!((found[0].ring, found[0].interface), (None, Some(1)));
        let error = message(NLMSG_ERROR, &(-2_i32).to_ne_bytes());
        let error = read_reply(&error, &mut found).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn every_shorter_reply_is_an_error_or_holds_nothing() {
        let ring = [
            attribute(ATTRIBUTE_INFO, &[1, 1, 0, 0, 0, 0]),
            attribute(ATTRIBUTE_RX_RING, &[1, 2, 3, 4, 5, 0, 0]),
        ]
        .concat();
        let reply = socket_message(7, &ring);
        for end in 4..reply.len() {
            let mut found = Vec::new();
            assert!(read_reply(&reply[..end], &mut found).is_err());
            assert_eq!(found, []);
        }
    }
}
