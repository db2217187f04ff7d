//! The pass `raw-fold`: every frame of a capture file is read and folded into a sum; nothing is
//! decoded.
//!
//! The sum is there so that no byte can be left out and two passes over the same file can be
//! compared. It is Fletcher's checksum over 64-bit words: of two running sums, modulo 2^64, the
//! first adds the words and the second adds the first, so that it depends on their order, for two
//! additions a word. A frame is these words: captured length plus 2^32 times the wire length; time
//! stamp, ns; then its bytes, eight a word, little endian, the last word filled with zeros. The
//! first sum starts at 1, the second at 0; the result is the first, exclusive or the second turned
//! by 32 bits. It finds differences, and does not withstand anyone who wants to make two files with
//! the same sum.
//!
//! Invariant: the sum depends on the frames alone, not on the file's format or byte order.

use std::path::Path;

use wiretrial_capture::frame::Frame;
use wiretrial_capture::source::Savefile;
use wiretrial_contract::failure::Failure;

/// Frames read at a time.
const BATCH: usize = 4096;

/// What a pass over a file found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folded {
    /// Frames.
    pub units: u64,
    /// Bytes kept of them, as far as the file's snap length goes.
    pub bytes: u64,
    /// Frames of which the file keeps more bytes than it says there were on the wire.
    pub errors: u64,
    /// The sum over all frames.
    pub sum: u64,
}

/// Reads a capture file to its end and folds every frame.
///
/// # Errors
///
/// An evidence failure that names the file, without its folder, and the record that cannot be read.
pub fn pass(file: &Path) -> Result<Folded, Failure> {
    let failed = |error: wiretrial_capture::source::FileError| Failure::evidence(error.to_string());
    let mut source = Savefile::open(file).map_err(failed)?;
    let mut fold = Fold::default();
    while source
        .dispatch(Some(BATCH), |frame| fold.frame(frame))
        .map_err(failed)?
        > 0
    {}
    Ok(fold.folded())
}

/// The sums over the frames so far.
#[derive(Debug)]
struct Fold {
    units: u64,
    bytes: u64,
    errors: u64,
    words: u64,
    sums: u64,
}

impl Default for Fold {
    fn default() -> Self {
        Self {
            units: 0,
            bytes: 0,
            errors: 0,
            words: 1,
            sums: 0,
        }
    }
}

impl Fold {
    #[inline]
    fn frame(&mut self, frame: &Frame<'_>) {
        let kept = frame.bytes.len() as u64;
        self.units += 1;
        self.bytes += kept;
        self.errors += u64::from(kept > u64::from(frame.wire_len));
        self.word(kept.wrapping_add(u64::from(frame.wire_len) << 32));
        self.word(frame.time_ns);
        let (words, rest) = frame.bytes.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.word(u64::from_le_bytes(last));
        }
    }

    #[inline]
    fn word(&mut self, word: u64) {
        self.words = self.words.wrapping_add(word);
        self.sums = self.sums.wrapping_add(self.words);
    }

    fn folded(&self) -> Folded {
        Folded {
            units: self.units,
            bytes: self.bytes,
            errors: self.errors,
            sum: self.words ^ self.sums.rotate_left(32),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wiretrial_capture::frame::LinkType;
    use wiretrial_contract::exit;

    use super::*;

    /// A little-endian pcap file, ns, of Ethernet frames: ns, wire length, bytes.
    fn file(frames: &[(u32, u32, &[u8])]) -> Vec<u8> {
        let mut out = vec![0x4D, 0x3C, 0xB2, 0xA1, 2, 0, 4, 0];
        out.extend([0; 8]);
        out.extend(65_535_u32.to_le_bytes());
        out.extend(1_u32.to_le_bytes());
        for (ns, wire_len, bytes) in frames {
            let kept = u32::try_from(bytes.len()).unwrap();
            for value in [0, *ns, kept, *wire_len] {
                out.extend(value.to_le_bytes());
            }
            out.extend(*bytes);
        }
        out
    }

    fn fold(bytes: &[u8]) -> Result<Folded, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mix.pcap");
        std::fs::write(&path, bytes).unwrap();
        pass(&path)
    }

    /// Worked by hand. The words of the first frame are 2 + 5 * 2^32, 7 and 0x0201; the first sum
    /// goes 1, 3 + 5 * 2^32, 10 + 5 * 2^32, 523 + 5 * 2^32, and the second one is the sum of the
    /// last three: 536 + 15 * 2^32. The second frame has 9 bytes: 9 + 9 * 2^32, 0, 1, 0xFF.
    #[test]
    fn sums_worked_by_hand() {
        let first: (u32, u32, &[u8]) = (7, 5, &[1, 2]);
        let second: (u32, u32, &[u8]) = (0, 9, &[1, 0, 0, 0, 0, 0, 0, 0, 255]);
        let one = fold(&file(&[first])).unwrap();
        let sum = (523 + (5 << 32)) ^ (15 + (536 << 32));
        assert_eq!(
            one,
            Folded {
                units: 1,
                bytes: 2,
                errors: 0,
                sum
            }
        );
        // The first sum goes on with 532, 532, 533 and 788, each + 14 * 2^32; together with 536
        // + 15 * 2^32 that is 2921 + 71 * 2^32.
        let both = fold(&file(&[first, second])).unwrap();
        assert_eq!((both.units, both.bytes), (2, 11));
        assert_eq!(both.sum, (788 + (14 << 32)) ^ (71 + (2921 << 32)));
        let turned = fold(&file(&[second, first])).unwrap();
        assert_ne!(turned.sum, both.sum, "the order of frames is in the sum");
        assert_eq!(fold(&file(&[])).unwrap().sum, 1);
    }

    #[test]
    fn more_bytes_kept_than_sent_are_an_error_of_the_file() {
        let folded = fold(&file(&[(1, 1, &[1, 2]), (1, 2, &[1, 2])])).unwrap();
        assert_eq!((folded.units, folded.errors), (2, 1));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named_with_its_record() {
        let mut bytes = file(&[(1, 2, &[1, 2]), (1, 2, &[1, 2])]);
        bytes.pop();
        let failure = fold(&bytes).unwrap_err();
        assert_eq!(failure.code, exit::EVIDENCE);
        assert_eq!(
            failure.message,
            "cannot read packet record 2 of mix.pcap: truncated dump file; tried to read 2 \
             captured bytes, only got 1"
        );
        let failure = pass(Path::new("/nowhere/mix.pcap")).unwrap_err();
        assert_eq!(failure.code, exit::EVIDENCE);
        let message = failure.message;
        assert!(message.starts_with("cannot open mix.pcap: "), "{message}");
    }

    fn sum_of(frames: &[(Vec<u8>, u32, u64)]) -> u64 {
        let mut fold = Fold::default();
        for (bytes, wire_len, time_ns) in frames {
            fold.frame(&Frame {
                bytes,
                wire_len: *wire_len,
                time_ns: *time_ns,
                link_type: LinkType::ETHERNET,
            });
        }
        fold.folded().sum
    }

    proptest! {
        #[test]
        fn every_byte_length_and_time_is_in_the_sum(
            mut frames in prop::collection::vec(
                (prop::collection::vec(any::<u8>(), 1..40), any::<u32>(), any::<u64>()), 1..6),
            at: prop::sample::Index,
            byte: prop::sample::Index,
            flip in 1_u8..,
        ) {
            let whole = sum_of(&frames);
            let at = at.index(frames.len());
            let kept = frames.clone();
            let byte = byte.index(frames[at].0.len());
            frames[at].0[byte] ^= flip;
            prop_assert_ne!(sum_of(&frames), whole);
            frames.clone_from(&kept);
            frames[at].1 ^= u32::from(flip);
            prop_assert_ne!(sum_of(&frames), whole);
            frames.clone_from(&kept);
            frames[at].2 ^= u64::from(flip);
            prop_assert_ne!(sum_of(&frames), whole);
            frames.clone_from(&kept);
            frames[at].0.push(0);
            prop_assert_ne!(sum_of(&frames), whole, "a zero more is a longer frame");
            frames.clone_from(&kept);
            frames.pop();
            prop_assert_ne!(sum_of(&frames), whole);
        }
    }
}
