//! The real executable behind pipes, sockets that hear it, and ports that are free.

use std::io::{BufReader, Write};
use std::net::UdpSocket;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use wiretrial_contract::control::{
    self, FromChild, GeneratorPrepare, Group, GroupName, Reader, Ready, SendMethod, Slice,
    SourcePorts, ToChild, TrialIdentity,
};
use wiretrial_contract::report::GeneratorReport;
use wiretrial_contract::stamp::{self, Class, Form, Reading, Stamp};

/// Longest wait for anything; only a broken generator reaches it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A `wiretrial-generator serve`; ended when dropped.
pub(crate) struct Generator {
    process: Child,
    stdin: Option<ChildStdin>,
    heard: Receiver<FromChild>,
}

impl Generator {
    /// Starts it and hears its hello.
    pub(crate) fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_wiretrial-generator"))
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the executable starts");
        let mut reader = Reader::new(BufReader::new(process.stdout.take().expect("a pipe")));
        let (say, heard) = mpsc::channel();
        thread::spawn(move || {
            while let Ok(Some(message)) = reader.receive() {
                if say.send(message).is_err() {
                    break;
                }
            }
        });
        let generator = Self {
            stdin: process.stdin.take(),
            process,
            heard,
        };
        assert!(matches!(generator.hear(), FromChild::Hello(_)));
        generator
    }

    pub(crate) fn say(&mut self, message: &ToChild) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        control::send(stdin, message).expect("the generator reads");
    }

    /// Says bytes that may be no message; it may end while they are written.
    pub(crate) fn say_bytes(&mut self, bytes: &[u8]) {
        let _ = self.stdin.as_mut().expect("stdin is open").write_all(bytes);
    }

    pub(crate) fn hear(&self) -> FromChild {
        self.heard
            .recv_timeout(PATIENCE)
            .expect("a message in time")
    }

    /// Sends `prepare` and expects ready.
    pub(crate) fn prepared(&mut self, prepare: GeneratorPrepare) {
        self.say(&ToChild::PrepareGenerator(prepare));
        let heard = self.hear();
        assert!(
            matches!(heard, FromChild::Ready(Ready::Generator(_))),
            "{heard:?}"
        );
    }

    /// Expects done and report, which must agree.
    pub(crate) fn reported(&self) -> GeneratorReport {
        let done = match self.hear() {
            FromChild::Done(done) => done,
            other => panic!("done, not {other:?}"),
        };
        let report = match self.hear() {
            FromChild::GeneratorReport(report) => *report,
            other => panic!("report, not {other:?}"),
        };
        let accepted: Vec<_> = report
            .groups
            .iter()
            .map(|g| g.accepted_per_flow.clone())
            .collect();
        assert_eq!(done.accepted, accepted);
        assert_eq!(
            done.first_ns,
            report.groups.iter().filter_map(|g| g.first_ns).min()
        );
        report
    }

    /// Expects an error of `code`, then an end with that code; gives its sentence.
    pub(crate) fn refused(mut self, code: u8) -> String {
        let error = match self.hear() {
            FromChild::Error(error) => error,
            other => panic!("error, not {other:?}"),
        };
        assert_eq!(error.code, code, "{}", error.message);
        assert_eq!(self.ended(), i32::from(code));
        error.message
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    pub(crate) fn pid(&self) -> nix::unistd::Pid {
        nix::unistd::Pid::from_raw(self.process.id().try_into().expect("a pid"))
    }

    /// Waits for its end; gives its exit code.
    pub(crate) fn ended(&mut self) -> i32 {
        for _ in 0..PATIENCE.as_millis() / 10 {
            if let Some(status) = self.process.try_wait().expect("it can be waited for") {
                return status.code().expect("no signal killed it");
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("it does not end");
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A socket that hears a group.
pub(crate) fn sink() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(4 << 20);
    socket.set_nonblocking(true).expect("a non-blocking socket");
    socket
}

/// The first of `count` consecutive source ports that are free and given to nobody else here.
pub(crate) fn free_ports(count: u16) -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let spread = u16::try_from(std::process::id() % 100).expect("below 100") * 64;
    for _ in 0..200 {
        let first = 20_000 + spread + NEXT.fetch_add(count, Ordering::Relaxed);
        if (first..first + count).all(|port| UdpSocket::bind(("0.0.0.0", port)).is_ok()) {
            return first;
        }
    }
    panic!("no {count} free ports");
}

pub(crate) fn identity(trial: u32) -> TrialIdentity {
    TrialIdentity {
        run_id: 0xABCD,
        trial,
        nonce: 1_000 + trial,
    }
}

/// A group that goes to `sink`.
pub(crate) fn group(trial: u32, sink: &UdpSocket, flows: u16, slices: Vec<Slice>) -> Group {
    Group {
        name: GroupName::Arm(format!("arm-{trial}")),
        target: sink.local_addr().expect("it is bound"),
        source_ports: SourcePorts {
            first: free_ports(flows),
            count: flows,
        },
        identity: identity(trial),
        slices,
    }
}

pub(crate) fn slice(start_ms: u64, packets: u64, class: Class) -> Slice {
    Slice {
        start_ns: start_ms * 1_000_000,
        packets,
        class,
    }
}

pub(crate) fn prepare(groups: Vec<Group>, rate_pps: u64) -> GeneratorPrepare {
    GeneratorPrepare {
        receive_thread: None,
        groups,
        rate_pps,
        frame_size: 94,
        form: Form::Full,
        method: SendMethod::Sendmmsg,
        batch: 1,
        senders: 1,
        max_burst: 16,
        deadline_ns: 20_000_000_000,
        cpus: Vec::new(),
        allowed_targets: Vec::new(),
    }
}

/// Everything in `sink`'s buffer: the source port and the stamp of each datagram.
pub(crate) fn arrived(sink: &UdpSocket, form: Form, trial: u32) -> Vec<(u16, Stamp)> {
    let mut all = Vec::new();
    let mut bytes = [0; 2048];
    while let Ok((length, from)) = sink.recv_from(&mut bytes) {
        match stamp::read(form, &identity(trial).into(), &bytes[..length]) {
            Reading::Ours(stamp) => all.push((from.port(), stamp)),
            other => panic!("{other:?} at the sink of trial {trial}"),
        }
    }
    all
}
