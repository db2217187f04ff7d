//! What the evidence does not establish, made from what was never varied and what was not known.

use wiretrial_contract::analysis::Limitation;
use wiretrial_contract::control::{Steering, TopologyKind};
use wiretrial_contract::plan::{Arrangement, Case, Floor, Passes, Plan, Work, Workload};
use wiretrial_contract::record::{Outcome, TrialRecord};
use wiretrial_contract::report::GroupTally;
use wiretrial_reports::{answer, number};
use wiretrial_stats::verdict::undetectable_mode;

use super::{CaseRows, work};

/// What the evidence does not establish.
pub(super) fn limitations(plan: &Plan, cases: &[CaseRows<'_>]) -> Vec<Limitation> {
    let mut limits = topology(plan);
    limits.extend(traffic(plan, cases));
    limits.extend(told(plan, cases));
    limits.extend(unseen(plan, cases));
    limits.extend(noise(cases));
    limits.extend(question(plan, cases));
    limits
}

fn limit(word: &str, text: impl Into<String>) -> Limitation {
    Limitation {
        word: word.into(),
        text: text.into(),
    }
}

/// What stands between the sender and the receiver.
fn topology(plan: &Plan) -> Vec<Limitation> {
    let mut limits = Vec::new();
    let topology = &plan.campaign.topology;
    let live = plan.campaign.workload() == Workload::Live;
    if live && topology.coupled() {
        let interface = topology.kind.interface();
        limits.push(limit(
            "coupled",
            format!("{interface}: the sender does the kernel's receive work"),
        ));
    }
    if live && topology.kind == TopologyKind::Wire {
        limits.push(limit(
            "virtual_wire",
            "veth: no card, driver or interrupt is in it",
        ));
        let placement = &plan.placement;
        if placement.steering == Some(Steering::ThreadedNapi) && placement.receive_thread.is_none()
        {
            limits.push(limit(
                "receive_thread_free",
                "the kernel thread that receives may run on any CPU",
            ));
        }
    }
    limits.push(limit("one_host", "one host"));
    limits
}

/// What was sent or read, and how the arms shared it.
fn traffic(plan: &Plan, cases: &[CaseRows<'_>]) -> Vec<Limitation> {
    let mut limits = Vec::new();
    let mut sizes: Vec<u32> = cases
        .iter()
        .filter_map(|case| Some(case.case.live()?.traffic.frame_size))
        .collect();
    sizes.dedup();
    if let [size] = sizes[..] {
        limits.push(limit("one_frame_size", format!("{size}-byte frames")));
    }
    let workload = plan.campaign.workload();
    if workload == Workload::File {
        limits.push(limit(
            "one_input",
            "the same file again and again, from memory",
        ));
    }
    if plan.campaign.design.arrangement == Arrangement::Interleaved {
        let text = match workload {
            Workload::Live => "arms take turns within each second",
            Workload::File | Workload::Command => "passes of the arms alternate",
        };
        limits.push(limit("interleaved", text));
    }
    limits
}

/// What the work of the programs does not tell, or costs to be told.
fn told(plan: &Plan, cases: &[CaseRows<'_>]) -> Vec<Limitation> {
    let mut limits = Vec::new();
    let silent = cases.iter().filter(|case| work::silent(case)).count();
    if silent > 0 {
        let text = match cases.len() {
            1 => "a program does not say how much it did".into(),
            all => format!("a program does not say how much it did in {silent} of {all} cases"),
        };
        limits.push(limit("work_unproven", text));
    }
    let left = counted(cases)
        .filter_map(TrialRecord::passes)
        .flatten()
        .filter(|pass| pass.left_processes)
        .count();
    if left > 0 {
        limits.push(limit(
            "left_processes",
            format!("{left} passes left processes behind, whose work is in no time"),
        ));
    }
    if plan.campaign.is_diagnostic() {
        limits.push(limit(
            "diagnostic",
            "allocations were counted, which takes time: no times here",
        ));
    }
    limits
}

/// What differences and modes these pairs cannot show.
fn unseen(plan: &Plan, cases: &[CaseRows<'_>]) -> Vec<Limitation> {
    let mut limits = Vec::new();
    if plan.campaign.design.margin.is_none() {
        limits.push(limit(
            "no_margin",
            "no margin declared: nothing can be called the same",
        ));
    }
    limits.extend(floor(plan, cases));
    let pairs = cases.iter().map(|case| case.pairs.len()).min().unwrap_or(0);
    if pairs > 0 {
        let rare = undetectable_mode(pairs) * 100.0;
        limits.push(limit(
            "rare_modes",
            format!("a mode rarer than {rare:.0} % of launches may be missing"),
        ));
    }
    limits
}

/// What the host did beside.
fn noise(cases: &[CaseRows<'_>]) -> Vec<Limitation> {
    let mut limits = Vec::new();
    if counted(cases).any(foreign_unknown) {
        limits.push(limit(
            "foreign_cpu_unknown",
            "load of other programs not known",
        ));
    }
    limits.extend(stalls(cases));
    limits
}

/// Send calls that the host held up. They are in every cost, those of the control port too, and none is
/// taken out.
fn stalls(cases: &[CaseRows<'_>]) -> Option<Limitation> {
    let (calls, ns) = counted(cases)
        .flat_map(|row| row.tally().into_iter().chain(control_once(row)))
        .fold((0, 0), |(n, ns), tally| {
            (n + tally.stalled_calls, ns + tally.stalled_ns)
        });
    let calls = match calls {
        0 => return None,
        1 => "1 send call".into(),
        calls => format!("{calls} send calls"),
    };
    let ms = ns / 1_000_000;
    Some(limit(
        "stalls",
        format!("{calls} stalled over 1 ms, {ms} ms in all"),
    ))
}

/// What was asked, of how many cases and how often.
fn question(plan: &Plan, cases: &[CaseRows<'_>]) -> Vec<Limitation> {
    let mut limits = Vec::new();
    if cases.len() > 1 {
        limits.push(limit(
            "many_cases",
            format!("{} cases, each judged by itself", cases.len()),
        ));
    }
    let attempt = plan.attempts();
    if attempt > 1 {
        limits.push(limit(
            "repeated_question",
            format!("attempt {attempt} at this question"),
        ));
    }
    limits
}

/// Every trial that counts.
fn counted<'a>(cases: &'a [CaseRows<'a>]) -> impl Iterator<Item = &'a TrialRecord> {
    cases.iter().flat_map(CaseRows::counted)
}

/// How far equal arms are known to come out apart, or that it is not known everywhere. An A/A campaign
/// shows it itself.
fn floor(plan: &Plan, cases: &[CaseRows<'_>]) -> Option<Limitation> {
    let design = &plan.campaign.design;
    // A table has one for every arm but its reference.
    let wanted = plan.campaign.arms.len() - 1;
    let of_case = |case: &CaseRows<'_>| -> Vec<&Floor> {
        let floors = plan.floors.iter();
        floors
            .filter(|floor| floor.case == case.case.name && floor.metric == design.primary)
            .collect()
    };
    let by_case: Vec<Vec<&Floor>> = cases.iter().map(of_case).collect();
    let without = by_case.iter().filter(|known| known.len() < wanted).count();
    let known = by_case.concat();
    if without > 0 || known.is_empty() {
        let text = match (cases.len(), without) {
            (all, without) if without < all => format!("no A/A floor in {without} of {all} cases"),
            _ => "this campaign has no A/A floor".into(),
        };
        return (!design.aa).then(|| limit("no_aa_floor", text));
    }
    let widest = known
        .iter()
        .fold(0.0, |widest, floor| floor.size.max(widest));
    let occasions = known.iter().map(|floor| floor.occasions).min()?;
    let age = known.iter().map(|floor| floor.age_days).max()?;
    let plural = |n: u32| if n == 1 { "" } else { "s" };
    let mut only: Vec<&str> = known
        .iter()
        .filter_map(|floor| floor.only.as_deref())
        .collect();
    only.sort_unstable();
    only.dedup();
    let only = match only[..] {
        [] => String::new(),
        _ => format!("; floor of the {} only", only.join(" or the ")),
    };
    let text = format!(
        "A/A floor {} ({occasions} occasion{}, {age} day{} old){only}",
        answer::floor_text(widest, design.primary.scale(), design.primary.unit()),
        plural(occasions),
        plural(age)
    );
    Some(limit("aa_floor", text))
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

pub(super) fn foreign_unknown(row: &TrialRecord) -> bool {
    row.outcome == Outcome::Ok && row.host.as_ref().is_none_or(|h| h.foreign_cpu_ns.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain;
    use crate::trial::samples;
    use wiretrial_contract::control::PassInput;
    use wiretrial_contract::metric::Metric;
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
        let case = || CaseRows::of_pairs(&plan.campaign.cases[0], vec![[&row, &row]]);
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
        let of_passes = CaseRows::of_pairs(&passes.campaign.cases[0], vec![[&left, &left]]);
        let mut counting = samples::plan();
        counting.campaign.design.primary = Metric::HeapBytesPerPacket;
        let mut known = plan.clone();
        known.floors = vec![known_floor("20k", 0.011, 3, 2)];
        let mut words: Vec<String> = limitations(&plan, &[case(), case()])
            .into_iter()
            .chain(limitations(&known, &[case()]))
            .chain(limitations(&counting, &[]))
            .chain(limitations(&passes, &[of_passes]))
            .map(|limit| limit.word)
            .collect();
        words.sort();
        words.dedup();
        assert_eq!(words.len(), 18, "every branch: {words:?}");
        assert!(
            words.iter().all(|word| explain::explain(word).is_ok()),
            "{words:?}"
        );
        let idle = explain::of_limits()
            .into_iter()
            .find(|word| !words.iter().any(|w| w == word));
        assert_eq!(idle, None, "a limit that is explained and never stated");
    }

    fn known_floor(case: &str, size: f64, occasions: u32, age_days: u32) -> Floor {
        Floor {
            case: case.into(),
            arm: None,
            only: None,
            metric: samples::plan().campaign.design.primary,
            size,
            half_width: size,
            occasions,
            age_days,
        }
    }

    #[test]
    fn the_widest_floor_is_told_where_every_case_has_one() {
        let mut plan = samples::plan();
        plan.campaign.design.aa = false;
        let mut other = plan.campaign.cases[0].clone();
        other.name = "50k".into();
        plan.campaign.cases.push(other);
        let told = |plan: &Plan| {
            let cases = plan
                .campaign
                .cases
                .iter()
                .map(|case| CaseRows::of_pairs(case, Vec::new()));
            let limits = limitations(plan, &cases.collect::<Vec<_>>());
            let found = limits
                .into_iter()
                .find(|limit| limit.word.contains("aa_floor"));
            found.map(|limit| limit.text)
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(told(&plan), text("this campaign has no A/A floor"));
        plan.floors = vec![known_floor("50k", 0.011, 1, 1)];
        assert_eq!(told(&plan), text("no A/A floor in 1 of 2 cases"));
        plan.floors.push(known_floor("20k", 0.0401, 3, 2));
        assert_eq!(
            told(&plan),
            text("A/A floor 4.1 % (1 occasion, 2 days old)")
        );
        plan.floors[0].only = Some("candidate".into());
        assert_eq!(
            told(&plan),
            text("A/A floor 4.1 % (1 occasion, 2 days old); floor of the candidate only")
        );
        plan.floors[0].metric = Metric::PeakRssBytes;
        assert_eq!(told(&plan), text("no A/A floor in 1 of 2 cases"));
        plan.floors.clear();
        plan.campaign.design.aa = true;
        assert_eq!(told(&plan), None);
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
