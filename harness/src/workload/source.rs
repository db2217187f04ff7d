//! Bytes of a capture file in order, with their place, and why a file is refused.

use std::fmt;
use std::io::{self, BufRead};

/// Why a file is no whole capture file. The sentence goes behind the file's name.
#[derive(Debug)]
#[non_exhaustive]
pub enum Broken {
    /// Not a byte in it.
    Empty,
    /// Its first bytes are those of no format that is read.
    NotACapture([u8; 4]),
    /// A version of the format that is not read: major and minor.
    Version(u16, u16),
    /// It ends inside a header or a packet record.
    Cut {
        /// What it ends in.
        place: Place,
        /// Bytes that are needed from there on.
        needed: u64,
        /// Bytes there are.
        found: u64,
    },
    /// A length or a reference in it contradicts another.
    Contradiction {
        /// Where.
        place: Place,
        /// What, with the value.
        what: String,
    },
    /// It is whole and holds no packet.
    NoPackets,
    /// Reading it failed.
    Read(io::Error),
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// What is there.
    pub part: Part,
    /// Byte where it starts, from 0.
    pub offset: u64,
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The header of the file.
    Header,
    /// The packet record of this number, from 1.
    Record(u64),
    /// A pcapng block that is no packet, or not yet known to be one, in front of that record.
    Before(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Part::Header => f.write_str("file header")?,
            Part::Record(record) => write!(f, "packet record {record}")?,
            Part::Before(record) => write!(f, "block in front of packet record {record}")?,
        }
        write!(f, " at byte {}", self.offset)
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the file is empty; give a pcap or pcapng file"),
            Self::NotACapture(first) => {
                let [a, b, c, d] = first;
                write!(
                    f,
                    "not a capture file: it begins with {a:02x} {b:02x} {c:02x} {d:02x}"
                )?;
                f.write_str(advice(*first))
            }
            Self::Version(major, minor) => write!(
                f,
                "version {major}.{minor} of the format is not read; rewrite it with editcap"
            ),
            Self::Cut {
                place,
                needed,
                found,
            } => write!(
                f,
                "{place} is cut: {found} of {needed} bytes are there; editcap IN OUT keeps the \
                 whole ones"
            ),
            Self::Contradiction { place, what } => write!(f, "{place} is broken: {what}"),
            Self::NoPackets => f.write_str("no packets in it; give a file with at least one"),
            Self::Read(error) => write!(f, "cannot be read: {error}"),
        }
    }
}

/// What a file is that begins like this, and what to do.
fn advice(first: [u8; 4]) -> &'static str {
    match first {
        [0x1F, 0x8B, ..] => " (gzip); unpack it with gunzip",
        [0x28, 0xB5, 0x2F, 0xFD] => " (zstd); unpack it with unzstd",
        [0xFD, b'7', b'z', b'X'] => " (xz); unpack it with unxz",
        [b'B', b'Z', b'h', _] => " (bzip2); unpack it with bunzip2",
        [b's', b'n', b'o', b'o'] => " (snoop); convert it with editcap -F pcapng",
        [0x34, 0xCD, 0xB2, 0xA1] | [0xA1, 0xB2, 0xCD, 0x34] => {
            " (modified pcap of patched kernels); convert it with editcap -F pcapng"
        }
        _ => "; give a pcap or pcapng file",
    }
}

/// A file read from its start to its end.
#[derive(Debug)]
pub(super) struct Source<R> {
    reader: R,
    offset: u64,
}

impl<R: BufRead> Source<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, offset: 0 }
    }

    /// Bytes read so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The next bytes, of which `place` needs all.
    pub(super) fn array<const N: usize>(&mut self, place: Place) -> Result<[u8; N], Broken> {
        self.next(place)?.ok_or_else(|| self.cut(place, N as u64))
    }

    /// The next bytes, or `None` where the file ends in front of them.
    pub(super) fn next<const N: usize>(&mut self, place: Place) -> Result<Option<[u8; N]>, Broken> {
        let mut bytes = [0; N];
        let mut filled = 0;
        while filled < N {
            let there = self.there()?;
            let step = there.len().min(N - filled);
            if step == 0 {
                break;
            }
            bytes[filled..filled + step].copy_from_slice(&there[..step]);
            self.consume(step);
            filled += step;
        }
        match filled {
            0 => Ok(None),
            filled if filled == N => Ok(Some(bytes)),
            filled => Err(self.cut(place, (N - filled) as u64)),
        }
    }

    /// Passes over `count` bytes, of which `place` needs all.
    pub(super) fn skip(&mut self, count: u64, place: Place) -> Result<(), Broken> {
        let mut left = count;
        while left > 0 {
            let there = self.there()?.len();
            if there == 0 {
                return Err(self.cut(place, left));
            }
            let step = usize::try_from(left).map_or(there, |left| left.min(there));
            self.consume(step);
            left -= step as u64;
        }
        Ok(())
    }

    /// Bytes that are at hand; none at the end of the file.
    fn there(&mut self) -> Result<&[u8], Broken> {
        loop {
            match self.reader.fill_buf() {
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Broken::Read(error)),
            }
        }
        // Borrowed again, since a borrow that is returned from a loop lasts through it; nothing is
        // read twice.
        self.reader.fill_buf().map_err(Broken::Read)
    }

    fn consume(&mut self, bytes: usize) {
        self.reader.consume(bytes);
        self.offset += bytes as u64;
    }

    fn cut(&self, place: Place, missing: u64) -> Broken {
        let found = self.offset - place.offset;
        Broken::Cut {
            place,
            needed: found + missing,
            found,
        }
    }
}

/// A 16-bit number of a file in its byte order.
pub(super) fn u16_at(bytes: &[u8], at: usize, big_endian: bool) -> u16 {
    let bytes = *bytes[at..].first_chunk().expect("a field of a fixed part");
    if big_endian {
        u16::from_be_bytes(bytes)
    } else {
        u16::from_le_bytes(bytes)
    }
}

/// A 32-bit number of a file in its byte order.
pub(super) fn u32_at(bytes: &[u8], at: usize, big_endian: bool) -> u32 {
    let bytes = *bytes[at..].first_chunk().expect("a field of a fixed part");
    if big_endian {
        u32::from_be_bytes(bytes)
    } else {
        u32::from_le_bytes(bytes)
    }
}
