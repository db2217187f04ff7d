//! What may be compared, and what is refused before anything is computed.

use std::fmt;

/// Most pairs that are compared.
pub const MAX_PAIRS: usize = 1_000_000;

/// How two arms are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// mean(candidate) / mean(baseline) of costs above 0; 1 is no difference, below 1 is better.
    Ratio,
    /// mean(candidate - baseline) of costs that can be 0; 0 is no difference, below 0 is better.
    Difference,
}

/// One of the two arms of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arm {
    /// The arm that is compared against.
    Baseline,
    /// The arm under question.
    Candidate,
}

/// Values that no comparison can be made from.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Unusable {
    /// The arms do not hold one value a pair.
    Unpaired {
        /// Values of the baseline.
        baseline: usize,
        /// Values of the candidate.
        candidate: usize,
    },
    /// No pair at all, or more than [`MAX_PAIRS`]; or not the number that resamples were made for.
    PairCount {
        /// The number of pairs.
        pairs: usize,
    },
    /// A ratio needs every cost above 0.
    NotPositive {
        /// Where the value stands.
        arm: Arm,
        /// Which pair, from 0.
        index: usize,
        /// The value.
        value: f64,
    },
    /// Not a number, or infinite.
    NotFinite {
        /// Where the value stands.
        arm: Arm,
        /// Which pair, from 0.
        index: usize,
    },
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unpaired {
                baseline,
                candidate,
            } => {
                write!(
                    f,
                    "{baseline} baseline and {candidate} candidate values are not pairs"
                )
            }
            Self::PairCount { pairs } => write!(f, "{pairs} pairs, use 1 to {MAX_PAIRS}"),
            Self::NotPositive { arm, index, value } => write!(
                f,
                "{arm:?} value {value} of pair {index} is not above 0, compare it as a difference"
            ),
            Self::NotFinite { arm, index } => {
                write!(f, "{arm:?} value of pair {index} is not a finite number")
            }
        }
    }
}

impl std::error::Error for Unusable {}

/// Refuses values that no comparison can be made from.
pub(super) fn check(scale: Scale, baseline: &[f64], candidate: &[f64]) -> Result<(), Unusable> {
    if baseline.len() != candidate.len() {
        let (baseline, candidate) = (baseline.len(), candidate.len());
        return Err(Unusable::Unpaired {
            baseline,
            candidate,
        });
    }
    if baseline.is_empty() || baseline.len() > MAX_PAIRS {
        return Err(Unusable::PairCount {
            pairs: baseline.len(),
        });
    }
    for (arm, values) in [(Arm::Baseline, baseline), (Arm::Candidate, candidate)] {
        for (index, value) in values.iter().copied().enumerate() {
            if !value.is_finite() {
                return Err(Unusable::NotFinite { arm, index });
            }
            if scale == Scale::Ratio && value <= 0.0 {
                return Err(Unusable::NotPositive { arm, index, value });
            }
        }
    }
    Ok(())
}

/// Both values of every pair.
pub(super) fn pairs(baseline: &[f64], candidate: &[f64]) -> impl Iterator<Item = (f64, f64)> {
    baseline.iter().copied().zip(candidate.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_arm_place_and_value() {
        let positive = [1.0, 2.0];
        assert_eq!(
            check(Scale::Ratio, &positive, &[1.0, 0.0]),
            Err(Unusable::NotPositive {
                arm: Arm::Candidate,
                index: 1,
                value: 0.0
            })
        );
        assert_eq!(check(Scale::Difference, &positive, &[1.0, 0.0]), Ok(()));
        assert_eq!(
            check(Scale::Difference, &[f64::NAN, 1.0], &positive),
            Err(Unusable::NotFinite {
                arm: Arm::Baseline,
                index: 0
            })
        );
        let unpaired = Unusable::Unpaired {
            baseline: 2,
            candidate: 1,
        };
        assert_eq!(check(Scale::Ratio, &positive, &[1.0]), Err(unpaired));
        assert_eq!(
            check(Scale::Ratio, &[], &[]),
            Err(Unusable::PairCount { pairs: 0 })
        );
        let many = vec![1.0; MAX_PAIRS + 1];
        assert_eq!(
            check(Scale::Ratio, &many, &many),
            Err(Unusable::PairCount { pairs: 1_000_001 })
        );
        assert_eq!(check(Scale::Ratio, &many[1..], &many[1..]), Ok(()));
        assert!(unpaired.to_string().starts_with("2 baseline"));
    }
}
