//! The steps of a pair, in their one order: quiet, launch, prepare, probe, arm, send, drain, report.
//!
//! Interleaved, all members are alive and one generator alternates between their ports and the
//! control port; sequential, the members run one after the other, each beside the control port and
//! with a row on disk before the next is launched. A step that fails ends the run and is written into
//! the rows: nothing that was started is forgotten.

use std::time::Duration;

use wiretrial_contract::control::{
    Done, FromChild, GeneratorPrepare, Group, GroupName, OutsidePrepare, PROBE_ATTEMPTS, Ready,
    ReceiverPrepare, Role, SourcePorts, Stop, ToChild, TrialIdentity,
};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{Measured, Traffic};
use wiretrial_contract::record::{Delivery, Step};
use wiretrial_contract::stamp::{Class, Form};
use wiretrial_contract::units::FrameSize;

use super::count;
use super::member::{Broken, Member, Shared};
use super::pair::PairRun;
use super::plausible;
use super::setting::{Job, Setting};
use crate::campaign::slices;
use crate::host::{Host, Launch, Process};

const READY_LIMIT: Duration = Duration::from_secs(10);
const SEEN_LIMIT: Duration = Duration::from_secs(2);
const ARMED_LIMIT: Duration = Duration::from_secs(10);
/// A program of the user's has several signals' time to end in.
const REPORT_LIMIT: Duration = Duration::from_secs(20);
/// Quiet time that ends a drain, ns, at least.
const QUIET_NS: u64 = 200_000_000;
/// What a wait for a step of known length allows on top.
const STEP_SLACK: Duration = Duration::from_secs(5);
/// What a child's own deadline allows beyond every wait above.
const CHILD_SLACK_NS: u64 = 60_000_000_000;

/// Source ports are drawn from here, below Linux's ephemeral range (ip_local_port_range starts at
/// 32768), so that no other socket gets one by chance.
const SOURCE_PORTS: std::ops::Range<u32> = 10_000..32_000;

/// Runs the members of the job's arms together.
pub(super) fn members(host: &mut dyn Host, setting: &Setting<'_>, job: &Job<'_>) -> PairRun {
    let mut run = Run::new(setting, job);
    let broken = run.steps(host).err().map(|failure| run.broken(failure));
    run.shared.ended_ns = host.now_ns();
    let stopped = broken
        .as_ref()
        .filter(|broken| broken.failure == Failure::interrupted())
        .map(|broken| broken.failure.clone());
    // Before the first launch there is nothing to have a row of.
    let began = run.members.iter().filter(|_| run.step > Step::Quiet);
    let rows = began
        .map(|member| member.row(setting, job, &run.shared, broken.as_ref()))
        .collect();
    run.end();
    PairRun { rows, stopped }
}

/// Members that are alive together, with the generator that feeds them.
struct Run<'a> {
    setting: &'a Setting<'a>,
    job: &'a Job<'a>,
    members: Vec<Member>,
    generator: Option<Box<dyn Process>>,
    shared: Shared,
    groups: Vec<Group>,
    step: Step,
    /// Member whose receiver is being spoken to.
    speaking_to: Option<usize>,
}

impl<'a> Run<'a> {
    fn new(setting: &'a Setting<'a>, job: &'a Job<'a>) -> Self {
        let members: Vec<Member> = job
            .arms
            .iter()
            .map(|arm| Member::new(*arm, identity(setting, job, *arm)))
            .collect();
        Self {
            setting,
            job,
            groups: groups(setting, job, &members),
            members,
            generator: None,
            shared: Shared {
                generator_sha256: None,
                generator: None,
                window: None,
                ended_ns: 0,
            },
            step: Step::Quiet,
            speaking_to: None,
        }
    }

    fn broken(&self, failure: Failure) -> Broken {
        Broken {
            step: self.step,
            arm: self.speaking_to,
            failure,
        }
    }

    fn steps(&mut self, host: &mut dyn Host) -> Result<(), Failure> {
        self.step = Step::Quiet;
        let rest = self.setting.campaign.design.rest_ns + self.job.planned.gap_ns;
        host.wait_quiet(Duration::from_nanos(rest), self.setting.rule.foreign_cpu)?;
        self.launch(host)?;
        self.prepare()?;
        self.probe()?;
        self.arm(host)?;
        let done = self.send()?;
        self.drain(host, &done)?;
        self.report(host)
    }

    fn launch(&mut self, host: &mut dyn Host) -> Result<(), Failure> {
        self.step = Step::Launch;
        let padding = self.job.planned.padding;
        for i in 0..self.members.len() {
            let arm = self.members[i].arm;
            self.speaking_to = Some(arm);
            self.members[i].started_ns = host.now_ns();
            let name = &self.setting.campaign.arms[arm].name;
            self.members[i].process = Some(host.launch(&Launch {
                role: Role::Receiver,
                name: format!("receiver of {name}"),
                program: self.setting.programs.receivers[arm].path.clone(),
                padding,
                stderr: self.setting.raw.join(format!("receiver-{name}.stderr")),
            })?);
        }
        self.speaking_to = None;
        let generator = host.launch(&Launch {
            role: Role::Generator,
            name: "generator".into(),
            program: self.setting.generator().path.clone(),
            padding,
            stderr: self.setting.raw.join("generator.stderr"),
        })?;
        self.shared.generator_sha256 = Some(generator.hello().sha256.clone());
        self.generator = Some(generator);
        Ok(())
    }

    fn prepare(&mut self) -> Result<(), Failure> {
        self.step = Step::Prepare;
        for i in 0..self.members.len() {
            let prepare = self.receiver_prepare(&self.members[i])?;
            let ready = self.ask(i, &prepare, READY_LIMIT)?;
            let FromChild::Ready(Ready::Receiver(ready)) = ready else {
                return Err(self.unexpected(i, &ready));
            };
            let target = self.setting.campaign.topology.address();
            if !ready.addresses.contains(&target) {
                return Err(Failure::host(format!(
                    "{} has no address {target} on {}; nothing is sent to it",
                    self.members[i].name(),
                    ready.interface
                )));
            }
            self.members[i].ready = Some(ready);
        }
        self.speaking_to = None;
        let prepare = self.generator_prepare();
        let generator = self.generator_mut();
        generator.send(&ToChild::PrepareGenerator(prepare))?;
        match generator.receive(READY_LIMIT)? {
            FromChild::Ready(Ready::Generator(_)) => Ok(()),
            other => Err(unexpected("generator", &other)),
        }
    }

    /// Bursts of probe datagrams until every receiver has seen one.
    fn probe(&mut self) -> Result<(), Failure> {
        self.step = Step::Probe;
        self.nothing_more()?;
        let mut unseen: Vec<usize> = (0..self.members.len()).collect();
        for _ in 0..PROBE_ATTEMPTS {
            self.speaking_to = None;
            self.generator_mut().send(&ToChild::Probe)?;
            let limit = SEEN_LIMIT / PROBE_ATTEMPTS;
            let mut still = Vec::new();
            for i in unseen {
                self.speaking_to = Some(self.members[i].arm);
                match self.members[i].process_mut().poll(limit)? {
                    Some(FromChild::Seen) => (),
                    None => still.push(i),
                    Some(other) => return Err(self.unexpected(i, &other)),
                }
            }
            unseen = still;
            if unseen.is_empty() {
                return Ok(());
            }
        }
        // When nobody saw one the fault is not one member's.
        let alone = unseen.len() < self.members.len() || self.members.len() == 1;
        self.speaking_to = alone.then(|| self.members[unseen[0]].arm);
        let name = self.members[unseen[0]].name();
        Err(Failure::evidence(format!(
            "{name} saw none of the probe packets in {} s; is its filter right?",
            SEEN_LIMIT.as_secs()
        )))
    }

    fn arm(&mut self, host: &mut dyn Host) -> Result<(), Failure> {
        self.step = Step::Arm;
        for i in 0..self.members.len() {
            match self.hear(i, ARMED_LIMIT)? {
                FromChild::Armed => (),
                other => return Err(self.unexpected(i, &other)),
            }
        }
        self.speaking_to = None;
        let ours: Vec<u32> = self
            .members
            .iter()
            .filter_map(|member| member.process.as_ref())
            .chain(&self.generator)
            .map(|process| process.hello().pid)
            .collect();
        host.begin_window(&ours)
    }

    fn send(&mut self) -> Result<Done, Failure> {
        self.step = Step::Send;
        let limit = Duration::from_nanos(self.scheduled_ns() * 2) + STEP_SLACK;
        let generator = self.generator_mut();
        generator.send(&ToChild::Go)?;
        match generator.receive(limit)? {
            FromChild::Done(done) => Ok(done),
            other => Err(unexpected("generator", &other)),
        }
    }

    /// Tells every receiver at once what it must have, then waits for each.
    fn drain(&mut self, host: &mut dyn Host, done: &Done) -> Result<(), Failure> {
        self.step = Step::Drain;
        for i in 0..self.members.len() {
            self.speaking_to = None;
            let name = self.setting.group_name(self.members[i].arm);
            let accepted = self
                .groups
                .iter()
                .position(|group| group.name == name)
                .and_then(|group| done.accepted.get(group))
                .cloned()
                .ok_or_else(|| Failure::evidence("generator ended without counts by flow"))?;
            self.speaking_to = Some(self.members[i].arm);
            self.members[i]
                .process_mut()
                .send(&ToChild::Stop(Stop { accepted }))?;
        }
        for i in 0..self.members.len() {
            let drain = self.setting.live(self.job).receivers[self.members[i].arm].drain_limit_ns;
            match self.hear(i, Duration::from_nanos(drain) + STEP_SLACK)? {
                FromChild::Done(_) => (),
                other => return Err(self.unexpected(i, &other)),
            }
        }
        self.speaking_to = None;
        self.shared.window = Some(host.end_window()?);
        Ok(())
    }

    fn report(&mut self, host: &mut dyn Host) -> Result<(), Failure> {
        self.step = Step::Report;
        let report = match self.generator_mut().receive(REPORT_LIMIT)? {
            FromChild::GeneratorReport(report) => *report,
            other => return Err(unexpected("generator", &other)),
        };
        let launched_ns = self.members.iter().map(|member| member.started_ns).min();
        let since = |launched_ns: u64, now_ns: u64| now_ns.saturating_sub(launched_ns);
        let wall_ns = since(launched_ns.unwrap_or(0), host.now_ns());
        let senders = self.setting.live(self.job).traffic.senders;
        plausible::generator(&self.groups, &report, senders, wall_ns)
            .map_err(|what| Failure::evidence(format!("generator {what}")))?;
        self.shared.generator = Some(report);
        for i in 0..self.members.len() {
            let delivery = match self.hear(i, REPORT_LIMIT)? {
                FromChild::ReceiverReport(report) => Delivery::Sequences(report),
                FromChild::CountReport(report) => Delivery::Count(report),
                other => return Err(self.unexpected(i, &other)),
            };
            let member = &self.members[i];
            let cpus = member.ready.as_ref().map_or(1, |ready| ready.cpus.len());
            let planned = self.planned(member.arm);
            let wall_ns = since(member.started_ns, host.now_ns());
            plausible::receiver(&delivery, planned, cpus, wall_ns)
                .map_err(|what| Failure::evidence(format!("{} {what}", member.name())))?;
            self.members[i].delivery = Some(delivery);
        }
        self.speaking_to = None;
        Ok(())
    }

    /// Counted datagrams that are sent to an arm.
    fn planned(&self, arm: usize) -> u64 {
        let name = self.setting.group_name(arm);
        let of_arm = self.groups.iter().filter(|group| group.name == name);
        let slices = of_arm.flat_map(|group| &group.slices);
        slices
            .filter(|slice| slice.class == Class::Counted)
            .map(|slice| slice.packets)
            .sum()
    }

    /// Fails when a receiver has said something that nobody asked for.
    fn nothing_more(&mut self) -> Result<(), Failure> {
        for i in 0..self.members.len() {
            self.speaking_to = Some(self.members[i].arm);
            if let Some(said) = self.members[i].process_mut().poll(Duration::ZERO)? {
                return Err(self.unexpected(i, &said));
            }
        }
        self.speaking_to = None;
        Ok(())
    }

    /// Ends every process, the generator first.
    fn end(&mut self) {
        let receivers = self
            .members
            .iter_mut()
            .filter_map(|member| member.process.as_mut());
        for process in self.generator.iter_mut().chain(receivers) {
            process.end();
        }
    }

    fn ask(&mut self, i: usize, message: &ToChild, limit: Duration) -> Result<FromChild, Failure> {
        self.speaking_to = Some(self.members[i].arm);
        let process = self.members[i].process_mut();
        process.send(message)?;
        process.receive(limit)
    }

    fn hear(&mut self, i: usize, limit: Duration) -> Result<FromChild, Failure> {
        self.speaking_to = Some(self.members[i].arm);
        self.members[i].process_mut().receive(limit)
    }

    fn generator_mut(&mut self) -> &mut dyn Process {
        &mut **self
            .generator
            .as_mut()
            .expect("launched before it is spoken to")
    }

    fn unexpected(&self, i: usize, message: &FromChild) -> Failure {
        unexpected(&self.members[i].name(), message)
    }

    fn scheduled_ns(&self) -> u64 {
        scheduled_ns(&self.groups, self.setting.live(self.job).traffic.rate_pps)
    }

    fn receiver_prepare(&self, member: &Member) -> Result<ToChild, Failure> {
        let live = self.setting.live(self.job);
        let spec = &live.receivers[member.arm];
        let name = self.setting.group_name(member.arm);
        let group = self
            .groups
            .iter()
            .find(|group| group.name == name)
            .expect("every member has a group");
        let interface = self.setting.interface.to_owned();
        let family = self.setting.campaign.topology.family;
        let deadline_ns = self.deadline_ns() + spec.drain_limit_ns;
        let cpu = self.setting.placement.receiver;
        Ok(match &spec.program {
            Measured::BuiltIn { capture, engine } => ToChild::PrepareReceiver(ReceiverPrepare {
                interface,
                family,
                port: group.target.port(),
                source_ports: group.source_ports,
                identity: member.identity,
                form: form(self.setting, &live.traffic),
                planned: slices::planned_per_flow(&group.slices, live.traffic.flows),
                capture: capture.clone(),
                engine: *engine,
                drain_limit_ns: spec.drain_limit_ns,
                quiet_ns: (2 * capture.timeout_ns).max(QUIET_NS),
                deadline_ns,
                cpu,
            }),
            Measured::Outside(program) => ToChild::PrepareOutside(OutsidePrepare {
                interface,
                family,
                port: group.target.port(),
                source_ports: group.source_ports,
                packets: group.slices.iter().map(|slice| slice.packets).sum(),
                program: self.setting.executable(member.arm, program)?,
                drain_limit_ns: spec.drain_limit_ns,
                quiet_ns: QUIET_NS,
                deadline_ns,
                cpu,
            }),
        })
    }

    fn generator_prepare(&self) -> GeneratorPrepare {
        let traffic = &self.setting.live(self.job).traffic;
        GeneratorPrepare {
            receive_thread: self.setting.receive_thread,
            groups: self.groups.clone(),
            rate_pps: traffic.rate_pps,
            frame_size: traffic.frame_size,
            form: form(self.setting, traffic),
            method: traffic.method,
            batch: traffic.batch,
            senders: traffic.senders,
            max_burst: traffic.max_burst,
            deadline_ns: self.deadline_ns(),
            cpus: self.setting.placement.senders.clone(),
            allowed_targets: self.setting.allowed_targets.to_vec(),
        }
    }

    fn deadline_ns(&self) -> u64 {
        self.scheduled_ns() * 2 + CHILD_SLACK_NS
    }
}

/// The groups of a run: one a member, then the control port.
fn groups(setting: &Setting<'_>, job: &Job<'_>, members: &[Member]) -> Vec<Group> {
    let (case, live) = (setting.case(job), setting.live(job));
    let count = members.len() + 1;
    let mut stretches = slices::draw(
        &live.traffic,
        count,
        setting.seed,
        &case.name,
        job.planned.pair,
    );
    let filled: Vec<usize> = (0..members.len())
        .filter(|at| count::needs_filler(&live.receivers[members[*at].arm]))
        .collect();
    slices::add_filler(
        &mut stretches,
        &filled,
        count::FILLER,
        live.traffic.rate_pps,
    );
    let names = members
        .iter()
        .map(|member| (setting.group_name(member.arm), member.arm));
    let control = (GroupName::Control, setting.campaign.arms.len());
    names
        .chain([control])
        .zip(stretches)
        .map(|((name, arm), slices)| Group {
            name,
            target: setting.campaign.topology.target(arm),
            source_ports: source_ports(setting, job, arm, live.traffic.flows),
            identity: identity(setting, job, arm),
            slices,
        })
        .collect()
}

/// Ports that no trial shortly before has used: each pair moves on by what it needs.
fn source_ports(setting: &Setting<'_>, job: &Job<'_>, arm: usize, flows: u16) -> SourcePorts {
    let flows = u32::from(flows);
    let groups = u32::try_from(setting.campaign.arms.len() + 1).expect("a handful of groups");
    let room = SOURCE_PORTS.len() / (groups * flows) as usize;
    let room = room.max(1) as u64;
    let turn = (setting.run_id % room + job.planned.pair) % room;
    let turn = u32::try_from(turn).expect("less than the number of ports");
    let arm = u32::try_from(arm).expect("a handful of groups");
    let first = SOURCE_PORTS.start + (turn * groups + arm) * flows;
    SourcePorts {
        first: u16::try_from(first).expect("inside the range"),
        count: u16::try_from(flows).expect("was a u16"),
    }
}

/// Identity of the datagrams of `arm`; the control port counts as the arm after the last.
pub(super) fn identity(setting: &Setting<'_>, job: &Job<'_>, arm: usize) -> TrialIdentity {
    let trial = trial_number(setting.campaign.arms.len(), job.planned.pair, arm);
    TrialIdentity {
        run_id: setting.run_id,
        trial,
        nonce: nonce(setting.run_id, trial.into()),
    }
}

/// Number of a trial in a campaign of `arms` arms: the control port counts as one more.
pub(crate) fn trial_number(arms: usize, pair: u64, arm: usize) -> u32 {
    let trial = pair * (arms as u64 + 1) + arm as u64;
    u32::try_from(trial).expect("campaigns have fewer trials")
}

/// Random per trial as the run id is random per session: the high half of a SplitMix64 draw.
fn nonce(run_id: u64, trial: u64) -> u32 {
    let draw = wiretrial_stats::random::Stream::new(run_id).at(trial);
    u32::try_from(draw >> 32).expect("32 bits are left")
}

fn form(setting: &Setting<'_>, traffic: &Traffic) -> Form {
    FrameSize(traffic.frame_size)
        .payload(setting.campaign.topology.family)
        .and_then(Form::for_payload)
        .expect("the campaign file was checked")
}

fn scheduled_ns(groups: &[Group], rate_pps: u64) -> u64 {
    let ends = groups.iter().flat_map(|group| &group.slices).map(|slice| {
        u128::from(slice.start_ns)
            + u128::from(slice.packets) * 1_000_000_000 / u128::from(rate_pps)
    });
    u64::try_from(ends.max().unwrap_or(0)).unwrap_or(u64::MAX / 4)
}

pub(super) fn unexpected(name: &str, message: &FromChild) -> Failure {
    let kind = match message {
        FromChild::Hello(_) => "hello",
        FromChild::Ready(_) => "ready",
        FromChild::Seen => "seen",
        FromChild::Armed => "armed",
        FromChild::Done(_) => "done",
        FromChild::GeneratorReport(_)
        | FromChild::ReceiverReport(_)
        | FromChild::CountReport(_)
        | FromChild::PassReport(_) => "report",
        FromChild::Error(_) => "error",
    };
    Failure::evidence(format!("{name} said {kind} out of turn"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonces_differ_between_trials_and_sessions() {
        let all: std::collections::BTreeSet<u32> = (0..100)
            .flat_map(|trial| [nonce(1, trial), nonce(2, trial)])
            .collect();
        assert_eq!(all.len(), 200);
    }
}
