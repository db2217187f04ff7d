//! The bench of the live tests: a private network, a sender that stamps by the contract, and a
//! receiver on a pipe.

#![allow(clippy::print_stderr, reason = "a skip is printed")]
#![allow(dead_code, reason = "each test binary uses its part")]

use std::cell::Cell;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use wiretrial_contract::clock;
use wiretrial_contract::control::{
    self, CaptureSettings, ChildError, Engine, FromChild, Reader, Ready, ReceiverPrepare,
    ReceiverReady, Role, SourcePorts, ToChild, TrialIdentity,
};
use wiretrial_contract::report::ReceiverReport;
use wiretrial_contract::stamp::{self, Class, Form, Identity, Stamp};
use wiretrial_contract::units::Family;

const INSIDE: &str = "WIRETRIAL_LIVE_INSIDE";
const RECEIVER: &str = env!("CARGO_BIN_EXE_wiretrial-receiver");
/// The receiver whose allocator counts.
pub(crate) const COUNTING: &str = env!("CARGO_BIN_EXE_wiretrial-receiver-heap");

/// Runs `body` in a network namespace of its own, by running this very test again in there as
/// root of a user namespace.
pub(crate) fn inside(test: &str, body: impl FnOnce()) {
    again_in(test, &["-Urn"], body);
}

/// The same with mounts of its own and as the user of a campaign is: not root, with capabilities
/// that programs inherit.
pub(crate) fn alone(test: &str, body: impl FnOnce()) {
    let user = [
        "--user",
        "--map-user=1000",
        "--map-group=1000",
        "--keep-caps",
        "--net",
        "--mount",
    ];
    again_in(test, &user, body);
}

fn again_in(test: &str, namespaces: &[&str], body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        ip(&["link", "set", "lo", "up"]);
        return body();
    }
    let _lock = lock();
    let can = Command::new("unshare")
        .args(namespaces)
        .arg("true")
        .output();
    if !can.is_ok_and(|output| output.status.success()) {
        return skip(&format!("{test}: no private network namespace here"));
    }
    let status = Command::new("unshare")
        .args(namespaces)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .status()
        .unwrap();
    assert!(status.success(), "{test} failed in its namespace");
}

/// One live test at a time, over all processes.
pub(crate) fn lock() -> File {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("live.lock");
    let lock = File::create(path).unwrap();
    lock.lock().unwrap();
    lock
}

/// Where the receivers of these tests make their folders.
pub(crate) fn temporary() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("temporary");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Says what cannot be tested here; with `CI` set that is a failure.
pub(crate) fn skip(what: &str) {
    assert!(std::env::var_os("CI").is_none(), "{what}");
    eprintln!("skipped: {what}");
}

/// Whether control groups that sum CPU time can be made here.
pub(crate) fn can_group() -> bool {
    let folders = [
        "/sys/fs/cgroup/unified",
        "/sys/fs/cgroup/cpuacct",
        "/sys/fs/cgroup",
    ];
    folders.iter().any(|folder| {
        let group = Path::new(folder).join(format!("wiretrial-test-{}", std::process::id()));
        let made = std::fs::create_dir(&group).is_ok();
        let counts = ["cpu.stat", "cpuacct.usage"]
            .iter()
            .any(|file| group.join(file).exists());
        // What was not made is not there to be removed.
        let _ = std::fs::remove_dir(&group);
        made && counts
    })
}

/// A trial of two flows of 1000 datagrams with compact stamps on `lo`.
pub(crate) fn mount() -> ReceiverPrepare {
    ReceiverPrepare {
        interface: "lo".into(),
        family: Family::Ipv4,
        port: 39053,
        source_ports: SourcePorts {
            first: 40000,
            count: 2,
        },
        identity: TrialIdentity {
            run_id: 0x1234_5678_9ABC_DEF0,
            trial: 7,
            nonce: 0xCAFE,
        },
        form: Form::Compact,
        planned: vec![1000, 1000],
        capture: CaptureSettings {
            buffer_bytes: 4 << 20,
            immediate: false,
            timeout_ns: 10_000_000,
            snaplen: 60,
            promiscuous: false,
        },
        engine: Engine::Direct,
        drain_limit_ns: 2_000_000_000,
        quiet_ns: 200_000_000,
        deadline_ns: 20_000_000_000,
        cpu: None,
    }
}

pub(crate) fn loopback(family: Family) -> IpAddr {
    match family {
        Family::Ipv4 => Ipv4Addr::LOCALHOST.into(),
        Family::Ipv6 => Ipv6Addr::LOCALHOST.into(),
    }
}

/// One socket a flow.
pub(crate) struct Sender {
    identity: Identity,
    form: Form,
    flows: Vec<UdpSocket>,
    sent: Cell<u64>,
}

impl Sender {
    pub(crate) fn new(prepare: &ReceiverPrepare) -> Self {
        let address = loopback(prepare.family);
        let flows = (0..prepare.source_ports.count)
            .map(|flow| {
                let port = prepare.source_ports.first + flow;
                let socket = UdpSocket::bind(SocketAddr::new(address, port)).unwrap();
                socket
                    .connect(SocketAddr::new(address, prepare.port))
                    .unwrap();
                socket
            })
            .collect();
        Self {
            identity: prepare.identity.into(),
            form: prepare.form,
            flows,
            sent: Cell::new(0),
        }
    }

    pub(crate) fn send(&self, class: Class, flow: u16, sequence: u64) {
        self.send_raw(flow, &self.payload(&self.identity, class, flow, sequence));
    }

    /// A datagram of another trial.
    pub(crate) fn send_stale(&self, flow: u16) {
        let identity = Identity {
            trial: self.identity.trial + 1,
            nonce: self.identity.nonce + 1,
            ..self.identity
        };
        self.send_raw(flow, &self.payload(&identity, Class::Counted, flow, 0));
    }

    /// A datagram that was damaged on its way.
    pub(crate) fn send_corrupt(&self, flow: u16) {
        let mut payload = self.payload(&self.identity, Class::Counted, flow, 0);
        payload[9] ^= 4;
        self.send_raw(flow, &payload);
    }

    pub(crate) fn send_raw(&self, flow: u16, payload: &[u8]) {
        let sent = self.flows[usize::from(flow)].send(payload).unwrap();
        assert_eq!(sent, payload.len());
        self.sent.set(self.sent.get() + 1);
    }

    /// Datagrams sent so far, of any kind.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.get()
    }

    fn payload(&self, identity: &Identity, class: Class, flow: u16, sequence: u64) -> Vec<u8> {
        let stamp = Stamp {
            class,
            flow,
            sequence,
            intended_ns: clock::monotonic_ns(),
            actual_ns: 0,
        };
        let mut payload = vec![0; self.form.len()];
        stamp::write(self.form, identity, &stamp, &mut payload);
        payload
    }
}

/// A receiver that serves. Dropping it kills it.
pub(crate) struct Child {
    process: std::process::Child,
    input: Option<ChildStdin>,
    output: Reader<BufReader<ChildStdout>>,
}

impl Child {
    pub(crate) fn launch() -> Self {
        Self::launch_as(RECEIVER)
    }

    fn launch_as(program: &str) -> Self {
        let mut process = Command::new(program)
            .arg("serve")
            .env("TMPDIR", temporary())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = Reader::new(BufReader::new(process.stdout.take().unwrap()));
        Self {
            input: process.stdin.take(),
            output,
            process,
        }
    }

    /// Launched, and its hello read.
    pub(crate) fn start() -> Self {
        Self::start_as(RECEIVER)
    }

    /// Another executable, launched, and its hello read.
    pub(crate) fn start_as(program: &str) -> Self {
        let mut child = Self::launch_as(program);
        let FromChild::Hello(hello) = child.receive() else {
            panic!("hello comes first")
        };
        assert_eq!(hello.role, Role::Receiver);
        assert_eq!(hello.pid, child.pid());
        assert_eq!(hello.sha256.len(), 64);
        assert!(hello.libpcap.unwrap().starts_with("libpcap version "));
        child
    }

    pub(crate) fn prepare(&mut self, prepare: &ReceiverPrepare) -> ReceiverReady {
        self.send(&ToChild::PrepareReceiver(prepare.clone()));
        match self.receive() {
            FromChild::Ready(Ready::Receiver(ready)) => ready,
            other => panic!("not ready: {other:?}"),
        }
    }

    /// Probes until it is armed.
    pub(crate) fn arm(&mut self, sender: &Sender) {
        for sequence in 0..16 {
            sender.send(Class::Probe, 0, sequence);
        }
        assert_eq!(self.receive(), FromChild::Seen);
        assert_eq!(self.receive(), FromChild::Armed);
    }

    /// Its report after a stop, and its orderly end.
    pub(crate) fn finish(&mut self) -> ReceiverReport {
        assert!(matches!(self.receive(), FromChild::Done(_)));
        let FromChild::ReceiverReport(report) = self.receive() else {
            panic!("the report comes after done")
        };
        self.send(&ToChild::Bye);
        assert_eq!(self.exit_code(), Some(0));
        *report
    }

    pub(crate) fn send(&mut self, message: &ToChild) {
        control::send(self.input.as_mut().unwrap(), message).unwrap();
    }

    pub(crate) fn send_line(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    pub(crate) fn receive(&mut self) -> FromChild {
        self.output.receive().unwrap().expect("a message")
    }

    pub(crate) fn error(&mut self) -> ChildError {
        match self.receive() {
            FromChild::Error(error) => error,
            other => panic!("not an error: {other:?}"),
        }
    }

    /// Messages it still says until its output ends.
    pub(crate) fn rest(&mut self) -> Vec<FromChild> {
        let mut rest = Vec::new();
        while let Some(message) = self.output.receive().unwrap() {
            rest.push(message);
        }
        rest
    }

    pub(crate) fn exit_code(&mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn signal(&self, name: Signal) {
        signal(&self.process, name);
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A receiver by hand on `lo`, once it is ready.
pub(crate) fn by_hand(arguments: &[&str]) -> std::process::Child {
    let mut process = Command::new(RECEIVER)
        .args(["capture", "--interface", "lo", "--for", "20s"])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut errors = BufReader::new(process.stderr.take().unwrap());
    errors.read_line(&mut line).unwrap();
    assert_eq!(line, "capture ready\n");
    process
}

pub(crate) fn signal(process: &std::process::Child, name: Signal) {
    let pid = i32::try_from(process.id()).unwrap();
    kill(Pid::from_raw(pid), name).unwrap();
}

/// The report of a receiver by hand, and its orderly end.
/// The report and the exit code.
pub(crate) fn by_hand_report(process: &mut std::process::Child) -> (ReceiverReport, i32) {
    let mut text = String::new();
    let out = process.stdout.as_mut().unwrap();
    out.read_to_string(&mut text).unwrap();
    let code = process.wait().unwrap().code().unwrap();
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["schema"], "wiretrial.by-hand-receiver/1");
    assert_eq!(document["prepare"]["port"], 39053);
    assert_eq!(document["ready"]["interface"], "lo");
    (
        serde_json::from_value(document["report"].take()).unwrap(),
        code,
    )
}

/// Runs `ip` in the namespace of the test.
pub(crate) fn ip(arguments: &[&str]) {
    run("ip", arguments);
}

/// Runs a program in the namespace of the test.
pub(crate) fn run(program: &str, arguments: &[&str]) {
    let status = Command::new(program).args(arguments).status().unwrap();
    assert!(status.success(), "{program} {arguments:?}");
}
