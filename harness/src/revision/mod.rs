//! Two revisions of a repository as two executables with an identity.
//!
//! [`resolve`] says what the arguments of `compare` mean and why; [`build`] builds both revisions one
//! after the other in one folder, so that nothing but their content can differ, and keeps each
//! executable under its content's address.
//!
//! The user's repository is only read: no worktree, reference, index or object is written there.
//! All happens in a clone in the cache. No shell is started and no flag is added to a build.

mod build;
mod checkout;
mod ci;
mod default;
mod elf;
mod executable;
mod git;
mod log;
mod process;
mod recipe;
mod repository;
mod resolve;
mod snapshot;
mod submodules;

use std::path::PathBuf;

use wiretrial_contract::failure::Failure;

pub use build::{Built, build};
pub use ci::Ci;
pub use executable::identity_of;
pub use recipe::{Recipe, own_recipe};
pub use repository::Repository;
pub use resolve::resolve;

/// What one argument of `compare` means, before anything is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side {
    /// A revision of the repository.
    Revision(Revision),
    /// An executable that is there already.
    Executable(PathBuf),
}

/// A revision of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// Full object id of the commit; for the working tree that of HEAD.
    pub commit: String,
    /// What of it is built.
    pub tree: Tree,
    /// What the user typed, or how it was chosen.
    pub described: String,
}

/// What of a revision is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tree {
    /// The commit.
    Committed,
    /// The commit and all that is not committed, ignored files excepted.
    WorkingTree {
        /// Hash of what is not committed, as in
        /// [`Identity::dirty_sha256`](wiretrial_contract::identity::Identity::dirty_sha256); `None`
        /// when nothing is.
        dirty_sha256: Option<String>,
    },
}

/// Both sides of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// What the candidate is compared with.
    pub baseline: Side,
    /// What is in question.
    pub candidate: Side,
    /// Where the revisions are; `None` for two executables.
    pub repository: Option<Repository>,
    /// How the sides were chosen, a sentence each.
    pub notes: Vec<String>,
}

impl Revision {
    /// The commit in seven digits, with `-dirty` when something is not committed.
    #[must_use]
    pub fn short(&self) -> String {
        let digits = self.commit.get(..7).unwrap_or(&self.commit);
        let dirty = self.dirty_sha256().map_or("", |_| "-dirty");
        format!("{digits}{dirty}")
    }

    /// Hash of what is not committed, `None` when nothing is.
    #[must_use]
    pub fn dirty_sha256(&self) -> Option<&str> {
        match &self.tree {
            Tree::Committed => None,
            Tree::WorkingTree { dirty_sha256 } => dirty_sha256.as_deref(),
        }
    }

    fn same_source(&self, other: &Self) -> bool {
        self.commit == other.commit && self.dirty_sha256() == other.dirty_sha256()
    }
}

impl Side {
    /// The revision, unless it is an executable.
    #[must_use]
    pub fn revision(&self) -> Option<&Revision> {
        match self {
            Self::Revision(revision) => Some(revision),
            Self::Executable(_) => None,
        }
    }
}

impl Pair {
    /// Whether both sides would be built from the same source. Executables are told apart by their
    /// hashes, later.
    #[must_use]
    pub fn same_source(&self) -> bool {
        match (&self.baseline, &self.candidate) {
            (Side::Revision(baseline), Side::Revision(candidate)) => {
                baseline.same_source(candidate)
            }
            _ => false,
        }
    }

    /// Refuses two sides of the same source, before anything is built.
    ///
    /// # Errors
    ///
    /// [`Failure::usage`]: they are the same revision.
    pub fn check_distinct(&self) -> Result<(), Failure> {
        match &self.candidate {
            Side::Revision(revision) if self.same_source() => Err(Failure::usage(format!(
                "baseline and candidate are the same revision ({}): nothing to compare. --aa \
                 measures the floor on purpose",
                revision.short()
            ))),
            _ => Ok(()),
        }
    }
}
