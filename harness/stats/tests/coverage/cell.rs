//! One cell of the error table: how often each kind of interval holds the true ratio of means, and how
//! wide it is. The table itself is printed by the example `errors`.

use crate::noise::{Noise, Shape};
use wiretrial_stats::bootstrap::{Draws, Resamples};
use wiretrial_stats::interval::{
    ALPHA_95, Bca, Interval, Scale, Student, expanded, fieller, percentile,
};
use wiretrial_stats::random::Stream;

/// The kinds of interval, all at 95 %.
pub(crate) const METHODS: [&str; 8] = [
    "percentile",
    "expanded",
    "BCa",
    "bootstrap-t",
    "delta-t",
    "decision",
    "Fieller",
    "t on logs",
];
/// The kind whose width is the unit of the others.
const DELTA_T: usize = 4;
/// Number of kinds.
pub(crate) const KINDS: usize = METHODS.len();

/// Noise and size of the simulated campaigns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) pairs: usize,
    pub(crate) shape: Shape,
}

/// What came out of the campaigns of a cell, a number a method.
#[derive(Debug, Clone)]
pub(crate) struct Errors {
    /// Share of campaigns whose interval holds the truth.
    pub(crate) coverage: [f64; KINDS],
    /// Median width over the median width of delta-t.
    pub(crate) width: [f64; KINDS],
    campaigns: f64,
}

impl Errors {
    /// Monte Carlo standard error of a coverage.
    pub(crate) fn standard_error(&self, method: usize) -> f64 {
        let share = self.coverage[method];
        (share * (1.0 - share) / self.campaigns).sqrt()
    }
}

impl Cell {
    /// Runs `campaigns` campaigns, each with costs and an index map of `rows` resamples of its own. An
    /// interval that is refused holds nothing.
    pub(crate) fn simulate(&self, campaigns: u32, rows: usize, seed: u64) -> Errors {
        let mut noise = Noise(Stream::new(seed));
        let mut held = [0u32; KINDS];
        let mut widths: [Vec<f64>; KINDS] = std::array::from_fn(|_| Vec::new());
        for campaign in 0..campaigns {
            let (a, b) = self.shape.arms(self.pairs, &mut noise);
            let map_seed = seed ^ ((u64::from(campaign) + 1) << 32);
            let map = Resamples::with_rows(map_seed, self.pairs, rows).expect("few pairs");
            let all = intervals(&a, &b, &map);
            for (kind, interval) in all.into_iter().enumerate() {
                let Some(interval) = interval else { continue };
                let truth = self.shape.truth();
                held[kind] += u32::from(interval.lo <= truth && truth <= interval.hi);
                widths[kind].push(interval.hi - interval.lo);
            }
        }
        let medians = widths.map(|widths| Draws::new(widths).quantile(0.5));
        Errors {
            coverage: held.map(|held| f64::from(held) / f64::from(campaigns)),
            width: medians.map(|median| median / medians[DELTA_T]),
            campaigns: f64::from(campaigns),
        }
    }
}

/// The intervals of one campaign, in the order of [`METHODS`].
fn intervals(a: &[f64], b: &[f64], map: &Resamples) -> [Option<Interval>; KINDS] {
    let mut draws = map.ratios(a, b);
    let bca = Bca::new(Scale::Ratio, a, b, &draws);
    let student = Student::new(Scale::Ratio, a, b).expect("costs above 0");
    let plain = percentile(&mut draws, ALPHA_95);
    let wide = expanded(&mut draws, a.len(), ALPHA_95).expect("tails that are resolved");
    let delta_t = student.interval(ALPHA_95);
    let corrected = bca
        .and_then(|bca| bca.tails(ALPHA_95))
        .map(|(low, high)| Interval {
            lo: draws.quantile(low),
            hi: draws.quantile(high),
        });
    let typical = Student::geometric(a, b).expect("costs above 0");
    [
        Some(plain),
        Some(wide),
        corrected,
        Some(studentized(a, b, map, &student)),
        Some(delta_t),
        Some(Interval {
            lo: delta_t.lo.min(wide.lo),
            hi: delta_t.hi.max(wide.hi),
        }),
        fieller(a, b, ALPHA_95),
        Some(typical.interval(ALPHA_95)),
    ]
}

/// The bootstrap-t interval: quantiles of (ln R* - ln R) / se* instead of Student's. It lives here
/// because nothing but this table needs it.
fn studentized(a: &[f64], b: &[f64], map: &Resamples, student: &Student) -> Interval {
    let n = student.freedom + 1.0;
    let centre = student.estimate;
    let pivots = (0..map.rows()).filter_map(|row| {
        let mut sums = [0.0; 5];
        for index in map.row(row)? {
            let (a, b) = (a[usize::from(*index)], b[usize::from(*index)]);
            for (sum, term) in sums.iter_mut().zip([a, b, a * a, b * b, a * b]) {
                *sum += term;
            }
        }
        let [below, above, aa, bb, ab] = sums;
        let spread = bb / (above * above) + aa / (below * below) - 2.0 * ab / (above * below);
        let se = (spread * n / (n - 1.0)).sqrt();
        // a resample of one pair alone, n times, has no spread but rounding
        (spread > 1e-14).then(|| ((above / below).ln() - centre) / se)
    });
    let mut pivots = Draws::new(pivots.collect());
    Interval {
        lo: (centre - pivots.quantile(1.0 - ALPHA_95 / 2.0) * student.se).exp(),
        hi: (centre - pivots.quantile(ALPHA_95 / 2.0) * student.se).exp(),
    }
}
