//! What the arguments of `compare` mean.

use std::path::Path;

use wiretrial_contract::failure::Failure;

use super::ci::Ci;
use super::default::{self, Chosen};
use super::repository::Repository;
use super::snapshot::Snapshot;
use super::{Pair, Revision, Side, Tree};
use crate::host::Interrupt;

/// The argument that stands for the working tree, and the default candidate.
const WORKING_TREE: &str = ".";

/// What was asked for, before Git is asked.
#[derive(Debug, PartialEq, Eq)]
struct Asked<'a> {
    baseline: Baseline<'a>,
    candidate: &'a str,
}

/// What was asked for as the baseline.
#[derive(Debug, PartialEq, Eq)]
enum Baseline<'a> {
    /// Nothing: it is chosen.
    Default,
    /// A revision or an executable.
    Named(&'a str),
    /// The merge base of this revision and the candidate.
    MergeBaseWith(&'a str),
}

/// Says what the arguments of `compare` mean in the folder `cwd`.
///
/// An argument with a `/` that is a file is an executable; all else is a revision, and `.` is the
/// working tree with what is not committed. The candidate's default is `.`. `A...B` alone compares
/// B with the merge base of A and B as in gitrevisions(7), `A..B` alone compares B with A; an empty
/// A or B is HEAD. The baseline's default is the first of these that is there:
///
/// 1. in CI, on the commit that merges a request into its target: the target's side of that merge;
/// 2. the merge base of the candidate and the target branch of the merge request in CI, the
///    remote's default branch, or the local `main` or `master`;
/// 3. when that is the candidate's own commit: that commit if something is not committed, else the
///    commit before it.
///
/// # Errors
///
/// [`Failure::usage`]: an unknown or refused revision, no merge base, no repository, a path that is
/// no file, or changes of the working tree that cannot be carried. [`Failure::host`]: git is not
/// there or fails.
pub fn resolve(
    cwd: &Path,
    baseline: Option<&str>,
    candidate: Option<&str>,
    ci: &Ci,
    interrupt: &Interrupt,
) -> Result<Pair, Failure> {
    let asked = ask(cwd, baseline, candidate)?;
    let named = match asked.baseline {
        Baseline::Named(argument) => executable(cwd, argument)?,
        Baseline::Default | Baseline::MergeBaseWith(_) => None,
    };
    let candidate = executable(cwd, asked.candidate)?;
    if let (Some(baseline), Some(candidate)) = (&named, &candidate) {
        return Ok(Pair {
            baseline: baseline.clone(),
            candidate: candidate.clone(),
            repository: None,
            notes: Vec::new(),
        });
    }
    let repository = Repository::open(cwd, interrupt)?;
    let mut resolver = Resolver {
        repository: &repository,
        interrupt,
        notes: Vec::new(),
    };
    let built = named.is_none() && candidate.is_none();
    let candidate = match candidate {
        Some(executable) => executable,
        None => Side::Revision(resolver.revision(asked.candidate)?),
    };
    let baseline = match (named, &asked.baseline, &candidate) {
        (Some(executable), ..) => executable,
        (None, Baseline::Named(argument), _) => Side::Revision(resolver.revision(argument)?),
        (None, Baseline::MergeBaseWith(argument), Side::Revision(candidate)) => {
            Side::Revision(resolver.merge_base(argument, candidate)?)
        }
        (None, Baseline::Default, Side::Revision(candidate)) => {
            Side::Revision(resolver.default(candidate, ci)?)
        }
        (None, _, Side::Executable(path)) => return Err(lone(path)),
    };
    if !built {
        resolver.notes.push(
            "one side is built here and the other is not, so compilers and flags may differ too"
                .into(),
        );
    }
    let notes = resolver.notes;
    Ok(Pair {
        baseline,
        candidate,
        repository: Some(repository),
        notes,
    })
}

/// Takes the arguments apart.
fn ask<'a>(
    cwd: &Path,
    baseline: Option<&'a str>,
    candidate: Option<&'a str>,
) -> Result<Asked<'a>, Failure> {
    let Some(first) = baseline else {
        return Ok(Asked {
            baseline: Baseline::Default,
            candidate: candidate.unwrap_or(WORKING_TREE),
        });
    };
    if let Some(Side::Executable(path)) = executable(cwd, first)? {
        let Some(candidate) = candidate else {
            return Err(lone(&path));
        };
        return Ok(Asked {
            baseline: Baseline::Named(first),
            candidate,
        });
    }
    let merge_base = first.split_once("...");
    let Some((from, to)) = merge_base.or_else(|| first.split_once("..")) else {
        return Ok(Asked {
            baseline: Baseline::Named(first),
            candidate: candidate.unwrap_or(WORKING_TREE),
        });
    };
    if let Some(candidate) = candidate {
        return Err(Failure::usage(format!(
            "\"{first}\" names both revisions; leave \"{candidate}\" out"
        )));
    }
    let head = |side: &'a str| if side.is_empty() { "HEAD" } else { side };
    Ok(Asked {
        baseline: match merge_base {
            Some(_) => Baseline::MergeBaseWith(head(from)),
            None => Baseline::Named(head(from)),
        },
        candidate: head(to),
    })
}

/// The executable an argument names; `None` when it is a revision.
fn executable(cwd: &Path, argument: &str) -> Result<Option<Side>, Failure> {
    if !argument.contains('/') {
        return Ok(None);
    }
    let path = cwd.join(argument);
    if path.is_file() {
        return Ok(Some(Side::Executable(path)));
    }
    // No revision looks like this, and `../x` is not a range.
    let is_path = ["/", "./", "../"]
        .iter()
        .any(|start| argument.starts_with(start));
    if is_path {
        return Err(Failure::usage(format!(
            "\"{argument}\" is not a file; name an executable, or a revision of the repository of \
             the current folder"
        )));
    }
    Ok(None)
}

fn lone(path: &Path) -> Failure {
    Failure::usage(format!(
        "{} is an executable; name what to compare it with as well",
        path.display()
    ))
}

/// Asks the repository, and keeps what is worth saying.
struct Resolver<'a> {
    repository: &'a Repository,
    interrupt: &'a Interrupt,
    notes: Vec<String>,
}

impl Resolver<'_> {
    fn revision(&mut self, argument: &str) -> Result<Revision, Failure> {
        if argument != WORKING_TREE {
            return Ok(Revision {
                commit: self.commit(argument)?,
                tree: Tree::Committed,
                described: argument.to_owned(),
            });
        }
        let Some(commit) = self.repository.commit("HEAD", self.interrupt)? else {
            return Err(Failure::usage(format!(
                "the repository {} has no commit yet; make one first",
                self.repository.top().display()
            )));
        };
        let dirty_sha256 = Snapshot::take(self.repository, &commit, self.interrupt)?.sha256;
        Ok(Revision {
            commit,
            tree: Tree::WorkingTree { dirty_sha256 },
            described: "working tree".into(),
        })
    }

    /// The commit of a revision that the user named.
    fn commit(&mut self, revision: &str) -> Result<String, Failure> {
        if revision.is_empty() || revision.starts_with('-') {
            return Err(Failure::usage(format!(
                "revision \"{revision}\" is empty or begins with -; name a branch, a tag or a commit"
            )));
        }
        if let Some(commit) = self.repository.commit(revision, self.interrupt)? {
            return Ok(commit);
        }
        // A checkout in CI has the branches of the remote and none of its own.
        if let Some(remote) = self.repository.remote(self.interrupt)? {
            let reference = format!("refs/remotes/{remote}/{revision}");
            if let Some(commit) = self.repository.commit(&reference, self.interrupt)? {
                self.notes.push(format!(
                    "\"{revision}\" is no local branch; {remote}/{revision} is taken"
                ));
                return Ok(commit);
            }
        }
        let what = format!("unknown revision \"{revision}\"");
        Err(self.repository.missing(&what, revision, self.interrupt)?)
    }

    fn merge_base(&mut self, with: &str, candidate: &Revision) -> Result<Revision, Failure> {
        let other = self.commit(with)?;
        let commit = default::merge_base(
            self.repository,
            (with, &other),
            (&candidate.described, &candidate.commit),
            self.interrupt,
        )?;
        Ok(Revision {
            commit,
            tree: Tree::Committed,
            described: format!("merge base of {with} and {}", candidate.described),
        })
    }

    fn default(&mut self, candidate: &Revision, ci: &Ci) -> Result<Revision, Failure> {
        let Chosen { commit, described } =
            default::baseline(self.repository, candidate, ci, self.interrupt)?;
        let revision = Revision {
            commit,
            tree: Tree::Committed,
            described,
        };
        self.notes.push(format!(
            "baseline is {}, {}",
            revision.short(),
            revision.described
        ));
        Ok(revision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_taken_apart_before_git_is_asked() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("prog"), "").unwrap();
        let ask = |a, b| ask(folder.path(), a, b);
        let asked = |baseline, candidate| Asked {
            baseline,
            candidate,
        };
        use Baseline::{Default, MergeBaseWith, Named};
        assert_eq!(ask(None, None), Ok(asked(Default, ".")));
        assert_eq!(ask(Some("v1"), None), Ok(asked(Named("v1"), ".")));
        assert_eq!(ask(Some("v1"), Some("v2")), Ok(asked(Named("v1"), "v2")));
        assert_eq!(ask(Some("a...b"), None), Ok(asked(MergeBaseWith("a"), "b")));
        assert_eq!(ask(Some("a..b"), None), Ok(asked(Named("a"), "b")));
        assert_eq!(
            ask(Some("main..."), None),
            Ok(asked(MergeBaseWith("main"), "HEAD"))
        );
        assert_eq!(ask(Some("..b"), None), Ok(asked(Named("HEAD"), "b")));
        let refused = [
            (Some("a...b"), Some("c"), "names both revisions"),
            (Some("./prog"), None, "name what to compare it with"),
            (Some("../prog"), None, "is not a file"),
        ];
        for (baseline, candidate, sentence) in refused {
            let failure = ask(baseline, candidate).unwrap_err();
            assert_eq!(failure.code, 2);
            assert!(failure.message.contains(sentence), "{failure}");
        }
    }

    #[test]
    fn two_executables_need_no_repository_and_one_alone_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prog");
        std::fs::write(&path, "").unwrap();
        let resolve = |a, b| {
            let interrupt = Interrupt::default();
            super::resolve(folder.path(), a, b, &Ci::default(), &interrupt)
        };
        let argument = path.to_str().unwrap();
        let pair = resolve(Some("./prog"), Some(argument)).unwrap();
        assert_eq!(pair.candidate, Side::Executable(path.clone()));
        assert_eq!(pair.repository, None);
        assert!(!pair.same_source() && pair.check_distinct().is_ok());
        assert_eq!(resolve(None, Some(argument)).unwrap_err().code, 2);
    }
}
