//! Resampling of whole pairs: the published index map, and the exact distribution for few pairs.
//!
//! A bootstrap over n pairs has C(2n-1, n) distinct resamples. Up to 12 pairs they are enumerated
//! with their exact weights, so that the Monte Carlo part of a published limit can be checked.

mod draws;
mod exact;

pub use draws::Draws;
pub use exact::{Exact, MAX_EXACT_PAIRS};

use crate::random::{Stream, high_half};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Resamples drawn for every published interval.
pub const RESAMPLES: usize = 20_000;
/// Most pairs an index map holds, because an index is one byte.
pub const MAX_PAIRS: usize = 256;

/// The index map: which pairs each resample is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resamples {
    pairs: usize,
    indices: Vec<u8>,
}

impl Resamples {
    /// The [`RESAMPLES`] resamples of `pairs` pairs for the seed of a bootstrap stream. `None` when
    /// `pairs` is 0 or above [`MAX_PAIRS`].
    #[must_use]
    pub fn new(seed: u64, pairs: usize) -> Option<Self> {
        Self::with_rows(seed, pairs, RESAMPLES)
    }

    /// The first `rows` resamples of the same map, for simulations. `None` as for [`Self::new`].
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "an index is below pairs <= 256"
    )]
    pub fn with_rows(seed: u64, pairs: usize, rows: usize) -> Option<Self> {
        if pairs == 0 || pairs > MAX_PAIRS {
            return None;
        }
        let stream = Stream::new(seed);
        let bound = pairs as u64;
        let mut indices = vec![0; rows * pairs];
        for (index, draw) in indices.iter_mut().zip(stream.draws()) {
            *index = high_half(draw, bound) as u8;
        }
        Some(Self { pairs, indices })
    }

    /// Number of resamples.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.indices.len() / self.pairs
    }

    /// The pairs of resample `row`, `None` beyond the last.
    #[must_use]
    pub fn row(&self, row: usize) -> Option<&[u8]> {
        self.indices.chunks_exact(self.pairs).nth(row)
    }

    /// SHA-256 of the index bytes, row by row, as lower-case hexadecimal digits.
    #[must_use]
    pub fn sha256(&self) -> String {
        Sha256::digest(&self.indices)
            .iter()
            .fold(String::with_capacity(64), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
    }

    /// Ratios of mean candidate to mean baseline, one a resample. Empty unless both slices hold one
    /// value a pair.
    #[must_use]
    pub fn ratios(&self, baseline: &[f64], candidate: &[f64]) -> Draws {
        if baseline.len() != self.pairs || candidate.len() != self.pairs {
            return Draws::new(Vec::new());
        }
        // as many places as an index has values, so that no index needs checking
        let mut pairs = [[0.0; 2]; MAX_PAIRS];
        for (place, (a, b)) in pairs.iter_mut().zip(baseline.iter().zip(candidate)) {
            *place = [*a, *b];
        }
        self.draws(|row| {
            let (mut below, mut above) = (0.0, 0.0);
            for index in row {
                let [a, b] = pairs[usize::from(*index)];
                below += a;
                above += b;
            }
            above / below
        })
    }

    /// Means of `differences`, one a resample. Empty unless there is one value a pair.
    #[must_use]
    pub fn means(&self, differences: &[f64]) -> Draws {
        if differences.len() != self.pairs {
            return Draws::new(Vec::new());
        }
        let mut values = [0.0; MAX_PAIRS];
        values[..self.pairs].copy_from_slice(differences);
        let count = crate::sum::length(self.pairs);
        self.draws(|row| {
            let mut total = 0.0;
            for index in row {
                total += values[usize::from(*index)];
            }
            total / count
        })
    }

    fn draws(&self, statistic: impl Fn(&[u8]) -> f64) -> Draws {
        Draws::new(
            self.indices
                .chunks_exact(self.pairs)
                .map(statistic)
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_index_map() {
        let map = Resamples::new(0x5EED, 12).unwrap();
        assert_eq!(map.rows(), RESAMPLES);
        assert_eq!(map.row(0).unwrap(), [0, 3, 4, 5, 0, 4, 1, 0, 10, 2, 4, 4]);
        assert_eq!(
            map.row(19_999).unwrap(),
            [3, 3, 5, 0, 9, 4, 0, 9, 5, 6, 2, 3]
        );
        assert_eq!(map.row(20_000), None);
        assert_eq!(
            map.sha256(),
            "ff56a0c7812176ca2375e5806550bfd38dcf3cf1d9039dd1a2fa0bdad466034d"
        );
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        assert_eq!(Resamples::new(1, 0), None);
        assert_eq!(Resamples::new(1, 257), None);
        assert_eq!(Resamples::with_rows(1, 256, 3).unwrap().rows(), 3);
        assert!(
            Resamples::new(1, 3)
                .unwrap()
                .ratios(&[1.0], &[1.0])
                .is_empty()
        );
    }
}
