//! Prints the simulated error table: how often each kind of 95 % interval holds the true ratio of
//! means, with Monte Carlo standard errors, and how wide it is beside Student's t. Takes the number
//! of campaigns a cell, 4,000 unless said otherwise. The methods of a row see the same campaigns and
//! resamples, and rows share a seed, so differences are surer than the standard errors say:
//!
//! `cargo run --release -p wiretrial-stats --example errors -- 4000`

#![allow(
    clippy::print_stdout,
    reason = "an example that prints; the library does not"
)]

#[path = "../tests/coverage/cell.rs"]
mod cell;
#[path = "../tests/coverage/noise.rs"]
mod noise;

use cell::{Cell, METHODS};
use noise::Shape;

/// Resamples of a simulated campaign, half of those of a real one: the tails are resolved as well.
const ROWS: usize = 10_000;
const SHAPES: [Shape; 7] = [
    Shape::Normal,
    Shape::Lognormal(0.05),
    Shape::Lognormal(0.5),
    Shape::Heavy,
    Shape::Stalls,
    Shape::Pareto,
    Shape::RareMode,
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let campaigns: u32 = std::env::args()
        .nth(1)
        .map_or(Ok(4_000), |text| text.parse())?;
    println!(
        "95 % intervals of a ratio of means that hold the truth, % of {campaigns} campaigns +- Monte"
    );
    println!(
        "Carlo standard error, and median width over that of delta-t; {ROWS} resamples a campaign"
    );
    print!("{:>2} {:<14}", "n", "noise");
    for method in METHODS {
        print!(" {method:>15}");
    }
    println!();
    for pairs in [6, 12, 20] {
        for shape in SHAPES {
            let errors = Cell { pairs, shape }.simulate(campaigns, ROWS, 0x5EED);
            print!("{pairs:>2} {:<14}", shape.name());
            for (method, coverage) in errors.coverage.iter().enumerate() {
                let error = 100.0 * errors.standard_error(method);
                let (share, width) = (100.0 * coverage, errors.width[method]);
                print!(" {share:>5.1}+-{error:.1} {width:.2}");
            }
            println!();
        }
    }
    Ok(())
}
