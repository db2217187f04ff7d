//! Metrics of which more is better as they are shown: compared as a cost, and turned back.

use wiretrial_contract::analysis::{Comparison, Interval, Secondary, Variant, round12};
use wiretrial_contract::metric::{Direction, Scale};

/// Turns a comparison of costs into one of the metric itself, where more of it is better. A rate was
/// compared as its inverse, a number as its negative: means, effect and intervals are turned back, with
/// the ends of intervals swapped. The pairs' values are the metric's own already; the verdict, the
/// number of pairs needed and the spread of effects are the same on both sides.
pub(super) fn shown(comparison: &mut Comparison) {
    if comparison.direction == Direction::LowerIsBetter {
        return;
    }
    let scale = comparison.scale;
    for value in [
        &mut comparison.mean_baseline,
        &mut comparison.mean_candidate,
        &mut comparison.ratio,
        &mut comparison.difference,
        &mut comparison.geo_ratio,
        &mut comparison.median_ratio,
    ] {
        *value = value.map(|value| turned(scale, value));
    }
    comparison.change = comparison.ratio.map(|ratio| round12(ratio - 1.0));
    for interval in [
        &mut comparison.percentile,
        &mut comparison.decision,
        &mut comparison.expanded,
        &mut comparison.delta_t,
    ] {
        *interval = swapped(scale, *interval);
    }
    comparison.exact = comparison.exact.map(|exact| swapped(scale, exact));
    comparison.leave_one_out = comparison
        .leave_one_out
        .map(|[lo, hi]| [turned(scale, hi), turned(scale, lo)]);
    for variant in [&mut comparison.order_adjusted, &mut comparison.with_voided] {
        *variant = variant.map(|variant| Variant {
            ratio: variant.ratio.map(|ratio| turned(scale, ratio)),
            difference: variant.difference.map(|value| turned(scale, value)),
            interval: swapped(scale, variant.interval),
            ..variant
        });
    }
    comparison.secondary = comparison.secondary.map(|other| Secondary {
        fieller: other.fieller.map(|interval| swapped(scale, interval)),
        geometric: other.geometric.map(|interval| swapped(scale, interval)),
        bca: other.bca.map(|interval| swapped(scale, interval)),
    });
    if let Some(found) = &mut comparison.diagnostics {
        for effect in [
            &mut found.position_effect,
            &mut found.spearman,
            &mut found.level_spearman,
        ] {
            *effect = effect.map(negative);
        }
        if let Some(cusum) = &mut found.cusum {
            cusum.shift = negative(cusum.shift);
        }
    }
}

/// An interval of costs as one of the metric.
pub(super) fn interval(direction: Direction, scale: Scale, interval: Interval) -> Interval {
    match direction {
        Direction::LowerIsBetter => interval,
        Direction::HigherIsBetter => swapped(scale, interval),
    }
}

fn swapped(scale: Scale, interval: Interval) -> Interval {
    let end = |end: Option<f64>| end.map(|end| turned(scale, end));
    Interval {
        lo95: end(interval.hi95),
        hi95: end(interval.lo95),
        lo90: end(interval.hi90),
        hi90: end(interval.lo90),
    }
}

fn turned(scale: Scale, value: f64) -> f64 {
    match scale {
        Scale::Ratio => round12(1.0 / value),
        Scale::Difference => negative(value),
    }
}

/// Never a negative zero, which would be written as such.
fn negative(value: f64) -> f64 {
    0.0 - value
}

#[cfg(test)]
mod tests {
    use super::super::{Identity, analyse};
    use crate::trial::samples;
    use wiretrial_contract::analysis::{Analysis, Comparison, Verdict};
    use wiretrial_contract::control::PassInput;
    use wiretrial_contract::metric::{Direction, Metric};
    use wiretrial_contract::report::PassReport;

    /// A campaign whose candidate takes `percent` of the baseline's time, with 0.2 % of noise.
    fn judged(percent: u64) -> Analysis {
        let mut plan = samples::passes_plan();
        plan.campaign.design.primary = Metric::UnitsPerSecond;
        let rows: Vec<_> = plan
            .pairs
            .iter()
            .flat_map(|planned| {
                let noise = 1_000 + planned.pair % 3;
                let arms = plan.campaign.arms.iter().zip([100, percent]);
                arms.map(move |(arm, percent)| {
                    let elapsed = 300_000 * noise * percent / 100;
                    let whole = samples::pass(PassInput::Whole, elapsed, elapsed);
                    let short = samples::pass(PassInput::Short, 1_000_000, 1_000_000);
                    let passes: Vec<PassReport> = vec![short, whole.clone(), whole];
                    samples::passes_row(planned.pair, &arm.name, passes)
                })
                .collect::<Vec<_>>()
            })
            .collect();
        let identity = Identity {
            plan_sha256: "aa".into(),
            rows_sha256: "bb".into(),
            host_class: "cc".into(),
            host: "a host".into(),
        };
        analyse(&plan, &rows, &identity)
    }

    fn of(analysis: &Analysis, metric: Metric) -> &Comparison {
        let mut comparisons = analysis.comparisons.iter();
        comparisons.find(|one| one.metric == metric).unwrap()
    }

    fn close(one: Option<f64>, other: Option<f64>) {
        let (one, other) = (one.unwrap(), other.unwrap());
        assert!((one / other - 1.0).abs() < 1e-9, "{one} {other}");
    }

    #[test]
    fn a_rate_is_the_inverse_of_its_cost_with_the_ends_swapped() {
        let analysis = judged(90);
        let rate = of(&analysis, Metric::UnitsPerSecond);
        let cost = of(&analysis, Metric::ElapsedNsPerUnit);
        assert_eq!(rate.direction, Direction::HigherIsBetter);
        let inverse = |value: Option<f64>| value.map(|value| 1.0 / value);
        close(rate.ratio, inverse(cost.ratio));
        close(rate.mean_candidate, cost.mean_candidate.map(|ns| 1e9 / ns));
        close(rate.decision.lo95, inverse(cost.decision.hi95));
        close(rate.decision.hi95, inverse(cost.decision.lo95));
        close(rate.percentile.lo90, inverse(cost.percentile.hi90));
        close(rate.ratio, Some(rate.change.unwrap() + 1.0));
        close(
            rate.mean_candidate,
            Some(rate.ratio.unwrap() * rate.mean_baseline.unwrap()),
        );
        let [lo, hi] = rate.leave_one_out.unwrap();
        assert!(lo <= rate.ratio.unwrap() && rate.ratio.unwrap() <= hi);
        assert!(rate.decision.lo95.unwrap() > 1.1);
    }

    #[test]
    fn the_verdict_is_the_costs_and_the_words_are_the_rates() {
        let analysis = judged(90);
        assert_eq!(analysis.verdict, Verdict::ImprovedWorthwhile);
        assert_eq!(analysis.answer.word, "better");
        assert!(
            analysis
                .answer
                .text
                .starts_with("11 % more units per second"),
            "{}",
            analysis.answer.text
        );
        let analysis = judged(110);
        assert_eq!(analysis.verdict, Verdict::RegressedWorthwhile);
        assert!(
            analysis
                .answer
                .text
                .starts_with("9.09 % fewer units per second"),
            "{}",
            analysis.answer.text
        );
        assert!(!analysis.gates[0].passed);
        assert_eq!(judged(100).verdict, Verdict::Equivalent);
    }
}
