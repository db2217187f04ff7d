//! The generator behind pipes, sending to real sockets on loopback.

use std::collections::BTreeMap;

use crate::child::{Generator, arrived, group, prepare, sink, slice};
use nix::sys::signal::{Signal, kill};
use wiretrial_contract::control::{FromChild, GeneratorPrepare, GroupName, Ready, Stop, ToChild};
use wiretrial_contract::stamp::{Class, Form};

/// A prepare whose schedule lasts `seconds`, to a sink of its own.
fn long(seconds: u64) -> (GeneratorPrepare, std::net::UdpSocket) {
    let sink = sink();
    let slices = vec![slice(0, 20 * seconds, Class::Counted)];
    (prepare(vec![group(1, &sink, 1, slices)], 20), sink)
}

fn refusal(change: impl FnOnce(&mut GeneratorPrepare)) -> String {
    let (mut asked, _sink) = long(1);
    change(&mut asked);
    let mut generator = Generator::start();
    generator.say(&ToChild::PrepareGenerator(asked));
    generator.refused(2)
}

#[test]
fn every_datagram_arrives_with_its_class_flow_and_number() {
    let sink = sink();
    let slices = vec![slice(0, 30, Class::WarmUp), slice(15, 101, Class::Counted)];
    let asked = GeneratorPrepare {
        receive_thread: None,
        senders: 2,
        batch: 3,
        frame_size: 64,
        form: Form::Compact,
        ..prepare(vec![group(1, &sink, 4, slices)], 2_000)
    };
    let first_port = asked.groups[0].source_ports.first;
    let mut generator = Generator::start();
    generator.say(&ToChild::PrepareGenerator(asked));
    let FromChild::Ready(Ready::Generator(ready)) = generator.hear() else {
        panic!("ready");
    };
    assert_eq!((ready.batch, ready.cpus.len()), (3, 2));
    assert!(ready.cpus.iter().all(|cpus| !cpus.is_empty()));
    assert_eq!(
        ready.sources,
        ["127.0.0.1".parse::<std::net::IpAddr>().unwrap()]
    );
    generator.say(&ToChild::Probe);
    generator.say(&ToChild::Probe);
    generator.say(&ToChild::Go);
    let report = generator.reported();
    generator.say(&ToChild::Bye);
    assert_eq!(generator.ended(), 0);

    let mut numbers: BTreeMap<(Class, u16), Vec<u64>> = BTreeMap::new();
    for (port, stamp) in arrived(&sink, Form::Compact, 1) {
        assert_eq!(port, first_port + stamp.flow);
        numbers
            .entry((stamp.class, stamp.flow))
            .or_default()
            .push(stamp.sequence);
    }
    // 101 over 4 flows is 26, 25, 25, 25; 30 is 8, 8, 7, 7; two probes of 16 are 8 each.
    for (flow, counted, warm_up) in [(0, 26, 8), (1, 25, 8), (2, 25, 7), (3, 25, 7)] {
        for (class, count) in [
            (Class::Counted, counted),
            (Class::WarmUp, warm_up),
            (Class::Probe, 8),
        ] {
            let of = numbers.remove(&(class, flow)).unwrap_or_default();
            assert!(of.iter().copied().eq(0..count), "{class:?} {flow}: {of:?}");
        }
    }
    assert!(numbers.is_empty(), "{numbers:?}");

    let tally = &report.groups[0];
    assert_eq!(tally.accepted_per_flow, [26, 25, 25, 25]);
    assert_eq!(
        (tally.planned, tally.attempted, tally.accepted),
        (101, 101, 101)
    );
    assert_eq!((tally.warm_up_accepted, tally.probe_accepted), (30, 32));
    assert!(tally.errors.is_empty());
    assert_eq!(tally.lateness.count, 101);
    assert!(tally.lateness.p50_ns <= tally.lateness.p99_ns);
    assert!(tally.lateness.p99_ns <= tally.lateness.max_ns);
    assert!(tally.first_ns < tally.last_ns);
    assert!(tally.send_call_ns > 0 && report.process_cpu_ns > 0);
    assert!((0.0..=1.0).contains(&report.busy_share));
    assert_eq!(report.scheduled_ns, 65_500_000);
    assert!(report.longest_burst <= 16);
    assert!(report.involuntary_switches.is_some());
}

#[test]
fn interleaved_groups_keep_their_slices_apart() {
    let sinks = [sink(), sink(), sink()];
    // Slices of 20 ms at 2,000 a second: a, control, b, control, b, a.
    let order = [0, 2, 1, 2, 1, 0];
    let starts = |of: usize| -> Vec<u64> {
        (0..6_u64)
            .zip(order)
            .filter(|(_, g)| *g == of)
            .map(|(at, _)| at * 20)
            .collect()
    };
    let mut groups: Vec<_> = (0..3)
        .map(|g| {
            let slices = starts(g)
                .iter()
                .map(|ms| slice(*ms, 40, Class::Counted))
                .collect();
            group(u32::try_from(g).unwrap(), &sinks[g], 2, slices)
        })
        .collect();
    groups[2].name = GroupName::Control;
    let mut generator = Generator::start();
    generator.prepared(prepare(groups, 2_000));
    generator.say(&ToChild::Go);
    let report = generator.reported();

    let heard: Vec<_> = (0..3_u32)
        .map(|trial| arrived(&sinks[trial as usize], Form::Full, trial))
        .collect();
    let start = heard
        .iter()
        .flatten()
        .map(|(_, stamp)| stamp.intended_ns)
        .min()
        .unwrap();
    for (of, heard) in heard.iter().enumerate() {
        assert_eq!(heard.len(), 80);
        for (_, stamp) in heard {
            // Slice and number in it follow from flow and sequence.
            let i = stamp.sequence % 20 * 2 + u64::from(stamp.flow);
            let slice_ms = starts(of)[usize::try_from(stamp.sequence / 20).unwrap()];
            assert_eq!(
                stamp.intended_ns - start,
                slice_ms * 1_000_000 + i * 500_000
            );
            assert!(
                stamp.actual_ns >= stamp.intended_ns,
                "sent early: {stamp:?}"
            );
        }
        let tally = &report.groups[of];
        assert_eq!(
            (tally.accepted, tally.slices, tally.send_calls),
            (80, 2, 80)
        );
    }
    assert_eq!(report.groups[2].name, GroupName::Control);
}

/// The generator itself stands for the thread: it is busy while it sends.
#[test]
fn the_busy_time_of_a_thread_is_shared_out_over_the_groups() {
    let sinks = [sink(), sink()];
    let slices = |first: u64| {
        let counted = (0..3).map(|at| slice(20 + first + 40 * at, 40, Class::Counted));
        counted.collect::<Vec<_>>()
    };
    let ask = |watch: bool| {
        let mut groups = vec![
            group(1, &sinks[0], 2, slices(0)),
            group(2, &sinks[1], 2, slices(20)),
        ];
        groups[0].slices.insert(0, slice(0, 40, Class::WarmUp));
        let mut generator = Generator::start();
        let own = u32::try_from(generator.pid().as_raw()).unwrap();
        generator.prepared(GeneratorPrepare {
            receive_thread: watch.then_some(own),
            senders: 2,
            ..prepare(groups, 2_000)
        });
        generator.say(&ToChild::Go);
        let report = generator.reported();
        assert!(report.groups.iter().all(|group| group.accepted == 120));
        [0, 1].map(|at| report.groups[at].receive_cpu_ns)
    };
    assert_eq!(ask(false), [None, None]);
    // The main thread sleeps while others send, so its time may stand still, yet it is known.
    assert!(ask(true).iter().all(Option::is_some));
}

#[test]
fn a_thread_that_cannot_be_seen_is_no_number() {
    let sink = sink();
    let asked = GeneratorPrepare {
        receive_thread: Some(u32::MAX),
        ..prepare(
            vec![group(1, &sink, 1, vec![slice(0, 20, Class::Counted)])],
            2_000,
        )
    };
    let mut generator = Generator::start();
    generator.prepared(asked);
    generator.say(&ToChild::Go);
    let tally = generator.reported().groups.remove(0);
    assert_eq!((tally.accepted, tally.receive_cpu_ns), (20, None));
}

#[test]
fn a_port_that_nobody_holds_refuses_and_is_not_counted_as_accepted() {
    let closed = sink();
    let asked = prepare(
        vec![group(1, &closed, 1, vec![slice(0, 20, Class::Counted)])],
        1_000,
    );
    drop(closed);
    let mut generator = Generator::start();
    generator.prepared(asked);
    generator.say(&ToChild::Go);
    let tally = generator.reported().groups.remove(0);
    // Every second one is told of the ICMP error that the one before it caused.
    assert_eq!((tally.planned, tally.attempted), (20, 20));
    let refused = tally.errors["ECONNREFUSED"];
    assert!(refused > 0);
    assert_eq!(tally.accepted + refused, 20);
    assert_eq!(tally.short_calls, refused);
}

#[test]
fn the_end_of_stdin_ends_sending() {
    let (asked, _sink) = long(600);
    let mut generator = Generator::start();
    generator.prepared(asked);
    generator.say(&ToChild::Go);
    generator.close_stdin();
    assert!(generator.refused(4).contains("harness is gone"));
}

#[test]
fn a_signal_ends_sending() {
    let (asked, _sink) = long(600);
    let mut generator = Generator::start();
    generator.prepared(asked);
    generator.say(&ToChild::Go);
    kill(generator.pid(), Signal::SIGTERM).unwrap();
    assert!(generator.refused(130).contains("interrupted"));
}

#[test]
fn the_deadline_ends_sending() {
    let (mut asked, _sink) = long(600);
    asked.deadline_ns = 100_000_000;
    let mut generator = Generator::start();
    generator.prepared(asked);
    generator.say(&ToChild::Go);
    assert_eq!(
        generator.refused(4),
        "the deadline of 100ms after prepare has passed"
    );
}

#[test]
fn a_beat_that_stays_away_ends_it() {
    let mut generator = Generator::start();
    generator.say(&ToChild::Beat);
    assert!(generator.refused(4).contains("no beat for 5s"));
}

#[test]
fn stop_is_answered_with_what_was_sent() {
    let (asked, sink) = long(600);
    let mut generator = Generator::start();
    generator.prepared(asked);
    generator.say(&ToChild::Go);
    generator.say(&ToChild::Stop(Stop::default()));
    let tally = generator.reported().groups.remove(0);
    assert_eq!(tally.planned, 12_000);
    assert!(tally.accepted < 12_000);
    assert_eq!(tally.attempted, tally.accepted);
    assert_eq!(arrived(&sink, Form::Full, 1).len() as u64, tally.accepted);
    generator.say(&ToChild::Bye);
    assert_eq!(generator.ended(), 0);
}

#[test]
fn stop_before_go_leaves_only_bye() {
    let (asked, sink) = long(600);
    let mut generator = Generator::start();
    generator.prepared(asked);
    generator.say(&ToChild::Stop(Stop::default()));
    generator.say(&ToChild::Go);
    assert!(generator.refused(2).starts_with("go after the end"));
    assert_eq!(arrived(&sink, Form::Full, 1), []);
}

#[test]
fn bye_ends_sending_without_an_error() {
    let (asked, _sink) = long(600);
    let mut generator = Generator::start();
    generator.prepared(asked);
    generator.say(&ToChild::Go);
    generator.say(&ToChild::Bye);
    assert_eq!(generator.ended(), 0);
}

#[test]
fn the_order_is_kept() {
    for (message, sentence) in [
        (
            ToChild::Go,
            "go before prepare; the order is prepare, probe, go, bye",
        ),
        (
            ToChild::Probe,
            "probe before prepare; the order is prepare, probe, go, bye",
        ),
    ] {
        let mut generator = Generator::start();
        generator.say(&message);
        assert_eq!(generator.refused(2), sentence);
    }
    let (asked, _sink) = long(600);
    for (before, message, sentence) in [
        (
            None,
            ToChild::PrepareGenerator(asked.clone()),
            "prepare after prepare",
        ),
        (Some(ToChild::Go), ToChild::Go, "go while sending"),
        (Some(ToChild::Go), ToChild::Probe, "probe while sending"),
    ] {
        let mut generator = Generator::start();
        generator.prepared(asked.clone());
        before.iter().for_each(|message| generator.say(message));
        generator.say(&message);
        assert!(generator.refused(2).starts_with(sentence));
    }
}

#[test]
fn probes_are_limited() {
    let (asked, sink) = long(1);
    let mut generator = Generator::start();
    generator.prepared(asked);
    (0..11).for_each(|_| generator.say(&ToChild::Probe));
    assert!(generator.refused(2).starts_with("more than 10 probes"));
    assert_eq!(arrived(&sink, Form::Full, 1).len(), 160);
}

#[test]
fn lines_that_are_no_messages_are_refused() {
    let two_mebibytes = vec![b'x'; 2 << 20];
    for (bytes, part) in [
        (&two_mebibytes[..], "longer than 1048576 bytes"),
        (b"hello?\n", "not a message: \"hello?\""),
        (b"{\"v\":99,\"type\":\"go\"}\n", "protocol version 99"),
        (
            b"{\"v\":1,\"type\":\"dance\"}\n",
            "unexpected message \"dance\"",
        ),
        (
            b"{\"v\":1,\"type\":\"prepare\",\"role\":\"generator\",\"colour\":1}\n",
            "colour",
        ),
    ] {
        let mut generator = Generator::start();
        generator.say_bytes(bytes);
        let sentence = generator.refused(2);
        assert!(sentence.contains(part), "{sentence}");
    }
}

#[test]
fn what_a_prepare_may_not_ask() {
    assert_eq!(
        refusal(|p| p.groups[0].target = "203.0.113.9:39053".parse().unwrap()),
        "target 203.0.113.9 is neither private, link-local, 198.18.0.0/15 nor a network wiretrial \
         made; --allow-target 203.0.113.9 if it is yours"
    );
    assert_eq!(
        refusal(|p| {
            p.frame_size = 60;
            p.form = Form::Compact;
        }),
        "frame-size 60 leaves 14 bytes of UDP payload; a counted packet needs 18 (frame-size 64)"
    );
    assert!(refusal(|p| p.groups[0].slices.clear()).contains("no slices"));
    assert!(refusal(|p| p.groups[0].slices.push(slice(1, 1, Class::Counted))).contains("overlaps"));
}

#[test]
fn what_the_host_cannot_do_is_another_code() {
    let taken = sink();
    let (mut asked, _sink) = long(1);
    asked.groups[0].source_ports.first = taken.local_addr().unwrap().port();
    let mut generator = Generator::start();
    generator.say(&ToChild::PrepareGenerator(asked));
    let sentence = generator.refused(3);
    let port = taken.local_addr().unwrap().port();
    assert!(
        sentence.contains(&format!("source port {port} cannot be used")),
        "{sentence}"
    );

    let (mut asked, _sink) = long(1);
    asked.cpus = vec![1_000];
    let mut generator = Generator::start();
    generator.say(&ToChild::PrepareGenerator(asked));
    assert!(generator.refused(3).contains("cannot be kept on cpu 1000"));
}
