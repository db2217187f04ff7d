//! One pair, whatever it is made of.

use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::Work;
use wiretrial_contract::record::{Outcome, TrialRecord};

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
