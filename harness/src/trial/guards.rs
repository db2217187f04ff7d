//! Conditions on the design of a trial. They see what was asked, what was sent and what the host
//! did, and never what the program under test achieved: a type without a metric goes in.

use wiretrial_contract::clock::ClockPair;
use wiretrial_contract::control::SendMethod;
use wiretrial_contract::plan::{Rule, Traffic};
use wiretrial_contract::record::{Delivery, Guard, GuardName, HostWindow};
use wiretrial_contract::report::{GeneratorReport, GroupTally};

/// What a guard may look at.
#[derive(Debug, Clone, PartialEq)]
pub struct DesignView<'a> {
    /// The constants sealed in the plan.
    pub rule: &'a Rule,
    /// What was sent; `None` where nothing is.
    pub sent: Option<Sent<'a>>,
    /// Executables by what they are: as sealed, as they said themselves.
    pub binaries: Vec<(String, String, String)>,
    /// CPU time of other programs in the window, ns.
    pub foreign_cpu_ns: Option<u64>,
    /// Length of the window, ns.
    pub window_ns: u64,
    /// The wall clock in the window; `None` where nothing depends on it.
    pub clock: Option<Clock>,
}

/// What was to be sent, and how it was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sent<'a> {
    /// What was to be sent.
    pub traffic: &'a Traffic,
    /// Whether the sender does the kernel's receive work, so that capture can slow it down.
    pub coupled: bool,
    /// Offered load, packets per second; `None` when nothing was accepted.
    pub offered_pps: Option<f64>,
    /// How datagrams were handed to the kernel: method, batch, senders.
    pub sending: (SendMethod, u32, u32),
}

/// How the wall clock moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// Change of real time against monotonic time in the window, ns.
    pub change_ns: i64,
    /// How well that is known, ns.
    pub error_ns: u64,
}

/// How the wall clock moved in a live trial, as its receiver read it.
#[must_use]
pub fn clock_of(delivery: &Delivery) -> Option<Clock> {
    match delivery {
        Delivery::Sequences(seen) => Some(Clock::between(seen.clock_at_armed, seen.clock_at_end)),
        Delivery::Count(seen) => Some(Clock::between(seen.clock_at_armed, seen.clock_at_end)),
        Delivery::Passes(_) => None,
    }
}

impl Clock {
    /// From a reading when armed and one at the end of the drain.
    #[must_use]
    pub fn between(armed: ClockPair, end: ClockPair) -> Self {
        Self {
            change_ns: end.offset_ns.saturating_sub(armed.offset_ns),
            error_ns: end.error_ns.saturating_add(armed.error_ns),
        }
    }
}

/// What a trial's processes and host said, from which a guard's view is made.
#[derive(Debug, Clone, Copy)]
pub struct Said<'a> {
    /// The generator.
    pub generator: &'a GeneratorReport,
    /// Its tally of the trial's own group.
    pub tally: Option<&'a GroupTally>,
    /// The receiver's clocks.
    pub clock: Clock,
    /// The host.
    pub window: &'a HostWindow,
}

impl<'a> DesignView<'a> {
    /// The view of one live trial; `binaries` are what each is, its hash as sealed, and as it said.
    #[must_use]
    pub fn of(
        traffic: &'a Traffic,
        rule: &'a Rule,
        coupled: bool,
        said: Said<'_>,
        binaries: Vec<(String, String, String)>,
    ) -> Self {
        let generator = said.generator;
        Self {
            sent: Some(Sent {
                traffic,
                coupled,
                offered_pps: said.tally.and_then(GroupTally::offered_pps),
                sending: (generator.method, generator.batch, generator.senders),
            }),
            clock: Some(said.clock),
            ..Self::of_passes(rule, binaries, said.window)
        }
    }

    /// The view of one trial in which nothing is sent.
    #[must_use]
    pub fn of_passes(
        rule: &'a Rule,
        binaries: Vec<(String, String, String)>,
        window: &HostWindow,
    ) -> Self {
        Self {
            rule,
            sent: None,
            binaries,
            foreign_cpu_ns: window.foreign_cpu_ns,
            window_ns: window.end.at_ns.saturating_sub(window.start.at_ns),
            clock: None,
        }
    }
}

/// Largest slew that is not a step: chrony and ntpd stay within 500 ppm of a second a second
/// (adjtimex(2), STA_FREQHOLD); twice that, and a millisecond for short windows.
const SLEW_PPM: u64 = 1000;
const STEP_FLOOR_NS: u64 = 1_000_000;

/// All guards of one trial that apply, passed or not.
#[must_use]
pub fn check(view: &DesignView<'_>) -> Vec<Guard> {
    let uncoupled = view.sent.as_ref().filter(|sent| !sent.coupled);
    let clock = view.clock.as_ref();
    view.sent
        .iter()
        .map(sending_as_sealed)
        .chain([binary(view)])
        .chain(clock.map(|clock| clock_step(view, clock)))
        .chain(foreign_cpu(view))
        .chain(uncoupled.map(|sent| offered(view.rule, sent)))
        .collect()
}

/// The guard on the offered loads of a pair's members, packets per second; `None` without any. It does
/// not apply where the sender does the receive work.
#[must_use]
pub fn pair_offered(rule: &Rule, offered: &[f64]) -> Option<Guard> {
    let least = offered.iter().copied().min_by(f64::total_cmp)?;
    let most = offered.iter().copied().max_by(f64::total_cmp)?;
    let difference = relative_difference(least, most);
    Some(Guard {
        name: GuardName::PairOffered,
        passed: difference <= rule.pair_offered,
        saw: format!(
            "members {:.3} % apart, allowed {:.1} %",
            difference * 100.0,
            rule.pair_offered * 100.0
        ),
    })
}

/// Whether every guard passed.
#[must_use]
pub fn all_passed(guards: &[Guard]) -> bool {
    guards.iter().all(|guard| guard.passed)
}

fn offered(rule: &Rule, sent: &Sent<'_>) -> Guard {
    let [low, high] = rule.offered;
    let ratio = sent
        .offered_pps
        .map(|offered| offered / intended(sent.traffic));
    let saw = match ratio {
        Some(ratio) => format!(
            "offered {:.2} % of intended, allowed {:.0} to {:.0} %",
            ratio * 100.0,
            low * 100.0,
            high * 100.0
        ),
        None => "nothing was accepted".into(),
    };
    let passed = ratio.is_some_and(|ratio| (low..=high).contains(&ratio));
    Guard {
        name: GuardName::Offered,
        passed,
        saw,
    }
}

/// How far two loads lie apart, as a ratio of the larger.
#[must_use]
pub fn relative_difference(one: f64, other: f64) -> f64 {
    (one - other).abs() / one.max(other)
}

fn sending_as_sealed(sent: &Sent<'_>) -> Guard {
    let traffic = sent.traffic;
    let sealed = (traffic.method, traffic.batch, traffic.senders);
    let text = |(method, batch, senders): (SendMethod, u32, u32)| {
        format!("{method}, batch {batch}, senders {senders}")
    };
    Guard {
        name: GuardName::SendingAsSealed,
        passed: sealed == sent.sending,
        saw: format!("sealed {}; used {}", text(sealed), text(sent.sending)),
    }
}

fn binary(view: &DesignView<'_>) -> Guard {
    let other: Vec<String> = view
        .binaries
        .iter()
        .filter(|(_, sealed, ran)| sealed != ran)
        .map(|(what, sealed, ran)| format!("{what}: sealed {sealed}, ran {ran}"))
        .collect();
    let saw = if other.is_empty() {
        format!("{} executables as sealed", view.binaries.len())
    } else {
        other.join("; ")
    };
    Guard {
        name: GuardName::Binary,
        passed: other.is_empty(),
        saw,
    }
}

fn clock_step(view: &DesignView<'_>, clock: &Clock) -> Guard {
    let slew = view.window_ns / 1_000_000 * SLEW_PPM;
    let allowed = STEP_FLOOR_NS + slew + clock.error_ns;
    Guard {
        name: GuardName::ClockStep,
        passed: clock.change_ns.unsigned_abs() <= allowed,
        saw: format!(
            "wall clock moved {} ns, allowed {allowed} ns",
            clock.change_ns
        ),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a share printed with two digits"
)]
fn foreign_cpu(view: &DesignView<'_>) -> Option<Guard> {
    let share = view.foreign_cpu_ns? as f64 / view.window_ns.max(1) as f64;
    Some(Guard {
        name: GuardName::ForeignCpu,
        passed: share <= view.rule.foreign_cpu,
        saw: format!(
            "other programs used {:.2} % of a CPU, allowed {:.1} %",
            share * 100.0,
            view.rule.foreign_cpu * 100.0
        ),
    })
}

#[expect(clippy::cast_precision_loss, reason = "rates are far below 2^53")]
fn intended(traffic: &Traffic) -> f64 {
    traffic.rate_pps as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::samples;

    fn sent<'v, 'a>(view: &'v mut DesignView<'a>) -> &'v mut Sent<'a> {
        view.sent.as_mut().unwrap()
    }

    fn failed(change: impl FnOnce(&mut DesignView<'_>)) -> Vec<GuardName> {
        let (traffic, rule) = (samples::traffic(), samples::rule());
        let mut view = DesignView {
            rule: &rule,
            sent: Some(Sent {
                traffic: &traffic,
                coupled: false,
                offered_pps: Some(20_000.0),
                sending: (traffic.method, traffic.batch, traffic.senders),
            }),
            binaries: vec![("generator".into(), "aa".into(), "aa".into())],
            foreign_cpu_ns: Some(20_000_000),
            window_ns: 1_000_000_000,
            clock: Some(Clock {
                change_ns: 1_500_000,
                error_ns: 100,
            }),
        };
        change(&mut view);
        check(&view)
            .into_iter()
            .filter(|guard| !guard.passed)
            .map(|guard| guard.name)
            .collect()
    }

    #[test]
    fn each_guard_fails_by_its_own_condition() {
        assert_eq!(failed(|_| ()), []);
        assert_eq!(
            failed(|view| sent(view).offered_pps = None),
            [GuardName::Offered]
        );
        assert_eq!(
            failed(|view| sent(view).offered_pps = Some(18_900.0)),
            [GuardName::Offered]
        );
        assert_eq!(
            failed(|view| sent(view).sending.1 = 2),
            [GuardName::SendingAsSealed]
        );
        assert_eq!(
            failed(|view| view.binaries[0].2 = "bb".into()),
            [GuardName::Binary]
        );
        assert_eq!(
            failed(|view| view.foreign_cpu_ns = Some(25_100_000)),
            [GuardName::ForeignCpu]
        );
        assert_eq!(
            failed(|view| view.clock.as_mut().unwrap().change_ns = -2_100_000),
            [GuardName::ClockStep]
        );
    }

    #[test]
    fn the_members_of_a_pair_stay_within_half_a_percent() {
        let passed = |others: &[f64]| {
            let all = [&[20_000.0], others].concat();
            pair_offered(&samples::rule(), &all).unwrap().passed
        };
        assert!(passed(&[20_010.0]));
        assert!(!passed(&[20_200.0]));
        assert!(!passed(&[20_060.0, 19_950.0]), "the farthest two decide");
        assert_eq!(pair_offered(&samples::rule(), &[]), None);
    }

    #[test]
    fn a_coupled_shortfall_voids_nothing() {
        assert_eq!(
            failed(|view| {
                sent(view).coupled = true;
                sent(view).offered_pps = Some(1_000.0);
            }),
            []
        );
    }

    #[test]
    fn where_nothing_is_sent_only_executables_and_other_programs_count() {
        let rule = samples::rule();
        let window = HostWindow {
            foreign_cpu_ns: Some(0),
            ..HostWindow::default()
        };
        let view = DesignView::of_passes(&rule, Vec::new(), &window);
        let names: Vec<GuardName> = check(&view).iter().map(|guard| guard.name).collect();
        assert_eq!(names, [GuardName::Binary, GuardName::ForeignCpu]);
    }

    #[test]
    fn an_unknown_foreign_load_is_no_guard() {
        assert_eq!(failed(|view| view.foreign_cpu_ns = None), []);
    }
}
