//! Plan and rows in, analysis out. Pure: no files, clocks or printing.
//!
//! The rule was sealed with the plan; nothing here can be set after the data are in. Only pairs
//! whose members both ran and passed every guard are in an estimate.

mod arms;
mod class;
mod course;
pub mod estimate;
pub mod family;
mod gates;
mod limits;
pub(crate) mod loads;
pub mod metrics;
mod paired;
mod passes;
#[cfg(test)]
mod properties;
mod rate;
mod rows;
mod treatment;
mod validity;
mod words;
mod work;

pub use gates::exit_code;

use wiretrial_contract::analysis::{
    ANALYSIS_SCHEMA, Analysis, Answer, ArmIdentity, Comparison, Conditions, Verdict,
};
use wiretrial_contract::plan::{Kind, Plan};
use wiretrial_contract::record::{Phase, TrialRecord};
use wiretrial_reports::answer;

use rows::CaseRows;

use crate::trial::next::next;
use crate::trial::pairs::{by_pair, counts};

/// What identifies the evidence that is judged.
#[derive(Debug, Clone)]
pub struct Identity {
    /// SHA-256 of `plan.json`.
    pub plan_sha256: String,
    /// SHA-256 of `trials.jsonl`.
    pub rows_sha256: String,
    /// First four digits of the host class.
    pub host_class: String,
    /// Words for the host.
    pub host: String,
}

/// Judges the rows of a sealed plan. Rows of a pilot say nothing.
#[must_use]
pub fn analyse(plan: &Plan, rows: &[TrialRecord], identity: &Identity) -> Analysis {
    let confirms = |row: &TrialRecord| row.phase == Phase::Confirm;
    if rows.iter().all(confirms) {
        return of_confirmation(plan, rows, identity);
    }
    let rows: Vec<TrialRecord> = rows.iter().filter(|row| confirms(row)).cloned().collect();
    of_confirmation(plan, &rows, identity)
}

fn of_confirmation(plan: &Plan, rows: &[TrialRecord], identity: &Identity) -> Analysis {
    let cases: Vec<CaseRows<'_>> = plan
        .campaign
        .cases
        .iter()
        .map(|case| CaseRows::of(plan, case, rows))
        .collect();
    let comparisons = compare(plan, &cases, rows);
    let design = &plan.campaign.design;
    let loads: Vec<_> = cases
        .iter()
        .flat_map(|case| loads::of_case(plan, case))
        .collect();
    let passes: Vec<_> = cases
        .iter()
        .flat_map(|case| passes::of_case(plan, case))
        .collect();
    let verdict = gates::worst(&comparisons);
    let (class, class_reasons) = class::class(plan, &cases);
    let mut analysis = Analysis {
        schema: ANALYSIS_SCHEMA.into(),
        campaign: plan.campaign.name.clone(),
        kind: plan.campaign.kind.name().into(),
        question: plan.campaign.question.clone(),
        plan_sha256: identity.plan_sha256.clone(),
        rows_sha256: identity.rows_sha256.clone(),
        answer: Answer::default(),
        verdict: verdict.unwrap_or(Verdict::Incomplete),
        gates: match plan.campaign.kind {
            Kind::Paired => gates::gates(&plan.campaign, &comparisons),
            // It has no candidate that could be worse.
            Kind::Table => Vec::new(),
        },
        family: family::family(
            &comparisons,
            design.margin,
            (plan.campaign.kind == Kind::Paired).then_some(design.pairs),
        ),
        calibration: design.aa.then(|| family::calibration(&comparisons)),
        estimates: cases
            .iter()
            .flat_map(|case| arms::estimates(plan, case))
            .collect(),
        comparisons,
        loads,
        passes,
        max_sustained: None,
        validity: validity::checks(plan, &cases, rows),
        limitations: limits::limitations(plan, &cases),
        class,
        class_reasons,
        conditions: conditions(plan, rows, identity),
    };
    say(plan, &mut analysis);
    analysis
}

/// The comparisons of all cases, adjusted for being many.
fn compare(plan: &Plan, cases: &[CaseRows<'_>], rows: &[TrialRecord]) -> Vec<Comparison> {
    let ended = &next(plan, rows);
    let mut comparisons: Vec<_> = cases
        .iter()
        .flat_map(|case| {
            let layout = paired::layout_sensitive(plan, case);
            let compared = case.compared().into_iter();
            compared.flat_map(move |two| paired::comparisons(plan, &two, ended, layout))
        })
        .collect();
    family::adjust(&mut comparisons);
    comparisons
}

/// Writes the sentences of an analysis: the statement of every comparison, and the answer over all.
fn say(plan: &Plan, analysis: &mut Analysis) {
    let design = &plan.campaign.design;
    let margin = design.margin;
    for comparison in &mut analysis.comparisons {
        // How far equal arms came out apart is what such a campaign is for.
        comparison.statement = if design.aa {
            answer::statement_of_equal_arms(comparison, margin)
        } else {
            answer::statement(comparison, margin)
        };
    }
    let answer = match plan.campaign.kind {
        Kind::Paired => answer::answer(
            &analysis.comparisons,
            &analysis.loads,
            &analysis.passes,
            margin,
        ),
        Kind::Table => answer::of_table(analysis),
    };
    analysis.answer = match &analysis.calibration {
        Some(calibration) => answer::of_equal_arms(answer, calibration, &analysis.comparisons),
        None => answer,
    };
}

/// A count or a time as a real number.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts and times of a campaign are below 2^53"
)]
pub(crate) fn float(value: u64) -> f64 {
    value as f64
}

/// Counts of several trials together; hostile ones end at the largest number.
fn summed(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

fn conditions(plan: &Plan, rows: &[TrialRecord], identity: &Identity) -> Conditions {
    let pairs = by_pair(rows);
    let done = pairs.values().filter(|rows| counts(rows)).count() as u64;
    let campaign = &plan.campaign;
    Conditions {
        version: plan.version.clone(),
        seed: plan.seed.to_string(),
        isolation: plan.isolation,
        arrangement: campaign.design.arrangement,
        topology: campaign.topology.kind.name().into(),
        host_class: identity.host_class.clone(),
        host: identity.host.clone(),
        margin: campaign.design.margin,
        primary: campaign.design.primary,
        pairs_planned: campaign.design.pairs,
        attempt: plan.attempts(),
        earlier_plans: plan.earlier_plans.clone(),
        sending: campaign.cases.iter().map(limits::sending).collect(),
        treatment: treatment::treatment(plan),
        pairs_total: plan.pairs.len() as u64,
        pairs_done: done,
        pairs_voided: pairs.len() as u64 - done,
        sender_cpus: plan.placement.senders.clone(),
        receiver_cpu: plan.placement.receiver,
        workload: campaign.workload(),
        arms: identities(plan),
        fail_on: campaign.design.fail_on,
        require_conclusion: campaign.design.require_conclusion,
    }
}

/// What is measured in each arm, in the order of the arms.
fn identities(plan: &Plan) -> Vec<ArmIdentity> {
    let arms = plan.campaign.arms.iter();
    arms.filter_map(|arm| {
        let identity = plan.identities.get(&arm.name)?;
        Some(ArmIdentity {
            arm: arm.name.clone(),
            identity: treatment::without_paths(identity),
        })
    })
    .collect()
}
