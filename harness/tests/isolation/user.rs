//! Who an actor is, and the files it may use.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use nix::unistd::geteuid;

use crate::{serial, wiretrial};

/// The user of `nobody`, who owns nothing.
const ORDINARY: u32 = 65534;

/// Who an actor is: a user id and the command in front of it.
pub(crate) struct User {
    pub(crate) id: u32,
    prefix: Vec<String>,
}

impl User {
    pub(crate) fn root() -> Option<Self> {
        if !geteuid().is_root() {
            skip("not root");
            return None;
        }
        Some(Self {
            id: 0,
            prefix: Vec::new(),
        })
    }

    pub(crate) fn ordinary() -> Option<Self> {
        if !geteuid().is_root() {
            return Some(Self {
                id: geteuid().as_raw(),
                prefix: Vec::new(),
            });
        }
        let user = format!("--reuid={ORDINARY}");
        let group = format!("--regid={ORDINARY}");
        let prefix = ["setpriv", &user, &group, "--clear-groups"].map(String::from);
        let works = Command::new(&prefix[0])
            .args(&prefix[1..])
            .arg("true")
            .status();
        if !works.is_ok_and(|status| status.success()) {
            skip("setpriv cannot change the user");
            return None;
        }
        Some(Self {
            id: ORDINARY,
            prefix: prefix.into(),
        })
    }

    /// The same user where no user namespace can be made, with the network namespace's capabilities
    /// in `rights` (setpriv's form).
    pub(crate) fn restricted(&self, rights: &str) -> Self {
        let script = format!(
            "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv \
             --inh-caps=-all{rights} --ambient-caps=-all{rights} --bounding-set=-all{rights} \"$@\""
        );
        let mut prefix = self.prefix.clone();
        prefix.extend(
            [
                "unshare",
                "-U",
                "-n",
                "--map-current-user",
                "--keep-caps",
                "sh",
                "-c",
                &script,
                "sh",
            ]
            .map(String::from),
        );
        Self {
            id: self.id,
            prefix,
        }
    }

    /// The same user in a pid namespace, where kernel threads cannot be seen; root only.
    pub(crate) fn without_kernel_threads(mut self) -> Self {
        let unshare = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];
        self.prefix.extend(unshare.map(String::from));
        self
    }

    pub(crate) fn isolation(&self, choice: &str) -> BTreeMap<String, String> {
        self.ask("isolation", choice)
    }

    pub(crate) fn ask(&self, act: &str, choice: &str) -> BTreeMap<String, String> {
        let _serial = serial();
        self.start(act, choice, Path::new("/"), 0).finish()
    }

    pub(crate) fn start(&self, act: &str, isolation: &str, folder: &Path, port: u16) -> Actor {
        let executables = executables();
        let path = |name: &str| executables.path().join(name).to_str().unwrap().to_owned();
        let mut arguments = self.prefix.clone();
        arguments.push(path("actor"));
        let mut child = Command::new(&arguments[0])
            .args(&arguments[1..])
            .args([
                "--exact",
                "actor",
                "--ignored",
                "--nocapture",
                "--test-threads=1",
            ])
            .env("WIRETRIAL_TEST_ACT", act)
            .env("WIRETRIAL_TEST_ISOLATION", isolation)
            .env("WIRETRIAL_TEST_EXECUTABLE", path("wiretrial"))
            .env("FOLDER", folder)
            .env("PORT", port.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Actor {
            lines: BufReader::new(child.stdout.take().unwrap()),
            _stdin: child.stdin.take().unwrap(),
            child,
            _executables: executables,
        }
    }
}

/// A running actor.
pub(crate) struct Actor {
    pub(crate) child: Child,
    lines: BufReader<ChildStdout>,
    _stdin: ChildStdin,
    _executables: Arc<Folder>,
}

impl Actor {
    /// What it says until `end`.
    pub(crate) fn facts(&mut self) -> BTreeMap<String, String> {
        let mut facts = BTreeMap::new();
        let mut line = String::new();
        while self.lines.read_line(&mut line).unwrap() > 0 {
            // libtest may have started the line.
            if let Some((_, said)) = line.trim_end().split_once("ACTOR ") {
                let Some((name, value)) = said.split_once('=') else {
                    return facts;
                };
                facts.insert(name.to_owned(), value.to_owned());
            }
            line.clear();
        }
        panic!("the actor ended early: {facts:?}");
    }

    pub(crate) fn finish(mut self) -> BTreeMap<String, String> {
        let facts = self.facts();
        assert!(self.child.wait().unwrap().success());
        facts
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder that every user can write to.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The lines `name=value` that the child wrote.
    pub(crate) fn facts(&self) -> BTreeMap<String, String> {
        let text = fs::read_to_string(self.path().join("facts")).unwrap();
        text.lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }
}

/// Writes a child that says hello, waits for a line, does `script` and waits for the end. Another
/// process writes it: a descriptor open for writing in this one could get into a child of another
/// test, and then the program could not be executed.
pub(crate) fn write_program(path: &Path, script: &str) {
    let text = format!(
        "#!/bin/bash\n\
         echo '{{\"v\":1,\"type\":\"hello\",\"role\":\"receiver\",\"protocol\":[1,1],\"stamp\":[1,1],\
         \"version\":\"0\",\"sha256\":\"\",\"pid\":'$$'}}'\n\
         read -r line || exit 0\n{script}\nread -r line\n"
    );
    let mut shell = Command::new("/bin/sh")
        .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    shell
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    assert!(shell.wait().unwrap().success());
}

/// Copies of this executable and of the command, where every user can execute them; they go with
/// the last actor that runs them.
fn executables() -> Arc<Folder> {
    static COPIES: Mutex<Weak<Folder>> = Mutex::new(Weak::new());
    let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(folder) = copies.upgrade() {
        return folder;
    }
    let folder = Arc::new(Folder::new());
    let this = env::current_exe().unwrap();
    let beside = |name: &str| {
        let path = wiretrial().with_file_name(name);
        assert!(
            path.is_file(),
            "{} is missing: run make test",
            path.display()
        );
        path
    };
    let (generator, receiver) = ("wiretrial-generator", "wiretrial-receiver");
    for (from, name) in [
        (this.as_path(), "actor"),
        (wiretrial(), "wiretrial"),
        (&beside(generator), generator),
        (&beside(receiver), receiver),
    ] {
        let to = folder.path().join(name);
        let copied = Command::new("cp")
            .args(["--preserve=mode", "--"])
            .args([from, to.as_path()])
            .status();
        assert!(copied.unwrap().success());
    }
    *copies = Arc::downgrade(&folder);
    folder
}

/// Says so on the terminal, past the capture of libtest.
#[allow(clippy::explicit_write, reason = "libtest would capture eprintln")]
pub(crate) fn skip(reason: &str) {
    static SKIPPED: AtomicU32 = AtomicU32::new(0);
    let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    writeln!(std::io::stderr(), "SKIPPED {count}: {reason}").unwrap();
    assert!(
        env::var_os("CI").is_none(),
        "a skip fails under CI: {reason}"
    );
}
