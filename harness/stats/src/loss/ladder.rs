//! Rungs of one ladder side by side: the maximum, islands above it, and loads in the wrong order.

use super::LoadVerdict;

/// One rung of a ladder, for the check across loads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rung {
    /// Its verdict.
    pub verdict: LoadVerdict,
    /// Lower 95 % bound of its loss ratio.
    pub lower95: Option<f64>,
    /// Upper 95 % bound of its loss ratio.
    pub upper95: Option<f64>,
}

/// Two rungs where the higher load did better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reversal {
    /// Index of the lower load.
    pub lower: usize,
    /// Index of the higher load.
    pub higher: usize,
    /// The lower load fails and the higher passes; otherwise only their loss bounds are reversed.
    pub fail_below_pass: bool,
}

/// What a ladder says as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ladder {
    /// Index of the largest passing load below the smallest failing one.
    pub maximum: Option<usize>,
    /// Indices of passing loads above the smallest failing one.
    pub islands: Vec<usize>,
    /// Pairs of loads in the wrong order; any makes the flag `loss_not_monotonic`, and both loads are
    /// to be repeated once before it counts as confirmed.
    pub reversals: Vec<Reversal>,
}

/// Reads rungs sorted by rising load.
#[must_use]
pub fn ladder(rungs: &[Rung]) -> Ladder {
    let is = |verdict| move |rung: &Rung| rung.verdict == verdict;
    let first_fail = rungs
        .iter()
        .position(is(LoadVerdict::Fail))
        .unwrap_or(rungs.len());
    let passes = |range: std::ops::Range<usize>| {
        range.filter(|index| rungs[*index].verdict == LoadVerdict::Pass)
    };
    let mut reversals = Vec::new();
    for (lower, low) in rungs.iter().enumerate() {
        for (higher, high) in rungs.iter().enumerate().skip(lower + 1) {
            let fail_below_pass =
                low.verdict == LoadVerdict::Fail && high.verdict == LoadVerdict::Pass;
            let apart = low
                .lower95
                .zip(high.upper95)
                .is_some_and(|(least, most)| least > most);
            if fail_below_pass || apart {
                reversals.push(Reversal {
                    lower,
                    higher,
                    fail_below_pass,
                });
            }
        }
    }
    Ladder {
        maximum: passes(0..first_fail).next_back(),
        islands: passes(first_fail..rungs.len()).collect(),
        reversals,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rung(verdict: LoadVerdict, lower95: f64, upper95: f64) -> Rung {
        Rung {
            verdict,
            lower95: Some(lower95),
            upper95: Some(upper95),
        }
    }

    #[test]
    fn monotone_ladder() {
        let rungs = [
            rung(LoadVerdict::Pass, 0.0, 1e-4),
            rung(LoadVerdict::Inconclusive, 0.0, 2e-3),
            rung(LoadVerdict::Fail, 0.01, 0.02),
        ];
        let read = ladder(&rungs);
        assert_eq!(
            read,
            Ladder {
                maximum: Some(0),
                islands: vec![],
                reversals: vec![]
            }
        );
    }

    #[test]
    fn a_pass_above_a_fail_is_an_island() {
        let rungs = [
            rung(LoadVerdict::Pass, 0.0, 1e-4),
            rung(LoadVerdict::Fail, 0.01, 0.02),
            rung(LoadVerdict::Pass, 0.0, 1e-4),
        ];
        let read = ladder(&rungs);
        assert_eq!((read.maximum, read.islands), (Some(0), vec![2]));
        assert_eq!(
            read.reversals,
            [Reversal {
                lower: 1,
                higher: 2,
                fail_below_pass: true
            }]
        );
    }

    #[test]
    fn bounds_alone_can_be_reversed() {
        let rungs = [
            rung(LoadVerdict::Fail, 0.05, 0.06),
            rung(LoadVerdict::Fail, 0.01, 0.02),
        ];
        let read = ladder(&rungs);
        assert_eq!((read.maximum, read.islands.len()), (None, 0));
        assert_eq!(
            read.reversals,
            [Reversal {
                lower: 0,
                higher: 1,
                fail_below_pass: false
            }]
        );
    }

    #[test]
    fn empty_and_unbounded() {
        assert_eq!(ladder(&[]).maximum, None);
        let unknown = Rung {
            verdict: LoadVerdict::Invalid,
            lower95: None,
            upper95: None,
        };
        let pass = rung(LoadVerdict::Pass, 0.0, 1e-4);
        assert_eq!(ladder(&[unknown, pass, unknown]).maximum, Some(1));
    }
}
