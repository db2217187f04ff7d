//! System calls without a safe wrapper. The only unsafe code of the crate.

mod diag;
mod options;

pub(crate) use diag::ring_of;
pub use diag::{PacketSocket, packet_sockets};
pub(crate) use options::{Precision, ignore_outgoing, libpcap_version, precision};
