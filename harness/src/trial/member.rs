//! One member of a pair while it runs: what its processes have said so far, and the row they make.

use wiretrial_contract::control::{Ready, ReceiverReady, TrialIdentity};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::Live;
use wiretrial_contract::record::{
    Delivery, Flag, Guard, GuardName, HostWindow, Outcome, Step, TRIAL_SCHEMA, TrialRecord,
};
use wiretrial_contract::report::{GeneratorReport, GroupTally, ReceiverReport};

use super::guards::{self, DesignView, Said};
use super::setting::{Job, Setting};
use super::{backlog, ledger};
use crate::campaign::slices;
use crate::host::Process;

pub(super) struct Member {
    /// Index of the arm.
    pub(super) arm: usize,
    pub(super) identity: TrialIdentity,
    pub(super) process: Option<Box<dyn Process>>,
    pub(super) started_ns: u64,
    pub(super) ready: Option<ReceiverReady>,
    pub(super) report: Option<Box<ReceiverReport>>,
}

/// What the members of one run share.
pub(super) struct Shared {
    pub(super) generator_sha256: Option<String>,
    pub(super) generator: Option<GeneratorReport>,
    pub(super) window: Option<HostWindow>,
    pub(super) ended_ns: u64,
}

/// How a run ended before its end.
pub(super) struct Broken {
    pub(super) step: Step,
    /// The member whose receiver it was; `None` for the generator and the host.
    pub(super) arm: Option<usize>,
    pub(super) failure: Failure,
}

impl Member {
    pub(super) fn new(arm: usize, identity: TrialIdentity) -> Self {
        Self {
            arm,
            identity,
            process: None,
            started_ns: 0,
            ready: None,
            report: None,
        }
    }

    pub(super) fn process_mut(&mut self) -> &mut dyn Process {
        &mut **self
            .process
            .as_mut()
            .expect("launched before it is spoken to")
    }

    pub(super) fn name(&self) -> String {
        self.process
            .as_ref()
            .map_or_else(|| "receiver".into(), |process| process.name().to_owned())
    }

    /// The tally of this member's group.
    fn tally<'a>(&self, shared: &'a Shared, setting: &Setting<'_>) -> Option<&'a GroupTally> {
        shared
            .generator
            .as_ref()?
            .group(&setting.group_name(self.arm))
    }

    /// The row.
    pub(super) fn row(
        &self,
        setting: &Setting<'_>,
        job: &Job<'_>,
        shared: &Shared,
        broken: Option<&Broken>,
    ) -> TrialRecord {
        let (case, live) = (setting.case(job), setting.live(job));
        let tally = self.tally(shared, setting);
        let ledger = match (tally, &self.report, &shared.window) {
            (Some(sent), Some(seen), Some(window)) => Some(ledger::of_trial(
                setting.campaign.topology.kind,
                setting.interface,
                sent,
                seen,
                window,
            )),
            _ => None,
        };
        let guards = match broken {
            None => self.guards(setting, live, shared, tally),
            Some(broken) => interrupted(broken, self.arm).into_iter().collect(),
        };
        let outcome = match broken {
            Some(broken) if guards.is_empty() => Outcome::Failed {
                step: broken.step,
                cause: broken.failure.message.clone(),
                code: broken.failure.code,
            },
            _ if guards::all_passed(&guards) => Outcome::Ok,
            _ => Outcome::Voided,
        };
        let since = |ns: u64| setting.gone_ns + ns.saturating_sub(setting.began_ns);
        TrialRecord {
            schema: TRIAL_SCHEMA.into(),
            prev: String::new(),
            row: 0,
            phase: job.phase,
            case: case.name.clone(),
            arm: setting.campaign.arms[self.arm].name.clone(),
            pair: job.planned.pair,
            replaces: job.replaces,
            order: job.planned.order,
            identity: self.identity,
            outcome,
            started_ns: since(self.started_ns),
            ended_ns: since(shared.ended_ns),
            intended_pps: Some(live.traffic.rate_pps),
            receiver_sha256: self.process.as_ref().map(|p| p.hello().sha256.clone()),
            program_sha256: self.process.as_ref().map(|p| p.hello().sha256.clone()),
            generator_sha256: shared.generator_sha256.clone(),
            ready: self.ready.clone().map(Ready::Receiver),
            generator: shared.generator.clone(),
            delivery: self.report.clone().map(Delivery::Sequences),
            host: shared.window.clone(),
            ledger,
            guards,
            flags: self.flags(setting, live, shared, tally),
        }
    }

    fn guards(
        &self,
        setting: &Setting<'_>,
        live: &Live,
        shared: &Shared,
        tally: Option<&GroupTally>,
    ) -> Vec<Guard> {
        let (Some(report), Some(generator), Some(window)) =
            (&self.report, &shared.generator, &shared.window)
        else {
            return Vec::new();
        };
        let sealed = setting.programs;
        let said = |process: &Option<Box<dyn Process>>| {
            process
                .as_ref()
                .map_or_else(String::new, |p| p.hello().sha256.clone())
        };
        let arm = &setting.campaign.arms[self.arm].name;
        let binaries = vec![
            (
                "generator".into(),
                sealed.generator.sha256.clone(),
                shared.generator_sha256.clone().unwrap_or_default(),
            ),
            (
                format!("receiver of {arm}"),
                sealed.receivers[self.arm].sha256.clone(),
                said(&self.process),
            ),
        ];
        let counts = Said {
            generator,
            tally,
            receiver: report,
            window,
        };
        let coupled = setting.coupled();
        guards::check(&DesignView::of(
            &live.traffic,
            setting.rule,
            coupled,
            counts,
            binaries,
        ))
    }

    /// Whether the receiver and every sender ran on the CPU they were given, as read back by them.
    fn placed(&self, setting: &Setting<'_>, shared: &Shared) -> bool {
        let (Some(cpu), senders) = (setting.placement.receiver, &setting.placement.senders) else {
            return false;
        };
        let receiver = self.ready.as_ref().is_none_or(|ready| ready.cpus == [cpu]);
        let alone = |cpus: &Vec<u32>| matches!(cpus[..], [cpu] if senders.contains(&cpu));
        let sending = shared
            .generator
            .as_ref()
            .is_none_or(|g| g.cpus.iter().all(alone));
        receiver && sending
    }

    fn flags(
        &self,
        setting: &Setting<'_>,
        live: &Live,
        shared: &Shared,
        tally: Option<&GroupTally>,
    ) -> Vec<Flag> {
        let mut flags = Vec::new();
        if setting.coupled() {
            flags.push(Flag::Coupled);
        }
        if setting.interleaved() && tally.is_some_and(|tally| tally.slices < slices::ENOUGH) {
            flags.push(Flag::FewSlices);
        }
        if !self.placed(setting, shared) {
            flags.push(Flag::PlacementFree);
        }
        if let (Some(seen), Some(sent)) = (&self.report, tally)
            && backlog::grows(
                &live.traffic,
                &live.receivers[self.arm],
                sent.accepted,
                seen,
            )
        {
            flags.push(Flag::BacklogGrows);
        }
        flags
    }
}

/// The guard that voids a member which did nothing wrong itself: a signal came, or the other
/// member failed. `None` when the fault lies with this member or with what both share.
fn interrupted(broken: &Broken, arm: usize) -> Option<Guard> {
    let saw = if broken.failure == Failure::interrupted() {
        format!("a signal came in step {}", broken.step)
    } else if broken.arm.is_some_and(|failed| failed != arm) {
        format!("the other member failed in step {}", broken.step)
    } else {
        return None;
    };
    Some(Guard {
        name: GuardName::Interrupted,
        passed: false,
        saw,
    })
}
