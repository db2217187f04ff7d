//! Times what `make bench` compares: passes of 20,000 resamples of 12 pairs, and the enumeration of
//! all 1,352,078. For every line read from standard input, one round: `pass NANOSECONDS` as often as
//! the line says, then one `exact NANOSECONDS`. A pass makes the index map, the ratios and the limits
//! that are published; each has a seed of its own, so that nothing is remembered.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "an example that measures and prints; the library does neither"
)]

use std::hint::black_box;
use std::io::BufRead as _;
use std::time::Instant;
use wiretrial_stats::bootstrap::{Exact, Resamples};
use wiretrial_stats::interval::{ALPHA_90, ALPHA_95, expanded, percentile};

const BASELINE: [f64; 12] = [
    101.3, 99.7, 100.4, 102.2, 98.9, 100.8, 99.4, 101.0, 100.1, 98.7, 101.9, 100.6,
];
const CANDIDATE: [f64; 12] = [
    99.1, 97.9, 98.6, 99.8, 97.1, 98.5, 97.6, 98.8, 98.3, 97.0, 99.5, 98.4,
];

fn pass(seed: u64) {
    let (baseline, candidate) = (black_box(&BASELINE), black_box(&CANDIDATE));
    let map = Resamples::new(seed, 12).expect("12 pairs are resampled");
    let mut draws = map.ratios(baseline, candidate);
    for alpha in [ALPHA_90, ALPHA_95] {
        black_box(percentile(&mut draws, alpha));
        black_box(expanded(&mut draws, 12, alpha));
    }
}

fn exact() {
    let all = Exact::ratios(black_box(&BASELINE), black_box(&CANDIDATE)).expect("12 pairs at most");
    black_box(all.quantiles([0.025, 0.05, 0.95, 0.975]));
}

fn timed(name: &str, work: impl FnOnce()) {
    let start = Instant::now();
    work();
    println!("{name} {}", start.elapsed().as_nanos());
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut seed = 0;
    for line in std::io::stdin().lock().lines() {
        let passes: u64 = line?.trim().parse()?;
        for _ in 0..passes {
            seed += 1;
            timed("pass", || pass(seed));
        }
        timed("exact", exact);
        println!("done");
    }
    Ok(())
}
