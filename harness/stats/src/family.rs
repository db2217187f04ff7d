//! What may be said about several cases at once.
//!
//! One interval errs once in twenty; twenty of them err together more often than not. Statements about
//! a family therefore have rules of their own: adjusted p values ([`holm`](crate::verdict::holm)) for
//! "some case changed", simultaneous intervals for "every case is within", and for "no case is worse
//! by more than the margin" none, because there every single case has to pass.

use crate::interval::{ALPHA_90, ALPHA_95, Limits, Scale, Student};
use crate::proportion::sign_test;
use crate::sum::length;
use crate::verdict::Verdict;

/// Bonferroni intervals by Student's t: all of them hold together with 95 % (and 90 %), whatever the
/// dependence between cases. One result a case, in the order given. There is no resampled counterpart,
/// because 20,000 resamples do not reach that far out.
#[must_use]
pub fn simultaneous(cases: &[Student]) -> Vec<Limits> {
    let family = length(cases.len());
    let at = |case: &Student, alpha: f64| case.interval(alpha / family);
    cases
        .iter()
        .map(|case| Limits::new(at(case, ALPHA_95), at(case, ALPHA_90)))
        .collect()
}

/// Whether no case is worse by more than `margin` (a share for a ratio, the unit of the metric for a
/// difference): every upper end of the 90 % decision intervals lies below it. Each is a one-sided 5 %
/// test, and their intersection needs no correction (Berger, 1982). `None` without a case or without
/// a margin above 0.
#[must_use]
pub fn none_worse(scale: Scale, margin: f64, decisions: &[Limits]) -> Option<bool> {
    let limit = match scale {
        Scale::Ratio => 1.0 + margin,
        Scale::Difference => margin,
    };
    let usable = margin > 0.0 && !decisions.is_empty();
    usable.then(|| decisions.iter().all(|limits| limits.hi90 < limit))
}

/// Improvements against regressions among the cases of a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Health {
    /// Cases called improved, worthwhile or not.
    pub improvements: u64,
    /// Cases called regressed, worthwhile or not.
    pub regressions: u64,
}

impl Health {
    /// Counts both; a case that is equivalent, undecided or does not count is neither.
    #[must_use]
    pub fn of(verdicts: &[Verdict]) -> Self {
        let count = |one, other| {
            let such = verdicts.iter().filter(|v| **v == one || **v == other);
            such.count() as u64
        };
        Self {
            improvements: count(Verdict::Improved, Verdict::ImprovedWorthwhile),
            regressions: count(Verdict::Regressed, Verdict::RegressedWorthwhile),
        }
    }

    /// Two-sided binomial p of the two counts under even odds. Cases that a change does not concern
    /// err equally often to both sides, so among them a small p speaks of a biased host or schedule.
    /// `None` where neither occurred.
    #[must_use]
    pub fn p(&self) -> Option<f64> {
        let changed = self.improvements + self.regressions;
        (changed > 0).then(|| sign_test(self.improvements, changed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::t_quantile_two_sided;

    fn close(value: f64, expected: f64) {
        assert!(
            (value - expected).abs() <= 1e-12,
            "{value} is not {expected}"
        );
    }

    #[test]
    fn a_family_of_one_is_its_interval_and_more_are_wider() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let b = [1.5, 2.0, 3.5, 4.0, 5.5, 6.5];
        let case = Student::new(Scale::Difference, &a, &b).unwrap();
        let alone = simultaneous(&[case]);
        close(alone[0].lo95, case.interval(0.05).lo);
        close(alone[0].hi90, case.interval(0.10).hi);
        let twenty = simultaneous(&[case; 20]);
        assert_eq!(twenty.len(), 20);
        // a tail of .05 / 40: t with 5 degrees of freedom is 5.6042 in tables of .00125
        let t = (twenty[0].hi95 - case.estimate) / case.se;
        close(t, t_quantile_two_sided(0.0025, 5.0));
        assert!((t - 5.604_2).abs() < 1e-4, "{t}");
        assert!(simultaneous(&[]).is_empty());
    }

    #[test]
    fn one_case_over_the_margin_is_enough() {
        let upto = |hi90| Limits {
            lo95: 0.9,
            hi95: 1.2,
            lo90: 0.91,
            hi90,
        };
        let ask = |margin, cases: &[Limits]| none_worse(Scale::Ratio, margin, cases);
        // the 95 % ends play no part
        assert_eq!(ask(0.03, &[upto(1.0), upto(1.029)]), Some(true));
        assert_eq!(ask(0.03, &[upto(1.0), upto(1.03), upto(1.0)]), Some(false));
        assert_eq!(ask(0.03, &[upto(f64::NAN)]), Some(false));
        assert_eq!(ask(0.0, &[upto(0.9)]), None);
        assert_eq!(ask(0.03, &[]), None);
        assert_eq!(
            none_worse(Scale::Difference, 1.1, &[upto(1.09)]),
            Some(true)
        );
    }

    #[test]
    fn health_by_hand() {
        let all = [
            Verdict::Improved,
            Verdict::ImprovedWorthwhile,
            Verdict::Improved,
            Verdict::Improved,
            Verdict::Improved,
            Verdict::RegressedWorthwhile,
            Verdict::Equivalent,
            Verdict::Inconclusive,
            Verdict::Invalid,
        ];
        let health = Health::of(&all);
        assert_eq!((health.improvements, health.regressions), (5, 1));
        // 2 (1 + 6) / 64
        close(health.p().unwrap(), 14.0 / 64.0);
        close(Health::of(&all[4..6]).p().unwrap(), 1.0);
        assert_eq!(Health::of(&all[6..]).p(), None);
    }
}
