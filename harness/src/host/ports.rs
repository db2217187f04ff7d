//! Are a campaign's UDP ports free, and if not, whose are they?

use std::fs;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};

use wiretrial_contract::failure::Failure;

/// Binds all `addresses` at once and lets them go again.
///
/// # Errors
///
/// [`Failure::host`]: the port that is in use and who holds it, or that cannot be bound.
pub(super) fn check_free(addresses: &[SocketAddr]) -> Result<(), Failure> {
    let mut bound = Vec::with_capacity(addresses.len());
    for address in addresses {
        bound.push(UdpSocket::bind(address).map_err(|error| refusal(*address, &error))?);
    }
    Ok(())
}

fn refusal(address: SocketAddr, error: &std::io::Error) -> Failure {
    if error.kind() != ErrorKind::AddrInUse {
        return Failure::host(format!(
            "cannot bind {address}: {error}; --port with another port"
        ));
    }
    let port = address.port();
    let holder = ["udp", "udp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(format!("/proc/thread-self/net/{table}")).ok())
        .flat_map(|table| inodes(&table, port))
        .find_map(holder)
        .map(|(pid, name)| format!(" by pid {pid} ({name})"))
        .unwrap_or_default();
    Failure::host(format!(
        "port {port} is in use{holder}; wait, stop it, or --port"
    ))
}

/// Inodes of the sockets bound to `port` (proc(5): local address in hexadecimal is the second
/// column, the inode the tenth).
fn inodes(table: &str, port: u16) -> Vec<u64> {
    let suffix = format!(":{port:04X}");
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut fields = line.split_ascii_whitespace();
            fields.nth(1)?.ends_with(&suffix).then_some(())?;
            fields.nth(7)?.parse().ok()
        })
        .collect()
}

/// A process that has this socket open, as far as this user may look.
fn holder(inode: u64) -> Option<(u32, String)> {
    let socket = format!("socket:[{inode}]");
    for process in fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let descriptors = fs::read_dir(process.path().join("fd"));
        let holds = descriptors
            .into_iter()
            .flatten()
            .flatten()
            .any(|descriptor| {
                fs::read_link(descriptor.path()).is_ok_and(|to| to.as_os_str() == socket.as_str())
            });
        if holds {
            let name = fs::read_to_string(process.path().join("comm")).ok()?;
            return Some((pid, name.trim_end().to_owned()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_names_its_holder() {
        let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let refused = check_free(&[address]).unwrap_err();
        let expected = format!(
            "port {} is in use by pid {} (",
            address.port(),
            std::process::id()
        );
        assert!(refused.message.starts_with(&expected), "{refused}");
        assert!(refused.message.ends_with("); wait, stop it, or --port"));
    }

    #[test]
    fn ports_are_checked_together() {
        let address = "127.0.0.1:0".parse().unwrap();
        assert_eq!(check_free(&[address, address]), Ok(()));
        let fixed = UdpSocket::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        // The same address twice can be free once only.
        assert!(check_free(&[fixed, fixed]).is_err());
    }

    #[test]
    fn lines_of_the_socket_table() {
        let table = "head\n 1: 0100007F:988F 00000000:0000 07 0:0 0:0 0 0 0 8412 2 0 0\n\
                     2: 0100007F:988E 00000000:988F 07 0:0 0:0 0 0 0 8413 2 0 0\n";
        assert_eq!(inodes(table, 0x988F), [8412]);
    }
}
