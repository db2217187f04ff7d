//! Packet records of pcap files (draft-ietf-opsawg-pcap, pcap-savefile(5)).
//!
//! | header, 24 bytes | | record, 16 bytes and the packet | |
//! | --- | --- | --- | --- |
//! | 0 | magic `u32` | 0 | seconds `u32` |
//! | 4 | version: major, minor `u16` | 4 | micro- or nanoseconds `u32` |
//! | 8 | two unused `u32` | 8 | captured length `u32` |
//! | 16 | snap length `u32` | 12 | wire length `u32` |
//! | 20 | link type, low 16 bits of a `u32` | | |
//!
//! It refuses versions other than 2.4 (in earlier ones the two lengths are swapped) and records
//! longer than libpcap takes.

use std::collections::BTreeSet;
use std::io::BufRead;

use super::source::{Broken, Part, Place, Source, u16_at, u32_at};
use super::{Format, Scan};

/// How the numbers of a file are written and its times are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    big_endian: bool,
    format: Format,
}

impl Dialect {
    /// The dialect of a file with this magic.
    pub(super) fn of(magic: [u8; 4]) -> Option<Self> {
        let (big_endian, format) = match magic {
            [0xD4, 0xC3, 0xB2, 0xA1] => (false, Format::PcapMicro),
            [0xA1, 0xB2, 0xC3, 0xD4] => (true, Format::PcapMicro),
            [0x4D, 0x3C, 0xB2, 0xA1] => (false, Format::PcapNano),
            [0xA1, 0xB2, 0x3C, 0x4D] => (true, Format::PcapNano),
            _ => return None,
        };
        Some(Self { big_endian, format })
    }
}

/// Longest packet that libpcap takes from a file of this link type, bytes.
fn longest(link: u16) -> u32 {
    match link {
        231 | 249 => 128 << 20, // D-Bus, USBPcap
        279 => 8 << 20,         // Elektrobit high speed capture
        _ => 256 << 10,
    }
}

/// Reads at most `limit` records behind the magic.
pub(super) fn scan(
    mut source: Source<impl BufRead>,
    dialect: Dialect,
    limit: u64,
) -> Result<Scan, Broken> {
    let big_endian = dialect.big_endian;
    let header: [u8; 20] = source.array(Place {
        part: Part::Header,
        offset: 0,
    })?;
    let version = (
        u16_at(&header, 0, big_endian),
        u16_at(&header, 2, big_endian),
    );
    if version != (2, 4) {
        return Err(Broken::Version(version.0, version.1));
    }
    // The upper half says whether there is an FCS, and how long.
    let link = u16_at(&header, if big_endian { 18 } else { 16 }, big_endian);
    let mut units = 0;
    while units < limit {
        let place = Place {
            part: Part::Record(units + 1),
            offset: source.offset(),
        };
        let Some(record) = source.next::<16>(place)? else {
            break;
        };
        let captured = u32_at(&record, 8, big_endian);
        if captured > longest(link) {
            return Err(Broken::Contradiction {
                place,
                what: format!(
                    "a captured length of {captured} bytes; at most {} are taken of link type {link}",
                    longest(link)
                ),
            });
        }
        source.skip(captured.into(), place)?;
        units += 1;
    }
    Ok(Scan {
        units,
        format: dialect.format,
        links: BTreeSet::from([link]),
        end: source.offset(),
        section_lengths: Vec::new(),
    })
}
