//! Input files the harness writes itself, so that a comparison needs no capture of the user's: the
//! same bytes for the same name, number and seed, on every machine.
//!
//! `mix` is pcap, little endian, nanoseconds, Ethernet. Of each 12 packets 7 are frames of 64 bytes,
//! 4 of 576 and 1 of 1500, FCS included (so 60, 572 and 1496 are in the file), in drawn order; an
//! IPv6 packet whose headers alone are longer is as long as they are. They belong to 64 flows, the
//! first ones busier than the last: half UDP, four in ten TCP, the others ICMP echo requests; one in
//! seven is IPv6. Addresses are those kept for benchmarks (RFC 2544 appendix C, RFC 5180), payloads
//! are random, times go up by 1 ns to 20 us, and every checksum is right.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use wiretrial_contract::failure::Failure;
use wiretrial_contract::units::{Count, FCS};
use wiretrial_stats::random::{Purpose, Stream, stream_seed};

use super::create;

mod frame;

use frame::{Flow, Frame};

/// Fewest packets of a standard input.
pub const LEAST: u64 = 100;
/// Most packets of a standard input: 3.5 GB of `mix`.
pub const MOST: u64 = 10_000_000;

const UNSAID: u64 = 100_000;
const PREFIX: &str = "standard:";
const FLOWS: u8 = 64;
const START_S: u64 = 1_700_000_000;
const MOST_GAP_NS: u64 = 20_000;
/// Frames of a dozen, with FCS.
const DOZEN: [u32; 12] = [64, 64, 64, 64, 64, 64, 64, 576, 576, 576, 576, 1500];
/// Random bytes from which payloads are taken; the longest fits behind any of its first ones.
const POOL: usize = 8192;
const LONGEST_PAYLOAD: usize = 1496;

/// What kind of packets a standard input holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Short and long packets of several flows and protocols.
    Mix,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 1] = [Self::Mix];

    /// Its name in campaign files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mix => "mix",
        }
    }
}

/// A standard input by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standard {
    /// What it holds.
    pub kind: Kind,
    /// Packets, [`LEAST`] to [`MOST`].
    pub packets: u64,
}

impl fmt::Display for Standard {
    /// As campaign files name it: `standard:mix/100k`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}/{}", self.kind.name(), Count(self.packets))
    }
}

/// The standard input a text names, or `None` when it is the path of a file: `mix`, `mix/1M`, or
/// either behind `standard:`; 100k packets where the text does not say. A file of that name is
/// reached as `./mix`.
///
/// # Errors
///
/// A usage failure: no such kind behind `standard:`, or a number that is none or out of range.
#[must_use]
pub fn parse_standard(text: &str) -> Option<Result<Standard, Failure>> {
    let (said, name) = match text.strip_prefix(PREFIX) {
        Some(name) => (true, name),
        None => (false, text),
    };
    let (kind, packets) = match name.split_once('/') {
        Some((kind, packets)) => (kind, packets.parse::<Count>()),
        None => (name, Ok(Count(UNSAID))),
    };
    let kind = Kind::ALL.into_iter().find(|known| known.name() == kind);
    match (kind, packets) {
        (Some(kind), Ok(Count(packets @ LEAST..=MOST))) => Some(Ok(Standard { kind, packets })),
        (Some(_), Ok(Count(packets))) => Some(Err(Failure::usage(format!(
            "{text} has {packets} packets; it must be {LEAST} to {MOST}"
        )))),
        (None | Some(_), _) if !said => None,
        (None, _) => Some(Err(Failure::usage(format!(
            "no standard input \"{name}\"; there is {}",
            Kind::ALL.map(Kind::name).join(", ")
        )))),
        (Some(_), Err(error)) => Some(Err(Failure::usage(format!("{text}: {error}")))),
    }
}

impl Standard {
    /// Writes it to a file, which is replaced; a failure leaves none.
    ///
    /// # Errors
    ///
    /// A host failure when the file cannot be written.
    pub fn write(&self, seed: u64, to: &Path) -> Result<(), Failure> {
        create(to, |out| self.write_to(seed, out))
    }

    /// Writes its bytes.
    ///
    /// # Errors
    ///
    /// That of `out`.
    pub fn write_to(&self, seed: u64, out: &mut impl Write) -> io::Result<()> {
        let mut draws = Stream::new(stream_seed(Purpose::Workload, self.kind.name(), seed));
        let pool: Vec<u8> = (0..POOL / 8)
            .flat_map(|_| draws.draw().to_le_bytes())
            .collect();
        let mut flows: Vec<Flow> = (0..FLOWS).map(Flow::new).collect();
        let mut frame = Frame::default();
        let mut time_ns = START_S * 1_000_000_000;
        let mut sizes = DOZEN;
        out.write_all(&HEADER)?;
        for number in 0..self.packets {
            let of_dozen = index(number % DOZEN.len() as u64);
            if of_dozen == 0 {
                shuffle(&mut sizes, &mut draws);
            }
            let flow = [(); 2].map(|()| draws.below(FLOWS.into()));
            let flow = &mut flows[index(flow[0].min(flow[1]))];
            let from = index(draws.below((POOL - LONGEST_PAYLOAD) as u64));
            frame.build(flow, sizes[of_dozen] - FCS, number, &pool[from..]);
            time_ns += 1 + draws.below(MOST_GAP_NS);
            let bytes = frame.bytes();
            let seconds = number_of(time_ns / 1_000_000_000);
            let length = number_of(bytes.len() as u64);
            for value in [seconds, number_of(time_ns % 1_000_000_000), length, length] {
                out.write_all(&value.to_le_bytes())?;
            }
            out.write_all(bytes)?;
        }
        Ok(())
    }
}

/// The file header, see [`super::classic`]: version 2.4, snap length 65535, Ethernet.
const HEADER: [u8; 24] = [
    0x4D, 0x3C, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 1, 0, 0, 0,
];

/// Fisher and Yates, from the end.
fn shuffle(sizes: &mut [u32], draws: &mut Stream) {
    for last in (1..sizes.len()).rev() {
        sizes.swap(last, index(draws.below(last as u64 + 1)));
    }
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("below the length of a table")
}

fn number_of(value: u64) -> u32 {
    u32::try_from(value).expect("seconds are far below 2^32 and lengths end at 1496")
}
