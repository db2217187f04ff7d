//! Quantities with their unit in the type, and the texts people write for them.
//!
//! Rates and packet counts use SI suffixes (`250k`, `1M`), memory uses IEC ones (`16MiB`), time a
//! unit (`50ms`), ratios a percent sign (`3%`). A number without its unit is refused wherever a
//! unit is expected. Parsing is exact: no text goes through a binary fraction except a percentage.

use std::fmt;
use std::str::FromStr;

/// Why a text is not a quantity. The message quotes the text and names a form that works.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnitError {
    text: String,
    wanted: &'static str,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is not {}", self.text, self.wanted)
    }
}

impl std::error::Error for UnitError {}

/// A duration in ns. Written with the largest unit that needs no fraction: `1s`, `50ms`, `10us`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nanos(pub u64);

const TIMES: [(&str, u64); 5] = [
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

impl FromStr for Nanos {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        scaled(text, &TIMES)
            .map(Self)
            .ok_or_else(|| error(text, "a time such as \"1s\", \"50ms\" or \"2m\""))
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Minutes are read but not written: 90 s says more than 1.5 m.
        largest(f, self.0, &TIMES[1..])
    }
}

/// An amount of memory in bytes, IEC units: `16MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

const SIZES: [(&str, u64); 4] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        scaled(text, &SIZES)
            .map(Self)
            .ok_or_else(|| error(text, "a size such as \"16MiB\" or \"256KiB\""))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        largest(f, self.0, &SIZES)
    }
}

/// A packet rate or a packet count as written on a command line: `250k`, `1M`, `1500`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u64);

const COUNTS: [(&str, u64); 3] = [("M", 1_000_000), ("k", 1_000), ("", 1)];

impl FromStr for Count {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        scaled(text, &COUNTS)
            .map(Self)
            .ok_or_else(|| error(text, "a count such as 1500, \"250k\" or \"1M\""))
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        largest(f, self.0, &COUNTS)
    }
}

/// A ratio written as a percentage: `3%` is 0.03. Never negative.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Percent(pub f64);

impl FromStr for Percent {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        text.trim()
            .strip_suffix('%')
            .and_then(|digits| digits.trim().parse::<f64>().ok())
            .filter(|value| value.is_finite() && *value >= 0.0)
            .map(|value| Self(value / 100.0))
            .ok_or_else(|| error(text, "a percentage such as \"3%\""))
    }
}

/// IP version of a trial's datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// IPv4, RFC 791: a header of 20 bytes without options.
    Ipv4,
    /// IPv6, RFC 8200: a header of 40 bytes without extensions.
    Ipv6,
}

impl Family {
    /// Bytes between the start of an Ethernet frame and the UDP payload.
    #[must_use]
    pub fn headers(self) -> u32 {
        ETHERNET_HEADER + UDP_HEADER + if self == Self::Ipv4 { 20 } else { 40 }
    }
}

/// Ethernet II header without VLAN tags (IEEE 802.3), bytes.
pub const ETHERNET_HEADER: u32 = 14;
/// Frame check sequence at the end of an Ethernet frame (IEEE 802.3), bytes.
pub const FCS: u32 = 4;
/// UDP header (RFC 768), bytes.
pub const UDP_HEADER: u32 = 8;

/// An Ethernet frame with its FCS, without preamble and gap, in bytes: the size RFC 2544 section 9
/// means. What a capture sees is four bytes shorter: [`CapturedLen`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameSize(pub u32);

impl FrameSize {
    /// UDP payload bytes of such a frame, or `None` when the headers alone are longer.
    #[must_use]
    pub fn payload(self, family: Family) -> Option<u32> {
        self.0.checked_sub(FCS + family.headers())
    }

    /// Length a capture reports for such a frame.
    #[must_use]
    pub fn captured(self) -> CapturedLen {
        CapturedLen(self.0.saturating_sub(FCS))
    }
}

/// Bytes of a frame as a capture sees it: no FCS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CapturedLen(pub u32);

/// Lost over accepted, 0..=1, of one trial or of several added up. Absent when nothing was accepted.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "a printed ratio; the rule itself is kept in integers"
)]
pub fn loss_ratio(lost: u64, accepted: u64) -> Option<f64> {
    (accepted > 0).then(|| lost as f64 / accepted as f64)
}

fn error(text: &str, wanted: &'static str) -> UnitError {
    UnitError {
        text: text.to_owned(),
        wanted,
    }
}

/// Reads `12`, `1.5` and the like times the unit after it, exactly or not at all.
fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let unit = units.iter().find(|(name, _)| *name == suffix.trim())?.1;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || fraction.len() > 9 || (digits.contains('.') && fraction.is_empty()) {
        return None;
    }
    let mut value = u128::from(whole.parse::<u64>().ok()?) * u128::from(unit);
    if !fraction.is_empty() {
        let part = u128::from(fraction.parse::<u64>().ok()?) * u128::from(unit);
        let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
        if part % scale != 0 {
            return None;
        }
        value += part / scale;
    }
    u64::try_from(value).ok()
}

fn largest(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let (name, scale) = units
        .iter()
        .find(|(_, scale)| value >= *scale && value.is_multiple_of(*scale))
        .or(units.last())
        .expect("the tables of units are not empty");
    write!(f, "{}{name}", value / scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_people_write() {
        assert_eq!("1s".parse(), Ok(Nanos(1_000_000_000)));
        assert_eq!("1.5ms".parse(), Ok(Nanos(1_500_000)));
        assert_eq!("2m".parse(), Ok(Nanos(120_000_000_000)));
        assert_eq!("16MiB".parse(), Ok(Bytes(16 << 20)));
        assert_eq!("250k".parse(), Ok(Count(250_000)));
        assert_eq!("1500".parse(), Ok(Count(1500)));
        assert_eq!("3%".parse(), Ok(Percent(0.03)));
    }

    #[test]
    fn texts_that_are_refused_are_quoted() {
        for text in ["1", "1h", "s", "-1s", "1.s", "0.1ns", "99999999999999s"] {
            let error = text.parse::<Nanos>().unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
        assert!("16MB".parse::<Bytes>().is_err());
        assert!("3".parse::<Percent>().is_err());
        assert!("nan%".parse::<Percent>().is_err());
    }

    #[test]
    fn the_smallest_frames_of_the_stamp() {
        assert_eq!(FrameSize(64).payload(Family::Ipv4), Some(18));
        assert_eq!(FrameSize(84).payload(Family::Ipv6), Some(18));
        assert_eq!(FrameSize(94).payload(Family::Ipv4), Some(48));
        assert_eq!(FrameSize(114).payload(Family::Ipv6), Some(48));
        assert_eq!(FrameSize(45).payload(Family::Ipv4), None);
        assert_eq!(FrameSize(64).captured(), CapturedLen(60));
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(value in 0_u64..1_000_000_000_000_000) {
            prop_assert_eq!(Nanos(value).to_string().parse(), Ok(Nanos(value)));
            prop_assert_eq!(Bytes(value).to_string().parse(), Ok(Bytes(value)));
            prop_assert_eq!(Count(value).to_string().parse(), Ok(Count(value)));
        }
    }
}
