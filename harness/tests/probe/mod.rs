//! A repository with a small C flow probe, built by autotools, whose branches differ in a known way.

#![allow(dead_code, reason = "each test crate uses its own part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// Rounds of the probe whose cost is measured to know that of one.
const MANY: u32 = 200_000_000;

/// What a branch changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// A comment: the executable is the same.
    Comment,
    /// A text that nobody sees: another executable, the same behaviour.
    Renamed,
    /// Ten times the rounds of a packet, so that they are nearly all of its cost.
    TenTimes,
    /// This many rounds more a packet.
    Rounds(u32),
    /// About 8 % more CPU a packet.
    Slower,
    /// About 30 % more CPU a packet.
    MuchSlower,
    /// Some packets are left out of the result.
    WrongWork,
    /// More work before the first packet.
    SlowStart,
    /// The capture waits for a full block of its ring.
    NoTimeLimit,
    /// It does not compile.
    Broken,
}

impl Change {
    fn edit(self) -> (&'static str, String) {
        let (from, to) = match self {
            Self::Rounds(rounds) => return ("#define EXTRA 0", format!("#define EXTRA {rounds}")),
            Self::TenTimes => ("#define ROUNDS 1000", "#define ROUNDS 10000"),
            Self::Comment => ("/* Rounds of mixing a packet. */", "/* Mixing rounds. */"),
            Self::Renamed => ("\"probe: %s: %s\\n\"", "\"the probe: %s: %s\\n\""),
            Self::Slower => ("#define EXTRA 0", "#define EXTRA 90"),
            Self::MuchSlower => ("#define EXTRA 0", "#define EXTRA 330"),
            Self::WrongWork => ("#define SKIP 0", "#define SKIP 1000"),
            Self::SlowStart => ("#define START 0", "#define START 20000000"),
            Self::NoTimeLimit => ("#define TIMEOUT 10", "#define TIMEOUT 0"),
            Self::Broken => ("#define SKIP 0", "#define SKIP nothing"),
        };
        (from, to.into())
    }
}

/// How the repository's program is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Build {
    /// By the C compiler, in two steps.
    Compiler,
    /// By autoreconf, configure and make.
    Autotools,
}

impl Build {
    const fn steps(self) -> &'static str {
        match self {
            Self::Compiler => {
                r#"[["cc", "-O2", "-Wall", "-c", "probe.c"], ["cc", "-o", "probe", "probe.o", "-lpcap"]]"#
            }
            Self::Autotools => {
                r#"[["autoreconf", "-if"], ["./configure", "--silent"], ["make", "--silent"]]"#
            }
        }
    }
}

/// A repository; `main` and the tag `base` are the probe as it is.
pub(crate) struct Repository(PathBuf);

impl Repository {
    pub(crate) fn new(path: &Path, build: Build) -> Self {
        let repository = Self(path.to_owned());
        fs::create_dir(path).unwrap();
        for (name, text) in [
            ("probe.c", include_str!("probe.c")),
            ("configure.ac", include_str!("configure.ac")),
            ("Makefile.am", include_str!("Makefile.am")),
        ] {
            fs::write(path.join(name), text).unwrap();
        }
        let campaign = include_str!("wiretrial.toml").replace("BUILD", build.steps());
        fs::write(path.join(".wiretrial.toml"), campaign).unwrap();
        repository.git(&["init", "-q", "-b", "main"]);
        repository.commit("a probe");
        repository.git(&["tag", "base"]);
        repository
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Makes a change part of `base`.
    pub(crate) fn change_base(&self, change: Change) {
        self.edit(change);
        self.commit("another base");
        self.git(&["tag", "-f", "base"]);
    }

    /// A branch with one change, checked out.
    pub(crate) fn branch(&self, name: &str, change: Change) {
        self.git(&["checkout", "-q", "-b", name]);
        self.edit(change);
        self.commit("a change");
    }

    /// Changes the working tree.
    pub(crate) fn edit(&self, change: Change) {
        let path = self.0.join("probe.c");
        let text = fs::read_to_string(&path).unwrap();
        let (from, to) = change.edit();
        assert!(text.contains(from), "{from}");
        fs::write(path, text.replacen(from, &to, 1)).unwrap();
    }

    pub(crate) fn commit_of(&self, revision: &str) -> String {
        self.git(&["rev-parse", revision]).trim().to_owned()
    }

    /// What git says of the working tree.
    pub(crate) fn status(&self) -> String {
        self.git(&["status", "--porcelain"])
    }

    /// Process CPU of one round of the working tree's probe, ns: what it takes to do very many before it
    /// finds that there is nothing to read. The smallest of three, since other programs only add.
    pub(crate) fn round_ns(&self) -> f64 {
        let text = fs::read_to_string(self.0.join("probe.c")).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("many.c");
        let many = format!("#define START {MANY}");
        fs::write(&source, text.replacen("#define START 0", &many, 1)).unwrap();
        let probe = folder.path().join("many");
        let mut compiler = Command::new("cc");
        compiler.arg("-O2").arg("-o").arg(&probe).arg(&source);
        assert!(compiler.arg("-lpcap").status().unwrap().success());
        let rounds = (0..3).map(|_| {
            let before = children_cpu_ns();
            let mut nothing = Command::new(&probe);
            nothing.args(["-r", "/dev/null"]).stderr(Stdio::null());
            assert!(!nothing.status().unwrap().success());
            (children_cpu_ns() - before) / f64::from(MANY)
        });
        rounds.fold(f64::INFINITY, f64::min)
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(&self.0)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "tester")
            .env("GIT_AUTHOR_EMAIL", "tester@example.org")
            .env("GIT_COMMITTER_NAME", "tester")
            .env("GIT_COMMITTER_EMAIL", "tester@example.org")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }
}

/// CPU time of the children that have ended, ns.
fn children_cpu_ns() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    [usage.user_time(), usage.system_time()]
        .iter()
        .map(|time| {
            Duration::from_micros(time.num_microseconds().unsigned_abs()).as_secs_f64() * 1e9
        })
        .sum()
}
