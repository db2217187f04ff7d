//! The packet sockets of a program, as the kernel lists them.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use nix::unistd::Pid;
use wiretrial_capture::source::{PacketSocket, packet_sockets};

/// Where to look, and what was there before the program.
#[derive(Debug)]
pub(super) struct Watch {
    interface: u32,
    before: BTreeSet<u32>,
}

impl Watch {
    /// Starts to look for sockets on the interface with this index.
    ///
    /// # Errors
    ///
    /// Neither sock_diag(7) nor `/proc/net/packet` can be read.
    pub(super) fn new(interface: u32) -> io::Result<Self> {
        let before = all()?.iter().map(|socket| socket.inode).collect();
        Ok(Self { interface, before })
    }

    /// Sockets of these processes that take packets of the interface, by inode.
    ///
    /// # Errors
    ///
    /// As [`Watch::new`].
    pub(super) fn held_by(&self, processes: &[Pid]) -> io::Result<Vec<PacketSocket>> {
        let mut held = BTreeSet::new();
        let mut hidden = false;
        for pid in processes {
            match inodes(*pid) {
                Ok(inodes) => held.extend(inodes),
                Err(error) => hidden |= error.kind() == io::ErrorKind::PermissionDenied,
            }
        }
        let mut found = all()?;
        found.retain(|socket| {
            self.takes(socket)
                && (held.contains(&socket.inode)
                    // A program with rights of its own hides its descriptors. What is new here is
                    // taken for its own.
                    || hidden && held.is_empty() && !self.before.contains(&socket.inode))
        });
        found.sort_unstable_by_key(|socket| socket.inode);
        Ok(found)
    }

    fn takes(&self, socket: &PacketSocket) -> bool {
        let here = socket
            .interface
            .is_some_and(|index| index == 0 || index == self.interface);
        here && socket.protocol != 0
    }
}

fn all() -> io::Result<Vec<PacketSocket>> {
    packet_sockets().or_else(|error| {
        let table = fs::read_to_string("/proc/thread-self/net/packet").map_err(|_| error)?;
        Ok(table.lines().skip(1).filter_map(row).collect())
    })
}

/// A row of `/proc/net/packet`: the kernel's listing without the rings.
fn row(line: &str) -> Option<PacketSocket> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    Some(PacketSocket {
        inode: columns.get(8)?.parse().ok()?,
        protocol: u16::from_str_radix(columns.get(3)?, 16).ok()?,
        interface: Some(columns.get(4)?.parse().ok()?),
        ring: None,
        filter_bytes: 0,
    })
}

fn inodes(pid: Pid) -> io::Result<Vec<u32>> {
    let files = fs::read_dir(format!("/proc/{pid}/fd"))?;
    Ok(files
        .flatten()
        .filter_map(|file| fs::read_link(file.path()).ok())
        .filter_map(|link| {
            let link = link.to_str()?.strip_prefix("socket:[")?;
            link.strip_suffix(']')?.parse().ok()
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_row_of_the_table() {
        let line = "00000000c0ffee00 3      3    0003   2     1       0        1000   4711";
        let socket = row(line).unwrap();
        assert_eq!((socket.inode, socket.protocol), (4711, 3));
        assert_eq!(socket.interface, Some(2));
        assert_eq!(
            row("sk RefCnt Type Proto  Iface R Rmem   User   Inode"),
            None
        );
    }

    #[test]
    fn a_socket_takes_packets_of_its_interface_or_of_all() {
        let watch = Watch {
            interface: 2,
            before: BTreeSet::new(),
        };
        let socket = |interface, protocol| PacketSocket {
            inode: 1,
            protocol,
            interface,
            ring: None,
            filter_bytes: 0,
        };
        assert!(watch.takes(&socket(Some(2), 3)) && watch.takes(&socket(Some(0), 3)));
        assert!(!watch.takes(&socket(Some(2), 0)), "not open yet");
        assert!(!watch.takes(&socket(Some(1), 3)) && !watch.takes(&socket(None, 3)));
    }

    #[test]
    fn our_own_sockets_are_ours() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let inode = nix::sys::stat::fstat(socket.as_fd()).unwrap().st_ino;
        let inode = u32::try_from(inode).unwrap();
        assert!(inodes(nix::unistd::getpid()).unwrap().contains(&inode));
        assert!(inodes(Pid::from_raw(i32::MAX)).is_err());
    }
}
