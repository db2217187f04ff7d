//! What is built of a revision, and what is left behind.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::Duration;

use wiretrial::host::Interrupt;
use wiretrial::revision::Recipe;
use wiretrial_contract::clock;
use wiretrial_contract::failure::Failure;

use super::place::{Place, commit, compiled, dirty, git, program, recipe, run};

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
