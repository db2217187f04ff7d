//! Where frames come from.

mod failure;
mod file;
mod live;

pub use failure::LiveError;
pub use file::{FileError, Savefile};
pub use live::{
    Counters, Dispatch, Live, LiveSettings, Outgoing, RingGeometry, Waker, interfaces,
    libpcap_version,
};

pub use crate::sys::{PacketSocket, packet_sockets};
/// libpcap's words alone.
fn words(error: pcap::Error) -> String {
    match error {
        pcap::Error::PcapError(text) => text,
        other => other.to_string(),
    }
}
