//! What a table says of one arm by itself.

use serde::{Deserialize, Serialize};

use crate::metric::Metric;

/// One metric of one arm in one case of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The case.
    pub case: String,
    /// The arm.
    pub arm: String,
    /// The metric.
    pub metric: Metric,
    /// Its unit for people.
    pub unit: String,
    /// Whether the others are compared with this arm.
    pub reference: bool,
    /// Rounds in the estimate.
    pub rounds: u32,
    /// The values, in the order in which the rounds ran.
    pub values: Vec<f64>,
    /// Their median, in `unit`.
    pub median: Option<f64>,
    /// Lower end of the interval of the median: an order statistic, so without any assumption on the
    /// distribution but that the rounds are independent. `None` where there are too few rounds.
    pub lo95: Option<f64>,
    /// Its upper end.
    pub hi95: Option<f64>,
    /// The confidence that the interval has, at least 0.95.
    pub confidence: Option<f64>,
}
