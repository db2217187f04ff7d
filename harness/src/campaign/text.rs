//! What `wiretrial plan` prints: five lines, or every key and every trial.

use wiretrial_contract::plan::{Arrangement, Campaign, LaunchOrder, Traffic};
use wiretrial_contract::units::Nanos;

use super::keys::{Default as KeyDefault, KEYS, Key};
use super::order;
use super::slices::{self, ENOUGH};

/// Cases named in the first line at most.
const NAMED_CASES: usize = 6;
/// Time of a pair that is neither sending nor rest: the quiet window before a launch (250 ms) and
/// starting, arming, draining and writing (150 ms).
const AROUND_NS: u64 = 400_000_000;
/// Mean of the drawn gap before a launch, ns.
const MEAN_GAP_NS: u64 = 125_000_000;

/// Five lines: cases, trials, time, what is touched, the detectable effect.
#[must_use]
pub fn brief(campaign: &Campaign) -> String {
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
    let time = Time::of(campaign);
    let (sending, other) = (seconds(time.sending_ns), seconds(time.other_ns));
    let port = campaign.topology.port;
    format!(
        "cases    {cases}\n\
         trials   {}\n\
         time     about {}: {} sending, {} not\n\
         touches  lo in a private network, UDP ports {port} to {}; a new folder of evidence/\n\
         effect   not known before pairs have run; wiretrial run floor shows what this host sees\n",
        trials(campaign),
        people(sending + other),
        people(sending),
        people(other),
        port + 2,
    )
}

/// One line before a campaign runs: its name, how much there is to do and how long that takes.
#[must_use]
pub fn duration(campaign: &Campaign) -> String {
    let time = Time::of(campaign);
    format!(
        "{}: {} pairs, about {}",
        campaign.name,
        u64::from(campaign.design.pairs) * count(campaign.cases.len()),
        people(seconds(time.sending_ns) + seconds(time.other_ns))
    )
}

/// The five lines, every key with its value and default, and every pair as `seed` orders them.
#[must_use]
pub fn full(campaign: &Campaign, seed: u64) -> String {
    let mut text = brief(campaign);
    text += "\nkeys\n";
    for key in KEYS {
        let value = value(key, campaign);
        text += &format!("  {:<22} {value}{}\n", key.path, default(key, &value));
    }
    text += &format!("\npairs, seed {seed:#018x}\n");
    let width = campaign.cases.iter().map(|case| case.name.len()).max();
    let width = width.unwrap_or(0).max("case".len());
    text += &format!(
        "  {:>4}  {:<width$}  {:>5}  {:<9}  {:>5}  {:>7}\n",
        "pair", "case", "round", "first", "gap", "padding"
    );
    for pair in order::pairs(campaign, seed) {
        let first = match pair.order {
            LaunchOrder::BaselineFirst => "baseline",
            LaunchOrder::CandidateFirst => "candidate",
        };
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

fn trials(campaign: &Campaign) -> String {
    let pairs = u64::from(campaign.design.pairs) * count(campaign.cases.len());
    let traffics = || {
        campaign
            .cases
            .iter()
            .filter_map(|case| Some(&case.live()?.traffic))
    };
    let shortest = traffics().map(|traffic| traffic.slice_ns).min();
    let longest = traffics().map(|traffic| traffic.slice_ns).max();
    let mut slices = Nanos(shortest.unwrap_or(0)).to_string();
    if shortest != longest {
        slices += &format!(" to {}", Nanos(longest.unwrap_or(0)));
    }
    let arrangement = match campaign.design.arrangement {
        Arrangement::Interleaved => "both arms alive",
        Arrangement::Sequential => "one arm after the other",
    };
    let few = if traffics().any(|traffic| slices::counted_blocks(traffic) < ENOUGH) {
        "; few slices, so exploratory"
    } else {
        ""
    };
    format!(
        "{} in {pairs} pairs, {} a case; {arrangement}, {slices} slices{few}",
        2 * pairs,
        campaign.design.pairs
    )
}

struct Time {
    sending_ns: u64,
    other_ns: u64,
}

impl Time {
    fn of(campaign: &Campaign) -> Self {
        // Two arms and the control port at once, or twice an arm and the control port.
        let (groups, trials) = match campaign.design.arrangement {
            Arrangement::Interleaved => (3, 1),
            Arrangement::Sequential => (4, 2),
        };
        let over_cases = |time: fn(&Traffic) -> u64| -> u64 {
            let lives = campaign.cases.iter().filter_map(|case| case.live());
            lives.map(|live| time(&live.traffic)).sum()
        };
        let pairs = u64::from(campaign.design.pairs);
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
            "demo: 24 pairs, about 1 min 41 s"
        );
    }

    #[test]
    fn quick_says_that_it_is_exploratory() {
        assert!(!brief(&demo(&[], false)).contains("exploratory"));
        assert!(brief(&demo(&[], true)).contains(
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
        assert_eq!(interleaved.sending_ns, 72_000_000_000);
        assert_eq!(sequential.sending_ns, 96_000_000_000);
        assert!(sequential.other_ns > interleaved.other_ns);
    }
}
