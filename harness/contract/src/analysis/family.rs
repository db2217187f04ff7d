//! What several cases say together.

use serde::{Deserialize, Serialize};

/// The primary comparisons of all cases as one family.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// Cases.
    pub cases: u32,
    /// Cases whose estimate is on the better side, whatever their verdict.
    pub improved: u32,
    /// Cases whose estimate is on the worse side.
    pub regressed: u32,
    /// Two-sided p of that split under even odds; where no case is changed it is about even. `None`
    /// without either.
    pub sign_p: Option<f64>,
    /// Whether every case is shown not to be worse by the margin: its one-sided 95 % bound lies below
    /// the margin. All must hold, so nothing is adjusted. `None` without a margin, and
    /// not decided where only cases whose floor is above the margin stand in the way.
    pub none_worse_than_margin: Option<bool>,
    /// The smallest p that the randomization test of a case can reach with the planned pairs. `None` in a
    /// table, whose comparisons have no such test.
    pub smallest_randomization_p: Option<f64>,
}

/// Equal arms that were called different, and what that says of the method.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Cases with a decision interval whose pairs are all there and measure what was asked.
    pub cases: u32,
    /// Cases whose 95 % decision interval excludes no difference; 5 % are expected.
    pub excluded: u32,
    /// So many reject the calibration: a binomial tail of at most 1 % at 5 % each.
    pub limit: u32,
    /// Whether there were fewer; `None` where so few cases cannot reject it.
    pub passed: Option<bool>,
    /// Probability of rejecting it if 10 % were excluded in truth.
    pub power_10: f64,
    /// The same at 20 %.
    pub power_20: f64,
}
