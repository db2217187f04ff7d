//! One metric of one case, candidate against baseline, with everything that is said of it.

use serde::{Deserialize, Serialize};

use super::{Reason, Verdict, round12};
use crate::metric::{Direction, Metric, Scale};
use crate::record::Flag;

impl Scale {
    /// The value that stands for no difference.
    #[must_use]
    pub const fn null(self) -> f64 {
        match self {
            Self::Ratio => 1.0,
            Self::Difference => 0.0,
        }
    }

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the shape that serde calls"
    )]
    fn is_ratio(&self) -> bool {
        *self == Self::Ratio
    }
}

/// An interval at 95 % and at 90 %, on the scale of its comparison; an end is `None` where it cannot
/// be resolved.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end, 95 %.
    pub lo95: Option<f64>,
    /// Upper end, 95 %.
    pub hi95: Option<f64>,
    /// Lower end, 90 %.
    pub lo90: Option<f64>,
    /// Upper end, 90 %.
    pub hi90: Option<f64>,
}

impl Interval {
    /// Half the width of the 95 % interval, as its ends are written.
    #[must_use]
    pub fn half_width(&self) -> Option<f64> {
        Some((self.hi95? - self.lo95?) / 2.0)
    }
}

/// One metric of one case, candidate against baseline. A rate is compared as its inverse, a cost:
/// means, ratio and intervals here are the inverses of the cost's, with the ends of the intervals
/// swapped. Fields from `p_delta` on beside the verdict are of the primary metric only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The case.
    pub case: String,
    /// The arm of a table that is compared with its reference; a paired campaign has but one candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// The metric.
    pub metric: Metric,
    /// Its unit for people.
    pub unit: String,
    /// Which way is good.
    pub direction: Direction,
    /// How it is compared.
    #[serde(default, skip_serializing_if = "Scale::is_ratio")]
    pub scale: Scale,
    /// Whether it decides.
    pub primary: bool,
    /// Pairs in the estimate.
    pub pairs: u32,
    /// The pairs' values, baseline and candidate, in the order in which they ran.
    pub values: Vec<[f64; 2]>,
    /// Mean of the baseline, in `unit`.
    pub mean_baseline: Option<f64>,
    /// Mean of the candidate, in `unit`.
    pub mean_candidate: Option<f64>,
    /// Candidate over baseline; `None` on a difference.
    pub ratio: Option<f64>,
    /// `ratio` - 1.
    pub change: Option<f64>,
    /// Mean of candidate - baseline, in `unit`; only where that is what is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// Percentile bootstrap over whole pairs: the published interval.
    pub percentile: Interval,
    /// The interval that decides.
    pub decision: Interval,
    /// Exact enumeration of all resamples, where there are few enough.
    pub exact: Option<Interval>,
    /// Percentile with tails expanded for small n.
    pub expanded: Interval,
    /// Student's t on the log of the ratio of means, or on the mean difference.
    pub delta_t: Interval,
    /// Geometric mean of the pair ratios.
    pub geo_ratio: Option<f64>,
    /// Median of the pair ratios, or of the differences.
    pub median_ratio: Option<f64>,
    /// Standard deviation of the log pair ratios, or of the differences.
    pub sd_log: Option<f64>,
    /// Standard error of the log ratio of means, or of the mean difference.
    pub se_log: Option<f64>,
    /// Range of the ratio, or of the difference, when any one pair is left out: smallest, largest.
    pub leave_one_out: Option<[f64; 2]>,
    /// Pairs at which arms without a difference would be called the same with 80 % power, if the
    /// noise stays as it is; `None` without a margin, beyond 256, or when there were as many.
    pub pairs_needed: Option<u32>,
    /// SHA-256 of the resample indices.
    pub index_sha256: Option<String>,
    /// Two-sided p of no difference by Student's t (that of `delta_t`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_delta: Option<f64>,
    /// The same, adjusted over the primary comparisons of all cases (Holm, 1979).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_holm: Option<f64>,
    /// `delta_t` at levels that hold for all cases at once (Bonferroni); where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simultaneous: Option<Interval>,
    /// The effect with that of the place in a pair taken out: mean of the two launch orders' means of
    /// the pair effects, so geometric for a ratio, with Student's t at n - 2 degrees of freedom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_adjusted: Option<Variant>,
    /// Two-sided p over every launch order the plan could have drawn, exact under any drift; up to 24
    /// pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub randomization_p: Option<Fraction>,
    /// Pairs whose candidate was better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faster_pairs: Option<u32>,
    /// Two-sided p of that number under even odds, pairs without a difference left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign_p: Option<f64>,
    /// What order and time did; not where there is no variation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<Diagnostics>,
    /// Numbers of the pairs that lie far from the others; they are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outlying: Vec<u64>,
    /// The same pairs' interval by other methods, to be looked at; none of them decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secondary: Option<Secondary>,
    /// The comparison with the voided pairs that were measured; only where there are such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with_voided: Option<Variant>,
    /// How far equal arms are known to come out apart here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<KnownFloor>,
    /// The verdict; `None` on a metric that does not decide.
    pub verdict: Option<Verdict>,
    /// Why, the deciding reason first.
    pub reasons: Vec<Reason>,
    /// Notes.
    pub flags: Vec<Flag>,
    /// The verdict in a sentence.
    pub statement: String,
}

impl Comparison {
    /// What is compared, in words: the case, in a table with the arm.
    #[must_use]
    pub fn label(&self) -> String {
        match &self.arm {
            Some(arm) => format!("{} {arm}", self.case),
            None => self.case.clone(),
        }
    }

    /// A comparison of which nothing is known yet, for information only, with the metric's own unit
    /// and direction.
    #[must_use]
    pub fn empty(case: &str, metric: Metric) -> Self {
        Self {
            case: case.into(),
            arm: None,
            metric,
            unit: metric.unit().into(),
            direction: metric.direction(),
            scale: Scale::Ratio,
            primary: false,
            pairs: 0,
            values: Vec::new(),
            mean_baseline: None,
            mean_candidate: None,
            ratio: None,
            change: None,
            difference: None,
            percentile: Interval::default(),
            decision: Interval::default(),
            exact: None,
            expanded: Interval::default(),
            delta_t: Interval::default(),
            geo_ratio: None,
            median_ratio: None,
            sd_log: None,
            se_log: None,
            leave_one_out: None,
            pairs_needed: None,
            index_sha256: None,
            p_delta: None,
            p_holm: None,
            simultaneous: None,
            order_adjusted: None,
            randomization_p: None,
            faster_pairs: None,
            sign_p: None,
            diagnostics: None,
            outlying: Vec::new(),
            secondary: None,
            with_voided: None,
            floor: None,
            verdict: None,
            reasons: Vec::new(),
            flags: Vec::new(),
            statement: String::new(),
        }
    }

    /// The effect on its scale: the ratio or the difference.
    #[must_use]
    pub const fn estimate(&self) -> Option<f64> {
        match self.scale {
            Scale::Ratio => self.ratio,
            Scale::Difference => self.difference,
        }
    }

    /// Whether nothing is decided because equal arms are known to come out further apart than `margin`.
    #[must_use]
    pub fn is_below_floor(&self, margin: Option<f64>) -> bool {
        let floor = self.floor.map(|floor| floor.size);
        let wider = floor
            .zip(margin)
            .is_some_and(|(floor, margin)| floor > margin);
        wider
            && self.verdict == Some(Verdict::Inconclusive)
            && self.reasons.contains(&Reason::BelowFloor)
    }

    /// Of equal arms, how far apart they come out. `None` where the case does not hold, has no interval
    /// or does not vary.
    #[must_use]
    pub fn shown_floor(&self) -> Option<ShownFloor> {
        self.floor_under(self.verdict?)
    }

    /// The same of a metric that does not decide, in a case and arm whose verdict is `verdict`.
    #[must_use]
    pub fn floor_under(&self, verdict: Verdict) -> Option<ShownFloor> {
        let effect = |end: f64| match self.scale {
            Scale::Ratio => end.ln(),
            Scale::Difference => end,
        };
        let (low, high) = (effect(self.decision.lo95?), effect(self.decision.hi95?));
        let half = (high - low) / 2.0;
        let far = if low > 0.0 {
            high
        } else if high < 0.0 {
            -low
        } else {
            half
        };
        let holds = verdict.rests_on_its_pairs() && half > 0.0 && far.is_finite();
        holds.then(|| ShownFloor {
            size: round12(self.scale.size(far)),
            half_width: round12(self.scale.size(half)),
        })
    }
}

/// How far equal arms came out apart in one campaign, as a ratio less 1 or in the unit of a difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShownFloor {
    /// The floor: half the width of the 95 % decision interval, or where that excludes no difference the
    /// distance of its far end from none; of a ratio both on the log scale.
    pub size: f64,
    /// Half that width: the part that more pairs make smaller.
    pub half_width: f64,
}

/// The same pairs, or some more, seen in another way.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Variant {
    /// Pairs in it.
    pub pairs: u32,
    /// Candidate over baseline; `None` on a difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Candidate less baseline; `None` on a ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// Its interval.
    #[serde(flatten)]
    pub interval: Interval,
}

/// The interval of the same pairs by other methods; each is `None` where it is undefined.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Secondary {
    /// Of the ratio of means (Fieller, 1954).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fieller: Option<Interval>,
    /// Student's t on the logarithms of the pair ratios: of the geometric ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geometric: Option<Interval>,
    /// The bias-corrected and accelerated percentile interval (Efron, 1987), too narrow with few pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bca: Option<Interval>,
}

/// A p value as an exact fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fraction {
    /// Launch orders with an effect at least as large as the one drawn, itself included.
    pub num: u64,
    /// All of them.
    pub den: u64,
}

/// What order and time did to the effects of pairs (log ratios or differences, of a rate those of the
/// rate), in the order in which they ran. With a dozen pairs a silent one proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Diagnostics {
    /// Half of the mean effect with the candidate second less that with the candidate first; `None`
    /// where launch orders are not known or are all the same.
    pub position_effect: Option<f64>,
    /// Its standard error.
    pub se: Option<f64>,
    /// Its two-sided p.
    pub p: Option<f64>,
    /// Rank correlation of the effect with time, -1 to 1.
    pub spearman: Option<f64>,
    /// Its permutation p, two-sided.
    pub spearman_p: Option<f64>,
    /// Rank correlation of the pair's level with time: of its geometric mean, or its mean.
    pub level_spearman: Option<f64>,
    /// Its permutation p, two-sided.
    pub level_spearman_p: Option<f64>,
    /// Correlation of each effect with the next.
    pub lag1: Option<f64>,
    /// Squared steps over squared deviations, about 2 without dependence (von Neumann, 1941).
    pub von_neumann: Option<f64>,
    /// The likeliest change of level.
    pub cusum: Option<LevelShift>,
}

/// The likeliest place of a change of level: the largest cumulative sum.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LevelShift {
    /// Pairs before it.
    pub before: u32,
    /// The largest sum over deviation times the root of the number of pairs.
    pub k: f64,
    /// Its permutation p.
    pub p: f64,
    /// Mean effect after it less the mean before it.
    pub shift: f64,
}

/// How far equal arms are known to come out apart in this case, as sealed in the plan.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KnownFloor {
    /// [`ShownFloor::size`] at the planned pairs, as a ratio less 1 or in the unit of a difference.
    pub size: f64,
    /// A/A campaigns it is made from.
    pub occasions: u32,
    /// Whole days from the one that counts, the middle one, to the seal.
    pub age_days: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_takes_no_room() {
        let comparison = Comparison::empty("a", Metric::PeakRssBytes);
        let value = serde_json::to_value(&comparison).unwrap();
        let keys = value.as_object().unwrap();
        for absent in ["scale", "difference", "p_holm", "diagnostics", "outlying"] {
            assert!(!keys.contains_key(absent), "{absent}");
        }
        assert!(keys.contains_key("ratio"), "unknown is null there");
        assert_eq!(
            serde_json::from_value::<Comparison>(value).unwrap(),
            comparison
        );
    }

    #[test]
    fn a_variant_holds_its_interval_flat() {
        let variant = Variant {
            pairs: 14,
            ratio: Some(0.98),
            interval: Interval {
                lo95: Some(0.97),
                hi95: Some(0.99),
                lo90: None,
                hi90: None,
            },
            ..Variant::default()
        };
        let text = serde_json::to_string(&variant).unwrap();
        assert_eq!(
            text,
            r#"{"pairs":14,"ratio":0.98,"lo95":0.97,"hi95":0.99,"lo90":null,"hi90":null}"#
        );
        assert_eq!(serde_json::from_str::<Variant>(&text).unwrap(), variant);
    }

    #[test]
    fn a_case_that_does_not_hold_shows_no_floor() {
        let mut one = Comparison::empty("a", Metric::PeakRssBytes);
        one.decision = Interval {
            lo95: Some(0.98),
            hi95: Some(1.04),
            ..Interval::default()
        };
        assert_eq!(one.shown_floor(), None, "it decides nothing");
        for (verdict, shows) in [
            (Verdict::Inconclusive, true),
            (Verdict::Unstable, true),
            (Verdict::Incomplete, false),
            (Verdict::NotComparable, false),
        ] {
            one.verdict = Some(verdict);
            assert_eq!(one.shown_floor().is_some(), shows, "{}", verdict.name());
        }
        one.decision.hi95 = Some(0.98);
        one.verdict = Some(Verdict::Equivalent);
        assert_eq!(one.shown_floor(), None, "no variation");
    }

    #[test]
    fn a_floor_is_half_the_interval_or_its_far_end_where_it_excludes_no_difference() {
        let of = |scale, low, high| {
            let mut one = Comparison::empty("a", Metric::PeakRssBytes);
            one.scale = scale;
            (one.decision.lo95, one.decision.hi95) = (Some(low), Some(high));
            one.verdict = Some(Verdict::Inconclusive);
            let floor = one.shown_floor().unwrap();
            assert_eq!(one.floor_under(Verdict::Improved), Some(floor));
            [floor.size, floor.half_width]
        };
        let close = |found: [f64; 2], meant: [f64; 2]| {
            for (found, meant) in found.into_iter().zip(meant) {
                assert!((found - meant).abs() < 1e-9, "{found} {meant}");
            }
        };
        let (ratio, difference) = (Scale::Ratio, Scale::Difference);
        close(of(difference, -1.0, 3.0), [2.0, 2.0]);
        close(of(difference, 1.0, 3.0), [3.0, 1.0]);
        close(of(difference, -3.0, -1.0), [3.0, 1.0]);
        close(of(ratio, 1.0 / 1.1, 1.1), [0.1, 0.1]);
        close(of(ratio, 1.1, 1.1 * 1.21), [0.331, 0.1]);
        // A ratio and its inverse have the same floor.
        close(of(ratio, 1.0 / 1.331, 1.0 / 1.1), [0.331, 0.1]);
    }

    #[test]
    fn half_a_width_needs_both_ends() {
        let mut interval = Interval {
            lo95: Some(0.98),
            hi95: Some(1.04),
            ..Interval::default()
        };
        assert!((interval.half_width().unwrap() - 0.03).abs() < 1e-12);
        interval.hi95 = None;
        assert_eq!(interval.half_width(), None);
    }
}
