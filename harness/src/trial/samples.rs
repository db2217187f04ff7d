//! Plain values for tests: one arm of the demo's first case, nothing lost.

use std::collections::BTreeMap;

use crate::campaign::plan::FOREIGN_CPU;
use wiretrial_contract::clock::ClockPair;
use wiretrial_contract::control::{
    CaptureSettings, Engine, GroupName, Isolation, ReceiveCpu, SendMethod, TopologyKind,
    TrialIdentity,
};
use wiretrial_contract::metric::Metric;
use wiretrial_contract::plan::{
    ArmSpec, Arrangement, Campaign, Case, Design, FailOn, Kind, LaunchOrder, Live, Measured,
    PLAN_SCHEMA, Placement, Plan, ReceiverSpec, Rule, Seed, Topology, Traffic, Work,
};
use wiretrial_contract::record::{
    Delivery, Flag, HostWindow, Outcome, Phase, TRIAL_SCHEMA, TrialRecord,
};
use wiretrial_contract::report::{
    Copies, GeneratorReport, GroupTally, PcapCounters, Quantiles, ReceiverReport, Residence,
};
use wiretrial_contract::units::Family;

pub(crate) fn traffic() -> Traffic {
    Traffic {
        rate_pps: 20_000,
        frame_size: 64,
        duration_ns: 1_000_000_000,
        warm_up_ns: 200_000_000,
        slice_ns: 50_000_000,
        flows: 1,
        senders: 1,
        method: SendMethod::Sendmmsg,
        batch: 1,
        max_burst: 20,
    }
}

pub(crate) fn rule() -> Rule {
    plan().rule
}

pub(crate) fn spec() -> ReceiverSpec {
    ReceiverSpec {
        program: Measured::BuiltIn {
            capture: CaptureSettings {
                buffer_bytes: 16 << 20,
                immediate: false,
                timeout_ns: 10_000_000,
                snaplen: 96,
                promiscuous: false,
            },
            engine: Engine::Direct,
        },
        drain_limit_ns: 2_000_000_000,
    }
}

pub(crate) fn tally() -> GroupTally {
    GroupTally {
        name: GroupName::Arm("baseline".into()),
        planned: 20_000,
        attempted: 20_000,
        accepted: 20_000,
        accepted_per_flow: vec![20_000],
        warm_up_accepted: 4_000,
        probe_accepted: 16,
        filler_accepted: 0,
        receive_cpu_ns: None,
        errors: BTreeMap::new(),
        send_calls: 20_000,
        short_calls: 0,
        stalled_calls: 0,
        stalled_ns: 0,
        send_call_ns: 60_000_000,
        sending_ns: 1_000_000_000,
        slices: 20,
        first_ns: Some(1),
        last_ns: Some(3_000_000_000),
        lateness: Quantiles::default(),
    }
}

pub(crate) fn receiver() -> ReceiverReport {
    ReceiverReport {
        copies: Copies {
            unique: 20_000,
            warm_up: 4_000,
            ..Copies::default()
        },
        unique_per_flow: vec![20_000],
        reordered: 0,
        late: 0,
        truncated: 0,
        pcap: Some(PcapCounters {
            received: 24_000,
            dropped: 0,
            interface_dropped: None,
        }),
        dispatches: 100,
        process_cpu_ns: Some(3_000_000),
        start_up_cpu_ns: 1_000_000,
        owed_at_stop: Some(0),
        drain_ns: 0,
        residence: vec![Residence::default(); 20],
        first_ns: Some(1),
        last_ns: Some(3_000_000_000),
        peak_rss_bytes: Some(4 << 20),
        voluntary_switches: Some(100),
        involuntary_switches: Some(0),
        clock_at_armed: ClockPair {
            offset_ns: 1,
            error_ns: 50,
        },
        clock_at_end: ClockPair {
            offset_ns: 1,
            error_ns: 50,
        },
        sink_dropped: None,
        latency: None,
        heap_bytes: None,
    }
}

/// A row of pair `pair` as the baseline of the demo's first case.
pub(crate) fn row(pair: u64) -> TrialRecord {
    let ledger = super::ledger::of_trial(
        TopologyKind::Loopback,
        "lo",
        &tally(),
        &receiver(),
        &HostWindow::default(),
    );
    TrialRecord {
        schema: TRIAL_SCHEMA.into(),
        prev: String::new(),
        row: 0,
        phase: Phase::Confirm,
        case: "20k".into(),
        arm: "baseline".into(),
        pair,
        replaces: None,
        order: LaunchOrder::BaselineFirst,
        identity: TrialIdentity {
            run_id: 1,
            trial: 1,
            nonce: 1,
        },
        outcome: Outcome::Ok,
        started_ns: 0,
        ended_ns: 1,
        intended_pps: Some(20_000),
        receiver_sha256: Some("aa".into()),
        program_sha256: Some("aa".into()),
        generator_sha256: Some("bb".into()),
        ready: None,
        generator: None,
        delivery: Some(Delivery::Sequences(Box::new(receiver()))),
        host: Some(HostWindow {
            foreign_cpu_ns: Some(0),
            ..HostWindow::default()
        }),
        ledger: Some(ledger),
        guards: Vec::new(),
        flags: vec![Flag::Coupled],
    }
}

/// A generator's report with these groups.
pub(crate) fn generator(groups: Vec<GroupTally>) -> GeneratorReport {
    GeneratorReport {
        method: SendMethod::Sendmmsg,
        batch: 1,
        senders: 1,
        cpus: vec![vec![0]],
        scheduled_ns: 3_600_000_000,
        shifted_ns: 0,
        longest_burst: 1,
        busy_share: 0.5,
        process_cpu_ns: 1_000_000_000,
        involuntary_switches: None,
        groups,
    }
}

/// The live work of a case, to change it.
pub(crate) fn live_mut(case: &mut Case) -> &mut Live {
    match &mut case.work {
        Work::Live(live) => live,
        Work::Passes(_) => panic!("the sample's cases are live"),
    }
}

/// The capture settings of one arm of a case, to change them.
pub(crate) fn capture_mut(case: &mut Case, arm: usize) -> &mut CaptureSettings {
    match &mut live_mut(case).receivers[arm].program {
        Measured::BuiltIn { capture, .. } => capture,
        Measured::Outside(_) => panic!("the sample's receivers are built in"),
    }
}

/// A sealed plan with the demo's first case and six pairs.
pub(crate) fn plan() -> Plan {
    let case = Case {
        name: "20k".into(),
        work: Work::Live(Live {
            traffic: traffic(),
            receivers: vec![spec(), spec()],
        }),
    };
    let campaign = Campaign {
        name: "sample".into(),
        kind: Kind::Paired,
        question: "Does it hold?".into(),
        design: Design {
            pairs: 6,
            margin: Some(0.03),
            primary: Metric::CaptureCostNsPerPacket,
            arrangement: Arrangement::Interleaved,
            aa: true,
            replacements: 2,
            rest_ns: 0,
            foreign_cpu: FOREIGN_CPU,
            fail_on: FailOn::default(),
            require_conclusion: false,
        },
        topology: Topology {
            kind: TopologyKind::Loopback,
            receive_cpu: ReceiveCpu::Sender,
            family: Family::Ipv4,
            port: 39053,
        },
        arms: ["baseline", "candidate"]
            .map(|name| ArmSpec { name: name.into() })
            .to_vec(),
        cases: vec![case],
        gates: Vec::new(),
    };
    let seed = Seed(0x5eed);
    Plan {
        schema: PLAN_SCHEMA.into(),
        version: "0.1.0".into(),
        pairs: crate::campaign::order::pairs(&campaign, seed.0),
        rule: crate::campaign::plan::rule(&campaign.design),
        campaign,
        question_sha256: "aa".into(),
        attempt: 1,
        earlier_plans: Vec::new(),
        seed,
        isolation: Isolation::Sandbox,
        binaries: BTreeMap::new(),
        identities: BTreeMap::new(),
        placement: Placement {
            senders: vec![0],
            receiver: Some(1),
            steering: None,
            receive_thread: None,
        },
    }
}
