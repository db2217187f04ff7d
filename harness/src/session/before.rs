//! What runs before the seal: the rehearsal, then the pilot, each with a plan and rows of its own.

use wiretrial_contract::clock;
use wiretrial_contract::digest::sha256;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::Plan;
use wiretrial_contract::record::TrialRecord;

use super::Options;
use super::opened::Opened;
use crate::evidence::folder::{Folder, PILOT, PLAN, RAW, REHEARSAL};
use crate::evidence::json::pretty;
use crate::evidence::rows::Rows;
use crate::pilot::{self, rehearsal};
use crate::run;
use crate::trial::setting::{InputFiles, Programs, Setting};

/// Time between two lines about the pilot.
const PROGRESS_NS: u64 = 10_000_000_000;

/// What they need besides the host.
pub(super) struct Before<'a> {
    /// The plan without what the pilot will give it.
    pub(super) plan: &'a Plan,
    pub(super) programs: &'a Programs,
    pub(super) inputs: &'a [Option<InputFiles>],
    pub(super) folder: &'a Folder,
    pub(super) options: &'a Options,
    /// Random for this session of running.
    pub(super) run_id: u64,
}

impl Before<'_> {
    /// Rehearses every arm and case.
    pub(super) fn rehearse(&self, opened: &mut Opened) -> Result<(), Failure> {
        opened.hold_control_port(&self.plan.campaign)?;
        let plan = rehearsal::plan(self.plan);
        let mut rows = self.begin(&plan, REHEARSAL)?;
        let raw = self.folder.path().join(REHEARSAL).join(RAW);
        let setting = Setting {
            run_id: self.run_id ^ 1,
            raw: &raw,
            ..self.setting(&plan, opened)
        };
        run::rehearse(&mut opened.host, &setting, &plan, &mut rows)
    }

    /// Runs the pilot, if there is to be one: its plan and rows.
    pub(super) fn pilot(
        &self,
        opened: &mut Opened,
        say: &mut dyn FnMut(&str),
    ) -> Result<Option<(Plan, Vec<TrialRecord>)>, Failure> {
        let Some(plan) = pilot::plan(self.plan) else {
            return Ok(None);
        };
        let mut rows = self.begin(&plan, PILOT)?;
        let raw = self.folder.path().join(PILOT).join(RAW);
        let setting = Setting {
            run_id: self.run_id ^ 2,
            raw: &raw,
            ..self.setting(&plan, opened)
        };
        let planned = plan.pairs.len();
        say(&format!(
            "  pilot: {planned} pairs before the plan is sealed"
        ));
        let mut said_ns = clock::monotonic_ns();
        let records = run::pilot(&mut opened.host, &setting, &plan, &mut rows, &mut |rows| {
            let now = clock::monotonic_ns();
            if now - said_ns >= PROGRESS_NS {
                said_ns = now;
                let done = rows.last().map_or(0, |row| row.pair + 1);
                say(&format!("  pilot: {done} of {planned} pairs"));
            }
        })?;
        Ok(Some((plan, records)))
    }

    /// Writes a plan into its folder and starts its rows.
    fn begin(&self, plan: &Plan, place: &str) -> Result<Rows, Failure> {
        let bytes = pretty(plan);
        self.folder.write(&format!("{place}/{PLAN}"), &bytes)?;
        self.folder.make(&format!("{place}/{RAW}"))?;
        Rows::create(&self.folder.path().join(place), &sha256(&bytes))
    }

    fn setting<'a>(&'a self, plan: &'a Plan, opened: &Opened) -> Setting<'a> {
        Setting {
            campaign: &plan.campaign,
            rule: &plan.rule,
            placement: &plan.placement,
            programs: self.programs,
            interface: plan.campaign.topology.kind.interface(),
            run_id: self.run_id,
            seed: plan.seed.0,
            began_ns: clock::monotonic_ns(),
            gone_ns: 0,
            raw: self.folder.path(),
            allowed_targets: &self.options.allowed_targets,
            receive_thread: opened.host.made().receive_thread,
            inputs: self.inputs,
        }
    }
}
