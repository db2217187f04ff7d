//! Plain values for tests: one arm of the demo's first case, nothing lost.

use std::collections::BTreeMap;

use crate::campaign::plan::FOREIGN_CPU;
use wiretrial_contract::clock::ClockPair;
use wiretrial_contract::control::{
    CaptureSettings, Engine, GroupName, Isolation, PassInput, ReceiveCpu, SendMethod, TopologyKind,
    TrialIdentity,
};
use wiretrial_contract::metric::Metric;
use wiretrial_contract::plan::{
    ArmSpec, Arrangement, Campaign, Case, Design, FailOn, Input, Kind, LaunchOrder, Live, Measured,
    PLAN_SCHEMA, PassProgram, Passes, Placement, Plan, ReceiverSpec, Rule, Seed, Topology, Traffic,
    UnitsRule, Work,
};
use wiretrial_contract::program::Counts;
use wiretrial_contract::record::{
    Delivery, Flag, HostWindow, Ledger, Outcome, Phase, TRIAL_SCHEMA, TrialRecord,
};
use wiretrial_contract::report::{
    Copies, CountReport, CpuClock, GeneratorReport, GroupTally, PassReport, PcapCounters,
    ProgramEnd, Quantiles, ReceiverReport, Residence,
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
        instructions: None,
        start_up_cpu_ns: 1_000_000,
        owed_at_stop: Some(0),
        drain_ns: 0,
        residence: vec![Residence::default(); 20],
        first_ns: Some(1),
        last_ns: Some(3_000_000_000),
        peak_rss_bytes: Some(4 << 20),
        voluntary_switches: Some(100),
        involuntary_switches: Some(0),
        minor_faults: Some(2),
        major_faults: Some(0),
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
        series: Vec::new(),
    }
}

/// A program of the user's that says nothing.
pub(crate) fn count() -> CountReport {
    CountReport {
        counts: Counts::default(),
        process_cpu_ns: Some(3_000_000),
        cpu_clock: CpuClock::Process,
        start_up_cpu_ns: Some(1_000_000),
        peak_rss_bytes: Some(4 << 20),
        end: ProgramEnd::default(),
        drain_ns: 0,
        clock_at_armed: receiver().clock_at_armed,
        clock_at_end: receiver().clock_at_end,
        sink_dropped: None,
        series: Vec::new(),
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

/// The passes of a case, to change them.
pub(crate) fn passes_mut(case: &mut Case) -> &mut Passes {
    match &mut case.work {
        Work::Passes(passes) => passes,
        Work::Live(_) => panic!("the sample's cases are passes"),
    }
}

/// Two passes over a file of 1,000,100 packets.
pub(crate) fn file_passes() -> Passes {
    Passes {
        input: Some(Input {
            file: "mix.pcap".into(),
            sha256: "4be1".repeat(16),
            units: 1_000_100,
            short_units: 100,
            short_sha256: "77aa".repeat(16),
        }),
        passes: 2,
        units: UnitsRule::All,
        limit_ns: 60_000_000_000,
        programs: vec![PassProgram::RawFold, PassProgram::RawFold],
    }
}

/// A pass that did the sample's work.
pub(crate) fn pass(input: PassInput, elapsed_ns: u64, cpu_ns: u64) -> PassReport {
    let (units, checksum) = match input {
        PassInput::Whole => (1_000_100, "w"),
        PassInput::Short => (100, "s"),
    };
    PassReport {
        input,
        elapsed_ns,
        cpu_ns,
        units: Some(units),
        bytes: None,
        errors: Some(0),
        checksum: Some(checksum.into()),
        peak_rss_bytes: Some(4 << 20),
        instructions: None,
        program_sha256: "aa".into(),
        left_processes: false,
    }
}

/// The passes of one trial: 20 ns of CPU a packet, 4 ms of it to start.
pub(crate) fn passes() -> Vec<PassReport> {
    vec![
        pass(PassInput::Short, 5_000_000, 4_000_000),
        pass(PassInput::Whole, 30_000_000, 22_000_000),
        pass(PassInput::Whole, 34_000_000, 26_000_000),
    ]
}

/// The row of such a trial.
pub(crate) fn passes_row(pair: u64, arm: &str, passes: Vec<PassReport>) -> TrialRecord {
    TrialRecord {
        case: "mix".into(),
        arm: arm.into(),
        intended_pps: None,
        generator_sha256: None,
        delivery: Some(Delivery::Passes(passes)),
        ledger: None,
        flags: Vec::new(),
        ..row(pair)
    }
}

/// A sealed plan of such trials.
pub(crate) fn passes_plan() -> Plan {
    let mut plan = plan();
    let campaign = &mut plan.campaign;
    campaign.design.primary = Metric::ProcessCpuNsPerPacket;
    campaign.cases = vec![Case {
        name: "mix".into(),
        work: Work::Passes(file_passes()),
    }];
    plan.pairs = crate::campaign::order::pairs(&plan.campaign, plan.seed.0);
    plan
}

/// The row of a program of the user's in place of the receiver: 2.4 ms of CPU, what it processed in
/// its life, and its ledger with fewest and most lost, if it tells enough for one.
pub(crate) fn outside(
    row: TrialRecord,
    processed: Option<u64>,
    lost: Option<(u64, u64)>,
) -> TrialRecord {
    let clock = receiver().clock_at_armed;
    let report = CountReport {
        counts: Counts {
            processed,
            ..Counts::default()
        },
        process_cpu_ns: Some(2_400_000),
        cpu_clock: CpuClock::Process,
        start_up_cpu_ns: Some(1_000_000),
        peak_rss_bytes: Some(1 << 20),
        end: ProgramEnd::default(),
        drain_ns: 0,
        clock_at_armed: clock,
        clock_at_end: clock,
        sink_dropped: None,
        series: Vec::new(),
    };
    let ledger = row.ledger.clone().zip(lost);
    TrialRecord {
        delivery: Some(Delivery::Count(Box::new(report))),
        ledger: ledger.map(|(ledger, (least, most))| Ledger {
            unique: ledger.accepted - most,
            lost: i64::try_from(most).unwrap(),
            lost_least: Some(least),
            ring_tail: Some(if processed.is_some() { 5 } else { 0 }),
            ..ledger
        }),
        ..row
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
            reference: None,
            layout_control: None,
            replacements: 2,
            rest_ns: 0,
            foreign_cpu: FOREIGN_CPU,
            fail_on: FailOn::default(),
            require_conclusion: false,
            require_stable: false,
            pilot: 0,
            budget_ns: None,
            time_ns: None,
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
        floors: Vec::new(),
        pilot: Vec::new(),
        ci_attempt: None,
        seed,
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
    }
}
