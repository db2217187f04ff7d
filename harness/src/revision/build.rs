//! Builds both sides and keeps their executables.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use wiretrial_contract::failure::Failure;
use wiretrial_contract::identity::Identity;

use super::checkout::Checkout;
use super::executable::{identity_of, tied};
use super::git::ELSEWHERE;
use super::log::Log;
use super::process::{self, Stop, Streams};
use super::{Pair, Recipe, Revision, Side};
use crate::cache::{self, Kind};
use crate::host::Interrupt;

/// Longest time of one step.
const LIMIT: Duration = Duration::from_secs(30 * 60);
/// Lines of a failed step that are quoted.
const LINES: usize = 20;

/// An executable under its content's address, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// Where it is.
    pub path: PathBuf,
    /// What it is.
    pub identity: Identity,
}

/// Builds the baseline and then the candidate in the same folder of a clone in `cache`, and keeps
/// both executables at `<cache>/bin/<sha256>/<name>`. An executable is only kept. When both sides
/// are the [same source](Pair::same_source) it is built once. What the steps print is in
/// `build-baseline.log` and `build-candidate.log` of the folder `logs`, the last 4 MiB of each.
///
/// Both executables may turn out the same; it is the caller who refuses that.
///
/// # Errors
///
/// [`Failure::usage`]: a recipe or a revision that cannot be built. [`Failure::host`]: a build
/// fails or leaves no executable, or the cache cannot be written. [`Failure::interrupted`].
pub fn build(
    pair: &Pair,
    recipe: &Recipe,
    logs: &Path,
    cache: &Path,
    interrupt: &Interrupt,
) -> Result<[Built; 2], Failure> {
    let checkout = match &pair.repository {
        Some(repository) => {
            recipe.check()?;
            Some(Checkout::open(repository, cache, interrupt)?)
        }
        None => None,
    };
    let side = |arm: &str, side: &Side| match (side, &checkout) {
        (Side::Executable(path), _) => kept(path, cache),
        (Side::Revision(revision), Some(checkout)) => {
            let job = Job {
                arm,
                revision,
                recipe,
                checkout,
                interrupt,
            };
            job.build(logs.join(format!("build-{arm}.log")), cache)
        }
        (Side::Revision(revision), None) => Err(Failure::usage(format!(
            "revision {} has no repository to be built from",
            revision.short()
        ))),
    };
    let baseline = side("baseline", &pair.baseline)?;
    let candidate = if pair.same_source() {
        baseline.clone()
    } else {
        side("candidate", &pair.candidate)?
    };
    Ok([baseline, candidate])
}

fn kept(path: &Path, cache: &Path) -> Result<Built, Failure> {
    let identity = identity_of(path)?;
    let name = path.file_name().unwrap_or(path.as_os_str());
    let path = cache::keep(cache, Kind::Executable, path, name, &identity.sha256)?;
    Ok(Built { path, identity })
}

/// One build of one arm.
struct Job<'a> {
    arm: &'a str,
    revision: &'a Revision,
    recipe: &'a Recipe,
    checkout: &'a Checkout<'a>,
    interrupt: &'a Interrupt,
}

impl Job<'_> {
    fn build(&self, log: PathBuf, cache: &Path) -> Result<Built, Failure> {
        self.checkout.fill(self.arm, self.revision)?;
        let path = self.checkout.folder().join(&self.recipe.binary);
        // A kept build folder may hold the executable of the other arm.
        self.checkout.forget(&self.recipe.binary)?;
        let mut log = Log::create(log.clone())
            .map_err(|error| Failure::host(format!("cannot make {}: {error}", log.display())))?;
        for index in 0..self.recipe.steps.len() {
            self.step(index, &mut log)?;
        }
        let path = self.executable(&path, &log)?;
        let built = kept(&path, cache)?;
        Ok(Built {
            identity: Identity {
                commit: Some(self.revision.commit.clone()),
                dirty_sha256: self.revision.dirty_sha256().map(str::to_owned),
                build: self.recipe.steps.clone(),
                ..built.identity
            },
            ..built
        })
    }

    fn step(&self, index: usize, log: &mut Log) -> Result<(), Failure> {
        let step = &self.recipe.steps[index];
        let count = self.recipe.steps.len();
        let cannot_log = |error: io::Error, log: &Log| {
            Failure::host(format!("cannot write {}: {error}", log.path().display()))
        };
        let begun = log.begin(&format!("== step {} of {count}: {step:?}", index + 1));
        begun.map_err(|error| cannot_log(error, log))?;
        // A failure to write the log is not one of the build.
        let mut log_failed = None;
        let ended = process::run(
            self.command(step),
            Streams::Together,
            LIMIT,
            self.interrupt,
            |_, piece| {
                log.write(piece).map_err(|error| {
                    let kind = error.kind();
                    log_failed = Some(error);
                    kind.into()
                })
            },
        );
        if let Some(error) = log_failed {
            return Err(cannot_log(error, log));
        }
        let finished = log.finish();
        finished.map_err(|error| cannot_log(error, log))?;
        let how = match ended {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => process::how(status),
            Err(Stop::Interrupted(failure)) => return Err(failure),
            Err(Stop::TooLong) => format!("no end after {} min", LIMIT.as_secs() / 60),
            Err(Stop::Io(error)) if error.kind() == io::ErrorKind::NotFound => "not found".into(),
            Err(Stop::Io(error)) => error.to_string(),
        };
        Err(self.failed(index, &how, log))
    }

    fn command(&self, step: &[String]) -> Command {
        let mut command = Command::new(&step[0]);
        command
            .args(&step[1..])
            .current_dir(self.checkout.folder())
            .stdin(Stdio::null());
        // A build may ask git for its version, and must ask about the checkout.
        for name in ELSEWHERE {
            command.env_remove(name);
        }
        command
            .env("PWD", self.checkout.folder())
            .envs(&self.recipe.env);
        command
    }

    fn failed(&self, index: usize, how: &str, log: &Log) -> Failure {
        let lines = log.last_lines(LINES);
        let said = match lines.len() {
            0 => "it printed nothing; ".to_owned(),
            count => format!("last {count} lines:\n    {}\n", lines.join("\n    ")),
        };
        Failure::host(format!(
            "build of {} failed at step {} of {} ({}, {how}); {said}full log: {}",
            self.name(),
            index + 1,
            self.recipe.steps.len(),
            self.recipe.steps[index][0],
            log.path().display()
        ))
    }

    /// The file that the recipe names, if it can be measured.
    fn executable(&self, path: &Path, log: &Log) -> Result<PathBuf, Failure> {
        let binary = &self.recipe.binary;
        let top = self.checkout.folder();
        if !path.is_file() {
            return Err(Failure::host(format!(
                "build of {} left no file {binary} (program.binary); full log: {}",
                self.name(),
                log.path().display()
            )));
        }
        let inside = fs::canonicalize(path).is_ok_and(|real| real.starts_with(top));
        let tied = if inside {
            tied(path, binary, top)?
        } else {
            Some("is a link to a file outside of the checkout; name that file".into())
        };
        match tied {
            None => Ok(path.to_owned()),
            Some(why) => Err(Failure::host(format!("{binary} of {} {why}", self.name()))),
        }
    }

    /// The arm and its revision, for sentences.
    fn name(&self) -> String {
        format!("{} {}", self.arm, self.revision.short())
    }
}
