//! The baseline that a user who names none expects.

use wiretrial_contract::failure::Failure;

use super::Revision;
use super::Tree;
use super::ci::{Ci, Request};
use super::repository::Repository;
use crate::host::Interrupt;

/// A commit and how it was chosen.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    /// The commit.
    pub(super) commit: String,
    /// How it was chosen.
    pub(super) described: String,
}

/// The baseline of a candidate; [`resolve`](super::resolve) has the rule.
///
/// # Errors
///
/// [`Failure::usage`]: history that is not there.
pub(super) fn baseline(
    repository: &Repository,
    candidate: &Revision,
    ci: &Ci,
    interrupt: &Interrupt,
) -> Result<Chosen, Failure> {
    // A merge request is about the checkout and not about any other revision.
    let request = match candidate.tree {
        Tree::WorkingTree { .. } => ci.request(),
        Tree::Committed => None,
    };
    if let Some(request) = request
        && let Some(chosen) = side_of_merge(repository, candidate, request, interrupt)?
    {
        return Ok(chosen);
    }
    let candidate_name = match candidate.tree {
        Tree::WorkingTree { .. } => "HEAD",
        Tree::Committed => &candidate.described,
    };
    let Some((name, tip)) = main_branch(repository, request, interrupt)? else {
        if repository.is_shallow() {
            let name = request.map_or("main", |request| &request.target);
            let what = format!("unknown revision \"{name}\"");
            return Err(repository.missing(&what, name, interrupt)?);
        }
        let why = "there is no remote's default branch, main or master";
        return before(repository, candidate, why, interrupt);
    };
    let candidate_side = (candidate_name, candidate.commit.as_str());
    let base = merge_base(repository, (&name, &tip), candidate_side, interrupt)?;
    if base == candidate.commit {
        let why = format!("{candidate_name} is part of {name}");
        return before(repository, candidate, &why, interrupt);
    }
    Ok(Chosen {
        commit: base,
        described: format!("the merge base with {name}"),
    })
}

/// The merge base of two commits, each with its name for a sentence. When there are several it is
/// the one that git-merge-base(1) prints first.
///
/// # Errors
///
/// [`Failure::usage`]: there is none, or it is beyond the end of a shallow clone.
pub(super) fn merge_base(
    repository: &Repository,
    (name, commit): (&str, &str),
    (other_name, other): (&str, &str),
    interrupt: &Interrupt,
) -> Result<String, Failure> {
    let found = repository
        .git(interrupt)
        .ask(["merge-base", commit, other])?;
    match found {
        Some(base) => Ok(base),
        None if repository.is_shallow() => {
            let what = format!("no merge base of \"{name}\" and {other_name}");
            Err(repository.missing(&what, name, interrupt)?)
        }
        None => Err(Failure::usage(format!(
            "\"{name}\" and {other_name} have no commit in common; name a baseline"
        ))),
    }
}

/// The target's side of a merge that CI made. GitHub starts a pull request on such a commit and says
/// so in `GITHUB_SHA`; a branch that has moved on is no doubt then.
fn side_of_merge(
    repository: &Repository,
    candidate: &Revision,
    request: &Request,
    interrupt: &Interrupt,
) -> Result<Option<Chosen>, Failure> {
    let git = repository.git(interrupt);
    let line = git.text(["rev-list", "--parents", "-n", "1", &candidate.commit])?;
    let [_, target_side, _] = line.split(' ').collect::<Vec<_>>()[..] else {
        return Ok(None);
    };
    let made_by_ci = request.commit.as_deref() == Some(candidate.commit.as_str());
    let on_target = match target_branch(repository, request, interrupt)? {
        Some((_, tip)) => git
            .ask(["merge-base", "--is-ancestor", target_side, &tip])?
            .is_some(),
        None => false,
    };
    Ok((made_by_ci || on_target).then(|| Chosen {
        commit: target_side.to_owned(),
        described: format!(
            "the side of {} in the merge that CI made, HEAD^1",
            request.target
        ),
    }))
}

/// The branch that work starts from and returns to, with its tip.
fn main_branch(
    repository: &Repository,
    request: Option<&Request>,
    interrupt: &Interrupt,
) -> Result<Option<(String, String)>, Failure> {
    if let Some(request) = request
        && let Some(found) = target_branch(repository, request, interrupt)?
    {
        return Ok(Some(found));
    }
    let mut places = Vec::new();
    if let Some(remote) = repository.remote(interrupt)? {
        // The remote's HEAD is a name for another reference, which says more.
        let head = format!("refs/remotes/{remote}/HEAD");
        let head = repository
            .git(interrupt)
            .ask(["symbolic-ref", "--quiet", "--short", &head])?;
        places.extend(head.map(|name| ("refs/remotes/", name)));
        let names = ["main", "master"];
        places.extend(names.map(|name| ("refs/remotes/", format!("{remote}/{name}"))));
    }
    places.extend(["main", "master"].map(|name| ("refs/heads/", name.to_owned())));
    for (place, name) in places {
        if let Some(tip) = repository.commit(&format!("{place}{name}"), interrupt)? {
            return Ok(Some((name, tip)));
        }
    }
    Ok(None)
}

fn target_branch(
    repository: &Repository,
    request: &Request,
    interrupt: &Interrupt,
) -> Result<Option<(String, String)>, Failure> {
    let Some(remote) = repository.remote(interrupt)? else {
        return Ok(None);
    };
    let name = format!("{remote}/{}", request.target);
    let tip = repository.commit(&format!("refs/remotes/{name}"), interrupt)?;
    Ok(tip.map(|tip| (name, tip)))
}

/// The candidate's own commit when something is not committed, else the one before.
fn before(
    repository: &Repository,
    candidate: &Revision,
    why: &str,
    interrupt: &Interrupt,
) -> Result<Chosen, Failure> {
    if candidate.dirty_sha256().is_some() {
        return Ok(Chosen {
            commit: candidate.commit.clone(),
            described: format!("HEAD without what is not committed, because {why}"),
        });
    }
    let parent = format!("{}~1", candidate.commit);
    let name = match candidate.tree {
        Tree::WorkingTree { .. } => "HEAD~1".to_owned(),
        Tree::Committed => format!("{}~1", candidate.described),
    };
    match repository.commit(&parent, interrupt)? {
        Some(commit) => Ok(Chosen {
            commit,
            described: format!("{name}, because {why} and everything is committed"),
        }),
        None if repository.is_shallow() => {
            let what = format!("unknown revision \"{name}\"");
            Err(repository.missing(&what, &name, interrupt)?)
        }
        None => Err(Failure::usage(format!(
            "{} is the first commit and everything is committed; name a baseline",
            candidate.short()
        ))),
    }
}
