//! Analyses for the golden tests: the shipped demo and its unhappy relatives.

use std::collections::BTreeMap;

use wiretrial_contract::analysis::{
    ANALYSIS_SCHEMA, Analysis, Answer, ArmIdentity, Check, Comparison, Conditions, EvidenceClass,
    Gate, GateCase, Interval, Limitation, Load, LoadReason, LoadVerdict, PassSummary, Reason,
    Verdict, WorkProof,
};
use wiretrial_contract::control::Isolation;
use wiretrial_contract::identity::Identity;
use wiretrial_contract::metric::Metric;
use wiretrial_contract::plan::{Arrangement, FailOn, Workload};
use wiretrial_contract::record::{Flag, Share, Stage};
use wiretrial_reports::answer::{answer, statement};
use wiretrial_reports::screen::Session;

/// A primary comparison with means, change and 95 % decision interval in percent. The 90 % interval
/// is taken 10 % narrower at each end.
pub(crate) fn effect(
    case: &str,
    means: [f64; 2],
    interval_percent: [f64; 2],
    verdict: Verdict,
) -> Comparison {
    let ratio = means[1] / means[0];
    let [lo, hi] = interval_percent.map(|percent| 1.0 + percent / 100.0);
    let inner = (hi - lo) / 20.0;
    let interval = Interval {
        lo95: Some(lo),
        hi95: Some(hi),
        lo90: Some(lo + inner),
        hi90: Some(hi - inner),
    };
    let spread = |mean: f64, at: u32| mean * (1.0 + (f64::from(at % 4) - 1.5) * 0.002);
    Comparison {
        primary: true,
        pairs: 12,
        values: (0..12)
            .map(|at| means.map(|mean| spread(mean, at)))
            .collect(),
        mean_baseline: Some(means[0]),
        mean_candidate: Some(means[1]),
        ratio: Some(ratio),
        change: Some(ratio - 1.0),
        percentile: interval,
        decision: interval,
        expanded: interval,
        delta_t: interval,
        verdict: Some(verdict),
        ..Comparison::empty(case, Metric::CaptureCostNsPerPacket)
    }
}

/// The same case on a metric that does not decide.
pub(crate) fn information(of: &Comparison, metric: Metric, means: [f64; 2]) -> Comparison {
    let mut other = effect(&of.case, means, [-0.5, 0.5], Verdict::Equivalent);
    let ratio = means[1] / means[0];
    other.decision = Interval {
        lo95: Some(ratio * 0.99),
        hi95: Some(ratio * 1.01),
        lo90: Some(ratio * 0.992),
        hi90: Some(ratio * 1.008),
    };
    other.percentile = other.decision;
    other.metric = metric;
    other.unit = metric.unit().into();
    other.primary = false;
    other.verdict = None;
    other
}

/// A clean load of `accepted` packets with the Clopper-Pearson bound of nothing lost.
pub(crate) fn load(case: &str, arm: &str, pps: u32, accepted: u32) -> Load {
    let bound = 1.0 - 0.05_f64.powf(1.0 / f64::from(accepted));
    let worst = 1.0 - 0.05_f64.powf(12.0 / f64::from(accepted));
    Load {
        case: case.into(),
        arm: arm.into(),
        repeats: 12,
        intended_pps: pps.into(),
        offered_pps: Some(f64::from(pps) - 0.4),
        delivered_pps: None,
        accepted: accepted.into(),
        unique: accepted.into(),
        lost: 0,
        lost_least: None,
        ring_tail: None,
        loss_ratio: Some(0.0),
        loss_upper95: Some(bound),
        worst_upper95: Some(worst),
        rule_ok: Some(true),
        lost_at: BTreeMap::from([
            (Stage::Backlog, Some(Share::Count(0))),
            (Stage::Ring, Some(Share::Count(0))),
        ]),
        unexplained: 0,
        duplicate: Some(0),
        reordered: Some(0),
        foreign: Some(0),
        bounds: Vec::new(),
        verdict: LoadVerdict::Pass,
        reasons: Vec::new(),
        flags: vec![Flag::Coupled],
    }
}

/// Both arms of a case at `pps`, 12 trials of a second.
pub(crate) fn loads(case: &str, pps: u32) -> [Load; 2] {
    ["baseline", "candidate"].map(|arm| load(case, arm, pps, pps * 12))
}

/// An analysis of these comparisons and loads with a margin of 3 %.
pub(crate) fn analysis(comparisons: Vec<Comparison>, loads: Vec<Load>) -> Analysis {
    let cases = comparisons.iter().filter(|one| one.primary).count() as u64;
    let mut analysis = Analysis {
        schema: ANALYSIS_SCHEMA.into(),
        campaign: "demo".into(),
        kind: "paired".into(),
        question: "Does a buffered ring cost less per packet than immediate mode?".into(),
        plan_sha256: "3f9a1c07".repeat(8),
        rows_sha256: "0a1b2c3d".repeat(8),
        answer: Answer::default(),
        verdict: Verdict::Inconclusive,
        gates: vec![Gate {
            name: "no_regression".into(),
            passed: true,
            reason: "no case shown worse by more than 3 %".into(),
            cases: Vec::new(),
        }],
        estimates: Vec::new(),
        comparisons,
        family: None,
        calibration: None,
        loads,
        passes: Vec::new(),
        max_sustained: None,
        validity: vec![
            check("accepted = unique + lost", "1,680,000", "1,680,000 + 0"),
            check(
                "ps_recv = delivered + ps_drop",
                "1,704,320",
                "1,704,320 + 0",
            ),
            check("offered within 0.5 % of each other", "0.02 %", "0.5 %"),
        ],
        limitations: vec![
            limit("coupled", "lo: the sender does the kernel's receive work"),
            limit("one_host", "one host"),
            limit("one_frame_size", "64-byte frames"),
            limit("no_aa_floor", "no A/A floor"),
        ],
        class: EvidenceClass::Confirmatory,
        class_reasons: Vec::new(),
        conditions: Conditions {
            version: "0.1.0".into(),
            seed: "0x5eed5eed5eed5eed".into(),
            isolation: Isolation::Sandbox,
            arrangement: Arrangement::Interleaved,
            topology: "loopback".into(),
            host_class: "7c1e".into(),
            host: "EPYC 7B13, 2 CPUs, kvm, 6.18, sandbox".into(),
            margin: Some(0.03),
            primary: Metric::CaptureCostNsPerPacket,
            pairs_planned: 12,
            attempt: 1,
            earlier_plans: Vec::new(),
            sending: vec!["20k: sendmmsg, batch 1, 1 sender".into()],
            treatment: vec!["receiver.immediate: true -> false".into()],
            pairs_total: cases * 12,
            pairs_done: cases * 12,
            pairs_voided: 0,
            sender_cpus: vec![0],
            receiver_cpu: Some(1),
            workload: Workload::Live,
            arms: Vec::new(),
            fail_on: FailOn::RegressedWorthwhile,
            require_conclusion: false,
        },
    };
    analysis.gates[0].cases = in_cases(&analysis);
    judge(&mut analysis);
    analysis
}

/// The implicit gate in each case, as the judge has it.
fn in_cases(analysis: &Analysis) -> Vec<GateCase> {
    analysis
        .comparisons
        .iter()
        .filter(|comparison| comparison.primary)
        .map(|comparison| {
            let (passed, reason) = match comparison.verdict {
                Some(Verdict::RegressedWorthwhile) => (false, "worse by more than 3 %"),
                Some(Verdict::Invalid | Verdict::NotComparable) => (false, "not judged"),
                Some(Verdict::Inconclusive) => (true, "not decided (spans_no_difference)"),
                _ => (true, "not shown worse"),
            };
            GateCase {
                case: comparison.case.clone(),
                passed,
                reason: reason.into(),
            }
        })
        .collect()
}

/// A comparison on another metric than the default.
fn on(metric: Metric, comparison: Comparison) -> Comparison {
    Comparison {
        metric,
        unit: metric.unit().into(),
        direction: metric.direction(),
        ..comparison
    }
}

fn pass_work(case: &str, arm: &str, cpu_ns: f64, proof: WorkProof) -> PassSummary {
    PassSummary {
        case: case.into(),
        arm: arm.into(),
        passes: 120,
        units: Some(1_000_000),
        checksum: (proof == WorkProof::Checksum).then(|| "9f86d081884c7d659a2feaa0c55ad015".into()),
        elapsed_ns: Some(cpu_ns * 1.02),
        cpu_ns: Some(cpu_ns),
        start_up_cpu_ns: Some(2_650_000.0),
        start_up_share: Some(2_650_000.0 / cpu_ns),
        left_processes: 0,
        proof,
    }
}

fn arm(name: &str, commit: &str, sha: &str, dirty: bool) -> ArmIdentity {
    ArmIdentity {
        arm: name.into(),
        identity: Identity {
            sha256: sha.repeat(16),
            build_id: Some(sha.repeat(10)),
            commit: Some(commit.repeat(10)),
            dirty_sha256: dirty.then(|| "d1d2".repeat(16)),
            compiler: Some("GCC: (Debian 14.2.0-19) 14.2.0".into()),
            build: vec![
                vec!["./configure".into(), "--prefix=../out".into()],
                vec!["make".into(), "-j2".into()],
            ],
        },
    }
}

/// Two revisions of an outside program that read a file: one case worse, one the same.
pub(crate) fn file() -> Analysis {
    let metric = Metric::ProcessCpuNsPerPacket;
    let mut comparisons = Vec::new();
    for (case, means, interval, verdict) in [
        (
            "mix",
            [101.2, 109.4],
            [7.2, 9.0],
            Verdict::RegressedWorthwhile,
        ),
        ("dns", [88.1, 88.3], [-0.6, 1.1], Verdict::Equivalent),
    ] {
        let primary = on(metric, effect(case, means, interval, verdict));
        let elapsed = information(&primary, Metric::ElapsedNsPerUnit, means.map(|m| m * 1.03));
        let rate = information(
            &primary,
            Metric::UnitsPerSecond,
            means.map(|m| 1e9 / (m * 1.03)),
        );
        let memory = information(&primary, Metric::PeakRssBytes, [4_194_304.0, 4_198_400.0]);
        comparisons.extend([primary, elapsed, rate, memory]);
    }
    let mut analysis = analysis(comparisons, Vec::new());
    analysis.campaign = "compare".into();
    analysis.question = "Does this change cost more per packet?".into();
    for case in ["mix", "dns"] {
        for (arm, cpu) in [("baseline", 103_850_000.0), ("candidate", 112_050_000.0)] {
            let proof = if case == "mix" {
                WorkProof::Checksum
            } else {
                WorkProof::Units
            };
            analysis.passes.push(pass_work(case, arm, cpu, proof));
        }
    }
    analysis.validity = vec![check("work done", "as told", "as given")];
    analysis.limitations = vec![
        limit("one_host", "one host"),
        limit("one_input", "the same file again and again, from memory"),
        limit("no_aa_floor", "this campaign has no A/A floor"),
    ];
    analysis.gates[0].passed = false;
    analysis.gates[0].reason = "worse by more than 3 %: mix".into();
    analysis.class = EvidenceClass::Exploratory;
    analysis.class_reasons = vec!["uncommitted changes in candidate".into()];
    let conditions = &mut analysis.conditions;
    conditions.workload = Workload::File;
    conditions.primary = metric;
    conditions.sender_cpus = Vec::new();
    conditions.sending = vec![
        "mix: mix.pcap (1,000,000 packets, sha256 4be14be14be1) 10 times a trial, and its first \
         100 packets for the start-up"
            .into(),
    ];
    conditions.treatment = vec!["executable: sha256 4be14be14be1 -> 77aa77aa77aa".into()];
    conditions.arms = vec![
        arm("baseline", "3f9a", "4be1", false),
        arm("candidate", "77aa", "77aa", true),
    ];
    judge(&mut analysis);
    analysis
}

/// Two commands on their rate: one says nothing of its work, so that the gain is not held against the
/// margin, and a declared gate fails.
pub(crate) fn commands() -> Analysis {
    let metric = Metric::UnitsPerSecond;
    let mut one = on(
        metric,
        effect(
            "all",
            [320_000.0, 371_000.0],
            [15.1, 16.8],
            Verdict::Improved,
        ),
    );
    one.reasons = vec![Reason::WorkUnproven];
    one.flags = vec![Flag::WorkUnproven];
    let mut analysis = analysis(vec![one], Vec::new());
    analysis.campaign = "compare".into();
    analysis.question = "Is B faster than A?".into();
    analysis.passes = ["baseline", "candidate"]
        .map(|arm| PassSummary {
            units: None,
            start_up_cpu_ns: None,
            start_up_share: None,
            ..pass_work("all", arm, 31_000_000.0, WorkProof::None)
        })
        .to_vec();
    analysis.validity = vec![check("work done", "not told in 1", "1 cases")];
    analysis.limitations = vec![
        limit("work_unproven", "a program does not say how much it did"),
        limit("one_host", "one host"),
    ];
    let reason = "units-per-second at least 372,000 not shown: lower 95 % bound 370,177";
    analysis.gates.push(Gate {
        name: "floor".into(),
        passed: false,
        reason: format!("{reason} in case all"),
        cases: vec![GateCase {
            case: "all".into(),
            passed: false,
            reason: reason.into(),
        }],
    });
    let conditions = &mut analysis.conditions;
    conditions.workload = Workload::Command;
    conditions.primary = metric;
    conditions.sending = vec!["all: the command 10 times a trial".into()];
    conditions.treatment = vec!["program: a -> b".into()];
    judge(&mut analysis);
    analysis
}

/// A file whose candidate did other work.
pub(crate) fn wrong_work() -> Analysis {
    let mut analysis = file();
    for comparison in &mut analysis.comparisons {
        if comparison.case == "mix" && comparison.primary {
            comparison.verdict = Some(Verdict::Invalid);
            comparison.reasons = vec![Reason::WrongResult];
        }
    }
    analysis.passes[1].proof = WorkProof::Wrong;
    analysis.passes[1].units = Some(999_999);
    analysis.validity[0] = Check {
        left: "mix candidate: 999,999 units a pass".into(),
        right: "1,000,000 in the input".into(),
        holds: false,
        ..analysis.validity[0].clone()
    };
    analysis.gates[0].reason = "not judged: mix".into();
    analysis.gates[0].cases = in_cases(&analysis);
    judge(&mut analysis);
    analysis
}

/// A program of the user's against another: one leaves a range of its loss open, the other says
/// nothing at all in the second case.
pub(crate) fn outside() -> Analysis {
    let mut comparisons = vec![
        effect("20k", [900.0, 952.0], [4.1, 7.4], Verdict::Regressed),
        effect("50k", [870.0, 861.0], [-2.9, 0.9], Verdict::Inconclusive),
    ];
    comparisons[0].reasons = vec![Reason::WorkUnproven];
    comparisons[0].flags = vec![Flag::WorkUnproven];
    let mut all = [loads("20k", 20_000), loads("50k", 50_000)].concat();
    for load in &mut all {
        load.duplicate = None;
        load.reordered = None;
        load.foreign = None;
        load.flags = vec![Flag::WorkUnproven];
    }
    all[0].ring_tail = Some(1_280);
    all[0].flags = vec![Flag::RingTail];
    all[1].lost_least = Some(12);
    all[1].lost = 1_300;
    all[1].unique -= 1_300;
    all[1].rule_ok = None;
    all[1].verdict = LoadVerdict::Inconclusive;
    all[1].reasons = vec![LoadReason::TailUnknown];
    all[3].lost_least = Some(0);
    all[3].lost = all[3].accepted;
    all[3].unique = 0;
    all[3].loss_upper95 = Some(1.0);
    all[3].worst_upper95 = Some(1.0);
    all[3].rule_ok = None;
    all[3].verdict = LoadVerdict::Inconclusive;
    all[3].reasons = vec![LoadReason::TailUnknown];
    let mut analysis = analysis(comparisons, all);
    analysis.conditions.topology = "wire".into();
    analysis.conditions.treatment = vec!["program: tcpdump -> dumpcap".into()];
    analysis.conditions.arms = vec![
        ArmIdentity {
            arm: "baseline".into(),
            identity: Identity {
                sha256: "4be1".repeat(16),
                ..Identity::default()
            },
        },
        ArmIdentity {
            arm: "candidate".into(),
            identity: Identity {
                sha256: "77aa".repeat(16),
                ..Identity::default()
            },
        },
    ];
    judge(&mut analysis);
    analysis
}

/// Fills the sentences in, as the judge does.
pub(crate) fn judge(analysis: &mut Analysis) {
    let margin = analysis.conditions.margin;
    analysis.answer = answer(
        &analysis.comparisons,
        &analysis.loads,
        &analysis.passes,
        margin,
    );
    for comparison in &mut analysis.comparisons {
        comparison.statement = statement(comparison, margin);
    }
}

/// The demo campaign: a buffered ring against immediate mode at two rates.
pub(crate) fn demo() -> Analysis {
    let mut comparisons = Vec::new();
    for (case, cost, interval, process, kernel) in [
        (
            "20k",
            [6203.0, 651.0],
            [-89.8, -89.2],
            [3911.0, 131.0],
            [2292.0, 520.0],
        ),
        (
            "50k",
            [5917.0, 611.0],
            [-89.9, -89.4],
            [3702.0, 118.0],
            [2215.0, 493.0],
        ),
    ] {
        let primary = effect(case, cost, interval, Verdict::ImprovedWorthwhile);
        let process = information(&primary, Metric::ProcessCpuNsPerPacket, process);
        let kernel = information(&primary, Metric::CaptureKernelNsPerPacket, kernel);
        comparisons.extend([primary, process, kernel]);
    }
    let loads = [loads("20k", 20_000), loads("50k", 50_000)].concat();
    analysis(comparisons, loads)
}

/// Six cases, among them a loss too small for three decimals and a detectable sameness.
pub(crate) fn six() -> Analysis {
    let mut comparisons = Vec::new();
    let mut all = Vec::new();
    for (case, pps, means, interval, verdict) in [
        (
            "10k",
            10_000,
            [600.0, 604.0],
            [-0.4, 1.8],
            Verdict::Equivalent,
        ),
        (
            "20k",
            20_000,
            [610.0, 616.0],
            [0.2, 1.9],
            Verdict::Equivalent,
        ),
        (
            "50k",
            50_000,
            [590.0, 566.0],
            [-5.9, -2.2],
            Verdict::Improved,
        ),
        (
            "100k",
            100_000,
            [580.0, 522.0],
            [-11.0, -9.1],
            Verdict::ImprovedWorthwhile,
        ),
        (
            "150k",
            150_000,
            [585.0, 590.0],
            [-2.5, 4.4],
            Verdict::Inconclusive,
        ),
        (
            "200k",
            200_000,
            [570.0, 612.0],
            [5.1, 9.6],
            Verdict::RegressedWorthwhile,
        ),
    ] {
        let mut one = effect(case, means, interval, verdict);
        if case == "20k" {
            one.flags.push(Flag::Detectable);
        }
        comparisons.push(one);
        all.extend(loads(case, pps));
    }
    all[11].lost = 1;
    all[11].unique -= 1;
    all[11].accepted = 1_000_000_000;
    all[11].unique = 999_999_999;
    all[11]
        .lost_at
        .insert(Stage::Ring, Some(Share::Range { min: 0, max: 1 }));
    let mut analysis = analysis(comparisons, all);
    analysis.gates[0].passed = false;
    analysis.gates[0].reason = "200k is worse by more than 3 %".into();
    analysis
}

/// Eight cases with long names, one over the loss limit and so not comparable.
pub(crate) fn eight() -> Analysis {
    let mut comparisons = Vec::new();
    let mut all = Vec::new();
    for at in 0..8_u32 {
        let case = format!(
            "a-rather-long-name-of-a-case-from-a-sweep/frame-size-{}",
            64 << at
        );
        let shift = f64::from(at) * 0.1;
        let mut one = effect(
            &case,
            [1_000.0, 1_000.0 + shift * 10.0],
            [shift - 0.6, shift + 0.7],
            Verdict::Equivalent,
        );
        if at == 5 {
            one.verdict = Some(Verdict::NotComparable);
            one.reasons = vec![Reason::UnequalWork];
        }
        comparisons.push(one);
        all.extend(loads(&case, 40_000));
    }
    let failed = &mut all[11];
    failed.lost = 12_345;
    failed.unique -= 12_345;
    failed.loss_ratio = Some(12_345.0 / 480_000.0);
    failed.loss_upper95 = Some(0.0312);
    failed.worst_upper95 = Some(0.091);
    failed.rule_ok = Some(false);
    failed.verdict = LoadVerdict::Fail;
    failed.reasons = vec![LoadReason::RepeatsFailed];
    failed.lost_at = BTreeMap::from([
        (Stage::Backlog, None),
        (Stage::Ring, Some(Share::Count(12_340))),
    ]);
    failed.unexplained = 5;
    analysis(comparisons, all)
}

/// A ledger that does not balance in one arm.
pub(crate) fn invalid() -> Analysis {
    let mut one = effect("20k", [610.0, 612.0], [-0.9, 1.6], Verdict::Invalid);
    one.reasons = vec![Reason::CounterMismatch];
    let mut both = loads("20k", 20_000);
    both[1].verdict = LoadVerdict::Invalid;
    both[1].reasons = vec![LoadReason::CounterMismatch];
    both[1].unexplained = -17;
    both[1].loss_upper95 = None;
    both[1].worst_upper95 = None;
    let mut analysis = analysis(vec![one], both.to_vec());
    analysis.validity[1].holds = false;
    analysis.validity[1].right = "1,704,337 + 0".into();
    analysis.class = EvidenceClass::Exploratory;
    analysis.class_reasons = vec!["a trial is invalid".into()];
    analysis
}

/// No margin was declared; the interval is on one side in one case and spans 1 in the other.
pub(crate) fn without_margin() -> Analysis {
    let comparisons = vec![
        effect("20k", [610.0, 598.0], [-3.1, -0.8], Verdict::Improved),
        effect("50k", [590.0, 588.0], [-1.4, 0.8], Verdict::Inconclusive),
    ];
    let loads = [loads("20k", 20_000), loads("50k", 50_000)].concat();
    let mut analysis = analysis(comparisons, loads);
    analysis.conditions.margin = None;
    judge(&mut analysis);
    analysis
}

/// The same executable and settings twice.
pub(crate) fn same_arms() -> Analysis {
    let comparisons = vec![effect(
        "20k",
        [610.0, 610.1],
        [-0.11, 0.15],
        Verdict::Equivalent,
    )];
    let mut analysis = analysis(comparisons, loads("20k", 20_000).to_vec());
    analysis.conditions.treatment = Vec::new();
    analysis.question = "What is the floor here?".into();
    analysis
}

/// Nothing is decided, unpinned, on the third attempt, in a network that root made.
pub(crate) fn open() -> Analysis {
    let comparisons = vec![effect(
        "20k",
        [610.0, 598.0],
        [-6.4, 2.7],
        Verdict::Inconclusive,
    )];
    let mut analysis = analysis(comparisons, loads("20k", 20_000).to_vec());
    analysis.conditions.sender_cpus = Vec::new();
    analysis.conditions.receiver_cpu = None;
    analysis.conditions.isolation = Isolation::Netns;
    analysis.conditions.attempt = 3;
    analysis.conditions.pairs_done = 11;
    analysis.conditions.pairs_voided = 1;
    analysis.class = EvidenceClass::Smoke;
    analysis.class_reasons = vec!["placement_free".into(), "few_slices".into()];
    analysis
}

/// The session of the demo.
pub(crate) fn session() -> Session {
    Session {
        elapsed_ns: 98_000_000_000,
        sending_ns: 72_000_000_000,
        evidence_path: "evidence/demo/20261130T142233Z-3f9a1c07".into(),
        notes: vec!["50 ms slices".into()],
    }
}

fn check(name: &str, left: &str, right: &str) -> Check {
    Check {
        name: name.into(),
        left: left.into(),
        right: right.into(),
        holds: true,
        trials: 48,
    }
}

fn limit(word: &str, text: &str) -> Limitation {
    Limitation {
        word: word.into(),
        text: text.into(),
    }
}
