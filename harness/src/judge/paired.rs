//! Candidate against baseline: the values of each metric from the rows, and the guards.

use wiretrial_contract::analysis::{Comparison, KnownFloor};
use wiretrial_contract::metric::Metric;
use wiretrial_contract::plan::{Kind, Plan};
use wiretrial_contract::record::{Flag, GuardName, LedgerState, Outcome, TrialRecord};
use wiretrial_stats::proportion;
use wiretrial_stats::random::{Purpose, stream_seed};
use wiretrial_stats::verdict::{Guards, Reason};

use super::estimate::{self, Asked, Values};
use super::{CaseRows, loads, metrics, work};
use crate::trial::next::Next;
use crate::trial::pairs::{by_pair, counts, interrupted};

/// Guards that say nothing of the member in whose row they stand.
const NOBODYS: [GuardName; 2] = [GuardName::Interrupted, GuardName::PairOffered];

/// One comparison per metric of a case, the primary first.
pub(super) fn comparisons(
    plan: &Plan,
    case: &CaseRows<'_>,
    ended: &Next,
    layout: Option<Reason>,
) -> Vec<Comparison> {
    let primary = plan.campaign.design.primary;
    let seed = |purpose| stream_seed(purpose, &case.case.name, plan.seed.0);
    let bootstrap = seed(Purpose::Bootstrap);
    let rest = plan.campaign.metrics();
    let rest = rest.into_iter().filter(|metric| *metric != primary);
    let rest = rest.map(|metric| {
        let (values, _) = values(plan, case, metric);
        estimate::information(&values, bootstrap)
    });
    let arm = arm(plan, case);
    std::iter::once(deciding(
        plan,
        case,
        ended,
        layout,
        bootstrap,
        seed(Purpose::Permutation),
    ))
    .chain(rest)
    .map(|comparison| Comparison {
        arm: arm.clone(),
        ..comparison
    })
    .collect()
}

/// The arm of a table that is compared; none in a paired campaign.
fn arm(plan: &Plan, case: &CaseRows<'_>) -> Option<String> {
    match plan.campaign.kind {
        Kind::Paired => None,
        Kind::Table => Some(plan.campaign.arms[case.arms[1]].name.clone()),
    }
}

fn deciding(
    plan: &Plan,
    case: &CaseRows<'_>,
    ended: &Next,
    layout: Option<Reason>,
    bootstrap: u64,
    permutation: u64,
) -> Comparison {
    let design = &plan.campaign.design;
    let mut guards = guards(plan, case, ended);
    guards.capped = guards.capped.or(layout);
    let (values, known) = values(plan, case, design.primary);
    if !known {
        // A value that is missing is not a small one.
        guards.invalid = guards.invalid.or(Some(Reason::UnknownValue));
    }
    let values = Values {
        voided: voided(plan, case, design.primary),
        ..values
    };
    let asked = Asked {
        margin: design.margin,
        floor: floor(plan, case),
        require_stable: design.require_stable,
        permutation,
    };
    let mut out = estimate::primary(&values, bootstrap, &asked, &guards);
    if work::silent(case) {
        out.flags.push(Flag::WorkUnproven);
    }
    if plan.campaign.kind == Kind::Table {
        // Orders are drawn for all arms at once: of two of them the balanced ones are neither all there
        // nor equally likely, so there is nothing that this one could be held against.
        out.randomization_p = None;
    }
    out
}

/// Why no arm of a case is called worthwhile: its reference, built anew in another layout, differs from
/// itself by more than the margin, or how much it does is not known. `None` without such a control arm,
/// and without a margin, where nothing is called so.
///
/// The point decides and not its interval: what a layout is likeliest to do is enough against a claim,
/// and an interval that is wide enough to hold anything must not be what lets the claim through.
pub(super) fn layout_sensitive(plan: &Plan, case: &CaseRows<'_>) -> Option<Reason> {
    let design = &plan.campaign.design;
    let (control, margin) = design.layout_control.as_ref().zip(design.margin)?;
    let two = case.compared().into_iter().find(|two| {
        let arm = &plan.campaign.arms[two.arms[1]].name;
        arm == control
    });
    let moved = two.and_then(|two| {
        let (values, _) = values(plan, &two, design.primary);
        estimate::effect(&values)
    });
    match moved {
        None => Some(Reason::LayoutUnknown),
        // As a margin is: 1/(1 + m) to 1 + m, or m on both sides of no difference.
        Some(moved) => {
            (moved.abs() > design.primary.scale().effect(margin)).then_some(Reason::LayoutSensitive)
        }
    }
}

/// The values of a metric in the pairs that count, and whether all of them are known; none where one is
/// not.
fn values(plan: &Plan, case: &CaseRows<'_>, metric: Metric) -> (Values, bool) {
    let pairs: Option<Vec<[f64; 2]>> = case
        .pairs
        .iter()
        .map(|pair| of_pair(case, metric, pair))
        .collect();
    let known = pairs.is_some();
    let first: Vec<&TrialRecord> = case.of_arm(0).filter(|_| known).collect();
    let values = Values {
        case: case.case.name.clone(),
        metric,
        unit: metric.unit_in(plan.campaign.workload()).into(),
        direction: metric.direction(),
        scale: metric.scale(),
        pairs: pairs.unwrap_or_default(),
        numbers: first.iter().map(|row| row.pair).collect(),
        orders: first.iter().map(|row| case.first(row)).collect(),
        voided: Vec::new(),
    };
    (values, known)
}

fn of_pair(case: &CaseRows<'_>, metric: Metric, pair: &[&TrialRecord]) -> Option<[f64; 2]> {
    let [baseline, candidate] = pair else {
        return None;
    };
    let value = |row| metrics::value(metric, case.case, row);
    Some([value(baseline)?, value(candidate)?])
}

/// The values of the pairs that were voided though both members ran to their end.
fn voided(plan: &Plan, case: &CaseRows<'_>, metric: Metric) -> Vec<[f64; 2]> {
    let pairs = by_pair(case.all.iter().copied());
    let measured = pairs.values().filter(|rows| {
        let failed = |row: &&TrialRecord| matches!(row.outcome, Outcome::Failed { .. });
        !counts(rows) && !interrupted(rows) && !rows.iter().any(failed)
    });
    measured
        .filter_map(|rows| of_pair(case, metric, &case.by_arm(plan, rows)?))
        .collect()
}

/// The floor of a case that was known when the plan was sealed.
fn floor(plan: &Plan, case: &CaseRows<'_>) -> Option<KnownFloor> {
    let primary = plan.campaign.design.primary;
    let arm = arm(plan, case);
    let mut floors = plan.floors.iter();
    let floor = floors.find(|floor| {
        floor.case == case.case.name && floor.arm == arm && floor.metric == primary
    })?;
    Some(KnownFloor {
        size: floor.size,
        occasions: floor.occasions,
        age_days: floor.age_days,
    })
}

fn guards(plan: &Plan, case: &CaseRows<'_>, ended: &Next) -> Guards {
    let design = &plan.campaign.design;
    let short = case.pairs.len() < design.pairs as usize;
    let exhausted = short && voids(case) > design.replacements as usize;
    let invalid = if exhausted {
        Some(Reason::ReplacementsExhausted)
    } else if !work::wrong(case).is_empty() {
        Some(Reason::WrongResult)
    } else {
        case.counted()
            .any(|row| broken(case, row))
            .then_some(Reason::CounterMismatch)
    };
    let early = match ended {
        Next::Spent => Reason::BudgetExhausted,
        Next::Run { .. } | Next::Finished => Reason::Interrupted,
    };
    Guards {
        incomplete: (short && !exhausted).then_some(early),
        invalid,
        asymmetric: asymmetric(plan, case).then_some(Reason::VoidsOnOneArm),
        not_comparable: not_comparable(plan, case),
        unstable: None,
        capped: work::unproven(case),
    }
}

/// Whether a trial's ledger is broken or missing. Passes have none, and of a program that tells
/// nothing there may be none.
fn broken(case: &CaseRows<'_>, row: &TrialRecord) -> bool {
    match &row.ledger {
        Some(ledger) => matches!(ledger.state, LedgerState::Invalid { .. }),
        None => case.case.live().is_some() && row.count().is_none(),
    }
}

fn not_comparable(plan: &Plan, case: &CaseRows<'_>) -> Option<Reason> {
    if case.case.live().is_some() && loads::unequal_work(case) {
        return Some(Reason::UnequalWork);
    }
    loads::coupled_limit(plan, case).then_some(Reason::CoupledLimit)
}

/// Pairs that were voided, but for what a signal ended.
fn voids(case: &CaseRows<'_>) -> usize {
    let pairs = by_pair(case.all.iter().copied()).into_values();
    pairs
        .filter(|rows| !counts(rows) && !interrupted(rows))
        .count()
}

/// Whether void trials gather on one arm. A trial counts as void here when it failed itself or one
/// of its own guards did not pass; what a signal, the other member or both together did is nobody's.
fn asymmetric(plan: &Plan, case: &CaseRows<'_>) -> bool {
    let voids = |place: usize| {
        let arm = &plan.campaign.arms[case.arms[place]].name;
        let rows = case.all.iter().filter(|row| row.arm == *arm);
        rows.fold((0, 0), |(voids, all), row| {
            (voids + u64::from(own_void(row)), all + 1)
        })
    };
    proportion::voids_on_one_arm(voids(0), voids(1))
}

fn own_void(row: &TrialRecord) -> bool {
    match &row.outcome {
        Outcome::Ok => false,
        Outcome::Failed { .. } => true,
        Outcome::Voided => row
            .guards
            .iter()
            .any(|guard| !guard.passed && !NOBODYS.contains(&guard.name)),
    }
}
