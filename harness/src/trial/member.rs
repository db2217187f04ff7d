//! One member of a pair while it runs: what its processes have said so far, and the row they make.

use wiretrial_contract::control::{Ready, ReceiverReady, TrialIdentity};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{Live, Placement};
use wiretrial_contract::record::{
    Delivery, Flag, Guard, GuardName, HostWindow, Ledger, Outcome, Step, TRIAL_SCHEMA, TrialRecord,
};
use wiretrial_contract::report::{GeneratorReport, GroupTally};

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
    pub(super) delivery: Option<Delivery>,
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
            delivery: None,
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
        let topology = setting.campaign.topology.kind;
        let ledger = match (tally, &self.delivery, &shared.window) {
            (Some(sent), Some(delivery), Some(window)) => {
                ledger::of_delivery(topology, sent, delivery, window)
            }
            _ => None,
        };
        let guards = match broken {
            None => self.guards(setting, live, shared, tally),
            Some(broken) => interrupted(broken, self.arm).into_iter().collect(),
        };
        let receiver_sha256 = self.process.as_ref().map(|p| p.hello().sha256.clone());
        let flags = self.flags(setting, live, shared, tally, ledger.as_ref());
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
            order: job.planned.order.clone(),
            identity: self.identity,
            outcome: outcome(broken, &guards),
            started_ns: since(self.started_ns),
            ended_ns: since(shared.ended_ns),
            intended_pps: Some(live.traffic.rate_pps),
            program_sha256: self.program_sha256().or_else(|| receiver_sha256.clone()),
            receiver_sha256,
            generator_sha256: shared.generator_sha256.clone(),
            ready: self.ready.clone().map(Ready::Receiver),
            generator: shared.generator.clone(),
            delivery: self.delivery.clone(),
            host: shared.window.clone(),
            ledger,
            guards,
            flags,
        }
    }

    fn guards(
        &self,
        setting: &Setting<'_>,
        live: &Live,
        shared: &Shared,
        tally: Option<&GroupTally>,
    ) -> Vec<Guard> {
        let (Some(clock), Some(generator), Some(window)) = (
            self.delivery.as_ref().and_then(guards::clock_of),
            &shared.generator,
            &shared.window,
        ) else {
            return Vec::new();
        };
        let sealed = setting.programs;
        let said = |process: &Option<Box<dyn Process>>| {
            process
                .as_ref()
                .map_or_else(String::new, |p| p.hello().sha256.clone())
        };
        let arm = &setting.campaign.arms[self.arm].name;
        let mut binaries = vec![
            (
                "generator".into(),
                setting.generator().sha256.clone(),
                shared.generator_sha256.clone().unwrap_or_default(),
            ),
            (
                format!("receiver of {arm}"),
                sealed.receivers[self.arm].sha256.clone(),
                said(&self.process),
            ),
        ];
        if let Some(sealed) = sealed.outside.get(self.arm).and_then(Option::as_ref) {
            let ran = self.program_sha256().unwrap_or_default();
            binaries.push((format!("program of {arm}"), sealed.sha256.clone(), ran));
        }
        let counts = Said {
            generator,
            tally,
            clock,
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

    /// SHA-256 of the program of the user's, as hashed right before it was started.
    fn program_sha256(&self) -> Option<String> {
        let program = self.ready.as_ref()?.program.as_ref()?;
        Some(program.sha256.clone())
    }

    /// Whether the receiver and every sender ran on the CPU they were given, as read back by them.
    fn placed(&self, setting: &Setting<'_>, shared: &Shared) -> Vec<Flag> {
        let senders = &setting.placement.senders;
        let alone = |cpus: &Vec<u32>| matches!(cpus[..], [cpu] if senders.contains(&cpu));
        let sending = shared
            .generator
            .as_ref()
            .is_none_or(|g| g.cpus.iter().all(alone));
        if !sending {
            return vec![Flag::PlacementFree];
        }
        placed_on(
            setting.placement,
            self.ready.as_ref().map(|ready| &ready.cpus[..]),
        )
    }

    fn flags(
        &self,
        setting: &Setting<'_>,
        live: &Live,
        shared: &Shared,
        tally: Option<&GroupTally>,
        ledger: Option<&Ledger>,
    ) -> Vec<Flag> {
        let mut flags = Vec::new();
        if setting.coupled() {
            flags.push(Flag::Coupled);
        }
        if setting.interleaved() && tally.is_some_and(|tally| tally.slices < slices::ENOUGH) {
            flags.push(Flag::FewSlices);
        }
        flags.extend(self.placed(setting, shared));
        if let (Some(Delivery::Sequences(seen)), Some(sent)) = (&self.delivery, tally)
            && backlog::grows(
                &live.traffic,
                &live.receivers[self.arm],
                sent.accepted,
                seen,
            )
        {
            flags.push(Flag::BacklogGrows);
        }
        if let Some(Delivery::Count(seen)) = &self.delivery {
            flags.extend(
                seen.counts
                    .processed
                    .is_none()
                    .then_some(Flag::WorkUnproven),
            );
            let tail = ledger.and_then(|ledger| ledger.ring_tail);
            flags.extend(tail.filter(|tail| *tail > 0).map(|_| Flag::RingTail));
        }
        flags
    }
}

/// How a trial ended: whatever broke it, else what its guards say.
pub(super) fn outcome(broken: Option<&Broken>, guards: &[Guard]) -> Outcome {
    match broken {
        Some(broken) if guards.is_empty() => Outcome::Failed {
            step: broken.step,
            cause: broken.failure.message.clone(),
            code: broken.failure.code,
        },
        _ if guards::all_passed(guards) => Outcome::Ok,
        _ => Outcome::Voided,
    }
}

/// The flag of a receiver that did not run on the CPU it was given, as read back by it.
pub(super) fn placed_on(placement: &Placement, cpus: Option<&[u32]>) -> Vec<Flag> {
    let placed = placement
        .receiver
        .is_some_and(|cpu| cpus.is_none_or(|cpus| cpus == [cpu]));
    (!placed)
        .then_some(Flag::PlacementFree)
        .into_iter()
        .collect()
}

/// The guard that voids a member which did nothing wrong itself: a signal came, or the other
/// member failed. `None` when the fault lies with this member or with what both share.
pub(super) fn interrupted(broken: &Broken, arm: usize) -> Option<Guard> {
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
