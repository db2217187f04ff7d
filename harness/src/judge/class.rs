//! How far the evidence carries.

use wiretrial_contract::analysis::EvidenceClass;
use wiretrial_contract::plan::Plan;
use wiretrial_contract::record::Flag;
use wiretrial_reports::number;

use super::CaseRows;
use super::limits::foreign_unknown;
use crate::campaign::plan::FOREIGN_CPU;
use crate::campaign::slices::ENOUGH;

/// Pairs below which evidence only suggests.
const CONFIRMATORY_PAIRS: u32 = 10;
/// Packets a trial below which evidence only shows that the parts work.
const SMOKE_PACKETS: u64 = 10_000;

/// How far the evidence carries, and why not further.
pub(super) fn class(plan: &Plan, cases: &[CaseRows<'_>]) -> (EvidenceClass, Vec<String>) {
    let mut class = EvidenceClass::Confirmatory;
    let mut reasons = Vec::new();
    let mut lower = |to: EvidenceClass, reason: String| {
        class = class.min(to);
        reasons.push(reason);
    };
    let pairs = plan.campaign.design.pairs;
    if pairs < CONFIRMATORY_PAIRS {
        lower(
            EvidenceClass::Exploratory,
            format!("{pairs} pairs, {CONFIRMATORY_PAIRS} needed"),
        );
    }
    if cases.iter().any(|case| case.pairs.len() < pairs as usize) {
        lower(
            EvidenceClass::Exploratory,
            "not every planned pair counts".into(),
        );
    }
    let seen: usize = cases.iter().map(CaseRows::ended_after_a_member).sum();
    if seen > 0 {
        lower(
            EvidenceClass::Exploratory,
            format!("pairs ended by a signal with a member measured: {seen}"),
        );
    }
    if plan.rule.foreign_cpu > FOREIGN_CPU {
        let limit = number::margin(plan.rule.foreign_cpu);
        lower(
            EvidenceClass::Exploratory,
            format!("other programs allowed {limit} of a CPU"),
        );
    }
    let flagged = |flag| {
        cases
            .iter()
            .flat_map(CaseRows::counted)
            .any(|r| r.flags.contains(&flag))
    };
    if flagged(Flag::FewSlices) {
        lower(
            EvidenceClass::Exploratory,
            format!("fewer than {ENOUGH} slices an arm"),
        );
    }
    if cases
        .iter()
        .flat_map(CaseRows::counted)
        .any(foreign_unknown)
    {
        lower(
            EvidenceClass::Exploratory,
            "load of other programs not known".into(),
        );
    }
    for arm in &plan.campaign.arms {
        let identity = plan.identities.get(&arm.name);
        if identity.is_some_and(|identity| identity.dirty_sha256.is_some()) {
            lower(
                EvidenceClass::Exploratory,
                format!("uncommitted changes in {}", arm.name),
            );
        }
    }
    let planned = |case: &CaseRows<'_>| {
        if let Some(passes) = case.case.passes() {
            // Of a command nobody knows what a unit is.
            let units = passes.input.as_ref()?.units;
            return Some(u128::from(units) * u128::from(passes.passes));
        }
        let traffic = &case.case.live()?.traffic;
        Some(u128::from(traffic.rate_pps) * u128::from(traffic.duration_ns) / 1_000_000_000)
    };
    if let Some(few) = cases
        .iter()
        .filter_map(planned)
        .min()
        .filter(|n| *n < u128::from(SMOKE_PACKETS))
    {
        lower(
            EvidenceClass::Smoke,
            format!("{few} packets a trial, {SMOKE_PACKETS} needed"),
        );
    }
    if flagged(Flag::PlacementFree) {
        lower(
            EvidenceClass::Smoke,
            "processes not kept on CPUs of their own".into(),
        );
    }
    (class, reasons)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::samples;
    use wiretrial_contract::identity::Identity;
    use wiretrial_contract::record::{Guard, GuardName, Outcome, TrialRecord};

    #[test]
    fn the_class_falls_with_what_is_missing() {
        let mut plan = samples::plan();
        plan.campaign.design.pairs = 10;
        let row = samples::row(0);
        let class_of = |plan: &Plan, row: &TrialRecord, pairs: usize| {
            let case = CaseRows::of_pairs(&plan.campaign.cases[0], vec![[row, row]; pairs]);
            class(plan, &[case]).0
        };
        assert_eq!(class_of(&plan, &row, 10), EvidenceClass::Confirmatory);
        assert_eq!(class_of(&plan, &row, 9), EvidenceClass::Exploratory);
        let mut few = row.clone();
        few.flags.push(Flag::FewSlices);
        assert_eq!(class_of(&plan, &few, 10), EvidenceClass::Exploratory);
        let mut free = row.clone();
        free.flags.push(Flag::PlacementFree);
        assert_eq!(class_of(&plan, &free, 10), EvidenceClass::Smoke);
        let mut dirty = plan.clone();
        let identity = Identity {
            dirty_sha256: Some("cc".into()),
            ..Identity::default()
        };
        dirty.identities.insert("candidate".into(), identity);
        assert_eq!(class_of(&dirty, &row, 10), EvidenceClass::Exploratory);
        let mut loud = plan.clone();
        loud.rule.foreign_cpu = 0.5;
        assert_eq!(class_of(&loud, &row, 10), EvidenceClass::Exploratory);
        let cut = |measured: bool| {
            let member = |arm: &str, outcome, passed| TrialRecord {
                arm: arm.into(),
                outcome,
                guards: vec![Guard {
                    name: GuardName::Interrupted,
                    passed,
                    saw: String::new(),
                }],
                ..row.clone()
            };
            let first = if measured {
                Outcome::Ok
            } else {
                Outcome::Voided
            };
            let rows = [
                member("baseline", first, measured),
                member("candidate", Outcome::Voided, false),
            ];
            let mut case = CaseRows::of_pairs(&plan.campaign.cases[0], vec![[&row, &row]; 10]);
            case.all = rows.iter().collect();
            class(&plan, &[case]).0
        };
        assert_eq!(cut(false), EvidenceClass::Confirmatory);
        assert_eq!(cut(true), EvidenceClass::Exploratory);
        let mut small = plan;
        samples::live_mut(&mut small.campaign.cases[0])
            .traffic
            .duration_ns = 400_000_000;
        assert_eq!(class_of(&small, &row, 10), EvidenceClass::Smoke);
    }

    #[test]
    fn passes_are_smoke_below_ten_thousand_packets_a_trial() {
        let mut plan = samples::passes_plan();
        plan.campaign.design.pairs = 10;
        let row = samples::passes_row(0, "baseline", samples::passes());
        let class_of = |plan: &Plan| {
            let case = CaseRows::of_pairs(&plan.campaign.cases[0], vec![[&row, &row]; 10]);
            class(plan, &[case])
        };
        let passes = |plan: &mut Plan, units| {
            let work = samples::passes_mut(&mut plan.campaign.cases[0]);
            work.passes = 2;
            work.input.as_mut().unwrap().units = units;
        };
        passes(&mut plan, 5_000);
        assert_eq!(
            class_of(&plan).0,
            EvidenceClass::Confirmatory,
            "{:?}",
            class_of(&plan).1
        );
        passes(&mut plan, 4_999);
        assert_eq!(
            class_of(&plan),
            (
                EvidenceClass::Smoke,
                vec!["9998 packets a trial, 10000 needed".into()]
            )
        );
        samples::passes_mut(&mut plan.campaign.cases[0]).input = None;
        assert_eq!(class_of(&plan).0, EvidenceClass::Confirmatory);
    }
}
