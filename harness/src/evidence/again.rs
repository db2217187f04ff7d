//! Evidence that is not finished, opened to go on with: the plan and its rows hold, a last line that a
//! crash tore is cut and kept aside.

use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::Plan;
use wiretrial_contract::record::TrialRecord;

use super::environment::Environment;
use super::folder::{Folder, RAW, SUMS};
use super::replay;
use super::rows::{self, Rows};
use super::verify;
use crate::campaign::plan as sealing;

/// What there is of a campaign.
#[derive(Debug)]
pub struct Again {
    folder: Folder,
    /// The sealed plan.
    pub plan: Plan,
    /// SHA-256 of its bytes.
    pub plan_sha256: String,
    /// The rows' file, ready for more.
    pub rows: Rows,
    /// The rows.
    pub records: Vec<TrialRecord>,
    /// The sessions before.
    pub environment: Environment,
    /// The torn last line.
    torn: Option<Vec<u8>>,
}

/// Opens what there is in `folder`, and changes nothing of it.
///
/// # Errors
///
/// A file cannot be read (exit 4), or the plan, a row before the last or the environment does not hold, or
/// the rows are not those that were judged (exit 5).
pub fn open(folder: Folder) -> Result<Again, Failure> {
    let (plan, plan_sha256) = folder.plan()?;
    sealing::check(&plan)?;
    let environment = Environment::read(&folder)?;
    if folder.path().join(SUMS).exists() {
        verify::check_sum(&folder, rows::FILE)?;
    }
    let resumed = Rows::resume(folder.path(), &plan_sha256)?;
    environment.check(resumed.records.len() as u64)?;
    replay::check(&plan, &resumed.records)?;
    Ok(Again {
        folder,
        plan,
        plan_sha256,
        rows: resumed.rows,
        records: resumed.records,
        environment,
        torn: resumed.torn,
    })
}

impl Again {
    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Campaign time when the last row was written, ns.
    #[must_use]
    pub fn gone_ns(&self) -> u64 {
        let ended = self.records.iter().map(|row| row.ended_ns);
        ended.max().unwrap_or(0)
    }

    /// Puts right what a crash left: the bytes of a torn line go to `raw/torn-N` before they are cut,
    /// and half-written files away. The hashes go too: what follows makes other evidence of it. The number
    /// of torn bytes.
    ///
    /// # Errors
    ///
    /// The torn bytes cannot be written or cut (exit 4).
    pub fn mend(&mut self) -> Result<Option<u64>, Failure> {
        self.folder.drop_parts()?;
        self.folder.drop_sums()?;
        let Some(bytes) = self.torn.take() else {
            return Ok(None);
        };
        let session = self.environment.sessions.len();
        self.folder
            .write(&format!("{RAW}/torn-{session}"), &bytes)?;
        self.rows.cut()?;
        Ok(Some(bytes.len() as u64))
    }
}
