//! Conditions on the design of a trial. They see what was asked, what was sent and what the host
//! did, and never what the program under test achieved: a type without a metric goes in.

use wiretrial_contract::control::SendMethod;
use wiretrial_contract::plan::{Rule, Traffic};
use wiretrial_contract::record::{Guard, GuardName, HostWindow};
use wiretrial_contract::report::{GeneratorReport, GroupTally, ReceiverReport};

/// What a guard may look at.
#[derive(Debug, Clone, PartialEq)]
pub struct DesignView<'a> {
    /// What was to be sent.
    pub traffic: &'a Traffic,
    /// The constants sealed in the plan.
    pub rule: &'a Rule,
    /// Whether the sender does the kernel's receive work, so that capture can slow it down.
    pub coupled: bool,
    /// Offered load, packets per second; `None` when nothing was accepted.
    pub offered_pps: Option<f64>,
    /// How datagrams were handed to the kernel: method, batch, senders.
    pub sending: (SendMethod, u32, u32),
    /// Executables by what they are: as sealed, as they said themselves.
    pub binaries: Vec<(String, String, String)>,
    /// CPU time of other programs in the window, ns.
    pub foreign_cpu_ns: Option<u64>,
    /// Length of the window, ns.
    pub window_ns: u64,
    /// Change of real time against monotonic time in the window, ns.
    pub clock_change_ns: i64,
    /// How well that is known, ns.
    pub clock_error_ns: u64,
}

/// What a trial's processes and host said, from which a guard's view is made.
#[derive(Debug, Clone, Copy)]
pub struct Said<'a> {
    /// The generator.
    pub generator: &'a GeneratorReport,
    /// Its tally of the trial's own group.
    pub tally: Option<&'a GroupTally>,
    /// The receiver, of which only its clocks are looked at.
    pub receiver: &'a ReceiverReport,
    /// The host.
    pub window: &'a HostWindow,
}

impl<'a> DesignView<'a> {
    /// The view of one trial; `binaries` are what each is, its hash as sealed, and as it said.
    #[must_use]
    pub fn of(
        traffic: &'a Traffic,
        rule: &'a Rule,
        coupled: bool,
        said: Said<'_>,
        binaries: Vec<(String, String, String)>,
    ) -> Self {
        let Said {
            generator,
            tally,
            receiver,
            window,
        } = said;
        let (armed, end) = (receiver.clock_at_armed, receiver.clock_at_end);
        Self {
            traffic,
            rule,
            coupled,
            offered_pps: tally.and_then(GroupTally::offered_pps),
            sending: (generator.method, generator.batch, generator.senders),
            binaries,
            foreign_cpu_ns: window.foreign_cpu_ns,
            window_ns: window.end.at_ns.saturating_sub(window.start.at_ns),
            clock_change_ns: end.offset_ns.saturating_sub(armed.offset_ns),
            clock_error_ns: end.error_ns.saturating_add(armed.error_ns),
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
    let mut guards = vec![sending_as_sealed(view), binary(view), clock_step(view)];
    guards.extend(foreign_cpu(view));
    if !view.coupled {
        guards.push(offered(view));
    }
    guards
}

/// The guard on both members of a pair; `None` when a load is unknown. It does not apply where the
/// sender does the receive work.
#[must_use]
pub fn pair_offered(rule: &Rule, one: Option<f64>, other: Option<f64>) -> Option<Guard> {
    let difference = relative_difference(one?, other?);
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

fn offered(view: &DesignView<'_>) -> Guard {
    let [low, high] = view.rule.offered;
    let ratio = view.offered_pps.map(|offered| offered / intended(view));
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

fn sending_as_sealed(view: &DesignView<'_>) -> Guard {
    let sealed = (
        view.traffic.method,
        view.traffic.batch,
        view.traffic.senders,
    );
    let text = |(method, batch, senders): (SendMethod, u32, u32)| {
        format!("{method}, batch {batch}, senders {senders}")
    };
    Guard {
        name: GuardName::SendingAsSealed,
        passed: sealed == view.sending,
        saw: format!("sealed {}; used {}", text(sealed), text(view.sending)),
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

fn clock_step(view: &DesignView<'_>) -> Guard {
    let slew = view.window_ns / 1_000_000 * SLEW_PPM;
    let allowed = STEP_FLOOR_NS + slew + view.clock_error_ns;
    Guard {
        name: GuardName::ClockStep,
        passed: view.clock_change_ns.unsigned_abs() <= allowed,
        saw: format!(
            "wall clock moved {} ns, allowed {allowed} ns",
            view.clock_change_ns
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
fn intended(view: &DesignView<'_>) -> f64 {
    view.traffic.rate_pps as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::samples;

    fn failed(change: impl FnOnce(&mut DesignView<'_>)) -> Vec<GuardName> {
        let (traffic, rule) = (samples::traffic(), samples::rule());
        let mut view = DesignView {
            traffic: &traffic,
            rule: &rule,
            coupled: false,
            offered_pps: Some(20_000.0),
            sending: (traffic.method, traffic.batch, traffic.senders),
            binaries: vec![("generator".into(), "aa".into(), "aa".into())],
            foreign_cpu_ns: Some(20_000_000),
            window_ns: 1_000_000_000,
            clock_change_ns: 1_500_000,
            clock_error_ns: 100,
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
        assert_eq!(failed(|view| view.offered_pps = None), [GuardName::Offered]);
        assert_eq!(
            failed(|view| view.offered_pps = Some(18_900.0)),
            [GuardName::Offered]
        );
        assert_eq!(
            failed(|view| view.sending.1 = 2),
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
            failed(|view| view.clock_change_ns = -2_100_000),
            [GuardName::ClockStep]
        );
    }

    #[test]
    fn the_members_of_a_pair_stay_within_half_a_percent() {
        let passed = |other| pair_offered(&samples::rule(), Some(20_000.0), other);
        assert!(passed(Some(20_010.0)).unwrap().passed);
        assert!(!passed(Some(20_200.0)).unwrap().passed);
        assert_eq!(passed(None), None);
    }

    #[test]
    fn a_coupled_shortfall_voids_nothing() {
        assert_eq!(
            failed(|view| {
                view.coupled = true;
                view.offered_pps = Some(1_000.0);
            }),
            []
        );
    }

    #[test]
    fn an_unknown_foreign_load_is_no_guard() {
        assert_eq!(failed(|view| view.foreign_cpu_ns = None), []);
    }
}
