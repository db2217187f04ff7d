//! The user's repository, which is only read.

use std::fs;
use std::path::{Path, PathBuf};

use wiretrial_contract::failure::Failure;

use super::git::Git;
use crate::host::Interrupt;

/// A repository with a working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    top: PathBuf,
    common: PathBuf,
    shallow: bool,
}

impl Repository {
    /// Finds the repository of `folder`.
    ///
    /// # Errors
    ///
    /// [`Failure::usage`]: there is none, it has no working tree, or Git does not trust it.
    pub(super) fn open(folder: &Path, interrupt: &Interrupt) -> Result<Self, Failure> {
        let git = Git::new(folder, interrupt);
        let ran = git.run([
            "rev-parse",
            "--path-format=absolute",
            "--show-toplevel",
            "--git-common-dir",
            "--is-shallow-repository",
        ])?;
        if !ran.status.success() {
            let folder = folder.display();
            let complaint = ran.complaint();
            return Err(Failure::usage(
                if complaint.contains("not a git repository") {
                    format!(
                        "{folder} is in no git repository; start in one, or name two executables by \
                         paths with a /"
                    )
                } else {
                    format!("cannot use the git repository of {folder}: {complaint}")
                },
            ));
        }
        let text = String::from_utf8_lossy(&ran.stdout);
        let [top, common, shallow] = text.lines().collect::<Vec<_>>()[..] else {
            return Err(Failure::usage(format!(
                "cannot use the git repository of {}: its path has a line break",
                folder.display()
            )));
        };
        let canonical = |path: &str| {
            fs::canonicalize(path)
                .map_err(|error| Failure::host(format!("cannot read {path}: {error}")))
        };
        Ok(Self {
            top: canonical(top)?,
            common: canonical(common)?,
            shallow: shallow == "true",
        })
    }

    /// Top folder of its working tree.
    #[must_use]
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The folder that all its working trees share; says which repository it is.
    pub(super) fn common(&self) -> &Path {
        &self.common
    }

    /// Whether the beginning of its history is missing.
    #[must_use]
    pub fn is_shallow(&self) -> bool {
        self.shallow
    }

    /// Whether the working tree is of this very project, which [`own_recipe`](super::own_recipe)
    /// builds.
    #[must_use]
    pub fn is_own(&self) -> bool {
        let manifest = fs::read_to_string(self.top.join("receiver/Cargo.toml"));
        let parsed = manifest
            .ok()
            .and_then(|text| text.parse::<toml::Table>().ok());
        parsed
            .as_ref()
            .and_then(|manifest| manifest.get("package")?.get("name")?.as_str())
            .is_some_and(|name| name == "wiretrial-receiver")
    }

    /// Git at its top.
    pub(super) fn git<'a>(&self, interrupt: &'a Interrupt) -> Git<'a> {
        Git::new(&self.top, interrupt)
    }

    /// The remote that counts: `origin`, else the first.
    ///
    /// # Errors
    ///
    /// As [`Git::run`].
    pub(super) fn remote(&self, interrupt: &Interrupt) -> Result<Option<String>, Failure> {
        let names = self.git(interrupt).ask(["remote"])?.unwrap_or_default();
        let origin = names.lines().find(|name| *name == "origin");
        Ok(origin.or_else(|| names.lines().next()).map(str::to_owned))
    }

    /// The commit a revision names; `None` when it names none.
    ///
    /// # Errors
    ///
    /// As [`Git::run`].
    pub(super) fn commit(
        &self,
        revision: &str,
        interrupt: &Interrupt,
    ) -> Result<Option<String>, Failure> {
        self.git(interrupt).ask([
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &format!("{revision}^{{commit}}"),
        ])
    }

    /// What to say of a commit that is not there; `what` begins the sentence, `revision` is what a
    /// fetch would be asked for.
    ///
    /// # Errors
    ///
    /// As [`Git::run`].
    pub(super) fn missing(
        &self,
        what: &str,
        revision: &str,
        interrupt: &Interrupt,
    ) -> Result<Failure, Failure> {
        let remote = self.remote(interrupt)?;
        let branch = branch(revision, remote.as_deref());
        let words = |first: &str| {
            let words = [
                Some(first),
                remote.as_deref(),
                branch.filter(|_| remote.is_some()),
            ];
            words.into_iter().flatten().collect::<Vec<_>>().join(" ")
        };
        if self.shallow {
            let depth = self
                .git(interrupt)
                .ask(["rev-list", "--count", "--first-parent", "HEAD"])?
                .unwrap_or_else(|| "unknown".into());
            return Ok(Failure::usage(format!(
                "{what}: this is a shallow clone (depth {depth}). {}, or fetch-depth: 0 in \
                 actions/checkout",
                words("git fetch --unshallow")
            )));
        }
        let fetch = match &remote {
            Some(_) => format!("{} if it is on the remote, or ", words("git fetch")),
            None => String::new(),
        };
        Ok(Failure::usage(format!(
            "{what}; {fetch}git log --oneline --all shows what is here"
        )))
    }
}

/// The branch that a revision looks like, without the remote's name; `None` for an expression or an
/// object id.
fn branch<'a>(revision: &'a str, remote: Option<&str>) -> Option<&'a str> {
    let name = revision.strip_prefix("refs/heads/").unwrap_or(revision);
    let name = remote
        .and_then(|remote| name.strip_prefix(remote)?.strip_prefix('/'))
        .unwrap_or(name);
    let plain = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "._/-+#".contains(c));
    let id = name.len() >= 7 && name.chars().all(|c| c.is_ascii_hexdigit());
    (plain && !id && !name.is_empty() && name != "HEAD").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_is_a_branch() {
        let origin = Some("origin");
        assert_eq!(branch("main", origin), Some("main"));
        assert_eq!(branch("origin/fix/a-1", origin), Some("fix/a-1"));
        assert_eq!(branch("refs/heads/x", None), Some("x"));
        for none in ["HEAD", "HEAD~1", "a^", "1234567", "v1:x", "", "main@{1}"] {
            assert_eq!(branch(none, origin), None, "{none}");
        }
    }

    #[test]
    fn a_folder_outside_of_any_repository_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let failure = Repository::open(folder.path(), &Interrupt::default()).unwrap_err();
        assert_eq!(failure.code, 2);
        assert!(
            failure
                .message
                .contains("is in no git repository; start in one"),
            "{failure}"
        );
    }
}
