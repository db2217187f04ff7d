//! The error table against one that was simulated outside this crate (NumPy and SciPy, 4,000
//! campaigns a cell), which had other seeds and shared resamples inside a cell.

use crate::cell::{Cell, KINDS, METHODS};
use crate::noise::Shape;
use crate::rows;

/// Campaigns behind the table.
const THEIRS: u32 = 4_000;
/// Standard errors of a difference that are still luck: about 1 in 1,000 of 128 such differences.
const REACH: f64 = 3.3;

struct Published {
    shape: Shape,
    /// Percent, in the order of [`METHODS`].
    coverage: [f64; KINDS],
    /// Method, and median width over that of delta-t.
    widths: &'static [(usize, f64)],
}

const fn row(shape: Shape, coverage: [f64; KINDS], widths: &'static [(usize, f64)]) -> Published {
    Published {
        shape,
        coverage,
        widths,
    }
}

/// Campaigns of ours: the tails of six pairs need four times the resamples of twelve.
const fn campaigns(pairs: usize) -> u32 {
    if pairs < 12 { 1_000 } else { 2_000 }
}

fn agrees(pairs: usize, table: &[Published]) {
    for published in table {
        let shape = published.shape;
        let cell = Cell { pairs, shape };
        let errors = cell.simulate(campaigns(pairs), rows(pairs), 0x5EED);
        for (method, expected) in published.coverage.into_iter().enumerate() {
            let (seen, expected) = (errors.coverage[method], expected / 100.0);
            let theirs = expected * (1.0 - expected) / f64::from(THEIRS);
            let error = theirs.sqrt().hypot(errors.standard_error(method));
            // the table has one decimal
            let off = ((seen - expected).abs() - 0.000_5) / error;
            let name = (pairs, shape.name(), METHODS[method]);
            assert!(
                off < REACH,
                "{name:?}: {seen} {expected}, {off} standard errors"
            );
        }
        for (method, expected) in published.widths {
            let seen = errors.width[*method];
            // two decimals, and stalls of a distribution of their own; what is wide varies more
            let reach = 0.025 + 0.1 * (expected - 1.0).max(0.0);
            let name = (pairs, shape.name(), METHODS[*method]);
            assert!(
                (seen - expected).abs() < reach,
                "{name:?}: width {seen} {expected}"
            );
        }
    }
}

#[test]
fn six_pairs() {
    agrees(
        6,
        &[
            row(
                Shape::Normal,
                [85.8, 93.6, 86.1, 95.1, 95.2, 95.5, 95.2, 95.2],
                &[(0, 0.69), (1, 0.94), (3, 1.16), (5, 1.03)],
            ),
            row(
                Shape::Lognormal(0.5),
                [85.5, 93.7, 85.2, 94.2, 94.2, 95.3, 94.9, 95.2],
                &[],
            ),
            row(
                Shape::Heavy,
                [86.2, 93.8, 84.4, 94.4, 96.3, 96.5, 96.2, 96.4],
                &[],
            ),
            row(
                Shape::Stalls,
                [85.2, 93.2, 80.8, 96.4, 97.2, 97.4, 97.2, 97.2],
                &[(3, 1.28)],
            ),
            row(
                Shape::Pareto,
                [84.2, 93.0, 79.8, 94.7, 97.4, 97.5, 97.6, 97.5],
                &[],
            ),
        ],
    );
}

#[test]
fn twelve_pairs() {
    agrees(
        12,
        &[
            row(
                Shape::Normal,
                [91.1, 94.8, 90.8, 95.0, 95.0, 95.4, 95.0, 95.0],
                &[(0, 0.85), (1, 0.99), (3, 1.04), (5, 1.02)],
            ),
            row(
                Shape::Lognormal(0.05),
                [92.0, 95.3, 91.5, 95.7, 95.5, 95.7, 95.5, 95.4],
                &[],
            ),
            row(
                Shape::Lognormal(0.5),
                [91.0, 95.0, 90.1, 94.7, 94.5, 95.5, 96.0, 95.3],
                &[],
            ),
            row(
                Shape::Heavy,
                [90.6, 94.4, 88.3, 93.2, 95.5, 95.6, 95.5, 95.5],
                &[],
            ),
            row(
                Shape::Stalls,
                [89.9, 94.5, 79.4, 96.3, 98.3, 98.5, 98.4, 98.4],
                &[(0, 0.76), (1, 0.93), (3, 2.06), (5, 1.11)],
            ),
            row(
                Shape::Pareto,
                [88.0, 93.2, 81.5, 90.1, 97.2, 97.2, 97.3, 97.2],
                &[],
            ),
            row(
                Shape::RareMode,
                [72.0, 72.2, 71.6, 72.0, 72.2, 72.3, 72.4, 72.4],
                &[(3, 2.96)],
            ),
        ],
    );
}

#[test]
fn twenty_pairs() {
    agrees(
        20,
        &[
            row(
                Shape::Normal,
                [92.4, 94.4, 92.4, 94.9, 94.3, 94.6, 94.3, 94.3],
                &[(0, 0.92)],
            ),
            row(
                Shape::Lognormal(0.5),
                [92.5, 94.3, 91.4, 94.1, 94.0, 94.5, 95.0, 94.8],
                &[],
            ),
            row(
                Shape::Heavy,
                [91.5, 94.2, 89.0, 92.5, 95.2, 95.4, 95.2, 95.3],
                &[],
            ),
            row(
                Shape::Stalls,
                [89.1, 92.4, 75.9, 92.8, 98.7, 98.8, 98.8, 98.8],
                &[(3, 2.19)],
            ),
        ],
    );
}
