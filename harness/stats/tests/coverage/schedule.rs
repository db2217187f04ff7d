//! Hosts that change while a campaign runs: what the drawn order is for.

use crate::noise::{Noise, Shape};
use crate::{Arms, assert_between, excludes, share};
use wiretrial_stats::drift::{PositionEffect, randomization};
use wiretrial_stats::interval::{Scale, Student, pair_effects};
use wiretrial_stats::order::{First, balanced};
use wiretrial_stats::random::Stream;
use wiretrial_stats::rank::median;

const CAMPAIGNS: u32 = 2_000;

/// What a host does to a campaign besides noise of 1 % in each trial.
#[derive(Debug, Clone, Copy)]
struct Disturbance {
    /// Deviation of an autocorrelated load (coefficient 0.9).
    load: f64,
    /// Drift from the first trial to the last.
    drift: f64,
    /// What the second place in a pair costs.
    position: f64,
}

const POSITION: Disturbance = Disturbance {
    load: 0.0,
    drift: 0.0,
    position: 0.01,
};
const LOAD_AND_POSITION: Disturbance = Disturbance {
    load: 0.02,
    ..POSITION
};
const ALL: Disturbance = Disturbance {
    drift: 0.05,
    ..LOAD_AND_POSITION
};

/// 12 pairs of equal arms in this order.
fn disturbed(by: Disturbance, noise: &mut Noise, order: &[First]) -> Arms {
    let mut load = by.load * noise.normal();
    let mut slot = 0.0;
    let mut cost = |place: f64| {
        load = 0.9 * load + by.load * (1.0f64 - 0.81).sqrt() * noise.normal();
        slot += 1.0;
        1.0 + load + by.drift * slot / 24.0 + by.position * place + 0.01 * noise.normal()
    };
    order
        .iter()
        .map(|first| {
            let (early, late) = (cost(0.0), cost(1.0));
            if *first == First::Baseline {
                (early, late)
            } else {
                (late, early)
            }
        })
        .unzip()
}

#[test]
fn drawn_order_withstands_drift_load_and_position() {
    let mut noise = Noise(Stream::new(5));
    let mut schedule = Stream::new(6);
    let mut drawn = || balanced(12, &mut schedule).unwrap();
    let draw = || disturbed(ALL, &mut noise, &drawn());
    assert_between(share(12, CAMPAIGNS, draw, excludes(1.0)), 0.0, 0.065);

    let (mut randomized, mut adjusted) = (0u32, 0u32);
    let mut widths = Vec::new();
    for _ in 0..CAMPAIGNS {
        let order = drawn();
        let (a, b) = disturbed(ALL, &mut noise, &order);
        let effects = pair_effects(Scale::Ratio, &a, &b).unwrap();
        randomized += u32::from(randomization(&effects, &order).unwrap().value() <= 0.05);
        let limits = PositionEffect::of(&effects, &order)
            .unwrap()
            .limits(Scale::Ratio);
        adjusted += u32::from(excludes(1.0)(&limits));
        let plain = Student::new(Scale::Ratio, &a, &b).unwrap().interval(0.05);
        widths.push((limits.hi95 - limits.lo95) / (plain.hi - plain.lo));
    }
    assert_between(f64::from(randomized) / f64::from(CAMPAIGNS), 0.03, 0.065);
    assert_between(f64::from(adjusted) / f64::from(CAMPAIGNS), 0.025, 0.065);
    let width = median(&widths).unwrap();
    println!(
        "adjusted for order, of the plain width: {:.0} %",
        100.0 * width
    );
    assert_between(width, 0.78, 0.86);
}

/// The same hosts measured baseline first in every pair: the cost of the second place passes for an
/// effect of the candidate.
#[test]
fn a_fixed_order_does_not() {
    let mut noise = Noise(Stream::new(8));
    let fixed = [First::Baseline; 12];
    for (by, low, high) in [
        (POSITION, 0.54, 0.61),
        (LOAD_AND_POSITION, 0.41, 0.48),
        (ALL, 0.59, 0.67),
    ] {
        let draw = || disturbed(by, &mut noise, &fixed);
        let wrong = share(12, CAMPAIGNS, draw, excludes(1.0));
        println!("baseline always first, {by:?}: {:.1} %", 100.0 * wrong);
        assert_between(wrong, low, high);
    }
}

/// Looking after each pair from 6 to 24, and ending at the first difference, is a test at another
/// level than it says.
#[test]
fn a_campaign_that_ends_at_its_first_welcome_look_errs_more() {
    let mut noise = Noise(Stream::new(9));
    let ended = |_: &u32| {
        let (a, b) = Shape::Normal.arms(24, &mut noise);
        (6..=24).any(|pairs| {
            let seen = Student::new(Scale::Ratio, &a[..pairs], &b[..pairs]).unwrap();
            seen.p() < 0.05
        })
    };
    let wrong = (0..CAMPAIGNS).filter(ended).count();
    let wrong = f64::from(u32::try_from(wrong).unwrap()) / f64::from(CAMPAIGNS);
    println!(
        "a look after each pair from 6 to 24: {:.1} %",
        100.0 * wrong
    );
    assert_between(wrong, 0.17, 0.22);
}
