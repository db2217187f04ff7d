//! Seeded draws that anyone can rebuild: `SplitMix64` in counter mode, one stream a purpose.
//!
//! The k-th draw is a function of seed and k only, so no draw depends on how many were taken
//! before it or on the version of a random number library.

use sha2::{Digest, Sha256};

/// The odd constant that separates consecutive counters (2^64 over the golden ratio).
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// What a stream of draws is for. Two purposes never share draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Which arm of a pair is launched first.
    Schedule,
    /// The pause before a launch.
    Gap,
    /// The size of the padding in the environment of a launch.
    Pad,
    /// The packets that are sent.
    Workload,
    /// The resample indices of intervals.
    Bootstrap,
    /// The order of cases inside a round.
    Caseorder,
    /// The order and length of the slices of an interleaved trial.
    Slice,
    /// The permutations of diagnostic tests.
    Permutation,
    /// The order of trials inside a rate search.
    Search,
    /// The seed of the pairs before a plan is sealed.
    Pilot,
}

impl Purpose {
    /// The word that is hashed and written in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Gap => "gap",
            Self::Pad => "pad",
            Self::Workload => "workload",
            Self::Bootstrap => "bootstrap",
            Self::Caseorder => "caseorder",
            Self::Slice => "slice",
            Self::Permutation => "permutation",
            Self::Search => "search",
            Self::Pilot => "pilot",
        }
    }
}

/// The seed of one stream: the first 8 bytes, little endian, of
/// SHA-256(purpose, 0x00, case, 0x00, campaign seed as 8 bytes little endian).
#[must_use]
pub fn stream_seed(purpose: Purpose, case: &str, seed: u64) -> u64 {
    let mut hash = Sha256::new();
    hash.update(purpose.name().as_bytes());
    hash.update([0]);
    hash.update(case.as_bytes());
    hash.update([0]);
    hash.update(seed.to_le_bytes());
    let digest = hash.finalize();
    digest
        .iter()
        .take(8)
        .rev()
        .fold(0, |value, byte| (value << 8) | u64::from(*byte))
}

/// `SplitMix64` (Steele, Lea and Flood, 2014) read by counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    seed: u64,
    next: u64,
}

impl Stream {
    /// A stream whose next draw is number 0.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { seed, next: 0 }
    }

    /// Draw number `k`, wherever the stream stands.
    #[must_use]
    pub const fn at(&self, k: u64) -> u64 {
        mix(self.seed.wrapping_add(k.wrapping_add(1).wrapping_mul(STEP)))
    }

    /// Draw number 0 and all that follow, wherever the stream stands: a step a draw instead of a
    /// product.
    pub(crate) fn draws(&self) -> impl Iterator<Item = u64> {
        let mut state = self.seed;
        std::iter::repeat_with(move || {
            state = state.wrapping_add(STEP);
            mix(state)
        })
    }

    /// The next draw, uniform over all 64-bit values.
    pub const fn draw(&mut self) -> u64 {
        let value = self.at(self.next);
        self.next = self.next.wrapping_add(1);
        value
    }

    /// The next draw as an integer in `0..n`, and 0 when `n` is 0. Taking the high half of a
    /// product leaves a bias below n / 2^64 (Lemire, 2019, without his rejection step).
    pub fn below(&mut self, n: u64) -> u64 {
        high_half(self.draw(), n)
    }
}

/// The high 64 bits of `draw * n`.
#[allow(
    clippy::cast_possible_truncation,
    reason = "a 128-bit product shifted by 64 fits u64"
)]
pub(crate) const fn high_half(draw: u64, n: u64) -> u64 {
    ((draw as u128 * n as u128) >> 64) as u64
}

const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_sequence() {
        let mut stream = Stream::new(1_234_567);
        let draws: Vec<u64> = (0..5).map(|_| stream.draw()).collect();
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(draws, expected);
        assert_eq!(stream.at(2), expected[2]);
        assert_eq!(stream.draws().take(5).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn stream_seeds() {
        assert_eq!(
            stream_seed(Purpose::Bootstrap, "case-a", 1),
            0x22fe_a80f_e882_97e5
        );
        assert_eq!(
            stream_seed(Purpose::Schedule, "case-a", 1),
            0xce79_33eb_a816_58c6
        );
    }

    #[test]
    fn below_covers_its_range_and_nothing_else() {
        let mut stream = Stream::new(7);
        let mut seen = [0u32; 5];
        for _ in 0..5_000 {
            seen[usize::try_from(stream.below(5)).unwrap()] += 1;
        }
        assert!(
            seen.iter().all(|count| (850..1_150).contains(count)),
            "{seen:?}"
        );
        assert_eq!(stream.below(1), 0);
        assert_eq!(stream.below(0), 0);
    }
}
