//! The steps of a pair that reads the same input again and again: quiet, launch, prepare, passes.
//!
//! Both members are alive; their passes over the whole input and over its first packets alternate
//! in drawn order, so that what the host does meanwhile is done to both. Nothing is sent. A member
//! whose pass fails ends the run and is written into its row.

use std::time::Duration;

use wiretrial_contract::control::{
    FromChild, Message, Pass, PassInput, PassWork, PassesPrepare, Ready, Role, ToChild,
};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{PassProgram, Passes};
use wiretrial_contract::record::{Delivery, Guard, HostWindow, Step, TRIAL_SCHEMA, TrialRecord};
use wiretrial_contract::report::PassReport;
use wiretrial_stats::order;
use wiretrial_stats::random::{Purpose, Stream, stream_seed};

use super::conduct::{identity, unexpected};
use super::guards::{self, DesignView};
use super::member::{Broken, interrupted, outcome, placed_on};
use super::pair::PairRun;
use super::setting::{Job, Setting};
use crate::host::{Host, Launch, Process};

const READY_LIMIT: Duration = Duration::from_secs(10);
/// What a pass may take beyond its own limit: starting and ending it.
const PASS_SLACK: Duration = Duration::from_secs(5);
/// What a child's own deadline allows beyond every pass.
const CHILD_SLACK_NS: u64 = 60_000_000_000;

/// Runs one pair of `work`.
pub(super) fn pair(
    host: &mut dyn Host,
    setting: &Setting<'_>,
    job: &Job<'_>,
    work: &Passes,
) -> PairRun {
    let mut run = Run {
        setting,
        job,
        work,
        members: job.arms.iter().copied().map(Member::new).collect(),
        window: None,
        step: Step::Quiet,
        speaking_to: None,
    };
    let broken = run.steps(host).err().map(|failure| Broken {
        step: run.step,
        arm: run.speaking_to,
        failure,
    });
    let ended_ns = host.now_ns();
    let stopped = broken
        .as_ref()
        .filter(|broken| broken.failure == Failure::interrupted())
        .map(|broken| broken.failure.clone());
    // Before the first launch there is nothing to have a row of.
    let began = run.members.iter().filter(|_| run.step > Step::Quiet);
    let rows = began
        .map(|member| run.row(member, broken.as_ref(), ended_ns))
        .collect();
    for member in &mut run.members {
        member.process.iter_mut().for_each(|process| process.end());
    }
    PairRun { rows, stopped }
}

/// The passes of a pair in the order in which they run: in each block every one of `arms` arms reads
/// the whole input and the short one once, in drawn order.
#[must_use]
pub fn drawn(
    arms: usize,
    passes: u32,
    short: bool,
    seed: u64,
    case: &str,
    pair: u64,
) -> Vec<(usize, PassInput)> {
    let seeds = Stream::new(stream_seed(Purpose::Slice, case, seed));
    let mut stream = Stream::new(seeds.at(pair));
    let mut all = Vec::new();
    for _ in 0..passes {
        let mut block: Vec<(usize, PassInput)> = (0..arms)
            .flat_map(|arm| {
                let inputs = [PassInput::Whole, PassInput::Short];
                inputs.map(|input| (arm, input))
            })
            .filter(|(_, input)| short || *input == PassInput::Whole)
            .collect();
        order::shuffle(&mut block, &mut stream);
        all.extend(block);
    }
    all
}

struct Member {
    arm: usize,
    process: Option<Box<dyn Process>>,
    started_ns: u64,
    ready: Option<Ready>,
    passes: Vec<PassReport>,
}

impl Member {
    fn new(arm: usize) -> Self {
        Self {
            arm,
            process: None,
            started_ns: 0,
            ready: None,
            passes: Vec::new(),
        }
    }

    fn process_mut(&mut self) -> &mut dyn Process {
        &mut **self
            .process
            .as_mut()
            .expect("launched before it is spoken to")
    }
}

struct Run<'a> {
    setting: &'a Setting<'a>,
    job: &'a Job<'a>,
    work: &'a Passes,
    members: Vec<Member>,
    window: Option<HostWindow>,
    step: Step,
    /// Arm whose receiver is being spoken to.
    speaking_to: Option<usize>,
}

impl Run<'_> {
    fn steps(&mut self, host: &mut dyn Host) -> Result<(), Failure> {
        let rest = self.setting.campaign.design.rest_ns + self.job.planned.gap_ns;
        host.wait_quiet(Duration::from_nanos(rest), self.setting.rule.foreign_cpu)?;
        self.launch(host)?;
        self.prepare()?;
        let ours: Vec<u32> = self
            .members
            .iter()
            .filter_map(|member| member.process.as_ref())
            .map(|process| process.hello().pid)
            .collect();
        host.begin_window(&ours)?;
        self.passes()?;
        self.speaking_to = None;
        self.window = Some(host.end_window()?);
        Ok(())
    }

    fn launch(&mut self, host: &mut dyn Host) -> Result<(), Failure> {
        self.step = Step::Launch;
        for member in &mut self.members {
            self.speaking_to = Some(member.arm);
            let name = &self.setting.campaign.arms[member.arm].name;
            member.started_ns = host.now_ns();
            member.process = Some(host.launch(&Launch {
                role: Role::Receiver,
                name: format!("receiver of {name}"),
                program: self.setting.programs.receivers[member.arm].path.clone(),
                padding: self.job.planned.padding,
                stderr: self.setting.raw.join(format!("receiver-{name}.stderr")),
            })?);
        }
        Ok(())
    }

    fn prepare(&mut self) -> Result<(), Failure> {
        self.step = Step::Prepare;
        for i in 0..self.members.len() {
            let arm = self.members[i].arm;
            self.speaking_to = Some(arm);
            let prepare = ToChild::PreparePasses(self.passes_prepare(arm)?);
            let process = self.members[i].process_mut();
            if process.hello().protocol[1] < prepare.version() {
                return Err(Failure::usage(format!(
                    "{} speaks protocol {} to {}; reading files needs {}, compare newer revisions",
                    process.name(),
                    process.hello().protocol[0],
                    process.hello().protocol[1],
                    prepare.version()
                )));
            }
            process.send(&prepare)?;
            match process.receive(READY_LIMIT)? {
                FromChild::Ready(ready @ Ready::Passes(_)) => self.members[i].ready = Some(ready),
                other => return Err(unexpected(self.members[i].process_mut().name(), &other)),
            }
        }
        Ok(())
    }

    fn passes(&mut self) -> Result<(), Failure> {
        self.step = Step::Pass;
        let case = self.setting.case(self.job);
        let order = drawn(
            self.setting.campaign.arms.len(),
            self.work.passes,
            self.work.input.is_some(),
            self.setting.seed,
            &case.name,
            self.job.planned.pair,
        );
        let limit = Duration::from_nanos(self.work.limit_ns) + PASS_SLACK;
        for (arm, input) in order {
            self.speaking_to = Some(arm);
            let member = self
                .members
                .iter_mut()
                .find(|member| member.arm == arm)
                .expect("every arm has a member");
            let process = member.process_mut();
            process.send(&ToChild::Pass(Pass { input }))?;
            match process.receive(limit)? {
                FromChild::PassReport(report) if report.input == input => {
                    member.passes.push(*report);
                }
                other => return Err(unexpected(process.name(), &other)),
            }
        }
        Ok(())
    }

    fn passes_prepare(&self, arm: usize) -> Result<PassesPrepare, Failure> {
        let passes = match &self.work.programs[arm] {
            PassProgram::RawFold => PassWork::RawFold,
            PassProgram::Outside(spec) => PassWork::Outside(self.setting.executable(arm, spec)?),
        };
        let files = self.setting.inputs.get(self.job.planned.case as usize);
        let files = files.and_then(Option::as_ref);
        let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
        let input = self.work.input.as_ref();
        let runs = u64::from(self.work.passes) * 2 * self.members.len() as u64;
        Ok(PassesPrepare {
            passes,
            file: files.map(|files| text(&files.whole)),
            short_file: files.map(|files| text(&files.short)),
            packets: input.map_or([0, 0], |input| [input.units, input.short_units]),
            limit_ns: self.work.limit_ns,
            deadline_ns: self.work.limit_ns.saturating_mul(runs) + CHILD_SLACK_NS,
            cpu: self.setting.placement.receiver,
        })
    }

    fn row(&self, member: &Member, broken: Option<&Broken>, ended_ns: u64) -> TrialRecord {
        let setting = self.setting;
        let guards = match broken {
            None => self.guards(member),
            Some(broken) => interrupted(broken, member.arm).into_iter().collect(),
        };
        let receiver_sha256 = member.process.as_ref().map(|p| p.hello().sha256.clone());
        let since = |ns: u64| setting.gone_ns + ns.saturating_sub(setting.began_ns);
        TrialRecord {
            schema: TRIAL_SCHEMA.into(),
            prev: String::new(),
            row: 0,
            phase: self.job.phase,
            case: setting.case(self.job).name.clone(),
            arm: setting.campaign.arms[member.arm].name.clone(),
            pair: self.job.planned.pair,
            replaces: self.job.replaces,
            order: self.job.planned.order.clone(),
            identity: identity(setting, self.job, member.arm),
            outcome: outcome(broken, &guards),
            started_ns: since(member.started_ns),
            ended_ns: since(ended_ns),
            intended_pps: None,
            program_sha256: self.ran(member).or_else(|| receiver_sha256.clone()),
            receiver_sha256,
            generator_sha256: None,
            ready: member.ready.clone(),
            generator: None,
            delivery: (!member.passes.is_empty()).then(|| Delivery::Passes(member.passes.clone())),
            host: self.window.clone(),
            ledger: None,
            guards,
            flags: placed_on(setting.placement, self.cpus(member)),
        }
    }

    /// What ran, if it was the same in every pass: else the guard says which were not.
    fn ran(&self, member: &Member) -> Option<String> {
        member
            .passes
            .first()
            .map(|pass| pass.program_sha256.clone())
    }

    fn cpus<'m>(&self, member: &'m Member) -> Option<&'m [u32]> {
        match member.ready.as_ref()? {
            Ready::Passes(ready) => Some(&ready.cpus),
            Ready::Receiver(_) | Ready::Generator(_) => None,
        }
    }

    fn guards(&self, member: &Member) -> Vec<Guard> {
        let Some(window) = &self.window else {
            return Vec::new();
        };
        let setting = self.setting;
        let arm = &setting.campaign.arms[member.arm].name;
        let said = member.process.as_ref().map(|p| p.hello().sha256.clone());
        let receiver = &setting.programs.receivers[member.arm].sha256;
        let sealed = setting.programs.measured(member.arm);
        let mut binaries = vec![(
            format!("receiver of {arm}"),
            receiver.clone(),
            said.unwrap_or_default(),
        )];
        let mut ran: Vec<&String> = member.passes.iter().map(|p| &p.program_sha256).collect();
        ran.dedup();
        binaries.extend(ran.into_iter().map(|ran| {
            (
                format!("program of {arm}"),
                sealed.sha256.clone(),
                ran.clone(),
            )
        }));
        guards::check(&DesignView::of_passes(setting.rule, binaries, window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn every_block_has_each_input_of_each_arm_once_in_drawn_order() {
        let order = drawn(2, 50, true, 1, "case", 3);
        assert_eq!(order.len(), 200);
        for block in order.chunks(4) {
            let mut counts = BTreeMap::new();
            for (arm, input) in block {
                *counts
                    .entry((*arm, *input == PassInput::Short))
                    .or_insert(0) += 1;
            }
            assert!(
                counts.len() == 4 && counts.values().all(|n| *n == 1),
                "{block:?}"
            );
        }
        let firsts: std::collections::BTreeSet<_> = order
            .chunks(4)
            .map(|block| (block[0].0, block[0].1 == PassInput::Short))
            .collect();
        assert_eq!(firsts.len(), 4, "every pass comes first some time");
        assert_eq!(order, drawn(2, 50, true, 1, "case", 3));
        assert_ne!(order, drawn(2, 50, true, 1, "case", 4));
    }

    #[test]
    fn command_lines_have_no_short_input() {
        let order = drawn(2, 5, false, 1, "case", 0);
        assert_eq!(order.len(), 10);
        assert!(order.iter().all(|(_, input)| *input == PassInput::Whole));
    }
}
