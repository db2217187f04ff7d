//! What the primary comparisons of all cases say together.

use wiretrial_contract::analysis::{Calibration, Comparison, Family, Interval, Verdict, round12};
use wiretrial_contract::metric::{Direction, Scale};
use wiretrial_stats::drift::smallest_randomization_p;
use wiretrial_stats::interval::{ALPHA_90, ALPHA_95, Limits, Student};
use wiretrial_stats::proportion::{calibration_limit, calibration_power, sign_test};
use wiretrial_stats::verdict::holm;

use super::estimate::{costs, count, limits, on};
use super::gates::BROKEN;
use super::rate;

/// Adjusts the p values of the comparisons that decide for being many, and gives each the interval that
/// holds for all at once. A case without a p counts as one with p 1, so that the others are adjusted for
/// as many cases as were asked about.
pub fn adjust(comparisons: &mut [Comparison]) {
    let decide: Vec<usize> = (0..comparisons.len())
        .filter(|at| comparisons[*at].primary)
        .collect();
    let p: Vec<f64> = decide
        .iter()
        .map(|at| comparisons[*at].p_delta.unwrap_or(1.0))
        .collect();
    for (at, adjusted) in decide.iter().zip(holm(&p)) {
        let one = &mut comparisons[*at];
        one.p_holm = one.p_delta.map(|_| round12(adjusted));
        if decide.len() > 1 {
            one.simultaneous = simultaneous(one, f64::from(count(decide.len())));
        }
    }
}

/// Student's t at levels divided by the number of cases; only where there is a decision interval.
fn simultaneous(one: &Comparison, cases: f64) -> Option<Interval> {
    one.decision.lo95?;
    let [baseline, candidate] = costs(one.scale, one.direction, &one.values);
    let student = Student::new(on(one.scale), &baseline, &candidate).ok()?;
    let at = |alpha: f64| student.interval(alpha / cases);
    let interval = limits(&Limits::new(at(ALPHA_95), at(ALPHA_90)));
    Some(rate::interval(one.direction, one.scale, interval))
}

/// The family, where there are at least two cases. `orders` is how many pairs are planned in each, where
/// their orders are tested.
pub(super) fn family(
    comparisons: &[Comparison],
    margin: Option<f64>,
    orders: Option<u32>,
) -> Option<Family> {
    let decide: Vec<&Comparison> = comparisons.iter().filter(|one| one.primary).collect();
    if decide.len() < 2 {
        return None;
    }
    let on_side = |better: bool| {
        let sides = decide.iter().filter_map(|one| is_better(one));
        count(sides.filter(|side| *side == better).count())
    };
    let (improved, regressed) = (on_side(true), on_side(false));
    let split = u64::from(improved + regressed);
    Some(Family {
        cases: count(decide.len()),
        improved,
        regressed,
        sign_p: (split > 0).then(|| round12(sign_test(improved.into(), split))),
        none_worse_than_margin: margin.and_then(|margin| none_is_worse(&decide, margin)),
        smallest_randomization_p: orders
            .map(|pairs| round12(smallest_randomization_p(pairs as usize))),
    })
}

/// The side of the estimate of a case that holds; `None` where there is none or no difference.
fn is_better(one: &Comparison) -> Option<bool> {
    let holds = one
        .verdict
        .is_some_and(|verdict| !BROKEN.contains(&verdict));
    let above = one.estimate().filter(|_| holds)? - one.scale.null();
    let better = match one.direction {
        Direction::LowerIsBetter => above < 0.0,
        Direction::HigherIsBetter => above > 0.0,
    };
    (above.abs() > 0.0).then_some(better)
}

/// Whether every case is shown not to be worse by the margin; not decided where all others are but this
/// host cannot see differences of that size in some.
fn none_is_worse(decide: &[&Comparison], margin: f64) -> Option<bool> {
    let (blind, seen): (Vec<&Comparison>, Vec<&Comparison>) = decide
        .iter()
        .partition(|one| one.is_below_floor(Some(margin)));
    let shown = seen.iter().all(|one| is_not_worse(one, margin));
    (blind.is_empty() || !shown).then_some(shown)
}

/// Whether the one-sided 95 % bound on the bad side lies within the margin.
fn is_not_worse(one: &Comparison, margin: f64) -> bool {
    let holds = one
        .verdict
        .is_some_and(|verdict| !BROKEN.contains(&verdict));
    let (low, high) = match one.scale {
        Scale::Ratio => (1.0 / (1.0 + margin), 1.0 + margin),
        Scale::Difference => (-margin, margin),
    };
    holds
        && match one.direction {
            Direction::LowerIsBetter => one.decision.hi90.is_some_and(|bound| bound < high),
            Direction::HigherIsBetter => one.decision.lo90.is_some_and(|bound| bound > low),
        }
}

/// How often equal arms were called different, and whether that is too often.
pub(super) fn calibration(comparisons: &[Comparison]) -> Calibration {
    // Those that order or time moved stay: to leave them out would choose by the result.
    let ends: Vec<(f64, f64, f64)> = comparisons
        .iter()
        .filter(|one| one.primary && one.verdict.is_some_and(Verdict::rests_on_its_pairs))
        .filter_map(|one| {
            let decision = &one.decision;
            Some((decision.lo95?, decision.hi95?, one.scale.null()))
        })
        .collect();
    let cases = ends.len() as u64;
    let excluded = ends.iter().filter(|(lo, hi, null)| lo > null || hi < null);
    let excluded = count(excluded.count());
    let limit = calibration_limit(cases);
    let power = |rate| round12(calibration_power(cases, rate));
    Calibration {
        cases: count(ends.len()),
        excluded,
        limit: u32::try_from(limit).unwrap_or(u32::MAX),
        passed: (limit <= cases).then_some(u64::from(excluded) < limit),
        power_10: power(0.10),
        power_20: power(0.20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiretrial_contract::analysis::{KnownFloor, Reason};
    use wiretrial_contract::metric::Metric;

    fn case(name: &str, ratio: f64, half_width: f64, p: Option<f64>) -> Comparison {
        let interval = Interval {
            lo95: Some(ratio - half_width),
            hi95: Some(ratio + half_width),
            lo90: Some(ratio - 0.9 * half_width),
            hi90: Some(ratio + 0.9 * half_width),
        };
        Comparison {
            primary: true,
            ratio: Some(ratio),
            decision: interval,
            p_delta: p,
            verdict: Some(Verdict::Inconclusive),
            ..Comparison::empty(name, Metric::PeakRssBytes)
        }
    }

    #[test]
    fn p_values_are_adjusted_over_all_cases_asked_about() {
        let mut all = vec![
            case("a", 0.9, 0.01, Some(0.01)),
            case("b", 0.9, 0.01, Some(0.04)),
            case("c", 0.9, 0.01, Some(0.03)),
            case("d", 0.9, 0.01, Some(0.005)),
        ];
        all.push(Comparison {
            primary: false,
            ..case("a", 0.5, 0.1, Some(1e-9))
        });
        adjust(&mut all);
        let p: Vec<Option<f64>> = all.iter().map(|one| one.p_holm).collect();
        assert_eq!(p, [Some(0.03), Some(0.06), Some(0.06), Some(0.02), None]);
        all[0].p_delta = None;
        adjust(&mut all);
        assert_eq!(all[0].p_holm, None);
        assert_eq!(all[3].p_holm, Some(0.02), "still four cases");
    }

    #[test]
    fn a_simultaneous_interval_is_wider_and_one_case_needs_none() {
        let values: Vec<[f64; 2]> = [100.2, 99.8, 101.1, 100.6, 99.5, 100.9]
            .into_iter()
            .zip([98.1, 97.9, 99.6, 98.4, 97.2, 99.1])
            .map(|(a, b)| [a, b])
            .collect();
        let one = Comparison {
            values,
            ..case("a", 0.98, 0.003, None)
        };
        let mut all = vec![one.clone(), one.clone()];
        adjust(&mut all);
        // Two cases at 95 % each: the level of each is 97.5 %, and that of the 90 % one 95 %.
        let interval = all[0].simultaneous.unwrap();
        assert!((interval.lo90.unwrap() - 0.977_237).abs() < 1e-6);
        assert!((interval.hi90.unwrap() - 0.983_578).abs() < 1e-6);
        assert!(interval.lo95.unwrap() < interval.lo90.unwrap());
        let mut alone = vec![one];
        adjust(&mut alone);
        assert_eq!(alone[0].simultaneous, None);
    }

    #[test]
    fn none_is_worse_only_where_every_bound_says_so() {
        let better = case("a", 0.98, 0.01, None);
        let near = case("b", 1.02, 0.01, None);
        let of = |cases: &[&Comparison]| {
            let cases: Vec<Comparison> = cases.iter().map(|one| (*one).clone()).collect();
            family(&cases, Some(0.03), Some(12)).unwrap()
        };
        let both = of(&[&better, &near]);
        assert_eq!((both.improved, both.regressed), (1, 1));
        assert_eq!(both.sign_p, Some(1.0));
        assert_eq!(both.none_worse_than_margin, Some(true));
        assert!((both.smallest_randomization_p.unwrap() - 2.0 / 924.0).abs() < 1e-12);
        let wide = case("c", 1.02, 0.02, None);
        assert_eq!(of(&[&better, &wide]).none_worse_than_margin, Some(false));
        let unseen = Comparison {
            reasons: vec![Reason::BelowFloor],
            floor: Some(KnownFloor {
                size: 0.04,
                occasions: 1,
                age_days: 0,
            }),
            ..near.clone()
        };
        assert_eq!(of(&[&better, &unseen]).none_worse_than_margin, None);
        assert_eq!(of(&[&wide, &unseen]).none_worse_than_margin, Some(false));
        let mut rate = case("d", 0.96, 0.01, None);
        rate.direction = Direction::HigherIsBetter;
        let of_rates = of(&[&better, &rate]);
        assert_eq!(of_rates.none_worse_than_margin, Some(false));
        assert_eq!(of_rates.regressed, 1);
        let broken = Comparison {
            verdict: Some(Verdict::Invalid),
            ..better.clone()
        };
        let broken = of(&[&broken, &near]);
        assert_eq!(
            (broken.improved, broken.none_worse_than_margin),
            (0, Some(false))
        );
        assert_eq!(family(&[better], Some(0.03), Some(12)), None);
        assert_eq!(
            family(&[near.clone(), near], None, Some(12))
                .unwrap()
                .none_worse_than_margin,
            None
        );
    }

    #[test]
    fn equal_arms_called_different_too_often_reject_the_calibration() {
        let of = |excluded: usize| {
            let cases: Vec<Comparison> = (0..20)
                .map(|at| {
                    let ratio = if at < excluded { 1.05 } else { 1.005 };
                    case("a", ratio, 0.01, None)
                })
                .collect();
            calibration(&cases)
        };
        let quiet = of(4);
        assert_eq!((quiet.cases, quiet.excluded, quiet.limit), (20, 4, 5));
        assert_eq!(quiet.passed, Some(true));
        assert!((quiet.power_10 - 0.043).abs() < 5e-4 && (quiet.power_20 - 0.370).abs() < 5e-4);
        assert_eq!(of(5).passed, Some(false));
        let one = calibration(&[case("a", 1.05, 0.01, None)]);
        assert_eq!((one.excluded, one.limit, one.passed), (1, 2, None));
    }
}
