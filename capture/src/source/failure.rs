//! What can go wrong with a live capture.

use std::fmt;
use std::io;

/// Why a live capture cannot be opened or has ended. Every message names the interface.
#[derive(Debug)]
#[non_exhaustive]
pub enum LiveError {
    /// A setting libpcap cannot take.
    Setting {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: u64,
        /// What it has to be.
        wanted: &'static str,
    },
    /// No interface of that name in this network namespace.
    NoInterface {
        /// The name asked for.
        interface: String,
        /// The names there are.
        present: Vec<String>,
    },
    /// The interface is not up, so it delivers nothing.
    Down {
        /// The interface.
        interface: String,
    },
    /// The process may not open packet sockets (capabilities(7), `CAP_NET_RAW`).
    NoRight {
        /// The interface.
        interface: String,
    },
    /// The filter does not compile, or the kernel does not take it.
    Filter {
        /// The expression.
        filter: String,
        /// libpcap's words.
        cause: String,
    },
    /// The kernel cannot leave out departing frames, and on a loopback interface that makes every
    /// counter wrong.
    Outgoing {
        /// The interface.
        interface: String,
        /// The refusal.
        cause: io::Error,
    },
    /// The interface was removed, or set down, while it was captured on.
    Gone {
        /// The interface.
        interface: String,
    },
    /// Anything else libpcap said.
    Pcap {
        /// The interface.
        interface: String,
        /// What was being done.
        action: &'static str,
        /// libpcap's words.
        cause: String,
    },
}

impl fmt::Display for LiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting {
                name,
                value,
                wanted,
            } => write!(f, "{name} is {value}; it must be {wanted}"),
            Self::NoInterface { interface, present } => write!(
                f,
                "no interface \"{interface}\"; interfaces here: {}",
                present.join(", ")
            ),
            Self::Down { interface } => write!(
                f,
                "interface {interface} is down; ip link set {interface} up"
            ),
            Self::NoRight { interface } => {
                write!(f, "cannot capture on {interface}: needs cap_net_raw")
            }
            Self::Filter { filter, cause } => {
                write!(f, "filter \"{filter}\" is not accepted: {cause}")
            }
            Self::Outgoing { interface, cause } => write!(
                f,
                "cannot leave out departing frames on {interface} (needs Linux 4.20): {cause}"
            ),
            Self::Gone { interface } => {
                write!(f, "interface {interface} went away during the capture")
            }
            Self::Pcap {
                interface,
                action,
                cause,
            } => write!(f, "cannot {action} on {interface}: {cause}"),
        }
    }
}

impl std::error::Error for LiveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Outgoing { cause, .. } => Some(cause),
            _ => None,
        }
    }
}
