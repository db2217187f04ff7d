//! The rows of the table; those of programs of the user's stand in a table of their own.

mod program;

use wiretrial_contract::metric::Metric;
use wiretrial_contract::plan::FailOn;
use wiretrial_contract::units::{Bytes, Family, Nanos};

use program::PROGRAM;

use super::super::margin;
use super::{At, Default, Form, Key, Level, NOT_HERE, Range, SCHEMA};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
const METRICS: [&str; Metric::ALL.len()] = {
    let mut names = [""; Metric::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = Metric::ALL[index].name();
        index += 1;
    }
    names
};

const FAIL_ON: [&str; FailOn::ALL.len()] = {
    let mut names = [""; FailOn::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = FailOn::ALL[index].name();
        index += 1;
    }
    names
};

/// All keys, in the order in which they are documented.
pub const KEYS: &[Key] = &{
    let mut keys = [SHARED[0]; SHARED.len() + PROGRAM.len()];
    let mut index = 0;
    while index < keys.len() {
        keys[index] = if index < SHARED.len() {
            SHARED[index]
        } else {
            PROGRAM[index - SHARED.len()]
        };
        index += 1;
    }
    keys
};

const SHARED: &[Key] = &[
    Key {
        path: "schema",
        form: Form::Count,
        range: Range::Within(SCHEMA, SCHEMA),
        default: Default::Required,
        level: Level::Campaign,
        meaning: "version of this format",
        show: |_| SCHEMA.to_string(),
    },
    Key {
        path: "name",
        form: Form::Name,
        range: Range::Any,
        default: Default::Derived("the file's name without .toml"),
        level: Level::Campaign,
        meaning: "name of the campaign and of its evidence folder",
        show: |at| at.campaign.name.clone(),
    },
    Key {
        path: "kind",
        form: Form::Word(&["paired", "table"]),
        range: Range::Any,
        default: Default::Required,
        level: Level::Campaign,
        meaning: "what the campaign gives: paired compares two arms, with a verdict per case; table sets \
                  any number of arms side by side",
        show: |at| at.campaign.kind.name().into(),
    },
    Key {
        path: "question",
        form: Form::Sentence,
        range: Range::Any,
        default: Default::Fixed(super::QUESTION),
        level: Level::Campaign,
        meaning: "the question in words; it heads every report",
        show: |at| at.campaign.question.clone(),
    },
    Key {
        path: "workload.kind",
        form: Form::Word(&["live", "file", "command"]),
        range: Range::Any,
        default: Default::Fixed("live"),
        level: Level::Campaign,
        meaning: "what a program is given: packets on an interface, a capture file to read, or nothing \
                  but its command line; file without [program] is the built-in receiver's raw-fold",
        show: |at| at.campaign.workload().name().into(),
    },
    Key {
        path: "workload.file",
        form: Form::Path,
        range: Range::Any,
        default: Default::Derived("none; a file workload must have it"),
        level: Level::Case,
        meaning: "capture file to read, seen from the campaign file's folder; from the current folder \
                  with --set",
        show: |at| {
            let input = at.case().passes().and_then(|passes| passes.input.as_ref());
            input.map_or_else(|| NOT_HERE.into(), |input| input.file.clone())
        },
    },
    Key {
        path: "workload.units",
        form: Form::Word(&["all", "equal"]),
        range: Range::Any,
        default: Default::Fixed("all"),
        level: Level::Case,
        meaning: "what every pass must process: all packets of the file, or as many as every other pass \
                  of both arms, for programs that leave some frames out",
        show: |at| at.passes(|passes| passes.units.name().into()),
    },
    Key {
        path: "workload.passes",
        form: Form::Count,
        range: Range::Within(1, 10_000),
        default: Default::Fixed("5"),
        level: Level::Case,
        meaning: "passes per arm and pair, the two arms' in turns; file and command workloads",
        show: |at| at.passes(|passes| passes.passes.to_string()),
    },
    Key {
        path: "workload.limit",
        form: Form::Time,
        range: Range::Within(10 * MS, 3_600 * S),
        default: Default::Fixed("60s"),
        level: Level::Case,
        meaning: "longest pass; a program that takes longer is ended and the trial fails",
        show: |at| at.passes(|passes| Nanos(passes.limit_ns).to_string()),
    },
    Key {
        path: "design.pairs",
        form: Form::Count,
        range: Range::Rule("even and at least 6", 10_000),
        default: Default::Fixed("12"),
        level: Level::Campaign,
        meaning: "pairs of launches per case, the unit of comparison; rounds of all arms in a table",
        show: |at| at.campaign.design.pairs.to_string(),
    },
    Key {
        path: "design.pilot",
        form: Form::Count,
        range: Range::Within(0, 6),
        default: Default::Derived("3; 0 with design.aa"),
        level: Level::Campaign,
        meaning: "pairs per case that run before the plan is sealed, to say what the campaign can see; \
                  never in an estimate, 0 for none",
        show: |at| at.campaign.design.pilot.to_string(),
    },
    Key {
        path: "design.budget",
        form: Form::Time,
        range: Range::Within(S, 7 * 86_400 * S),
        default: Default::Derived("none"),
        level: Level::Campaign,
        meaning: "running time after which no pair is begun; a campaign that it ends is incomplete",
        show: |at| match at.campaign.design.budget_ns {
            Some(ns) => Nanos(ns).to_string(),
            None => "none".into(),
        },
    },
    Key {
        path: "design.margin",
        form: Form::Margin,
        range: Range::Rule(
            "more than 0% and at most 50%, or more than 0 for a difference, or none",
            u64::MAX,
        ),
        default: Default::Fixed("none"),
        level: Level::Campaign,
        meaning: "worthwhile effect and equivalence margin, declared before the data: a percentage, or \
                  a number in its unit for a primary metric that is compared as a difference",
        show: |at| {
            let design = &at.campaign.design;
            margin::text(design.margin, design.primary.scale())
        },
    },
    Key {
        path: "design.primary",
        form: Form::Word(&METRICS),
        range: Range::Rule("a metric that its trials have", u64::MAX),
        default: Default::Derived("the first metric of its trials"),
        level: Level::Campaign,
        meaning: "the metric that decides; elapsed times and rates of live trials would be the generator's \
                  clock",
        show: |at| at.campaign.design.primary.to_string(),
    },
    Key {
        path: "design.arrangement",
        form: Form::Word(&["interleaved", "sequential"]),
        range: Range::Any,
        default: Default::Fixed("interleaved"),
        level: Level::Campaign,
        meaning: "both arms alive and sent to in turns, or one arm after the other; passes are \
                  always interleaved",
        show: |at| at.campaign.design.arrangement.to_string(),
    },
    Key {
        path: "design.aa",
        form: Form::Switch,
        range: Range::Any,
        default: Default::Fixed("false"),
        level: Level::Campaign,
        meaning: "both arms get what the candidate has, to measure the floor",
        show: |at| at.campaign.design.aa.to_string(),
    },
    Key {
        path: "design.reference",
        form: Form::Name,
        range: Range::Any,
        default: Default::Derived("the first arm of a table"),
        level: Level::Campaign,
        meaning: "the arm of a table that every other one is compared with, round by round",
        show: reference,
    },
    Key {
        path: "design.layout-control",
        form: Form::Name,
        range: Range::Any,
        default: Default::Derived("none"),
        level: Level::Campaign,
        meaning: "the arm of a table that is its reference built anew in another layout; where it differs \
                  by more than the margin, no arm is called worthwhile",
        show: |at| {
            let control = at.campaign.design.layout_control.as_ref();
            control.map_or_else(|| NOT_HERE.into(), Clone::clone)
        },
    },
    Key {
        path: "design.foreign-cpu",
        form: Form::Share,
        range: Range::Rule("more than 0% and at most 100%", u64::MAX),
        default: Default::Fixed("2.5%"),
        level: Level::Campaign,
        meaning: "share of one CPU that other programs may use in a trial; above it the pair is voided, \
                  and with more than the default evidence is exploratory",
        show: |at| percent(at.campaign.design.foreign_cpu),
    },
    Key {
        path: "design.replacements",
        form: Form::Count,
        range: Range::Within(0, 10_000),
        default: Default::Derived("one per 6 pairs, at least 1"),
        level: Level::Campaign,
        meaning: "voided pairs replaced per case, at most",
        show: |at| at.campaign.design.replacements.to_string(),
    },
    Key {
        path: "design.rest",
        form: Form::Time,
        range: Range::Within(0, 60 * S),
        default: Default::Fixed("100ms"),
        level: Level::Campaign,
        meaning: "rest between pairs, beside a drawn gap of 0 to 250ms",
        show: |at| Nanos(at.campaign.design.rest_ns).to_string(),
    },
    Key {
        path: "design.fail-on",
        form: Form::Word(&FAIL_ON),
        range: Range::Any,
        default: Default::Fixed(FailOn::RegressedWorthwhile.name()),
        level: Level::Campaign,
        meaning: "when the gate that every campaign has, no_regression, fails: a case shown to be \
                  worse by more than the margin, or worse at all, or never",
        show: |at| at.campaign.design.fail_on.name().into(),
    },
    Key {
        path: "design.require-conclusion",
        form: Form::Switch,
        range: Range::Any,
        default: Default::Fixed("false"),
        level: Level::Campaign,
        meaning: "a case that is not decided ends with exit code 4",
        show: |at| at.campaign.design.require_conclusion.to_string(),
    },
    Key {
        path: "design.require-stable",
        form: Form::Switch,
        range: Range::Any,
        default: Default::Fixed("false"),
        level: Level::Campaign,
        meaning: "a case that launch order or time moved by more than the margin is unstable, which \
                  decides nothing and ends with exit code 4; needs a margin",
        show: |at| at.campaign.design.require_stable.to_string(),
    },
    Key {
        path: "topology.kind",
        form: Form::Word(&["loopback", "wire"]),
        range: Range::Any,
        default: Default::Derived("loopback; wire when a program of the user's captures"),
        level: Level::Campaign,
        meaning: "where trials run: loopback is lo in a private network, wire two private networks \
                  joined by a pair of virtual Ethernet interfaces",
        show: |at| at.topology(|topology| topology.kind.name().into()),
    },
    Key {
        path: "topology.receive-cpu",
        form: Form::Word(&["sender", "separate"]),
        range: Range::Any,
        default: Default::Derived("separate on a wire, sender on loopback"),
        level: Level::Campaign,
        meaning: "which CPU does the kernel's receive work: the sender's inside its send calls, or \
                  another one as behind a network card",
        show: |at| at.topology(|topology| topology.receive_cpu.name().into()),
    },
    Key {
        path: "topology.family",
        form: Form::Word(&["ipv4", "ipv6"]),
        range: Range::Any,
        default: Default::Fixed("ipv4"),
        level: Level::Campaign,
        meaning: "IP version of the datagrams",
        show: |at| {
            at.topology(|topology| match topology.family {
                Family::Ipv4 => "ipv4".into(),
                Family::Ipv6 => "ipv6".into(),
            })
        },
    },
    Key {
        path: "topology.port",
        form: Form::Count,
        range: Range::Within(1_024, 65_533),
        default: Default::Fixed("39053"),
        level: Level::Campaign,
        meaning: "first of the UDP ports in a row: one an arm, then the control port",
        show: |at| at.topology(|topology| topology.port.to_string()),
    },
    Key {
        path: "traffic.rate-pps",
        form: Form::Count,
        range: Range::Rule("10 to 16000000 packets per second", 16_000_000),
        default: Default::Required,
        level: Level::Case,
        meaning: "intended rate over all senders, packets per second",
        show: |at| at.traffic(|traffic| traffic.rate_pps.to_string()),
    },
    Key {
        path: "traffic.frame-size",
        form: Form::Count,
        range: Range::Rule(
            "at most 9018, and 64 or more with ipv4, 84 or more with ipv6",
            9_018,
        ),
        default: Default::Derived("64 with ipv4, 84 with ipv6"),
        level: Level::Case,
        meaning: "bytes of the Ethernet frame with check sequence (RFC 2544); captures see 4 less",
        show: |at| at.traffic(|traffic| traffic.frame_size.to_string()),
    },
    Key {
        path: "traffic.duration",
        form: Form::Time,
        range: Range::Within(MS, 86_400 * S),
        default: Default::Fixed("1s"),
        level: Level::Case,
        meaning: "sending time per arm and trial, and as much for the control port",
        show: |at| at.traffic(|traffic| Nanos(traffic.duration_ns).to_string()),
    },
    Key {
        path: "traffic.warm-up",
        form: Form::Time,
        range: Range::Rule(
            "at least 200ms and 20 times the longer receiver.timeout; any with a program of yours",
            600 * S,
        ),
        default: Default::Derived(
            "200ms, or 20 times the longer receiver.timeout if that is more; 0 with a program of yours",
        ),
        level: Level::Case,
        meaning: "sending time per arm before it, in the same schedule, in no total",
        show: |at| at.traffic(|traffic| Nanos(traffic.warm_up_ns).to_string()),
    },
    Key {
        path: "traffic.slice",
        form: Form::Time,
        range: Range::Rule("at least 5 times the longer receiver.timeout", 600 * S),
        default: Default::Derived("50ms, or 5 times the longer receiver.timeout if that is more"),
        level: Level::Case,
        meaning: "nominal time at one port before the generator changes to another; drawn +-20 %",
        show: |at| at.traffic(|traffic| Nanos(traffic.slice_ns).to_string()),
    },
    Key {
        path: "traffic.flows",
        form: Form::Count,
        range: Range::Rule("a multiple of traffic.senders, at most 1024", 1_024),
        default: Default::Derived("traffic.senders"),
        level: Level::Case,
        meaning: "UDP flows, one source port each",
        show: |at| at.traffic(|traffic| traffic.flows.to_string()),
    },
    Key {
        path: "traffic.senders",
        form: Form::Count,
        range: Range::Within(1, 64),
        default: Default::Derived("one per 250000 packets per second"),
        level: Level::Case,
        meaning: "sender threads that share the rate",
        show: |at| at.traffic(|traffic| traffic.senders.to_string()),
    },
    Key {
        path: "traffic.batch",
        form: Form::Count,
        range: Range::Within(1, 1_024),
        default: Default::Derived("1 up to 100000 packets per second a sender, else 16"),
        level: Level::Case,
        meaning: "datagrams per send call, at most; part of the treatment",
        show: |at| at.traffic(|traffic| traffic.batch.to_string()),
    },
    Key {
        path: "traffic.max-burst",
        form: Form::Count,
        range: Range::Rule("at least traffic.batch", 1_000_000),
        default: Default::Derived("two batches, or 1ms of one sender's packets if that is more"),
        level: Level::Case,
        meaning: "overdue datagrams a sender sends back to back before its schedule shifts",
        show: |at| at.traffic(|traffic| traffic.max_burst.to_string()),
    },
    Key {
        path: "receiver.buffer-size",
        form: Form::Size,
        range: Range::Within(64 << 10, 1 << 30),
        default: Default::Fixed("16MiB"),
        level: Level::Arm,
        meaning: "kernel ring asked for; what was granted is in every row",
        show: |at| at.capture(|capture| Bytes(capture.buffer_bytes.into()).to_string()),
    },
    Key {
        path: "receiver.immediate",
        form: Form::Switch,
        range: Range::Any,
        default: Default::Fixed("false"),
        level: Level::Arm,
        meaning: "each packet is delivered at once instead of by block",
        show: |at| at.capture(|capture| capture.immediate.to_string()),
    },
    Key {
        path: "receiver.timeout",
        form: Form::Time,
        range: Range::Rule("whole milliseconds, 1ms to 10s", 10 * S),
        default: Default::Fixed("10ms"),
        level: Level::Arm,
        meaning: "packet buffer timeout of libpcap; 0 would mean for ever on some systems",
        show: |at| at.capture(|capture| Nanos(capture.timeout_ns).to_string()),
    },
    Key {
        path: "receiver.snaplen",
        form: Form::Count,
        range: Range::Rule("at least headers and stamp, at most 262144", 262_144),
        default: Default::Derived("headers and stamp, exactly"),
        level: Level::Arm,
        meaning: "bytes kept of each frame",
        show: |at| at.capture(|capture| capture.snaplen.to_string()),
    },
    Key {
        path: "receiver.promiscuous",
        form: Form::Switch,
        range: Range::Any,
        default: Default::Fixed("false"),
        level: Level::Arm,
        meaning: "promiscuous mode of the interface",
        show: |at| at.capture(|capture| capture.promiscuous.to_string()),
    },
    Key {
        path: "receiver.engine",
        form: Form::Word(&["direct"]),
        range: Range::Any,
        default: Default::Fixed("direct"),
        level: Level::Arm,
        meaning: "how frames travel: direct counts them on the capture thread",
        show: |at| at.capture(|_| "direct".into()),
    },
    Key {
        path: "receiver.drain-limit",
        form: Form::Time,
        range: Range::Within(10 * MS, 60 * S),
        default: Default::Fixed("2s"),
        level: Level::Arm,
        meaning: "longest time to read what is still queued after the last datagram",
        show: |at| {
            at.receiver().map_or_else(
                || NOT_HERE.into(),
                |receiver| Nanos(receiver.drain_limit_ns).to_string(),
            )
        },
    },
];

fn reference(at: &At<'_>) -> String {
    let reference = at.campaign.design.reference.as_ref();
    reference.map_or_else(|| NOT_HERE.into(), Clone::clone)
}

/// A ratio as it is written, `3%`.
pub(in super::super) fn percent(ratio: f64) -> String {
    // 0.07 * 100 is not 7 in binary; six decimals are more than anyone declares.
    let percent = format!("{:.6}", ratio * 100.0);
    format!("{}%", percent.trim_end_matches('0').trim_end_matches('.'))
}
