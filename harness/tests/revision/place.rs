//! A folder with a repository, and what the tests do there.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use wiretrial::host::Interrupt;
use wiretrial::revision::{Built, Ci, Pair, Recipe, Revision, Side, build, resolve};
use wiretrial_contract::failure::Failure;

/// A folder with a repository `user`, a cache and a folder for logs.
pub(super) struct Place(pub(super) TempDir);

impl Place {
    /// One commit on `main`: a program that prints a number and the path it was compiled from.
    pub(super) fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.user()).unwrap();
        git(&place.user(), &["init", "-q", "-b", "main"]);
        place.write("prog.c", &program(1));
        place.write(".gitignore", "*.o\nignored\nprog\n");
        place.commit("one");
        place
    }

    pub(super) fn user(&self) -> PathBuf {
        self.0.path().join("user")
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.user().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn commit(&self, message: &str) -> String {
        commit(&self.user(), message)
    }

    pub(super) fn git(&self, arguments: &[&str]) -> String {
        git(&self.user(), arguments)
    }

    pub(super) fn resolve(
        &self,
        baseline: Option<&str>,
        candidate: Option<&str>,
    ) -> Result<Pair, Failure> {
        resolve_in(&self.user(), baseline, candidate, &Ci::default())
    }

    pub(super) fn build(&self, pair: &Pair, recipe: &Recipe) -> Result<[Built; 2], Failure> {
        self.build_until(pair, recipe, &Interrupt::default())
    }

    pub(super) fn build_until(
        &self,
        pair: &Pair,
        recipe: &Recipe,
        interrupt: &Interrupt,
    ) -> Result<[Built; 2], Failure> {
        let (logs, cache) = (self.0.path().join("raw"), self.0.path().join("cache"));
        build(pair, recipe, &logs, &cache, interrupt)
    }

    pub(super) fn log(&self, arm: &str) -> String {
        fs::read_to_string(self.0.path().join(format!("raw/build-{arm}.log"))).unwrap()
    }

    /// All that must not change in the user's repository.
    pub(super) fn state(&self) -> Vec<String> {
        let git_folder = fs::metadata(self.user().join(".git/index")).unwrap();
        vec![
            self.git(&["--no-optional-locks", "status", "--porcelain"]),
            self.git(&["worktree", "list"]),
            self.git(&["for-each-ref"]),
            self.git(&["count-objects", "-v"]),
            self.git(&["config", "--list", "--local"]),
            format!("{}.{}", git_folder.mtime(), git_folder.mtime_nsec()),
            format!("{:?}", listed(&self.user().join(".git"))),
        ]
    }
}

pub(super) fn resolve_in(
    folder: &Path,
    baseline: Option<&str>,
    candidate: Option<&str>,
    ci: &Ci,
) -> Result<Pair, Failure> {
    resolve(folder, baseline, candidate, ci, &Interrupt::default())
}

pub(super) fn listed(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(listed(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

pub(super) fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(folder)
        .envs([
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "a"),
            ("GIT_AUTHOR_EMAIL", "a@example.org"),
            ("GIT_COMMITTER_NAME", "a"),
            ("GIT_COMMITTER_EMAIL", "a@example.org"),
            ("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z"),
            ("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z"),
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub(super) fn commit(folder: &Path, message: &str) -> String {
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-q", "--allow-empty", "-m", message]);
    git(folder, &["rev-parse", "HEAD"])
}

pub(super) fn program(number: u32) -> String {
    format!(
        "#include <stdio.h>\nint main(void) {{ printf(\"{number} %s\\n\", __FILE__); return 0; }}\n"
    )
}

pub(super) fn recipe(steps: &[&[&str]]) -> Recipe {
    let step = |step: &&[&str]| step.iter().map(|word| (*word).to_owned()).collect();
    Recipe {
        steps: steps.iter().map(step).collect(),
        binary: "prog".into(),
        env: BTreeMap::new(),
    }
}

/// Compiles the source by its whole path, so that the folder is in the executable.
pub(super) fn compiled() -> Recipe {
    recipe(&[&["sh", "-c", "cc -o prog \"$PWD/prog.c\""]])
}

pub(super) fn run(path: &Path) -> String {
    let output = Command::new(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub(super) fn revision(side: &Side) -> &Revision {
    side.revision().unwrap()
}

pub(super) fn dirty(pair: &Pair) -> Option<String> {
    revision(&pair.candidate).dirty_sha256().map(str::to_owned)
}
