//! What must hold of every analysis, whatever the rows say: from plan and rows to verdict.

use proptest::prelude::*;
use wiretrial_contract::analysis::{Analysis, Comparison, Interval, Reason, Verdict};
use wiretrial_contract::control::PassInput;
use wiretrial_contract::metric::Metric;
use wiretrial_contract::plan::{Floor, LaunchOrder, Plan};
use wiretrial_contract::record::{Flag, Guard, GuardName, Outcome, Phase, TrialRecord};

use super::{Identity, analyse};
use crate::trial::samples;

const METRIC: Metric = Metric::ElapsedNsPerUnit;

/// A plan of passes over elapsed time, 12 pairs, with a margin of 2 %.
pub(super) fn plan(pairs: u32) -> Plan {
    let mut plan = samples::passes_plan();
    let design = &mut plan.campaign.design;
    design.primary = METRIC;
    design.pairs = pairs;
    design.margin = Some(0.02);
    design.aa = false;
    plan.pairs = crate::campaign::order::pairs(&plan.campaign, plan.seed.0);
    plan
}

/// Both rows of a pair whose arms took these times a pass, ns.
fn rows(pair: u64, order: &LaunchOrder, elapsed_ns: [u64; 2]) -> [TrialRecord; 2] {
    [("baseline", elapsed_ns[0]), ("candidate", elapsed_ns[1])].map(|(arm, elapsed)| {
        let short = samples::pass(PassInput::Short, 1_000_000, 1_000_000);
        let whole = samples::pass(PassInput::Whole, elapsed, elapsed);
        TrialRecord {
            order: order.clone(),
            ..samples::passes_row(pair, arm, vec![short, whole.clone(), whole])
        }
    })
}

/// The rows of a finished plan with these times.
fn all_rows(plan: &Plan, times: &[[u64; 2]]) -> Vec<TrialRecord> {
    let pairs = plan.pairs.iter().zip(times);
    pairs
        .flat_map(|(planned, times)| rows(planned.pair, &planned.order, *times))
        .collect()
}

fn analysis(plan: &Plan, rows: &[TrialRecord]) -> Analysis {
    let identity = Identity {
        plan_sha256: "aa".into(),
        rows_sha256: "bb".into(),
        host_class: "cc".into(),
        host: "a host".into(),
    };
    analyse(plan, rows, &identity)
}

fn primary(analysis: &Analysis) -> &Comparison {
    &analysis.comparisons[0]
}

/// Times whose noise is `noise` thousandths and whose candidate takes `shift` thousandths more.
fn times(draws: &[(u64, u64)], noise: u64, shift: u64) -> Vec<[u64; 2]> {
    let time = |draw: u64| 300_000_000 + draw % 1_000 * noise * 300;
    draws
        .iter()
        .map(|(a, b)| [time(*a), time(*b) * shift / 1_000])
        .collect()
}

/// R3 of the reference values, in ns a pass of 1,000,100 packets; pairs 0 to 5 are baseline-first.
const R3: [[f64; 2]; 12] = [
    [101.3, 99.1],
    [99.7, 97.9],
    [100.4, 98.6],
    [102.2, 99.8],
    [98.9, 97.1],
    [100.8, 98.5],
    [99.4, 97.6],
    [101.0, 98.8],
    [100.1, 98.3],
    [98.7, 97.0],
    [101.9, 99.5],
    [100.6, 98.4],
];

fn r3(plan: &mut Plan) -> Vec<TrialRecord> {
    for (planned, index) in plan.pairs.iter_mut().zip(0..) {
        planned.order = if index < 6 {
            LaunchOrder::BaselineFirst
        } else {
            LaunchOrder::CandidateFirst
        };
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "100 times a million"
    )]
    let times: Vec<[u64; 2]> = R3
        .iter()
        .map(|pair| pair.map(|value| (value * 1e7).round() as u64))
        .collect();
    all_rows(plan, &times)
}

#[test]
fn the_reference_campaign_has_its_published_numbers() {
    let mut plan = plan(12);
    let rows = r3(&mut plan);
    let analysis = analysis(&plan, &rows);
    let one = primary(&analysis);
    let close = |value: f64, expected: f64| {
        assert!((value - expected).abs() < 1e-6, "{value} is not {expected}");
    };
    close(one.ratio.unwrap(), 0.979_751);
    close(one.delta_t.lo95.unwrap(), 0.978_166);
    close(one.delta_t.hi90.unwrap(), 0.981_046);
    assert!((one.p_delta.unwrap() / 1.5204e-11 - 1.0).abs() < 1e-4);
    assert_eq!(one.p_holm, one.p_delta);
    let randomization = one.randomization_p.unwrap();
    assert_eq!((randomization.num, randomization.den), (2, 924));
    let found = one.diagnostics.unwrap();
    close(found.position_effect.unwrap(), -0.000_143_11);
    close(found.se.unwrap(), 0.000_769_19);
    close(found.von_neumann.unwrap(), 2.736_95);
    assert!((found.lag1.unwrap() + 0.424_23).abs() < 1e-5);
    assert!((found.spearman.unwrap() + 0.167_83).abs() < 1e-5);
    let adjusted = one.order_adjusted.unwrap();
    close(adjusted.ratio.unwrap().ln(), -0.020_436_93);
    assert_eq!(one.faster_pairs, Some(12));
    close(one.sign_p.unwrap(), 1.0 / 2048.0);
    assert_eq!(one.verdict, Some(Verdict::Improved));
    assert!(one.flags.is_empty(), "{:?}", one.flags);
    assert_eq!((analysis.family, analysis.calibration), (None, None));
}

#[test]
fn a_case_that_time_moved_is_unstable_only_where_that_was_declared() {
    let mut plan = plan(12);
    let steps: Vec<[u64; 2]> = (0..12)
        .map(|pair| {
            let noise = 300_000_000 + pair * 70_000 % 210_000;
            [noise, if pair < 6 { noise } else { noise * 11 / 10 }]
        })
        .collect();
    let rows = all_rows(&plan, &steps);
    let plain = analysis(&plan, &rows);
    let one = primary(&plain);
    assert!(one.flags.contains(&Flag::ChangePoint), "{:?}", one.flags);
    assert!(one.flags.contains(&Flag::Drift), "{:?}", one.flags);
    assert_eq!(one.diagnostics.unwrap().cusum.unwrap().before, 6);
    assert_ne!(one.verdict, Some(Verdict::Unstable));
    plan.campaign.design.require_stable = true;
    let strict = analysis(&plan, &rows);
    assert_eq!(primary(&strict).verdict, Some(Verdict::Unstable));
    assert_eq!(primary(&strict).reasons, [Reason::ChangePoint]);
    assert_eq!(strict.answer.word, "not decided");
}

#[test]
fn a_pair_far_from_the_others_is_named_and_kept() {
    let plan = plan(12);
    let mut times: Vec<[u64; 2]> = (0..12)
        .map(|pair| [300_000_000 + pair * 31_000 % 170_000, 300_000_000])
        .collect();
    times[7][1] = 450_000_000;
    let analysis = analysis(&plan, &all_rows(&plan, &times));
    let one = primary(&analysis);
    assert_eq!(one.outlying, [7]);
    assert!(one.flags.contains(&Flag::Outlying));
    assert_eq!(one.pairs, 12);
    assert!(one.mean_candidate.unwrap() > 312.0, "it is in the mean");
}

#[test]
fn a_margin_under_the_floor_is_not_decided_and_twenty_fold_is() {
    let mut plan = plan(12);
    plan.campaign.design.margin = Some(0.01);
    plan.floors = vec![Floor {
        arm: None,
        only: None,
        case: "mix".into(),
        metric: METRIC,
        size: 0.041,
        half_width: 0.041,
        occasions: 3,
        age_days: 2,
    }];
    let of = |times: &dyn Fn(u64) -> [u64; 2]| {
        let times: Vec<[u64; 2]> = (0..12).map(times).collect();
        analysis(&plan, &all_rows(&plan, &times))
    };
    let noise = |pair: u64| 300_000_000 + pair * 31_000 % 170_000;
    let small = of(&|pair| [noise(pair), noise(pair + 5) * 98 / 100]);
    let one = primary(&small);
    assert_eq!(one.verdict, Some(Verdict::Inconclusive));
    assert_eq!(one.reasons, [Reason::BelowFloor]);
    assert!(
        one.statement
            .ends_with("not decided, cannot see 1 % (floor 4.1 %)"),
        "{}",
        one.statement
    );
    assert_eq!(small.answer.word, "not decided");
    assert!(
        small
            .answer
            .text
            .starts_with("cannot see 1 % of elapsed time per unit (floor 4.1 %); "),
        "{}",
        small.answer.text
    );
    let limit = |analysis: &Analysis| {
        let mut limits = analysis.limitations.iter();
        limits.any(|limit| limit.text == "A/A floor 4.1 % (3 occasions, 2 days old)")
    };
    assert!(limit(&small));
    let large = of(&|pair| [noise(pair), noise(pair + 5) / 20]);
    assert_eq!(
        primary(&large).verdict,
        Some(Verdict::ImprovedWorthwhile),
        "far beyond both"
    );
    assert_eq!(primary(&large).floor.unwrap().occasions, 3);
}

#[test]
fn equal_arms_tell_the_floor_and_how_often_they_were_called_different() {
    let mut plan = plan(12);
    plan.campaign.design.aa = true;
    let times: Vec<[u64; 2]> = (0..12)
        .map(|pair| {
            let noise = |pair: u64| 300_000_000 + pair * 1_310_000 % 4_700_000;
            [noise(pair), noise(pair + 5)]
        })
        .collect();
    let analysis = analysis(&plan, &all_rows(&plan, &times));
    let calibration = analysis.calibration.unwrap();
    assert_eq!((calibration.cases, calibration.passed), (1, None));
    let half = primary(&analysis).decision.half_width().unwrap();
    let floor = format!(
        "A/A floor {}",
        wiretrial_reports::number::bound_percent(half)
    );
    assert!(
        analysis.answer.text.ends_with(&floor),
        "{}",
        analysis.answer.text
    );
    let statement = &primary(&analysis).statement;
    for part in ["; floor ", "sd of log pair ratios", "order effect"] {
        assert!(statement.contains(part), "{statement}");
    }
}

/// A pair that a guard voided, as it stands in the rows.
fn void(rows: &mut [TrialRecord]) {
    for row in rows {
        row.outcome = Outcome::Voided;
        row.guards = vec![Guard {
            name: GuardName::ForeignCpu,
            saw: "1 CPU".into(),
            passed: false,
        }];
    }
}

#[test]
fn voided_pairs_are_seen_beside_and_nowhere_else() {
    let plan = plan(6);
    let noise = |pair: u64| 300_000_000 + pair * 310_000 % 1_700_000;
    let times: Vec<[u64; 2]> = (0..6).map(|pair| [noise(pair), noise(pair + 3)]).collect();
    let mut all = all_rows(&plan, &times);
    let order = plan.pairs[2].order.clone();
    for row in &mut all[4..6] {
        row.pair = 6;
        row.replaces = Some(2);
    }
    let mut voided = rows(2, &order, [300_000_000, 900_000_000]);
    void(&mut voided);
    let mut with: Vec<TrialRecord> = all[..4].to_vec();
    with.extend(voided);
    with.extend(all[6..].iter().cloned());
    with.extend(all[4..6].iter().cloned());
    let without: Vec<TrialRecord> = with.iter().filter(|row| row.pair != 2).cloned().collect();
    let seen = analysis(&plan, &with);
    let removed = analysis(&plan, &without);
    let all = primary(&seen).with_voided.unwrap();
    assert_eq!(all.pairs, 7);
    assert!(all.ratio.unwrap() > 1.2, "the voided pair is in it");
    assert!(all.interval.hi95.is_some());
    assert_eq!(primary(&removed).with_voided, None);
    let results = |analysis: &Analysis| {
        let mut comparisons = analysis.comparisons.clone();
        comparisons
            .iter_mut()
            .for_each(|one| one.with_voided = None);
        (comparisons, analysis.verdict, analysis.answer.clone())
    };
    assert_eq!(results(&seen), results(&removed));
}

fn mirror(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::ImprovedWorthwhile => Verdict::RegressedWorthwhile,
        Verdict::Improved => Verdict::Regressed,
        Verdict::Regressed => Verdict::Improved,
        Verdict::RegressedWorthwhile => Verdict::ImprovedWorthwhile,
        same => same,
    }
}

/// The rule again, from the published numbers alone: of all verdicts exactly one.
fn by_hand(decision: &Interval, margin: f64, floor: Option<f64>) -> Vec<Verdict> {
    let (lo95, hi95) = (decision.lo95.unwrap(), decision.hi95.unwrap());
    let (lo90, hi90) = (decision.lo90.unwrap(), decision.hi90.unwrap());
    let (low, high) = (1.0 / (1.0 + margin), 1.0 + margin);
    let blind = floor
        .is_some_and(|floor| floor > margin && hi95 >= 1.0 / (1.0 + floor) && lo95 <= 1.0 + floor);
    let inside = lo90 > low && hi90 < high;
    let rules = [
        (Verdict::ImprovedWorthwhile, hi95 < low),
        (Verdict::RegressedWorthwhile, lo95 > high),
        (Verdict::Equivalent, inside),
        (Verdict::Improved, hi95 < 1.0 && hi95 >= low && !inside),
        (Verdict::Regressed, lo95 > 1.0 && lo95 <= high && !inside),
        (Verdict::Inconclusive, lo95 <= 1.0 && hi95 >= 1.0 && !inside),
    ];
    if blind {
        return vec![Verdict::Inconclusive];
    }
    let held = rules.iter().filter(|(_, holds)| *holds);
    held.map(|(verdict, _)| *verdict).collect()
}

fn draws() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((0..1_000_u64, 0..1_000_u64), 6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Arms swapped, the result is its mirror image.
    #[test]
    fn swapped_arms_mirror_the_verdict(draws in draws(), noise in 5..60_u64, shift in 930..1_075_u64) {
        let plan = plan(6);
        let times = times(&draws, noise, shift);
        let all = all_rows(&plan, &times);
        let mut turned = plan.clone();
        let other = |order: &LaunchOrder| match order {
            LaunchOrder::BaselineFirst => LaunchOrder::CandidateFirst,
            _ => LaunchOrder::BaselineFirst,
        };
        turned.pairs.iter_mut().for_each(|planned| planned.order = other(&planned.order));
        let swapped: Vec<[u64; 2]> = times.iter().map(|[a, b]| [*b, *a]).collect();
        let swapped = all_rows(&turned, &swapped);
        let (one, two) = (analysis(&plan, &all), analysis(&turned, &swapped));
        let (one, two) = (primary(&one), primary(&two));
        prop_assert_eq!(mirror(one.verdict.unwrap()), two.verdict.unwrap());
        let inverse = |value: Option<f64>, other: Option<f64>| {
            (value.unwrap() * other.unwrap() - 1.0).abs() < 1e-9
        };
        prop_assert!(inverse(one.ratio, two.ratio));
        prop_assert!(inverse(one.delta_t.lo95, two.delta_t.hi95));
        let (adjusted, mirrored) = (one.order_adjusted.unwrap(), two.order_adjusted.unwrap());
        prop_assert!(inverse(adjusted.interval.lo95, mirrored.interval.hi95));
        prop_assert_eq!(one.randomization_p, two.randomization_p);
        prop_assert_eq!(one.faster_pairs.unwrap() + two.faster_pairs.unwrap(), 6);
    }

    /// A campaign without guards that stop it has the one verdict that the table gives.
    #[test]
    fn every_analysis_has_the_one_verdict_of_the_table(
        draws in draws(), noise in 5..60_u64, shift in 930..1_075_u64, floor in 0..3_u32,
    ) {
        let mut plan = plan(6);
        let floor = f64::from(floor) * 0.015;
        plan.floors = vec![Floor {
        arm: None,
        only: None,
            case: "mix".into(),
            metric: METRIC,
            size: floor,
            half_width: floor,
            occasions: 1,
            age_days: 0,
        }];
        let analysis = analysis(&plan, &all_rows(&plan, &times(&draws, noise, shift)));
        let one = primary(&analysis);
        prop_assert_eq!(by_hand(&one.decision, 0.02, Some(floor)), vec![one.verdict.unwrap()]);
        prop_assert_eq!(analysis.verdict, one.verdict.unwrap());
    }

    /// A row of the pilot changes nothing, whichever pair it says it is.
    #[test]
    fn a_pilot_row_changes_nothing(draws in draws(), pair in 0..9_u64, elapsed in 1..900_000_000_u64) {
        let plan = plan(6);
        let all = all_rows(&plan, &times(&draws, 20, 1_000));
        let before = analysis(&plan, &all);
        let mut more = all;
        for mut row in rows(pair, &LaunchOrder::BaselineFirst, [elapsed, 1]) {
            row.phase = Phase::Pilot;
            more.insert(0, row);
        }
        prop_assert_eq!(before, analysis(&plan, &more));
    }
}
