//! A campaign for the fake host: its plan, its executables, its setting.

use std::path::{Path, PathBuf};

use wiretrial::campaign::overrides::Overrides;
use wiretrial::campaign::{plan as sealing, shipped};
use wiretrial::trial::setting::{Program, Programs, Setting};
use wiretrial_contract::control::Isolation;
use wiretrial_contract::plan::{Placement, Plan, Seed};

/// The demo with six pairs a case.
pub(crate) fn plan(set: &[&str]) -> Plan {
    let overrides = Overrides {
        set: set.iter().map(|text| (*text).to_owned()).collect(),
        pairs: Some(6),
        ..Overrides::default()
    };
    let campaign = shipped::load("demo", &overrides).unwrap();
    let binaries = [
        ("harness", "h"),
        ("generator", "g"),
        ("receiver/baseline", "b"),
        ("receiver/candidate", "c"),
    ];
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
        binaries: binaries
            .map(|(role, hash)| (role.to_owned(), hash.to_owned()))
            .into(),
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
        receivers: vec![program("b"), program("c")],
        outside: vec![None, None],
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
