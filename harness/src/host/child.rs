//! A generator or receiver started by this harness on its own host.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use wiretrial_contract::control::{ChildError, FromChild, Hello, Role, ToChild, quote};
use wiretrial_contract::failure::Failure;

use super::interrupt::Interrupt;
use super::namespaces::Entry;
use super::peer::{Complaints, HELLO, Peer, Reply};
use super::{Launch, Process};

/// Environment variable that shifts a child's stack by its length.
const PADDING: &str = "WIRETRIAL_PADDING";

/// A child that has said hello.
#[derive(Debug)]
pub(super) struct LocalChild {
    peer: Peer<FromChild>,
    hello: Hello,
    due: &'static str,
    stderr: PathBuf,
}

impl Reply for FromChild {
    fn error(&self) -> Option<&ChildError> {
        match self {
            Self::Error(error) => Some(error),
            _ => None,
        }
    }
}

impl LocalChild {
    /// Starts `program serve` by way of `entry` and hears its hello. `interfaces` is the table of
    /// interfaces it will see, in the form of /proc/net/dev.
    ///
    /// # Errors
    ///
    /// As [`super::Host::launch`].
    pub(super) fn launch(
        launch: &Launch,
        entry: Entry,
        interfaces: Option<PathBuf>,
        interrupt: Interrupt,
    ) -> Result<Self, Failure> {
        let program = std::path::absolute(&launch.program).map_err(|error| {
            Failure::host(format!("cannot find {}: {error}", launch.program.display()))
        })?;
        let path = launch.stderr.clone();
        let stderr = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .and_then(|file| Ok((file.metadata()?.len(), file)));
        let (from, stderr) = stderr.map_err(|error| {
            Failure::evidence(format!("cannot append to {}: {error}", path.display()))
        })?;
        let mut command = Command::new(program);
        command
            .arg("serve")
            .env(PADDING, "x".repeat(launch.padding as usize))
            .stderr(stderr);
        entry.prepare(&mut command);
        let complaints = Complaints {
            path,
            from,
            interfaces: interfaces.filter(|_| launch.role == Role::Receiver),
        };
        let mut peer = Peer::start(&launch.name, command, Some(complaints), interrupt)?;
        let hello = match peer.hear(HELLO, "hello")? {
            FromChild::Hello(hello) => hello,
            other => {
                return Err(peer
                    .reported(&other)
                    .unwrap_or_else(|| unexpected(&launch.name, &other)));
            }
        };
        peer.check_hello(&hello, launch.role)?;
        Ok(Self {
            peer,
            hello,
            due: "a message",
            stderr: launch.stderr.clone(),
        })
    }
}

impl LocalChild {
    /// A reported failure becomes one; any other message changes what is due next.
    fn accept(&mut self, message: FromChild) -> Result<FromChild, Failure> {
        if let Some(failure) = self.peer.reported(&message) {
            return Err(failure);
        }
        if let FromChild::Hello(_) = message {
            return Err(unexpected(self.peer.name(), &message));
        }
        self.due = due_after(&message, self.hello.role);
        Ok(message)
    }
}

/// Most bytes kept of what children say on standard error, by file.
const MOST_COMPLAINTS: u64 = 1 << 20;

impl Drop for LocalChild {
    /// A child that floods its standard error must not fill the evidence.
    fn drop(&mut self) {
        self.peer.end(&ToChild::Bye);
        let file = OpenOptions::new().write(true).open(&self.stderr);
        let long = |file: &std::fs::File| file.metadata().is_ok_and(|d| d.len() > MOST_COMPLAINTS);
        if let Some(file) = file.ok().filter(long) {
            // The rest is lost either way; the trial's own evidence is not in it.
            let _ = file.set_len(MOST_COMPLAINTS);
        }
    }
}

impl Process for LocalChild {
    fn name(&self) -> &str {
        self.peer.name()
    }

    fn hello(&self) -> &Hello {
        &self.hello
    }

    fn send(&mut self, message: &ToChild) -> Result<(), Failure> {
        self.due = due_after_sending(message).unwrap_or(self.due);
        self.peer.say(message, self.due)
    }

    fn poll(&mut self, limit: Duration) -> Result<Option<FromChild>, Failure> {
        let heard = self.peer.listen(limit, self.due)?;
        heard.map(|message| self.accept(message)).transpose()
    }

    fn receive(&mut self, limit: Duration) -> Result<FromChild, Failure> {
        let message = self.peer.hear(limit, self.due)?;
        self.accept(message)
    }

    fn end(&mut self) {
        self.peer.end(&ToChild::Bye);
    }
}

/// What a child owes after it was told something; `None` when that changes nothing.
fn due_after_sending(message: &ToChild) -> Option<&'static str> {
    match message {
        ToChild::PrepareReceiver(_)
        | ToChild::PrepareOutside(_)
        | ToChild::PreparePasses(_)
        | ToChild::PrepareGenerator(_) => Some("ready"),
        ToChild::Pass(_) => Some("the end of a pass"),
        ToChild::Go | ToChild::Stop(_) => Some("done"),
        ToChild::Probe | ToChild::Beat | ToChild::Bye => None,
    }
}

/// What a child owes after it said something.
fn due_after(message: &FromChild, role: Role) -> &'static str {
    match (message, role) {
        (FromChild::Ready(_), Role::Receiver) => "seen",
        (FromChild::Seen, _) => "armed",
        (FromChild::Ready(_) | FromChild::Armed, _) => "done",
        (FromChild::Done(_), _) => "report",
        _ => "its end",
    }
}

fn unexpected(name: &str, message: &FromChild) -> Failure {
    let said = quote(&format!("{message:?}"));
    Failure::evidence(format!("{name} said \"{said}\" out of order"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::path::Path;
    use std::process::Stdio;

    use wiretrial_contract::control::Stop;
    use wiretrial_contract::exit;

    const SAY_HELLO: &str = r#"
        hello() {
            echo '{"v":1,"type":"hello","role":"receiver","protocol":'"$1"',"stamp":[1,1],'\
                '"version":"'${#WIRETRIAL_PADDING}'","sha256":"","pid":'$$'}'
        }
    "#;

    /// A folder with a script in it. Another process writes it: a descriptor open for writing in
    /// this one could get into a child of another test, and then the script could not be executed.
    fn program(folder: &Path, script: &str) -> std::path::PathBuf {
        let path = folder.join("child");
        let mut shell = Command::new("/bin/sh")
            .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let text = format!("#!/bin/sh\n{SAY_HELLO}\n{script}\n");
        shell
            .stdin
            .take()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        assert!(shell.wait().unwrap().success());
        path
    }

    /// The child and the folder it writes to.
    type Running = (LocalChild, tempfile::TempDir);

    fn launch_with(script: &str, interrupt: &Interrupt) -> Result<Running, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let launch = Launch {
            role: Role::Receiver,
            name: "receiver of baseline".into(),
            program: program(folder.path(), script),
            padding: 17,
            stderr: folder.path().join("stderr"),
        };
        std::fs::write(&launch.stderr, "of an earlier child\n").unwrap();
        let child = LocalChild::launch(&launch, Entry::default(), None, interrupt.clone())?;
        Ok((child, folder))
    }

    fn launch(script: &str) -> Result<Running, Failure> {
        launch_with(script, &Interrupt::default())
    }

    fn failure(script: &str) -> Failure {
        let (mut child, _folder) = launch(script).unwrap();
        child.due = "ready";
        child.receive(Duration::from_secs(20)).unwrap_err()
    }

    fn evidence(message: &str) -> Failure {
        Failure::evidence(message)
    }

    #[test]
    fn messages_come_in_order_and_the_padding_is_as_long_as_asked() {
        let said = r#"echo '{"v":1,"type":"seen"}'; echo '{"v":1,"type":"armed"}'"#;
        let (mut child, _folder) = launch(&format!("hello [1,1]; {said}; read line")).unwrap();
        assert_eq!(child.hello().version, "17");
        assert_eq!(child.hello().pid, child.peer.pid());
        let limit = Duration::from_secs(20);
        assert_eq!(child.receive(limit), Ok(FromChild::Seen));
        assert_eq!(child.due, "armed");
        assert_eq!(child.poll(limit), Ok(Some(FromChild::Armed)));
        assert_eq!(child.poll(Duration::from_millis(1)), Ok(None));
    }

    #[test]
    fn an_error_keeps_its_code_and_gets_the_childs_name() {
        let failure = failure(
            r#"hello [1,1]; echo '{"v":1,"type":"error","code":3,"message":"enp9: no such device"}'; exit 3"#,
        );
        assert_eq!(
            failure,
            Failure::host("receiver of baseline: enp9: no such device")
        );
    }

    #[test]
    fn an_early_end_quotes_the_last_line_of_standard_error() {
        assert_eq!(
            failure("hello [1,1]; echo one >&2; echo two >&2; echo >&2; exit 1"),
            evidence("receiver of baseline ended before ready (exit 1): \"two\"")
        );
        // What an earlier child wrote to the same file is not this one's.
        assert_eq!(
            failure("hello [1,1]; kill -9 $$"),
            evidence("receiver of baseline ended before ready (signal 9)")
        );
        assert_eq!(failure("hello [1,1]; exit 3").code, exit::HOST);
        let failure = launch("echo 'unknown argument serve' >&2; exit 2").unwrap_err();
        let expected =
            "receiver of baseline ended before ready (exit 2): \"unknown argument serve\"";
        assert_eq!(failure, Failure::usage(expected));
    }

    #[test]
    fn junk_is_quoted_and_a_long_line_refused() {
        let junk = "x".repeat(100);
        assert_eq!(
            failure(&format!("hello [1,1]; echo {junk}; read line")),
            evidence(&format!(
                "receiver of baseline: not a message: \"{}\"",
                &junk[..80]
            ))
        );
        let long = "hello [1,1]; head -c 2097152 /dev/zero | tr '\\0' x; read line";
        assert_eq!(
            failure(long),
            evidence("receiver of baseline: a line is longer than 1048576 bytes")
        );
    }

    #[test]
    fn silence_names_what_was_due() {
        let (mut child, _folder) = launch("hello [1,1]; read line; read line").unwrap();
        child.due = due_after(&FromChild::Seen, Role::Receiver);
        assert_eq!(
            child.receive(Duration::from_millis(10)).unwrap_err(),
            evidence("receiver of baseline said nothing for 0.01 s while armed was due")
        );
        assert_eq!(
            launch("read line").unwrap_err(),
            evidence("receiver of baseline said nothing for 5 s while hello was due")
        );
    }

    #[test]
    fn another_protocol_and_another_role_are_refused() {
        let failure = launch("hello [3,4]; read line").unwrap_err();
        assert_eq!(failure.code, exit::USAGE);
        let expected = "receiver of baseline speaks protocol 3 to 4, this harness 1 to 2; ";
        assert!(failure.message.starts_with(expected), "{failure}");
        let failure = launch("hello [1,1] | sed s/receiver/generator/; read line").unwrap_err();
        assert!(
            failure.message.contains("says that it is a generator"),
            "{failure}"
        );
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let launch = Launch {
            role: Role::Generator,
            name: "generator".into(),
            program: folder.path().join("absent"),
            padding: 0,
            stderr: folder.path().join("stderr"),
        };
        let failure =
            LocalChild::launch(&launch, Entry::default(), None, Interrupt::default()).unwrap_err();
        assert_eq!(failure.code, exit::HOST);
        assert!(failure.message.contains("absent"), "{failure}");
    }

    #[test]
    fn a_signal_ends_every_wait() {
        let interrupt = Interrupt::default();
        let (mut child, _folder) = launch_with("hello [1,1]; sleep 60", &interrupt).unwrap();
        interrupt.raise();
        assert_eq!(child.receive(Duration::MAX), Err(Failure::interrupted()));
        // More than a pipe holds, to a child that does not read.
        let stop = ToChild::Stop(Stop {
            accepted: vec![u64::MAX; 20_000],
        });
        assert_eq!(child.send(&stop), Err(Failure::interrupted()));
    }

    #[test]
    fn a_child_that_is_gone_cannot_be_told_anything() {
        let (mut child, _folder) = launch("hello [1,1]; echo late >&2; exit 4").unwrap();
        child
            .peer
            .hear(Duration::from_secs(20), "its end")
            .unwrap_err();
        assert_eq!(
            child.send(&ToChild::Stop(Stop::default())).unwrap_err(),
            evidence("receiver of baseline ended before done (exit 4): \"late\"")
        );
    }

    #[test]
    fn dropping_and_ending_kill_what_does_not_end() {
        let stubborn = "trap '' TERM; hello [1,1]; sleep 60 & wait; sleep 60";
        let alive = |pid: u32| Path::new(&format!("/proc/{pid}")).exists();
        let (child, _folder) = launch(stubborn).unwrap();
        let pid = child.peer.pid();
        assert!(alive(pid));
        drop(child);
        assert!(!alive(pid));
        let (mut child, _folder) = launch(stubborn).unwrap();
        child.end();
        assert!(!alive(child.peer.pid()));
        let (mut polite, _folder) = launch("hello [1,1]; read line").unwrap();
        polite.end();
        assert!(!alive(polite.peer.pid()));
    }
}
