//! Simulated campaigns with fixed seeds: how often intervals err, and what a verdict finds.
//!
//! With 2,000 campaigns a cell the standard error of a 5 % rate is 0.5 points, with 1,000 it is 0.7;
//! the bounds allow for it. Resamples are as many as leave the expanded tails resolved.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(
    clippy::print_stdout,
    reason = "simulated rates are shown with --nocapture"
)]

mod cell;
mod detection;
mod equal_arms;
mod noise;
mod schedule;
mod table;

use wiretrial_stats::bootstrap::Resamples;
use wiretrial_stats::interval::{Limits, Scale, decision};

/// Costs of the baseline and of the candidate.
type Arms = (Vec<f64>, Vec<f64>);

/// The fewest thousands of resamples that resolve the expanded 95 % tails.
const fn rows(pairs: usize) -> usize {
    if pairs < 12 { 9_000 } else { 2_000 }
}

/// Share of `campaigns` whose decision interval satisfies `counts`. They share an index map.
fn share(
    pairs: usize,
    campaigns: u32,
    mut draw: impl FnMut() -> Arms,
    counts: impl Fn(&Limits) -> bool,
) -> f64 {
    let resamples = Resamples::with_rows(0x5EED, pairs, rows(pairs)).unwrap();
    let hits: u32 = (0..campaigns)
        .map(|_| {
            let (a, b) = draw();
            u32::from(counts(&decision(Scale::Ratio, &a, &b, &resamples).unwrap()))
        })
        .sum();
    f64::from(hits) / f64::from(campaigns)
}

fn excludes(truth: f64) -> impl Fn(&Limits) -> bool {
    move |limits| limits.lo95 > truth || limits.hi95 < truth
}

fn assert_between(rate: f64, low: f64, high: f64) {
    assert!(
        (low..=high).contains(&rate),
        "{rate} is not in {low}..={high}"
    );
}
