//! Revisions of real repositories, built by a real compiler.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use wiretrial::host::Interrupt;
use wiretrial::revision::{Built, Ci, Pair, Recipe, Revision, Side, Tree, build, resolve};
use wiretrial_contract::clock;
use wiretrial_contract::failure::Failure;

/// A folder with a repository `user`, a cache and a folder for logs.
struct Place(TempDir);

impl Place {
    /// One commit on `main`: a program that prints a number and the path it was compiled from.
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.user()).unwrap();
        git(&place.user(), &["init", "-q", "-b", "main"]);
        place.write("prog.c", &program(1));
        place.write(".gitignore", "*.o\nignored\nprog\n");
        place.commit("one");
        place
    }

    fn user(&self) -> PathBuf {
        self.0.path().join("user")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.user().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn commit(&self, message: &str) -> String {
        commit(&self.user(), message)
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(&self.user(), arguments)
    }

    fn resolve(&self, baseline: Option<&str>, candidate: Option<&str>) -> Result<Pair, Failure> {
        resolve_in(&self.user(), baseline, candidate, &Ci::default())
    }

    fn build(&self, pair: &Pair, recipe: &Recipe) -> Result<[Built; 2], Failure> {
        self.build_until(pair, recipe, &Interrupt::default())
    }

    fn build_until(
        &self,
        pair: &Pair,
        recipe: &Recipe,
        interrupt: &Interrupt,
    ) -> Result<[Built; 2], Failure> {
        let (logs, cache) = (self.0.path().join("raw"), self.0.path().join("cache"));
        build(pair, recipe, &logs, &cache, interrupt)
    }

    fn log(&self, arm: &str) -> String {
        fs::read_to_string(self.0.path().join(format!("raw/build-{arm}.log"))).unwrap()
    }

    /// All that must not change in the user's repository.
    fn state(&self) -> Vec<String> {
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

fn resolve_in(
    folder: &Path,
    baseline: Option<&str>,
    candidate: Option<&str>,
    ci: &Ci,
) -> Result<Pair, Failure> {
    resolve(folder, baseline, candidate, ci, &Interrupt::default())
}

fn listed(folder: &Path) -> Vec<PathBuf> {
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

fn git(folder: &Path, arguments: &[&str]) -> String {
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

fn commit(folder: &Path, message: &str) -> String {
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-q", "--allow-empty", "-m", message]);
    git(folder, &["rev-parse", "HEAD"])
}

fn program(number: u32) -> String {
    format!(
        "#include <stdio.h>\nint main(void) {{ printf(\"{number} %s\\n\", __FILE__); return 0; }}\n"
    )
}

fn recipe(steps: &[&[&str]]) -> Recipe {
    let step = |step: &&[&str]| step.iter().map(|word| (*word).to_owned()).collect();
    Recipe {
        steps: steps.iter().map(step).collect(),
        binary: "prog".into(),
        env: BTreeMap::new(),
    }
}

/// Compiles the source by its whole path, so that the folder is in the executable.
fn compiled() -> Recipe {
    recipe(&[&["sh", "-c", "cc -o prog \"$PWD/prog.c\""]])
}

fn run(path: &Path) -> String {
    let output = Command::new(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn revision(side: &Side) -> &Revision {
    side.revision().unwrap()
}

fn dirty(pair: &Pair) -> Option<String> {
    revision(&pair.candidate).dirty_sha256().map(str::to_owned)
}

#[test]
fn the_default_baseline_is_where_the_work_began() {
    let place = Place::new();
    // Nothing before it and nothing changed.
    let failure = place.resolve(None, None).unwrap_err();
    assert_eq!(failure.code, 2);
    assert!(failure.message.contains("is the first commit"), "{failure}");
    let one = place.git(&["rev-parse", "HEAD"]);
    let two = place.commit("two");

    let pair = place.resolve(None, None).unwrap();
    assert_eq!(revision(&pair.baseline).commit, one);
    let clean = Tree::WorkingTree { dirty_sha256: None };
    assert_eq!(revision(&pair.candidate).tree, clean);
    assert_eq!(
        pair.notes,
        [format!(
            "baseline is {}, HEAD~1, because HEAD is part of main and everything is committed",
            &one[..7]
        )]
    );
    place.write("prog.c", &program(2));
    let pair = place.resolve(None, None).unwrap();
    assert_eq!(revision(&pair.baseline).commit, two);
    assert_eq!(revision(&pair.candidate).commit, two);
    assert!(!pair.same_source());
    place.git(&["checkout", "-q", "prog.c"]);

    place.git(&["checkout", "-q", "-b", "topic"]);
    place.commit("three");
    let pair = place.resolve(None, None).unwrap();
    assert_eq!(revision(&pair.baseline).commit, two);
    assert_eq!(
        revision(&pair.baseline).described,
        "the merge base with main"
    );

    // The remote's default branch counts more than a local one.
    let clone = place.0.path().join("clone");
    git(
        place.0.path(),
        &["clone", "-q", "-b", "main", "user", "clone"],
    );
    git(&clone, &["remote", "set-head", "origin", "topic"]);
    let four = commit(&clone, "four");
    let pair = resolve_in(&clone, None, None, &Ci::default()).unwrap();
    assert_eq!(revision(&pair.baseline).commit, two);
    assert_eq!(
        revision(&pair.baseline).described,
        "the merge base with origin/topic"
    );
    assert_eq!(revision(&pair.candidate).commit, four);
}

#[test]
fn ranges_are_as_in_git_and_the_same_revision_is_refused() {
    let place = Place::new();
    let one = place.git(&["rev-parse", "HEAD"]);
    place.git(&["checkout", "-q", "-b", "topic"]);
    let topic = place.commit("topic");
    place.git(&["checkout", "-q", "main"]);
    let main = place.commit("main");

    let pair = place.resolve(Some("main...topic"), None).unwrap();
    assert_eq!(revision(&pair.baseline).commit, one);
    assert_eq!(revision(&pair.candidate).commit, topic);
    assert_eq!(revision(&pair.candidate).tree, Tree::Committed);
    let pair = place.resolve(Some("topic..main"), None).unwrap();
    assert_eq!(revision(&pair.baseline).commit, topic);
    assert_eq!(revision(&pair.candidate).commit, main);
    let pair = place.resolve(Some("topic"), None).unwrap();
    assert_eq!(revision(&pair.baseline).commit, topic);
    assert_eq!(revision(&pair.candidate).commit, main);

    let pair = place.resolve(Some("HEAD"), None).unwrap();
    assert!(pair.same_source());
    let failure = pair.check_distinct().unwrap_err();
    assert_eq!(failure.code, 2);
    assert_eq!(
        failure.message,
        format!(
            "baseline and candidate are the same revision ({}): nothing to compare. --aa measures \
             the floor on purpose",
            &main[..7]
        )
    );
}

#[test]
fn revisions_that_are_not_there_say_what_to_do() {
    let place = Place::new();
    let failure = place.resolve(Some("nowhere"), None).unwrap_err();
    assert_eq!(failure.code, 2);
    assert_eq!(
        failure.message,
        "unknown revision \"nowhere\"; git log --oneline --all shows what is here"
    );
    for refused in ["--output=x", "-", ""] {
        let failure = place.resolve(Some(refused), None).unwrap_err();
        assert_eq!(failure.code, 2);
        assert!(failure.message.contains("begins with -"), "{failure}");
    }

    place.commit("two");
    place.commit("three");
    let url = format!("file://{}", place.user().display());
    let shallow = place.0.path().join("shallow");
    git(
        place.0.path(),
        &["clone", "-q", "--depth", "1", "-b", "main", &url, "shallow"],
    );
    let failure = resolve_in(&shallow, Some("topic"), None, &Ci::default()).unwrap_err();
    assert_eq!(failure.code, 2);
    assert_eq!(
        failure.message,
        "unknown revision \"topic\": this is a shallow clone (depth 1). git fetch --unshallow origin \
         topic, or fetch-depth: 0 in actions/checkout"
    );
    let failure = resolve_in(&shallow, None, None, &Ci::default()).unwrap_err();
    assert_eq!(
        failure.message,
        "unknown revision \"HEAD~1\": this is a shallow clone (depth 1). git fetch --unshallow \
         origin, or fetch-depth: 0 in actions/checkout"
    );
    // Two single commits with no history between them.
    place.git(&["checkout", "-q", "-b", "topic", "main~1"]);
    place.commit("topic");
    git(
        &shallow,
        &["fetch", "-q", "--depth", "1", "origin", "topic"],
    );
    let failure = resolve_in(&shallow, Some("FETCH_HEAD...main"), None, &Ci::default());
    let failure = failure.unwrap_err();
    assert_eq!(
        failure.message,
        "no merge base of \"FETCH_HEAD\" and main: this is a shallow clone (depth 1). git fetch \
         --unshallow origin FETCH_HEAD, or fetch-depth: 0 in actions/checkout"
    );
}

#[test]
fn in_ci_the_baseline_is_the_targets_side_of_the_merge() {
    let place = Place::new();
    place.git(&["checkout", "-q", "-b", "topic"]);
    place.commit("topic");
    place.git(&["checkout", "-q", "main"]);
    let target = place.commit("main has moved on");
    place.git(&["checkout", "-q", "--detach"]);
    place.git(&["merge", "-q", "--no-ff", "-m", "merge", "topic"]);
    let merge = place.git(&["rev-parse", "HEAD"]);
    let ci = |sha: &str| {
        let sha = sha.to_owned();
        Ci::from_variables(move |name| match name {
            "GITHUB_ACTIONS" => Some("true".into()),
            "GITHUB_EVENT_NAME" => Some("pull_request".into()),
            "GITHUB_BASE_REF" => Some("main".into()),
            "GITHUB_SHA" => Some(sha.clone()),
            _ => None,
        })
    };
    let pair = resolve_in(&place.user(), None, None, &ci(&merge)).unwrap();
    assert_eq!(revision(&pair.baseline).commit, target);
    assert_eq!(
        pair.notes,
        [format!(
            "baseline is {}, the side of main in the merge that CI made, HEAD^1",
            &target[..7]
        )]
    );
    // A checkout of CI has both parents and no branch at all.
    let shallow = place.0.path().join("shallow");
    let url = format!("file://{}", place.user().display());
    git(place.0.path(), &["init", "-q", "shallow"]);
    git(&shallow, &["remote", "add", "origin", &url]);
    place.git(&["branch", "merged"]);
    git(
        &shallow,
        &["fetch", "-q", "--depth", "2", "origin", "merged"],
    );
    git(&shallow, &["checkout", "-q", "--detach", "FETCH_HEAD"]);
    let pair = resolve_in(&shallow, None, None, &ci(&merge)).unwrap();
    assert_eq!(revision(&pair.baseline).commit, target);
    let failure = resolve_in(&shallow, None, None, &ci("another")).unwrap_err();
    assert_eq!(
        failure.message,
        "unknown revision \"main\": this is a shallow clone (depth 2). git fetch --unshallow origin \
         main, or fetch-depth: 0 in actions/checkout"
    );
    let built = place.build(&pair, &compiled()).unwrap();
    assert_eq!(built[0].identity.commit.as_ref(), Some(&target));
}

#[test]
fn what_is_not_committed_is_built_and_its_hash_says_what_it_was() {
    let place = Place::new();
    place.write("gone.c", "gone\n");
    place.commit("two");
    let change = || {
        place.write(
            "prog.c",
            &program(2).replace("#include", "#include \"new.h\"\n#include"),
        );
        place.write("new.h", "/* not tracked */\n");
        place.write("bytes.bin", "\0\x01\u{fffd}\n");
        place.write("ignored", "not seen\n");
        fs::remove_file(place.user().join("gone.c")).unwrap();
    };
    change();
    let first = place.resolve(None, None).unwrap();
    let hash = dirty(&first).unwrap();
    place.write("new.h", "/* another */\n");
    assert_ne!(
        dirty(&place.resolve(None, None).unwrap()).as_ref(),
        Some(&hash)
    );
    place.git(&["stash", "-q", "--include-untracked"]);
    assert_eq!(dirty(&place.resolve(Some("HEAD~1"), None).unwrap()), None);
    change();
    // Staged or not, now or later: the same change is the same hash.
    place.git(&["add", "new.h"]);
    let pair = place.resolve(None, None).unwrap();
    assert_eq!(dirty(&pair).as_ref(), Some(&hash));

    let before = place.state();
    let script =
        "test -f new.h -o -f gone.c && ! test -f ignored && cc -o prog \"$PWD/prog.c\" && ls";
    let built = place
        .build(&pair, &recipe(&[&["sh", "-c", script]]))
        .unwrap();
    assert_eq!(place.state(), before);
    let [baseline, candidate] = &built;
    assert!(run(&baseline.path).starts_with("1 "));
    assert!(run(&candidate.path).starts_with("2 "));
    assert!(place.log("baseline").contains("\ngone.c\n"));
    assert!(!place.log("candidate").contains("\ngone.c\n"));
    assert!(place.log("candidate").contains("\nbytes.bin\n"));
    assert_eq!(candidate.identity.commit, baseline.identity.commit);
    assert_eq!(candidate.identity.dirty_sha256.as_ref(), Some(&hash));
    assert_eq!(baseline.identity.dirty_sha256, None);

    // It must be the working tree that was looked at.
    place.write("new.h", "/* changed since */\n");
    let failure = place.build(&pair, &compiled()).unwrap_err();
    assert_eq!(failure.code, 3);
    assert!(failure.message.starts_with("the working tree changed"));
}

#[test]
fn what_no_tree_can_hold_is_refused() {
    let place = Place::new();
    let inside = place.user().join("inside");
    fs::create_dir(&inside).unwrap();
    git(&inside, &["init", "-q"]);
    commit(&inside, "inside");
    let failure = place.resolve(None, None).unwrap_err();
    assert_eq!(failure.code, 2);
    let start = "\"inside\" is a repository of its own";
    assert!(failure.message.starts_with(start), "{failure}");
}

#[test]
fn both_are_built_in_one_folder_and_only_their_content_differs() {
    let place = Place::new();
    place.write("prog.c", &program(2));
    place.commit("two");
    let pair = place.resolve(Some("HEAD~1"), None).unwrap();
    let before = place.state();
    let [baseline, candidate] = place.build(&pair, &compiled()).unwrap();
    assert_eq!(place.state(), before);
    let (first, second) = (run(&baseline.path), run(&candidate.path));
    let folder = first.strip_prefix("1 ").unwrap();
    assert_eq!(second.strip_prefix("2 "), Some(folder));
    let cache = place.0.path().join("cache").canonicalize().unwrap();
    assert!(folder.starts_with(cache.join("clones").to_str().unwrap()));
    for built in [&baseline, &candidate] {
        let identity = &built.identity;
        let cache = place.0.path().join("cache/bin");
        assert_eq!(built.path, cache.join(&identity.sha256).join("prog"));
        assert_eq!(identity.build, compiled().steps);
        assert!(identity.compiler.as_ref().unwrap().contains("GCC: ("));
    }
    assert_ne!(baseline.identity.sha256, candidate.identity.sha256);

    // Asked again, the same revisions are the same bytes.
    let again = place.build(&pair, &compiled()).unwrap();
    assert_eq!(again, [baseline, candidate]);
}

#[test]
fn what_one_build_leaves_is_not_there_for_the_next() {
    let place = Place::new();
    place.commit("two");
    let pair = place.resolve(Some("HEAD~1"), None).unwrap();
    // A build in the tree that takes what an earlier one left.
    let script = "test -e stale.o || cc -c -o stale.o prog.c; test -e kept/x && exit 9; \
                  mkdir kept; touch kept/x; cp -r .git kept/.git; cc -o prog stale.o; touch new.txt";
    for _ in 0..2 {
        place
            .build(&pair, &recipe(&[&["sh", "-c", script]]))
            .unwrap();
    }

    // Of a Cargo project the folder target stays, without the executable of the other arm.
    place.write("Cargo.toml", "[package]\nname = \"x\"\n");
    place.write(".gitignore", "target\n");
    place.commit("three");
    place.commit("four");
    let pair = place.resolve(Some("HEAD~1"), None).unwrap();
    let script = "ls target sub/target; mkdir -p target sub/target; touch target/old sub/target/old; \
                  test -e target/prog && exit 9; cc -o target/prog prog.c";
    let recipe = Recipe {
        binary: "target/prog".into(),
        ..recipe(&[&["sh", "-c", script]])
    };
    place.build(&pair, &recipe).unwrap();
    let log = place.log("candidate");
    assert!(log.contains("\ntarget:\nold\n"), "{log}");
    assert!(log.contains("'sub/target'"), "{log}");
}

#[test]
fn cargo_builds_each_revision_anew_in_the_folder_it_keeps() {
    let place = Place::new();
    place.write(
        "Cargo.toml",
        "[package]\nname = \"prog\"\nedition = \"2024\"\n",
    );
    place.write("src/main.rs", "fn main() { println!(\"1\") }\n");
    place.commit("one");
    place.write("src/main.rs", "fn main() { println!(\"2\") }\n");
    let pair = place.resolve(None, None).unwrap();
    let cargo = Recipe {
        binary: "target/debug/prog".into(),
        env: BTreeMap::from([("CARGO_TARGET_DIR".into(), "target".into())]),
        ..recipe(&[&["cargo", "build", "--offline"]])
    };
    let built = place.build(&pair, &cargo).unwrap();
    assert_eq!([run(&built[0].path), run(&built[1].path)], ["1", "2"]);
    let compiler = built[1].identity.compiler.as_ref().unwrap();
    assert!(compiler.contains("rustc version "), "{compiler}");
    assert!(built[1].identity.build_id.is_some());
    assert_eq!(place.build(&pair, &cargo).unwrap(), built);
}

#[test]
fn submodules_are_filled_from_where_the_users_checkout_has_them() {
    let place = Place::new();
    let library = place.0.path().join("library");
    git(place.0.path(), &["init", "-q", "-b", "main", "library"]);
    fs::write(library.join("number.h"), "#define NUMBER 1\n").unwrap();
    commit(&library, "one");
    let url = library.to_str().unwrap();
    place.git(&["submodule", "--quiet", "add", url, "lib"]);
    place.commit("with a submodule");
    fs::write(library.join("number.h"), "#define NUMBER 2\n").unwrap();
    commit(&library, "two");
    git(&place.user().join("lib"), &["pull", "-q", "origin", "main"]);
    place.commit("with a newer one");
    let pair = place.resolve(Some("HEAD~1"), None).unwrap();
    let show = recipe(&[&[
        "sh",
        "-c",
        "cat lib/number.h; cc -include lib/number.h -o prog prog.c",
    ]]);
    let before = place.state();
    place.build(&pair, &show).unwrap();
    assert_eq!(place.state(), before);
    assert!(place.log("baseline").contains("NUMBER 1"));
    assert!(place.log("candidate").contains("NUMBER 2"));
    // To a revision without it and back again.
    let pair = place.resolve(Some("HEAD~2"), None).unwrap();
    let script = "cat lib/number.h; ls -d lib; cc -o prog prog.c";
    place
        .build(&pair, &recipe(&[&["sh", "-c", script]]))
        .unwrap();
    assert!(place.log("baseline").contains("cannot access 'lib'"));
    assert!(place.log("candidate").contains("NUMBER 2"));

    fs::write(place.user().join("lib/number.h"), "#define NUMBER 3\n").unwrap();
    let failure = place.resolve(Some("HEAD~1"), None).unwrap_err();
    assert_eq!(failure.code, 2);
    assert!(
        failure.message.starts_with("submodule \"lib\" has changes"),
        "{failure}"
    );
    git(&place.user().join("lib"), &["checkout", "-q", "number.h"]);

    // A path that only the revision names is not read.
    place.git(&["config", "submodule.lib.url", "https://example.org/lib"]);
    let pair = place.resolve(Some("HEAD~1"), None).unwrap();
    let failure = place.build(&pair, &show).unwrap_err();
    assert_eq!(failure.code, 2);
    let start = "submodule \"lib\" of baseline ";
    assert!(failure.message.starts_with(start), "{failure}");
}

#[test]
fn a_failed_build_says_which_step_and_what_it_printed() {
    let place = Place::new();
    let two = place.commit("two");
    let pair = place.resolve(Some("HEAD~1"), None).unwrap();
    let first = &["sh", "-c", "echo of the first step"][..];
    let log = place.0.path().join("raw/build-candidate.log");
    let script = format!("test $(git rev-parse HEAD) = {two} || exit 0; seq 1 30; exit 77");
    let failing = recipe(&[
        &["cc", "-o", "prog", "prog.c"],
        &["sh", "-c", &script],
        first,
    ]);
    let failure = place.build(&pair, &failing).unwrap_err();
    assert_eq!(failure.code, 3);
    let lines: Vec<String> = (11..=30).map(|line| format!("    {line}\n")).collect();
    assert_eq!(
        failure.message,
        format!(
            "build of candidate {} failed at step 2 of 3 (sh, exit 77); last 20 lines:\n{}full log: {}",
            &two[..7],
            lines.concat(),
            log.display()
        )
    );
    let log = place.log("candidate");
    assert!(log.starts_with("== step 1 of 3: [\"cc\", \"-o\", \"prog\", \"prog.c\"]\n"));

    let failure = place
        .build(&pair, &recipe(&[first, &["no-such-tool"]]))
        .unwrap_err();
    assert!(
        failure.message.contains(
            "failed at step 2 of 2 (no-such-tool, not found); it printed \
                                  nothing; full log: "
        ),
        "{failure}"
    );
    let failure = place
        .build(&pair, &recipe(&[&["sh", "-c", "kill -9 $$"]]))
        .unwrap_err();
    assert!(
        failure.message.contains("step 1 of 1 (sh, signal 9)"),
        "{failure}"
    );

    let failure = place.build(&pair, &recipe(&[first])).unwrap_err();
    assert_eq!(failure.code, 3);
    assert!(
        failure
            .message
            .contains("left no file prog (program.binary)"),
        "{failure}"
    );
    let outside = Recipe {
        binary: "../prog".into(),
        ..compiled()
    };
    assert_eq!(place.build(&pair, &outside).unwrap_err().code, 2);
    // After all that the clone is as good as new.
    place.build(&pair, &compiled()).unwrap();
}

#[test]
fn an_executable_that_needs_the_checkout_is_refused() {
    let place = Place::new();
    place.commit("two");
    let pair = place.resolve(Some("HEAD~1"), None).unwrap();
    let wrapper = "mkdir .libs; cc -o .libs/prog prog.c; \
                   printf '#!/bin/sh\\n# prog - temporary wrapper script for .libs/prog\\n' > prog";
    let failure = place
        .build(&pair, &recipe(&[&["sh", "-c", wrapper]]))
        .unwrap_err();
    assert_eq!(failure.code, 3);
    assert!(
        failure.message.contains("use .libs/prog as program.binary"),
        "{failure}"
    );
    for run_path in ["$PWD/lib", "\\$ORIGIN/lib"] {
        let script = format!(
            "mkdir lib; echo 'int f(void){{return 0;}}' | cc -shared -o lib/libf.so -xc - && \
             cc -o prog prog.c -Wl,--no-as-needed -Llib -lf -Wl,-rpath,\"{run_path}\""
        );
        let failure = place
            .build(&pair, &recipe(&[&["sh", "-c", &script]]))
            .unwrap_err();
        assert!(
            failure.message.contains("loads libf.so from the checkout"),
            "{failure}"
        );
    }
}

#[test]
fn an_interrupt_ends_all_that_a_build_started() {
    let place = Place::new();
    place.commit("two");
    let pair = place.resolve(Some("HEAD~1"), None).unwrap();
    let pids = place.0.path().join("pids");
    let script = format!(
        "sh -c 'sleep 1000 & echo $! > {0}.part; mv {0}.part {0}; wait'",
        pids.display()
    );
    let interrupt = Interrupt::default();
    let failure = thread::scope(|scope| {
        let build = scope.spawn(|| {
            let recipe = recipe(&[&["sh", "-c", &script]]);
            place.build_until(&pair, &recipe, &interrupt)
        });
        while !pids.exists() && !build.is_finished() {
            thread::sleep(Duration::from_millis(5));
        }
        interrupt.raise();
        build.join().unwrap()
    });
    assert_eq!(failure.unwrap_err(), Failure::interrupted());
    let pid = fs::read_to_string(&pids).unwrap();
    let alive = || {
        fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
            .is_ok_and(|stat| !stat.contains(") Z "))
    };
    let mut looks = 0;
    while alive() {
        looks += 1;
        assert!(looks < 1000, "process {pid} is still there");
        clock::sleep_until(clock::monotonic_ns() + 10_000_000);
    }
    place.build(&pair, &compiled()).unwrap();
}

#[test]
fn the_clone_is_one_builds_at_a_time_and_mends_itself() {
    let place = Place::new();
    place.write("prog.c", &program(2));
    place.commit("two");
    let pair = place.resolve(Some("HEAD~1"), None).unwrap();
    // Each build sees its own revision although both want the folder.
    let built = thread::scope(|scope| {
        let one = scope.spawn(|| place.build(&pair, &compiled()).unwrap());
        let two = scope.spawn(|| place.build(&pair, &compiled()).unwrap());
        [one.join().unwrap(), two.join().unwrap()]
    });
    assert_eq!(built[0], built[1]);
    let clones = fs::read_dir(place.0.path().join("cache/clones")).unwrap();
    let clone = clones
        .map(|entry| entry.unwrap().path())
        .find(|path| path.is_dir());
    let clone = clone.unwrap();
    // A killed git leaves a lock, a full disk half a repository.
    fs::write(clone.join(".git/index.lock"), "").unwrap();
    assert_eq!(place.build(&pair, &compiled()).unwrap(), built[0]);
    fs::remove_file(clone.join(".git/HEAD")).unwrap();
    assert_eq!(place.build(&pair, &compiled()).unwrap(), built[0]);
}

#[test]
fn executables_are_kept_and_may_stand_beside_a_revision() {
    let place = Place::new();
    let pair = place
        .resolve(Some("/bin/true"), Some("/bin/false"))
        .unwrap();
    let [baseline, candidate] = place.build(&pair, &recipe(&[])).unwrap();
    assert_eq!(baseline.identity.commit, None);
    assert!(baseline.path.ends_with("true") && candidate.path.ends_with("false"));
    assert!(baseline.path.starts_with(place.0.path().join("cache/bin")));

    place.write("prog.c", &program(2));
    let pair = place.resolve(Some("/bin/true"), Some(".")).unwrap();
    assert!(pair.notes[0].starts_with("one side is built here"));
    let [_, candidate] = place.build(&pair, &compiled()).unwrap();
    assert!(run(&candidate.path).starts_with("2 "));
}
