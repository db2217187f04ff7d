//! Real datagrams through a real capture, on the loopback interface of a private network namespace
//! made for each test. Counts are compared exactly; nothing asserts on time or rate.
//!
//! A host that cannot make such a namespace skips these tests and says so; with
//! `CI` set that is a failure.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bench;

use std::process::Command;

use bench::{Child, Sender, inside, mount};
use nix::sys::signal::Signal;
use wiretrial_contract::control::{FromChild, Ready, ReceiverPrepare, Stop, ToChild};
use wiretrial_contract::report::{Copies, ReceiverReport};
use wiretrial_contract::stamp::{Class, Form};
use wiretrial_contract::units::Family;
use wiretrial_receiver::process;

fn assert_balanced(report: &ReceiverReport) {
    let pcap = report.pcap.expect("libpcap's counters");
    assert_eq!(pcap.received, report.copies.total() + pcap.dropped);
    assert_eq!(pcap.interface_dropped, None, "not promiscuous");
    let parts: u64 = report.residence.iter().map(|part| part.count).sum();
    assert_eq!(parts, report.copies.unique);
    assert_eq!(report.residence.len(), 20);
    let per_flow: u64 = report.unique_per_flow.iter().sum();
    assert_eq!(per_flow, report.copies.unique);
}

/// Every kind of frame in known numbers.
fn exact_counts(prepare: &ReceiverPrepare) -> ReceiverReport {
    exact_counts_of(Child::start(), prepare)
}

fn exact_counts_of(mut child: Child, prepare: &ReceiverPrepare) -> ReceiverReport {
    let ready = child.prepare(prepare);
    assert_eq!(ready.link_type.as_deref(), Some("EN10MB"));
    assert_eq!(
        ready.filter,
        match prepare.family {
            Family::Ipv4 => "ip and udp and dst port 39053 and src portrange 40000-40001",
            Family::Ipv6 => "ip6 and udp and dst port 39053 and src portrange 40000-40001",
        }
    );
    let ring = ready.ring.expect("sock_diag shows the ring");
    assert_eq!(ring.version, if prepare.capture.immediate { 2 } else { 3 });
    assert!(ring.bytes() >= u64::from(prepare.capture.buffer_bytes) * 9 / 10);
    assert!(ready.addresses.contains(&bench::loopback(prepare.family)));

    let sender = Sender::new(prepare);
    child.arm(&sender);
    for sequence in 0..50 {
        sender.send(Class::WarmUp, 0, sequence);
    }
    for sequence in 0..1000 {
        sender.send(Class::Counted, 0, sequence);
        if sequence % 100 == 0 {
            sender.send(Class::Counted, 0, sequence);
        }
    }
    // The second flow goes backwards in pairs, and its last ten are never sent.
    for pair in 0..495 {
        sender.send(Class::Counted, 1, pair * 2 + 1);
        sender.send(Class::Counted, 1, pair * 2);
    }
    for _ in 0..4 {
        sender.send_stale(1);
        sender.send_raw(0, b"nothing that carries a stamp of ours, of any length");
        sender.send_corrupt(0);
        sender.send(Class::Counted, 0, 1000);
        sender.send(Class::Filler, 1, 0);
    }
    child.send(&ToChild::Stop(Stop {
        accepted: vec![1000, 990],
    }));
    let report = child.finish();
    assert_eq!(
        report.copies,
        Copies {
            unique: 1990,
            duplicate: 10,
            warm_up: 50,
            probe: 0,
            filler: 4,
            stale: 4,
            foreign: 4,
            corrupt: 8,
        }
    );
    assert_eq!(report.unique_per_flow, [1000, 990]);
    assert_eq!(report.reordered, 495);
    assert_eq!(report.truncated, 0);
    assert_eq!(report.pcap.unwrap().dropped, 0);
    assert_balanced(&report);
    assert!(report.process_cpu_ns.unwrap() > 0);
    assert_ne!(report.instructions, Some(0), "not counted is not 0");
    assert!(report.minor_faults.is_some() && report.major_faults.is_some());
    assert!(report.series.is_empty(), "it was short");
    assert!(report.first_ns.unwrap() <= report.last_ns.unwrap());
    assert!(report.dispatches > 0);
    let sent = sender.sent();
    assert_eq!(report.sink_dropped, Some(sent));
    // Had any been negative there would be none: no frame is handed over before it was sent.
    let latencies = report.latency.map(|latency| latency.count);
    assert_eq!(latencies, (prepare.form == Form::Full).then_some(1990));
    report
}

#[test]
fn counts_are_exact_by_block() {
    inside("counts_are_exact_by_block", || {
        let report = exact_counts(&mount());
        assert_eq!(report.heap_bytes, None, "its allocator does not count");
    });
}

#[test]
fn counts_are_exact_in_immediate_mode() {
    inside("counts_are_exact_in_immediate_mode", || {
        let mut prepare = mount();
        prepare.capture.immediate = true;
        exact_counts(&prepare);
    });
}

#[test]
fn counts_are_exact_with_full_stamps_in_immediate_mode() {
    inside(
        "counts_are_exact_with_full_stamps_in_immediate_mode",
        || {
            let mut prepare = mount();
            prepare.capture.immediate = true;
            prepare.form = Form::Full;
            prepare.capture.snaplen = 14 + 20 + 8 + 48;
            exact_counts(&prepare);
        },
    );
}

#[test]
fn the_receiver_whose_allocator_counts_counts_the_same() {
    inside(
        "the_receiver_whose_allocator_counts_counts_the_same",
        || {
            let report = exact_counts_of(Child::start_as(bench::COUNTING), &mount());
            assert!(report.heap_bytes.unwrap() > 0, "messages take some");
        },
    );
}

#[test]
fn counts_are_exact_with_ipv6_and_full_stamps() {
    inside("counts_are_exact_with_ipv6_and_full_stamps", || {
        let mut prepare = mount();
        prepare.family = Family::Ipv6;
        prepare.form = Form::Full;
        prepare.capture.snaplen = 14 + 40 + 8 + 48;
        exact_counts(&prepare);
    });
}

#[test]
fn a_ring_that_overruns_loses_exactly_what_it_dropped() {
    inside("a_ring_that_overruns_loses_exactly_what_it_dropped", || {
        let mut prepare = mount();
        prepare.capture.immediate = true;
        prepare.capture.buffer_bytes = 64 << 10;
        prepare.planned = vec![4000, 0];
        let mut child = Child::start();
        child.prepare(&prepare);
        let sender = Sender::new(&prepare);
        child.arm(&sender);
        child.signal(Signal::SIGSTOP);
        for sequence in 0..4000 {
            sender.send(Class::Counted, 0, sequence);
        }
        child.signal(Signal::SIGCONT);
        child.send(&ToChild::Stop(Stop {
            accepted: vec![4000, 0],
        }));
        let report = child.finish();
        let dropped = report.pcap.unwrap().dropped;
        assert!(dropped > 0, "the ring is too small for the burst");
        assert_eq!(report.copies.unique + dropped, 4000);
        assert_eq!(report.copies.total(), report.copies.unique);
        assert_balanced(&report);
    });
}

#[test]
fn what_comes_after_stop_is_late_and_not_lost() {
    inside("what_comes_after_stop_is_late_and_not_lost", || {
        let mut prepare = mount();
        prepare.planned = vec![100, 0];
        prepare.quiet_ns = 3_000_000_000;
        prepare.drain_limit_ns = 6_000_000_000;
        let mut child = Child::start();
        child.prepare(&prepare);
        let sender = Sender::new(&prepare);
        child.arm(&sender);
        for sequence in 0..90 {
            sender.send(Class::Counted, 0, sequence);
        }
        // The ninety are in before the stop, and the ten behind it are sent when it has arrived.
        std::thread::sleep(std::time::Duration::from_millis(700));
        child.send(&ToChild::Stop(Stop {
            accepted: vec![100, 0],
        }));
        std::thread::sleep(std::time::Duration::from_millis(700));
        for sequence in 90..100 {
            sender.send(Class::Counted, 0, sequence);
        }
        let report = child.finish();
        assert_eq!((report.copies.unique, report.late), (100, 10));
        assert_eq!(report.owed_at_stop, Some(10));
        assert!(report.drain_ns > 0);
        assert_balanced(&report);
    });
}

#[test]
fn a_long_trial_has_samples_a_second_apart() {
    inside("a_long_trial_has_samples_a_second_apart", || {
        let prepare = mount();
        let mut child = Child::start();
        child.prepare(&prepare);
        let sender = Sender::new(&prepare);
        child.arm(&sender);
        for sequence in 0..600 {
            sender.send(Class::Counted, 0, sequence);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        child.send(&ToChild::Stop(Stop {
            accepted: vec![600, 0],
        }));
        let report = child.finish();
        assert_eq!(report.copies.unique, 600);
        let series = report.series;
        assert!(series.len() >= 10, "{series:?}");
        for two in series.windows(2) {
            assert!(two[1].at_ns - two[0].at_ns >= 1_000_000_000);
            assert!(two[1].unique > two[0].unique && two[1].unique <= Some(600));
            assert!(two[1].process_cpu_ns > two[0].process_cpu_ns);
            assert_eq!(two[1].dropped, Some(0));
        }
        for sample in series {
            assert!(sample.rss_bytes.unwrap() > 0);
            assert!(sample.residence_ns.is_some());
        }
    });
}

#[test]
fn a_stamp_that_the_snap_length_cuts_is_foreign_and_truncated() {
    let name = "a_stamp_that_the_snap_length_cuts_is_foreign_and_truncated";
    inside(name, || {
        for mode in ["--promiscuous", "--immediate"] {
            let mut child = bench::by_hand(&["--snaplen", "59", "--flows", "2", mode]);
            let sender = Sender::new(&mount());
            for sequence in 0..10 {
                sender.send(Class::Counted, 0, sequence);
            }
            bench::signal(&child, Signal::SIGTERM);
            let (report, code) = bench::by_hand_report(&mut child);
            assert_eq!((report.copies.foreign, report.truncated), (10, 10));
            assert_eq!(code, 0, "no number was asked for");
            assert_eq!(report.copies.total(), 10);
            let pcap = report.pcap.unwrap();
            assert_eq!((pcap.received, pcap.dropped), (10, 0));
            let read = mode == "--promiscuous";
            assert_eq!(pcap.interface_dropped.is_some(), read);
        }
    });
}

#[test]
fn an_interface_that_is_down_or_goes_away_is_named() {
    inside("an_interface_that_is_down_or_goes_away_is_named", || {
        bench::ip(&["link", "add", "v0", "type", "veth", "peer", "name", "v1"]);
        let mut prepare = mount();
        prepare.interface = "v0".into();
        let mut child = Child::start();
        child.send(&ToChild::PrepareReceiver(prepare.clone()));
        let error = child.error();
        assert_eq!(error.code, 3);
        assert_eq!(error.message, "interface v0 is down; ip link set v0 up");
        child.exit_code();

        bench::ip(&["link", "set", "v0", "up"]);
        let mut child = Child::start();
        child.prepare(&prepare);
        bench::ip(&["link", "del", "v0"]);
        let error = child.error();
        assert_eq!(error.code, 4);
        assert_eq!(error.message, "interface v0 went away during the capture");
        assert_eq!(child.exit_code(), Some(4));
    });
}

#[test]
fn it_never_outlives_its_input() {
    inside("it_never_outlives_its_input", || {
        let mut child = Child::start();
        child.prepare(&mount());
        child.close_input();
        let error = child.error();
        assert_eq!(error.code, 4);
        assert_eq!(error.message, "standard input ended before bye");
        assert_eq!(child.exit_code(), Some(4));
    });
}

#[test]
fn the_deadline_ends_it() {
    inside("the_deadline_ends_it", || {
        let mut prepare = mount();
        prepare.deadline_ns = 150_000_000;
        let mut child = Child::start();
        child.prepare(&prepare);
        let error = child.error();
        assert_eq!(error.code, 4);
        assert_eq!(
            error.message,
            "the deadline of 150 ms after prepare has passed"
        );
        assert_eq!(child.exit_code(), Some(4));
    });
}

#[test]
fn bye_an_empty_stop_and_a_signal_end_it_at_any_time() {
    inside("bye_an_empty_stop_and_a_signal_end_it_at_any_time", || {
        for message in [ToChild::Bye, ToChild::Stop(Stop::default())] {
            let mut child = Child::start();
            child.send(&message);
            assert_eq!(child.exit_code(), Some(0));
            let mut child = Child::start();
            let prepare = mount();
            child.prepare(&prepare);
            child.arm(&Sender::new(&prepare));
            child.send(&message);
            assert_eq!(child.exit_code(), Some(0));
        }
        let mut child = Child::start();
        child.prepare(&mount());
        child.signal(Signal::SIGTERM);
        assert_eq!(child.error().code, 130);
        assert_eq!(child.exit_code(), Some(130));
    });
}

#[test]
fn messages_it_does_not_know_end_it() {
    inside("messages_it_does_not_know_end_it", || {
        let prepare = serde_json::to_string(&mount()).unwrap();
        let unknown = prepare.replacen(
            '{',
            "{\"v\":1,\"type\":\"prepare\",\"role\":\"receiver\",\"colour\":1,",
            1,
        );
        for (line, words) in [
            (unknown.as_str(), "unknown field `colour`"),
            (
                "{\"v\":1,\"type\":\"go\"}",
                "unexpected message \"go\": this is a receiver",
            ),
            ("{\"v\":9,\"type\":\"bye\"}", "protocol version 9"),
            ("hello there", "not a message: \"hello there\""),
            (
                "{\"v\":1,\"type\":\"stop\",\"accepted\":[1]}",
                "unexpected message \"stop\" when nothing is prepared",
            ),
        ] {
            let mut child = Child::start();
            child.send_line(line);
            let error = child.error();
            assert_eq!(error.code, 2);
            assert!(error.message.contains(words), "{}", error.message);
            assert_eq!(child.exit_code(), Some(2));
        }
        let mut child = Child::start();
        child.prepare(&mount());
        child.send(&ToChild::Stop(Stop {
            accepted: vec![0, 0],
        }));
        let error = child.error();
        assert_eq!(error.code, 2);
        assert_eq!(error.message, "unexpected message \"stop\" when not armed");
    });
}

#[test]
fn a_stop_that_does_not_fit_the_plan_is_refused() {
    inside("a_stop_that_does_not_fit_the_plan_is_refused", || {
        for (accepted, words) in [
            (vec![1], "accepted has 1 flows; prepare had 2"),
            (
                vec![0, 1001],
                "accepted of flow 1 is 1001; 1000 were planned",
            ),
        ] {
            let prepare = mount();
            let mut child = Child::start();
            child.prepare(&prepare);
            child.arm(&Sender::new(&prepare));
            child.send(&ToChild::Stop(Stop { accepted }));
            let error = child.error();
            assert_eq!(error.code, 2);
            assert!(error.message.contains(words), "{}", error.message);
        }
    });
}

#[test]
fn what_the_host_lacks_is_named() {
    inside("what_the_host_lacks_is_named", || {
        let mut child = Child::start();
        let mut prepare = mount();
        prepare.interface = "nosuch0".into();
        child.send(&ToChild::PrepareReceiver(prepare));
        let error = child.error();
        assert_eq!(error.code, 3);
        assert_eq!(
            error.message,
            "no interface \"nosuch0\"; interfaces here: lo"
        );

        let mut holder = Child::start();
        holder.prepare(&mount());
        let mut child = Child::start();
        child.send(&ToChild::PrepareReceiver(mount()));
        let error = child.error();
        assert_eq!(error.code, 3);
        assert_eq!(
            error.message,
            format!(
                "port 39053 is in use by pid {} (wiretrial-receiver); wait, stop it, or --port",
                holder.pid()
            )
        );
        drop(holder);

        let program = env!("CARGO_BIN_EXE_wiretrial-receiver");
        let output = Command::new("setpriv")
            .args([
                "--bounding-set",
                "-net_raw",
                program,
                "capture",
                "--interface",
                "lo",
            ])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert!(output.stdout.is_empty());
        assert_eq!(
            String::from_utf8(output.stderr).unwrap(),
            format!(
                "wiretrial-receiver: exit 3: cannot capture on lo: needs cap_net_raw. sudo setcap \
                 cap_net_raw+ep {program} (again after each rebuild), or capture in a private \
                 network: unshare -Urn, or --isolation sandbox of wiretrial\n"
            )
        );
    });
}

#[test]
fn by_hand_it_ends_when_all_have_come_or_on_a_signal() {
    inside("by_hand_it_ends_when_all_have_come_or_on_a_signal", || {
        for (packets, sent) in [("100", 100), ("200", 100)] {
            let mut child = bench::by_hand(&["--packets", packets, "--flows", "2"]);
            let mut prepare = mount();
            prepare.identity.nonce = 0;
            let sender = Sender::new(&prepare);
            for sequence in 0..sent / 2 {
                sender.send(Class::Counted, 0, sequence);
                sender.send(Class::Counted, 1, sequence);
            }
            if packets == "200" {
                bench::signal(&child, Signal::SIGINT);
            }
            let (report, code) = bench::by_hand_report(&mut child);
            assert_eq!(report.copies.unique, 100);
            assert_eq!(code, if packets == "100" { 0 } else { 4 });
            let owed = (packets == "100").then_some(0);
            assert_eq!(report.owed_at_stop, owed);
            assert_balanced(&report);
        }
    });
}

/// The order of everything a child says, with nothing in between.
#[test]
fn messages_come_in_the_order_of_the_protocol() {
    inside("messages_come_in_the_order_of_the_protocol", || {
        let cpu = process::cpus().unwrap().pop().unwrap();
        let mut prepare = mount();
        prepare.cpu = Some(cpu);
        let mut child = Child::launch();
        assert!(matches!(child.receive(), FromChild::Hello(_)));
        child.send(&ToChild::PrepareReceiver(prepare.clone()));
        let FromChild::Ready(Ready::Receiver(ready)) = child.receive() else {
            panic!("ready comes after prepare")
        };
        assert_eq!(ready.cpus, [cpu], "read back");
        let sender = Sender::new(&prepare);
        for sequence in 0..16 {
            sender.send(Class::Probe, 0, sequence);
        }
        assert_eq!(child.receive(), FromChild::Seen);
        assert_eq!(child.receive(), FromChild::Armed);
        child.send(&ToChild::Beat);
        child.send(&ToChild::Stop(Stop {
            accepted: vec![0, 0],
        }));
        assert!(matches!(child.receive(), FromChild::Done(done) if done.accepted.is_empty()));
        let FromChild::ReceiverReport(report) = child.receive() else {
            panic!("a report")
        };
        assert_eq!(report.copies, Copies::default(), "probes are not in it");
        assert_eq!(report.process_cpu_ns, None);
        assert_eq!((report.first_ns, report.last_ns), (None, None));
        child.send(&ToChild::Bye);
        assert_eq!(child.exit_code(), Some(0));
        assert!(child.rest().is_empty());
    });
}
