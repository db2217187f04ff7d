//! What stays the same over a campaign's trials, and what is asked of one pair.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use wiretrial_contract::control::{Executable, GroupName};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{Arrangement, Campaign, Case, Live, Placement, PlannedPair, Rule};
use wiretrial_contract::program::ProgramSpec;
use wiretrial_contract::record::Phase;

/// What stays the same over a campaign.
#[derive(Debug)]
pub struct Setting<'a> {
    /// The campaign.
    pub campaign: &'a Campaign,
    /// Constants of the decision rule.
    pub rule: &'a Rule,
    /// CPUs of the processes.
    pub placement: &'a Placement,
    /// Executables.
    pub programs: &'a Programs,
    /// Interface to capture on.
    pub interface: &'a str,
    /// The kernel thread that receives, where there is one.
    pub receive_thread: Option<u32>,
    /// Random for this session of running.
    pub run_id: u64,
    /// Seed of the campaign.
    pub seed: u64,
    /// Start of this session, `CLOCK_MONOTONIC` ns.
    pub began_ns: u64,
    /// Campaign time at that moment, ns: what earlier sessions took.
    pub gone_ns: u64,
    /// Folder for what children say on standard error.
    pub raw: &'a Path,
    /// Targets the user allowed.
    pub allowed_targets: &'a [IpAddr],
    /// The input of each case, where it reads one.
    pub inputs: &'a [Option<InputFiles>],
}

/// Where the input of a case lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFiles {
    /// All of it.
    pub whole: PathBuf,
    /// Its first packets.
    pub short: PathBuf,
}

/// Executables of a campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// The generator; none where nothing is sent.
    pub generator: Option<Program>,
    /// The receiver of each arm.
    pub receivers: Vec<Program>,
    /// The program of the user's that each arm measures; none where it is the receiver itself.
    pub outside: Vec<Option<Program>>,
}

impl Programs {
    /// What is measured in an arm.
    #[must_use]
    pub fn measured(&self, arm: usize) -> &Program {
        let outside = self.outside.get(arm).and_then(Option::as_ref);
        outside.unwrap_or(&self.receivers[arm])
    }
}

/// One executable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Where it is.
    pub path: PathBuf,
    /// SHA-256 of its bytes when the plan was sealed.
    pub sha256: String,
}

/// One pair to run.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The pair.
    pub planned: &'a PlannedPair,
    /// When in the campaign.
    pub phase: Phase,
    /// The voided pair it replaces.
    pub replaces: Option<u64>,
    /// The arms whose members run now, in launch order: all of them at once, or where one runs after
    /// the other the next one.
    pub arms: &'a [usize],
}

/// The arms of a pair or round in launch order, those together that run at the same time.
#[must_use]
pub fn together(campaign: &Campaign, planned: &PlannedPair) -> Vec<Vec<usize>> {
    let arms = planned.order.arms();
    match campaign.design.arrangement {
        Arrangement::Interleaved => vec![arms],
        Arrangement::Sequential => arms.into_iter().map(|arm| vec![arm]).collect(),
    }
}

impl Setting<'_> {
    /// As [`together`].
    #[must_use]
    pub fn together(&self, planned: &PlannedPair) -> Vec<Vec<usize>> {
        together(self.campaign, planned)
    }

    pub(super) fn case(&self, job: &Job<'_>) -> &Case {
        &self.campaign.cases[job.planned.case as usize]
    }

    /// The live work of a job's case.
    ///
    /// # Panics
    ///
    /// A case of another kind, which nobody gives to the steps of a live pair.
    pub(super) fn live(&self, job: &Job<'_>) -> &Live {
        self.case(job).live().expect("the case sends packets")
    }

    /// The generator of a live campaign.
    ///
    /// # Panics
    ///
    /// In a campaign that sends nothing.
    pub(super) fn generator(&self) -> &Program {
        self.programs
            .generator
            .as_ref()
            .expect("a live campaign has a generator")
    }

    /// The program of the user's that an arm measures, for its receiver to start.
    ///
    /// # Errors
    ///
    /// The plan has a program where none was found.
    pub(super) fn executable(&self, arm: usize, spec: &ProgramSpec) -> Result<Executable, Failure> {
        let program = self.programs.outside.get(arm).and_then(Option::as_ref);
        let program = program.ok_or_else(|| {
            let name = &self.campaign.arms[arm].name;
            Failure::host(format!("the program of {name} was not found"))
        })?;
        // It is started from another folder.
        let path = std::path::absolute(&program.path)
            .map_err(|error| Failure::host(format!("cannot find this folder: {error}")))?;
        Ok(Executable {
            path: path.to_string_lossy().into_owned(),
            sha256: program.sha256.clone(),
            spec: spec.clone(),
        })
    }

    pub(super) fn group_name(&self, arm: usize) -> GroupName {
        GroupName::Arm(self.campaign.arms[arm].name.clone())
    }

    pub(super) fn interleaved(&self) -> bool {
        self.campaign.design.arrangement == Arrangement::Interleaved
    }

    /// Whether the sender does the kernel's receive work.
    pub(super) fn coupled(&self) -> bool {
        self.campaign.topology.coupled()
    }
}
