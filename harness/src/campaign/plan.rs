//! The plan as it is sealed: campaign, order, rule and identities in one value.

use std::collections::{BTreeMap, BTreeSet};

use wiretrial_contract::control::Isolation;
use wiretrial_contract::digest::sha256;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::identity::Identity;
use wiretrial_contract::plan::{
    Campaign, Case, Design, Floor, Kind, Origin, PLAN_SCHEMA, Placement, Plan, Rule, Seed, Work,
    Workload,
};
use wiretrial_stats::bootstrap::RESAMPLES;
use wiretrial_stats::interval::{ALPHA_90, ALPHA_95};
use wiretrial_stats::loss::LIMIT_PER_THOUSAND;

use super::overrides::PAIRED_ARMS;
use super::{order, rules};

/// What a plan is made of.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// The campaign, every default filled in.
    pub campaign: Campaign,
    /// SHA-256 of earlier plans of the same question under the same evidence root, oldest first.
    pub earlier_plans: Vec<String>,
    /// The how-manyth attempt of its job a CI system says this is.
    pub ci_attempt: Option<u32>,
    /// The campaign's seed.
    pub seed: Seed,
    /// How trials are kept apart from the host.
    pub isolation: Isolation,
    /// SHA-256 of every executable, by role and arm.
    pub binaries: BTreeMap<String, String>,
    /// What is measured in each arm, by its name.
    pub identities: BTreeMap<String, Identity>,
    /// Where it comes from, by arm.
    pub origins: BTreeMap<String, Origin>,
    /// Where the processes run.
    pub placement: Placement,
    /// How far equal arms are known to come out apart here, at most one a case.
    pub floors: Vec<Floor>,
}

/// The plan, its pairs in the order that the seed gives.
#[must_use]
pub fn plan(inputs: Inputs) -> Plan {
    let earlier = u32::try_from(inputs.earlier_plans.len()).unwrap_or(u32::MAX);
    Plan {
        schema: PLAN_SCHEMA.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        question_sha256: question_sha256(&inputs.campaign),
        attempt: earlier.saturating_add(1),
        earlier_plans: inputs.earlier_plans,
        ci_attempt: inputs.ci_attempt,
        seed: inputs.seed,
        isolation: inputs.isolation,
        binaries: inputs.binaries,
        identities: inputs.identities,
        origins: inputs.origins,
        placement: inputs.placement,
        rule: rule(&inputs.campaign.design),
        floors: inputs.floors,
        pilot: Vec::new(),
        pairs: order::pairs(&inputs.campaign, inputs.seed.0),
        campaign: inputs.campaign,
    }
}

/// SHA-256 of the question: what is compared, at what work, where, and by which metric. Seeds,
/// executables, names, words, ports, guards and everything that says how long to look or what to make of
/// the answer are left out, so that changing them is another attempt and not another question.
///
/// # Panics
///
/// Never: a campaign holds nothing that JSON cannot.
#[must_use]
pub fn question_sha256(campaign: &Campaign) -> String {
    let (design, topology) = (&campaign.design, &campaign.topology);
    let mut works: Vec<Vec<u8>> = campaign.cases.iter().map(asked_of).collect();
    works.sort();
    let arm = |name: &String| campaign.arms.iter().position(|arm| arm.name == *name);
    let question = (
        campaign.kind,
        campaign.reference(),
        design.layout_control.as_ref().and_then(arm),
        (topology.kind, topology.family, topology.receive_cpu),
        design.primary,
        design.arrangement,
        design.aa,
        works.iter().map(|work| sha256(work)).collect::<Vec<_>>(),
    );
    sha256(&serde_json::to_vec(&question).expect("a campaign is plain values"))
}

/// What a case does, as bytes: its name is not part of it, nor where its file lies, nor when a trial
/// is given up.
fn asked_of(case: &Case) -> Vec<u8> {
    let mut work = case.work.clone();
    match &mut work {
        Work::Live(live) => {
            for receiver in &mut live.receivers {
                receiver.drain_limit_ns = 0;
            }
        }
        Work::Passes(passes) => {
            passes.limit_ns = 0;
            passes.input.iter_mut().for_each(|input| input.file.clear());
        }
    }
    serde_json::to_vec(&work).expect("a campaign is plain values")
}

/// CPU use of other programs under which trials count unless a campaign says otherwise, in CPUs.
pub const FOREIGN_CPU: f64 = 0.025;

/// The decision rule: the constants the judge decides by. All but the declared limit on other
/// programs is the same for every campaign: a rule chosen for the data at hand is no rule. A case
/// passes when at most 1 packet in 1000 is lost.
///
/// # Panics
///
/// Never: the number of resamples is a constant.
#[must_use]
pub fn rule(design: &Design) -> Rule {
    Rule {
        resamples: u32::try_from(RESAMPLES).expect("twenty thousand"),
        level_difference: 1.0 - ALPHA_95,
        level_equivalence: 1.0 - ALPHA_90,
        offered: [0.95, 1.05],
        pair_offered: 0.005,
        foreign_cpu: design.foreign_cpu,
        lost_per_thousand: LIMIT_PER_THOUSAND,
    }
}

/// Checks that a plan read back is one this build judges as it was sealed: its rule is the one the
/// judge decides by, and its order the one its seed draws.
///
/// # Errors
///
/// Exit 5, with what differs.
pub fn check(plan: &Plan) -> Result<(), Failure> {
    if plan.rule != rule(&plan.campaign.design) {
        return Err(Failure::mismatch(
            "the plan's decision rule is not the one this version decides by; judge it with the \
             version that sealed it",
        ));
    }
    let campaign = &plan.campaign;
    let names: Vec<&str> = campaign.arms.iter().map(|arm| arm.name.as_str()).collect();
    let arms = campaign.kind == Kind::Table || names == PAIRED_ARMS;
    let shaped = arms
        && campaign
            .cases
            .iter()
            .all(|case| case.arms() == campaign.arms.len());
    if !shaped {
        return Err(Failure::mismatch(
            "the plan's campaign does not have its arms in every case",
        ));
    }
    rules::check(campaign).map_err(|failure| {
        Failure::mismatch(format!("the plan's campaign is none: {}", failure.message))
    })?;
    if !plan.binaries.keys().eq(roles(campaign).iter()) {
        return Err(Failure::mismatch(
            "the plan does not name every executable once",
        ));
    }
    let asked = plan.earlier_plans.len();
    if plan.question_sha256 != question_sha256(campaign) || plan.attempt as usize != asked + 1 {
        return Err(Failure::mismatch(
            "the plan's question or attempt is not that of its campaign and earlier plans",
        ));
    }
    if order::pairs(&plan.campaign, plan.seed.0) != plan.pairs {
        return Err(Failure::mismatch(
            "the order of the pairs is not the one the plan's seed draws",
        ));
    }
    Ok(())
}

/// What runs in a campaign, by role.
fn roles(campaign: &Campaign) -> BTreeSet<String> {
    let mut roles = BTreeSet::from(["harness".to_owned()]);
    if campaign.workload() == Workload::Live {
        roles.insert("generator".into());
    }
    for (index, arm) in campaign.arms.iter().enumerate() {
        roles.insert(format!("receiver/{}", arm.name));
        if campaign
            .cases
            .iter()
            .any(|case| case.outside(index).is_some())
        {
            roles.insert(format!("program/{}", arm.name));
        }
    }
    roles
}

#[cfg(test)]
mod tests {
    use super::super::overrides::Overrides;
    use super::super::shipped;
    use super::*;
    use crate::trial::samples;
    use wiretrial_contract::control::ReceiveCpu;
    use wiretrial_contract::metric::Metric;
    use wiretrial_contract::plan::{Arrangement, FailOn, GateSpec, Need};

    fn inputs(seed: u64, earlier_plans: &[&str]) -> Inputs {
        Inputs {
            campaign: shipped::load("demo", &Overrides::default()).unwrap(),
            earlier_plans: earlier_plans.iter().map(ToString::to_string).collect(),
            ci_attempt: None,
            seed: Seed(seed),
            isolation: Isolation::Sandbox,
            binaries: BTreeMap::new(),
            identities: BTreeMap::new(),
            origins: BTreeMap::new(),
            placement: Placement {
                senders: vec![0],
                receiver: Some(1),
                steering: None,
                receive_thread: None,
            },
            floors: Vec::new(),
        }
    }

    #[test]
    fn the_question_does_not_depend_on_the_seed() {
        let (one, other) = (plan(inputs(1, &[])), plan(inputs(2, &["3f9a"])));
        assert_eq!(one.question_sha256, other.question_sha256);
        assert_ne!(one.pairs, other.pairs);
        assert_eq!((one.attempt, other.attempt), (1, 2));
    }

    type Change = fn(&mut Campaign);

    /// Whether a change to a campaign asks something else.
    fn asks_another(change: impl FnOnce(&mut Campaign)) -> bool {
        let before = samples::plan().campaign;
        let mut campaign = before.clone();
        change(&mut campaign);
        assert_ne!(campaign, before, "it changes something");
        question_sha256(&campaign) != question_sha256(&before)
    }

    #[test]
    fn how_long_and_under_which_name_one_asks_is_another_attempt() {
        let attempts: [(&str, Change); 18] = [
            ("port", |campaign| campaign.topology.port += 10),
            ("name", |campaign| campaign.name = "other".into()),
            ("question", |campaign| campaign.question = "Or not?".into()),
            ("case", |campaign| campaign.cases[0].name = "other".into()),
            ("pairs", |campaign| campaign.design.pairs += 2),
            ("margin", |campaign| campaign.design.margin = Some(0.5)),
            ("replacements", |campaign| {
                campaign.design.replacements += 1;
            }),
            ("rest", |campaign| campaign.design.rest_ns += 1),
            ("foreign-cpu", |campaign| campaign.design.foreign_cpu = 0.7),
            ("fail-on", |campaign| {
                campaign.design.fail_on = FailOn::Never;
            }),
            ("conclusion", |campaign| {
                campaign.design.require_conclusion ^= true;
            }),
            ("stable", |campaign| campaign.design.require_stable ^= true),
            ("pilot", |campaign| campaign.design.pilot += 1),
            ("budget", |campaign| campaign.design.budget_ns = Some(7)),
            ("time", |campaign| campaign.design.time_ns = Some(7)),
            ("arm", |campaign| campaign.arms[1].name = "other".into()),
            ("drain", |campaign| match &mut campaign.cases[0].work {
                Work::Live(live) => live.receivers[1].drain_limit_ns += 1,
                Work::Passes(passes) => passes.limit_ns += 1,
            }),
            ("gates", |campaign| {
                campaign.gates.push(GateSpec {
                    name: "gate".into(),
                    need: Need::All,
                    conditions: Vec::new(),
                });
            }),
        ];
        for (name, change) in attempts {
            assert!(!asks_another(change), "{name}");
        }
        let mut two = samples::plan().campaign;
        two.cases.push(two.cases[0].clone());
        samples::live_mut(&mut two.cases[1]).traffic.rate_pps += 1;
        let before = question_sha256(&two);
        two.cases.reverse();
        assert_eq!(question_sha256(&two), before, "cases in another order");
        two.cases.pop();
        assert_ne!(question_sha256(&two), before, "one case less");
    }

    #[test]
    fn another_setting_or_load_or_metric_is_another_question() {
        let questions: [(&str, Change); 7] = [
            ("candidate", |campaign| {
                samples::capture_mut(&mut campaign.cases[0], 1).immediate ^= true;
            }),
            ("baseline", |campaign| {
                samples::capture_mut(&mut campaign.cases[0], 0).immediate ^= true;
            }),
            ("rate", |campaign| {
                samples::live_mut(&mut campaign.cases[0]).traffic.rate_pps += 1;
            }),
            ("aa", |campaign| campaign.design.aa ^= true),
            ("primary", |campaign| {
                campaign.design.primary = Metric::PeakRssBytes;
            }),
            ("arrangement", |campaign| {
                campaign.design.arrangement = match campaign.design.arrangement {
                    Arrangement::Interleaved => Arrangement::Sequential,
                    Arrangement::Sequential => Arrangement::Interleaved,
                };
            }),
            ("receive-cpu", |campaign| {
                campaign.topology.receive_cpu = match campaign.topology.receive_cpu {
                    ReceiveCpu::Sender => ReceiveCpu::Separate,
                    ReceiveCpu::Separate => ReceiveCpu::Sender,
                };
            }),
        ];
        for (name, change) in questions {
            assert!(asks_another(change), "{name}");
        }
    }

    #[test]
    fn a_file_is_the_same_wherever_it_lies() {
        let mut campaign = samples::passes_plan().campaign;
        let before = question_sha256(&campaign);
        let passes = samples::passes_mut(&mut campaign.cases[0]);
        passes.limit_ns += 1;
        let input = passes.input.as_mut().unwrap();
        input.file = "elsewhere.pcap".into();
        assert_eq!(question_sha256(&campaign), before);
        let passes = samples::passes_mut(&mut campaign.cases[0]);
        passes.input.as_mut().unwrap().sha256 = "00".into();
        assert_ne!(question_sha256(&campaign), before);
    }

    #[test]
    fn the_same_inputs_seal_the_same_bytes() {
        let bytes = |inputs| serde_json::to_vec(&plan(inputs)).unwrap();
        assert_eq!(bytes(inputs(1, &[])), bytes(inputs(1, &[])));
    }
}
