//! Ethernet frames with IP packets in them, byte by byte, with right checksums.

/// Ethernet II (IEEE 802.3), then IPv4 without options (RFC 791) or IPv6 (RFC 8200).
const ETHERNET: usize = 14;
const IPV4: usize = 20;
const IPV6: usize = 40;

/// Locally administered addresses, receiver first.
const STATIONS: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];

/// What is in an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Udp,
    Tcp,
    Echo,
}

impl Protocol {
    /// Bytes of its header: RFC 768, RFC 9293 without options, RFC 792 and RFC 4443.
    const fn header(self) -> usize {
        match self {
            Self::Udp | Self::Echo => 8,
            Self::Tcp => 20,
        }
    }

    const fn number(self, is_v6: bool) -> u8 {
        match (self, is_v6) {
            (Self::Udp, _) => 17,
            (Self::Tcp, _) => 6,
            (Self::Echo, false) => 1,
            (Self::Echo, true) => 58,
        }
    }

    /// Where its checksum is.
    const fn checksum_at(self) -> usize {
        match self {
            Self::Udp => 6,
            Self::Tcp => 16,
            Self::Echo => 2,
        }
    }
}

/// Who sends what to whom.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    number: u8,
    protocol: Protocol,
    is_v6: bool,
    /// TCP: number of the next byte. Echo: number of the next request.
    next: u32,
}

impl Flow {
    pub(super) fn new(number: u8) -> Self {
        Self {
            number,
            protocol: match number % 10 {
                0..5 => Protocol::Udp,
                5..9 => Protocol::Tcp,
                _ => Protocol::Echo,
            },
            is_v6: number % 7 == 2,
            next: 1,
        }
    }

    /// Source and destination, one after the other. A few destinations have many sources.
    fn addresses(&self) -> ([u8; 32], usize) {
        let (from, to) = (self.number + 1, self.number % 8 + 1);
        let mut both = [0; 32];
        if self.is_v6 {
            both[..8].copy_from_slice(&[0x20, 1, 0, 2, 0, 0, 0, 1]);
            both[15] = from;
            both[16..24].copy_from_slice(&[0x20, 1, 0, 2, 0, 0, 0, 2]);
            both[31] = to;
            (both, 32)
        } else {
            both[..8].copy_from_slice(&[198, 18, 0, from, 198, 19, 0, to]);
            (both, 8)
        }
    }
}

/// A frame, whose memory is used again for the next.
#[derive(Debug, Default)]
pub(super) struct Frame(Vec<u8>);

impl Frame {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Builds the next frame of a flow: `length` bytes without FCS, or its headers when they are
    /// longer, filled up from the start of `payload`.
    pub(super) fn build(&mut self, flow: &mut Flow, length: u32, number: u64, payload: &[u8]) {
        let ip = if flow.is_v6 { IPV6 } else { IPV4 };
        let headers = ETHERNET + ip + flow.protocol.header();
        let length = usize::try_from(length).expect("a frame's length");
        let payload = &payload[..length.saturating_sub(headers)];
        let segment = flow.protocol.header() + payload.len();
        self.0.clear();
        self.0.extend(STATIONS);
        if flow.is_v6 {
            self.ipv6(flow, segment);
        } else {
            self.ipv4(flow, segment, number);
        }
        self.transport(flow, payload);
    }

    fn ipv4(&mut self, flow: &Flow, segment: usize, number: u64) {
        let (addresses, _) = flow.addresses();
        let protocol = flow.protocol.number(false);
        let [.., id_high, id_low] = number.to_be_bytes();
        self.0.extend([8, 0, 0x45, 0]);
        self.0.extend(be16(IPV4 + segment));
        // Do not fragment; 64 hops.
        self.0
            .extend([id_high, id_low, 0x40, 0, 64, protocol, 0, 0]);
        self.0.extend(&addresses[..8]);
        let checksum = finish(sum(&self.0[ETHERNET..]));
        self.0[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&checksum.to_be_bytes());
    }

    fn ipv6(&mut self, flow: &Flow, segment: usize) {
        let (addresses, _) = flow.addresses();
        self.0.extend([0x86, 0xDD, 0x60, 0, 0, 0]);
        self.0.extend(be16(segment));
        self.0.extend([flow.protocol.number(true), 64]);
        self.0.extend(addresses);
    }

    fn transport(&mut self, flow: &mut Flow, payload: &[u8]) {
        let start = self.0.len();
        let segment = flow.protocol.header() + payload.len();
        let source = 40_000 + u16::from(flow.number);
        let destination = 50_000 + u16::from(flow.number % 8);
        match flow.protocol {
            Protocol::Udp => {
                self.0.extend(source.to_be_bytes());
                self.0.extend(destination.to_be_bytes());
                self.0.extend(be16(segment));
                self.0.extend([0, 0]);
            }
            Protocol::Tcp => {
                self.0.extend(source.to_be_bytes());
                self.0.extend(destination.to_be_bytes());
                self.0.extend(flow.next.to_be_bytes());
                // Acknowledges 1; five words of header, PSH and ACK; a full window.
                self.0
                    .extend([0, 0, 0, 1, 0x50, 0x18, 0xFF, 0xFF, 0, 0, 0, 0]);
                let sent = u32::try_from(payload.len()).expect("a segment's length");
                flow.next = flow.next.wrapping_add(sent);
            }
            Protocol::Echo => {
                let [.., high, low] = flow.next.to_be_bytes();
                let request = if flow.is_v6 { 128 } else { 8 };
                self.0.extend([request, 0, 0, 0, 0, flow.number, high, low]);
                flow.next = flow.next.wrapping_add(1);
            }
        }
        self.0.extend(payload);
        let mut total = sum(&self.0[start..]);
        if flow.protocol != Protocol::Echo || flow.is_v6 {
            let (addresses, length) = flow.addresses();
            total += sum(&addresses[..length])
                + u64::from(flow.protocol.number(flow.is_v6))
                + segment as u64;
        }
        let checksum = match (finish(total), flow.protocol) {
            (0, Protocol::Udp) => 0xFFFF, // 0 says that there is none
            (checksum, _) => checksum,
        };
        let at = start + flow.protocol.checksum_at();
        self.0[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}

fn be16(length: usize) -> [u8; 2] {
    let length = u16::try_from(length).expect("a packet's length");
    length.to_be_bytes()
}

/// The 16-bit words of `bytes` added up, an odd last byte being the high one (RFC 1071).
fn sum(bytes: &[u8]) -> u64 {
    let (words, odd) = bytes.as_chunks::<2>();
    let whole: u64 = words
        .iter()
        .map(|word| u64::from(u16::from_be_bytes(*word)))
        .sum();
    whole + odd.first().map_or(0, |byte| u64::from(*byte) << 8)
}

/// The complement of a sum whose carries are added in again.
fn finish(sum: u64) -> u16 {
    let mut sum = sum;
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !u16::try_from(sum).expect("carries are folded")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 1071 section 3: the words sum up to ddf2.
    #[test]
    fn the_published_sum() {
        let bytes = [0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7];
        assert_eq!(finish(sum(&bytes)), !0xDDF2);
        assert_eq!(sum(&[1, 2, 3]), 0x0102 + 0x0300);
        assert_eq!(finish(0), 0xFFFF);
        assert_eq!(finish(0xFFFF), 0);
    }

    #[test]
    fn frames_have_their_length_or_that_of_their_headers() {
        for number in 0..64 {
            let mut flow = Flow::new(number);
            let mut frame = Frame::default();
            for (length, least) in [(60, 42), (572, 572), (1496, 1496)] {
                frame.build(&mut flow, length, 7, &[0xA5; 1496]);
                let exact = usize::try_from(length).unwrap();
                let most = if least == 42 { 74 } else { exact };
                assert!((exact..=most).contains(&frame.bytes().len()));
            }
        }
    }
}
