//! What `wiretrial plan` prints: a few lines, or every key and every trial.

use wiretrial_contract::control::TopologyKind;
use wiretrial_contract::plan::{
    Arrangement, Campaign, Kind, PassProgram, ReceiverSpec, Traffic, Work, Workload,
};
use wiretrial_contract::program::ProgramSpec;
use wiretrial_contract::units::Nanos;

use super::keys::{Default as KeyDefault, KEYS, Key, NOT_HERE};
use super::slices::{self, ENOUGH};
use super::{gates, order};

/// Cases named in the first line at most.
const NAMED_CASES: usize = 6;
/// Time of a pair that is neither sending nor rest: the quiet window before a launch (250 ms) and
/// starting, arming, draining and writing (150 ms).
const AROUND_NS: u64 = 400_000_000;
/// Mean of the drawn gap before a launch, ns.
const MEAN_GAP_NS: u64 = 125_000_000;

/// A few lines: cases, programs of the user's, trials, time, what is touched, declared gates, the
/// detectable effect, if one is known.
#[must_use]
pub fn brief(campaign: &Campaign, effect: Option<&str>) -> String {
    let names: Vec<&str> = campaign
        .cases
        .iter()
        .map(|case| case.name.as_str())
        .collect();
    let mut cases = format!("{}: ", names.len());
    cases += &names[..names.len().min(NAMED_CASES)].join(", ");
    if names.len() > NAMED_CASES {
        cases += &format!(" and {} more", names.len() - NAMED_CASES);
    }
    let mut lines = vec![("cases", cases)];
    lines.extend(program(campaign).map(|program| ("program", program)));
    lines.push(("trials", trials(campaign)));
    lines.push(("time", time(campaign)));
    lines.push(("touches", touches(campaign)));
    let gates = campaign.gates.iter();
    lines.extend(gates.map(|gate| ("gate", format!("{}: {}", gate.name, gates::text(gate)))));
    let effect = effect.unwrap_or(match campaign.design.pilot {
        0 => "not known before pairs have run; wiretrial run floor shows what this host sees",
        _ => "the pilot will say; wiretrial run floor shows what this host sees",
    });
    lines.push(("effect", effect.into()));
    let lines = lines
        .iter()
        .map(|(name, text)| format!("{name:<8} {text}\n"));
    lines.collect()
}

/// The programs of the user's, if they are measured.
fn program(campaign: &Campaign) -> Option<String> {
    let case = &campaign.cases[0];
    let programs: Vec<&ProgramSpec> = match &case.work {
        Work::Live(live) => live
            .receivers
            .iter()
            .filter_map(ReceiverSpec::outside)
            .collect(),
        Work::Passes(passes) => {
            let programs = passes.programs.iter().filter_map(|program| match program {
                PassProgram::RawFold => None,
                PassProgram::Outside(program) => Some(program),
            });
            programs.collect()
        }
    };
    let names: Vec<String> = programs
        .iter()
        .map(|program| match program.build.len() {
            0 => program.binary.clone(),
            1 => format!("{}, built in 1 step", program.binary),
            steps => format!("{}, built in {steps} steps", program.binary),
        })
        .collect();
    let first = names.first()?;
    if names.iter().all(|name| name == first) {
        return Some(first.clone());
    }
    let by_arm = campaign.arms.iter().zip(&names);
    Some(list(
        by_arm.map(|(arm, name)| format!("{}: {name}", arm.name)),
    ))
}

fn time(campaign: &Campaign) -> String {
    if campaign.workload() != Workload::Live {
        let limits = || {
            campaign
                .cases
                .iter()
                .filter_map(|case| Some(case.passes()?.limit_ns))
        };
        return format!(
            "as long as the passes take, {} each at most",
            span(limits().min(), limits().max(), |ns| Nanos(ns).to_string())
        );
    }
    let time = Time::of(campaign);
    let (sending, other) = (seconds(time.sending_ns), seconds(time.other_ns));
    format!(
        "about {}: {} sending, {} not",
        people(sending + other),
        people(sending),
        people(other)
    )
}

fn touches(campaign: &Campaign) -> String {
    let evidence = "a new folder of evidence/";
    let topology = &campaign.topology;
    let port = topology.port;
    let network = match (campaign.workload(), topology.kind) {
        (Workload::Live, TopologyKind::Loopback) => "lo in a private network",
        (Workload::Live, TopologyKind::Wire) => "a pair of interfaces in two private networks",
        (Workload::Command, _) => return format!("what the command lines do; {evidence}"),
        (Workload::File, _) => {
            let mut files: Vec<&str> = campaign
                .cases
                .iter()
                .filter_map(|case| Some(case.passes()?.input.as_ref()?.file.as_str()))
                .collect();
            files.dedup();
            return format!("reads {}; {evidence}", files.join(", "));
        }
    };
    {
        let last = campaign.topology.target(campaign.arms.len()).port();
        format!("{network}, UDP ports {port} to {last}; {evidence}")
    }
}

/// One line before a campaign runs: its name, how much there is to do and how long that takes.
#[must_use]
pub fn duration(campaign: &Campaign) -> String {
    if let Some(time_ns) = campaign.design.time_ns {
        return format!(
            "{}: as many pairs as fit in {}, by the time that {} pilot pairs a case take",
            campaign.name,
            Nanos(time_ns),
            campaign.design.pilot
        );
    }
    let pairs = u64::from(campaign.design.pairs) * count(campaign.cases.len());
    if campaign.workload() != Workload::Live {
        return format!(
            "{}: {pairs} {}, {}",
            campaign.name,
            units(campaign.kind),
            time(campaign)
        );
    }
    let time = Time::of(campaign);
    format!(
        "{}: {pairs} {}, about {}",
        campaign.name,
        units(campaign.kind),
        people(seconds(time.sending_ns) + seconds(time.other_ns))
    )
}

/// Those lines, every key that applies with its value and default, and every pair as `seed` orders
/// them.
#[must_use]
pub fn full(campaign: &Campaign, seed: u64, effect: Option<&str>) -> String {
    let mut text = brief(campaign, effect);
    text += "\nkeys\n";
    let values = KEYS.iter().map(|key| (key, value(key, campaign)));
    let values: Vec<_> = values.filter(|(_, value)| value != NOT_HERE).collect();
    let width = values.iter().map(|(key, _)| key.path.len()).max();
    let width = width.unwrap_or(0);
    for (key, value) in values {
        text += &format!("  {:<width$} {value}{}\n", key.path, default(key, &value));
    }
    text += &format!("\npairs, seed {seed:#018x}\n");
    let width = campaign.cases.iter().map(|case| case.name.len()).max();
    let width = width.unwrap_or(0).max("case".len());
    text += &format!(
        "  {:>4}  {:<width$}  {:>5}  {:<9}  {:>5}  {:>7}\n",
        "pair", "case", "round", "first", "gap", "padding"
    );
    for pair in order::pairs(campaign, seed) {
        let first = pair.order.arms().swap_remove(0);
        let first = &campaign.arms[first].name;
        text += &format!(
            "  {:>4}  {:<width$}  {:>5}  {first:<9}  {:>5}  {:>6}B\n",
            pair.pair,
            campaign.cases[pair.case as usize].name,
            pair.round,
            format!("{}ms", pair.gap_ns / 1_000_000),
            pair.padding
        );
    }
    text
}

/// What trials come in.
const fn units(kind: Kind) -> &'static str {
    match kind {
        Kind::Paired => "pairs",
        Kind::Table => "rounds",
    }
}

fn trials(campaign: &Campaign) -> String {
    let pairs = u64::from(campaign.design.pairs) * count(campaign.cases.len());
    let before = match campaign.design.pilot {
        0 => String::new(),
        pilot => format!(" after {pilot} of a pilot"),
    };
    let arms = count(campaign.arms.len());
    let each = format!(
        "{} in {pairs} {}, {} a case{before}",
        arms * pairs,
        units(campaign.kind),
        campaign.design.pairs
    );
    if campaign.workload() != Workload::Live {
        let passes = || {
            campaign
                .cases
                .iter()
                .filter_map(|case| Some(case.passes()?.passes))
        };
        let passes = span(passes().min(), passes().max(), |passes| passes.to_string());
        return format!("{each}; {passes} passes each, the arms' in turns");
    }
    let traffics = || {
        campaign
            .cases
            .iter()
            .filter_map(|case| Some(&case.live()?.traffic))
    };
    let shortest = traffics().map(|traffic| traffic.slice_ns).min();
    let longest = traffics().map(|traffic| traffic.slice_ns).max();
    let slices = span(shortest, longest, |ns| Nanos(ns).to_string());
    let arrangement = match campaign.design.arrangement {
        Arrangement::Interleaved if arms > 2 => "all arms alive",
        Arrangement::Interleaved => "both arms alive",
        Arrangement::Sequential => "one arm after the other",
    };
    let few = if traffics().any(|traffic| slices::counted_blocks(traffic) < ENOUGH) {
        "; few slices, so exploratory"
    } else {
        ""
    };
    format!("{each}; {arrangement}, {slices} slices{few}")
}

/// The least and the greatest, or the one value they are.
fn span<T: PartialEq>(least: Option<T>, greatest: Option<T>, text: impl Fn(T) -> String) -> String {
    match (least, greatest) {
        (Some(least), Some(greatest)) if least == greatest => text(least),
        (Some(least), Some(greatest)) => format!("{} to {}", text(least), text(greatest)),
        _ => "no".into(),
    }
}

struct Time {
    sending_ns: u64,
    other_ns: u64,
}

impl Time {
    fn of(campaign: &Campaign) -> Self {
        // All arms and the control port at once, or each arm in turn beside the control port.
        let arms = count(campaign.arms.len());
        let (groups, trials) = match campaign.design.arrangement {
            Arrangement::Interleaved => (arms + 1, 1),
            Arrangement::Sequential => (2 * arms, arms),
        };
        let over_cases = |time: fn(&Traffic) -> u64| -> u64 {
            let lives = campaign.cases.iter().filter_map(|case| case.live());
            lives.map(|live| time(&live.traffic)).sum()
        };
        let pairs = u64::from(campaign.design.pairs + campaign.design.pilot);
        let around = AROUND_NS * trials + MEAN_GAP_NS + campaign.design.rest_ns;
        Self {
            sending_ns: pairs * groups * over_cases(|traffic| traffic.duration_ns),
            other_ns: pairs * groups * over_cases(|traffic| traffic.warm_up_ns)
                + pairs * count(campaign.cases.len()) * around,
        }
    }
}

/// The value of a key, once if it is the same everywhere, else by arm, by case, or by both.
fn value(key: &Key, campaign: &Campaign) -> String {
    let values = key.values(campaign);
    let arms = campaign.arms.len();
    if values.iter().all(|value| *value == values[0]) {
        return values[0].clone();
    }
    if values.chunks(arms).all(|case| case == &values[..arms]) {
        let by_arm = campaign.arms.iter().zip(&values);
        return list(by_arm.map(|(arm, value)| format!("{}: {value}", arm.name)));
    }
    if values
        .chunks(arms)
        .all(|case| case.iter().all(|value| *value == case[0]))
    {
        let by_case = campaign.cases.iter().zip(values.chunks(arms));
        return list(by_case.map(|(case, values)| format!("{}: {}", case.name, values[0])));
    }
    let places = campaign.cases.iter().flat_map(|case| {
        let arms = campaign.arms.iter();
        arms.map(move |arm| format!("{} {}", case.name, arm.name))
    });
    list(
        places
            .zip(&values)
            .map(|(place, value)| format!("{place}: {value}")),
    )
}

fn list(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

fn default(key: &Key, value: &str) -> String {
    match key.default {
        KeyDefault::Fixed(text) if text == value => "  (default)".into(),
        KeyDefault::Fixed(text) => format!("  (default {text})"),
        KeyDefault::Derived(words) => format!("  (default: {words})"),
        KeyDefault::Required => "  (no default)".into(),
    }
}

/// Whole seconds, rounded, so that the parts that are printed add up.
fn seconds(ns: u64) -> u64 {
    (ns + 500_000_000) / 1_000_000_000
}

/// A time for people.
fn people(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, _) => format!("{minutes} min {seconds} s"),
        _ => format!("{hours} h {minutes} min"),
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).expect("Linux has at most 64-bit sizes")
}

#[cfg(test)]
mod tests {
    use super::super::overrides::Overrides;
    use super::super::shipped;
    use super::*;
    use crate::trial::samples;

    fn demo(set: &[&str], quick: bool) -> Campaign {
        let overrides = Overrides {
            set: set.iter().map(ToString::to_string).collect(),
            quick,
            ..Overrides::default()
        };
        shipped::load("demo", &overrides).unwrap()
    }

    #[test]
    fn times_for_people() {
        assert_eq!(people(seconds(71_600_000_000)), "1 min 12 s");
        assert_eq!(people(59), "59 s");
        assert_eq!(people(3_600), "1 h 0 min");
    }

    #[test]
    fn one_line_before_a_campaign() {
        assert_eq!(
            duration(&demo(&[], false)),
            "demo: 24 pairs, about 2 min 7 s"
        );
    }

    #[test]
    fn a_time_stands_for_the_pairs() {
        let mut campaign = demo(&[], false);
        campaign.design.time_ns = Some(300_000_000_000);
        assert_eq!(
            duration(&campaign),
            "demo: as many pairs as fit in 300s, by the time that 3 pilot pairs a case take"
        );
    }

    #[test]
    fn quick_says_that_it_is_exploratory() {
        assert!(!brief(&demo(&[], false), None).contains("exploratory"));
        assert!(brief(&demo(&[], true), None).contains(
            "24 in 12 pairs, 6 a case; both arms alive, 50ms slices; few slices, so exploratory"
        ));
    }

    #[test]
    fn a_value_is_listed_where_it_differs() {
        let line = |campaign: &Campaign, path: &str| {
            value(super::super::keys::find(path).unwrap(), campaign)
        };
        let campaign = demo(&[], false);
        assert_eq!(
            line(&campaign, "traffic.rate-pps"),
            "20k: 20000, 50k: 50000"
        );
        assert_eq!(
            line(&campaign, "receiver.immediate"),
            "baseline: true, candidate: false"
        );
        assert_eq!(line(&campaign, "design.margin"), "3%");
        let mut mixed = campaign;
        samples::capture_mut(&mut mixed.cases[0], 1).immediate = true;
        assert_eq!(
            line(&mixed, "receiver.immediate"),
            "20k baseline: true, 20k candidate: true, 50k baseline: true, 50k candidate: false"
        );
    }

    #[test]
    fn sequential_trials_send_to_the_control_port_twice() {
        let interleaved = Time::of(&demo(&[], false));
        let sequential = Time::of(&demo(&["design.arrangement=sequential"], false));
        // 12 pairs and 3 of the pilot.
        assert_eq!(interleaved.sending_ns, 90_000_000_000);
        assert_eq!(sequential.sending_ns, 120_000_000_000);
        assert!(sequential.other_ns > interleaved.other_ns);
    }
}
