//! A UDP socket that keeps a port open and drops everything sent to it.
//!
//! Without one each datagram costs an ICMP answer, and half of the sends on a connected socket
//! fail.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;

use nix::sys::stat::fstat;

use super::sys;

/// A bound sink; the port is free again when it is dropped.
#[derive(Debug)]
pub(super) struct Sink {
    inode: u64,
    ipv6: bool,
    _socket: UdpSocket,
}

impl Sink {
    /// Binds a sink to `address`.
    ///
    /// # Errors
    ///
    /// The error of binding or of attaching the filter.
    pub(super) fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        sys::drop_everything(socket.as_fd())?;
        Ok(Self {
            inode: fstat(socket.as_fd())?.st_ino,
            ipv6: address.is_ipv6(),
            _socket: socket,
        })
    }

    /// Datagrams it dropped so far, from the kernel's table of UDP sockets; `None` when it is not
    /// in there.
    pub(super) fn dropped(&self) -> Option<u64> {
        let table = if self.ipv6 { "udp6" } else { "udp" };
        let table = std::fs::read_to_string(format!("/proc/thread-self/net/{table}")).ok()?;
        drops_of(&table, self.inode)
    }
}

/// The last column of the socket's line: drops. Its tenth column is the socket's inode (proc(5)).
fn drops_of(table: &str, inode: u64) -> Option<u64> {
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let found = fields.nth(9)?.parse::<u64>().ok()?;
        (found == inode).then(|| fields.last()?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_those_of_the_sockets_own_line() {
        let table = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   \
                     uid  timeout inode ref pointer drops             \n\
                     6134: 0100007F:988F 00000000:0000 07 00000000:00000000 00:00000000 00000000     \
                     0        0 8412 2 0000000000000000 17        \n\
                     6135: 0100007F:9890 00000000:0000 07 00000000:00000000 00:00000000 00000000     \
                     0        0 8413 2 0000000000000000 0         \n";
        assert_eq!(drops_of(table, 8412), Some(17));
        assert_eq!(drops_of(table, 8413), Some(0));
        assert_eq!(drops_of(table, 1), None);
    }

    #[test]
    fn a_sink_counts_what_it_is_sent() {
        let sink = Sink::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = sink._socket.local_addr().unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..3 {
            sender.send_to(b"x", address).unwrap();
        }
        assert_eq!(sink.dropped(), Some(3));
        sink._socket.set_nonblocking(true).unwrap();
        assert!(sink._socket.recv(&mut [0; 8]).is_err());
    }
}
