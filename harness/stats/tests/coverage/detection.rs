//! Differences that are there: found at the power that plans are made with.

use crate::noise::Noise;
use crate::{Arms, assert_between, share};
use wiretrial_stats::interval::Scale;
use wiretrial_stats::power::worthwhile_effect;
use wiretrial_stats::random::Stream;
use wiretrial_stats::verdict::{Question, Verdict};

const CAMPAIGNS: u32 = 2_000;
const MARGIN: f64 = 0.02;
/// Deviation of the pair effect.
const DEVIATION: f64 = 0.01;

/// Share of campaigns of `pairs` pairs with that verdict when the candidate costs `change` times as
/// much.
fn rate(pairs: usize, change: f64, verdict: Verdict) -> f64 {
    let mut noise = Noise(Stream::new(7));
    let question = Question::new(Scale::Ratio, Some(MARGIN));
    let each = DEVIATION / std::f64::consts::SQRT_2;
    let draw = || -> Arms {
        (0..pairs)
            .map(|_| {
                let (x, y) = (noise.normal(), noise.normal());
                (1.0 + each * x, change * (1.0 + each * y))
            })
            .unzip()
    };
    share(pairs, CAMPAIGNS, draw, |limits| {
        question.classify(limits) == verdict
    })
}

#[test]
fn margin_and_smallest_effect_together_are_worthwhile_four_times_in_five() {
    for pairs in [6, 12, 20] {
        let change = 1.0 + worthwhile_effect(Scale::Ratio, pairs, MARGIN, DEVIATION);
        for (change, verdict) in [
            (change, Verdict::RegressedWorthwhile),
            (1.0 / change, Verdict::ImprovedWorthwhile),
        ] {
            let found = rate(pairs, change, verdict);
            println!("{pairs} pairs, ratio {change:.4}: {:.1} %", 100.0 * found);
            // the decision interval is 1 to 3 % wider than Student's, which costs a point or two
            assert_between(found, 0.75, 0.83);
        }
    }
}

#[test]
fn known_differences_get_their_verdicts() {
    assert_between(rate(12, 1.0, Verdict::Equivalent), 0.99, 1.0);
    assert_between(rate(12, 0.99, Verdict::Equivalent), 0.92, 0.97);
    assert_between(rate(12, 0.97, Verdict::ImprovedWorthwhile), 0.87, 0.93);
    assert_between(rate(12, 1.05, Verdict::RegressedWorthwhile), 0.99, 1.0);
}
