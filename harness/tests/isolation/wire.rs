//! Pairs of real trials on a wire: two namespaces, the receive work on a CPU of its own.

#![allow(clippy::print_stdout, reason = "the test reads it")]

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use wiretrial::campaign::overrides::Overrides;
use wiretrial::campaign::{plan as sealing, shipped};
use wiretrial::host::{Host, Launch, LocalHost, choose_placement};
use wiretrial::judge::metrics;
use wiretrial::trial::pair;
use wiretrial::trial::setting::{Job, Program, Programs, Setting};
use wiretrial_contract::control::{Role, Steering};
use wiretrial_contract::digest::sha256_file;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::metric::Metric;
use wiretrial_contract::plan::{Plan, Seed};
use wiretrial_contract::record::{Flag, HostWindow, LedgerState, Outcome, Phase, TrialRecord};
use wiretrial_contract::report::GroupTally;

use crate::actor::{WIRE, open, say, say_isolation};
use crate::user::{Folder, User, skip, write_program};
use crate::{eventually, in_namespace, leaves_nothing, serial, state};

#[test]
fn root_has_a_wire_in_a_network_namespace() {
    let Some(user) = User::root() else { return };
    pairs(&user, "auto", "netns", None);
}

#[test]
fn where_no_kernel_thread_can_be_seen_packets_are_steered() {
    let Some(user) = User::root() else { return };
    let user = user.without_kernel_threads();
    pairs(&user, "auto", "netns", Some(Steering::Rps));
}

#[test]
fn root_has_a_wire_in_a_sandbox() {
    let Some(user) = User::root() else { return };
    pairs(&user, "sandbox", "sandbox", None);
}

#[test]
fn an_ordinary_user_has_a_wire_in_a_sandbox() {
    let Some(user) = User::ordinary() else { return };
    pairs(&user, "auto", "sandbox", None);
}

#[test]
fn a_killed_harness_leaves_no_wire() {
    for (user, isolation) in [
        (User::root(), "netns"),
        (User::root(), "sandbox"),
        (User::ordinary(), "sandbox"),
    ] {
        let Some(user) = user else { continue };
        let held = leaves_nothing(&user, "wire-hold", isolation);
        // The kernel thread lives as long as the interface.
        if let Some(thread) = held.get("thread") {
            let thread = thread.parse().unwrap();
            assert!(eventually(|| state(thread).is_none()));
        }
    }
}

#[test]
fn a_wire_is_never_on_the_host() {
    let sentence =
        "topology wire needs a private network; run as root, or with --isolation sandbox";
    for user in [User::root(), User::ordinary()].into_iter().flatten() {
        let refused = user.ask("wire-isolation", "none");
        assert_eq!(refused["code"], "3");
        assert_eq!(refused["message"], sentence);
    }
    if let Some(user) = User::ordinary() {
        let refused = user.restricted(",+net_raw").ask("wire-isolation", "auto");
        assert_eq!(refused["code"], "3");
        let message = &refused["message"];
        assert!(
            message.starts_with("isolation: user namespaces are restricted"),
            "{message}"
        );
        assert!(message.ends_with(sentence), "{message}");
    }
}

/// Runs a pair of each case and looks at its rows. Where `steering` is not known before, it is the
/// best that this host has.
fn pairs(user: &User, choice: &str, isolation: &str, steering: Option<Steering>) {
    let folder = Folder::new();
    write_program(&folder.path().join("receiver"), "true");
    let _serial = serial();
    let said = user.start("wire-pairs", choice, folder.path(), 0).finish();
    assert_eq!(said.get("message"), None, "{said:?}");
    assert_eq!(said["isolation"], isolation);
    assert_ne!(said["sender_network"], said["receiver_network"]);
    assert_eq!(said["sender_links"], "lo wts0");
    assert_eq!(said["receiver_links"], "lo wtr0");
    let text = fs::read_to_string(folder.path().join("rows")).unwrap();
    let rows: Vec<TrialRecord> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 4, "two cases, two arms");
    let threaded = said["steering"] == Steering::ThreadedNapi.name();
    if let Some(steering) = steering {
        assert_eq!(said["steering"], steering.name());
    } else if !threaded {
        skip("no kernel thread polls the wire");
    }
    assert_eq!(said["notes"].contains("CPU time is not known"), !threaded);
    rows.iter().for_each(|row| assert_sound(row, threaded));
    // Each pair's frames went through the wire and through nothing else.
    for pair in rows.chunks(2) {
        let (sent, received) = frames(&pair[0]);
        assert_eq!(sent, received, "frames of the two ends");
    }
    let network = PathBuf::from(&said["sender_network"]);
    assert!(eventually(|| in_namespace(&network) == 0));
}

fn assert_sound(row: &TrialRecord, threaded: bool) {
    assert!(
        !matches!(row.outcome, Outcome::Failed { .. }),
        "{:?}",
        row.outcome
    );
    assert!(!row.flags.contains(&Flag::Coupled), "{:?}", row.flags);
    let (sent, seen) = (row.tally().unwrap(), row.receiver().unwrap());
    let pcap = seen.pcap.unwrap();
    assert_eq!(pcap.received, seen.copies.total() + pcap.dropped);
    let ledger = row.ledger.as_ref().unwrap();
    assert_eq!(
        ledger.lost,
        i64::try_from(sent.accepted - seen.copies.unique).unwrap()
    );
    // A stall of the host may overflow the wire's queue: then the link says so.
    assert_eq!(ledger.unexplained, 0, "{ledger:?}");
    let state = &ledger.state;
    assert!(
        matches!(state, LedgerState::Balanced | LedgerState::Ambiguous { .. }),
        "{state:?}"
    );
    assert_eq!(sent.accepted, sent.planned);
    let busy = |tally: &GroupTally| tally.receive_cpu_ns;
    let thread = |window: &HostWindow| {
        let [start, end] = [&window.start, &window.end].map(|at| at.receive_thread_ns);
        end.zip(start).map(|(end, start)| end - start)
    };
    let total = thread(row.host.as_ref().unwrap());
    let groups = &row.generator.as_ref().unwrap().groups;
    let demo = shipped::load("demo", &Overrides::default()).unwrap();
    let value = |metric| metrics::value(metric, &demo.cases[0], row);
    let cost = value(Metric::CaptureCostNsPerPacket);
    if threaded {
        assert!(
            groups.iter().all(|group| busy(group) > Some(0)),
            "{groups:?}"
        );
        let counted: u64 = groups.iter().filter_map(busy).sum();
        assert!(counted <= total.unwrap(), "{counted} of {total:?}");
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let each = |tally: &GroupTally| busy(tally).unwrap() as f64 / tally.accepted as f64;
        let beside = each(sent) - each(row.control().unwrap());
        let process = value(Metric::ProcessCpuNsPerPacket).unwrap();
        assert!((cost.unwrap() - process - beside).abs() < 1e-6);
    } else {
        assert!(groups.iter().all(|group| busy(group).is_none()));
        assert_eq!((total, cost), (None, None));
    }
}

/// Frames that the sender's end gave and the receiver's end took in the window, drops apart.
fn frames(row: &TrialRecord) -> (u64, u64) {
    let HostWindow { start, end, .. } = row.host.as_ref().unwrap();
    let sent = |name| end.sender_links["wts0"][name] - start.sender_links["wts0"][name];
    let received = |name| end.links["wtr0"][name] - start.links["wtr0"][name];
    (
        sent("tx_packets"),
        received("rx_packets") + received("rx_dropped"),
    )
}

/// The actor's part: runs a pair of every case, and says where its processes are.
pub(crate) fn act_pairs() -> Result<(), Failure> {
    let mut host = open(WIRE)?;
    say_isolation(&host);
    say("steering", host.made().steering.unwrap().name());
    let executables = env::current_exe().unwrap().parent().unwrap().to_owned();
    let folder = PathBuf::from(env::var("FOLDER").unwrap());
    let program = |name: &str| {
        let path = executables.join(name);
        Program {
            sha256: sha256_file(&path).unwrap(),
            path,
        }
    };
    let programs = Programs {
        generator: Some(program("wiretrial-generator")),
        receivers: vec![program("wiretrial-receiver"); 2],
        outside: vec![None; 2],
    };
    let plan = plan(&host);
    for (role, name, program) in [
        (
            Role::Generator,
            "sender",
            programs.generator.as_ref().unwrap(),
        ),
        (Role::Receiver, "receiver", &programs.receivers[0]),
    ] {
        say_where(&mut host, role, name, &program.path, &folder)?;
    }
    let control = plan.campaign.topology.target(plan.campaign.arms.len());
    host.agent().sink(control)?;
    let setting = Setting {
        campaign: &plan.campaign,
        rule: &plan.rule,
        placement: &plan.placement,
        programs: &programs,
        interface: plan.campaign.topology.kind.interface(),
        receive_thread: host.made().receive_thread,
        run_id: 7,
        seed: plan.seed.0,
        began_ns: 0,
        gone_ns: 0,
        raw: &folder,
        allowed_targets: &[],
        inputs: &[],
    };
    let mut rows = String::new();
    for case in 0..plan.campaign.cases.len() {
        let planned = plan.pairs.iter().find(|pair| pair.case as usize == case);
        let job = Job {
            planned: planned.unwrap(),
            phase: Phase::Confirm,
            replaces: None,
            arms: &planned.unwrap().order.arms(),
        };
        for row in pair::run(&mut host, &setting, &job, &[]).rows {
            rows += &serde_json::to_string(&row).unwrap();
            rows.push('\n');
        }
    }
    fs::write(folder.join("rows"), rows).unwrap();
    Ok(())
}

/// The demo on a wire, with trials of 200 ms.
fn plan(host: &LocalHost) -> Plan {
    let overrides = Overrides {
        quick: true,
        set: ["traffic.duration=400ms", "topology.kind=wire"]
            .map(str::to_owned)
            .into(),
        ..Overrides::default()
    };
    let campaign = shipped::load("demo", &overrides).unwrap();
    let placement = choose_placement(&host.facts().cpus_allowed, 1);
    sealing::plan(sealing::Inputs {
        floors: Vec::new(),
        campaign,
        seed: Seed(7),
        earlier_plans: Vec::new(),
        ci_attempt: None,
        isolation: host.isolation(),
        placement: host.steered(placement),
        identities: BTreeMap::new(),
        origins: BTreeMap::new(),
        binaries: BTreeMap::new(),
    })
}

/// Starts a child and says in which network namespace it is and which interfaces are there.
fn say_where(
    host: &mut LocalHost,
    role: Role,
    name: &str,
    program: &Path,
    folder: &Path,
) -> Result<(), Failure> {
    let mut child = host.launch(&Launch {
        role,
        name: name.into(),
        program: program.to_owned(),
        padding: 0,
        stderr: folder.join("stderr"),
    })?;
    let process = format!("/proc/{}", child.hello().pid);
    let network = fs::read_link(format!("{process}/ns/net")).unwrap();
    say(&format!("{name}_network"), network.display());
    let devices = fs::read_to_string(format!("{process}/net/dev")).unwrap();
    let mut links: Vec<&str> = devices
        .lines()
        .filter_map(|line| Some(line.split_once(':')?.0.trim()))
        .collect();
    links.sort_unstable();
    say(&format!("{name}_links"), links.join(" "));
    child.end();
    Ok(())
}
