//! One pair, whatever it is made of.

use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{PlannedPair, Work};
use wiretrial_contract::record::{Outcome, Phase, TrialRecord};

use super::guards::pair_offered;
use super::pairs::offered_of_all;
use super::setting::{Job, Setting};
use super::{conduct, passes};
use crate::host::Host;

/// What running members of a pair gave: rows in launch order, and the signal that ended it early, if
/// one came.
#[derive(Debug)]
pub struct PairRun {
    /// One row a member that was started.
    pub rows: Vec<TrialRecord>,
    /// [`Failure::interrupted`], when that is why it ended.
    pub stopped: Option<Failure>,
}

/// Runs the members of a pair that `job` names; `earlier` are the rows of those that ran before them.
pub fn run(
    host: &mut dyn Host,
    setting: &Setting<'_>,
    job: &Job<'_>,
    earlier: &[TrialRecord],
) -> PairRun {
    let mut run = match &setting.case(job).work {
        Work::Live(_) => conduct::members(host, setting, job),
        Work::Passes(work) => passes::pair(host, setting, job, work),
    };
    if !setting.coupled() {
        guard(setting, earlier, &mut run.rows);
    }
    run
}

/// Runs a pair to its end where nothing is written between its members, as before the seal: one after
/// the other, up to the first that does not count.
pub fn whole(
    host: &mut dyn Host,
    setting: &Setting<'_>,
    planned: &PlannedPair,
    phase: Phase,
    replaces: Option<u64>,
) -> PairRun {
    let mut all = PairRun {
        rows: Vec::new(),
        stopped: None,
    };
    for arms in setting.together(planned) {
        let job = Job {
            planned,
            phase,
            replaces,
            arms: &arms,
        };
        let mut members = run(host, setting, &job, &all.rows);
        all.rows.append(&mut members.rows);
        all.stopped = members.stopped;
        if all.stopped.is_some() || all.rows.iter().any(|row| row.outcome != Outcome::Ok) {
            break;
        }
    }
    all
}

/// Adds the guard on how far the members' loads lie apart, once all of them have run, to the rows
/// that are not written yet.
fn guard(setting: &Setting<'_>, earlier: &[TrialRecord], rows: &mut [TrialRecord]) {
    let all: Vec<&TrialRecord> = earlier.iter().chain(rows.iter()).collect();
    let Some(guard) = offered_of_all(&all).and_then(|all| pair_offered(setting.rule, &all)) else {
        return;
    };
    for row in rows {
        if !guard.passed && row.outcome == Outcome::Ok {
            row.outcome = Outcome::Voided;
        }
        row.guards.push(guard.clone());
    }
}
