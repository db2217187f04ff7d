//! One session of running a campaign: the host is open, the executables are kept, the plan is
//! sealed. A resumed campaign has several.

mod before;
mod cut;
pub(crate) mod inputs;
mod opened;

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use before::Before;
use opened::Opened;
use wiretrial_contract::analysis::Analysis;
use wiretrial_contract::clock;
use wiretrial_contract::control::Isolation;
use wiretrial_contract::digest::sha256;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{Campaign, Plan, Seed};
use wiretrial_contract::record::TrialRecord;
use wiretrial_contract::units::Nanos;

use crate::campaign::{file, plan as sealing};
use crate::evidence::environment::{Environment, HOST};
use crate::evidence::folder::{self, Folder, PLAN, RAW, SUMS};
use crate::evidence::json::pretty;
use crate::evidence::rows::Rows;
use crate::evidence::{again, finish, floors, privacy};
use crate::executables::{self, Found, FoundArm, Named};
use crate::host::{HostLock, Interrupt, IsolationChoice, LocalHost, class};
use crate::pilot;
use crate::revision::Built;
use crate::root::ROOT;
use crate::run;
use crate::trial::next::{Next, next};
use crate::trial::setting::{InputFiles, Programs, Setting};

/// What a session is started with, besides the campaign.
#[derive(Debug)]
pub struct Options {
    /// How trials are kept apart from the host.
    pub isolation: IsolationChoice,
    /// Targets beyond private networks.
    pub allowed_targets: Vec<IpAddr>,
    /// Executables the user named.
    pub named: Named,
    /// The flag that ends every wait.
    pub interrupt: Interrupt,
    /// The lock of this host, if it is held already.
    pub lock: Option<HostLock>,
    /// The how-manyth attempt of its job a CI system says this is.
    pub ci_attempt: Option<u32>,
    /// Where a line goes for whoever waits.
    pub say: fn(&str),
}

/// What a session is to run.
#[derive(Debug)]
pub struct Question {
    /// The campaign, every default filled in.
    pub campaign: Campaign,
    /// The capture file of each case; empty unless they read files.
    pub files: Vec<PathBuf>,
    /// What the arms measure, where that was built or named by its path.
    pub given: Option<[Built; 2]>,
    /// Folder with the logs of building it; they become part of the evidence.
    pub logs: Option<PathBuf>,
}

/// A sealed campaign that is being run.
#[derive(Debug)]
pub struct Session {
    host: LocalHost,
    plan: Plan,
    plan_sha256: String,
    programs: Programs,
    folder: Folder,
    rows: Rows,
    records: Vec<TrialRecord>,
    inputs: Vec<Option<InputFiles>>,
    class: class::HostClass,
    notes: Vec<String>,
    allowed_targets: Vec<IpAddr>,
    run_id: u64,
    began_ns: u64,
    gone_ns: u64,
}

impl Session {
    /// Opens the host, rehearses every arm and case, runs the pilot, and seals the plan in a new
    /// folder: `out`, or one below [`ROOT`]. `say` is told what happens meanwhile.
    ///
    /// # Errors
    ///
    /// Nothing is left behind when the campaign compares a thing with itself, the folder exists
    /// (exit 2), the host cannot run it or a rehearsal did not reach its rate (exit 3).
    pub fn start(
        question: Question,
        seed: Seed,
        out: Option<&Path>,
        options: &Options,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, Failure> {
        if let Some(out) = out {
            folder::refuse_existing(out)?;
        }
        let mut campaign = question.campaign;
        let root = Path::new(ROOT);
        let found = executables::find(&options.named, &campaign, question.given.as_ref())?;
        refuse_same(&campaign, &found)?;
        let inputs = inputs::read(&mut campaign, &question.files, root)?;
        let mut opened = Opened::open(&campaign, found, options)?;
        let isolation = opened.host.isolation();
        let programs = opened.found.keep(isolation, root)?;
        let placement = opened.place(&campaign);
        opened.check_ports(&campaign)?;
        let asked = sealing::question_sha256(&campaign);
        let unsealed = sealing::Inputs {
            earlier_plans: folder::earlier_plans(root, &asked),
            ci_attempt: options.ci_attempt,
            binaries: binaries(&campaign, &programs)?,
            identities: by_arm(&campaign, &opened.found, |arm| arm.identity.clone()),
            origins: by_arm(&campaign, &opened.found, |arm| arm.origin),
            campaign,
            seed,
            isolation,
            placement,
            floors: Vec::new(),
        };
        let now = clock::realtime_ns();
        let occasions = floors::read(root, Some(&opened.class.sha256), now);
        let path = out.map_or_else(
            || folder::unsealed_path(root, &unsealed.campaign.name, now),
            Path::to_owned,
        );
        let mut folder = Folder::create(&path)?;
        let run_id = random()?;
        let sealed = question
            .logs
            .map_or(Ok(()), |logs| folder.adopt(&logs, RAW))
            .and_then(|()| {
                let plan = sealing::plan(unsealed.clone());
                let before = Before {
                    plan: &plan,
                    programs: &programs,
                    inputs: &inputs,
                    folder: &folder,
                    options,
                    run_id,
                };
                before.rehearse(&mut opened)?;
                let piloted = before.pilot(&mut opened, say)?;
                sealed(unsealed, piloted.as_ref(), &occasions.known)
            })
            .and_then(|plan| {
                let bytes = pretty(&plan);
                let plan_sha256 = sha256(&bytes);
                if out.is_none() {
                    let name = &plan.campaign.name;
                    folder.rename(&folder::default_path(root, name, now, &plan_sha256))?;
                }
                opened.note_session(&folder, &mut Environment::new(), 0, None)?;
                folder.write(PLAN, &bytes)?;
                let rows = Rows::create(folder.path(), &plan_sha256)?;
                Ok((plan, plan_sha256, rows))
            });
        let (plan, plan_sha256, rows) = match sealed {
            Ok(sealed) => sealed,
            Err(failure) => {
                folder.discard();
                return Err(failure);
            }
        };
        let notes = pilot::outlook::notes(&plan).into_iter();
        Ok(Self {
            notes: notes
                .chain(occasions.note)
                .chain(opened.host.notes().iter().cloned())
                .collect(),
            host: opened.host,
            plan,
            plan_sha256,
            programs,
            folder,
            rows,
            records: Vec::new(),
            inputs,
            class: opened.class,
            allowed_targets: options.allowed_targets.clone(),
            run_id,
            began_ns: clock::monotonic_ns(),
            gone_ns: 0,
        })
    }

    /// Opens the evidence in `path` to run what is left of its plan.
    ///
    /// # Errors
    ///
    /// Another binary, isolation, host class or set of CPUs than sealed, or a spent budget (exit 2); a
    /// plan, row or environment that does not hold (exit 5).
    pub fn resume(path: &Path, options: &Options) -> Result<Self, Failure> {
        let mut again = again::open(Folder::open(&folder::resolved(path))?)?;
        let plan = again.plan.clone();
        refuse_spent(again.folder(), &plan, &again.records)?;
        let options = &Options {
            isolation: IsolationChoice::from(plan.isolation),
            allowed_targets: options.allowed_targets.clone(),
            named: options.named.clone(),
            interrupt: options.interrupt.clone(),
            lock: options.lock.clone(),
            ci_attempt: options.ci_attempt,
            say: options.say,
        };
        let root = Path::new(ROOT);
        let found = executables::find_again(&options.named, &plan, root)?;
        let inputs = inputs::again(&plan.campaign, root)?;
        let mut opened = Opened::open(&plan.campaign, found, options)?;
        let programs = opened.found.keep(plan.isolation, root)?;
        same_binaries(&plan, &binaries(&plan.campaign, &programs)?)?;
        let class = (opened.class.sha256.clone(), opened.class.words.clone());
        let sealed = again
            .environment
            .sessions
            .first()
            .and_then(|s| s.classes.get(HOST));
        if sealed != Some(&class) {
            return Err(Failure::usage(format!(
                "this host is {}, the campaign ran on {}; it can only go on there",
                class.1,
                sealed.map_or("another", |(_, words)| words)
            )));
        }
        let placement = opened.place(&plan.campaign);
        if placement != plan.placement {
            return Err(Failure::usage(
                "the CPUs this process may use are not those of the sealed plan; see taskset(1)",
            ));
        }
        opened.check_ports(&plan.campaign)?;
        opened.hold_control_port(&plan.campaign)?;
        let torn = again.mend()?;
        let boot = opened.boot();
        let now = cut::Now {
            sessions: &again.environment.sessions,
            boot: boot.as_deref(),
            realtime_ns: clock::realtime_ns(),
        };
        let voiding = cut::voiding(&plan, &again.records, now);
        let rows_before = again.rows.count();
        let folder = again.folder().clone();
        opened.note_session(&folder, &mut again.environment, rows_before, torn)?;
        if let Some(row) = voiding {
            let mut row = [row];
            again.rows.append(&mut row)?;
            again.records.extend(row);
        }
        let notes = opened.host.notes().to_vec();
        Ok(Self {
            host: opened.host,
            programs,
            inputs,
            class: opened.class,
            notes,
            allowed_targets: options.allowed_targets.clone(),
            run_id: random()?,
            began_ns: clock::monotonic_ns(),
            gone_ns: again.gone_ns(),
            plan_sha256: again.plan_sha256,
            rows: again.rows,
            records: again.records,
            plan,
            folder,
        })
    }

    /// Remarks about the pilot, the floors and the host for the person who started it.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What in the sealed plan tells where this is, if anything does: such evidence is not packed.
    #[must_use]
    pub fn names_host(&self) -> Option<String> {
        privacy::remark(&self.folder, PLAN)
    }

    /// The sealed plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// SHA-256 of the sealed plan.
    #[must_use]
    pub fn plan_sha256(&self) -> &str {
        &self.plan_sha256
    }

    /// The evidence folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The rows so far.
    #[must_use]
    pub fn records(&self) -> &[TrialRecord] {
        &self.records
    }

    /// Runs what is left of the plan. `progress` is told the rows after each pair.
    ///
    /// # Errors
    ///
    /// As [`run::run`].
    pub fn run(&mut self, progress: &mut dyn FnMut(&[TrialRecord])) -> Result<(), Failure> {
        let raw = self.folder.path().join(RAW);
        let setting = Setting {
            campaign: &self.plan.campaign,
            rule: &self.plan.rule,
            placement: &self.plan.placement,
            programs: &self.programs,
            interface: self.plan.campaign.topology.kind.interface(),
            receive_thread: self.host.made().receive_thread,
            run_id: self.run_id,
            seed: self.plan.seed.0,
            began_ns: self.began_ns,
            gone_ns: self.gone_ns,
            raw: &raw,
            allowed_targets: &self.allowed_targets,
            inputs: &self.inputs,
        };
        run::run(
            &mut self.host,
            &setting,
            &self.plan,
            &mut self.rows,
            &mut self.records,
            progress,
        )
    }

    /// Judges the rows and writes everything derived from them, the hashes last.
    ///
    /// # Errors
    ///
    /// A file cannot be written (exit 4).
    pub fn finish(&self) -> Result<Analysis, Failure> {
        finish::finish(
            &self.folder,
            &self.plan,
            &self.plan_sha256,
            &self.records,
            (self.class.digits(), &self.class.words),
        )
    }

    /// Keeps the floor that an A/A campaign showed, for the plans of the next two weeks; nothing for
    /// another campaign, or one that did not finish.
    ///
    /// # Errors
    ///
    /// It cannot be written (exit 4); the evidence is whole all the same.
    pub fn keep_floor(&self, analysis: &Analysis) -> Result<(), Failure> {
        if !self.plan.campaign.design.aa || next(&self.plan, &self.records) != Next::Finished {
            return Ok(());
        }
        let root = Path::new(ROOT);
        let below = self.folder.path().strip_prefix(root).ok();
        let environment = Environment::read(&self.folder)?;
        let Some(measured) = environment.last_that_ran(self.records.len() as u64) else {
            return Ok(());
        };
        let occasion = floors::Occasion::of(
            &self.plan,
            analysis,
            &self.class.sha256,
            measured.began.clone(),
            below.map(|path| path.to_string_lossy().into_owned()),
        );
        occasion.map_or(Ok(()), |occasion| floors::keep(root, &occasion))
    }

    /// Points `evidence/latest` to this campaign.
    ///
    /// # Errors
    ///
    /// The link cannot be made (exit 4); the evidence is whole all the same.
    pub fn link_latest(&self) -> Result<(), Failure> {
        folder::link_latest(Path::new(ROOT), &self.folder)
    }
}

/// Refuses to go on where the budget is spent and what was measured is judged.
fn refuse_spent(folder: &Folder, plan: &Plan, rows: &[TrialRecord]) -> Result<(), Failure> {
    let judged = folder.path().join(SUMS).exists();
    match plan.campaign.design.budget_ns {
        Some(budget_ns) if judged && next(plan, rows) == Next::Spent => {
            Err(Failure::usage(format!(
                "the budget of {} is spent, no pair is begun after it; a larger design.budget is a new \
                 campaign",
                Nanos(budget_ns)
            )))
        }
        _ => Ok(()),
    }
}

/// The plan as it is sealed: with what the pilot showed, the pairs it chose where it was to, and the
/// floors known of this host.
fn sealed(
    mut inputs: sealing::Inputs,
    piloted: Option<&(Plan, Vec<TrialRecord>)>,
    occasions: &[floors::Known],
) -> Result<Plan, Failure> {
    let (design, seen) = pilot::decided(&inputs.campaign.design, piloted)?;
    inputs.campaign.design = design;
    inputs.floors = floors::of(&inputs.campaign, occasions);
    Ok(Plan {
        pilot: seen,
        ..sealing::plan(inputs)
    })
}

/// Refuses arms that do not differ, unless that is the point.
fn refuse_same(campaign: &Campaign, found: &Found) -> Result<(), Failure> {
    let [baseline, candidate] = &found.arms[..] else {
        return Ok(());
    };
    let hash = &candidate.identity.sha256;
    if !file::identical_arms(campaign) || baseline.identity.sha256 != *hash {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "baseline and candidate are the same binary (sha256 {}...): nothing to compare. --aa \
         measures the floor on purpose",
        &hash[..4]
    )))
}

/// SHA-256 of every executable, by role.
fn binaries(campaign: &Campaign, programs: &Programs) -> Result<BTreeMap<String, String>, Failure> {
    let mut all = BTreeMap::from([("harness".to_owned(), executables::own_sha256()?)]);
    let generator = programs.generator.iter();
    all.extend(generator.map(|program| ("generator".to_owned(), program.sha256.clone())));
    for (arm, receiver) in campaign.arms.iter().zip(&programs.receivers) {
        all.insert(format!("receiver/{}", arm.name), receiver.sha256.clone());
    }
    for (arm, program) in campaign.arms.iter().zip(&programs.outside) {
        let program = program.iter();
        all.extend(program.map(|p| (format!("program/{}", arm.name), p.sha256.clone())));
    }
    Ok(all)
}

/// Something of what is measured in each arm, by its name.
fn by_arm<T>(
    campaign: &Campaign,
    found: &Found,
    value: impl Fn(&FoundArm) -> T,
) -> BTreeMap<String, T> {
    let arms = campaign.arms.iter().zip(&found.arms);
    arms.map(|(arm, found)| (arm.name.clone(), value(found)))
        .collect()
}

fn same_binaries(plan: &Plan, now: &BTreeMap<String, String>) -> Result<(), Failure> {
    match plan
        .binaries
        .iter()
        .find(|(role, hash)| now.get(*role) != Some(hash))
    {
        None => Ok(()),
        Some((role, hash)) => Err(Failure::usage(format!(
            "{role} is not the executable the plan was sealed with (sha256 {}...); a campaign goes \
             on with the same ones, or starts anew",
            hash.get(..8).unwrap_or(hash)
        ))),
    }
}

/// 64 bits from the kernel's generator (random(4)).
fn random() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    fs::File::open("/dev/urandom")
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut bytes))
        .map_err(|error| Failure::host(format!("cannot read /dev/urandom: {error}")))?;
    Ok(u64::from_le_bytes(bytes))
}

/// A seed from the kernel's generator.
///
/// # Errors
///
/// It cannot be read (exit 3).
pub fn random_seed() -> Result<Seed, Failure> {
    random().map(Seed)
}

impl From<Isolation> for IsolationChoice {
    fn from(isolation: Isolation) -> Self {
        match isolation {
            Isolation::Sandbox => Self::Sandbox,
            Isolation::Netns => Self::Netns,
            Isolation::None => Self::None,
        }
    }
}
