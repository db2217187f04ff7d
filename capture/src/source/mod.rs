//! Where frames come from.

mod failure;
mod live;

pub use failure::LiveError;
pub use live::{
    Counters, Dispatch, Live, LiveSettings, Outgoing, RingGeometry, Waker, interfaces,
    libpcap_version,
};

pub use crate::sys::{PacketSocket, packet_sockets};
