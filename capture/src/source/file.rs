//! Frames from a capture file, through libpcap: pcap and pcapng, either byte order, time stamps in
//! microseconds or nanoseconds.
//!
//! It refuses what is no capture file, and a record that cannot be read is an error with its
//! number. Invariant: [`Savefile::dispatch`] says that the file has ended only where its last byte
//! belongs to a whole record or block, and after an error it never does.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use pcap::{Capture, Offline};

use super::words;
use crate::frame::{Frame, LinkType};

/// Why a capture file cannot be opened or read on. Every message names the file, without its
/// folder.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// The file is not there or may not be read.
    Open {
        /// The file's name.
        file: String,
        /// The refusal.
        cause: io::Error,
    },
    /// Its start is not that of a capture file.
    Format {
        /// The file's name.
        file: String,
        /// libpcap's words.
        cause: String,
    },
    /// A record is cut short, contradicts itself, or could not be read.
    Record {
        /// The file's name.
        file: String,
        /// Number of the packet record, from 1.
        record: u64,
        /// libpcap's words.
        cause: String,
    },
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { file, cause } => write!(f, "cannot open {file}: {cause}"),
            Self::Format { file, cause } => {
                write!(
                    f,
                    "{file} is not a capture file that libpcap reads: {cause}"
                )
            }
            Self::Record {
                file,
                record,
                cause,
            } => write!(f, "cannot read packet record {record} of {file}: {cause}"),
        }
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Open { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

/// An open capture file.
pub struct Savefile {
    capture: Capture<Offline>,
    name: String,
    link_type: LinkType,
    records: u64,
    /// What stopped the reading for good.
    broken: Option<String>,
}

impl fmt::Debug for Savefile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Savefile")
            .field("name", &self.name)
            .field("link_type", &self.link_type)
            .field("records", &self.records)
            .finish_non_exhaustive()
    }
}

impl Savefile {
    /// Opens a capture file and reads its header.
    ///
    /// # Errors
    ///
    /// [`FileError::Open`] and [`FileError::Format`].
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let name = path.file_name().unwrap_or(path.as_os_str());
        let name = name.to_string_lossy().into_owned();
        let refused = |cause| FileError::Open {
            file: name.clone(),
            cause,
        };
        // Opened here first, so that the refusal is the kernel's and libpcap gets neither a name
        // that is not UTF-8, which its binding cannot pass on, nor "-", which it takes for
        // standard input.
        let file = File::open(path).map_err(refused)?;
        if file.metadata().map_err(refused)?.is_dir() {
            return Err(refused(io::ErrorKind::IsADirectory.into()));
        }
        let same = format!("/proc/self/fd/{}", file.as_raw_fd());
        let capture = Capture::from_file_with_precision(same, pcap::Precision::Nano);
        let capture = capture.map_err(|error| FileError::Format {
            file: name.clone(),
            cause: words(error),
        })?;
        Ok(Self {
            link_type: LinkType(capture.get_datalink().0),
            capture,
            name,
            records: 0,
            broken: None,
        })
    }

    /// Reads frames and hands each to `handler`, at most `count` of them; `None` means all that are
    /// left. Gives the number handed over: 0 when the file has ended, and only then, unless `count`
    /// is 0.
    ///
    /// A frame's bytes are valid only inside the call, and at most the file's snap length of them
    /// are handed over. Its wire length and time stamp are as the file has them.
    ///
    /// # Errors
    ///
    /// [`FileError::Record`], behind the frames that could be read; again whenever it is called
    /// after that.
    #[inline]
    pub fn dispatch(
        &mut self,
        count: Option<usize>,
        mut handler: impl FnMut(&Frame<'_>),
    ) -> Result<u64, FileError> {
        if let Some(cause) = &self.broken {
            return Err(self.record_error(cause.clone()));
        }
        let link_type = self.link_type;
        let mut frames = 0;
        let result = self.capture.dispatch(count, |packet| {
            frames += 1;
            let ts = &packet.header.ts;
            handler(&Frame {
                bytes: packet.data,
                wire_len: packet.header.len,
                time_ns: time_ns(ts.tv_sec, ts.tv_usec),
                link_type,
            });
        });
        self.records += frames;
        match result {
            Ok(_) => Ok(frames),
            Err(error) => {
                let cause = words(error);
                self.broken = Some(cause.clone());
                Err(self.record_error(cause))
            }
        }
    }

    /// How the first header of its frames is to be read. A pcapng file whose interfaces differ in
    /// it is an error at the second one.
    #[must_use]
    pub fn link_type(&self) -> LinkType {
        self.link_type
    }

    /// Packet records read so far.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    fn record_error(&self, cause: String) -> FileError {
        FileError::Record {
            file: self.name.clone(),
            record: self.records + 1,
            cause,
        }
    }
}

/// Seconds and nanoseconds as one number. The seconds of a pcap file are 32 bits without a sign;
/// libpcap 1.10 reads them with one. What exceeds 64 bits, as hostile files have it, wraps.
#[inline]
const fn time_ns(seconds: i64, nanoseconds: i64) -> u64 {
    let seconds = match seconds {
        -0x8000_0000..0 => seconds + 0x1_0000_0000,
        other => other,
    };
    seconds
        .cast_unsigned()
        .wrapping_mul(1_000_000_000)
        .wrapping_add(nanoseconds.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::*;

    /// A frame of which nothing is borrowed: bytes, wire length, time.
    type Kept = (Vec<u8>, u32, u64);

    fn with_file<T>(bytes: &[u8], body: impl FnOnce(&Path) -> T) -> T {
        let folder = tempfile::tempdir().unwrap();
        let path: PathBuf = folder.path().join("in.pcap");
        std::fs::write(&path, bytes).unwrap();
        body(&path)
    }

    fn read(bytes: &[u8]) -> Result<Vec<Kept>, FileError> {
        with_file(bytes, |path| {
            let mut kept = Vec::new();
            let mut file = Savefile::open(path)?;
            while file.dispatch(Some(3), |frame| {
                kept.push((frame.bytes.to_vec(), frame.wire_len, frame.time_ns));
            })? > 0
            {}
            assert_eq!(file.records(), kept.len() as u64);
            Ok(kept)
        })
    }

    fn word(big: bool, value: u32) -> [u8; 4] {
        if big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    /// A pcap file of Ethernet frames: seconds, fraction, wire length, bytes.
    fn pcap(big: bool, magic: u32, records: &[(u32, u32, u32, &[u8])]) -> Vec<u8> {
        let mut out = word(big, magic).to_vec();
        let version = if big { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
        out.extend(version);
        for value in [0, 0, 65_535, 1] {
            out.extend(word(big, value));
        }
        for (seconds, fraction, wire_len, bytes) in records {
            let kept = u32::try_from(bytes.len()).unwrap();
            for value in [*seconds, *fraction, kept, *wire_len] {
                out.extend(word(big, value));
            }
            out.extend(*bytes);
        }
        out
    }

    fn block(big: bool, kind: u32, body: &[u8]) -> Vec<u8> {
        let padded = body.len().next_multiple_of(4);
        let total = word(big, u32::try_from(padded + 12).unwrap());
        let mut out = word(big, kind).to_vec();
        out.extend(total);
        out.extend(body);
        out.resize(8 + padded, 0);
        out.extend(total);
        out
    }

    /// A pcapng file with one Ethernet interface that counts microseconds.
    fn pcapng(big: bool, packets: &[(u64, u32, &[u8])]) -> Vec<u8> {
        let mut section = word(big, 0x1A2B_3C4D).to_vec();
        section.extend(if big { [0, 1, 0, 0] } else { [1, 0, 0, 0] });
        section.extend([0xFF; 8]);
        let mut out = block(big, 0x0A0D_0D0A, &section);
        let mut interface = if big {
            vec![0, 1, 0, 0]
        } else {
            vec![1, 0, 0, 0]
        };
        interface.extend(word(big, 0));
        out.extend(block(big, 1, &interface));
        for (micros, wire_len, bytes) in packets {
            let (high, low) = (micros >> 32, micros & 0xFFFF_FFFF);
            let mut body = word(big, 0).to_vec();
            let kept = u32::try_from(bytes.len()).unwrap();
            for value in [
                u32::try_from(high).unwrap(),
                u32::try_from(low).unwrap(),
                kept,
                *wire_len,
            ] {
                body.extend(word(big, value));
            }
            body.extend(*bytes);
            out.extend(block(big, 6, &body));
        }
        out
    }

    #[test]
    fn every_form_of_pcap_gives_the_same_frames() {
        for big in [false, true] {
            let records: [(u32, u32, u32, &[u8]); 2] =
                [(10, 7, 60, &[1, 2, 3]), (11, 999, 4, &[4, 5, 6, 7])];
            let micro = read(&pcap(big, 0xA1B2_C3D4, &records)).unwrap();
            let nano = read(&pcap(big, 0xA1B2_3C4D, &records)).unwrap();
            assert_eq!(micro[0], (vec![1, 2, 3], 60, 10_000_007_000));
            assert_eq!(micro[1], (vec![4, 5, 6, 7], 4, 11_000_999_000));
            assert_eq!(nano[0], (vec![1, 2, 3], 60, 10_000_000_007));
            assert_eq!(nano[1], (vec![4, 5, 6, 7], 4, 11_000_000_999));
            let ng = pcapng(
                big,
                &[(10_000_007, 60, &[1, 2, 3]), (11_000_999, 4, &[4, 5, 6, 7])],
            );
            assert_eq!(read(&ng).unwrap(), micro);
        }
    }

    #[test]
    fn a_link_type_is_known_before_the_first_frame_and_a_file_may_have_none() {
        with_file(&pcap(false, 0xA1B2_C3D4, &[]), |path| {
            let mut file = Savefile::open(path).unwrap();
            assert_eq!(file.link_type(), LinkType::ETHERNET);
            assert_eq!(file.dispatch(None, |_| panic!("no frame")).unwrap(), 0);
        });
    }

    #[test]
    fn seconds_beyond_2038_have_no_sign() {
        let file = pcap(false, 0xA1B2_3C4D, &[(0x8000_0000, 5, 1, &[1])]);
        assert_eq!(read(&file).unwrap()[0].2, 0x8000_0000 * 1_000_000_000 + 5);
        assert_eq!(time_ns(-1, 0), 0xFFFF_FFFF * 1_000_000_000);
        assert_eq!(time_ns(0, 1), 1);
    }

    #[test]
    fn what_cannot_be_opened_is_named_without_its_folder() {
        let error = Savefile::open(Path::new("/nowhere/at/all.pcap")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot open all.pcap: No such file or directory (os error 2)"
        );
        let error = Savefile::open(Path::new("/proc")).unwrap_err();
        assert_eq!(error.to_string(), "cannot open proc: is a directory");
        for bytes in [&b""[..], b"what is this? it is text"] {
            let error = read(bytes).unwrap_err();
            assert!(matches!(error, FileError::Format { .. }), "{error}");
            let start = "in.pcap is not a capture file that libpcap reads: ";
            assert!(error.to_string().starts_with(start), "{error}");
        }
    }

    #[test]
    fn a_broken_record_has_a_number_and_no_end_follows_it() {
        let mut bytes = pcap(false, 0xA1B2_C3D4, &[(1, 2, 3, &[1, 2, 3][..]); 5]);
        bytes.pop();
        with_file(&bytes, |path| {
            let mut file = Savefile::open(path).unwrap();
            assert_eq!(file.dispatch(Some(3), |_| {}).unwrap(), 3);
            let mut behind = 0;
            let error = file.dispatch(Some(3), |_| behind += 1).unwrap_err();
            assert_eq!(behind, 1, "frames in front of it are handed over");
            assert_eq!(
                error.to_string(),
                "cannot read packet record 5 of in.pcap: truncated dump file; tried to read 3 \
                 captured bytes, only got 2"
            );
            let again = file.dispatch(None, |_| panic!("no frame")).unwrap_err();
            assert_eq!(again.to_string(), error.to_string());
        });
    }

    /// Where each record or block of a valid file ends, and how many packets there are up to there.
    #[test]
    fn every_shorter_file_is_an_error_or_ends_at_a_record() {
        let frame: (u32, u32, u32, &[u8]) = (1, 2, 3, &[1, 2, 3]);
        let ng: (u64, u32, &[u8]) = (1_000_002, 3, &[1, 2, 3]);
        for big in [false, true] {
            let whole = pcap(big, 0xA1B2_C3D4, &[frame; 3]);
            for end in 0..whole.len() {
                match (end.checked_sub(24), read(&whole[..end])) {
                    (Some(behind), Ok(kept)) => {
                        assert_eq!((behind % 19, behind / 19), (0, kept.len()), "{end}");
                    }
                    (Some(behind), Err(FileError::Record { record, .. })) => {
                        assert_ne!(behind % 19, 0, "{end}");
                        assert_eq!(record, behind as u64 / 19 + 1, "{end}");
                    }
                    (None, Err(FileError::Format { .. })) => {}
                    (_, other) => panic!("{end}: {other:?}"),
                }
            }
            let whole = pcapng(big, &[ng; 3]);
            for end in 0..whole.len() {
                match (end.checked_sub(28 + 20), read(&whole[..end])) {
                    (Some(behind), Ok(kept)) => {
                        assert_eq!((behind % 36, behind / 36), (0, kept.len()), "{end}");
                    }
                    (Some(behind), Err(FileError::Record { record, .. })) => {
                        assert_ne!(behind % 36, 0, "{end}");
                        assert_eq!(record, behind as u64 / 36 + 1, "{end}");
                    }
                    (None, Err(FileError::Format { .. })) => {}
                    (_, other) => panic!("{end}: {other:?}"),
                }
            }
        }
    }

    proptest! {
        #[test]
        fn hostile_records_never_panic(
            nano: bool,
            ng: bool,
            tail in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let magic = if nano { 0xA1B2_3C4D } else { 0xA1B2_C3D4 };
            let mut bytes = if ng { pcapng(nano, &[]) } else { pcap(false, magic, &[]) };
            bytes.extend(tail);
            let _ = read(&bytes);
        }
    }
}
