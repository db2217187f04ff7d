//! What must hold for every data set: mirror images, scaling, order and pairing.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use proptest::prelude::*;
use wiretrial_stats::bootstrap::{Exact, Resamples};
use wiretrial_stats::interval::{
    ALPHA_95, Enumerate, Intervals, Limits, Scale, Student, compare, decision, fieller,
};
use wiretrial_stats::verdict::{Question, Verdict};

const MARGIN: f64 = 0.03;

fn costs() -> impl Strategy<Value = Vec<(f64, f64)>> {
    let cost = || (900u32..1_100).prop_map(|value| f64::from(value) / 10.0);
    prop::collection::vec((cost(), cost()), 6..13)
}

fn split(pairs: &[(f64, f64)]) -> (Vec<f64>, Vec<f64>) {
    pairs.iter().copied().unzip()
}

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-12 * left.abs().max(right.abs())
}

fn intervals(a: &[f64], b: &[f64]) -> Option<Intervals> {
    compare(Scale::Ratio, a, b, 7, Enumerate::No)
        .ok()
        .and_then(|compared| compared.intervals.ok())
}

fn class(limits: &Limits) -> Verdict {
    Question::new(Scale::Ratio, Some(MARGIN)).classify(limits)
}

fn mirrored(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::ImprovedWorthwhile => Verdict::RegressedWorthwhile,
        Verdict::Improved => Verdict::Regressed,
        Verdict::Regressed => Verdict::Improved,
        Verdict::RegressedWorthwhile => Verdict::ImprovedWorthwhile,
        same => same,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn swapped_arms_mirror_ratio_interval_and_verdict(pairs in costs()) {
        let (a, b) = split(&pairs);
        let (there, back) =
            (Student::new(Scale::Ratio, &a, &b).unwrap(), Student::new(Scale::Ratio, &b, &a).unwrap());
        let (t, u) = (there.interval(ALPHA_95), back.interval(ALPHA_95));
        prop_assert!(near(t.lo * u.hi, 1.0) && near(t.hi * u.lo, 1.0));
        let (forth, rear) = (intervals(&a, &b).unwrap(), intervals(&b, &a).unwrap());
        prop_assert_eq!(class(&forth.delta_t), mirrored(class(&rear.delta_t)));
        // interpolated quantiles of ratios and of their inverses differ by less than a gap
        let (drawn, reversed) = (forth.percentile.unwrap(), rear.percentile.unwrap());
        prop_assert!((drawn.lo95 * reversed.hi95 - 1.0).abs() < 1e-4);
        prop_assert!((drawn.hi95 * reversed.lo95 - 1.0).abs() < 1e-4);
        prop_assert!((forth.decision.lo95 * rear.decision.hi95 - 1.0).abs() < 1e-4);
        prop_assert!((forth.decision.hi90 * rear.decision.lo90 - 1.0).abs() < 1e-4);
        let (f, g) = (fieller(&a, &b, ALPHA_95).unwrap(), fieller(&b, &a, ALPHA_95).unwrap());
        prop_assert!(near(f.lo * g.hi, 1.0) && near(f.hi * g.lo, 1.0));
    }

    #[test]
    fn enumerated_limits_mirror_up_to_ties(mut pairs in costs()) {
        pairs.truncate(8);
        let (a, b) = split(&pairs);
        let (there, back) = (Exact::ratios(&a, &b).unwrap(), Exact::ratios(&b, &a).unwrap());
        // halves and quarters of n^n are often reached exactly, which leaves two answers
        for p in [0.025, 0.05, 0.25, 0.5, 0.75] {
            let (value, mirrored) = (there.quantile(p), 1.0 / back.quantile(1.0 - p));
            let reached = there.cdf(value * (1.0 + 1e-12));
            let next_begins = there.cdf(mirrored * (1.0 - 1e-12));
            prop_assert!(
                near(value, mirrored) || (near(reached, p) && near(next_begins, p)),
                "{} {} {} {}", p, value, mirrored, reached
            );
        }
    }

    #[test]
    fn draws_are_what_the_index_map_says(pairs in costs(), seed: u64, row in 0usize..200) {
        let (a, b) = split(&pairs);
        let map = Resamples::with_rows(seed, a.len(), 200).unwrap();
        let drawn = map.row(row).unwrap().iter().map(|index| usize::from(*index));
        let (below, above) =
            drawn.fold((0.0, 0.0), |(below, above), index| (below + a[index], above + b[index]));
        prop_assert!(map.ratios(&a, &b).values()[row].total_cmp(&(above / below)).is_eq());
    }

    #[test]
    fn a_common_factor_changes_nothing(pairs in costs(), factor in 0.001..1000.0f64) {
        let (a, b) = split(&pairs);
        let scaled: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (a * factor, b * factor)).collect();
        let (c, d) = split(&scaled);
        let (before, after) = (intervals(&a, &b).unwrap(), intervals(&c, &d).unwrap());
        for (left, right) in [
            (before.decision.lo95, after.decision.lo95),
            (before.decision.hi90, after.decision.hi90),
            (before.percentile.unwrap().lo90, after.percentile.unwrap().lo90),
        ] {
            prop_assert!(near(left, right));
        }
    }

    #[test]
    fn the_order_of_pairs_leaves_ratio_and_t_to_the_last_bit(pairs in costs(), turn in 1usize..6) {
        let (a, b) = split(&pairs);
        let mut turned = pairs.clone();
        turned.rotate_left(turn);
        let (c, d) = split(&turned);
        prop_assert_eq!(
            Student::new(Scale::Ratio, &a, &b).unwrap(),
            Student::new(Scale::Ratio, &c, &d).unwrap()
        );
    }

    #[test]
    fn decision_contains_both_parts(pairs in costs()) {
        let (a, b) = split(&pairs);
        let all = intervals(&a, &b).unwrap();
        let wide = all.expanded.unwrap();
        prop_assert!(all.decision.lo95 <= all.delta_t.lo95.min(wide.lo95));
        prop_assert!(all.decision.hi95 >= all.delta_t.hi95.max(wide.hi95));
        prop_assert!(all.decision.lo90 <= all.delta_t.lo90.min(wide.lo90));
        prop_assert!(all.decision.hi90 >= all.delta_t.hi90.max(wide.hi90));
        prop_assert!(all.decision.lo95 <= all.decision.lo90 && all.decision.hi90 <= all.decision.hi95);
        let again = decision(Scale::Ratio, &a, &b, &Resamples::new(7, a.len()).unwrap()).unwrap();
        prop_assert_eq!(again, all.decision);
    }
}

#[test]
fn pairing_matters() {
    let a = [100.0, 110.0, 120.0, 130.0, 140.0, 150.0];
    let b = [101.0, 111.5, 121.0, 131.5, 141.0, 151.5];
    let paired = Student::new(Scale::Ratio, &a, &b).unwrap();
    let mut other = b;
    other.rotate_left(1);
    let mixed = Student::new(Scale::Ratio, &a, &other).unwrap();
    assert!((paired.estimate - mixed.estimate).abs() < 1e-15);
    assert!(mixed.se > 20.0 * paired.se);
}

#[test]
fn differences_shift_and_mirror() {
    let a = [0.0, 3.0, 1.0, 0.0, 2.0, 5.0, 0.0, 1.0];
    let b = [1.0, 3.0, 2.0, 0.0, 4.0, 4.0, 0.0, 3.0];
    let there = compare(Scale::Difference, &a, &b, 7, Enumerate::Yes).unwrap();
    let back = compare(Scale::Difference, &b, &a, 7, Enumerate::Yes).unwrap();
    assert!(near(there.estimate, 0.625) && near(back.estimate, -0.625));
    assert_eq!((there.ratio, there.faster_pairs), (None, 1));
    let (t, u) = (there.intervals.unwrap(), back.intervals.unwrap());
    assert!(near(t.delta_t.lo95, -u.delta_t.hi95) && near(t.decision.hi90, -u.decision.lo90));
    assert_eq!(t.exact, None);
    let same = compare(Scale::Difference, &a, &a, 7, Enumerate::No).unwrap();
    assert!(same.deterministic);
    assert_eq!(same.intervals.unwrap().decision, Limits::point(0.0));
}

/// The table of verdicts, each rule on its own, over every order of four ends drawn from both sides of
/// every threshold and from the thresholds themselves.
#[test]
fn every_interval_has_exactly_one_class() {
    let (low, high) = (1.0 / (1.0 + MARGIN), 1.0 + MARGIN);
    let mut grid = vec![0.9, 1.1];
    for threshold in [low, 1.0, high] {
        grid.extend([
            threshold * (1.0 - 1e-9),
            threshold,
            threshold * (1.0 + 1e-9),
        ]);
        grid.extend([threshold * 0.99, threshold * 1.01]);
    }
    let mut seen = Vec::new();
    let pick = |code: usize, place: u32| grid[code / grid.len().pow(place) % grid.len()];
    for code in 0..grid.len().pow(4) {
        let limits = Limits {
            lo95: pick(code, 0),
            lo90: pick(code, 1),
            hi90: pick(code, 2),
            hi95: pick(code, 3),
        };
        let ends = [limits.lo95, limits.lo90, limits.hi90, limits.hi95];
        if !ends.is_sorted() {
            continue;
        }
        let equivalent = limits.lo90 > low && limits.hi90 < high;
        let (better, worse) = (limits.hi95 < low, limits.lo95 > high);
        let improved = limits.hi95 < 1.0 && !better && !equivalent;
        let regressed = limits.lo95 > 1.0 && !worse && !equivalent;
        let spans = limits.lo95 <= 1.0 && limits.hi95 >= 1.0 && !equivalent;
        let rules = [
            (better, Verdict::ImprovedWorthwhile),
            (improved, Verdict::Improved),
            (equivalent, Verdict::Equivalent),
            (spans, Verdict::Inconclusive),
            (regressed, Verdict::Regressed),
            (worse, Verdict::RegressedWorthwhile),
        ];
        let holding: Vec<Verdict> = rules.iter().filter(|r| r.0).map(|r| r.1).collect();
        assert_eq!(holding, [class(&limits)], "{limits:?}");
        if !seen.contains(&holding[0]) {
            seen.push(holding[0]);
        }
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
}
