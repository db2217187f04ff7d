//! One metric of one case, judged from its values alone: the numbers of pairs, the order in which
//! their members were launched, and what was asked of them. Where they come from does not matter.

use wiretrial_contract::analysis::{Comparison, Interval, KnownFloor, Secondary, Variant, round12};
use wiretrial_contract::metric::{Direction, Metric, Scale};
use wiretrial_contract::record::Flag;
use wiretrial_stats::bootstrap::MAX_PAIRS;
use wiretrial_stats::drift;
use wiretrial_stats::interval::{self, Enumerate, Limits};
use wiretrial_stats::mean;
use wiretrial_stats::order::First;
use wiretrial_stats::power;
use wiretrial_stats::proportion::sign_test;
use wiretrial_stats::verdict::{self as rule, Findings, Guards, Question, Reason};

use super::course::Course;
use super::{course, rate, words};

/// The values of one metric in one case, and how they are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    /// The case.
    pub case: String,
    /// The metric.
    pub metric: Metric,
    /// Its unit for people.
    pub unit: String,
    /// Which way is good.
    pub direction: Direction,
    /// How it is compared.
    pub scale: Scale,
    /// Baseline and candidate of each pair that counts, in the order in which they ran.
    pub pairs: Vec<[f64; 2]>,
    /// Their numbers; from 0 where they have none.
    pub numbers: Vec<u64>,
    /// Their launch orders; empty where those are not known.
    pub orders: Vec<First>,
    /// Pairs that were measured and voided.
    pub voided: Vec<[f64; 2]>,
}

/// What a metric that decides is asked, as it was declared before the data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Asked {
    /// The margin: a ratio, or a number in the unit of a difference.
    pub margin: Option<f64>,
    /// How far equal arms are known to come out apart.
    pub floor: Option<KnownFloor>,
    /// Whether a case that order or time moved by more than the margin is unstable.
    pub require_stable: bool,
    /// Seed of the permutation stream of the case.
    pub permutation: u64,
}

/// The comparison on a metric that decides nothing. `bootstrap` is the seed of that stream of the case.
/// Without values, or with one that cannot be compared, it has none.
#[must_use]
pub fn information(values: &Values, bootstrap: u64) -> Comparison {
    let mut out = Estimate::of(values, bootstrap, Enumerate::No).comparison();
    rate::shown(&mut out);
    out
}

/// The comparison that decides, by the rule and after the guards.
#[must_use]
pub fn primary(values: &Values, bootstrap: u64, asked: &Asked, guards: &Guards) -> Comparison {
    let estimate = Estimate::of(values, bootstrap, Enumerate::Yes);
    let mut out = estimate.comparison();
    out.primary = true;
    out.floor = asked.floor;
    let course = estimate.course(asked.permutation);
    estimate.judge(&mut out, &course, asked, guards);
    if let Some(compared) = &estimate.compared {
        estimate.beside(&mut out, compared, asked);
        course.fill(&mut out, values);
    }
    if values.pairs.len() > MAX_PAIRS {
        flagged(&mut out, Flag::StudentAlone);
    }
    out.secondary = estimate.secondary(bootstrap);
    out.with_voided = estimate.with_voided(bootstrap);
    rate::shown(&mut out);
    out
}

/// Costs of a metric, so that lower is better: a rate is compared as the time that a unit takes.
pub(super) fn costs(scale: Scale, direction: Direction, pairs: &[[f64; 2]]) -> [Vec<f64>; 2] {
    let cost = |value: f64| match (direction, scale) {
        (Direction::LowerIsBetter, _) => value,
        (Direction::HigherIsBetter, Scale::Ratio) => 1.0 / value,
        (Direction::HigherIsBetter, Scale::Difference) => -value,
    };
    [0, 1].map(|arm| pairs.iter().map(|pair| cost(pair[arm])).collect())
}

/// How far the arms lie apart by their means: the log of their ratio, or their difference. `None` without a
/// value, or with one that cannot be compared.
pub(super) fn effect(values: &Values) -> Option<f64> {
    let [baseline, candidate] = costs(values.scale, values.direction, &values.pairs);
    let (one, other) = mean::of(&baseline).zip(mean::of(&candidate))?;
    match values.scale {
        Scale::Ratio => {
            let mut costs = baseline.iter().chain(&candidate);
            costs.all(|cost| *cost > 0.0).then(|| (other / one).ln())
        }
        Scale::Difference => Some(other - one),
    }
}

/// The scale as the statistics name it.
pub(crate) const fn on(scale: Scale) -> interval::Scale {
    match scale {
        Scale::Ratio => interval::Scale::Ratio,
        Scale::Difference => interval::Scale::Difference,
    }
}

/// The costs of the pairs and what they come to.
struct Estimate<'a> {
    values: &'a Values,
    scale: interval::Scale,
    baseline: Vec<f64>,
    candidate: Vec<f64>,
    compared: Option<interval::Comparison>,
    left_out: Vec<Limits>,
}

impl<'a> Estimate<'a> {
    fn of(values: &'a Values, bootstrap: u64, enumerate: Enumerate) -> Self {
        let [baseline, candidate] = costs(values.scale, values.direction, &values.pairs);
        let scale = on(values.scale);
        let compared = interval::compare(scale, &baseline, &candidate, bootstrap, enumerate).ok();
        let left_out = match enumerate {
            Enumerate::Yes => interval::leave_one_out(scale, &baseline, &candidate, bootstrap),
            Enumerate::No => Ok(Vec::new()),
        };
        Self {
            values,
            scale,
            compared,
            left_out: left_out.unwrap_or_default(),
            baseline,
            candidate,
        }
    }

    /// Values, means and intervals.
    fn comparison(&self) -> Comparison {
        let values = self.values;
        let mut out = Comparison {
            unit: values.unit.clone(),
            direction: values.direction,
            scale: values.scale,
            pairs: count(values.pairs.len()),
            values: values.pairs.iter().map(|pair| pair.map(round12)).collect(),
            mean_baseline: mean::of(&self.baseline).map(round12),
            mean_candidate: mean::of(&self.candidate).map(round12),
            ..Comparison::empty(&values.case, values.metric)
        };
        let Some(compared) = &self.compared else {
            return out;
        };
        out.ratio = compared.ratio.map(round12);
        out.change = compared.ratio.map(|ratio| round12(ratio - 1.0));
        out.difference = (values.scale == Scale::Difference).then(|| round12(compared.estimate));
        out.geo_ratio = compared.geo_ratio.map(round12);
        out.median_ratio = Some(round12(compared.median_pair));
        out.sd_log = (compared.pairs > 1).then(|| round12(compared.pair_sd));
        out.se_log = compared.se.map(round12);
        out.leave_one_out = compared
            .leave_one_out
            .map(|range| [round12(range.lo), round12(range.hi)]);
        if let Ok(all) = &compared.intervals {
            out.percentile = all.percentile.as_ref().map(limits).unwrap_or_default();
            out.expanded = all.expanded.as_ref().map(limits).unwrap_or_default();
            out.delta_t = limits(&all.delta_t);
            out.decision = limits(&all.decision);
            out.exact = all.exact.as_ref().and_then(known);
            out.index_sha256 = all.index_sha256.clone();
        }
        out
    }

    fn decision(&self) -> Option<&Limits> {
        let intervals = self.compared.as_ref()?.intervals.as_ref();
        let decision = intervals.ok().map(|all| &all.decision);
        decision.filter(|decision| known(decision).is_some())
    }

    /// What order and time did; nothing without variation, since rounding has an order too.
    fn course(&self, seed: u64) -> Course {
        match &self.compared {
            Some(compared) if !compared.deterministic => course::of(
                self.scale,
                [&self.baseline, &self.candidate],
                &self.values.orders,
                seed,
            ),
            _ => Course::default(),
        }
    }

    fn judge(&self, out: &mut Comparison, course: &Course, asked: &Asked, guards: &Guards) {
        let floor = asked.floor.map(|floor| floor.size);
        let question = Question::new(self.scale, asked.margin).with_floor(floor);
        let mut guards = guards.clone();
        if asked.require_stable
            && let Some((decision, margin)) = self.decision().zip(asked.margin)
        {
            let class = question.classify(decision);
            let (position, shift) = (course.position.as_ref(), course.shift.as_ref());
            let moved = drift::unstable(self.scale, margin, class, position, shift);
            guards.unstable = guards.unstable.or(moved);
        }
        let compared = self.compared.as_ref();
        let judgement = rule::judge(
            &guards,
            &Findings {
                decision: self.decision(),
                leave_one_out: &self.left_out,
                mean_typical_split: compared.is_some_and(|c| c.mean_typical_split(asked.margin)),
                deterministic: compared.is_some_and(|c| c.deterministic),
            },
            &question,
        );
        let mut reasons = judgement.reasons;
        if compared.is_none()
            && !self.values.pairs.is_empty()
            && judgement.verdict == rule::Verdict::Inconclusive
        {
            // A cost is the difference of two times: where noise puts one of them at or below zero
            // there is no ratio, and nothing is decided.
            reasons = vec![Reason::NotPositive];
        }
        out.verdict = Some(words::verdict(judgement.verdict));
        out.reasons = reasons.into_iter().map(words::reason).collect();
        out.flags = judgement.flags.iter().copied().map(words::flag).collect();
    }

    /// What stands beside the verdict of a metric that decides.
    fn beside(&self, out: &mut Comparison, compared: &interval::Comparison, asked: &Asked) {
        let noise = (compared.pairs > 1).then_some(compared.pair_sd);
        out.pairs_needed = asked
            .margin
            .zip(noise)
            .and_then(|(margin, sd)| power::pairs_needed(self.scale, margin, sd))
            .and_then(|pairs| u32::try_from(pairs).ok())
            // No more than there were: then it is not the number that was missing.
            .filter(|pairs| *pairs > out.pairs);
        out.p_delta = compared.p_delta.map(round12);
        let pairs = || self.baseline.iter().zip(&self.candidate);
        let differing = pairs().filter(|(a, b)| (*a - *b).abs() > 0.0).count();
        out.faster_pairs = Some(count(compared.faster_pairs));
        out.sign_p = (differing > 0)
            .then(|| round12(sign_test(compared.faster_pairs as u64, differing as u64)));
    }

    /// The interval by other methods; nothing beyond the pairs that are resampled.
    fn secondary(&self, bootstrap: u64) -> Option<Secondary> {
        if self.baseline.len() > MAX_PAIRS {
            return None;
        }
        let others =
            interval::secondary(self.scale, &self.baseline, &self.candidate, bootstrap).ok()?;
        let secondary = Secondary {
            fieller: others.fieller.as_ref().and_then(known),
            geometric: others.geometric.as_ref().and_then(known),
            bca: others.bca.as_ref().and_then(known),
        };
        (secondary != Secondary::default()).then_some(secondary)
    }

    /// The comparison again with the pairs that were measured and voided.
    fn with_voided(&self, bootstrap: u64) -> Option<Variant> {
        let values = self.values;
        if values.voided.is_empty() {
            return None;
        }
        let all: Vec<[f64; 2]> = values.pairs.iter().chain(&values.voided).copied().collect();
        let [baseline, candidate] = costs(values.scale, values.direction, &all);
        let enumerate = Enumerate::No;
        let compared =
            interval::compare(self.scale, &baseline, &candidate, bootstrap, enumerate).ok()?;
        let interval = compared.intervals.as_ref();
        Some(variant(
            compared.pairs,
            values.scale,
            compared.estimate,
            interval
                .map(|all| limits(&all.decision))
                .unwrap_or_default(),
        ))
    }
}

/// An estimate with its interval on a scale.
pub(super) fn variant(pairs: usize, scale: Scale, estimate: f64, interval: Interval) -> Variant {
    let estimate = Some(round12(estimate));
    let (ratio, difference) = match scale {
        Scale::Ratio => (estimate, None),
        Scale::Difference => (None, estimate),
    };
    Variant {
        pairs: count(pairs),
        ratio,
        difference,
        interval,
    }
}

/// Limits as evidence holds them; no interval where one of them is not finite.
pub(super) fn limits(limits: &Limits) -> Interval {
    known(limits).unwrap_or_default()
}

/// The same limits where all of them are finite.
fn known(limits: &Limits) -> Option<Interval> {
    let ends = [limits.lo95, limits.hi95, limits.lo90, limits.hi90];
    let [lo95, hi95, lo90, hi90] = ends.map(|end| end.is_finite().then(|| round12(end)));
    Some(Interval {
        lo95: Some(lo95?),
        hi95: Some(hi95?),
        lo90: Some(lo90?),
        hi90: Some(hi90?),
    })
}

/// A flag is there once.
pub(super) fn flagged(out: &mut Comparison, flag: Flag) {
    if !out.flags.contains(&flag) {
        out.flags.push(flag);
    }
}

pub(super) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiretrial_contract::analysis::{Reason, Verdict};
    use wiretrial_reports::answer::statement;

    fn values(scale: Scale, pairs: &[[f64; 2]]) -> Values {
        Values {
            case: "a".into(),
            metric: Metric::PeakRssBytes,
            unit: "switches".into(),
            direction: Direction::LowerIsBetter,
            scale,
            pairs: pairs.to_vec(),
            numbers: (0..pairs.len() as u64).collect(),
            orders: [First::Baseline, First::Candidate].repeat(pairs.len() / 2),
            voided: Vec::new(),
        }
    }

    fn judged(values: &Values, margin: Option<f64>) -> Comparison {
        let asked = Asked {
            margin,
            floor: None,
            require_stable: false,
            permutation: 7,
        };
        let mut out = primary(values, 0x5eed, &asked, &Guards::default());
        out.statement = statement(&out, margin);
        out
    }

    fn close(value: Option<f64>, expected: f64) {
        let value = value.unwrap();
        assert!((value - expected).abs() < 1e-3, "{value} is not {expected}");
    }

    /// Differences 1 to 6: mean 3.5, deviation 1.8708, and 2.5706 standard errors are 1.9633.
    const STEPS: [[f64; 2]; 6] = [
        [0.0, 1.0],
        [3.0, 5.0],
        [0.0, 3.0],
        [2.0, 6.0],
        [1.0, 6.0],
        [0.0, 6.0],
    ];

    #[test]
    fn a_difference_is_in_its_unit_and_has_no_ratio() {
        let one = judged(&values(Scale::Difference, &STEPS), Some(1.5));
        close(one.difference, 3.5);
        assert_eq!((one.ratio, one.change, one.geo_ratio), (None, None, None));
        close(one.delta_t.lo95, 1.5367);
        close(one.delta_t.hi95, 5.4633);
        close(one.mean_baseline, 1.0);
        assert_eq!(one.faster_pairs, Some(0));
        assert_eq!(one.verdict, Some(Verdict::RegressedWorthwhile));
        assert_eq!(
            one.statement,
            "a: peak memory 1.0 -> 4.5 switches, +3.5 switches [+1.5, +5.5] (95 %, 6 pairs): worse by \
             more than 1.5 switches"
        );
    }

    #[test]
    fn words_of_differences_are_those_of_ratios() {
        let of = |pairs: &[[f64; 2]], margin| judged(&values(Scale::Difference, pairs), margin);
        let less = STEPS.map(|[a, b]| [b, a]);
        assert_eq!(
            of(&less, Some(1.5)).verdict,
            Some(Verdict::ImprovedWorthwhile)
        );
        assert_eq!(of(&less, Some(5.0)).verdict, Some(Verdict::Improved));
        assert_eq!(of(&less, Some(9.0)).verdict, Some(Verdict::Equivalent));
        let zero = [[0.0, 0.0]; 6];
        let none = of(&zero, Some(1.0));
        assert_eq!(none.verdict, Some(Verdict::Equivalent));
        assert_eq!((none.sign_p, none.diagnostics), (None, None));
        let spread = [
            [0.0, 4.0],
            [4.0, 0.0],
            [1.0, 3.0],
            [3.0, 1.0],
            [0.0, 5.0],
            [5.0, 0.0],
        ];
        let open = of(&spread, Some(1.0));
        assert_eq!(open.reasons, [Reason::SpansNoDifference]);
        assert!(
            open.statement
                .contains("not decided, spans 0; does not establish"),
            "{}",
            open.statement
        );
        // As a ratio the same values cannot be compared.
        let ratio = judged(&values(Scale::Ratio, &spread), Some(0.03));
        assert_eq!(ratio.reasons, [Reason::NotPositive]);
    }

    #[test]
    fn more_of_a_difference_may_be_better() {
        let cost = values(Scale::Difference, &STEPS);
        let gain = Values {
            direction: Direction::HigherIsBetter,
            ..cost.clone()
        };
        let (cost, gain) = (judged(&cost, Some(1.5)), judged(&gain, Some(1.5)));
        assert_eq!(gain.verdict, Some(Verdict::ImprovedWorthwhile));
        assert_eq!(gain.difference, cost.difference);
        assert_eq!(gain.decision.lo95.map(|lo| lo > 1.0), Some(true));
        assert_eq!(gain.mean_candidate, cost.mean_candidate);
        assert_eq!(gain.faster_pairs, Some(6));
        let effect = |one: &Comparison| {
            let found = one.diagnostics.unwrap();
            (found.position_effect, found.spearman, found.level_spearman)
        };
        assert_eq!(effect(&gain), effect(&cost));
    }

    #[test]
    fn without_variation_nothing_is_said_of_order_and_time() {
        let same = values(
            Scale::Ratio,
            &[
                [1.0, 1.1],
                [2.0, 2.2],
                [3.0, 3.3],
                [4.0, 4.4],
                [5.0, 5.5],
                [6.0, 6.6],
            ],
        );
        let one = judged(&same, Some(0.03));
        assert_eq!(one.flags, [Flag::Deterministic]);
        assert_eq!(one.verdict, Some(Verdict::RegressedWorthwhile));
        assert_eq!((one.p_delta, one.diagnostics), (None, None));
        assert_eq!((one.order_adjusted, one.randomization_p), (None, None));
        close(one.sign_p, 0.031_25);
    }

    #[test]
    fn a_metric_that_decides_nothing_has_no_verdict_and_no_tests() {
        let one = information(&values(Scale::Ratio, &STEPS.map(|[a, b]| [a + 1.0, b])), 1);
        assert!(one.decision.lo95.is_some() && one.verdict.is_none() && !one.primary);
        assert_eq!((one.p_delta, one.diagnostics), (None, None));
        let nothing = information(&values(Scale::Ratio, &[]), 1);
        assert_eq!((nothing.pairs, nothing.ratio), (0, None));
    }
}
