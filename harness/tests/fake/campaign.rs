//! A campaign for the fake host: its plan, its executables, its setting.

use std::path::{Path, PathBuf};

use wiretrial::campaign::overrides::Overrides;
use wiretrial::campaign::{plan as sealing, shipped};
use wiretrial::trial::setting::{Program, Programs, Setting};
use wiretrial_contract::control::Isolation;
use wiretrial_contract::plan::{Campaign, Placement, Plan, Seed};

/// Executables of the arms, in their order; more than a campaign has.
const RECEIVERS: [&str; 4] = ["b", "c", "d", "e"];

/// The demo with six pairs a case.
pub(crate) fn plan(set: &[&str]) -> Plan {
    let overrides = Overrides {
        set: set.iter().map(|text| (*text).to_owned()).collect(),
        pairs: Some(6),
        ..Overrides::default()
    };
    let campaign = shipped::load("demo", &overrides).unwrap();
    sealed(campaign)
}

/// The plan of a campaign, its executables named by what the fake host's children say.
pub(crate) fn sealed(campaign: Campaign) -> Plan {
    let fixed = [("harness".to_owned(), "h"), ("generator".to_owned(), "g")];
    let receivers = campaign.arms.iter().enumerate();
    let receivers = receivers.map(|(at, arm)| (format!("receiver/{}", arm.name), RECEIVERS[at]));
    let binaries = fixed
        .into_iter()
        .chain(receivers)
        .map(|(role, hash)| (role, hash.to_owned()))
        .collect();
    sealing::plan(sealing::Inputs {
        campaign,
        seed: Seed(0x5eed),
        earlier_plans: Vec::new(),
        ci_attempt: None,
        isolation: Isolation::Sandbox,
        placement: Placement {
            steering: None,
            receive_thread: None,
            senders: vec![0],
            receiver: Some(1),
        },
        floors: Vec::new(),
        identities: std::collections::BTreeMap::new(),
        origins: std::collections::BTreeMap::new(),
        binaries,
    })
}

/// Executables whose hash is their path, as the fake host's children say.
pub(crate) fn programs() -> Programs {
    let program = |name: &str| Program {
        path: PathBuf::from(name),
        sha256: name.to_owned(),
    };
    Programs {
        generator: Some(program("g")),
        receivers: RECEIVERS.map(program).into(),
        outside: vec![None; RECEIVERS.len()],
    }
}

/// What stays the same over a campaign.
pub(crate) fn setting<'a>(plan: &'a Plan, programs: &'a Programs) -> Setting<'a> {
    Setting {
        campaign: &plan.campaign,
        rule: &plan.rule,
        placement: &plan.placement,
        programs,
        interface: "lo",
        receive_thread: None,
        run_id: 7,
        seed: plan.seed.0,
        began_ns: 0,
        gone_ns: 0,
        raw: Path::new("raw"),
        allowed_targets: &[],
        inputs: &[],
    }
}
