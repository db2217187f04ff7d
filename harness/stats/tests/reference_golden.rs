//! Reference data sets with limits that were computed outside this crate (NumPy and SciPy).

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use wiretrial_stats::bootstrap::{Draws, Exact, Resamples};
use wiretrial_stats::drift::{
    Fraction, PositionEffect, lag_one, randomization, spearman, von_neumann,
};
use wiretrial_stats::interval::{
    ALPHA_90, ALPHA_95, Arm, Bca, Comparison, Enumerate, Interval, Intervals, Limits, Refusal,
    Scale, Secondary, Student, Unusable, compare, decision, expanded, expanded_tail, fieller,
    leave_one_out, pair_effects, percentile, secondary,
};
use wiretrial_stats::order::First;
use wiretrial_stats::rank::{median_interval, outlying, signed_rank};
use wiretrial_stats::verdict::{Findings, Flag, Guards, Judgement, Question, Verdict, judge};

const SEED: u64 = 0x5EED;
const A1: [f64; 3] = [10.0, 12.0, 11.0];
const B1: [f64; 3] = [9.0, 12.0, 10.0];
const A2: [f64; 6] = [100.2, 99.8, 101.1, 100.6, 99.5, 100.9];
const B2: [f64; 6] = [98.1, 97.9, 99.6, 98.4, 97.2, 99.1];
const A3: [f64; 12] = [
    101.3, 99.7, 100.4, 102.2, 98.9, 100.8, 99.4, 101.0, 100.1, 98.7, 101.9, 100.6,
];
const B3: [f64; 12] = [
    99.1, 97.9, 98.6, 99.8, 97.1, 98.5, 97.6, 98.8, 98.3, 97.0, 99.5, 98.4,
];
const B4: [f64; 12] = [
    99.1, 97.9, 98.6, 99.8, 97.1, 148.5, 97.6, 98.8, 98.3, 97.0, 99.5, 98.4,
];
const A5: [f64; 12] = [
    50.12, 49.87, 50.33, 50.05, 49.76, 50.21, 49.95, 50.18, 50.02, 49.81, 50.27, 50.09,
];
const B5: [f64; 12] = [
    50.07, 49.99, 50.21, 50.16, 49.70, 50.30, 50.03, 50.08, 49.94, 49.92, 50.15, 50.20,
];
const A6: [f64; 10] = [138.0, 93.0, 61.0, 179.0, 48.0, 37.0, 29.0, 23.0, 30.0, 2.0];
const B6: [f64; 10] = [
    143.0, 104.0, 69.0, 260.0, 75.0, 63.0, 50.0, 48.0, 111.0, 50.0,
];
const A7: [f64; 8] = [
    8406.0, 2342.0, 8187.0, 8459.0, 4795.0, 3516.0, 4796.0, 10238.0,
];
const B7: [f64; 8] = [
    -1200.0, 2601.0, -2705.0, 1982.0, -1290.0, 351.0, -638.0, -2719.0,
];
const A8: [f64; 4] = [10.0, 20.0, 30.0, 40.0];
const B8: [f64; 4] = [11.0, 22.0, 33.0, 44.0];

fn close(value: f64, expected: f64) {
    within(value, expected, 1.000_001e-6);
}

fn within(value: f64, expected: f64, tolerance: f64) {
    assert!(
        (value - expected).abs() <= tolerance,
        "{value} is not {expected}"
    );
}

fn spans(value: Interval, lo: f64, hi: f64) {
    assert!(
        (value.lo - lo).abs() <= 1e-6 && (value.hi - hi).abs() <= 1e-6,
        "{value:?} is not {lo} {hi}"
    );
}

fn at95(limits: Limits) -> Interval {
    Interval {
        lo: limits.lo95,
        hi: limits.hi95,
    }
}

fn at90(limits: Limits) -> Interval {
    Interval {
        lo: limits.lo90,
        hi: limits.hi90,
    }
}

fn ratio(a: &[f64], b: &[f64]) -> (Comparison, Intervals) {
    let compared = compare(Scale::Ratio, a, b, SEED, Enumerate::Yes).unwrap();
    let intervals = compared.intervals.clone().unwrap();
    (compared, intervals)
}

fn draws(a: &[f64], b: &[f64]) -> Draws {
    Resamples::new(SEED, a.len()).unwrap().ratios(a, b)
}

fn exact(a: &[f64], b: &[f64], alpha: f64) -> Interval {
    let all = Exact::ratios(a, b).unwrap();
    Interval {
        lo: all.quantile(alpha / 2.0),
        hi: all.quantile(1.0 - alpha / 2.0),
    }
}

fn others(a: &[f64], b: &[f64]) -> Secondary {
    secondary(Scale::Ratio, a, b, SEED).unwrap()
}

/// The bias-corrected interval, resolved or not.
fn corrected(a: &[f64], b: &[f64]) -> Interval {
    let mut drawn = draws(a, b);
    let bca = Bca::new(Scale::Ratio, a, b, &drawn).unwrap();
    let (low, high) = bca.tails(ALPHA_95).unwrap();
    Interval {
        lo: drawn.quantile(low),
        hi: drawn.quantile(high),
    }
}

fn judged(a: &[f64], b: &[f64], margin: Option<f64>) -> Judgement {
    let (compared, intervals) = ratio(a, b);
    let rest = leave_one_out(Scale::Ratio, a, b, SEED).unwrap();
    let findings = Findings {
        decision: Some(&intervals.decision),
        leave_one_out: &rest,
        mean_typical_split: compared.mean_typical_split(margin),
        deterministic: compared.deterministic,
    };
    judge(
        &Guards::default(),
        &findings,
        &Question::new(Scale::Ratio, margin),
    )
}

#[test]
fn r1_three_pairs_have_values_and_no_published_interval() {
    let compared = compare(Scale::Ratio, &A1, &B1, SEED, Enumerate::Yes).unwrap();
    close(compared.estimate, 0.939394);
    assert_eq!(compared.intervals, Err(Refusal::TooFewPairs { pairs: 3 }));
    let mut drawn = draws(&A1, &B1);
    spans(percentile(&mut drawn, ALPHA_95), 0.9, 1.0);
    spans(percentile(&mut drawn, ALPHA_90), 0.903226, 0.971429);
    spans(exact(&A1, &B1, ALPHA_95), 0.9, 1.0);
    spans(exact(&A1, &B1, ALPHA_90), 0.903226, 0.971429);
    let student = Student::new(Scale::Ratio, &A1, &B1).unwrap();
    within(student.se, 0.035_231_32, 1e-8);
    spans(student.interval(ALPHA_95), 0.807261, 1.093155);
    spans(student.interval(ALPHA_90), 0.847559, 1.041180);
    spans(fieller(&A1, &B1, ALPHA_95).unwrap(), 0.760017, 1.058516);
    assert_eq!(others(&A1, &B1).fieller, None);
}

#[test]
fn r2_six_pairs() {
    let (compared, intervals) = ratio(&A2, &B2);
    close(compared.estimate, 0.980402);
    close(compared.geo_ratio.unwrap(), 0.980387);
    within(compared.pair_sd, 0.003_073_44, 1e-8);
    within(compared.se.unwrap(), 0.001_258_04, 1e-8);
    spans(at95(intervals.percentile.unwrap()), 0.978341, 0.982633);
    spans(at90(intervals.percentile.unwrap()), 0.978600, 0.982282);
    spans(at95(intervals.exact.unwrap()), 0.978341, 0.982662);
    spans(at90(intervals.exact.unwrap()), 0.978606, 0.982296);
    spans(at95(intervals.expanded.unwrap()), 0.977607, 0.983650);
    spans(at95(intervals.delta_t), 0.977237, 0.983578);
    spans(at90(intervals.delta_t), 0.977920, 0.982890);
    spans(at95(intervals.decision), 0.977237, 0.983650);
    spans(at90(intervals.decision), 0.977920, 0.982953);
    assert_eq!(Exact::ratios(&A2, &B2).unwrap().len(), 462);
    let others = others(&A2, &B2);
    let correction = others.correction.unwrap();
    close(correction.z0, 0.016670);
    close(correction.acceleration, 0.032262);
    spans(at95(others.bca.unwrap()), 0.978453, 0.982827);
    spans(at95(others.fieller.unwrap()), 0.977216, 0.983557);
    spans(at95(others.geometric.unwrap()), 0.977230, 0.983554);
}

#[test]
fn r3_twelve_pairs() {
    let (compared, intervals) = ratio(&A3, &B3);
    close(compared.estimate, 0.979751);
    close(compared.geo_ratio.unwrap(), 0.979770);
    within(compared.pair_sd, 0.002_544_94, 1e-8);
    within(compared.se.unwrap(), 0.000_735_63, 1e-8);
    within(compared.p_delta.unwrap(), 1.5204e-11, 1e-15);
    spans(compared.leave_one_out.unwrap(), 0.979481, 0.980056);
    assert_eq!(compared.faster_pairs, 12);
    spans(at95(intervals.percentile.unwrap()), 0.978404, 0.981116);
    spans(at90(intervals.percentile.unwrap()), 0.978621, 0.980904);
    spans(at95(intervals.exact.unwrap()), 0.978397, 0.981080);
    spans(at90(intervals.exact.unwrap()), 0.978609, 0.980893);
    spans(at95(intervals.expanded.unwrap()), 0.978187, 0.981318);
    spans(at95(intervals.delta_t), 0.978166, 0.981339);
    spans(at90(intervals.delta_t), 0.978458, 0.981046);
    spans(at95(intervals.decision), 0.978166, 0.981339);
    spans(at90(intervals.decision), 0.978458, 0.981057);
    assert_eq!(
        intervals.index_sha256.unwrap(),
        "ff56a0c7812176ca2375e5806550bfd38dcf3cf1d9039dd1a2fa0bdad466034d"
    );
    within(
        Student::new(Scale::Ratio, &A3, &B3)
            .unwrap()
            .equivalence_p(0.02),
        0.8035,
        5e-5,
    );
    let others = others(&A3, &B3);
    // 20 draws hold every pair once and equal the estimate but for the order of their sums
    within(others.bca.unwrap().lo95, 0.978365, 2e-6);
    within(others.bca.unwrap().hi95, 0.981072, 2e-6);
    spans(at95(others.fieller.unwrap()), 0.978174, 0.981347);
    spans(at95(others.geometric.unwrap()), 0.978188, 0.981356);
}

#[test]
fn r3_drawn_resamples_agree_with_all_of_them() {
    let all = Exact::ratios(&A3, &B3).unwrap();
    assert_eq!(all.len(), 1_352_078);
    let tail = expanded_tail(12, ALPHA_95);
    close(all.quantile(tail), 0.978175);
    close(all.quantile(1.0 - tail), 0.981310);
    let mut drawn = draws(&A3, &B3);
    for (end, p) in [
        (percentile(&mut drawn, ALPHA_95).lo, 0.025),
        (percentile(&mut drawn, ALPHA_95).hi, 0.975),
        (percentile(&mut drawn, ALPHA_90).lo, 0.05),
        (percentile(&mut drawn, ALPHA_90).hi, 0.95),
    ] {
        // in probability, not in value: a binomial count of 20,000 draws
        within(all.cdf(end), p, 4.0 * (p * (1.0 - p) / 20_000.0_f64).sqrt());
    }
    // a step of the distribution lies within rounding of the end itself, so it is read beside it
    within(all.cdf(0.981_116), 0.97768, 1e-5);
}

#[test]
fn r3_diagnostics() {
    let effects = pair_effects(Scale::Ratio, &A3, &B3).unwrap();
    let mut order = [First::Candidate; 12];
    order[..6].fill(First::Baseline);
    assert_eq!(
        randomization(&effects, &order),
        Some(Fraction { num: 2, den: 924 })
    );
    let position = PositionEffect::of(&effects, &order).unwrap();
    within(position.effect, -0.000_143_11, 1e-8);
    within(position.se, 0.000_769_19, 1e-8);
    within(position.adjusted, -0.020_436_93, 1e-8);
    within(von_neumann(&effects).unwrap(), 2.73695, 1e-5);
    within(lag_one(&effects).unwrap(), -0.42423, 1e-5);
    within(spearman(&effects).unwrap(), -0.16783, 1e-5);
    let adjusted = at95(position.limits(Scale::Ratio));
    assert!(adjusted.lo < 0.979770 && 0.979770 < adjusted.hi);
    within(signed_rank(&effects).unwrap(), 1.0 / 2_048.0, 1e-18);
    assert!(outlying(&effects).is_empty());
}

#[test]
fn r3_verdict_depends_on_the_margin() {
    let at_two = judged(&A3, &B3, Some(0.02));
    assert_eq!(at_two.verdict, Verdict::Improved);
    assert!(!at_two.flags.contains(&Flag::MeanTypicalSplit));
    assert_eq!(
        judged(&A3, &B3, Some(0.01)).verdict,
        Verdict::ImprovedWorthwhile
    );
    assert_eq!(judged(&A3, &B3, None).verdict, Verdict::Improved);
    assert_eq!(judged(&B3, &A3, Some(0.02)).verdict, Verdict::Regressed);
}

#[test]
fn r4_one_stall_hides_the_effect_and_is_flagged() {
    let (compared, intervals) = ratio(&A3, &B4);
    close(compared.estimate, 1.021245);
    close(compared.geo_ratio.unwrap(), 1.013869);
    close(compared.median_pair, 0.981846);
    within(compared.p_delta.unwrap(), 0.61308, 1e-5);
    spans(compared.leave_one_out.unwrap(), 0.979986, 1.025390);
    spans(at95(intervals.percentile.unwrap()), 0.978972, 1.104433);
    spans(at95(intervals.exact.unwrap()), 0.978980, 1.104489);
    spans(at95(intervals.expanded.unwrap()), 0.978689, 1.143825);
    spans(at95(intervals.delta_t), 0.934367, 1.116200);
    spans(at95(intervals.decision), 0.934367, 1.143825);
    let rest = leave_one_out(Scale::Ratio, &A3, &B4, SEED).unwrap();
    spans(at95(rest[5]), 0.978278, 0.981653);
    let judged = judged(&A3, &B4, Some(0.02));
    assert_eq!(judged.verdict, Verdict::Inconclusive);
    assert_eq!(judged.flags, [Flag::Fragile, Flag::MeanTypicalSplit]);
    // its upper end lies beyond what 20,000 resamples resolve, so it is not given
    assert_eq!(others(&A3, &B4).bca, None);
    // 12 draws hold every pair once and equal the estimate but for the order of their sums, which
    // moves the correction by a few draws
    within(corrected(&A3, &B4).lo, 0.979533, 3e-6);
    within(corrected(&A3, &B4).hi, 1.185918, 1e-5);
    let effects = pair_effects(Scale::Ratio, &A3, &B4).unwrap();
    assert_eq!(outlying(&effects), [5]);
    // third and tenth of twelve pair effects: what one stall does not move
    let typical = median_interval(&effects, 0.95).unwrap();
    assert!(typical.lo.exp() < compared.median_pair && typical.hi < 0.0);
}

#[test]
fn r5_same_binary_twice() {
    let (compared, intervals) = ratio(&A5, &B5);
    close(compared.estimate, 1.000150);
    within(compared.p_delta.unwrap(), 0.80480, 1e-5);
    spans(at95(intervals.percentile.unwrap()), 0.999036, 1.001234);
    spans(at95(intervals.exact.unwrap()), 0.999036, 1.001234);
    spans(at95(intervals.expanded.unwrap()), 0.998868, 1.001433);
    spans(at95(intervals.delta_t), 0.998848, 1.001453);
    spans(at90(intervals.delta_t), 0.999087, 1.001213);
    spans(at95(intervals.decision), 0.998848, 1.001453);
    spans(at90(intervals.decision), 0.999085, 1.001213);
    let p = Student::new(Scale::Ratio, &A5, &B5)
        .unwrap()
        .equivalence_p(0.02);
    within(p / 1.102e-12, 1.0, 1e-3);
    assert_eq!(judged(&A5, &B5, Some(0.02)).verdict, Verdict::Equivalent);
    assert_eq!(judged(&A5, &B5, Some(0.001)).verdict, Verdict::Inconclusive);
}

#[test]
fn r6_city_populations() {
    let (compared, intervals) = ratio(&A6, &B6);
    close(compared.estimate, 1.520312);
    spans(at95(intervals.percentile.unwrap()), 1.253048, 2.111741);
    spans(at95(intervals.exact.unwrap()), 1.251116, 2.106977);
    spans(at90(intervals.exact.unwrap()), 1.285714, 1.968045);
    spans(at95(intervals.expanded.unwrap()), 1.209809, 2.357748);
    spans(at95(intervals.delta_t), 1.145927, 2.017013);
    assert_eq!(Exact::ratios(&A6, &B6).unwrap().len(), 92_378);
    let others = others(&A6, &B6);
    spans(at95(others.bca.unwrap()), 1.247382, 2.090116);
    spans(at95(others.fieller.unwrap()), 1.195956, 2.461375);
}

#[test]
fn r7_patches_below_zero_are_refused_as_a_ratio() {
    let mut drawn = draws(&A7, &B7);
    spans(percentile(&mut drawn, ALPHA_95), -0.233396, 0.163304);
    spans(exact(&A7, &B7, ALPHA_95), -0.231232, 0.165885);
    spans(exact(&A7, &B7, ALPHA_90), -0.211455, 0.120958);
    assert_eq!(Exact::ratios(&A7, &B7).unwrap().len(), 6_435);
    let refused = Unusable::NotPositive {
        arm: Arm::Candidate,
        index: 0,
        value: -1200.0,
    };
    assert_eq!(
        compare(Scale::Ratio, &A7, &B7, SEED, Enumerate::Yes),
        Err(refused)
    );
    assert_eq!(Student::new(Scale::Ratio, &A7, &B7), Err(refused));
    let difference = compare(Scale::Difference, &A7, &B7, SEED, Enumerate::Yes).unwrap();
    assert_eq!((difference.ratio, difference.geo_ratio), (None, None));
    within(difference.estimate, -54_357.0 / 8.0, 1e-9);
    assert!(difference.intervals.unwrap().decision.hi95 < 0.0);
    assert!(exact(&A7, &B7, ALPHA_90).lo < -0.2, "not equivalent at 0.2");
    spans(fieller(&A7, &B7, ALPHA_95).unwrap(), -0.289628, 0.252430);
    assert_eq!(secondary(Scale::Ratio, &A7, &B7, SEED), Err(refused));
    spans(corrected(&A7, &B7), -0.224342, 0.187683);
}

#[test]
fn r8_no_variation_is_an_exact_comparison() {
    // Four pairs have no interval, whether or not they vary; the decision interval by itself takes them.
    let four = compare(Scale::Ratio, &A8, &B8, SEED, Enumerate::Yes).unwrap();
    assert!(four.deterministic);
    within(four.estimate, 1.1, 1e-15);
    assert_eq!(four.intervals, Err(Refusal::TooFewPairs { pairs: 4 }));
    assert_eq!(
        (others(&A8, &B8).fieller, others(&A8, &B8).bca),
        (None, None)
    );
    let resamples = Resamples::new(SEED, 4).unwrap();
    let point = decision(Scale::Ratio, &A8, &B8, &resamples).unwrap();
    assert_eq!(point, Limits::point(1.1));
    let twice = |four: &[f64]| four.repeat(2);
    let (a, b) = (twice(&A8), twice(&B8));
    let (compared, intervals) = ratio(&a, &b);
    assert!(compared.deterministic);
    assert_eq!(compared.p_delta, None);
    for limits in [
        intervals.percentile.unwrap(),
        intervals.expanded.unwrap(),
        intervals.delta_t,
        intervals.decision,
        intervals.exact.unwrap(),
    ] {
        assert_eq!(limits, Limits::point(1.1));
    }
    let judged = judged(&a, &b, Some(0.03));
    assert_eq!(judged.verdict, Verdict::RegressedWorthwhile);
    assert_eq!(judged.flags, [Flag::Deterministic]);
    let others = others(&a, &b);
    for limits in [others.fieller, others.geometric, others.bca] {
        assert_eq!(limits, Some(Limits::point(1.1)));
    }
    assert_eq!(others.correction, None);
    // the formula itself has nothing to divide by either
    let plain = fieller(&A8, &B8, ALPHA_95).unwrap();
    within(plain.lo, 1.1, 1e-15);
    within(plain.hi, 1.1, 1e-15);
}

#[test]
fn expanded_tails_and_their_resolution() {
    for (pairs, at95, at90) in [
        (6, 0.002432, 0.013644),
        (8, 0.005738, 0.021414),
        (10, 0.008551, 0.026663),
        (12, 0.010757, 0.030345),
        (16, 0.013856, 0.035106),
        (20, 0.015881, 0.038027),
    ] {
        close(expanded_tail(pairs, ALPHA_95), at95);
        close(expanded_tail(pairs, ALPHA_90), at90);
    }
    let mut drawn = draws(&A3, &B3);
    assert_eq!(expanded(&mut drawn, 12, ALPHA_95 / 20.0), None);
    let five = decision(
        Scale::Ratio,
        &A2[..5],
        &B2[..5],
        &Resamples::new(SEED, 5).unwrap(),
    );
    let alone = Student::new(Scale::Ratio, &A2[..5], &B2[..5])
        .unwrap()
        .interval(ALPHA_95);
    assert_eq!(at95(five.unwrap()), alone);
}

/// `scipy.stats.bootstrap` (paired, 20,000 resamples, default_rng(1)), to four digits. Both programs
/// draw, so they agree as two draws do: in tail probability for percentiles.
#[test]
fn scipy_draws_the_same_distribution() {
    for (a, b, lo, hi) in [
        (&A3[..], &B3[..], 0.9784, 0.9811),
        (&A3[..], &B4[..], 0.9790, 1.1045),
        (&A6[..], &B6[..], 1.2511, 2.1108),
        (&A2[..], &B2[..], 0.9783, 0.9826),
    ] {
        let all = Exact::ratios(a, b).unwrap();
        for (end, p) in [(lo, 0.025), (hi, 0.975)] {
            // four digits, and four standard errors of a binomial count of 20,000 draws
            let (least, most) = (all.cdf(end - 0.000_05), all.cdf(end + 0.000_05));
            assert!(
                least <= p + 0.0045 && most >= p - 0.0045,
                "{end} {least} {most}"
            );
        }
    }
    let (_, intervals) = ratio(&A3, &B3);
    let drawn = at95(intervals.percentile.unwrap());
    // the basic interval mirrors the percentiles at the estimate
    within(2.0 * 0.979751 - drawn.hi, 0.9784, 1e-4);
    within(2.0 * 0.979751 - drawn.lo, 0.9811, 1e-4);
    for (a, b, lo, hi) in [
        (&A3[..], &B3[..], 0.9784, 0.9811),
        (&A3[..], &B4[..], 0.9795, 1.1856),
        (&A6[..], &B6[..], 1.2490, 2.1000),
    ] {
        let bca = corrected(a, b);
        within(bca.lo / lo, 1.0, 0.005);
        within(bca.hi / hi, 1.0, 0.005);
    }
}

#[test]
fn seeds_move_the_ends_by_half_a_percent_of_the_width() {
    let ends: Vec<Interval> = (0..60)
        .map(|seed| {
            let mut drawn = Resamples::new(seed, 12).unwrap().ratios(&A3, &B3);
            percentile(&mut drawn, ALPHA_95)
        })
        .collect();
    let deviation = |end: fn(&Interval) -> f64| {
        let mean = ends.iter().map(end).sum::<f64>() / 60.0;
        let squares: f64 = ends.iter().map(|x| (end(x) - mean).powi(2)).sum();
        (squares / 59.0).sqrt()
    };
    // 60 draws know a deviation to 9 %; four times that
    within(deviation(|x| x.lo) / 1.5e-5, 1.0, 0.4);
    within(deviation(|x| x.hi) / 1.2e-5, 1.0, 0.4);
}
