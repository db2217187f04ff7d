//! The socket that keeps the port open and drops everything.
//!
//! Without it each datagram would be answered with an ICMP error, which costs the sender and fails
//! its next send. Its filter returns 0, so that nothing is ever queued: the drops are counted
//! (`sk_drops`), printed, and no part of a ledger.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::path::Path;

use nix::sys::stat::fstat;
use socket2::{Domain, Protocol, SockFilter, Socket, Type};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::units::Family;

/// A bound sink.
#[derive(Debug)]
pub struct Sink {
    socket: Socket,
    table: &'static str,
}

impl Sink {
    /// Binds `port` on all addresses of the family, so that every target address of the namespace
    /// reaches it. IPv6 sinks leave IPv4 alone.
    ///
    /// # Errors
    ///
    /// A host failure; when the port is in use it names the process, if it may be seen.
    pub fn bind(family: Family, port: u16) -> Result<Self, Failure> {
        match Self::try_bind(family, port) {
            Ok(sink) => Ok(sink),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                Err(Failure::host(match holder(port) {
                    Some((pid, program)) => format!(
                        "port {port} is in use by pid {pid} ({program}); wait, stop it, or --port"
                    ),
                    None => format!("port {port} is in use; wait, stop its program, or --port"),
                }))
            }
            Err(error) => Err(Failure::host(format!(
                "cannot bind UDP port {port}: {error}; choose another with --port"
            ))),
        }
    }

    fn try_bind(family: Family, port: u16) -> io::Result<Self> {
        const RETURN_CONSTANT: u16 = 0x06; // BPF_RET | BPF_K
        let (domain, address, table) = match family {
            Family::Ipv4 => (
                Domain::IPV4,
                SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
                TABLE4,
            ),
            Family::Ipv6 => (
                Domain::IPV6,
                SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
                TABLE6,
            ),
        };
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        if family == Family::Ipv6 {
            socket.set_only_v6(true)?;
        }
        socket.attach_filter(&[SockFilter::new(RETURN_CONSTANT, 0, 0, 0)])?;
        socket.bind(&address.into())?;
        Ok(Self { socket, table })
    }

    /// Datagrams it has dropped since it was bound; `None` when the kernel's table cannot be read.
    /// The table is that of the calling thread's network namespace.
    #[must_use]
    pub fn dropped(&self) -> Option<u64> {
        let inode = fstat(self.socket.as_fd()).ok()?.st_ino;
        let table = fs::read_to_string(self.table).ok()?;
        rows(&table).find(|row| row.inode == inode)?.drops
    }
}

const TABLE4: &str = "/proc/thread-self/net/udp";
const TABLE6: &str = "/proc/thread-self/net/udp6";

/// A row of the kernel's UDP socket table (proc_pid_net(5)).
struct Row {
    port: u16,
    inode: u64,
    drops: Option<u64>,
}

fn rows(table: &str) -> impl Iterator<Item = Row> {
    table.lines().skip(1).filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (_, port) = columns.get(1)?.rsplit_once(':')?;
        Some(Row {
            port: u16::from_str_radix(port, 16).ok()?,
            inode: columns.get(9)?.parse().ok()?,
            drops: columns.get(12).and_then(|drops| drops.parse().ok()),
        })
    })
}

/// Process id and program that hold a UDP port, as far as this process may see.
fn holder(port: u16) -> Option<(u32, String)> {
    let inodes: Vec<String> = [TABLE4, TABLE6]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| rows(&table).collect::<Vec<_>>())
        .filter(|row| row.port == port)
        .map(|row| format!("socket:[{}]", row.inode))
        .collect();
    for process in fs::read_dir("/proc").ok()?.flatten() {
        let Ok(pid) = process.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        let open = fs::read_dir(process.path().join("fd"));
        let holds = open.into_iter().flatten().flatten().any(|file| {
            fs::read_link(file.path()).is_ok_and(|link| {
                inodes
                    .iter()
                    .any(|inode| link.as_os_str() == inode.as_str())
            })
        });
        if holds {
            return Some((pid, program(&process.path())?));
        }
    }
    None
}

fn program(process: &Path) -> Option<String> {
    // The executable's own name; `comm` is cut at 15 characters.
    let name = fs::read_link(process.join("exe"))
        .ok()
        .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    name.or_else(|| {
        let name = fs::read_to_string(process.join("comm")).ok()?;
        Some(name.trim_end().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn a_row_of_the_table() {
        let table = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   \
                     uid  timeout inode ref pointer drops\n 1036: 00000000:988D 00000000:0000 07 \
                     00000000:00000000 00:00000000 00000000     0        0 74821 2 \
                     00000000c0ffee00 1234\n";
        let row = rows(table).next().unwrap();
        assert_eq!((row.port, row.inode, row.drops), (39053, 74821, Some(1234)));
        assert_eq!(rows("").count(), 0);
    }

    #[test]
    fn a_sink_counts_what_it_drops_and_holds_its_port() {
        let sink = Sink::bind(Family::Ipv4, 0).unwrap();
        let port = sink
            .socket
            .local_addr()
            .unwrap()
            .as_socket()
            .unwrap()
            .port();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(("127.0.0.1", port)).unwrap();
        for _ in 0..5 {
            sender.send(b"x").unwrap();
        }
        assert_eq!(sink.dropped(), Some(5));

        let failure = Sink::bind(Family::Ipv4, port).unwrap_err();
        let name = std::env::current_exe().unwrap();
        let name = name.file_name().unwrap().to_string_lossy().into_owned();
        let pid = std::process::id();
        assert_eq!(failure.code, 3);
        assert_eq!(
            failure.message,
            format!("port {port} is in use by pid {pid} ({name}); wait, stop it, or --port")
        );
    }

    #[test]
    fn an_ipv6_sink_leaves_ipv4_alone() {
        let sink = Sink::bind(Family::Ipv6, 0).unwrap();
        let port = sink
            .socket
            .local_addr()
            .unwrap()
            .as_socket()
            .unwrap()
            .port();
        Sink::bind(Family::Ipv4, port).unwrap();
        assert_eq!(sink.dropped(), Some(0));
    }
}
