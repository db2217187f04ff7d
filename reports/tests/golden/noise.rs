//! Golden texts of what stands beside a verdict: order and time, floors, all cases together, equal arms,
//! and differences in place of ratios.

use wiretrial_contract::analysis::{
    Analysis, Calibration, Comparison, Diagnostics, Family, Fraction, Interval, KnownFloor,
    LevelShift, Reason, Variant, Verdict,
};
use wiretrial_contract::metric::{Metric, Scale};
use wiretrial_contract::record::Flag;
use wiretrial_reports::answer::{of_equal_arms, statement, statement_of_equal_arms};
use wiretrial_reports::screen::{Colour, screen};
use wiretrial_reports::{markdown, summary};

use crate::files::tables;
use crate::fixture;

/// What the judge writes beside a verdict, with these p values of position, effect and level with time
/// and the change of level.
fn beside(mut one: Comparison, p: [f64; 4], pairs: u32, orders: u64) -> Comparison {
    let ratio = one.ratio.unwrap_or(1.0);
    one.pairs = pairs;
    one.sd_log = Some(0.0141);
    one.p_delta = Some(0.004);
    one.p_holm = Some(0.008);
    one.faster_pairs = Some(pairs - 3);
    one.sign_p = Some(0.146);
    one.randomization_p = Some(Fraction {
        num: 8,
        den: orders,
    });
    let interval = Interval {
        lo95: Some(ratio * 0.99),
        hi95: Some(ratio * 1.012),
        lo90: Some(ratio * 0.992),
        hi90: Some(ratio * 1.01),
    };
    one.simultaneous = Some(interval);
    one.order_adjusted = Some(Variant {
        pairs,
        ratio: Some(ratio * 1.001),
        difference: None,
        interval,
    });
    one.diagnostics = Some(Diagnostics {
        position_effect: Some(-0.0042),
        se: Some(0.0012),
        p: Some(p[0]),
        spearman: Some(0.81),
        spearman_p: Some(p[1]),
        level_spearman: Some(-0.93),
        level_spearman_p: Some(p[2]),
        lag1: Some(-0.42),
        von_neumann: Some(2.737),
        cusum: Some(LevelShift {
            before: 5,
            k: 1.31,
            p: p[3],
            shift: 0.0311,
        }),
    });
    one
}

fn family(cases: u32) -> Family {
    Family {
        cases,
        improved: cases - 1,
        regressed: 1,
        sign_p: Some(1.0),
        none_worse_than_margin: Some(true),
        smallest_randomization_p: Some(2.0 / 924.0),
    }
}

/// Two cases, one of them with everything that order and time can do, on the third attempt.
pub(crate) fn flagged() -> Analysis {
    let mut moved = beside(
        fixture::effect("20k", [610.0, 590.0], [-4.4, -2.1], Verdict::Improved),
        [0.006, 0.002, 0.0001, 0.0009],
        12,
        924,
    );
    moved.flags = vec![
        Flag::PositionEffect,
        Flag::Drift,
        Flag::ChangePoint,
        Flag::Outlying,
    ];
    moved.outlying = vec![7, 12];
    moved.with_voided = Some(Variant {
        pairs: 14,
        ratio: Some(0.97),
        difference: None,
        interval: moved.decision,
    });
    let quiet = beside(
        fixture::effect("50k", [590.0, 588.0], [-0.9, 0.4], Verdict::Equivalent),
        [0.6, 0.5, 0.4, 0.3],
        12,
        924,
    );
    let all = [fixture::loads("20k", 20_000), fixture::loads("50k", 50_000)];
    let mut analysis = fixture::analysis(vec![moved, quiet], all.concat());
    analysis.family = Some(family(2));
    analysis.conditions.attempt = 3;
    analysis.conditions.earlier_plans = vec!["aa11".repeat(16), "bb22".repeat(16)];
    analysis
}

/// An A/A campaign of two cases with six pairs each.
pub(crate) fn equal() -> Analysis {
    let one = |case: &str, interval: [f64; 2]| {
        let one = fixture::effect(case, [610.0, 610.9], interval, Verdict::Equivalent);
        beside(one, [0.6, 0.5, 0.4, 0.3], 6, 20)
    };
    let comparisons = vec![one("20k", [-0.9, 1.2]), one("50k", [-1.6, 2.2])];
    let all = [fixture::loads("20k", 20_000), fixture::loads("50k", 50_000)];
    let mut analysis = fixture::analysis(comparisons, all.concat());
    analysis.family = Some(family(2));
    analysis.calibration = Some(Calibration {
        cases: 2,
        excluded: 0,
        limit: 2,
        passed: Some(true),
        power_10: 0.01,
        power_20: 0.04,
    });
    analysis.conditions.treatment = Vec::new();
    let margin = analysis.conditions.margin;
    for one in &mut analysis.comparisons {
        one.statement = statement_of_equal_arms(one, margin);
    }
    if let Some(calibration) = &analysis.calibration {
        analysis.answer = of_equal_arms(analysis.answer, calibration, &analysis.comparisons);
    }
    analysis
}

/// Two cases on a metric that is compared as a difference, with a margin of 5 in its unit.
pub(crate) fn differences() -> Analysis {
    let one = |case: &str, means: [f64; 2], ends: [f64; 2], verdict| {
        let mut one = fixture::effect(case, means, [0.0, 0.0], verdict);
        one.metric = Metric::PeakRssBytes;
        one.unit = one.metric.unit().into();
        one.scale = Scale::Difference;
        one.ratio = None;
        one.change = None;
        one.difference = Some(means[1] - means[0]);
        let [lo, hi] = ends;
        one.decision = Interval {
            lo95: Some(lo),
            hi95: Some(hi),
            lo90: Some(lo + 0.1),
            hi90: Some(hi - 0.1),
        };
        one.percentile = one.decision;
        one
    };
    let worse = one(
        "20k",
        [2.0, 14.5],
        [10.1, 14.8],
        Verdict::RegressedWorthwhile,
    );
    let same = one("50k", [0.0, 0.4], [-1.1, 1.9], Verdict::Equivalent);
    let cost = fixture::information(&same, Metric::ProcessCpuNsPerPacket, [100.0, 101.0]);
    let cost = Comparison {
        scale: Scale::Ratio,
        difference: None,
        ratio: Some(1.01),
        change: Some(0.01),
        ..cost
    };
    let all = [fixture::loads("20k", 20_000), fixture::loads("50k", 50_000)];
    let mut analysis = fixture::analysis(vec![worse, same, cost], all.concat());
    analysis.conditions.margin = Some(5.0);
    analysis.conditions.primary = Metric::PeakRssBytes;
    fixture::judge(&mut analysis);
    analysis
}

/// The margin is under the floor in one case, and the other lies far beyond both.
pub(crate) fn below_floor() -> Analysis {
    let floor = Some(KnownFloor {
        size: 0.0405,
        occasions: 3,
        age_days: 2,
    });
    let mut hidden = fixture::effect("20k", [610.0, 588.0], [-4.9, -2.3], Verdict::Inconclusive);
    hidden.reasons = vec![Reason::BelowFloor];
    let clear = fixture::effect(
        "50k",
        [590.0, 30.0],
        [-95.4, -94.1],
        Verdict::ImprovedWorthwhile,
    );
    let comparisons = [hidden, clear].map(|one| Comparison { floor, ..one });
    let all = [fixture::loads("20k", 20_000), fixture::loads("50k", 50_000)];
    let mut analysis = fixture::analysis(comparisons.to_vec(), all.concat());
    analysis
        .limitations
        .retain(|limit| limit.word != "no_aa_floor");
    analysis
}

fn plain(analysis: &Analysis) -> String {
    screen(analysis, &fixture::session(), Colour::Never)
}

#[test]
fn report_of_order_and_time() {
    insta::assert_snapshot!(markdown::report(&flagged()));
}

#[test]
fn tables_of_order_and_time() {
    insta::assert_snapshot!(tables(&flagged()));
}

#[test]
fn what_is_flagged_takes_one_line_of_the_screen() {
    let text = plain(&flagged());
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("flagged"))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert!(!plain(&fixture::demo()).contains("\nflagged"));
}

#[test]
fn report_of_equal_arms() {
    insta::assert_snapshot!(markdown::report(&equal()));
}

#[test]
fn screen_of_differences() {
    insta::assert_snapshot!(plain(&differences()));
}

#[test]
fn report_of_differences() {
    insta::assert_snapshot!(markdown::report(&differences()));
}

#[test]
fn tables_of_differences() {
    insta::assert_snapshot!(tables(&differences()));
}

#[test]
fn screen_below_the_floor() {
    insta::assert_snapshot!(plain(&below_floor()));
}

#[test]
fn a_floor_above_the_margin_is_the_second_line_of_a_summary() {
    let text = summary::summary(&below_floor());
    assert_eq!(
        text.lines().nth(1),
        Some("This runner cannot see 3 % (floor 4.1 %) in 20k.")
    );
    let mut some = below_floor();
    some.limitations.extend(fixture::demo().limitations);
    let missing = some.limitations.iter_mut();
    for limit in missing.filter(|limit| limit.word == "no_aa_floor") {
        limit.text = "no A/A floor in 1 of 2 cases".into();
    }
    let text = summary::summary(&some);
    let second = text.lines().nth(1).unwrap();
    assert!(
        second.starts_with("There is no A/A floor in 1 of 2 cases: "),
        "{second}"
    );
}

#[test]
fn a_floor_that_does_not_hide_the_margin_is_not_believed() {
    let mut analysis = below_floor();
    let one = &mut analysis.comparisons[0];
    one.floor = Some(KnownFloor {
        size: 0.02,
        occasions: 3,
        age_days: 2,
    });
    let text = statement(one, Some(0.03));
    assert!(!text.contains("cannot see"), "{text}");
}

#[test]
fn differences_must_lie_on_their_side_too() {
    let mut one = differences().comparisons.remove(0);
    let judged = |one: &Comparison| statement(one, Some(5.0));
    assert!(judged(&one).ends_with("worse by more than 5 bytes"));
    one.decision.lo95 = Some(4.9);
    assert!(judged(&one).contains("does not follow from its own interval"));
    let mut same = differences().comparisons.remove(1);
    assert!(judged(&same).ends_with("the same within 5 bytes"));
    same.decision.hi90 = Some(5.1);
    assert!(judged(&same).contains("does not follow from its own interval"));
}
