//! Fills the submodules of a checkout.
//!
//! Git refuses to clone a submodule from a path of this machine, because a `.gitmodules` from
//! elsewhere could name any path (git-config(1), `protocol.allow`; CVE-2022-39253). It is allowed
//! here for exactly the paths that the user's own checkout uses already, which are in its
//! configuration and not in the revision; submodules of submodules are not among them.

use std::collections::{BTreeMap, BTreeSet};

use wiretrial_contract::failure::Failure;

use super::git::Git;
use super::repository::Repository;

/// Fills them all. `whose` is the arm and its revision, for the sentence.
///
/// # Errors
///
/// [`Failure::usage`]: a path of this machine that the user's checkout does not use.
/// [`Failure::host`]: git fails, as when a server cannot be reached.
pub(super) fn fill(git: &Git<'_>, repository: &Repository, whose: &str) -> Result<(), Failure> {
    if !git.folder().join(".gitmodules").exists() {
        return Ok(());
    }
    git.bytes(["submodule", "--quiet", "init"])?;
    let local = local(git, repository, whose)?;
    if !local.is_empty() {
        let mut arguments = vec!["submodule", "--quiet", "update", "--force", "--"];
        arguments.extend(local.iter().map(String::as_str));
        git.clone()
            .with_setting("protocol.file.allow=always")
            .bytes(arguments)?;
    }
    git.bytes([
        "submodule",
        "--quiet",
        "update",
        "--init",
        "--recursive",
        "--force",
    ])?;
    Ok(())
}

/// Folders of the submodules that come from a path of this machine.
fn local(git: &Git<'_>, repository: &Repository, whose: &str) -> Result<Vec<String>, Failure> {
    let users = repository.git(git.interrupt());
    let known: BTreeSet<String> = settings(&users, &["--local"], "url")?
        .into_values()
        .collect();
    let folders = settings(git, &["--file", ".gitmodules"], "path")?;
    let mut local = Vec::new();
    for (name, url) in settings(git, &["--local"], "url")? {
        // A submodule of another revision has no folder in this one.
        let Some(folder) = folders.get(&name) else {
            continue;
        };
        if !url.starts_with('/') && !url.starts_with("file:") {
            continue;
        }
        if !known.contains(&url) {
            return Err(Failure::usage(format!(
                "submodule \"{name}\" of {whose} is at {url} on this machine, which your checkout does \
                 not use; if you trust that path, git submodule update --init in a checkout of that \
                 revision"
            )));
        }
        local.push(folder.clone());
    }
    Ok(local)
}

/// One setting of every submodule, by the submodule's name.
fn settings(git: &Git<'_>, place: &[&str], key: &str) -> Result<BTreeMap<String, String>, Failure> {
    let pattern = format!(r"^submodule\..*\.{key}$");
    let mut arguments = vec!["config", "-z"];
    arguments.extend(place);
    arguments.extend(["--get-regexp", &pattern]);
    // Its status is 1 when there is none.
    let text = git.run(arguments)?.stdout;
    let text = String::from_utf8_lossy(&text);
    let entries = text.split('\0').filter_map(|entry| {
        let (name, value) = entry.split_once('\n')?;
        let name = name.strip_prefix("submodule.")?.strip_suffix(key)?;
        Some((name.strip_suffix('.')?.to_owned(), value.to_owned()))
    });
    Ok(entries.collect())
}
