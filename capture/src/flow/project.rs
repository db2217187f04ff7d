//! The shortest way from a frame to its UDP payload: ports and a slice, nothing allocated, nothing
//! copied, nothing looked at twice.
//!
//! It refuses what is not the start of a UDP datagram over IPv4 or IPv6. No checksum is verified:
//! captured frames of the own host carry unfinished ones when the interface computes them.
//! Invariant: for every shorter slice of the same frame the answer is a refusal or the same
//! datagram with a payload shorter by exactly what is missing.

use std::fmt;

use crate::frame::LinkType;

/// What a frame holds of a UDP datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// UDP port it came from.
    pub source_port: u16,
    /// UDP port it goes to.
    pub destination_port: u16,
    /// The start of its payload: at most what was captured, and never padding behind the IP packet.
    pub payload: &'a [u8],
    /// Bytes of payload this frame had on the wire.
    pub wire_payload_len: u32,
}

/// Why a frame is not the start of a UDP datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A link type this reader does not know.
    LinkType(LinkType),
    /// Neither IPv4 nor IPv6; the EtherType or address family.
    NotIp(u32),
    /// Another protocol than UDP; the IP protocol number.
    NotUdp(u8),
    /// A later fragment: it has no UDP header.
    Fragment,
    /// A length or version in a header contradicts another.
    Malformed,
    /// The capture ends inside the headers.
    Cut,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LinkType(link) => write!(f, "link type {link} is not supported"),
            Self::NotIp(kind) => write!(f, "link-layer protocol 0x{kind:04x} is not IP"),
            Self::NotUdp(protocol) => write!(f, "IP protocol {protocol} is not UDP"),
            Self::Fragment => f.write_str("a fragment without a UDP header"),
            Self::Malformed => f.write_str("headers contradict each other"),
            Self::Cut => f.write_str("the capture ends inside the headers"),
        }
    }
}

impl std::error::Error for Refusal {}

const UDP: u8 = 17;
const UDP_HEADER: usize = 8;

/// Reads the UDP datagram that starts in a frame.
///
/// Link layers: Ethernet with VLAN tags at any depth (IEEE 802.1Q, 802.1ad), RAW, NULL, LOOP and
/// `LINUX_SLL`. Network layers: IPv4 with options (RFC 791), IPv6 with hop-by-hop, destination,
/// routing and fragment headers (RFC 8200 section 4). Jumbograms (RFC 2675) are refused.
///
/// # Errors
///
/// See [`Refusal`].
#[inline]
pub fn udp(link_type: LinkType, bytes: &[u8]) -> Result<Datagram<'_>, Refusal> {
    match link_type {
        LinkType::ETHERNET => ether_type(bytes, 12),
        LinkType::RAW | LinkType::RAW_FILE => ip(bytes),
        LinkType::NULL => family(bytes, u32::from_ne_bytes(array(bytes, 0)?)),
        LinkType::LOOP => family(bytes, u32::from_be_bytes(array(bytes, 0)?)),
        LinkType::LINUX_SLL => ether_type(bytes, 14),
        other => Err(Refusal::LinkType(other)),
    }
}

/// Follows EtherTypes from `at` on, over any number of VLAN tags.
#[inline]
fn ether_type(bytes: &[u8], mut at: usize) -> Result<Datagram<'_>, Refusal> {
    loop {
        match be16(bytes, at)? {
            0x0800 => return ipv4(&bytes[at + 2..]),
            0x86DD => return ipv6(&bytes[at + 2..]),
            0x8100 | 0x88A8 | 0x9100 => at += 4,
            other => return Err(Refusal::NotIp(u32::from(other))),
        }
    }
}

/// Reads behind a four-byte address family. A capture may have been made on a host of the other
/// byte order, and IPv6 has a number of its own on each system (pcap-linktype(7)).
fn family(bytes: &[u8], family: u32) -> Result<Datagram<'_>, Refusal> {
    for value in [family, family.swap_bytes()] {
        match value {
            2 => return ipv4(&bytes[4..]),
            10 | 24 | 28 | 30 => return ipv6(&bytes[4..]),
            _ => {}
        }
    }
    Err(Refusal::NotIp(family))
}

fn ip(bytes: &[u8]) -> Result<Datagram<'_>, Refusal> {
    match bytes.first().ok_or(Refusal::Cut)? >> 4 {
        4 => ipv4(bytes),
        6 => ipv6(bytes),
        _ => Err(Refusal::Malformed),
    }
}

#[inline]
fn ipv4(bytes: &[u8]) -> Result<Datagram<'_>, Refusal> {
    let header: &[u8; 20] = bytes.first_chunk().ok_or(Refusal::Cut)?;
    let header_len = usize::from(header[0] & 15) * 4;
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header[0] >> 4 != 4 || header_len < 20 || total < header_len {
        return Err(Refusal::Malformed);
    }
    let fragment = u16::from_be_bytes([header[6], header[7]]);
    if fragment & 0x1FFF != 0 {
        return Err(Refusal::Fragment);
    }
    if header[9] != UDP {
        return Err(Refusal::NotUdp(header[9]));
    }
    let more_fragments = fragment & 0x2000 != 0;
    datagram(bytes, header_len, total, more_fragments)
}

#[inline]
fn ipv6(bytes: &[u8]) -> Result<Datagram<'_>, Refusal> {
    let header: &[u8; 40] = bytes.first_chunk().ok_or(Refusal::Cut)?;
    if header[0] >> 4 != 6 {
        return Err(Refusal::Malformed);
    }
    let end = 40 + usize::from(u16::from_be_bytes([header[4], header[5]]));
    let mut next = header[6];
    let mut at = 40;
    let mut more_fragments = false;
    loop {
        match next {
            UDP => return datagram(bytes, at, end, more_fragments),
            // Hop-by-hop, routing, destination: length in units of 8 bytes beyond the first 8.
            0 | 43 | 60 => {
                let [following, units] = array(bytes, at)?;
                next = following;
                at += 8 + usize::from(units) * 8;
            }
            44 => {
                let fields: [u8; 4] = array(bytes, at)?;
                let fragment = u16::from_be_bytes([fields[2], fields[3]]);
                if fragment & 0xFFF8 != 0 {
                    return Err(Refusal::Fragment);
                }
                more_fragments |= fragment & 1 != 0;
                next = fields[0];
                at += 8;
            }
            other => return Err(Refusal::NotUdp(other)),
        }
        if at > end {
            return Err(Refusal::Malformed);
        }
    }
}

/// Reads the UDP header (RFC 768) at `at` of an IP packet that ends at `end` on the wire.
#[inline]
fn datagram(
    bytes: &[u8],
    at: usize,
    end: usize,
    more_fragments: bool,
) -> Result<Datagram<'_>, Refusal> {
    let header: [u8; UDP_HEADER] = array(bytes, at)?;
    let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
    // The first fragment holds less than the length in the UDP header says.
    let stop = if more_fragments {
        end.min(at + length)
    } else {
        at + length
    };
    if length < UDP_HEADER || stop > end || stop < at + UDP_HEADER {
        return Err(Refusal::Malformed);
    }
    let start = at + UDP_HEADER;
    Ok(Datagram {
        source_port: u16::from_be_bytes([header[0], header[1]]),
        destination_port: u16::from_be_bytes([header[2], header[3]]),
        payload: &bytes[start..stop.min(bytes.len())],
        wire_payload_len: u32::try_from(stop - start).expect("an IP packet's length is 17 bit"),
    })
}

#[inline]
fn be16(bytes: &[u8], at: usize) -> Result<u16, Refusal> {
    array(bytes, at).map(u16::from_be_bytes)
}

#[inline]
fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Refusal> {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .copied()
        .ok_or(Refusal::Cut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{
        EtherType, Ethernet2Header, IpFragOffset, IpNumber, Ipv4Header, Ipv4Options,
        Ipv6ExtensionSlice, Ipv6FragmentHeader, Ipv6Header, Ipv6RawExtHeader, NetSlice,
        SingleVlanHeader, SlicedPacket, TransportSlice, UdpHeader, VlanId, VlanPcp,
    };
    use proptest::prelude::*;

    /// Everything that varies about a frame.
    #[derive(Debug, Clone)]
    struct Shape {
        link: LinkType,
        vlans: usize,
        v6: bool,
        options: usize,
        extensions: Vec<u8>,
        more_fragments: bool,
        ports: (u16, u16),
        payload: Vec<u8>,
        padding: usize,
    }

    fn shapes() -> impl Strategy<Value = Shape> {
        let links = prop::sample::select(vec![
            LinkType::ETHERNET,
            LinkType::RAW,
            LinkType::NULL,
            LinkType::LOOP,
            LinkType::LINUX_SLL,
        ]);
        let extensions = prop::sample::subsequence(vec![0, 60, 43, 44], 0..=4);
        (
            (links, 0_usize..4, any::<bool>(), 0_usize..=10, extensions),
            (
                any::<bool>(),
                any::<(u16, u16)>(),
                prop::collection::vec(any::<u8>(), 0..80),
                0_usize..20,
            ),
        )
            .prop_map(|((link, vlans, v6, options, extensions), rest)| Shape {
                link,
                vlans,
                v6,
                options,
                extensions,
                more_fragments: rest.0,
                ports: rest.1,
                payload: rest.2,
                padding: rest.3,
            })
    }

    impl Shape {
        /// Only Ethernet and SLL carry an EtherType and so VLAN tags.
        fn tags(&self) -> usize {
            match self.link {
                LinkType::ETHERNET | LinkType::LINUX_SLL => self.vlans,
                _ => 0,
            }
        }

        /// The frame's network layer and what follows, built by etherparse.
        fn network(&self) -> Vec<u8> {
            let udp = UdpHeader {
                source_port: self.ports.0,
                destination_port: self.ports.1,
                length: u16::try_from(8 + self.payload.len()).unwrap(),
                checksum: 0,
            };
            let mut body = Vec::new();
            udp.write(&mut body).unwrap();
            body.extend(&self.payload);
            let mut out = Vec::new();
            if self.v6 {
                let mut next = 17;
                let mut chain = Vec::new();
                for kind in self.extensions.iter().rev() {
                    let mut header = Vec::new();
                    if *kind == 44 {
                        Ipv6FragmentHeader::new(
                            IpNumber(next),
                            IpFragOffset::ZERO,
                            self.more_fragments,
                            7,
                        )
                        .write(&mut header)
                        .unwrap();
                    } else {
                        let data = vec![0; 6 + 8 * (self.options % 3)];
                        Ipv6RawExtHeader::new_raw(IpNumber(next), &data)
                            .unwrap()
                            .write(&mut header)
                            .unwrap();
                    }
                    header.extend(chain);
                    chain = header;
                    next = *kind;
                }
                let header = Ipv6Header {
                    payload_length: u16::try_from(chain.len() + body.len()).unwrap(),
                    next_header: IpNumber(next),
                    ..Default::default()
                };
                header.write(&mut out).unwrap();
                out.extend(chain);
            } else {
                let mut header = Ipv4Header::new(
                    u16::try_from(body.len()).unwrap(),
                    64,
                    IpNumber::UDP,
                    [10, 0, 0, 1],
                    [10, 0, 0, 2],
                )
                .unwrap();
                header.options = Ipv4Options::try_from(&vec![1_u8; self.options * 4][..]).unwrap();
                header.set_payload_len(body.len()).expect("a short payload");
                header.more_fragments = self.more_fragments;
                header.write(&mut out).unwrap();
            }
            out.extend(body);
            out.extend(vec![0xEE; self.padding]);
            out
        }

        fn bytes(&self) -> Vec<u8> {
            let ether_type = if self.v6 {
                EtherType::IPV6
            } else {
                EtherType::IPV4
            };
            let first = if self.tags() > 0 {
                EtherType(0x8100)
            } else {
                ether_type
            };
            let mut out = Vec::new();
            match self.link {
                LinkType::ETHERNET => Ethernet2Header {
                    source: [2; 6],
                    destination: [4; 6],
                    ether_type: first,
                }
                .write(&mut out)
                .unwrap(),
                LinkType::LINUX_SLL => {
                    out.extend([0, 0, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0]);
                    out.extend(first.0.to_be_bytes());
                }
                LinkType::NULL => out.extend(if self.v6 { 10_u32 } else { 2 }.to_ne_bytes()),
                LinkType::LOOP => out.extend(if self.v6 { 24_u32 } else { 2 }.to_be_bytes()),
                _ => {}
            }
            for tag in (0..self.tags()).rev() {
                SingleVlanHeader {
                    pcp: VlanPcp::ZERO,
                    drop_eligible_indicator: false,
                    vlan_id: VlanId::try_new(5).unwrap(),
                    ether_type: if tag == 0 {
                        ether_type
                    } else {
                        EtherType(0x88A8)
                    },
                }
                .write(&mut out)
                .unwrap();
            }
            out.extend(self.network());
            out
        }

        fn is_first_fragment(&self) -> bool {
            self.more_fragments && (!self.v6 || self.extensions.contains(&44))
        }
    }

    proptest! {
        #[test]
        fn agrees_with_etherparse_and_every_shorter_slice_is_exact(shape in shapes()) {
            let bytes = shape.bytes();
            let whole = udp(shape.link, &bytes).unwrap();
            prop_assert_eq!((whole.source_port, whole.destination_port), shape.ports);
            prop_assert_eq!(whole.payload, &shape.payload[..]);
            prop_assert_eq!(whole.wire_payload_len as usize, shape.payload.len());

            // etherparse does not look into a fragmented packet, so there only the network layer
            // is its reading.
            let network = shape.network();
            let independent = SlicedPacket::from_ip(&network).unwrap();
            if shape.is_first_fragment() {
                prop_assert!(independent.is_ip_payload_fragmented());
            } else {
                let Some(TransportSlice::Udp(slice)) = independent.transport else {
                    panic!("etherparse sees no UDP");
                };
                prop_assert_eq!(slice.source_port(), whole.source_port);
                prop_assert_eq!(slice.destination_port(), whole.destination_port);
                prop_assert_eq!(slice.payload(), whole.payload);
            }

            let start = bytes.len() - shape.padding - shape.payload.len();
            for end in 0..bytes.len() {
                match udp(shape.link, &bytes[..end]) {
                    Ok(part) => {
                        prop_assert!(end >= start);
                        let kept = (end - start).min(shape.payload.len());
                        prop_assert_eq!(part, Datagram { payload: &whole.payload[..kept], ..whole });
                    }
                    Err(refusal) => {
                        prop_assert_eq!(refusal, Refusal::Cut);
                        prop_assert!(end < start);
                    }
                }
            }
        }

        #[test]
        fn whatever_is_read_lies_inside_the_frame(
            link in prop::sample::select(vec![0, 1, 12, 108, 113]),
            bytes in prop::collection::vec(any::<u8>(), 0..120),
        ) {
            if let Ok(datagram) = udp(LinkType(link), &bytes) {
                prop_assert!(datagram.payload.len() <= datagram.wire_payload_len as usize);
                prop_assert!(bytes.as_ptr_range().contains(&datagram.payload.as_ptr())
                    || datagram.payload.is_empty());
            }
        }

        #[test]
        fn a_changed_byte_reads_as_etherparse_reads_it(
            v6: bool, options in 0_usize..4, at: prop::sample::Index, value: u8,
        ) {
            let shape = Shape {
                link: LinkType::ETHERNET, vlans: 0, v6, options, extensions: vec![60],
                more_fragments: false, ports: (40_000, 39_053), payload: vec![7; 18], padding: 0,
            };
            let mut bytes = shape.bytes();
            let at = at.index(bytes.len());
            bytes[at] = value;
            if let Ok(ours) = udp(LinkType::ETHERNET, &bytes)
                && let Ok(theirs) = SlicedPacket::from_ethernet(&bytes)
                && let Some(TransportSlice::Udp(slice)) = theirs.transport
            {
                prop_assert_eq!(ours.source_port, slice.source_port());
                prop_assert_eq!(ours.destination_port, slice.destination_port());
                prop_assert_eq!(ours.payload, slice.payload());
            }
        }
    }

    fn plain() -> Shape {
        Shape {
            link: LinkType::ETHERNET,
            vlans: 0,
            v6: false,
            options: 0,
            extensions: vec![],
            more_fragments: false,
            ports: (1, 2),
            payload: vec![7; 18],
            padding: 0,
        }
    }

    #[test]
    fn tags_at_a_depth_etherparse_does_not_reach() {
        let bytes = Shape {
            vlans: 9,
            ..plain()
        }
        .bytes();
        assert_eq!(udp(LinkType::ETHERNET, &bytes).unwrap().payload, [7; 18]);
    }

    #[test]
    fn later_fragments_other_protocols_and_contradictions_are_refused() {
        let good = plain().bytes();
        let with = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            udp(LinkType::ETHERNET, &bytes).map(|datagram| datagram.payload.len())
        };
        assert_eq!(with(21, 1), Err(Refusal::Fragment));
        assert_eq!(with(23, 6), Err(Refusal::NotUdp(6)));
        assert_eq!(with(13, 6), Err(Refusal::NotIp(0x0806)));
        assert_eq!(with(14, 0x55), Err(Refusal::Malformed));
        assert_eq!(with(14, 0x44), Err(Refusal::Malformed));
        assert_eq!(
            with(17, 19),
            Err(Refusal::Malformed),
            "IP ends in its header"
        );
        assert_eq!(
            with(39, 7),
            Err(Refusal::Malformed),
            "UDP ends in its header"
        );
        assert_eq!(with(39, 27), Err(Refusal::Malformed), "UDP ends behind IP");
        assert_eq!(
            udp(LinkType(127), &good),
            Err(Refusal::LinkType(LinkType(127)))
        );
    }

    #[test]
    fn a_later_ipv6_fragment_is_refused() {
        let shape = Shape {
            v6: true,
            extensions: vec![44],
            ..plain()
        };
        let mut bytes = shape.bytes();
        bytes[14 + 40 + 3] = 8;
        assert_eq!(udp(LinkType::ETHERNET, &bytes), Err(Refusal::Fragment));
        let sliced = SlicedPacket::from_ethernet(&bytes).unwrap();
        let Some(NetSlice::Ipv6(slice)) = sliced.net else {
            panic!("IPv6")
        };
        let fragment = slice.extensions().clone().into_iter().next();
        assert!(matches!(fragment, Some(Ipv6ExtensionSlice::Fragment(_))));
    }

    #[test]
    fn a_null_header_of_the_other_byte_order_is_read() {
        let mut bytes = Shape {
            link: LinkType::NULL,
            ..plain()
        }
        .bytes();
        bytes[..4].reverse();
        assert_eq!(udp(LinkType::NULL, &bytes).unwrap().payload, [7; 18]);
    }
}
