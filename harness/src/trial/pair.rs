//! One pair, whatever it is made of.

use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::Work;
use wiretrial_contract::record::TrialRecord;

use super::setting::{Job, Setting};
use super::{conduct, passes};
use crate::host::Host;

/// What running a pair gave: rows in launch order, and the signal that ended it early, if one came.
#[derive(Debug)]
pub struct PairRun {
    /// One row a member that was started.
    pub rows: Vec<TrialRecord>,
    /// [`Failure::interrupted`], when that is why it ended.
    pub stopped: Option<Failure>,
}

/// Runs one pair.
pub fn run(host: &mut dyn Host, setting: &Setting<'_>, job: &Job<'_>) -> PairRun {
    match &setting.case(job).work {
        Work::Live(_) => conduct::pair(host, setting, job),
        Work::Passes(work) => passes::pair(host, setting, job, work),
    }
}
