//! Pairs of values from elsewhere, compared and judged as the primary metric of a case is.

use serde_json::{Value, json};
use wiretrial_contract::analysis::Comparison;
use wiretrial_contract::metric::{Direction, Metric, Scale};
use wiretrial_contract::plan::Seed;
use wiretrial_contract::record::Flag;
use wiretrial_reports::answer;
use wiretrial_stats::bootstrap::MAX_PAIRS;
use wiretrial_stats::random::{Purpose, stream_seed};
use wiretrial_stats::verdict::Guards;

use super::pairs::Pairs;
use crate::judge::estimate::{self, Values};

/// The case that such values are: resamples are drawn for it.
pub const CASE: &str = "pairs";

/// What the values are, and what is asked of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// What they are called.
    pub metric: String,
    /// Their unit for people; empty when not said.
    pub unit: String,
    /// Which way is good.
    pub direction: Direction,
    /// How they are compared.
    pub scale: Scale,
    /// The worthwhile effect: a ratio, or a number in the unit of a difference.
    pub margin: Option<f64>,
    /// Seed of the resamples.
    pub seed: Seed,
}

/// Compares the pairs, with a verdict by the rule; no guard stands before it.
#[must_use]
pub fn judge(pairs: &Pairs, asked: &Asked) -> Comparison {
    let seed = |purpose| stream_seed(purpose, CASE, asked.seed.0);
    let values = Values {
        case: CASE.into(),
        // What they are called stands in the statement and the document.
        metric: Metric::ElapsedNsPerUnit,
        unit: asked.unit.clone(),
        direction: asked.direction,
        scale: asked.scale,
        pairs: pairs.values.clone(),
        numbers: Vec::new(),
        orders: pairs.orders.clone(),
        voided: Vec::new(),
    };
    let question = estimate::Asked {
        margin: asked.margin,
        floor: None,
        require_stable: false,
        permutation: seed(Purpose::Permutation),
    };
    let bootstrap = seed(Purpose::Bootstrap);
    let mut out = estimate::primary(&values, bootstrap, &question, &Guards::default());
    out.statement = answer::statement_titled(&asked.metric, &out, asked.margin);
    out
}

/// What a reader must know of these numbers beside the statement, a sentence each.
#[must_use]
pub fn notes(comparison: &Comparison) -> Vec<String> {
    let many = comparison.flags.contains(&Flag::StudentAlone).then(|| {
        format!(
            "over {MAX_PAIRS} pairs are not resampled: the verdict rests on Student's t alone; are these \
             launches, or samples of one launch, which vary less than launches do?"
        )
    });
    let drawn = comparison.randomization_p.map(|p| {
        format!(
            "randomization p {}/{}, as if the given order had been drawn among all balanced ones",
            p.num, p.den
        )
    });
    many.into_iter().chain(drawn).collect()
}

/// The document: the names of `comparisons[]` in analysis.json, and what the values are called;
/// `notes` where there are any.
///
/// # Panics
///
/// Never: a comparison has string keys and finite numbers.
#[must_use]
pub fn document(comparison: &Comparison, asked: &Asked) -> Value {
    let mut value = serde_json::to_value(comparison).expect("string keys and finite numbers");
    value["metric"] = asked.metric.clone().into();
    let notes = notes(comparison);
    if !notes.is_empty() {
        value["notes"] = notes.into();
    }
    json!({ "comparisons": [value] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiretrial_contract::analysis::{Reason, Verdict};
    use wiretrial_stats::order::First;

    /// R3 of the reference values: 12 pairs, a ratio of 0.979751.
    const BASELINE: [f64; 12] = [
        101.3, 99.7, 100.4, 102.2, 98.9, 100.8, 99.4, 101.0, 100.1, 98.7, 101.9, 100.6,
    ];
    const CANDIDATE: [f64; 12] = [
        99.1, 97.9, 98.6, 99.8, 97.1, 98.5, 97.6, 98.8, 98.3, 97.0, 99.5, 98.4,
    ];

    fn asked(margin: Option<f64>) -> Asked {
        Asked {
            metric: "time".into(),
            unit: "ms".into(),
            direction: Direction::LowerIsBetter,
            scale: Scale::Ratio,
            margin,
            seed: Seed(1),
        }
    }

    fn pairs(take: usize) -> Pairs {
        let values = BASELINE.into_iter().zip(CANDIDATE).take(take);
        Pairs {
            values: values.map(|(one, other)| [one, other]).collect(),
            orders: Vec::new(),
        }
    }

    fn close(one: Option<f64>, other: f64) {
        let one = one.unwrap();
        assert!((one - other).abs() < 1e-6, "{one} {other}");
    }

    #[test]
    fn reference_pairs() {
        let judged = judge(&pairs(12), &asked(Some(0.02)));
        close(judged.ratio, 0.979_751);
        close(judged.delta_t.lo95, 0.978_166);
        close(judged.delta_t.hi95, 0.981_339);
        assert_eq!(judged.verdict, Some(Verdict::Improved));
        assert_eq!(
            judged.statement,
            "time: 100.4 -> 98.4 ms, -2.0 % [-2.2 %, -1.9 %] (95 %, 12 pairs): better, not shown \
             to exceed 2 %"
        );
        let narrow = judge(&pairs(12), &asked(Some(0.01)));
        assert_eq!(narrow.verdict, Some(Verdict::ImprovedWorthwhile));
    }

    #[test]
    fn higher_is_better_mirrors() {
        let rates = Asked {
            direction: Direction::HigherIsBetter,
            ..asked(Some(0.01))
        };
        let judged = judge(&pairs(12), &rates);
        assert_eq!(judged.verdict, Some(Verdict::RegressedWorthwhile));
        let decision = judged.decision;
        assert!(decision.lo95 < decision.hi95 && decision.hi95 < Some(1.0));
        assert!(judged.change.unwrap() < 0.0);
        let differences = Asked {
            scale: Scale::Difference,
            margin: Some(0.5),
            ..rates
        };
        let judged = judge(&pairs(12), &differences);
        assert_eq!(judged.verdict, Some(Verdict::RegressedWorthwhile));
        assert_eq!(judged.ratio, None);
        assert!(judged.decision.lo95 < judged.decision.hi95 && judged.decision.hi95 < Some(0.0));
        let lower = Asked {
            direction: Direction::LowerIsBetter,
            ..differences
        };
        let judged = judge(&pairs(12), &lower);
        assert_eq!(judged.verdict, Some(Verdict::ImprovedWorthwhile));
    }

    #[test]
    fn few_pairs_have_values_and_no_interval() {
        for (take, said) in [(1, "1 pair"), (5, "5 pairs")] {
            let judged = judge(&pairs(take), &asked(Some(0.03)));
            assert_eq!(judged.verdict, Some(Verdict::Inconclusive));
            assert_eq!(judged.values.len(), take);
            assert_eq!(judged.decision.lo95, None);
            assert!(
                judged.statement.ends_with(&format!(
                    "no interval (95 %, {said}): not decided, no interval, fewer pairs than an interval needs"
                )),
                "{}",
                judged.statement
            );
        }
    }

    #[test]
    fn pairs_that_do_not_vary_are_no_more_pairs_for_that() {
        let same = |count: usize| Pairs {
            values: vec![[10.0, 11.0]; count],
            orders: Vec::new(),
        };
        for count in 2..6 {
            let judged = judge(&same(count), &asked(Some(0.02)));
            assert_eq!(judged.verdict, Some(Verdict::Inconclusive));
            assert_eq!(judged.reasons, [Reason::TooFewPairs]);
            assert_eq!((judged.decision.lo95, judged.secondary), (None, None));
            assert_eq!((judged.percentile.lo95, judged.exact), (None, None));
        }
        let judged = judge(&same(6), &asked(Some(0.02)));
        assert_eq!(judged.verdict, Some(Verdict::RegressedWorthwhile));
        assert!(
            judged
                .statement
                .ends_with("(no variation in 6 pairs): worse by more than 2 %"),
            "{}",
            judged.statement
        );
    }

    #[test]
    fn above_256_pairs_what_the_verdict_rests_on_is_said() {
        let many = |count: u32| Pairs {
            values: (0..count)
                .map(|at| [100.0 + f64::from(at % 7), 90.0 + f64::from(at % 5)])
                .collect(),
            orders: [First::Baseline, First::Candidate].repeat(200)[..count as usize].to_vec(),
        };
        let within = judge(&many(256), &asked(Some(0.03)));
        assert!(!within.flags.contains(&Flag::StudentAlone));
        assert_eq!(notes(&within), [""; 0]);
        let above = judge(&many(257), &asked(Some(0.03)));
        assert!(above.flags.contains(&Flag::StudentAlone));
        assert!(notes(&above)[0].contains("Student's t alone; are these launches, or samples"));
        let found = above.diagnostics.unwrap();
        assert!(found.lag1.is_some() && found.position_effect.is_some());
        let document = document(&above, &asked(None));
        assert_eq!(document["comparisons"][0]["notes"][0], notes(&above)[0]);
    }

    #[test]
    fn what_has_no_unit_no_margin_or_no_width_is_said_as_of_a_campaign() {
        let bare = Asked {
            unit: String::new(),
            scale: Scale::Difference,
            ..asked(None)
        };
        assert_eq!(
            judge(&pairs(12), &bare).statement,
            "time: 100.4 -> 98.4, -2.0 [-2.2, -1.9] (95 %, 12 pairs): better, no margin was declared"
        );
        let small = |count| Pairs {
            values: vec![[0.0012, 0.0018]; count],
            orders: Vec::new(),
        };
        for count in [1, 6] {
            let said = judge(&small(count), &asked(None)).statement;
            assert!(said.starts_with("time: 0.00120 -> 0.00180 ms, "), "{said}");
        }
        let open = Pairs {
            values: [[10.0, 11.0], [11.0, 10.0]].repeat(3),
            orders: Vec::new(),
        };
        let open = judge(&open, &bare).statement;
        assert!(open.contains("not decided, spans 0; does not"), "{open}");
    }

    #[test]
    fn the_largest_and_smallest_values_have_finite_intervals() {
        for size in [1e-150, 1e150] {
            for scale in [Scale::Ratio, Scale::Difference] {
                let pairs = pairs(12).values;
                let pairs = Pairs {
                    values: pairs
                        .iter()
                        .map(|pair| pair.map(|value| value / 102.2 * size))
                        .collect(),
                    orders: [First::Baseline, First::Candidate].repeat(6),
                };
                let judged = judge(
                    &pairs,
                    &Asked {
                        scale,
                        ..asked(None)
                    },
                );
                assert_eq!(judged.verdict, Some(Verdict::Improved), "{size} {scale:?}");
                let text = format!("{} {:?}", judged.statement, judged);
                assert!(!text.contains("inf") && !text.contains("NaN"), "{text}");
            }
        }
    }

    #[test]
    fn the_document_has_the_names_of_an_analysis() {
        let value = document(&judge(&pairs(12), &asked(None)), &asked(None));
        assert_eq!(value["comparisons"][0]["metric"], "time");
        let mut again = value["comparisons"][0].clone();
        again["metric"] = "elapsed-ns-per-unit".into();
        let again: Comparison = serde_json::from_value(again).unwrap();
        assert_eq!(again, judge(&pairs(12), &asked(None)));
    }
}
