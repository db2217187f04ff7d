//! Candidate against baseline: one comparison per metric, the primary one with a verdict.

use wiretrial_contract::analysis::{self, Comparison, Verdict, round12};
use wiretrial_contract::metric::{Direction, Metric};
use wiretrial_contract::plan::Plan;
use wiretrial_contract::record::{Flag, GuardName, LedgerState, Outcome, TrialRecord};
use wiretrial_stats::interval::{self, Enumerate, Limits, Scale};
use wiretrial_stats::power;
use wiretrial_stats::proportion;
use wiretrial_stats::random::{Purpose, stream_seed};
use wiretrial_stats::verdict::{self as rule, Findings, Guards, Question, Reason};

use super::{CaseRows, loads, metrics, rate, work};

/// One comparison per metric of a case, the primary first.
pub(super) fn comparisons(
    plan: &Plan,
    case: &CaseRows<'_>,
    exhausted: Option<&str>,
) -> Vec<Comparison> {
    let primary = plan.campaign.design.primary;
    let rest = plan.campaign.metrics();
    let rest = rest.into_iter().filter(|metric| *metric != primary);
    std::iter::once(primary)
        .chain(rest)
        .map(|metric| comparison(plan, case, metric, exhausted))
        .collect()
}

fn comparison(
    plan: &Plan,
    case: &CaseRows<'_>,
    metric: Metric,
    exhausted: Option<&str>,
) -> Comparison {
    let design = &plan.campaign.design;
    let primary = metric == design.primary;
    let values: Option<Vec<[f64; 2]>> = case
        .pairs
        .iter()
        .map(|[baseline, candidate]| {
            Some([
                metrics::value(metric, case.case, baseline)?,
                metrics::value(metric, case.case, candidate)?,
            ])
        })
        .collect();
    let known = values.is_some();
    let values = values.unwrap_or_default();
    // Costs are compared, so a rate is compared as the time a unit takes.
    let is_rate = metric.direction() == Direction::HigherIsBetter;
    let cost = |value: f64| if is_rate { 1.0 / value } else { value };
    let (baseline, candidate): (Vec<f64>, Vec<f64>) = values
        .iter()
        .map(|[one, other]| (cost(*one), cost(*other)))
        .unzip();
    let seed = stream_seed(Purpose::Bootstrap, &case.case.name, plan.seed.0);
    let enumerate = if primary {
        Enumerate::Yes
    } else {
        Enumerate::No
    };
    let scale = if metric.is_difference() {
        Scale::Difference
    } else {
        Scale::Ratio
    };
    let compared = interval::compare(scale, &baseline, &candidate, seed, enumerate).ok();

    let mut out = Comparison {
        case: case.case.name.clone(),
        metric,
        unit: metric.unit_in(plan.campaign.workload()).into(),
        direction: metric.direction(),
        primary,
        pairs: u32::try_from(values.len()).unwrap_or(u32::MAX),
        values: values.iter().map(|pair| pair.map(round12)).collect(),
        mean_baseline: mean(&baseline),
        mean_candidate: mean(&candidate),
        ratio: None,
        change: None,
        percentile: analysis::Interval::default(),
        decision: analysis::Interval::default(),
        exact: None,
        expanded: analysis::Interval::default(),
        delta_t: analysis::Interval::default(),
        geo_ratio: None,
        median_ratio: None,
        sd_log: None,
        se_log: None,
        leave_one_out: None,
        pairs_needed: None,
        index_sha256: None,
        verdict: None,
        reasons: Vec::new(),
        flags: Vec::new(),
        statement: String::new(),
    };
    if let Some(compared) = &compared {
        fill(&mut out, compared);
    }
    if primary {
        let noise = compared.as_ref().filter(|compared| compared.pairs > 1);
        out.pairs_needed = design
            .margin
            .zip(noise)
            .and_then(|(margin, c)| power::pairs_needed(Scale::Ratio, margin, c.pair_sd))
            .and_then(|pairs| u32::try_from(pairs).ok())
            // No more than there were: then it is not the number that was missing.
            .filter(|pairs| *pairs > out.pairs);
        let mut guards = guards(plan, case, exhausted);
        // A value that is missing is not a small one.
        if !known {
            guards.invalid = guards.invalid.or(Some(Reason::UnknownValue));
        }
        let left_out =
            interval::leave_one_out(Scale::Ratio, &baseline, &candidate, seed).unwrap_or_default();
        judge(
            &mut out,
            &guards,
            compared.as_ref(),
            &left_out,
            design.margin,
        );
        if compared.is_none() && !values.is_empty() && out.verdict == Some(Verdict::Inconclusive) {
            // A cost is the difference of two times: where noise puts one of them at or below zero
            // there is no ratio, and nothing is decided.
            out.reasons = vec![Reason::NotPositive.name().to_owned()];
        }
        if work::silent(case) {
            out.flags.push(Flag::WorkUnproven);
        }
    }
    if is_rate {
        rate::inverted(&mut out);
    }
    out
}

fn judge(
    out: &mut Comparison,
    guards: &Guards,
    compared: Option<&interval::Comparison>,
    left_out: &[Limits],
    margin: Option<f64>,
) {
    let decision = compared
        .and_then(|compared| compared.intervals.as_ref().ok())
        .map(|all| &all.decision);
    let judgement = rule::judge(
        guards,
        &Findings {
            decision,
            leave_one_out: left_out,
            mean_typical_split: compared.is_some_and(|c| c.mean_typical_split(margin)),
            deterministic: compared.is_some_and(|c| c.deterministic),
        },
        &Question::new(Scale::Ratio, margin),
    );
    out.verdict = Some(verdict(judgement.verdict));
    out.reasons = judgement
        .reasons
        .iter()
        .map(|reason| reason.name().to_owned())
        .collect();
    out.flags = judgement.flags.iter().copied().map(flag).collect();
}

fn fill(out: &mut Comparison, compared: &interval::Comparison) {
    out.ratio = compared.ratio.map(round12);
    out.change = compared.ratio.map(|ratio| round12(ratio - 1.0));
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
        out.exact = all.exact.as_ref().map(limits);
        out.index_sha256.clone_from(&all.index_sha256);
    }
}

fn guards(plan: &Plan, case: &CaseRows<'_>, exhausted: Option<&str>) -> Guards {
    let design = &plan.campaign.design;
    let short = case.pairs.len() < design.pairs as usize;
    let here = exhausted == Some(case.case.name.as_str());
    let invalid = if short && here {
        Some(Reason::ReplacementsExhausted)
    } else if !work::wrong(case).is_empty() {
        Some(Reason::WrongResult)
    } else {
        case.counted()
            .any(|row| broken(case, row))
            .then_some(Reason::CounterMismatch)
    };
    let early = if exhausted.is_some() {
        Reason::OtherCaseEnded
    } else {
        Reason::Interrupted
    };
    Guards {
        incomplete: (short && !here).then_some(early),
        invalid,
        asymmetric: asymmetric(case).then_some(Reason::VoidsOnOneArm),
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

/// Whether void trials gather on one arm. A trial counts as void here when it failed itself or one
/// of its own guards did not pass; what a signal or the other member did is nobody's.
fn asymmetric(case: &CaseRows<'_>) -> bool {
    let voids = |arm: &str| {
        let rows = case.all.iter().filter(|row| row.arm == arm);
        rows.fold((0, 0), |(voids, all), row| {
            (voids + u64::from(own_void(row)), all + 1)
        })
    };
    proportion::voids_on_one_arm(voids("baseline"), voids("candidate"))
}

fn own_void(row: &TrialRecord) -> bool {
    match &row.outcome {
        Outcome::Ok => false,
        Outcome::Failed { .. } => true,
        Outcome::Voided => row
            .guards
            .iter()
            .any(|guard| !guard.passed && guard.name != GuardName::Interrupted),
    }
}

fn verdict(verdict: rule::Verdict) -> Verdict {
    match verdict {
        rule::Verdict::ImprovedWorthwhile => Verdict::ImprovedWorthwhile,
        rule::Verdict::Improved => Verdict::Improved,
        rule::Verdict::Equivalent => Verdict::Equivalent,
        rule::Verdict::Inconclusive => Verdict::Inconclusive,
        rule::Verdict::Regressed => Verdict::Regressed,
        rule::Verdict::RegressedWorthwhile => Verdict::RegressedWorthwhile,
        rule::Verdict::Invalid => Verdict::Invalid,
        rule::Verdict::Unstable => Verdict::Unstable,
        rule::Verdict::AsymmetricFailures => Verdict::AsymmetricFailures,
        rule::Verdict::NotComparable => Verdict::NotComparable,
        rule::Verdict::Incomplete => Verdict::Incomplete,
    }
}

fn flag(flag: rule::Flag) -> Flag {
    match flag {
        rule::Flag::Detectable => Flag::Detectable,
        rule::Flag::Fragile => Flag::Fragile,
        rule::Flag::MeanTypicalSplit => Flag::MeanTypicalSplit,
        rule::Flag::Deterministic => Flag::Deterministic,
    }
}

fn limits(limits: &Limits) -> analysis::Interval {
    analysis::Interval {
        lo95: Some(round12(limits.lo95)),
        hi95: Some(round12(limits.hi95)),
        lo90: Some(round12(limits.lo90)),
        hi90: Some(round12(limits.hi90)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few dozen pairs")]
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| round12(values.iter().sum::<f64>() / values.len() as f64))
}
