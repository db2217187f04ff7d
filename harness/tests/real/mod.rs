//! The real executables in a folder of their own, so that every process of a test can be told from
//! all others by where its executable lies.

#![allow(dead_code, reason = "each test crate uses its own part")]
#![allow(clippy::print_stdout, reason = "a skip is printed")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use wiretrial::host::HostLock;
use wiretrial_contract::clock;

/// Longest wait for anything a test expects.
const PATIENCE_NS: u64 = 60_000_000_000;

/// A campaign with arms that differ and one case.
const ONE_CASE: &str = r#"
schema = 1
kind = "paired"
topology.kind = "loopback"
traffic.rate-pps = 20000
arm.baseline.receiver.immediate = true
arm.candidate.receiver.immediate = false
"#;

/// One campaign a host: tests of one process take turns.
static TURN: Mutex<()> = Mutex::new(());

pub(crate) struct Bench {
    pub(crate) folder: TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        for name in ["wiretrial", "wiretrial-generator", "wiretrial-receiver"] {
            let from = executables().join(name);
            assert!(
                from.is_file(),
                "{} is missing: run make test",
                from.display()
            );
            let to = folder.path().join(name);
            // A link where the file system allows it: debug executables are large.
            if fs::hard_link(&from, &to).is_err() {
                fs::copy(&from, &to).unwrap();
            }
        }
        fs::create_dir(folder.path().join("tmp")).unwrap();
        // Other tests, or a person, may be at it: a host has one campaign at a time.
        wait_for("the host", || HostLock::take().ok().map(drop));
        Self {
            folder,
            _turn: turn,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `wiretrial` in this folder, with a home and a place for temporary files of its own.
    pub(crate) fn wiretrial(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.path("wiretrial"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env("TMPDIR", self.path("tmp"))
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// `wiretrial run demo` with short trials that a busy host does not void.
    pub(crate) fn campaign(&self, arguments: &[&str]) -> Command {
        self.short("demo", arguments)
    }

    /// The same with one case of two arms, where two cases show no more.
    pub(crate) fn one_case(&self, arguments: &[&str]) -> Command {
        self.text("one", ONE_CASE, arguments)
    }

    /// The same of a campaign in words.
    pub(crate) fn text(&self, name: &str, text: &str, arguments: &[&str]) -> Command {
        let file = format!("{name}.toml");
        fs::write(self.path(&file), text).unwrap();
        self.short(&file, arguments)
    }

    fn short(&self, campaign: &str, arguments: &[&str]) -> Command {
        let mut all = vec!["run", campaign, "--quick", "--isolation", isolation()];
        all.extend(["--set", "design.foreign-cpu=100%", "--seed", "7"]);
        all.extend(arguments);
        self.wiretrial(&all)
    }

    /// A script in this folder that can stand for a receiver or a generator.
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Processes whose executable lies in this folder.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let folder = self.folder.path().canonicalize().unwrap();
        processes()
            .filter(|pid| {
                fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.starts_with(&folder))
            })
            .collect()
    }

    /// Waits until none of them is left.
    pub(crate) fn wait_until_gone(&self) {
        wait_for("the processes to be gone", || {
            self.processes().is_empty().then_some(())
        });
    }

    /// The evidence folder of the only campaign.
    pub(crate) fn evidence(&self) -> PathBuf {
        let campaign = self.path("evidence/demo");
        let mut folders: Vec<PathBuf> = fs::read_dir(&campaign)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(folders.len(), 1, "{folders:?}");
        folders.remove(0)
    }
}

/// What a command printed and how it ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// The last line on standard error.
    pub(crate) fn last_line(&self) -> &str {
        self.stderr.lines().last().unwrap_or("")
    }

    /// Asserts the exit code and the sentence behind it.
    pub(crate) fn assert(&self, code: i32, sentence: &str) {
        assert_eq!(
            self.code,
            Some(code),
            "stdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        assert_eq!(
            self.last_line(),
            format!("wiretrial: exit {code}: {sentence}")
        );
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

pub(crate) fn run(mut command: Command) -> Ended {
    command.output().unwrap().into()
}

/// A running harness; killed when a test fails.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        Self(
            command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        )
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Says that a test could not run here; in CI that is a failure.
pub(crate) fn skipped(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "skipped in CI: {why}");
    println!("skipped: {why}");
}

/// Rows of an evidence folder.
pub(crate) fn rows(folder: &Path) -> Vec<Value> {
    fs::read_to_string(folder.join("trials.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(crate) fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Children of a process, by the name of their executable.
pub(crate) fn children(parent: u32, name: &str) -> Vec<u32> {
    processes()
        .filter(|pid| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let is_child = status
                .lines()
                .any(|line| line == format!("PPid:\t{parent}"));
            is_child
                && fs::read_link(format!("/proc/{pid}/exe"))
                    .is_ok_and(|exe| exe.file_name().is_some_and(|file| file == name))
        })
        .collect()
}

/// Network namespaces that some process is in.
pub(crate) fn namespaces() -> BTreeSet<PathBuf> {
    processes()
        .filter_map(|pid| fs::read_link(format!("/proc/{pid}/ns/net")).ok())
        .collect()
}

pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = clock::monotonic_ns() + PATIENCE_NS;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(
            clock::monotonic_ns() < deadline,
            "waited in vain for {what}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The isolation that this run of the tests is about.
pub(crate) fn isolation() -> &'static str {
    match std::env::var("WIRETRIAL_TEST_ISOLATION").as_deref() {
        Ok("sandbox") => "sandbox",
        Ok("netns") => "netns",
        Ok("none") => "none",
        _ => "auto",
    }
}

fn executables() -> PathBuf {
    match std::env::var_os("WIRETRIAL_BIN_DIR") {
        Some(folder) => std::path::absolute(PathBuf::from(folder)).unwrap(),
        None => Path::new(env!("CARGO_BIN_EXE_wiretrial"))
            .parent()
            .unwrap()
            .to_owned(),
    }
}

fn processes() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}
