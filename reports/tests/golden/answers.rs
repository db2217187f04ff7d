//! The fixed sentences, and the claims they refuse.

use wiretrial_contract::analysis::{Answer, Comparison, LoadVerdict, Reason, Verdict};
use wiretrial_contract::metric::Metric;
use wiretrial_contract::record::Flag;
use wiretrial_reports::answer::{answer, sentence, statement};

use crate::fixture::{self, effect, loads};

const MARGIN: Option<f64> = Some(0.03);

fn of(comparisons: &[Comparison]) -> Answer {
    answer(comparisons, &loads("20k", 20_000), &[], MARGIN)
}

fn said(comparisons: &[Comparison]) -> String {
    sentence(&of(comparisons))
}

fn with_reason(verdict: Verdict, reason: Reason) -> Comparison {
    let mut one = effect("20k", [600.0, 601.0], [-1.0, 1.0], verdict);
    one.reasons = vec![reason];
    one
}

#[test]
fn the_sentences() {
    let analyses = [
        fixture::demo(),
        fixture::six(),
        fixture::eight(),
        fixture::invalid(),
        fixture::without_margin(),
        fixture::same_arms(),
        fixture::open(),
        fixture::file(),
        fixture::commands(),
        fixture::wrong_work(),
        fixture::outside(),
    ];
    let lines: Vec<String> = analyses
        .iter()
        .map(|analysis| sentence(&analysis.answer))
        .collect();
    insta::assert_snapshot!(lines.join("\n\n"));
}

#[test]
fn the_statements() {
    let lines: Vec<String> = [
        fixture::demo(),
        fixture::six(),
        fixture::without_margin(),
        fixture::commands(),
    ]
    .iter()
    .flat_map(|analysis| &analysis.comparisons)
    .map(|comparison| comparison.statement.clone())
    .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn each_broken_verdict_says_why() {
    let lines: Vec<String> = [
        (Verdict::NotComparable, Reason::UnequalWork),
        (Verdict::NotComparable, Reason::CoupledLimit),
        (Verdict::Unstable, Reason::ChangePoint),
        (Verdict::AsymmetricFailures, Reason::VoidsOnOneArm),
        (Verdict::Incomplete, Reason::Interrupted),
        (Verdict::Invalid, Reason::ReplacementsExhausted),
    ]
    .map(|(verdict, reason)| said(&[with_reason(verdict, reason)]))
    .to_vec();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn same_is_said_only_of_an_interval_inside_the_margin() {
    let inside = effect("20k", [600.0, 603.0], [-0.5, 1.4], Verdict::Equivalent);
    assert_eq!(of(std::slice::from_ref(&inside)).word, "same");
    // No margin: the claim cannot be made.
    let without = answer(&[inside], &loads("20k", 20_000), &[], None);
    assert_eq!(without.word, "invalid");
    // The 90 % interval, not the 95 % one, decides.
    let outside = effect("20k", [600.0, 603.0], [-0.5, 4.0], Verdict::Equivalent);
    assert_eq!(of(&[outside]).word, "invalid");
    // Spanning 1 is not the same.
    let spans = effect("20k", [600.0, 603.0], [-0.5, 1.4], Verdict::Inconclusive);
    let answer = of(&[spans]);
    assert_eq!(answer.word, "not decided");
    assert!(
        answer
            .text
            .contains("spans 1 and does not establish equivalence")
    );
}

#[test]
fn better_and_worse_are_said_only_of_an_interval_on_that_side() {
    for (verdict, interval, means) in [
        (Verdict::Improved, [-1.0, 0.2], [600.0, 597.0]),
        (Verdict::ImprovedWorthwhile, [-4.0, -2.5], [600.0, 580.0]),
        (Verdict::Regressed, [-0.1, 2.0], [600.0, 606.0]),
        (Verdict::RegressedWorthwhile, [2.0, 6.0], [600.0, 624.0]),
        // Better, and yet it costs more.
        (Verdict::Improved, [1.0, 3.0], [600.0, 612.0]),
        // An interval that does not hold its own estimate.
        (Verdict::Improved, [-3.0, -1.0], [600.0, 612.0]),
        (Verdict::Regressed, [1.0, 3.0], [600.0, 588.0]),
    ] {
        let one = effect("20k", means, interval, verdict);
        assert_eq!(
            of(std::slice::from_ref(&one)).word,
            "invalid",
            "{verdict:?}"
        );
        assert!(statement(&one, MARGIN).contains("does not follow from its own interval"));
    }
    let mut no_interval = effect("20k", [600.0, 500.0], [-20.0, -15.0], Verdict::Improved);
    no_interval.decision.hi95 = None;
    assert_eq!(of(&[no_interval]).word, "invalid");
}

#[test]
fn worthwhile_needs_a_declared_margin() {
    let one = effect(
        "20k",
        [600.0, 500.0],
        [-20.0, -15.0],
        Verdict::ImprovedWorthwhile,
    );
    assert_eq!(answer(&[one], &[], &[], None).word, "invalid");
}

#[test]
fn the_leading_word_is_the_worst_that_holds() {
    let better = || {
        effect(
            "a",
            [600.0, 500.0],
            [-20.0, -15.0],
            Verdict::ImprovedWorthwhile,
        )
    };
    let worse = || {
        effect(
            "b",
            [600.0, 700.0],
            [15.0, 20.0],
            Verdict::RegressedWorthwhile,
        )
    };
    let same = || effect("c", [600.0, 601.0], [-1.0, 1.0], Verdict::Equivalent);
    let open = || effect("d", [600.0, 601.0], [-5.0, 5.0], Verdict::Inconclusive);
    let broken = || effect("e", [600.0, 601.0], [-5.0, 5.0], Verdict::Invalid);
    for (comparisons, word) in [
        (vec![better(), better()], "better"),
        (vec![better(), same()], "mixed"),
        (vec![better(), open()], "mixed"),
        (vec![better(), worse()], "mixed"),
        (vec![worse(), same(), open()], "worse"),
        (vec![same(), open()], "not decided"),
        (vec![same(), same()], "same"),
        (vec![better(), same(), broken()], "invalid"),
        (vec![], "invalid"),
    ] {
        assert_eq!(of(&comparisons).word, word);
    }
}

#[test]
fn a_loss_is_said_with_count_and_denominator() {
    let one = effect(
        "20k",
        [600.0, 500.0],
        [-20.0, -15.0],
        Verdict::ImprovedWorthwhile,
    );
    let mut both = loads("20k", 20_000);
    both[1].lost = 3;
    both[1].unique -= 3;
    let text = answer(std::slice::from_ref(&one), &both, &[], MARGIN).text;
    assert!(
        text.ends_with("; candidate lost 3 of 240,000 packets (0.00125 %), the other arm none"),
        "{text}"
    );
    both[1].verdict = LoadVerdict::Fail;
    let text = answer(std::slice::from_ref(&one), &both, &[], MARGIN).text;
    assert!(
        text.ends_with("failing the 0.1 % rule in 1 of 2 loads (20k candidate)"),
        "{text}"
    );
    both[1].verdict = LoadVerdict::Invalid;
    let text = answer(std::slice::from_ref(&one), &both, &[], MARGIN).text;
    assert!(
        text.ends_with("packet counts do not add up in 1 of 2 loads (20k candidate)"),
        "{text}"
    );
    let text = answer(&[one], &[], &[], MARGIN).text;
    assert!(text.ends_with("packets were not counted"), "{text}");
}

#[test]
fn swapping_the_arms_swaps_better_and_worse() {
    for (a, b, verdict, mirrored) in [
        (600.0, 500.0, Verdict::ImprovedWorthwhile, "worse"),
        (500.0, 600.0, Verdict::RegressedWorthwhile, "better"),
    ] {
        let change = (b / a - 1.0) * 100.0;
        let one = effect("20k", [a, b], [change - 1.0, change + 1.0], verdict);
        let word = of(&[one]).word;
        let back = (a / b - 1.0) * 100.0;
        let swapped = match verdict {
            Verdict::ImprovedWorthwhile => Verdict::RegressedWorthwhile,
            _ => Verdict::ImprovedWorthwhile,
        };
        let other = effect("20k", [b, a], [back - 1.0, back + 1.0], swapped);
        assert_ne!(word, mirrored);
        assert_eq!(of(&[other]).word, mirrored);
    }
}

#[test]
fn a_detectable_difference_inside_the_margin_is_said() {
    let mut one = effect("20k", [600.0, 606.0], [0.4, 1.6], Verdict::Equivalent);
    one.flags.push(Flag::Detectable);
    let text = of(&[one]).text;
    assert!(
        text.contains("with a smaller difference detected"),
        "{text}"
    );
}

/// A rate: more is better, and the words say so.
#[test]
fn a_rate_is_better_when_it_is_higher() {
    let rate = |means, interval, verdict| {
        let one = effect("20k", means, interval, verdict);
        Comparison {
            metric: Metric::UnitsPerSecond,
            direction: Metric::UnitsPerSecond.direction(),
            unit: Metric::UnitsPerSecond.unit().into(),
            ..one
        }
    };
    let better = rate(
        [320_000.0, 371_000.0],
        [15.1, 16.8],
        Verdict::ImprovedWorthwhile,
    );
    let text = said(std::slice::from_ref(&better));
    assert!(
        text.starts_with("better: 16 % more units per second, far over the 3 % margin"),
        "{text}"
    );
    assert!(statement(&better, MARGIN).contains("+15.9 % [+15.1 %, +16.8 %]"));
    let worse = rate(
        [320_000.0, 300_000.0],
        [-6.9, -5.6],
        Verdict::RegressedWorthwhile,
    );
    let text = said(&[worse]);
    assert!(
        text.starts_with("worse: 6.2 % fewer units per second, over the 3 % margin"),
        "{text}"
    );
    // The same words on the other side are refused.
    for (means, interval, verdict) in [
        ([320_000.0, 371_000.0], [15.1, 16.8], Verdict::Regressed),
        ([320_000.0, 300_000.0], [-6.9, -5.6], Verdict::Improved),
        (
            [320_000.0, 325_000.0],
            [1.0, 2.2],
            Verdict::ImprovedWorthwhile,
        ),
    ] {
        assert_eq!(
            of(&[rate(means, interval, verdict)]).word,
            "invalid",
            "{verdict:?}"
        );
    }
    let same = rate([320_000.0, 320_900.0], [-0.6, 1.1], Verdict::Equivalent);
    assert!(said(&[same]).starts_with("same: units per second within 3 %"));
}
