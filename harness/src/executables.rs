//! Which executables run: found beside this one, built, or installed; most are kept under their
//! content's address.
//!
//! A copy at `<cache>/bin/<sha256>/<name>` cannot change under a running campaign, and paths of
//! both arms are equally long, so that argv and the stack are laid out alike. What a user has
//! installed runs in place, since a copy may lose its capabilities or what it looks for beside
//! itself; its hash is taken again at every launch.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use wiretrial_contract::control::Isolation;
use wiretrial_contract::digest::{sha256_file, sha256_self};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::identity::Identity;
use wiretrial_contract::plan::{Campaign, Origin, Plan, Workload};
use wiretrial_contract::program::ProgramSpec;

use crate::cache::{self, Kind};
use crate::revision::{Built, identity_of};
use crate::trial::setting::{Program, Programs};

/// Generator and receiver packages, which are also the names of their executables.
const GENERATOR: &str = "wiretrial-generator";
const RECEIVER: &str = "wiretrial-receiver";
/// The receiver that counts what it takes from the allocator.
const COUNTING_RECEIVER: &str = "wiretrial-receiver-heap";
/// Where programs are looked for behind PATH, which often lacks the first for an ordinary user.
const MORE_PATH: &str = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin";

/// Executables the user named instead of the ones beside this one.
#[derive(Debug, Clone, Default)]
pub struct Named {
    /// `--generator-binary`.
    pub generator: Option<PathBuf>,
    /// `--receiver-binary`.
    pub receiver: Option<PathBuf>,
}

/// Executables that were found, before they are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The generator; none where nothing is sent.
    pub generator: Option<PathBuf>,
    /// This version's receiver.
    pub receiver: PathBuf,
    /// What each arm measures.
    pub arms: Vec<FoundArm>,
}

/// What one arm measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundArm {
    /// Where the executable is.
    pub path: PathBuf,
    /// Where it comes from.
    pub origin: Origin,
    /// Whether it is started by this version's receiver, instead of being one.
    pub outside: bool,
    /// What it is.
    pub identity: Identity,
}

/// The receiver of this version.
///
/// # Errors
///
/// It is missing (exit 3).
pub fn find_receiver(named: &Named) -> Result<PathBuf, Failure> {
    found(named.receiver.as_deref(), RECEIVER)
}

/// Finds the executables of a campaign. `given` are what its arms measure, where that was built or
/// named; else it is what the campaign says.
///
/// # Errors
///
/// One is missing or cannot be read (exit 3), or a campaign has several in one arm (exit 2).
pub fn find(
    named: &Named,
    campaign: &Campaign,
    given: Option<&[Built; 2]>,
) -> Result<Found, Failure> {
    let receiver = if campaign.is_diagnostic() {
        found(named.receiver.as_deref(), COUNTING_RECEIVER)?
    } else {
        find_receiver(named)?
    };
    let generator = match campaign.workload() {
        Workload::Live => Some(found(named.generator.as_deref(), GENERATOR)?),
        Workload::File | Workload::Command => None,
    };
    let arms = (0..campaign.arms.len()).map(|arm| {
        let spec = outside(campaign, arm)?;
        let (path, origin) = match (given.map(|given| &given[arm]), spec) {
            (Some(built), _) => (built.path.clone(), Origin::Given),
            (None, Some(spec)) => (installed(&spec.binary)?, Origin::Installed),
            (None, None) => (receiver.clone(), Origin::Sibling),
        };
        let identity = match given {
            Some(given) => given[arm].identity.clone(),
            None => identity_of(&path)?,
        };
        Ok(FoundArm {
            path,
            origin,
            outside: spec.is_some(),
            identity,
        })
    });
    Ok(Found {
        generator,
        arms: arms.collect::<Result<_, Failure>>()?,
        receiver,
    })
}

/// Finds the executables of a sealed plan again: what was built is in the cache only.
///
/// # Errors
///
/// As [`find`]. That they are the sealed ones is not checked here.
pub fn find_again(named: &Named, plan: &Plan, evidence_root: &Path) -> Result<Found, Failure> {
    let given = plan.campaign.arms.iter().map(|arm| {
        let identity = plan.identities.get(&arm.name)?;
        let origin = plan.origins.get(&arm.name)?;
        (*origin == Origin::Given).then_some(identity)
    });
    let given: Vec<Option<&Identity>> = given.collect();
    let [Some(baseline), Some(candidate)] = given[..] else {
        return find(named, &plan.campaign, None);
    };
    let again = |identity: &Identity| {
        let sha256 = &identity.sha256;
        let path = cached(sha256, evidence_root).ok_or_else(|| {
            Failure::host(format!(
                "the executable with sha256 {}... is in no cache any more; start a new campaign",
                sha256.get(..8).unwrap_or(sha256)
            ))
        })?;
        let identity = identity.clone();
        Ok(Built { path, identity })
    };
    let given = [again(baseline)?, again(candidate)?];
    find(named, &plan.campaign, Some(&given))
}

/// The executable with this content in a cache.
fn cached(sha256: &str, evidence_root: &Path) -> Option<PathBuf> {
    let folder = cache::find(evidence_root, Kind::Executable, sha256)?;
    let entries = fs::read_dir(folder).ok()?;
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| sha256_file(path).is_ok_and(|hash| hash == sha256))
}

/// The program of the user's that an arm measures in every case.
fn outside(campaign: &Campaign, arm: usize) -> Result<Option<&ProgramSpec>, Failure> {
    let mut programs = campaign.cases.iter().map(|case| case.outside(arm));
    let first = programs.next().flatten();
    let binary = |spec: Option<&ProgramSpec>| spec.map(|spec| spec.binary.clone());
    if let Some(other) = programs.find(|other| binary(*other) != binary(first)) {
        return Err(Failure::usage(format!(
            "arm {} has program.binary {} and {}; an arm is one program, make two campaigns",
            campaign.arms[arm].name,
            binary(first).unwrap_or_else(|| "of the built-in receiver".into()),
            binary(other).unwrap_or_else(|| "of the built-in receiver".into()),
        )));
    }
    Ok(first)
}

/// A program by its path or, without a `/`, by its name in PATH.
fn installed(binary: &str) -> Result<PathBuf, Failure> {
    if binary.contains('/') {
        let path = PathBuf::from(binary);
        return if path.is_file() {
            std::path::absolute(&path)
                .map_err(|error| Failure::host(format!("cannot find {binary}: {error}")))
        } else {
            Err(Failure::host(format!(
                "no program {binary}; build it, or set program.binary"
            )))
        };
    }
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':')
        .chain(MORE_PATH.split(':'))
        .filter(|folder| !folder.is_empty())
        .map(|folder| Path::new(folder).join(binary))
        .find(|path| {
            fs::metadata(path)
                .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
        })
        .ok_or_else(|| {
            Failure::host(format!(
                "program {binary} is not in PATH; install it, or write its path"
            ))
        })
}

impl Found {
    /// The receivers that will capture: under isolation `none` each needs the right to.
    #[must_use]
    pub fn receivers(&self) -> Vec<&Path> {
        let receivers = self.arms.iter().map(|arm| {
            let path = if arm.outside {
                &self.receiver
            } else {
                &arm.path
            };
            path.as_path()
        });
        receivers.collect()
    }

    /// Keeps them under their content's address. Without isolation and without root receivers run in
    /// place: a copy would lose its file capabilities (capabilities(7)).
    ///
    /// # Errors
    ///
    /// One cannot be read or kept (exit 3).
    pub fn keep(&self, isolation: Isolation, evidence_root: &Path) -> Result<Programs, Failure> {
        let in_place = isolation == Isolation::None && !nix::unistd::geteuid().is_root();
        let keep = |path: &Path| {
            if in_place {
                hashed(path)
            } else {
                kept(path, evidence_root)
            }
        };
        let own = keep(&self.receiver)?;
        let mut programs = Programs {
            generator: self.generator.as_deref().map(keep).transpose()?,
            receivers: Vec::new(),
            outside: Vec::new(),
        };
        for arm in &self.arms {
            let (receiver, outside) = match (arm.outside, arm.origin) {
                (false, _) => (keep(&arm.path)?, None),
                (true, Origin::Installed) => (own.clone(), Some(hashed(&arm.path)?)),
                (true, _) => (own.clone(), Some(kept(&arm.path, evidence_root)?)),
            };
            programs.receivers.push(receiver);
            programs.outside.push(outside);
        }
        Ok(programs)
    }
}

/// SHA-256 of this executable.
///
/// # Errors
///
/// It cannot be read (exit 3).
pub fn own_sha256() -> Result<String, Failure> {
    sha256_self().map_err(|error| Failure::host(format!("cannot read this executable: {error}")))
}

fn found(named: Option<&Path>, name: &str) -> Result<PathBuf, Failure> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => std::env::current_exe()
            .map_err(|error| Failure::host(format!("cannot find this executable: {error}")))?
            .with_file_name(name),
    };
    if path.is_file() {
        return Ok(path);
    }
    Err(Failure::host(format!(
        "no executable {}; cargo build --release --bin {name} makes it",
        path.display()
    )))
}

fn hashed(path: &Path) -> Result<Program, Failure> {
    let sha256 = sha256_file(path)
        .map_err(|error| Failure::host(format!("cannot read {}: {error}", path.display())))?;
    Ok(Program {
        path: path.to_owned(),
        sha256,
    })
}

/// Keeps an executable by its content.
fn kept(path: &Path, evidence_root: &Path) -> Result<Program, Failure> {
    let Program { sha256, .. } = hashed(path)?;
    let cache = cache::writable(evidence_root)?;
    let name = path.file_name().unwrap_or(path.as_os_str());
    let path = cache::keep(&cache, Kind::Executable, path, name, &sha256)?;
    Ok(Program { path, sha256 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_executable_names_the_command_that_makes_it() {
        let failure = found(Some(Path::new("/nowhere/x")), GENERATOR).unwrap_err();
        assert_eq!(failure.code, 3);
        assert!(
            failure
                .message
                .contains("cargo build --release --bin wiretrial-generator")
        );
    }
}
