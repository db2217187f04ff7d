//! Packed evidence tells nothing of where it was made, and finished evidence cannot be edited, by one
//! byte anywhere. The campaigns are real and small; nothing here depends on how long anything took.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod real;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use real::{Bench, Ended, run, skipped};

const HOST: &str = "tower.example.org";
const USER: &str = "alicia";
/// A name that `run` may be given here: see unshare(1).
const IN_A_HOST_OF_ITS_OWN: &str = "hostname tower.example.org && exec \"$@\"";

/// What a build says that should say nothing of the host.
const BUILD: &str = r#"#!/bin/sh
echo "on $(hostname) and tower in $PWD, by alicia"
echo "FOR ALICIA@TOWER.EXAMPLE.ORG"
cat /sys/class/net/*/address
ip -o address
cat /proc/sys/kernel/random/boot_id
echo "$HOME/src/x.c:12: warning: odd" >&2
printf '\377 not text\n'
printf '#!/bin/sh\n# %s\nexec cat "$1" > /dev/null\n' "$(cat revision)" > prog
chmod +x prog
"#;

const DECLARED: &str = r#"schema = 1
kind = "paired"
workload = { kind = "file", file = "standard:mix/1k", passes = 1 }
[design]
foreign-cpu = "100%"
rest = "0ms"
[program]
build = [["sh", "./build.sh"]]
binary = "prog"
file = ["{binary}", "{file}"]
"#;

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]);
    let ended = command
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(ended.status.success(), "{ended:?}");
}

/// A repository whose two revisions build with much to say.
fn repository(folder: &Path) {
    fs::create_dir(folder).unwrap();
    git(folder, &["init", "--quiet", "--initial-branch=main", "."]);
    fs::write(folder.join("build.sh"), BUILD).unwrap();
    fs::write(folder.join(".wiretrial.toml"), DECLARED).unwrap();
    for revision in ["one", "two"] {
        fs::write(folder.join("revision"), revision).unwrap();
        git(folder, &["add", "--all"]);
        git(folder, &["commit", "--quiet", "--message", revision]);
    }
}

/// The command on a host that is called [`HOST`], where that can be.
fn called_tower(command: &Command) -> Option<Command> {
    let can = Command::new("unshare")
        .args(["--uts", "sh", "-c", IN_A_HOST_OF_ITS_OWN, "sh", "true"])
        .stderr(Stdio::null())
        .status();
    if !can.is_ok_and(|status| status.success()) {
        return None;
    }
    let mut there = Command::new("unshare");
    there
        .args(["--uts", "sh", "-c", IN_A_HOST_OF_ITS_OWN, "sh"])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(command.get_current_dir().unwrap())
        .stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => there.env(name, value),
            None => there.env_remove(name),
        };
    }
    Some(there)
}

/// Hardware and other addresses of this host, as iproute2 and sysfs have them.
fn addresses() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for interface in fs::read_dir("/sys/class/net").unwrap() {
        let interface = interface.unwrap();
        if interface.file_name() != "lo" {
            let address = fs::read_to_string(interface.path().join("address")).unwrap();
            all.insert(address.trim().to_owned());
        }
    }
    let shown = Command::new("ip").args(["-o", "address"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    for line in shown.lines().filter(|line| !line.contains(": lo ")) {
        let address = line.split_whitespace().nth(3).unwrap();
        all.insert(address.split('/').next().unwrap().to_owned());
    }
    all.remove("00:00:00:00:00:00");
    all.remove("");
    all
}

fn small(bench: &Bench, out: &str, commands: [&str; 2]) -> Ended {
    let mut arguments = vec!["compare", "--command", commands[0], commands[1], "--quick"];
    arguments.extend([
        "--set",
        "design.foreign-cpu=100%",
        "--set",
        "workload.passes=1",
    ]);
    arguments.extend([
        "--set",
        "design.rest=0ms",
        "--fail-on",
        "never",
        "--out",
        out,
    ]);
    run(bench.wiretrial(&arguments))
}

#[test]
fn a_packed_folder_tells_nothing_of_where_it_was_made() {
    let bench = Bench::new();
    let folder = bench.path("repository");
    repository(&folder);
    let mut as_tower = true;
    let mut wiretrial = |arguments: &[&str]| -> Ended {
        let mut command = bench.wiretrial(arguments);
        command.current_dir(&folder).env("USER", USER);
        let command = called_tower(&command).unwrap_or_else(|| {
            as_tower = false;
            command
        });
        run(command)
    };
    let ended = wiretrial(&["compare", "HEAD~1", "HEAD", "--quick", "--out", "out"]);
    assert!(folder.join("out/SHA256SUMS").is_file(), "{}", ended.stderr);
    let log = fs::read(folder.join("out/raw/build-candidate.log")).unwrap();
    let log = String::from_utf8_lossy(&log);
    for word in [
        "HOME/src/x.c:12",
        "USER",
        "MAC",
        "ADDRESS",
        "BOOT",
        "not text",
    ] {
        assert!(log.contains(word), "{word}: {log}");
    }
    let packed = wiretrial(&["pack", "out", "--out", "one.tar.gz"]);
    assert_eq!(packed.code, Some(0), "{}", packed.stderr);
    let again = wiretrial(&["pack", "out", "--out", "two.tar.gz"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let bytes = fs::read(folder.join("one.tar.gz")).unwrap();
    assert!(bytes == fs::read(folder.join("two.tar.gz")).unwrap());
    let verified = wiretrial(&["verify", "one.tar.gz"]);
    assert!(
        verified.stdout.ends_with(" files: equal\n"),
        "{}",
        verified.stderr
    );
    if as_tower {
        assert!(log.contains("on HOST and HOST in PATH"), "{log}");
        assert!(log.contains("FOR USER@HOST"), "{log}");
    } else {
        skipped("no host can be called otherwise here");
    }

    // What tar(1) takes out of it, read by nothing of ours.
    let there = bench.path("unpacked");
    fs::create_dir(&there).unwrap();
    let mut tar = Command::new("tar");
    tar.arg("xzf")
        .arg(folder.join("one.tar.gz"))
        .current_dir(&there);
    assert!(tar.status().unwrap().success());
    let files = read_all(&there);
    let names: Vec<&str> = files
        .keys()
        .map(|name| name.split_once('/').unwrap().1)
        .collect();
    assert!(names.contains(&"raw/build-candidate.log"), "{names:?}");
    assert!(!names.contains(&"private.json"), "{names:?}");
    let mut secrets = addresses();
    let path = |path: &Path| path.canonicalize().unwrap().display().to_string();
    secrets.extend([USER.into(), path(&folder), path(bench.folder.path())]);
    secrets.insert(bench.path(".cache/wiretrial").display().to_string());
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    secrets.insert(boot.trim().to_owned());
    if as_tower {
        secrets.extend([HOST.into(), "tower".into()]);
    }
    for (name, bytes) in &files {
        let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
        for secret in &secrets {
            let secret = secret.to_ascii_lowercase();
            assert!(!text.contains(&secret), "{name} holds {secret}");
            assert!(!name.to_ascii_lowercase().contains(&secret), "{name}");
        }
    }
    let list = Command::new("tar")
        .arg("tvzf")
        .arg(folder.join("one.tar.gz"))
        .env("TZ", "UTC")
        .output()
        .unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    for line in list.lines() {
        assert!(line.starts_with("-rw-r--r-- 0/0 "), "{line}");
        assert!(line.contains(" 1970-01-01 00:00 "), "{line}");
    }
}

/// A busy host may void too many pairs; the evidence of that is finished too.
fn finished(bench: &Bench, out: &str, ended: &Ended) {
    let sums = bench.path(out).join("SHA256SUMS");
    assert!(sums.is_file(), "{}", ended.stderr);
}

#[test]
fn what_names_the_host_is_remarked_on_and_not_packed() {
    let bench = Bench::new();
    let program = bench.script("mine", "exec true");
    let program = program.display().to_string();
    let ended = small(&bench, "out", [&program, "true"]);
    finished(&bench, "out", &ended);
    let remark = ": wiretrial pack will refuse this evidence\n";
    assert!(ended.stderr.contains(remark), "{}", ended.stderr);
    let refused = run(bench.wiretrial(&["pack", "out"]));
    assert_eq!(refused.code, Some(4), "{}", refused.stderr);
    let said = refused.last_line();
    assert!(said.contains("plan.json holds "), "{said}");
    assert!(
        said.contains("(/campaign/cases/0/work/passes/programs/0/"),
        "{said}"
    );
    assert!(!said.contains(&program), "{said}");

    let clean = small(&bench, "clean", ["true", "sleep 0"]);
    finished(&bench, "clean", &clean);
    assert!(!clean.stderr.contains(remark), "{}", clean.stderr);
    let packed = run(bench.wiretrial(&["pack", "clean", "--out", "x.tar.gz"]));
    assert_eq!(packed.code, Some(0), "{}", packed.stderr);
    let twice = run(bench.wiretrial(&["pack", "clean", "--out", "x.tar.gz"]));
    twice.assert(
        2,
        "x.tar.gz exists; nothing is overwritten. --out another file",
    );
    let whole = fs::read(bench.path("x.tar.gz")).unwrap();
    for at in [0, 1, whole.len() / 2, whole.len() - 5] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(bench.path("y.tar.gz"), changed).unwrap();
        let verified = run(bench.wiretrial(&["verify", "y.tar.gz"]));
        assert!(
            matches!(verified.code, Some(2 | 5)),
            "{at}: {}",
            verified.stderr
        );
    }
    for behind in [&b"more"[..], &whole] {
        fs::write(bench.path("y.tar.gz"), [&whole[..], behind].concat()).unwrap();
        run(bench.wiretrial(&["verify", "y.tar.gz"])).assert(
            5,
            "y.tar.gz is no packed evidence: something stands behind its end",
        );
    }
    let inside = run(bench.wiretrial(&["pack", "clean", "--out", "clean/x.tar.gz"]));
    inside.assert(
        2,
        "--out clean/x.tar.gz lies in the evidence, which it would change; --out a file elsewhere",
    );
    let mut from_inside = bench.wiretrial(&["pack"]);
    from_inside.current_dir(bench.path("clean"));
    let beside = run(from_inside);
    assert_eq!(beside.code, Some(0), "{}", beside.stderr);
    let verified = run(bench.wiretrial(&["verify", "clean"]));
    assert_eq!(verified.code, Some(0), "{}", verified.stderr);
    fs::rename(bench.path("clean/private.json"), bench.path("private")).unwrap();
    let unknown = run(bench.wiretrial(&["pack", "clean", "--out", "z.tar.gz"]));
    unknown.assert(
        4,
        "private.json is missing, so what is private of the host that ran the campaign is not known; \
         pack where it ran",
    );
    fs::rename(bench.path("private"), bench.path("clean/private.json")).unwrap();
    let mut report = fs::read(bench.path("clean/report.md")).unwrap();
    report[10] ^= 1;
    fs::write(bench.path("clean/report.md"), report).unwrap();
    let edited = run(bench.wiretrial(&["pack", "clean", "--out", "z.tar.gz"]));
    edited.assert(5, "report.md is not what its analysis prints");
    assert!(!bench.path("z.tar.gz").exists());
}

/// Every file below a folder.
fn read_all(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                all.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    all
}
