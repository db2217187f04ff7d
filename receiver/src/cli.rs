//! The command line, and a trial by hand.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use serde_json::json;
use wiretrial_contract::control::{
    CaptureSettings, Engine, ReceiverPrepare, ReceiverReady, SourcePorts, TrialIdentity,
};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::report::ReceiverReport;
use wiretrial_contract::stamp::Form;
use wiretrial_contract::units::{Bytes, Count, ETHERNET_HEADER, Family, FrameSize, Nanos};
use wiretrial_contract::{clock, exit};

use crate::instructions::Instructions;
use crate::path::{self, Notice, Order, Start, Stop};
use crate::{prepare, process, serve};

/// Schema of what `capture` prints.
pub const BY_HAND_SCHEMA: &str = "wiretrial.by-hand-receiver/1";

const DRAIN_LIMIT_NS: u64 = 2_000_000_000;
const QUIET_NS: u64 = 200_000_000;

/// Captures one trial's datagrams and counts each copy once.
#[derive(Debug, Parser)]
#[command(name = "wiretrial-receiver", version, after_help = EXAMPLE)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLE: &str = "Example, with the sender on another host:
  wiretrial-receiver capture --interface eth1 --packets 1M --flows 4 > receiver.json
  wiretrial-generator send --target 10.99.0.2:39053 --packets 1M --flows 4 --rate 100k";

/// The ways to use it.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Speaks the line protocol with a harness over standard input and output.
    Serve,
    /// Captures by hand and prints one JSON report; SIGINT ends it in order.
    #[command(after_help = EXAMPLE)]
    Capture(Capture),
}

/// Does what the command line says, as the executable `program`, and gives its exit code.
#[must_use]
pub fn main(program: &str) -> ExitCode {
    let result = match Cli::parse().command {
        Command::Serve => serve::run(),
        Command::Capture(arguments) => capture(&arguments),
    };
    match result {
        Ok(()) => ExitCode::from(exit::DONE),
        Err(failure) => {
            // Standard error may be closed; the exit code still says what happened.
            let line = failure.last_line(program);
            let _ = io::stderr().write_all(line.as_bytes());
            ExitCode::from(failure.code)
        }
    }
}

/// Arguments of `capture`.
#[derive(Debug, Args)]
pub struct Capture {
    /// Interface to capture on.
    #[arg(long)]
    interface: String,
    /// UDP port the datagrams are sent to.
    #[arg(long, default_value_t = 39053)]
    port: u16,
    /// Their source ports, one a flow [default: 40000 and up, one for each of --flows].
    #[arg(long, value_name = "A-B", value_parser = source_ports, conflicts_with = "flows")]
    source_ports: Option<SourcePorts>,
    /// UDP flows.
    #[arg(long, default_value_t = 1)]
    flows: u16,
    /// IP version, ipv4 or ipv6.
    #[arg(long, default_value = "ipv4", value_parser = family)]
    family: Family,
    /// Ethernet frame with FCS, bytes; decides the form of the stamp.
    #[arg(long, default_value_t = 64)]
    frame_size: u32,
    /// Kernel ring to ask for.
    #[arg(long, default_value = "16MiB")]
    buffer: Bytes,
    /// Deliver each packet at once instead of by block.
    #[arg(long)]
    immediate: bool,
    /// Time after which a partly filled block is delivered.
    #[arg(long, default_value = "10ms")]
    timeout: Nanos,
    /// Bytes to keep of each frame [default: the headers and the stamp].
    #[arg(long)]
    snaplen: Option<u32>,
    /// Also take frames for other hosts.
    #[arg(long)]
    promiscuous: bool,
    /// End after this time.
    #[arg(long = "for", value_name = "TIME", default_value = "60m")]
    time: Nanos,
    /// End when this many counted datagrams have come, over all flows.
    #[arg(long)]
    packets: Option<Count>,
    /// Run id of the datagrams, hexadecimal; full stamps only.
    #[arg(long, default_value = "0", value_parser = hexadecimal)]
    run_id: u64,
    /// Trial number of the datagrams; full stamps only.
    #[arg(long, default_value_t = 0)]
    trial: u32,
    /// Nonce of the datagrams; compact stamps only.
    #[arg(long, default_value_t = 0)]
    nonce: u32,
    /// CPU to pin the process to.
    #[arg(long)]
    cpu: Option<u32>,
}

/// Counted datagrams there is room for when `--packets` does not say, over all flows: 32 MiB.
const UNSAID_PACKETS: u64 = 1 << 28;

impl Capture {
    /// The trial these arguments describe.
    ///
    /// # Errors
    ///
    /// A usage failure that names the argument and its value.
    pub fn prepare(&self) -> Result<ReceiverPrepare, Failure> {
        let payload = FrameSize(self.frame_size).payload(self.family);
        let form = payload.and_then(Form::for_payload).ok_or_else(|| {
            Failure::usage(format!(
                "frame-size {} leaves {} bytes of UDP payload; a counted packet needs 18",
                self.frame_size,
                payload.unwrap_or(0)
            ))
        })?;
        let source_ports = self.source_ports.unwrap_or(SourcePorts {
            first: 40000,
            count: self.flows,
        });
        let flows = u64::from(source_ports.count);
        let packets = self.packets.map_or(UNSAID_PACKETS, |packets| packets.0);
        let buffer = self.buffer;
        let prepare = ReceiverPrepare {
            interface: self.interface.clone(),
            family: self.family,
            port: self.port,
            source_ports,
            identity: TrialIdentity {
                run_id: self.run_id,
                trial: self.trial,
                nonce: self.nonce,
            },
            form,
            // Datagram i belongs to flow i modulo flows.
            planned: (0..flows)
                .map(|flow| packets / flows + u64::from(flow < packets % flows))
                .collect(),
            capture: CaptureSettings {
                buffer_bytes: u32::try_from(buffer.0).map_err(|_| {
                    Failure::usage(format!("buffer {buffer} is too large; at most 2047MiB"))
                })?,
                immediate: self.immediate,
                timeout_ns: self.timeout.0,
                snaplen: self
                    .snaplen
                    .unwrap_or_else(|| headers_and_stamp(self.family, form)),
                promiscuous: self.promiscuous,
            },
            engine: Engine::Direct,
            drain_limit_ns: DRAIN_LIMIT_NS,
            quiet_ns: QUIET_NS,
            deadline_ns: self.time.0.saturating_add(DRAIN_LIMIT_NS),
            cpu: self.cpu,
        };
        prepare::check(&prepare)?;
        Ok(prepare)
    }
}

/// Captures until a signal, `--for` or `--packets` ends it, drains, and prints the report.
///
/// # Errors
///
/// A usage or host failure before `capture ready`; after it a failure of the capture itself.
pub fn capture(arguments: &Capture) -> Result<(), Failure> {
    let prepare = arguments.prepare()?;
    // Before any thread is started, so that all are counted.
    let instructions = Instructions::of_process();
    let (events, inbox) = channel();
    let signals = events.clone();
    process::watch_signals(move || {
        // Without a receiver the process is ending anyway.
        let _ = signals.send(Event::Signal);
    })?;
    let opened = path::open(&prepare)?;
    let ready = opened.ready.clone();
    let waker = opened.live.waker();
    let order = Arc::new(Order::new());
    let notify = move |notice| {
        let _ = events.send(Event::Path(notice));
    };
    path::spawn(
        opened,
        &prepare,
        Start::AtOnce,
        instructions,
        Arc::clone(&order),
        notify,
    )?;
    let end_ns = clock::monotonic_ns().saturating_add(arguments.time.0);
    let stop = |accepted| {
        if order.set(Stop { accepted }).is_ok() {
            waker.wake();
        }
    };
    loop {
        let event = if order.get().is_none() {
            let left_ns = end_ns.saturating_sub(clock::monotonic_ns());
            inbox.recv_timeout(Duration::from_nanos(left_ns))
        } else {
            inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        match event {
            Err(RecvTimeoutError::Timeout) => stop(None),
            Ok(Event::Signal) if order.get().is_none() => stop(None),
            Ok(Event::Signal) => return Err(Failure::interrupted()),
            Ok(Event::Path(Notice::Complete)) => {
                stop(arguments.packets.map(|packets| packets.0));
            }
            Ok(Event::Path(Notice::Armed)) => {
                // A closed standard error must not end a capture.
                let _ = writeln!(io::stderr(), "capture ready");
            }
            Ok(Event::Path(Notice::Seen)) => {}
            Ok(Event::Path(Notice::Report(report))) => {
                let unique = report.copies.unique;
                let of = arguments
                    .packets
                    .map_or_else(String::new, |n| format!(" of {}", n.0));
                let others = report.copies.foreign + report.copies.stale + report.copies.corrupt;
                let line = format!("{unique}{of} counted datagrams came, {others} others");
                print(&prepare, &ready, &report)?;
                if arguments.packets.is_some_and(|packets| unique < packets.0) {
                    return Err(Failure::evidence(line));
                }
                let _ = writeln!(io::stderr(), "{line}");
                return Ok(());
            }
            Ok(Event::Path(Notice::Failed(failure))) => return Err(failure),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::evidence("the capture thread is gone"));
            }
        }
    }
}

enum Event {
    Signal,
    Path(Notice),
}

fn print(
    prepare: &ReceiverPrepare,
    ready: &ReceiverReady,
    report: &ReceiverReport,
) -> Result<(), Failure> {
    let document = json!({
        "schema": BY_HAND_SCHEMA,
        "prepare": prepare,
        "ready": ready,
        "report": report,
    });
    let mut out = io::stdout().lock();
    writeln!(out, "{document:#}")
        .and_then(|()| out.flush())
        .map_err(|error| Failure::evidence(format!("cannot write the report: {error}")))
}

fn headers_and_stamp(family: Family, form: Form) -> u32 {
    // Cooked captures, as of the interface `any`, have a longer header than Ethernet.
    const COOKED: u32 = 20;
    let headers = family.headers() - ETHERNET_HEADER + COOKED;
    headers + u32::try_from(form.len()).expect("a stamp is a few dozen bytes")
}

fn family(text: &str) -> Result<Family, String> {
    match text {
        "ipv4" => Ok(Family::Ipv4),
        "ipv6" => Ok(Family::Ipv6),
        _ => Err("it is ipv4 or ipv6".into()),
    }
}

fn hexadecimal(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|_| "it is at most 16 hexadecimal digits".into())
}

fn source_ports(text: &str) -> Result<SourcePorts, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    first
        .parse::<u16>()
        .ok()
        .zip(last.parse::<u16>().ok())
        .filter(|(first, last)| *first > 0 && last >= first)
        .and_then(|(first, last)| {
            let count = (last - first).checked_add(1)?;
            Some(SourcePorts { first, count })
        })
        .ok_or_else(|| "it is a port or a range such as 40000-40003".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn arguments(line: &str) -> Capture {
        let line = format!("wiretrial-receiver capture --interface lo {line}");
        match Cli::parse_from(line.split_whitespace()).command {
            Command::Capture(capture) => capture,
            Command::Serve => panic!("capture"),
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn defaults_are_those_of_the_generator() {
        let prepare = arguments("--packets 10 --flows 4").prepare().unwrap();
        assert_eq!(prepare.port, 39053);
        assert_eq!(
            (prepare.source_ports.first, prepare.source_ports.count),
            (40000, 4)
        );
        assert_eq!(prepare.planned, [3, 3, 2, 2]);
        assert_eq!(prepare.form, Form::Compact);
        assert_eq!(prepare.capture.snaplen, 66);
        assert_eq!(prepare.capture.buffer_bytes, 16 << 20);
        let identity = prepare.identity;
        assert_eq!((identity.run_id, identity.trial, identity.nonce), (0, 0, 0));
        let prepare = arguments("--frame-size 94 --source-ports 5-7 --run-id ff")
            .prepare()
            .unwrap();
        assert_eq!((prepare.form, prepare.capture.snaplen), (Form::Full, 96));
        assert_eq!(
            (prepare.source_ports.first, prepare.source_ports.count),
            (5, 3)
        );
        assert_eq!(prepare.identity.run_id, 255);
    }

    #[test]
    fn a_frame_without_room_for_a_stamp_is_refused() {
        let failure = arguments("--frame-size 60").prepare().unwrap_err();
        assert_eq!(
            failure.message,
            "frame-size 60 leaves 14 bytes of UDP payload; a counted packet needs 18"
        );
        let failure = arguments("--timeout 0ms").prepare().unwrap_err();
        assert!(failure.message.contains("timeout_ns is 0"), "{failure}");
        let failure = arguments("--flows 0").prepare().unwrap_err();
        assert!(failure.message.contains("count is 0"), "{failure}");
    }

    #[test]
    fn port_ranges() {
        let ports = |text| source_ports(text).ok().map(|p| (p.first, p.count));
        assert_eq!(ports("40000-40003"), Some((40000, 4)));
        assert_eq!(ports("40000"), Some((40000, 1)));
        assert_eq!(ports("1-65535"), Some((1, 65535)));
        for text in ["0", "5-4", "a-b", "1-70000", ""] {
            assert_eq!(ports(text), None, "{text}");
        }
    }
}
