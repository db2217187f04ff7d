//! Namespaces, agents and children on the real kernel, as root and as an ordinary user.
//!
//! A user cannot be changed back and forth inside one process, so a test that needs another user
//! starts this executable again through setpriv(1), with the ignored test `actor` as its role. A
//! host that cannot do something makes a printed, counted skip; where `CI` is set it fails.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use wiretrial::host::{Agent, HostLock, Interrupt};
use wiretrial_contract::control::{Isolation, ReceiveCpu, Role, TopologyKind};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::{clock, exit};

#[path = "isolation/actor.rs"]
mod actor;
#[path = "isolation/user.rs"]
mod user;
#[path = "isolation/wire.rs"]
mod wire;

use user::{Folder, User, write_program};

#[test]
fn an_ordinary_user_captures_in_a_sandbox() {
    let Some(user) = User::ordinary() else { return };
    captures(user, "auto", "sandbox");
}

#[test]
fn root_captures_in_a_sandbox_where_programs_can_drop_to_another_user() {
    let Some(user) = User::root() else { return };
    captures(user, "sandbox", "sandbox");
}

#[test]
fn root_captures_in_a_network_namespace() {
    let Some(user) = User::root() else { return };
    captures(user, "auto", "netns");
}

#[test]
fn root_captures_on_the_host() {
    let Some(user) = User::root() else { return };
    captures(user, "none", "none");
}

#[test]
fn an_ordinary_user_is_told_what_root_is_needed_for() {
    let Some(user) = User::ordinary() else { return };
    let netns = user.isolation("netns");
    assert_eq!(netns["code"], "3");
    assert_eq!(
        netns["message"],
        "isolation netns needs root; run as root, or --isolation sandbox"
    );
    let none = user.isolation("none");
    assert_eq!(none["code"], "3");
    assert!(
        none["message"].contains("sudo setcap cap_net_raw+ep /"),
        "{none:?}"
    );
}

#[test]
fn without_user_namespaces_the_host_is_used_or_the_cure_is_named() {
    let Some(user) = User::ordinary() else { return };
    let cure = "user namespaces are restricted here (sudo sysctl -w user.max_user_namespaces=15000, \
                or run as root)";
    let sandbox = user.restricted("").isolation("sandbox");
    assert_eq!(sandbox["code"], "3");
    assert_eq!(sandbox["message"], format!("isolation: {cure}"));
    let auto = user.restricted("").isolation("auto");
    assert_eq!(auto["code"], "3");
    let expected = format!("isolation: {cure}, and cannot capture on lo: needs cap_net_raw. ");
    assert!(auto["message"].starts_with(&expected), "{auto:?}");
    let allowed = user.restricted(",+net_raw").isolation("auto");
    assert_eq!(allowed["isolation"], "none");
    assert_eq!(
        allowed["notes"],
        format!("isolation: {cure}; using none on lo")
    );
}

#[test]
fn a_killed_harness_of_an_ordinary_user_leaves_nothing() {
    let Some(user) = User::ordinary() else { return };
    leaves_nothing(&user, "hold", "sandbox");
}

#[test]
fn a_killed_harness_of_root_leaves_nothing() {
    let Some(user) = User::root() else { return };
    for isolation in ["sandbox", "netns"] {
        leaves_nothing(&user, "hold", isolation);
    }
}

#[test]
fn a_second_campaign_is_refused_whoever_starts_it() {
    let _serial = serial();
    let lock = waiting(HostLock::take).unwrap();
    let me = format!("(pid {}, isolation", std::process::id());
    let second = HostLock::take().unwrap_err();
    assert_eq!(second.code, exit::HOST);
    assert!(
        second
            .message
            .starts_with("another campaign holds this host "),
        "{second}"
    );
    assert!(second.message.contains(&me), "{second}");
    if let Some(user) = User::ordinary() {
        let other = user.start("lock", "auto", Path::new("/"), 0).finish();
        assert_eq!(other["message"], second.message);
    }
    drop(lock);
}

#[test]
fn the_lock_lasts_as_long_as_an_agent() {
    let _serial = serial();
    let lock = waiting(HostLock::take).unwrap();
    let agent = Agent::start(wiretrial(), Some(&lock), Interrupt::default()).unwrap();
    // As when the harness is killed: its descriptor is closed without unlocking.
    std::mem::forget(lock);
    let descriptor = fs::read_dir("/proc/self/fd")
        .unwrap()
        .flatten()
        .find_map(|entry| {
            let to = fs::read_link(entry.path()).ok()?;
            let number = entry.file_name().to_str()?.parse::<i32>().ok();
            number.filter(|_| to.ends_with("random/boot_id"))
        });
    nix::unistd::close(descriptor.unwrap()).unwrap();
    assert!(HostLock::take().is_err());
    drop(agent);
    assert!(waiting(HostLock::take).is_ok());
}

#[test]
fn an_agent_that_is_killed_is_named_with_its_signal() {
    let _serial = serial();
    let mut agent = Agent::start(wiretrial(), None, Interrupt::default()).unwrap();
    assert_eq!(agent.hello().pid, agent.pid());
    assert_eq!(agent.hello().role, Role::Agent);
    agent
        .make(TopologyKind::Loopback, ReceiveCpu::Sender, Isolation::None)
        .unwrap();
    kill(pid(agent.pid()), Signal::SIGKILL).unwrap();
    let failure = agent.counters().unwrap_err();
    assert_eq!(
        failure,
        Failure::evidence("agent ended before its counters (signal 9)")
    );
}

#[test]
fn an_agent_ends_on_sigterm_and_when_it_is_dropped() {
    let agent = Agent::start(wiretrial(), None, Interrupt::default()).unwrap();
    kill(pid(agent.pid()), Signal::SIGTERM).unwrap();
    assert!(eventually(
        || state(agent.pid()).is_none_or(|state| state == 'Z')
    ));
    let agent = Agent::start(wiretrial(), None, Interrupt::default()).unwrap();
    let number = agent.pid();
    drop(agent);
    assert_eq!(state(number), None);
}

/// What an actor runs.
#[test]
#[ignore = "started by the other tests"]
fn actor() {
    actor::act();
}

/// In `isolation`, asked for as `choice`: lo is up and alone, a capture program sees a datagram, the
/// sink counts it, and the child is the harness's own.
fn captures(user: User, choice: &str, isolation: &str) {
    let folder = Folder::new();
    let port = if isolation == "none" {
        free_port()
    } else {
        39053
    };
    write_program(
        &folder.path().join("receiver"),
        r#"
        ls /proc/$$/fd > $FOLDER/descriptors
        links=$(ls /sys/class/net | tr '\n' ' ')
        tcpdump -i lo -n -l -c 1 udp dst port $PORT > $FOLDER/tcpdump 2> $FOLDER/tcpdump-stderr &
        for try in $(seq 200); do grep -q 'listening on' $FOLDER/tcpdump-stderr && break; sleep 0.05; done
        echo hello > /dev/udp/127.0.0.1/$PORT
        for try in $(seq 200); do [ -s $FOLDER/tcpdump ] && break; sleep 0.05; done
        kill $! 2>/dev/null
        {
            echo "links=$links"
            echo "flags=$(cat /sys/class/net/lo/flags)"
            echo "parent=$(awk '/^PPid/ {print $2}' /proc/$$/status)"
            echo "group=$(awk '{print $5}' /proc/$$/stat)"
            echo "user=$(id -u)"
            echo "folder=$(pwd)"
            echo "descriptors=$(tr '\n' ' ' < $FOLDER/descriptors)"
        } > $FOLDER/facts
        echo '{"v":1,"type":"seen"}'
        "#,
    );
    let _serial = serial();
    let seen = user.start("capture", choice, folder.path(), port).finish();
    assert_eq!(seen.get("message"), None, "{seen:?}");
    assert_eq!(seen["isolation"], isolation);
    assert_eq!(seen["notes"], "");
    let facts = folder.facts();
    if isolation != "none" {
        assert_eq!(facts["links"].trim(), "lo");
        assert_eq!(seen["links"], "lo");
        // A second of the two taps on lo may or may not be in it, so only the sink is exact.
        assert!(seen["rx_packets"].parse::<u64>().unwrap() >= 1, "{seen:?}");
    }
    // IFF_UP and IFF_LOOPBACK.
    assert_eq!(facts["flags"], "0x9");
    assert_eq!(facts["parent"], seen["harness"]);
    assert_eq!(facts["group"], seen["child"]);
    assert_eq!(facts["user"], user.id.to_string());
    assert_eq!(
        facts["folder"],
        env::current_dir().unwrap().to_str().unwrap()
    );
    // 255 is the shell's own descriptor of its script.
    assert_eq!(facts["descriptors"].trim(), "0 1 2 255");
    assert_eq!(seen["sink_dropped"], "1");
    assert_eq!(seen["foreign_known"], "true");
    let tcpdump = fs::read_to_string(folder.path().join("tcpdump")).unwrap();
    let complaints = fs::read_to_string(folder.path().join("tcpdump-stderr")).unwrap();
    assert!(
        tcpdump.contains(&format!("> 127.0.0.1.{port}: UDP, length 6")),
        "{tcpdump}{complaints}"
    );
}

/// Kills a harness and looks for its agent, its child, their namespace and the lock. What it had
/// said before.
fn leaves_nothing(user: &User, act: &str, isolation: &str) -> BTreeMap<String, String> {
    let folder = Folder::new();
    write_program(&folder.path().join("receiver"), "cat > /dev/null");
    let _serial = serial();
    let mut actor = user.start(act, isolation, folder.path(), 0);
    let held = actor.facts();
    assert_eq!(held.get("message"), None, "{held:?}");
    let number = |name: &str| held[name].parse::<u32>().unwrap();
    let (agent, child) = (number("agent"), number("child"));
    let namespace = fs::read_link(format!("/proc/{agent}/ns/net")).unwrap();
    assert_eq!(
        fs::read_link(format!("/proc/{child}/ns/net")).unwrap(),
        namespace
    );
    assert_ne!(fs::read_link("/proc/self/ns/net").unwrap(), namespace);

    let pinned = held["cpus"] != "[]";
    assert_eq!(held["pinned"], pinned.to_string());
    for process in [agent, number("harness")] {
        let cpus = format!("[{}]", allowed_cpus(process));
        assert_eq!(cpus == held["cpus"], pinned, "{cpus} {held:?}");
    }
    actor.child.kill().unwrap();
    actor.child.wait().unwrap();
    assert!(eventually(
        || state(agent).is_none() && state(child).is_none()
    ));
    assert!(eventually(|| in_namespace(&namespace) == 0));
    assert!(waiting(HostLock::take).is_ok());
    held
}

fn wiretrial() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_wiretrial"))
}

/// Campaigns exclude each other on a host, so tests that lock it take turns.
fn serial() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tries again while a campaign outside of these tests holds the host.
fn waiting<T>(mut take: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
    let deadline = clock::monotonic_ns() + 60_000_000_000;
    loop {
        match take() {
            Err(failure)
                if failure.message.starts_with("another campaign")
                    && clock::monotonic_ns() < deadline =>
            {
                clock::sleep_until(clock::monotonic_ns() + 50_000_000);
            }
            other => return other,
        }
    }
}

fn eventually(mut holds: impl FnMut() -> bool) -> bool {
    let deadline = clock::monotonic_ns() + 10_000_000_000;
    while !holds() {
        if clock::monotonic_ns() > deadline {
            return false;
        }
        clock::sleep_until(clock::monotonic_ns() + 10_000_000);
    }
    true
}

/// The state of a process (proc_pid_stat(5)); `None` when there is none.
fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

fn allowed_cpus(pid: u32) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let cpus = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    cpus.unwrap().trim().to_owned()
}

fn in_namespace(namespace: &Path) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|process| {
            fs::read_link(process.path().join("ns/net")).is_ok_and(|net| net == namespace)
        })
        .count()
}

fn free_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().port()
}

fn pid(number: u32) -> Pid {
    Pid::from_raw(number.try_into().unwrap())
}
