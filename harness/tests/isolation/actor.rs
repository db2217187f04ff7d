//! The part of a test that runs as another user. It says what it found as lines `ACTOR name=value`.

#![allow(clippy::print_stdout, reason = "the test reads it")]

use std::env;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use wiretrial::host::{
    Host, HostLock, Interrupt, IsolationChoice, Launch, LocalHost, Setting, choose_placement,
};
use wiretrial_contract::control::{FromChild, ReceiveCpu, Role, ToChild, TopologyKind};
use wiretrial_contract::failure::Failure;

use crate::{waiting, wire};

/// Topologies that an actor opens.
pub(super) type Asked = (TopologyKind, ReceiveCpu);
pub(super) const LOOPBACK: Asked = (TopologyKind::Loopback, ReceiveCpu::Sender);
pub(super) const WIRE: Asked = (TopologyKind::Wire, ReceiveCpu::Separate);

/// How long a child may take.
const LIMIT: Duration = Duration::from_secs(30);

/// Does what `WIRETRIAL_TEST_ACT` names, or nothing.
pub(crate) fn act() {
    let Ok(act) = env::var("WIRETRIAL_TEST_ACT") else {
        return;
    };
    let result = match act.as_str() {
        "lock" => HostLock::take().map(drop),
        "isolation" => open(LOOPBACK).map(|host| say_isolation(&host)),
        "capture" => act_capture(),
        "hold" => act_hold(LOOPBACK),
        "wire-isolation" => open(WIRE).map(|host| say_isolation(&host)),
        "wire-pairs" => wire::act_pairs(),
        "wire-hold" => act_hold(WIRE),
        other => panic!("no act {other}"),
    };
    if let Err(failure) = result {
        say("code", failure.code);
        say("message", failure.message);
    }
    println!("ACTOR end");
}

fn act_capture() -> Result<(), Failure> {
    let mut host = open(LOOPBACK)?;
    say_isolation(&host);
    let port: u16 = env::var("PORT").unwrap().parse().unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    host.check_ports(&[address])?;
    host.agent().sink(address)?;
    let mut child = host.launch(&receiver())?;
    host.begin_window(&[child.hello().pid])?;
    child.send(&ToChild::Probe)?;
    assert_eq!(child.receive(LIMIT)?, FromChild::Seen);
    let window = host.end_window()?;
    say("harness", std::process::id());
    say("child", child.hello().pid);
    let links: Vec<&str> = window.end.links.keys().map(String::as_str).collect();
    say("links", links.join(" "));
    let lo = |name: &str| window.end.links["lo"][name] - window.start.links["lo"][name];
    say("rx_packets", lo("rx_packets"));
    let sink = window.end.sink_dropped.unwrap() - window.start.sink_dropped.unwrap();
    say("sink_dropped", sink);
    say("foreign_known", window.foreign_cpu_ns.is_some());
    child.end();
    Ok(())
}

fn act_hold(asked: Asked) -> Result<(), Failure> {
    let mut host = open(asked)?;
    let child = host.launch(&receiver())?;
    if let Some(thread) = host.made().receive_thread {
        say("thread", thread);
    }
    let placement = choose_placement(&host.facts().cpus_allowed, 1);
    say("pinned", host.pin(&placement));
    say("cpus", format!("{:?}", placement.senders));
    say("harness", std::process::id());
    say("agent", host.agent().pid());
    say("child", child.hello().pid);
    println!("ACTOR end");
    // Killed long before; bounded in case the test is not there any more.
    host.wait_quiet(Duration::from_secs(60), f64::MAX).map(drop)
}

pub(super) fn open((topology, receive_cpu): Asked) -> Result<LocalHost, Failure> {
    let isolation = match env::var("WIRETRIAL_TEST_ISOLATION").unwrap().as_str() {
        "sandbox" => IsolationChoice::Sandbox,
        "netns" => IsolationChoice::Netns,
        "none" => IsolationChoice::None,
        _ => IsolationChoice::Auto,
    };
    let receiver = receiver().program;
    let executable = PathBuf::from(env::var("WIRETRIAL_TEST_EXECUTABLE").unwrap());
    waiting(|| {
        LocalHost::open(&Setting {
            executable: &executable,
            receivers: &[&receiver],
            isolation,
            topology,
            receive_cpu,
            interrupt: Interrupt::default(),
            lock: None,
            say: |_| (),
        })
    })
}

pub(super) fn receiver() -> Launch {
    let folder = PathBuf::from(env::var("FOLDER").unwrap());
    Launch {
        role: Role::Receiver,
        name: "receiver of baseline".into(),
        program: folder.join("receiver"),
        padding: 0,
        stderr: folder.join("stderr"),
    }
}

pub(super) fn say_isolation(host: &LocalHost) {
    say("isolation", host.isolation());
    say("notes", host.notes().join("|"));
}

pub(super) fn say(name: &str, value: impl std::fmt::Display) {
    println!("ACTOR {name}={value}");
}
