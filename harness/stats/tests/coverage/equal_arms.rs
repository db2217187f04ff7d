//! A/A campaigns: how often the decision interval sees a difference where there is none.

use crate::noise::{Noise, Shape};
use crate::{assert_between, excludes, share};
use wiretrial_stats::random::Stream;

/// Campaigns of a cell.
const CAMPAIGNS: u32 = 2_000;
/// Sizes of the campaigns of each shape.
const SIZES: [usize; 3] = [6, 12, 20];

fn excluded(shape: Shape, pairs: usize, seed: u64) -> f64 {
    let mut noise = Noise(Stream::new(seed));
    let rate = share(
        pairs,
        CAMPAIGNS,
        || shape.arms(pairs, &mut noise),
        excludes(shape.truth()),
    );
    println!("{pairs:>2} pairs, {}: {:.1} %", shape.name(), 100.0 * rate);
    rate
}

#[test]
fn normal_noise_is_excluded_at_the_nominal_rate() {
    for pairs in SIZES {
        assert_between(excluded(Shape::Normal, pairs, 1), 0.035, 0.065);
    }
}

#[test]
fn no_other_noise_is_excluded_more_often() {
    for shape in [
        Shape::Lognormal(0.05),
        Shape::Lognormal(0.5),
        Shape::Heavy,
        Shape::Stalls,
        Shape::Pareto,
    ] {
        for pairs in SIZES {
            // rarely enough, and not never
            assert_between(excluded(shape, pairs, 3), 0.002, 0.065);
        }
    }
}

/// The printed number is the share of campaigns whose interval misses the truth: no such launch was
/// in them, so no interval could know.
#[test]
fn rare_modes_escape_every_interval() {
    let unseen = 0.9f64.powi(12);
    assert_between(
        excluded(Shape::RareMode, 12, 4),
        unseen - 0.03,
        unseen + 0.03,
    );
}
