//! `wiretrial-generator send` as a person runs it.

use std::process::{Command, Output, Stdio};

use crate::child::{free_ports, sink};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use wiretrial_contract::control::{GeneratorPrepare, GeneratorReady, TrialIdentity};
use wiretrial_contract::report::GeneratorReport;
use wiretrial_contract::stamp::{self, Form, Reading};

fn generator(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wiretrial-generator"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(line: &str) -> Output {
    let arguments: Vec<_> = line.split_whitespace().collect();
    generator(&arguments).output().expect("it runs")
}

fn document(output: &Output) -> (GeneratorPrepare, GeneratorReady, GeneratorReport) {
    let mut value: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(value["schema"], "wiretrial.by-hand-generator/1");
    let mut part = |name: &str| value[name].take();
    (
        serde_json::from_value(part("prepare")).expect("a prepare"),
        serde_json::from_value(part("ready")).expect("a ready"),
        serde_json::from_value(part("report")).expect("a report"),
    )
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr)
        .trim_end()
        .to_owned()
}

#[test]
fn every_packet_is_sent_and_reported() {
    let sink = sink();
    let output = run(&format!(
        "send --target {} --packets 120 --rate 2k --flows 4 --warm-up 10ms --source-port {} \
         --run-id ff --trial 2 --nonce 9",
        sink.local_addr().unwrap(),
        free_ports(4)
    ));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // A stall of the host may have shifted so short a schedule, and that is said.
    let said = stderr(&output);
    assert!(
        said.is_empty() || (said.starts_with("sent ") && said.ends_with(" was the limit")),
        "{said}"
    );
    let (prepare, ready, report) = document(&output);
    assert_eq!((prepare.senders, prepare.batch, ready.batch), (1, 1, 1));
    assert_eq!(prepare.form, Form::Compact);
    let tally = &report.groups[0];
    assert_eq!(tally.accepted_per_flow, [30; 4]);
    assert_eq!(tally.warm_up_accepted, 20);

    let identity = TrialIdentity {
        run_id: 0xFF,
        trial: 2,
        nonce: 9,
    };
    assert_eq!(prepare.groups[0].identity, identity);
    let mut bytes = [0; 64];
    let mut arrived = 0;
    while let Ok(length) = sink.recv(&mut bytes) {
        assert_eq!(length, 18);
        let read = stamp::read(Form::Compact, &identity.into(), &bytes[..length]);
        assert!(matches!(read, Reading::Ours(_)), "{read:?}");
        arrived += 1;
    }
    assert_eq!(arrived, 140);
}

#[test]
fn ipv6_frames_carry_the_same_stamps() {
    let Ok(sink) = std::net::UdpSocket::bind("[::1]:0") else {
        eprintln!("skipped: this host has no IPv6 loopback");
        return;
    };
    sink.set_nonblocking(true).unwrap();
    let output = run(&format!(
        "send --target {} --packets 20 --rate 2k --frame-size 114 --source-port {}",
        sink.local_addr().unwrap(),
        free_ports(1)
    ));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (prepare, ready, _) = document(&output);
    assert_eq!(prepare.form, Form::Full);
    assert_eq!(ready.sources, ["::1".parse::<std::net::IpAddr>().unwrap()]);
    let mut bytes = [0; 64];
    for sequence in 0..20 {
        assert_eq!(sink.recv(&mut bytes).unwrap(), stamp::FULL_LEN);
        let identity = prepare.groups[0].identity.into();
        let Reading::Ours(stamp) = stamp::read(Form::Full, &identity, &bytes[..48]) else {
            panic!("a datagram of ours");
        };
        assert_eq!(stamp.sequence, sequence);
    }
}

#[test]
fn refused_packets_are_exit_4_and_still_reported() {
    let closed = sink().local_addr().unwrap();
    let output = run(&format!(
        "send --target {closed} --packets 10 --rate 1k --source-port {}",
        free_ports(1)
    ));
    assert_eq!(output.status.code(), Some(4));
    let (_, _, report) = document(&output);
    let accepted = report.groups[0].accepted;
    assert_eq!(
        stderr(&output),
        format!(
            "wiretrial-generator: exit 4: {accepted} of 10 planned packets were accepted ({} \
             ECONNREFUSED)",
            10 - accepted
        )
    );
}

#[test]
fn a_run_is_cut_off_when_its_time_is_up() {
    let sink = sink();
    // 20 million a second is more than any sender reaches: the schedule of 500 ms takes longer. The
    // time allowed is that and a second of grace.
    let output = run(&format!(
        "send --target {} --packets 10M --for 500ms --rate 20M --senders 1 --source-port {}",
        sink.local_addr().unwrap(),
        free_ports(1)
    ));
    assert_eq!(output.status.code(), Some(4));
    let (_, _, report) = document(&output);
    assert!(report.groups[0].accepted < 10_000_000);
    assert!(stderr(&output).ends_with("planned packets were accepted (the time was up)"));
}

#[test]
fn ctrl_c_stops_and_still_reports() {
    let sink = sink();
    let target = sink.local_addr().unwrap().to_string();
    let port = free_ports(1).to_string();
    let child = generator(&[
        "send",
        "--target",
        &target,
        "--for",
        "50s",
        "--rate",
        "20",
        "--source-port",
        &port,
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    // The first datagram proves that the signal handler is in place.
    sink.set_nonblocking(false).unwrap();
    sink.recv(&mut [0; 64]).unwrap();
    kill(
        Pid::from_raw(child.id().try_into().unwrap()),
        Signal::SIGINT,
    )
    .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let (_, _, report) = document(&output);
    let tally = &report.groups[0];
    assert_eq!(tally.planned, 1_000);
    assert!((1..1_000).contains(&tally.accepted));
}

#[test]
fn wrong_lines_are_exit_2() {
    for (line, part) in [
        (
            "send --target 203.0.113.9:1 --packets 1 --rate 1",
            "exit 2: target 203.0.113.9 is neither private",
        ),
        ("send --target 127.0.0.1:9 --rate 1k", "--packets"),
        (
            "send --target 127.0.0.1:9 --rate 1k --packets 1 --frame-size 60",
            "exit 2: frame-size 60 leaves 14 bytes",
        ),
        (
            "send --target 127.0.0.1:9 --rate 1k --packets 61k",
            "--for TIME allows another time",
        ),
        (
            "send --target 127.0.0.1:9 --rate 1x --packets 1",
            "is not a count such as",
        ),
    ] {
        let output = run(line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(
            stderr(&output).contains(part),
            "{line}: {}",
            stderr(&output)
        );
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn help_has_an_example_and_version_a_number() {
    let help = run("--help");
    assert_eq!(help.status.code(), Some(0));
    let text = String::from_utf8_lossy(&help.stdout).into_owned();
    assert!(
        text.contains("wiretrial-generator send --target 10.99.0.2:39053"),
        "{text}"
    );
    let version = run("--version");
    assert_eq!(
        String::from_utf8_lossy(&version.stdout),
        concat!("wiretrial-generator ", env!("CARGO_PKG_VERSION"), "\n")
    );
}
