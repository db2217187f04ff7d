//! Capture files as work: the harness's own reader, which says how many packets a file holds before
//! any program is believed, the short input that shows what starting costs, and input files the
//! harness writes itself.
//!
//! It shares no code with the programs that are measured: records are counted from the bytes, pcap
//! in [`classic`] and pcapng in [`pcapng`], and no packet is looked into. It is strict: a file is
//! counted whole or refused with the record and byte where it breaks. A file cut exactly between
//! two records cannot be told from a shorter one and is valid.

pub mod classic;
pub mod pcapng;
mod source;
pub mod standard;

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use wiretrial_contract::failure::Failure;

use source::Source;
pub use source::{Broken, Part, Place};
pub use standard::{Standard, parse_standard};

/// Bytes read at a time.
const BUFFER: usize = 1 << 17;

/// What is in a capture file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// Packet records; at least one.
    pub units: u64,
    /// How they are framed.
    pub format: Format,
    /// Link types it names, by their number in capture files (pcap-linktype(7)).
    pub links: BTreeSet<u16>,
}

/// How packets are framed in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// pcap with time stamps in microseconds.
    PcapMicro,
    /// pcap with time stamps in nanoseconds.
    PcapNano,
    /// pcapng.
    Pcapng,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PcapMicro => "pcap, microseconds",
            Self::PcapNano => "pcap, nanoseconds",
            Self::Pcapng => "pcapng",
        })
    }
}

/// What a reader has found up to where it stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Scan {
    units: u64,
    format: Format,
    links: BTreeSet<u16>,
    /// Byte behind the last record or block that was read.
    end: u64,
    /// Where pcapng sections say how long they are, 8 bytes each.
    section_lengths: Vec<u64>,
}

/// Counts the packet records of a capture file.
///
/// # Errors
///
/// A usage failure that names the file: it is not there, is no capture file, breaks at a record, or
/// holds no packets.
pub fn count(path: &Path) -> Result<Counted, Failure> {
    let scan = scan_file(path, u64::MAX)?;
    Ok(Counted {
        units: scan.units,
        format: scan.format,
        links: scan.links,
    })
}

/// Writes the first `packets` packet records of a capture file as a file of the same format, bytes
/// as they are, with every header and block in front of them. Gives the number written, which is
/// lower when the file has fewer. Only the lengths of pcapng sections are changed, to unknown, since
/// the last one is cut. A file at `to` is replaced; a failure leaves none.
///
/// # Errors
///
/// As [`count`], up to the last of these records; a usage failure when both are one file, which is left
/// as it is; and a host failure when `to` cannot be written.
pub fn write_short(path: &Path, to: &Path, packets: u64) -> Result<u64, Failure> {
    let scan = scan_file(path, packets.max(1))?;
    let input = open(path)?;
    if let (Ok(from), Ok(over)) = (input.metadata(), fs::metadata(to))
        && (from.dev(), from.ino()) == (over.dev(), over.ino())
    {
        let name = path.display();
        return Err(Failure::usage(format!(
            "{name} cannot be shortened onto itself; write to another file"
        )));
    }
    create(to, |out| {
        let copied = io::copy(&mut input.take(scan.end), out)?;
        if copied < scan.end {
            return Err(io::Error::other("the input became shorter meanwhile"));
        }
        for at in &scan.section_lengths {
            out.seek(SeekFrom::Start(*at))?;
            out.write_all(&pcapng::UNKNOWN_LENGTH)?;
        }
        Ok(())
    })?;
    Ok(scan.units)
}

fn scan_file(path: &Path, limit: u64) -> Result<Scan, Failure> {
    let refuse = |broken: Broken| Failure::usage(format!("{}: {broken}", path.display()));
    let reader = BufReader::with_capacity(BUFFER, open(path)?);
    let scan = scan(reader, limit).map_err(refuse)?;
    if scan.units == 0 {
        return Err(refuse(Broken::NoPackets));
    }
    Ok(scan)
}

/// Reads at most `limit` packets of a file in any format.
fn scan(reader: impl io::BufRead, limit: u64) -> Result<Scan, Broken> {
    let mut source = Source::new(reader);
    let header = Place {
        part: Part::Header,
        offset: 0,
    };
    let first = source.next(header)?.ok_or(Broken::Empty)?;
    if let Some(dialect) = classic::Dialect::of(first) {
        classic::scan(source, dialect, limit)
    } else if first == pcapng::SECTION {
        pcapng::scan(source, limit)
    } else {
        Err(Broken::NotACapture(first))
    }
}

fn open(path: &Path) -> Result<File, Failure> {
    let refuse =
        |error: io::Error| Failure::usage(format!("cannot open {}: {error}", path.display()));
    let kind = fs::metadata(path).map_err(refuse)?.file_type();
    if kind.is_dir() {
        return Err(refuse(io::ErrorKind::IsADirectory.into()));
    }
    // Opening a pipe would wait for somebody who writes.
    if !kind.is_file() {
        let name = path.display();
        return Err(Failure::usage(format!(
            "{name} is no regular file; write what it gives to one first"
        )));
    }
    File::open(path).map_err(refuse)
}

/// Writes a file, or leaves none.
fn create(
    to: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), Failure> {
    let written = || {
        let mut out = BufWriter::with_capacity(BUFFER, File::create(to)?);
        write(&mut out)?;
        out.flush()
    };
    written().map_err(|error| {
        // What is there of it is of no use; when it cannot be removed either, the sentence is the
        // same.
        let _ = fs::remove_file(to);
        Failure::host(format!("cannot write {}: {error}", to.display()))
    })
}

#[cfg(test)]
mod tests;
