//! Every identity and guard over all trials, each with both sides' numbers.

use wiretrial_contract::analysis::Check;
use wiretrial_contract::plan::Plan;
use wiretrial_contract::record::{GuardName, Ledger, TrialRecord};
use wiretrial_stats::rank::median;

use super::{CaseRows, loads, summed, work};

/// The identities of all counted trials, then the guards of all trials, then how equal the arms'
/// loads were.
pub(super) fn checks(plan: &Plan, cases: &[CaseRows<'_>], rows: &[TrialRecord]) -> Vec<Check> {
    let ledgers: Vec<&Ledger> = cases
        .iter()
        .flat_map(CaseRows::counted)
        .filter_map(|row| row.ledger.as_ref())
        .collect();
    let mut checks = vec![sets(&ledgers), copies(&ledgers), ring(&ledgers)];
    checks.extend(GuardName::ALL.iter().filter_map(|name| guard(*name, rows)));
    checks.extend(members(plan, cases));
    checks.extend(offered(plan, cases));
    checks.push(delivered(cases));
    checks.push(work_done(plan, cases));
    // What no trial was there for was not checked.
    checks.retain(|check| check.trials > 0);
    checks
}

fn sets(ledgers: &[&Ledger]) -> Check {
    let unique = total(ledgers, |l| l.unique);
    let lost = signed(ledgers.iter().map(|ledger| ledger.lost));
    Check {
        name: "accepted = unique + lost".into(),
        left: total(ledgers, |l| l.accepted).to_string(),
        right: format!("{unique} + {lost}"),
        holds: ledgers.iter().all(|ledger| {
            let sum = i64::try_from(ledger.unique).map(|unique| unique.checked_add(ledger.lost));
            ledger.lost >= 0 && sum == Ok(i64::try_from(ledger.accepted).ok())
        }),
        trials: ledgers.len() as u64,
    }
}

fn copies(ledgers: &[&Ledger]) -> Check {
    let dropped = total(ledgers, |l| summed(l.dropped.values().flatten().copied()));
    let unexplained = signed(ledgers.iter().map(|ledger| ledger.unexplained));
    let sizes = ledgers
        .iter()
        .map(|ledger| ledger.unexplained.unsigned_abs());
    let worst = sizes.max().unwrap_or(0);
    Check {
        name: "copies in = delivered + dropped".into(),
        left: total(ledgers, |l| l.copies_in).to_string(),
        right: format!(
            "{} + {dropped}, {unexplained} unexplained, {worst} at most in a trial",
            total(ledgers, |l| l.copies_delivered)
        ),
        holds: worst == 0,
        trials: ledgers.len() as u64,
    }
}

fn ring(ledgers: &[&Ledger]) -> Check {
    let checks: Vec<_> = ledgers
        .iter()
        .filter_map(|ledger| ledger.ring_check)
        .collect();
    let received = summed(checks.iter().map(|check| check.received));
    let delivered = summed(checks.iter().map(|check| check.delivered));
    let dropped = summed(checks.iter().map(|check| check.dropped));
    Check {
        name: "ps_recv = delivered + ps_drop".into(),
        left: received.to_string(),
        right: format!("{delivered} + {dropped}"),
        holds: !checks.is_empty() && checks.iter().all(|check| check.holds()),
        trials: checks.len() as u64,
    }
}

/// One guard over all trials it applied to; `None` when it applied to none.
fn guard(name: GuardName, rows: &[TrialRecord]) -> Option<Check> {
    let all: Vec<bool> = rows
        .iter()
        .flat_map(|row| &row.guards)
        .filter(|guard| guard.name == name)
        .map(|guard| guard.passed)
        .collect();
    let passed = all.iter().filter(|passed| **passed).count();
    (!all.is_empty()).then(|| Check {
        name: format!("guard {}", name.name()),
        left: format!("{passed} passed"),
        right: format!("{} checked", all.len()),
        holds: passed == all.len(),
        trials: all.len() as u64,
    })
}

/// The members' offered loads: a guard elsewhere, a limit on the comparison where the sender does
/// the receive work.
fn members(plan: &Plan, cases: &[CaseRows<'_>]) -> Option<Check> {
    let middle = |case: &CaseRows<'_>| median(&loads::members_apart(case));
    let (worst, name) = of_coupled(plan, cases)
        .filter_map(|case| Some((middle(case)?, case.case.name.as_str())))
        .max_by(|one, other| one.0.total_cmp(&other.0))?;
    Some(Check {
        name: "members' offered loads apart, middle pair of a case".into(),
        left: format!("{:.3} % (worst case {name})", worst * 100.0),
        right: format!("at most {:.1} %", plan.rule.pair_offered * 100.0),
        holds: worst <= plan.rule.pair_offered,
        trials: cases.iter().map(CaseRows::trials).sum(),
    })
}

/// The offered loads beside the intended ones, likewise.
fn offered(plan: &Plan, cases: &[CaseRows<'_>]) -> Option<Check> {
    let off = |ratio: f64| (ratio - 1.0).abs();
    let (worst, name) = of_coupled(plan, cases)
        .flat_map(|case| {
            let middles = loads::offered_middles(case).into_iter();
            middles.map(|ratio| (ratio, case.case.name.as_str()))
        })
        .max_by(|one, other| off(one.0).total_cmp(&off(other.0)))?;
    let [low, high] = plan.rule.offered;
    Some(Check {
        name: "offered of intended load, middle trial of an arm".into(),
        left: format!("{:.2} % (worst case {name})", worst * 100.0),
        right: format!("{:.0} % to {:.0} %", low * 100.0, high * 100.0),
        holds: (low..=high).contains(&worst),
        trials: cases.iter().map(CaseRows::trials).sum(),
    })
}

/// The cases in which the sender does the receive work.
fn of_coupled<'a, 'b>(
    plan: &Plan,
    cases: &'a [CaseRows<'b>],
) -> impl Iterator<Item = &'a CaseRows<'b>> {
    let coupled = plan.campaign.topology.coupled();
    cases.iter().filter(move |_| coupled)
}

/// The arms' delivered datagrams: what they were compared on.
fn delivered(cases: &[CaseRows<'_>]) -> Check {
    let live = || cases.iter().filter(|case| case.case.live().is_some());
    let delivered = |arm| {
        let rows = live().flat_map(|case| case.of_arm(arm));
        let ledgers: Vec<&Ledger> = rows.filter_map(|row| row.ledger.as_ref()).collect();
        let least = total(&ledgers, |ledger| ledger.unique);
        let most = total(&ledgers, |ledger| match ledger.lost_least {
            Some(lost) => ledger.accepted.saturating_sub(lost),
            None => ledger.unique,
        });
        if least == most {
            least.to_string()
        } else {
            format!("{least} to {most}")
        }
    };
    Check {
        name: match cases.first().map_or(2, |case| case.arms.len()) {
            2 => "delivered: baseline, candidate, equal to 0.1 %".into(),
            _ => "delivered: reference, the others, equal to 0.1 %".into(),
        },
        left: delivered(0),
        right: (1..cases.first().map_or(2, |case| case.arms.len()))
            .map(delivered)
            .collect::<Vec<_>>()
            .join(", "),
        holds: !live().any(loads::unequal_work),
        trials: live().map(CaseRows::trials).sum(),
    }
}

/// What the user's programs and all passes say they did, held against what they were given.
fn work_done(plan: &Plan, cases: &[CaseRows<'_>]) -> Check {
    let told = || cases.iter().filter(|case| work::is_told(case.case));
    let wrong = told().find_map(|case| {
        let (arm, wrong) = work::wrong(case).into_iter().next()?;
        let arm = &plan.campaign.arms[case.arms[arm]].name;
        Some((
            format!("{} {arm}: {}", case.case.name, wrong.saw),
            wrong.wanted,
        ))
    });
    let silent = told().filter(|case| work::silent(case)).count();
    let holds = wrong.is_none();
    let (left, right) = wrong.unwrap_or_else(|| match silent {
        0 => ("as told".into(), "as given".into()),
        n => (
            format!("not told in {n}"),
            format!("{} cases", told().count()),
        ),
    });
    Check {
        name: "work done".into(),
        left,
        right,
        holds,
        trials: told().map(|case| case.trials()).sum(),
    }
}

fn signed(counts: impl Iterator<Item = i64>) -> i64 {
    counts.fold(0, i64::saturating_add)
}

fn total(ledgers: &[&Ledger], count: impl Fn(&Ledger) -> u64) -> u64 {
    summed(ledgers.iter().map(|ledger| count(ledger)))
}
