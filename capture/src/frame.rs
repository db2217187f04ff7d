//! One captured frame, borrowed from where the kernel put it.

use std::fmt;

/// A frame as the source handed it over. Its bytes are valid only inside the callback that got it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The bytes that were kept, from the link layer's header on; no FCS.
    pub bytes: &'a [u8],
    /// Bytes the frame had on the wire, without FCS; at least the number kept, unless it comes from
    /// a capture file that says otherwise.
    pub wire_len: u32,
    /// When the kernel took it, `CLOCK_REALTIME`, ns since 1970-01-01T00:00:00Z. That clock may step.
    /// Of a frame from a file: what the file says.
    pub time_ns: u64,
    /// How its first header is to be read.
    pub link_type: LinkType,
}

impl Frame<'_> {
    /// Bytes kept of it.
    #[must_use]
    pub const fn captured_len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the snap length cut it.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.bytes.len() < self.wire_len as usize
    }
}

/// A link-layer header type: libpcap's `DLT_` number on this platform (pcap-linktype(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkType(pub i32);

impl LinkType {
    /// BSD loopback: an address family in the capturing host's byte order.
    pub const NULL: Self = Self(0);
    /// Ethernet; Linux uses it for the loopback interface too.
    pub const ETHERNET: Self = Self(1);
    /// An IP header first, without a link layer (`DLT_RAW` on Linux).
    pub const RAW: Self = Self(12);
    /// The same by the number savefiles carry (`LINKTYPE_RAW`).
    pub const RAW_FILE: Self = Self(101);
    /// OpenBSD loopback: an address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux cooked capture, version 1: 16 bytes.
    pub const LINUX_SLL: Self = Self(113);
}

impl fmt::Display for LinkType {
    /// libpcap's name without the `DLT_` prefix, such as `EN10MB`; the number when it has none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match pcap::Linktype(self.0).get_name() {
            Ok(name) => f.write_str(&name),
            Err(_) => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_libpcap() {
        assert_eq!(LinkType::ETHERNET.to_string(), "EN10MB");
        assert_eq!(LinkType::LINUX_SLL.to_string(), "LINUX_SLL");
        assert_eq!(LinkType::RAW.to_string(), "RAW");
        assert_eq!(LinkType(-7).to_string(), "-7");
    }

    #[test]
    fn a_frame_is_cut_when_the_wire_had_more() {
        let frame = Frame {
            bytes: &[0; 60],
            wire_len: 60,
            time_ns: 0,
            link_type: LinkType::ETHERNET,
        };
        assert!(!frame.is_cut());
        let cut = Frame {
            bytes: &[0; 59],
            ..frame
        };
        assert!(cut.is_cut());
        assert_eq!(cut.captured_len(), 59);
    }
}
