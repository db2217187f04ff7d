//! What the evidence does not establish, made from what was never varied and what was not known;
//! and how far it carries.

use wiretrial_contract::analysis::{EvidenceClass, Limitation};
use wiretrial_contract::control::{Steering, TopologyKind};
use wiretrial_contract::plan::{Arrangement, Case, Passes, Plan, Work, Workload};
use wiretrial_contract::record::{Flag, Outcome, TrialRecord};
use wiretrial_contract::report::GroupTally;
use wiretrial_reports::number;
use wiretrial_stats::verdict::undetectable_mode;

use super::{CaseRows, work};
use crate::campaign::plan::FOREIGN_CPU;
use crate::campaign::slices::ENOUGH;

/// Pairs below which evidence only suggests.
const CONFIRMATORY_PAIRS: u32 = 10;
/// Packets a trial below which evidence only shows that the parts work.
const SMOKE_PACKETS: u64 = 10_000;

/// What the evidence does not establish.
pub(super) fn limitations(plan: &Plan, cases: &[CaseRows<'_>]) -> Vec<Limitation> {
    let mut limits = Vec::new();
    let mut add = |word: &str, text: String| {
        limits.push(Limitation {
            word: word.into(),
            text,
        });
    };
    if plan.campaign.workload() == Workload::Live && plan.campaign.topology.coupled() {
        let interface = plan.campaign.topology.kind.interface();
        add(
            "coupled",
            format!("{interface}: the sender does the kernel's receive work"),
        );
    }
    if plan.campaign.workload() == Workload::Live
        && plan.campaign.topology.kind == TopologyKind::Wire
    {
        add(
            "virtual_wire",
            "veth: no card, driver or interrupt is in it".into(),
        );
        let placement = &plan.placement;
        if placement.steering == Some(Steering::ThreadedNapi) && placement.receive_thread.is_none()
        {
            add(
                "receive_thread_free",
                "the kernel thread that receives may run on any CPU".into(),
            );
        }
    }
    add("one_host", "one host".into());
    let mut sizes: Vec<u32> = cases
        .iter()
        .filter_map(|case| Some(case.case.live()?.traffic.frame_size))
        .collect();
    sizes.dedup();
    if let [size] = sizes[..] {
        add("one_frame_size", format!("{size}-byte frames"));
    }
    let workload = plan.campaign.workload();
    if workload == Workload::File {
        add(
            "one_input",
            "the same file again and again, from memory".into(),
        );
    }
    if plan.campaign.design.arrangement == Arrangement::Interleaved {
        let text = match workload {
            Workload::Live => "arms take turns within each second",
            Workload::File | Workload::Command => "passes of the arms alternate",
        };
        add("interleaved", text.into());
    }
    let silent = cases.iter().filter(|case| work::silent(case)).count();
    if silent > 0 {
        let text = match cases.len() {
            1 => "a program does not say how much it did".into(),
            all => format!("a program does not say how much it did in {silent} of {all} cases"),
        };
        add("work_unproven", text);
    }
    let left = cases
        .iter()
        .flat_map(CaseRows::counted)
        .filter_map(TrialRecord::passes)
        .flatten()
        .filter(|pass| pass.left_processes)
        .count();
    if left > 0 {
        add(
            "left_processes",
            format!("{left} passes left processes behind, whose work is in no time"),
        );
    }
    if plan.campaign.design.margin.is_none() {
        add(
            "no_margin",
            "no margin declared: nothing can be called the same".into(),
        );
    }
    if !plan.campaign.design.aa {
        add("no_aa_floor", "this campaign has no A/A floor".into());
    }
    let pairs = cases.iter().map(|case| case.pairs.len()).min().unwrap_or(0);
    if pairs > 0 {
        let rare = undetectable_mode(pairs) * 100.0;
        add(
            "rare_modes",
            format!("a mode rarer than {rare:.0} % of launches may be missing"),
        );
    }
    if cases
        .iter()
        .flat_map(CaseRows::counted)
        .any(foreign_unknown)
    {
        add(
            "foreign_cpu_unknown",
            "load of other programs not known".into(),
        );
    }
    // They are in every cost, those of the control port too, and none is taken out.
    let (calls, ns) = cases
        .iter()
        .flat_map(CaseRows::counted)
        .flat_map(|row| row.tally().into_iter().chain(control_once(row)))
        .fold((0, 0), |(n, ns), tally| {
            (n + tally.stalled_calls, ns + tally.stalled_ns)
        });
    if calls > 0 {
        let calls = if calls == 1 {
            "1 send call".into()
        } else {
            format!("{calls} send calls")
        };
        let text = format!("{calls} stalled over 1 ms, {} ms in all", ns / 1_000_000);
        add("stalls", text);
    }
    if cases.len() > 1 {
        add(
            "many_cases",
            format!("{} cases, each judged by itself", cases.len()),
        );
    }
    if plan.attempt > 1 {
        add(
            "repeated_question",
            format!("attempt {} at this question", plan.attempt),
        );
    }
    limits
}

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

/// How a case's datagrams are sent or what is read in it, in words.
pub(super) fn sending(case: &Case) -> String {
    let name = &case.name;
    match &case.work {
        Work::Live(live) => {
            let traffic = &live.traffic;
            format!(
                "{name}: {} pps intended, {}-byte frames, {}, batch {}, {} sender(s), {} flow(s)",
                traffic.rate_pps,
                traffic.frame_size,
                traffic.method,
                traffic.batch,
                traffic.senders,
                traffic.flows
            )
        }
        Work::Passes(passes) => format!("{name}: {}", read(passes)),
    }
}

fn read(passes: &Passes) -> String {
    let times = number::count(passes.passes.into());
    let Some(input) = &passes.input else {
        return format!("the command {times} times a trial");
    };
    let digits: String = input.sha256.chars().take(12).collect();
    format!(
        "{} ({} packets, sha256 {digits}) {times} times a trial, and its first {} packets for the start-up",
        input.file.rsplit('/').next().unwrap_or_default(),
        number::count(input.units),
        number::count(input.short_units)
    )
}

/// The control port's tally, once a generator: the rows of an interleaved pair share one.
fn control_once(row: &TrialRecord) -> Option<&GroupTally> {
    let first = row.generator.as_ref()?.groups.first()?;
    let own = row.tally()?;
    (first.name == own.name).then(|| row.control()).flatten()
}

fn foreign_unknown(row: &TrialRecord) -> bool {
    row.outcome == Outcome::Ok && row.host.as_ref().is_none_or(|h| h.foreign_cpu_ns.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain;
    use crate::trial::samples;
    use wiretrial_contract::control::PassInput;
    use wiretrial_contract::identity::Identity;
    use wiretrial_contract::plan::PassProgram;
    use wiretrial_contract::program::ProgramSpec;
    use wiretrial_contract::report::PassReport;

    #[test]
    fn every_limit_can_be_explained() {
        let mut plan = samples::plan();
        plan.attempt = 2;
        plan.campaign.design.margin = None;
        plan.campaign.design.aa = false;
        plan.campaign.topology.kind = TopologyKind::Wire;
        plan.placement.steering = Some(Steering::ThreadedNapi);
        let mut row = samples::row(0);
        row.host = None;
        let stalled = GroupTally {
            stalled_calls: 1,
            stalled_ns: 4_000_000,
            ..samples::tally()
        };
        row.generator = Some(samples::generator(vec![stalled]));
        let case = || CaseRows {
            case: &plan.campaign.cases[0],
            pairs: vec![[&row, &row]],
            all: Vec::new(),
        };
        let mut passes = samples::passes_plan();
        let program = PassProgram::Outside(ProgramSpec::default());
        samples::passes_mut(&mut passes.campaign.cases[0]).programs = vec![program; 2];
        let left = samples::passes_row(
            0,
            "baseline",
            vec![PassReport {
                left_processes: true,
                units: None,
                ..samples::pass(PassInput::Whole, 2, 1)
            }],
        );
        let of_passes = CaseRows {
            case: &passes.campaign.cases[0],
            pairs: vec![[&left, &left]],
            all: Vec::new(),
        };
        let mut words: Vec<String> = limitations(&plan, &[case(), case()])
            .into_iter()
            .chain(limitations(&passes, &[of_passes]))
            .map(|limit| limit.word)
            .collect();
        words.sort();
        words.dedup();
        assert_eq!(words.len(), 14, "every branch: {words:?}");
        assert!(
            words.iter().all(|word| explain::explain(word).is_ok()),
            "{words:?}"
        );
        let idle = explain::of_limits()
            .into_iter()
            .find(|word| !words.iter().any(|w| w == word));
        assert_eq!(idle, None, "a limit that is explained and never stated");
    }

    #[test]
    fn the_class_falls_with_what_is_missing() {
        let mut plan = samples::plan();
        plan.campaign.design.pairs = 10;
        let row = samples::row(0);
        let class_of = |plan: &Plan, row: &TrialRecord, pairs: usize| {
            let case = CaseRows {
                case: &plan.campaign.cases[0],
                pairs: vec![[row, row]; pairs],
                all: Vec::new(),
            };
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
            let case = CaseRows {
                case: &plan.campaign.cases[0],
                pairs: vec![[&row, &row]; 10],
                all: Vec::new(),
            };
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

    #[test]
    fn what_is_read_names_the_file_and_no_folder() {
        let mut plan = samples::passes_plan();
        let case = &mut plan.campaign.cases[0];
        samples::passes_mut(case).input.as_mut().unwrap().file = "bench/mix.pcap".into();
        assert_eq!(
            sending(case),
            "mix: mix.pcap (1,000,100 packets, sha256 4be14be14be1) 2 times a trial, and its first \
             100 packets for the start-up"
        );
    }
}
