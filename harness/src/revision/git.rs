//! Runs git: an argument list, no shell, no hook, no prompt, a limit, and an ear for signals.
//!
//! Every call says which folder it works in and takes no optional lock, so that looking at the
//! user's repository writes nothing there, not even a refreshed index.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use wiretrial_contract::failure::Failure;

use super::process::{self, Stop, Stream, Streams};
use crate::host::Interrupt;

/// Longest one call may take: a first fetch of a large repository, or of a submodule.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// Variables that would make git work elsewhere than in the folder it is started in; a hook that
/// starts this program has them set (githooks(5)).
pub(super) const ELSEWHERE: [&str; 10] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Settings of every call: no hook and no helper process, no upkeep in the background, no colour.
const SETTINGS: [&str; 9] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.splitIndex=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "color.ui=false",
    "advice.detachedHead=false",
    "protocol.version=2",
    "submodule.recurse=false",
];

/// Git in one folder.
#[derive(Debug, Clone)]
pub(super) struct Git<'a> {
    folder: PathBuf,
    interrupt: &'a Interrupt,
    variables: Vec<(&'static str, OsString)>,
    settings: Vec<&'static str>,
}

/// What a call printed and how it ended.
#[derive(Debug)]
pub(super) struct Ran {
    /// How it ended.
    pub(super) status: ExitStatus,
    /// Its standard output.
    pub(super) stdout: Vec<u8>,
    /// Its standard error.
    pub(super) stderr: String,
}

impl<'a> Git<'a> {
    /// Git in `folder`.
    pub(super) fn new(folder: impl Into<PathBuf>, interrupt: &'a Interrupt) -> Self {
        Self {
            folder: folder.into(),
            interrupt,
            variables: Vec::new(),
            settings: Vec::new(),
        }
    }

    /// With a variable of its environment.
    pub(super) fn with_variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// With a setting, `key=value`.
    pub(super) fn with_setting(mut self, setting: &'static str) -> Self {
        self.settings.push(setting);
        self
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The flag that ends it.
    pub(super) fn interrupt(&self) -> &'a Interrupt {
        self.interrupt
    }

    /// Runs it whatever its status is.
    ///
    /// # Errors
    ///
    /// It cannot be started (exit 3) or was interrupted.
    pub(super) fn run<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Ran, Failure> {
        self.run_from(Stdio::null(), arguments)
    }

    /// As [`Git::run`], with a standard input.
    pub(super) fn run_from<S: AsRef<OsStr>>(
        &self,
        stdin: Stdio,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Ran, Failure> {
        let mut command = Command::new("git");
        for setting in SETTINGS.iter().chain(&self.settings) {
            command.args(["-c", setting]);
        }
        command.args(arguments).current_dir(&self.folder);
        for name in ELSEWHERE {
            command.env_remove(name);
        }
        command
            .env_remove("LANGUAGE")
            .env("LC_ALL", "C")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            // An ssh that wants a passphrase must fail and not wait for a terminal (ssh(1)).
            .env("SSH_ASKPASS", "false")
            .env("SSH_ASKPASS_REQUIRE", "force")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(stdin);
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let ended = process::run(
            command,
            Streams::Apart,
            LIMIT,
            self.interrupt,
            |stream, piece| {
                match stream {
                    Stream::Out => stdout.extend_from_slice(piece),
                    Stream::Err => stderr.extend_from_slice(piece),
                }
                Ok(())
            },
        );
        let status = ended.map_err(|stop| match stop {
            Stop::Io(error) => {
                Failure::host(format!("cannot run git: {error}; install it (Debian: git)"))
            }
            Stop::TooLong => {
                let minutes = LIMIT.as_secs() / 60;
                let folder = self.folder.display();
                Failure::host(format!("git had not ended after {minutes} min in {folder}"))
            }
            Stop::Interrupted(failure) => failure,
        })?;
        Ok(Ran {
            status,
            stdout,
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        })
    }

    /// Runs what must succeed and gives its standard output.
    ///
    /// # Errors
    ///
    /// As [`Git::run`], and that it failed (exit 3), in its own words.
    pub(super) fn bytes<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Vec<u8>, Failure> {
        self.bytes_from(Stdio::null(), arguments)
    }

    /// As [`Git::bytes`], with a standard input.
    pub(super) fn bytes_from<S: AsRef<OsStr>>(
        &self,
        stdin: Stdio,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Vec<u8>, Failure> {
        let arguments: Vec<OsString> = arguments
            .into_iter()
            .map(|argument| argument.as_ref().to_owned())
            .collect();
        let ran = self.run_from(stdin, &arguments)?;
        if ran.status.success() {
            return Ok(ran.stdout);
        }
        let verb = arguments.first().map(|verb| verb.to_string_lossy());
        Err(Failure::host(format!(
            "git {} failed in {} ({}): {}",
            verb.unwrap_or_default(),
            self.folder.display(),
            process::how(ran.status),
            ran.complaint()
        )))
    }

    /// As [`Git::bytes`], as text without the white space around it.
    pub(super) fn text<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<String, Failure> {
        let bytes = self.bytes(arguments)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// Its standard output as [`Git::text`] has it, or `None` when it failed: for questions that
    /// have no for an answer.
    ///
    /// # Errors
    ///
    /// As [`Git::run`].
    pub(super) fn ask<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Option<String>, Failure> {
        let ran = self.run(arguments)?;
        let text = String::from_utf8_lossy(&ran.stdout).trim().to_owned();
        Ok(ran.status.success().then_some(text))
    }
}

impl Ran {
    /// The line of standard error that says what is wrong: the first fatal one, else the last.
    pub(super) fn complaint(&self) -> String {
        let lines = || {
            self.stderr
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty())
        };
        let fatal = lines().find(|line| line.starts_with("fatal:") || line.starts_with("error:"));
        let line = fatal
            .or_else(|| lines().next_back())
            .unwrap_or("no message");
        line.chars().filter(|c| !c.is_control()).take(400).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_in_gits_words_and_a_question_may_have_no_for_an_answer() {
        let folder = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::default();
        let git = Git::new(folder.path(), &interrupt)
            .with_variable("GIT_CEILING_DIRECTORIES", folder.path());
        let failure = git.text(["rev-parse", "--git-dir"]).unwrap_err();
        assert_eq!(failure.code, 3);
        assert!(
            failure.message.starts_with("git rev-parse failed in ")
                && failure
                    .message
                    .contains("(exit 128): fatal: not a git repository"),
            "{failure}"
        );
        assert_eq!(git.ask(["rev-parse", "--git-dir"]).unwrap(), None);
    }

    #[test]
    fn hooks_do_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::default();
        let git = Git::new(folder.path(), &interrupt);
        git.text(["init", "-q"]).unwrap();
        assert_eq!(git.text(["config", "core.hooksPath"]).unwrap(), "/dev/null");
    }
}
