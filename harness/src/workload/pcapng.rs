//! Packet blocks of pcapng files (draft-ietf-opsawg-pcapng).
//!
//! A file is a row of blocks: type `u32`, total length `u32`, body, total length again. A section
//! header starts a section with a byte order and interfaces of its own. Packets are in enhanced (6),
//! simple (3) and the obsolete packet blocks (2); every other block is passed over.
//!
//! It refuses lengths that contradict each other, packets of an interface that was not described,
//! and blocks longer than libpcap takes. The length a section gives itself is not looked at, as
//! other readers do not either.

use std::collections::BTreeSet;
use std::io::BufRead;

use super::source::{Broken, Part, Place, Source, u16_at, u32_at};
use super::{Format, Scan};

/// The first bytes of a section header in either byte order.
pub(super) const SECTION: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];
/// A section's length when it is not known.
pub(super) const UNKNOWN_LENGTH: [u8; 8] = [0xFF; 8];

/// Longest block that libpcap takes, bytes.
const LONGEST: u32 = 16 << 20;

const INTERFACE: u32 = 1;
const OBSOLETE: u32 = 2;
const SIMPLE: u32 = 3;
const ENHANCED: u32 = 6;

/// Reads at most `limit` packet blocks behind the first four bytes, which are [`SECTION`].
pub(super) fn scan(source: Source<impl BufRead>, limit: u64) -> Result<Scan, Broken> {
    let mut walk = Walk {
        source,
        units: 0,
        big_endian: false,
        snap_lengths: Vec::new(),
        links: BTreeSet::new(),
        section_lengths: Vec::new(),
    };
    walk.block(SECTION, 0)?;
    while walk.units < limit {
        let place = Place {
            part: Part::Before(walk.units + 1),
            offset: walk.source.offset(),
        };
        let Some(kind) = walk.source.next(place)? else {
            break;
        };
        walk.block(kind, place.offset)?;
    }
    Ok(Scan {
        units: walk.units,
        format: Format::Pcapng,
        links: walk.links,
        end: walk.source.offset(),
        section_lengths: walk.section_lengths,
    })
}

struct Walk<R> {
    source: Source<R>,
    units: u64,
    big_endian: bool,
    /// Of each interface of the section, 0 for none.
    snap_lengths: Vec<u32>,
    links: BTreeSet<u16>,
    section_lengths: Vec<u64>,
}

impl<R: BufRead> Walk<R> {
    /// Reads one block of which the first four bytes have been read.
    fn block(&mut self, kind: [u8; 4], offset: u64) -> Result<(), Broken> {
        let mut place = Place {
            part: Part::Before(self.units + 1),
            offset,
        };
        let total: [u8; 4] = self.source.array(place)?;
        if kind == SECTION {
            return self.section(total, place);
        }
        let kind = u32_at(&kind, 0, self.big_endian);
        let is_packet = matches!(kind, ENHANCED | SIMPLE | OBSOLETE);
        if is_packet {
            place.part = Part::Record(self.units + 1);
        }
        let fixed = match kind {
            INTERFACE => 8,
            SIMPLE => 4,
            ENHANCED | OBSOLETE => 20,
            _ => 0,
        };
        let body = self.body_len(total, fixed, place)?;
        match kind {
            INTERFACE => {
                let fields: [u8; 8] = self.source.array(place)?;
                self.links.insert(u16_at(&fields, 0, self.big_endian));
                self.snap_lengths.push(u32_at(&fields, 4, self.big_endian));
            }
            SIMPLE => {
                let fields: [u8; 4] = self.source.array(place)?;
                let snap_length = self.interface(0, place)?;
                let wire_len = u32_at(&fields, 0, self.big_endian);
                let captured = if snap_length == 0 {
                    wire_len
                } else {
                    wire_len.min(snap_length)
                };
                fits(captured, body - fixed, place)?;
            }
            ENHANCED | OBSOLETE => {
                let fields: [u8; 20] = self.source.array(place)?;
                let interface = if kind == ENHANCED {
                    u32_at(&fields, 0, self.big_endian)
                } else {
                    u16_at(&fields, 0, self.big_endian).into()
                };
                self.interface(interface, place)?;
                fits(u32_at(&fields, 12, self.big_endian), body - fixed, place)?;
            }
            _ => {}
        }
        self.rest(body - fixed, total, place)?;
        self.units += u64::from(is_packet);
        Ok(())
    }

    fn section(&mut self, total: [u8; 4], place: Place) -> Result<(), Broken> {
        let fields: [u8; 16] = self.source.array(place)?;
        self.big_endian = match fields[..4] {
            [0x1A, 0x2B, 0x3C, 0x4D] => true,
            [0x4D, 0x3C, 0x2B, 0x1A] => false,
            _ => {
                let what = "no byte-order magic in the section header".into();
                return Err(Broken::Contradiction { place, what });
            }
        };
        let major = u16_at(&fields, 4, self.big_endian);
        if major != 1 {
            return Err(Broken::Version(major, u16_at(&fields, 6, self.big_endian)));
        }
        self.snap_lengths.clear();
        self.section_lengths.push(place.offset + 16);
        let body = self.body_len(total, 16, place)?;
        self.rest(body - 16, total, place)
    }

    /// Bytes between the two total lengths, at least `fixed`.
    fn body_len(&self, total: [u8; 4], fixed: u32, place: Place) -> Result<u32, Broken> {
        let total = u32_at(&total, 0, self.big_endian);
        let least = 12 + fixed;
        if (least..=LONGEST).contains(&total) && total.is_multiple_of(4) {
            return Ok(total - 12);
        }
        Err(Broken::Contradiction {
            place,
            what: format!(
                "a block length of {total}; it must be a multiple of 4 from {least} to {LONGEST}"
            ),
        })
    }

    /// The snap length of an interface.
    fn interface(&self, number: u32, place: Place) -> Result<u32, Broken> {
        let index = usize::try_from(number).ok();
        let found = index.and_then(|index| self.snap_lengths.get(index));
        found.copied().ok_or_else(|| Broken::Contradiction {
            place,
            what: format!(
                "it is of interface {number}; the section has described {}",
                self.snap_lengths.len()
            ),
        })
    }

    /// Passes over the rest of a block and checks its second length.
    fn rest(&mut self, body: u32, total: [u8; 4], place: Place) -> Result<(), Broken> {
        self.source.skip(body.into(), place)?;
        let again: [u8; 4] = self.source.array(place)?;
        if again == total {
            return Ok(());
        }
        Err(Broken::Contradiction {
            place,
            what: format!(
                "its two lengths are {} and {}",
                u32_at(&total, 0, self.big_endian),
                u32_at(&again, 0, self.big_endian)
            ),
        })
    }
}

/// Whether that many packet bytes fit the rest of the block.
fn fits(captured: u32, rest: u32, place: Place) -> Result<(), Broken> {
    if captured <= rest {
        return Ok(());
    }
    Err(Broken::Contradiction {
        place,
        what: format!("a captured length of {captured} in a block with room for {rest}"),
    })
}
