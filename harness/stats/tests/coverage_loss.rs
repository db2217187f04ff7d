//! Simulated loads with fixed seeds: how often the loss bound holds, and what the classifier says.
//!
//! Five repeats of 100,000 packets in 20 blocks; losses come in episodes of geometric length. With
//! 1,000 loads a cell the standard error of a 95 % rate is 0.7 points.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use wiretrial_stats::loss::{Load, LoadVerdict, Lost, Repeat, Sender, Setting, classify};
use wiretrial_stats::proportion::upper_bound;
use wiretrial_stats::random::Stream;

const LOADS: u32 = 1_000;
const BLOCK: u64 = 5_000;
const ACCEPTED: u64 = 20 * BLOCK;

fn uniform(stream: &mut Stream) -> f64 {
    (f64::from(u32::try_from(stream.below(1 << 32)).unwrap()) + 0.5) / 4_294_967_296.0
}

/// Poisson count by products of uniform draws (Knuth).
fn poisson(mean: f64, stream: &mut Stream) -> u32 {
    let end = (-mean).exp();
    let (mut count, mut product) = (0, uniform(stream));
    while product > end {
        count += 1;
        product *= uniform(stream);
    }
    count
}

/// Length of one episode, mean `burst`.
fn episode(burst: f64, stream: &mut Stream) -> u64 {
    let mut length = 1;
    while uniform(stream) > 1.0 / burst {
        length += 1;
    }
    length
}

fn load(share: f64, burst: f64, stream: &mut Stream) -> Load {
    let blocks: Vec<Vec<(u64, u64)>> = (0..5)
        .map(|_| {
            let mut block = || -> u64 {
                (0..poisson(5_000.0 * share / burst, stream))
                    .map(|_| episode(burst, stream))
                    .sum()
            };
            (0..20).map(|_| (block().min(BLOCK), BLOCK)).collect()
        })
        .collect();
    let repeats: Vec<Repeat<'_>> = blocks
        .iter()
        .map(|blocks| Repeat {
            planned: ACCEPTED,
            accepted: ACCEPTED,
            lost: Lost::Unique(ACCEPTED - blocks.iter().map(|block| block.0).sum::<u64>()),
            blocks,
            intended_pps: 50_000.0,
            offered_pps: 50_000.0,
            sender: Sender::default(),
            backlog_grows: false,
            invalid: false,
        })
        .collect();
    classify(&repeats, &Setting::default())
}

/// Share of loads for which `counts` holds.
fn rate(share: f64, burst: f64, seed: u64, counts: impl Fn(&Load) -> bool) -> f64 {
    let mut stream = Stream::new(seed);
    let hits: u32 = (0..LOADS)
        .map(|_| u32::from(counts(&load(share, burst, &mut stream))))
        .sum();
    f64::from(hits) / f64::from(LOADS)
}

fn holds(load: &Load) -> bool {
    load.upper95.unwrap() >= 0.001
}

/// The bound that takes every lost packet for an independent one.
fn plain_holds(load: &Load) -> bool {
    let lost = f64::from(u32::try_from(load.lost_most).unwrap());
    upper_bound(lost, 500_000.0, 0.95).unwrap() >= 0.001
}

#[test]
fn bounds_hold_under_bursts_where_plain_ones_do_not() {
    for (burst, least) in [(1.0, 0.93), (10.0, 0.92), (50.0, 0.88)] {
        let covered = rate(0.001, burst, 11, holds);
        assert!(covered >= least, "burst {burst}: {covered}");
    }
    let plain = rate(0.001, 50.0, 11, plain_holds);
    assert!(plain < 0.65, "{plain}");
}

#[test]
fn twice_the_limit_does_not_pass() {
    for burst in [1.0, 10.0, 50.0] {
        let passed = rate(0.002, burst, 12, |load| load.verdict == LoadVerdict::Pass);
        assert!(passed <= 0.003, "burst {burst}: {passed}");
    }
}

#[test]
fn a_tenth_of_the_limit_passes() {
    for (burst, least) in [(1.0, 0.999), (10.0, 0.99)] {
        let passed = rate(0.000_1, burst, 13, |load| load.verdict == LoadVerdict::Pass);
        assert!(passed >= least, "burst {burst}: {passed}");
    }
}

#[test]
fn bursts_are_not_blamed_on_the_path() {
    let outcome = |wanted| rate(0.002, 50.0, 14, move |load| load.verdict == wanted);
    let (path, fail) = (
        outcome(LoadVerdict::PathVariable),
        outcome(LoadVerdict::Fail),
    );
    assert!(path <= 0.08 && fail >= 0.88, "{path} {fail}");
}
