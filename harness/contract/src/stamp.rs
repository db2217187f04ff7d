//! The bytes at the start of every datagram's UDP payload: who sent it, for which trial, which
//! number it has and when it left.
//!
//! Two forms, little endian, chosen by the payload's length and sealed per trial. Both end in a
//! CRC-32C (RFC 3720 appendix B.4 gives the polynomial and test values), so that a datagram that is
//! not ours, or was damaged, is never counted as received.
//!
//! | full, 48 bytes | | compact, 18 bytes | |
//! | --- | --- | --- | --- |
//! | 0 | magic `u32` | 0 | magic `u16` |
//! | 4 | version `u8` | 2 | class in the top 2 bits, flow in the low 14 |
//! | 5 | class `u8` | 4 | nonce `u32`, random per trial |
//! | 6 | flow `u16` | 8 | sequence, 5 bytes |
//! | 8 | run id `u64` | 13 | actual send time / 4 us, modulo 2^24, 3 bytes |
//! | 16 | sequence `u64` | 16 | low 16 bits of the CRC-32C over 0..16 |
//! | 24 | intended send ns `u64` | | |
//! | 32 | actual send ns `u64` | | |
//! | 40 | trial `u32` | | |
//! | 44 | CRC-32C over 0..44 `u32` | | |
//!
//! Invariant: [`read`] of what [`write()`] wrote gives the same stamp, and every shorter or changed
//! payload gives something other than [`Reading::Ours`].

use serde::{Deserialize, Serialize};

/// Version of the stamp's layout. A change of the layout changes this and both magics.
pub const VERSION: u8 = 1;
/// Bytes of the full form.
pub const FULL_LEN: usize = 48;
/// Bytes of the compact form.
pub const COMPACT_LEN: usize = 18;
/// Unit of the compact form's send time, ns.
pub const COMPACT_TICK_NS: u64 = 4000;

const FULL_MAGIC: u32 = 0x4C52_5457; // "WTRL"
const COMPACT_MAGIC: u16 = 0x5731; // "1W"; the digit is the version
/// Highest flow number either form can carry.
pub const MAX_FLOW: u16 = 0x3FFF;
/// Highest sequence number either form can carry.
pub const MAX_SEQUENCE: u64 = (1 << 40) - 1;

/// What a datagram is for. Only [`Class::Counted`] ones are in a trial's totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Class {
    /// In the totals of the trial.
    Counted = 0,
    /// Sent in the same schedule before the counted ones; in no total.
    WarmUp = 1,
    /// Sent until the receiver has seen one, before it is armed; in no total.
    Probe = 2,
    /// Sent behind the counted ones to push a foreign program's last block out; in no total.
    Filler = 3,
}

impl Class {
    /// All classes, by their number on the wire.
    pub const ALL: [Self; 4] = [Self::Counted, Self::WarmUp, Self::Probe, Self::Filler];
}

/// Which of the two layouts a trial uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// 48 bytes, with the intended send time.
    Full,
    /// 18 bytes, for the smallest frames.
    Compact,
}

impl Form {
    /// The form for a UDP payload of `payload` bytes, or `None` below [`COMPACT_LEN`].
    #[must_use]
    pub fn for_payload(payload: u32) -> Option<Self> {
        match payload as usize {
            FULL_LEN.. => Some(Self::Full),
            COMPACT_LEN.. => Some(Self::Compact),
            _ => None,
        }
    }

    /// Bytes of this form.
    #[must_use]
    #[expect(
        clippy::len_without_is_empty,
        reason = "a length of a layout, never empty"
    )]
    pub const fn len(self) -> usize {
        match self {
            Self::Full => FULL_LEN,
            Self::Compact => COMPACT_LEN,
        }
    }
}

/// What tells one trial's datagrams from every other's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Random per campaign and session of running; full form only.
    pub run_id: u64,
    /// Number of the trial in the campaign; full form only.
    pub trial: u32,
    /// Random per trial; compact form only.
    pub nonce: u32,
}

/// The fields of one stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// What the datagram is for.
    pub class: Class,
    /// Flow in the trial, from 0, at most [`MAX_FLOW`].
    pub flow: u16,
    /// Number in its flow and class, from 0, at most [`MAX_SEQUENCE`].
    pub sequence: u64,
    /// When the schedule wanted it sent, `CLOCK_MONOTONIC` ns. Zero in the compact form.
    pub intended_ns: u64,
    /// When its send call began, `CLOCK_MONOTONIC` ns. In the compact form rounded down to
    /// [`COMPACT_TICK_NS`] and modulo 2^24 of them (67.1 s).
    pub actual_ns: u64,
}

/// What a receiver finds at the start of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// A datagram of this trial.
    Ours(Stamp),
    /// A datagram of the same campaign but another trial. In the compact form, which carries no
    /// run id, of any other trial.
    Stale,
    /// Nothing of ours: too short, another magic or another run.
    Foreign,
    /// Our magic with a wrong checksum, version or class.
    Corrupt,
}

/// Writes `stamp` at the start of `payload`.
///
/// # Panics
///
/// When `payload` is shorter than `form`, or flow or sequence exceed their limits.
pub fn write(form: Form, identity: &Identity, stamp: &Stamp, payload: &mut [u8]) {
    assert!(
        stamp.flow <= MAX_FLOW && stamp.sequence <= MAX_SEQUENCE,
        "stamp fields in range"
    );
    match form {
        Form::Full => {
            let out: &mut [u8; FULL_LEN] = payload
                .first_chunk_mut()
                .expect("a payload of the full form");
            out[0..4].copy_from_slice(&FULL_MAGIC.to_le_bytes());
            out[4] = VERSION;
            out[5] = stamp.class as u8;
            out[6..8].copy_from_slice(&stamp.flow.to_le_bytes());
            out[8..16].copy_from_slice(&identity.run_id.to_le_bytes());
            out[16..24].copy_from_slice(&stamp.sequence.to_le_bytes());
            out[24..32].copy_from_slice(&stamp.intended_ns.to_le_bytes());
            out[32..40].copy_from_slice(&stamp.actual_ns.to_le_bytes());
            out[40..44].copy_from_slice(&identity.trial.to_le_bytes());
            let sum = crc32c::crc32c(&out[..44]);
            out[44..48].copy_from_slice(&sum.to_le_bytes());
        }
        Form::Compact => {
            let out: &mut [u8; COMPACT_LEN] = payload
                .first_chunk_mut()
                .expect("a payload of the compact form");
            let class_and_flow = (stamp.class as u16) << 14 | stamp.flow;
            out[0..2].copy_from_slice(&COMPACT_MAGIC.to_le_bytes());
            out[2..4].copy_from_slice(&class_and_flow.to_le_bytes());
            out[4..8].copy_from_slice(&identity.nonce.to_le_bytes());
            out[8..13].copy_from_slice(&stamp.sequence.to_le_bytes()[..5]);
            let ticks = stamp.actual_ns / COMPACT_TICK_NS;
            out[13..16].copy_from_slice(&ticks.to_le_bytes()[..3]);
            let sum = compact_sum(&out[..16]);
            out[16..18].copy_from_slice(&sum.to_le_bytes());
        }
    }
}

/// Reads the stamp of a trial with this `form` and `identity` from a UDP payload, of which the
/// capture may have kept only the start.
#[must_use]
#[inline]
pub fn read(form: Form, identity: &Identity, payload: &[u8]) -> Reading {
    match form {
        Form::Full => payload
            .first_chunk()
            .map_or(Reading::Foreign, |b| full(identity, b)),
        Form::Compact => payload
            .first_chunk()
            .map_or(Reading::Foreign, |b| compact(identity, b)),
    }
}

#[inline]
fn full(identity: &Identity, bytes: &[u8; FULL_LEN]) -> Reading {
    if u32::from_le_bytes(array(&bytes[0..4])) != FULL_MAGIC {
        return Reading::Foreign;
    }
    if crc32c::crc32c(&bytes[..44]) != u32::from_le_bytes(array(&bytes[44..48]))
        || bytes[4] != VERSION
        || bytes[5] > 3
    {
        return Reading::Corrupt;
    }
    if u64::from_le_bytes(array(&bytes[8..16])) != identity.run_id {
        return Reading::Foreign;
    }
    if u32::from_le_bytes(array(&bytes[40..44])) != identity.trial {
        return Reading::Stale;
    }
    Reading::Ours(Stamp {
        class: Class::ALL[usize::from(bytes[5])],
        flow: u16::from_le_bytes(array(&bytes[6..8])),
        sequence: u64::from_le_bytes(array(&bytes[16..24])),
        intended_ns: u64::from_le_bytes(array(&bytes[24..32])),
        actual_ns: u64::from_le_bytes(array(&bytes[32..40])),
    })
}

#[inline]
fn compact(identity: &Identity, bytes: &[u8; COMPACT_LEN]) -> Reading {
    if u16::from_le_bytes(array(&bytes[0..2])) != COMPACT_MAGIC {
        return Reading::Foreign;
    }
    if compact_sum(&bytes[..16]) != u16::from_le_bytes(array(&bytes[16..18])) {
        return Reading::Corrupt;
    }
    if u32::from_le_bytes(array(&bytes[4..8])) != identity.nonce {
        return Reading::Stale;
    }
    let class_and_flow = u16::from_le_bytes(array(&bytes[2..4]));
    let mut sequence = [0; 8];
    sequence[..5].copy_from_slice(&bytes[8..13]);
    let mut ticks = [0; 8];
    ticks[..3].copy_from_slice(&bytes[13..16]);
    Reading::Ours(Stamp {
        class: Class::ALL[usize::from(class_and_flow >> 14)],
        flow: class_and_flow & MAX_FLOW,
        sequence: u64::from_le_bytes(sequence),
        intended_ns: 0,
        actual_ns: u64::from_le_bytes(ticks) * COMPACT_TICK_NS,
    })
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the low half of the checksum is meant"
)]
fn compact_sum(bytes: &[u8]) -> u16 {
    crc32c::crc32c(bytes) as u16
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    *bytes
        .first_chunk()
        .expect("the slice has the array's length")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const IDENTITY: Identity = Identity {
        run_id: 0x1122_3344_5566_7788,
        trial: 7,
        nonce: 0xA1B2_C3D4,
    };

    fn bytes(text: &str) -> Vec<u8> {
        (0..text.len())
            .step_by(2)
            .map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap())
            .collect()
    }

    /// Written field by field with Python's struct module and a bitwise CRC-32C.
    #[test]
    fn golden_full() {
        let stamp = Stamp {
            class: Class::Counted,
            flow: 3,
            sequence: 0x01_0203_0405,
            intended_ns: 1_000_000,
            actual_ns: 1_000_250,
        };
        let expected = bytes(
            "5754524c0100030088776655443322110504030201000000\
             40420f00000000003a430f000000000007000000a39b88f3",
        );
        let mut payload = [0; FULL_LEN];
        write(Form::Full, &IDENTITY, &stamp, &mut payload);
        assert_eq!(payload[..], expected[..]);
        assert_eq!(read(Form::Full, &IDENTITY, &payload), Reading::Ours(stamp));
    }

    /// As above.
    #[test]
    fn golden_compact() {
        let mut stamp = Stamp {
            class: Class::Counted,
            flow: 3,
            sequence: 0x01_0203_0405,
            intended_ns: 0,
            actual_ns: 250 * COMPACT_TICK_NS,
        };
        let expected = bytes("31570300d4c3b2a10504030201fa000086d4");
        let mut payload = [0; COMPACT_LEN];
        write(Form::Compact, &IDENTITY, &stamp, &mut payload);
        assert_eq!(payload[..], expected[..]);
        assert_eq!(
            read(Form::Compact, &IDENTITY, &payload),
            Reading::Ours(stamp)
        );

        let identity = Identity {
            nonce: 1,
            ..IDENTITY
        };
        stamp.class = Class::Probe;
        stamp.flow = MAX_FLOW;
        stamp.sequence = MAX_SEQUENCE;
        stamp.actual_ns = (123_456_789_012_345 / 4000) * COMPACT_TICK_NS;
        write(Form::Compact, &identity, &stamp, &mut payload);
        assert_eq!(
            payload[..],
            bytes("3157ffbf01000000ffffffffff8546a6ba63")[..]
        );
    }

    #[test]
    fn another_trial_is_stale_another_run_is_foreign() {
        let stamp = Stamp {
            class: Class::Counted,
            flow: 0,
            sequence: 9,
            intended_ns: 1,
            actual_ns: 2,
        };
        let mut payload = [0; FULL_LEN];
        write(Form::Full, &IDENTITY, &stamp, &mut payload);
        let other = Identity {
            trial: 8,
            ..IDENTITY
        };
        assert_eq!(read(Form::Full, &other, &payload), Reading::Stale);
        let other = Identity {
            run_id: 1,
            ..IDENTITY
        };
        assert_eq!(read(Form::Full, &other, &payload), Reading::Foreign);
        write(Form::Compact, &IDENTITY, &stamp, &mut payload);
        let other = Identity {
            nonce: 8,
            ..IDENTITY
        };
        assert_eq!(read(Form::Compact, &other, &payload), Reading::Stale);
    }

    #[test]
    fn the_form_follows_the_payload() {
        assert_eq!(Form::for_payload(17), None);
        assert_eq!(Form::for_payload(18), Some(Form::Compact));
        assert_eq!(Form::for_payload(47), Some(Form::Compact));
        assert_eq!(Form::for_payload(48), Some(Form::Full));
    }

    proptest! {
        #[test]
        fn every_shorter_payload_and_every_flipped_bit_is_not_ours(
            compact: bool, class in 0_usize..4, flow in 0..=MAX_FLOW,
            sequence in 0..=MAX_SEQUENCE, ns: u64, bit: prop::sample::Index,
        ) {
            let form = if compact { Form::Compact } else { Form::Full };
            let stamp = Stamp { class: Class::ALL[class], flow, sequence, intended_ns: ns, actual_ns: ns };
            let mut payload = vec![0; form.len()];
            write(form, &IDENTITY, &stamp, &mut payload);
            let Reading::Ours(back) = read(form, &IDENTITY, &payload) else { panic!("ours") };
            prop_assert_eq!((back.class, back.flow, back.sequence), (stamp.class, flow, sequence));
            for end in 0..payload.len() {
                prop_assert_eq!(read(form, &IDENTITY, &payload[..end]), Reading::Foreign);
            }
            let bit = bit.index(payload.len() * 8);
            payload[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!matches!(read(form, &IDENTITY, &payload), Reading::Ours(_)));
        }
    }
}
