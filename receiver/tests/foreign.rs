//! Programs of the user's behind the receiver: real ones, and ones made here that misbehave. Each
//! test has a private network; counts are compared exactly, and nothing asserts on time or rate.
//!
//! A host that cannot make such a network skips these tests and says so; with `CI` set that is a
//! failure.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bench;
mod programs;

use std::time::Duration;

use bench::{Child, Sender, alone};
use nix::sys::signal::Signal;
use programs::{Leftovers, outside, probe, program, spec};
use wiretrial_contract::control::{FromChild, Ready, Stop, ToChild};
use wiretrial_contract::program::{CountName, CountSource, ReadySign, StopSignal};
use wiretrial_contract::report::{CountReport, CpuClock};
use wiretrial_contract::stamp::Class;

/// A whole trial of `counted` datagrams in two flows; 16 probes come before. The probe's socket
/// has room for all of 216.
fn trial(modes: &[&str], counted: u64) -> CountReport {
    let leftovers = Leftovers::now();
    let mut child = Child::start();
    let report = conduct(&mut child, &outside(probe(modes)), counted, Duration::ZERO);
    child.send(&ToChild::Bye);
    assert_eq!(child.exit_code(), Some(0));
    leftovers.assert_none();
    report
}

fn conduct(
    child: &mut Child,
    prepare: &wiretrial_contract::control::OutsidePrepare,
    counted: u64,
    pause: Duration,
) -> CountReport {
    child.send(&ToChild::PrepareOutside(prepare.clone()));
    let FromChild::Ready(Ready::Receiver(ready)) = child.receive() else {
        panic!("ready comes after prepare")
    };
    assert_eq!(ready.filter, programs::FILTER);
    assert!(ready.addresses.contains(&bench::loopback(prepare.family)));
    let running = ready.program.unwrap();
    assert_eq!(running.sha256, prepare.program.sha256);
    assert_eq!(running.packet_sockets, 1);
    assert!(running.start_up_cpu_ns.unwrap() > 0);
    let sender = Sender::new(&bench::mount());
    child.arm(&sender);
    for sequence in 0..counted / 2 {
        sender.send(Class::Counted, 0, sequence);
        sender.send(Class::Counted, 1, sequence);
    }
    std::thread::sleep(pause);
    child.send(&ToChild::Stop(Stop {
        accepted: vec![counted / 2, counted / 2],
    }));
    assert!(matches!(child.receive(), FromChild::Done(_)));
    let FromChild::CountReport(report) = child.receive() else {
        panic!("the counts come after done")
    };
    assert_eq!(report.sink_dropped, Some(sender.sent()));
    assert!(report.process_cpu_ns.is_some() && report.peak_rss_bytes.unwrap() > 0);
    *report
}

/// What the receiver says when the trial of a program fails after `say` messages.
fn refusal(modes: &[&str], probes: bool) -> (u8, String) {
    let leftovers = Leftovers::now();
    let mut child = Child::start();
    child.send(&ToChild::PrepareOutside(outside(probe(modes))));
    let sender = Sender::new(&bench::mount());
    loop {
        match child.receive() {
            FromChild::Ready(_) if probes => {
                for sequence in 0..16 {
                    sender.send(Class::Probe, 0, sequence);
                }
            }
            FromChild::Armed => {
                for sequence in 0..1000 {
                    sender.send(Class::Counted, 0, sequence);
                }
            }
            FromChild::Error(error) => {
                assert_eq!(child.exit_code(), Some(error.code.into()));
                leftovers.assert_none();
                return (error.code, error.message);
            }
            _ => {}
        }
    }
}

#[test]
fn a_program_is_proven_ready_counted_and_stopped() {
    alone("a_program_is_proven_ready_counted_and_stopped", || {
        let report = trial(&[], 200);
        assert_eq!(report.counts.processed, Some(216));
        assert_eq!(report.counts.received, None, "unknown, not 0");
        assert_eq!(report.cpu_clock, CpuClock::Process);
        assert_eq!((report.end.status, report.end.signal), (Some(0), None));
        assert_eq!(report.end.asked, ["SIGINT"]);
        assert!(report.series.is_empty(), "it was short");
    });
}

#[test]
fn a_long_trial_has_samples_of_the_programs_memory_and_time() {
    let name = "a_long_trial_has_samples_of_the_programs_memory_and_time";
    alone(name, || {
        let mut child = Child::start();
        let pause = Duration::from_secs(12);
        let report = conduct(&mut child, &outside(probe(&[])), 200, pause);
        child.send(&ToChild::Bye);
        assert_eq!(child.exit_code(), Some(0));
        assert!(report.series.len() >= 10, "{:?}", report.series);
        for two in report.series.windows(2) {
            assert!(two[1].at_ns - two[0].at_ns >= 1_000_000_000);
            assert!(two[1].process_cpu_ns >= two[0].process_cpu_ns);
        }
        for sample in report.series {
            assert!(sample.rss_bytes.unwrap() > 0 && sample.process_cpu_ns.is_some());
            let untold = (sample.unique, sample.dropped, sample.residence_ns);
            assert_eq!(untold, (None, None, None));
        }
    });
}

#[test]
fn a_program_that_counts_too_much_is_believed_here_and_reported() {
    let name = "a_program_that_counts_too_much_is_believed_here_and_reported";
    alone(name, || {
        assert_eq!(trial(&["more"], 200).counts.processed, Some(1_000_216));
    });
}

#[test]
fn term_and_kill_follow_a_signal_that_is_ignored() {
    alone("term_and_kill_follow_a_signal_that_is_ignored", || {
        let report = trial(&["deaf"], 200);
        assert_eq!(report.end.asked, ["SIGINT", "SIGTERM"]);
        assert_eq!(report.counts.processed, Some(216));
        let report = trial(&["stubborn"], 200);
        assert_eq!(report.end.asked, ["SIGINT", "SIGTERM", "SIGKILL"]);
        assert_eq!(report.end.signal, Some(9));
        assert_eq!(report.counts.processed, None, "it did not say");
    });
}

#[test]
fn a_flood_on_standard_error_neither_blocks_nor_is_kept() {
    alone(
        "a_flood_on_standard_error_neither_blocks_nor_is_kept",
        || {
            // 39 MB, of which little more than one is kept.
            assert_eq!(trial(&["flood"], 200).counts.processed, Some(216));
        },
    );
}

#[test]
fn one_that_never_captures_is_given_up_with_its_last_words() {
    alone(
        "one_that_never_captures_is_given_up_with_its_last_words",
        || {
            assert_eq!(
                refusal(&["no-socket"], false),
                (
                    3,
                    "probe never got ready: no packet socket on lo after 9 s; its last words: \
                 \"waiting for the moon\""
                        .into()
                )
            );
        },
    );
}

#[test]
fn one_that_lacks_a_right_or_dies_is_named_with_its_last_words() {
    let name = "one_that_lacks_a_right_or_dies_is_named_with_its_last_words";
    alone(name, || {
        assert_eq!(
            refusal(&["no-right"], false),
            (
                3,
                "probe ended before it captured (exit 1); its last words: \"probe: you may not \
                 capture on lo\""
                    .into()
            )
        );
        assert_eq!(
            refusal(&["dies"], true),
            (
                4,
                "probe ended (exit 5) before it was asked to; its last words: \"listening on lo / \
                 probe: out of luck\""
                    .into()
            )
        );
    });
}

#[test]
fn forking_is_unsupported_where_no_group_sums_it() {
    alone("forking_is_unsupported_where_no_group_sums_it", || {
        bench::run("mount", &["-t", "tmpfs", "none", "/sys/fs/cgroup"]);
        for mode in ["worker", "leaves", "spawns"] {
            let (code, message) = refusal(&[mode], true);
            assert_eq!(code, 3);
            assert!(
                message.starts_with("unsupported: forks: probe has started "),
                "{message}"
            );
            assert!(
                message.ends_with(
                    ", and no one clock has the CPU time of both; keep it one process, or run as \
                     root, where a control group can sum them"
                ),
                "{message}"
            );
        }
        let (code, message) = refusal(&["background"], false);
        assert_eq!(code, 3);
        assert!(
            message.starts_with(
                "unsupported: forks: probe went to the background: its own process ended (exit 0) \
                 and left pid "
            ),
            "{message}"
        );
    });
}

#[test]
fn a_group_sums_a_program_that_forks() {
    alone("a_group_sums_a_program_that_forks", || {
        if !bench::can_group() {
            return bench::skip("no control group here");
        }
        for mode in ["worker", "leaves", "spawns"] {
            let report = trial(&[mode], 200);
            assert_eq!(report.cpu_clock, CpuClock::Cgroup);
            assert_eq!(report.counts.processed, Some(216));
            assert!(report.process_cpu_ns.unwrap() > 0);
        }
        assert_eq!(trial(&[], 200).cpu_clock, CpuClock::Process);
    });
}

#[test]
fn nothing_stays_at_any_end_of_the_receiver() {
    alone("nothing_stays_at_any_end_of_the_receiver", || {
        for mode in ["stubborn", "leaves", "worker"] {
            for end in ["bye", "abort", "input", "SIGTERM", "deadline"] {
                let leftovers = Leftovers::now();
                let mut child = Child::start();
                let mut prepare = outside(probe(&[mode]));
                if end == "deadline" {
                    prepare.deadline_ns = 500_000_000;
                }
                child.send(&ToChild::PrepareOutside(prepare));
                assert!(matches!(child.receive(), FromChild::Ready(_)));
                assert!(leftovers.some(), "a program and its folder are there");
                let code = match end {
                    "bye" => {
                        child.send(&ToChild::Bye);
                        0
                    }
                    "abort" => {
                        child.send(&ToChild::Stop(Stop::default()));
                        0
                    }
                    "input" => {
                        child.close_input();
                        4
                    }
                    "SIGTERM" => {
                        child.signal(Signal::SIGTERM);
                        130
                    }
                    _ => 4,
                };
                assert_eq!(child.exit_code(), Some(code), "{end}");
                leftovers.assert_none();
            }
        }
    });
}

#[test]
fn a_killed_receiver_takes_the_program_with_it() {
    alone("a_killed_receiver_takes_the_program_with_it", || {
        let leftovers = Leftovers::now();
        let mut child = Child::start();
        child.send(&ToChild::PrepareOutside(outside(probe(&["stubborn"]))));
        let FromChild::Ready(Ready::Receiver(ready)) = child.receive() else {
            panic!("ready")
        };
        let pid = ready.program.unwrap().pid;
        child.signal(Signal::SIGKILL);
        child.exit_code();
        while programs::runs(pid) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        // Its folder stays, as nobody is left to remove it.
        leftovers.remove_folders();
    });
}

#[test]
fn what_is_wrong_with_a_program_is_said_before_it_starts() {
    alone(
        "what_is_wrong_with_a_program_is_said_before_it_starts",
        || {
            type Change = fn(&mut wiretrial_contract::control::OutsidePrepare);
            let cases: [(Change, u8, &str); 8] = [
                (
                    |p| p.program.path = "/nowhere/tcpdum".into(),
                    3,
                    "cannot read the program /nowhere/tcpdum: No such file or directory (os error 2); \
                 build or install it, or correct program.binary",
                ),
                (
                    |p| p.program.sha256 = "0".repeat(64),
                    4,
                    "is not the program that was sealed: sha256 ",
                ),
                (
                    |p| p.program.spec.arguments[0] = "/nowhere/x".into(),
                    3,
                    "cannot start /nowhere/x: No such file or directory (os error 2); install it, or \
                 correct program.binary",
                ),
                (
                    |p| p.program.spec.arguments.push("{iface}".into()),
                    2,
                    "program.arguments: unknown placeholder {iface}; there are {binary} {interface}",
                ),
                (
                    |p| p.program.spec.arguments.push("{file}".into()),
                    2,
                    "program.arguments: {file} stands for nothing in a live trial; use {interface} and \
                 {filter}",
                ),
                (
                    |p| {
                        let source = CountSource::Stdout("counted".into());
                        p.program.spec.counts.insert(CountName::Dropped, source);
                    },
                    2,
                    "program.counts.dropped: 'counted' has no group; put the number into one, as in \
                 (\\d+)",
                ),
                (
                    |p| p.program.spec.ready = ReadySign::Stderr("(".into()),
                    2,
                    "program.ready: '(' is no regular expression: unclosed group",
                ),
                (
                    |p| p.interface = "wtr9".into(),
                    3,
                    "no interface \"wtr9\"; interfaces here: lo",
                ),
            ];
            for (change, code, words) in cases {
                let leftovers = Leftovers::now();
                let mut prepare = outside(probe(&[]));
                change(&mut prepare);
                let mut child = Child::start();
                child.send(&ToChild::PrepareOutside(prepare));
                let error = child.error();
                assert_eq!(error.code, code, "{}", error.message);
                assert!(error.message.contains(words), "{}", error.message);
                assert_eq!(child.exit_code(), Some(i32::from(code)));
                leftovers.assert_none();
            }
        },
    );
}

#[test]
fn counts_come_from_json_files_and_commands_too() {
    alone("counts_come_from_json_files_and_commands_too", || {
        let script = "echo '{{\"drops\": {{\"ring\": 4}}}}'; echo 'written 1_234' > {work}/stats; \
                      exec {binary} {interface} {port}";
        let mut spec = spec(&["sh", "-c", script]);
        spec.stop = StopSignal::SigTerm;
        let command = |name: &str, regex: &str| CountSource::Command {
            arguments: vec!["sh".into(), "-c".into(), format!("{name} {{work}}/stats")],
            regex: regex.into(),
        };
        spec.counts = [
            (
                CountName::Processed,
                CountSource::Stdout("counted (\\d+)".into()),
            ),
            (CountName::Dropped, CountSource::Json("/drops/ring".into())),
            (
                CountName::Written,
                CountSource::File {
                    path: "{work}/stats".into(),
                    regex: "written ([\\d_]+)".into(),
                },
            ),
            (CountName::Received, command("wc -c", "^(\\d+)")),
            (
                CountName::InterfaceDropped,
                command("sleep 99; cat", "(\\d+)"),
            ),
        ]
        .into();
        let leftovers = Leftovers::now();
        let mut child = Child::start();
        let report = conduct(
            &mut child,
            &outside(program(&probe(&[]).path, spec)),
            200,
            Duration::ZERO,
        );
        assert_eq!(report.counts.processed, Some(216));
        assert_eq!(report.counts.dropped, Some(4));
        assert_eq!(report.counts.written, Some(1234));
        assert_eq!(report.counts.received, Some(14));
        assert_eq!(report.counts.interface_dropped, None, "no answer in time");
        assert_eq!(report.end.asked, ["SIGTERM"]);
        child.send(&ToChild::Bye);
        assert_eq!(child.exit_code(), Some(0));
        leftovers.assert_none();
    });
}

#[test]
fn ready_waits_for_the_sign_and_a_cpu_is_read_back() {
    alone("ready_waits_for_the_sign_and_a_cpu_is_read_back", || {
        let cpu = wiretrial_receiver::process::cpus().unwrap().pop().unwrap();
        let mut prepare = outside(probe(&[]));
        prepare.program.spec.ready = ReadySign::Stderr("^listening on lo$".into());
        prepare.cpu = Some(cpu);
        let mut child = Child::start();
        child.send(&ToChild::PrepareOutside(prepare.clone()));
        let FromChild::Ready(Ready::Receiver(ready)) = child.receive() else {
            panic!("ready")
        };
        assert_eq!(ready.cpus, [cpu]);
        assert_eq!(
            (ready.ring, ready.link_type),
            (None, None),
            "it reads with recv"
        );
        child.close_input();
        assert_eq!(child.exit_code(), Some(4));

        prepare.program.spec.ready = ReadySign::Stderr("^capturing".into());
        let mut child = Child::start();
        child.send(&ToChild::PrepareOutside(prepare));
        let error = child.error();
        assert_eq!(error.code, 3);
        assert_eq!(
            error.message,
            "probe never got ready: no '^capturing' on its standard error after 9 s; its last \
             words: \"listening on lo\""
        );
    });
}

/// tcpdump, dumpcap and softflowd as their adapters have them. On `lo` the kernel's own count has
/// every packet twice.
#[test]
fn real_programs_are_measured() {
    alone("real_programs_are_measured", || {
        for name in ["tcpdump", "dumpcap", "softflowd"] {
            let Some(prepare) = programs::adapter(name) else {
                bench::skip(&format!("{name} is not installed"));
                continue;
            };
            let leftovers = Leftovers::now();
            let mut child = Child::start();
            let report = conduct(&mut child, &prepare, 2000, Duration::ZERO);
            eprintln!("{name}: {:?} {:?}", report.counts, report.end);
            let counts = report.counts;
            assert_eq!(counts.dropped, Some(0), "{name}");
            let processed = counts.processed.unwrap();
            assert!(processed <= 2016, "{name}: {processed}");
            match name {
                "dumpcap" => assert_eq!(processed, 2016),
                _ => assert_eq!(counts.received, Some(2 * 2016), "{name}"),
            }
            assert_eq!(report.cpu_clock, CpuClock::Process);
            child.send(&ToChild::Bye);
            assert_eq!(child.exit_code(), Some(0));
            leftovers.assert_none();
        }
    });
}

/// tshark starts dumpcap, which captures: two processes at least.
#[test]
fn a_real_program_that_forks_is_summed() {
    alone("a_real_program_that_forks_is_summed", || {
        let Some(prepare) = programs::adapter("tshark") else {
            return bench::skip("tshark is not installed");
        };
        if !bench::can_group() {
            return bench::skip("no control group here");
        }
        let leftovers = Leftovers::now();
        let mut child = Child::start();
        let report = conduct(&mut child, &prepare, 2000, Duration::ZERO);
        assert_eq!(report.counts.processed, Some(2016));
        assert_eq!(report.cpu_clock, CpuClock::Cgroup);
        child.send(&ToChild::Bye);
        assert_eq!(child.exit_code(), Some(0));
        leftovers.assert_none();
    });
}

#[test]
fn a_real_ring_is_read_from_outside() {
    alone("a_real_ring_is_read_from_outside", || {
        let Some(prepare) = programs::adapter("tcpdump") else {
            return bench::skip("tcpdump is not installed");
        };
        let mut child = Child::start();
        child.send(&ToChild::PrepareOutside(prepare));
        let FromChild::Ready(Ready::Receiver(ready)) = child.receive() else {
            panic!("ready")
        };
        let ring = ready.ring.unwrap();
        assert_eq!(ring.version, 3);
        assert!(ring.bytes() >= 1 << 20 && ring.retire_ms > 0, "{ring:?}");
        child.close_input();
        assert_eq!(child.exit_code(), Some(4));
    });
}
