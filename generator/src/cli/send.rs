//! `send`: one run by hand.

use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use wiretrial_contract::control::{
    GeneratorPrepare, Group, GroupName, SendMethod, Slice, SourcePorts, TrialIdentity,
};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::report::GeneratorReport;
use wiretrial_contract::stamp::{Class, Form};
use wiretrial_contract::units::{Count, FrameSize, Nanos};
use wiretrial_contract::{clock, exit};

use crate::event::{self, Event};
use crate::limits;
use crate::senders::Senders;

/// Schema of what is printed.
const SCHEMA: &str = "wiretrial.by-hand-generator/1";
/// Longest schedule unless `--for` says more, ns.
const USUAL_LIMIT_NS: u64 = 60_000_000_000;
/// Least time beyond the longest schedule before the run is cut off, ns: room for a shift. A tenth
/// of the longest schedule where that is more.
const GRACE_NS: u64 = 1_000_000_000;
/// Longest wait for a sender that was told to stop, ns.
const STOP_NS: u64 = 1_000_000_000;
/// Highest rate of a sender that sends one datagram a call, packets per second.
const SINGLE_PPS: u64 = 100_000;
/// Datagrams a call above that.
const USUAL_BATCH: u32 = 16;
/// Rate for which one sender is the default, packets per second.
const SENDER_PPS: u64 = 250_000;

/// What to send.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Address and port of the receiver: loopback, private, link-local or 198.18.0.0/15
    #[arg(long, value_name = "ADDR:PORT")]
    target: SocketAddr,
    /// Counted packets to send; this or --for is required
    #[arg(long, value_name = "N", required_unless_present = "duration")]
    packets: Option<Count>,
    /// Time to send for; with --packets the longest schedule allowed [default: 60s]
    #[arg(long = "for", value_name = "TIME")]
    duration: Option<Nanos>,
    /// Packets per second over all senders
    #[arg(long, value_name = "PPS")]
    rate: Count,
    /// Ethernet frame with FCS, bytes
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    frame_size: u32,
    /// Sender threads [default: one per 250k packets per second]
    #[arg(long, value_name = "N")]
    senders: Option<u32>,
    /// UDP flows, a multiple of the senders [default: as many as senders]
    #[arg(long, value_name = "N")]
    flows: Option<u16>,
    /// Datagrams a call [default: 1 up to 100k packets per second a sender, else 16]
    #[arg(long, value_name = "N")]
    batch: Option<u32>,
    /// Source port of the first flow; the others follow
    #[arg(long, value_name = "PORT", default_value_t = 40_000)]
    source_port: u16,
    /// Warm-up in front of the counted packets, at the same rate
    #[arg(long, value_name = "TIME", default_value_t = Nanos(0))]
    warm_up: Nanos,
    /// Run id in the full stamp, hexadecimal
    #[arg(long, value_name = "HEX", default_value = "0", value_parser = hexadecimal)]
    run_id: u64,
    /// Trial number in the full stamp
    #[arg(long, value_name = "N", default_value_t = 0)]
    trial: u32,
    /// Nonce in the compact stamp
    #[arg(long, value_name = "N", default_value_t = 0)]
    nonce: u32,
    /// CPUs to keep the senders on, in turn [default: not kept]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    cpus: Vec<u32>,
    /// An address beyond the local networks that is yours to flood; repeat for more
    #[arg(long, value_name = "ADDR")]
    allow_target: Vec<IpAddr>,
}

/// A run by hand that came to its report.
pub(super) struct Sent {
    /// The report as one JSON document.
    pub(super) json: Value,
    /// What a person should know of it: the rate was not reached.
    pub(super) remark: Option<String>,
    /// Whether every planned packet was accepted.
    pub(super) outcome: Result<(), Failure>,
}

/// Offered load below this share of the intended one is remarked on.
const REACHED: f64 = 0.99;

/// Says so when the generator was the limit.
#[expect(clippy::cast_precision_loss, reason = "a rate printed without digits")]
fn remark(report: &GeneratorReport, rate_pps: u64) -> Option<String> {
    let tally = report.groups.first()?;
    // What the kernel refused was sent in time all the same.
    let sent =
        (tally.sending_ns > 0).then(|| tally.attempted as f64 * 1e9 / tally.sending_ns as f64)?;
    (sent < REACHED * rate_pps as f64).then(|| {
        format!(
            "sent {sent:.0} of {rate_pps} packets per second; the schedule shifted by {} ms: \
             this generator, or what shares its CPU, was the limit",
            report.shifted_ns / 1_000_000
        )
    })
}

/// Sends, and reports even when it was cut short.
pub(super) fn run(arguments: &Arguments) -> Result<Sent, Failure> {
    let prepare = prepare(arguments)?;
    let (events, happened) = mpsc::channel();
    event::watch_signals(events.clone())
        .map_err(|error| Failure::host(format!("cannot watch for signals: {error}")))?;
    let mut senders = Senders::open(prepare.clone(), &events)?;
    let ready = senders.ready();
    let deadline_ns = clock::monotonic_ns() + prepare.deadline_ns;
    senders.go();
    let cut = wait(&mut senders, &happened, deadline_ns)?;
    let report = senders.report();
    let outcome = match cut {
        Some(failure) if failure.code == exit::INTERRUPTED => Err(failure),
        cut => verdict(&report, cut),
    };
    let value = |value: serde_json::Result<Value>| {
        value.map_err(|error| Failure::host(format!("cannot write the report: {error}")))
    };
    Ok(Sent {
        remark: remark(&report, prepare.rate_pps),
        json: json!({
            "schema": SCHEMA,
            "prepare": value(serde_json::to_value(&prepare))?,
            "ready": value(serde_json::to_value(&ready))?,
            "report": value(serde_json::to_value(&report))?,
        }),
        outcome,
    })
}

/// Waits for all senders; says why they were cut short, if they were.
fn wait(
    senders: &mut Senders,
    happened: &Receiver<Event>,
    deadline_ns: u64,
) -> Result<Option<Failure>, Failure> {
    let mut cut = None;
    loop {
        let left_ns = match cut {
            None => deadline_ns.saturating_sub(clock::monotonic_ns()),
            Some(_) => STOP_NS,
        };
        let event = happened.recv_timeout(Duration::from_nanos(left_ns));
        match event {
            Ok(Event::Finished { sender, tally }) => {
                if senders.finished(sender, tally)? {
                    return Ok(cut);
                }
                continue;
            }
            Ok(_) => cut = Some(Failure::interrupted()),
            Err(RecvTimeoutError::Timeout) if cut.is_none() => {
                cut = Some(Failure::evidence("the time was up"));
            }
            Err(_) => {
                return Err(Failure::evidence(
                    "a sender does not stop: its send call hangs",
                ));
            }
        }
        senders.stop();
    }
}

fn verdict(report: &GeneratorReport, cut: Option<Failure>) -> Result<(), Failure> {
    let (planned, accepted) = report
        .groups
        .iter()
        .fold((0, 0), |(planned, accepted), group| {
            (planned + group.planned, accepted + group.accepted)
        });
    if accepted == planned {
        return Ok(());
    }
    let refused = report.groups.iter().flat_map(|group| &group.errors);
    let mut why: Vec<String> = refused.map(|(name, n)| format!("{n} {name}")).collect();
    why.extend(cut.map(|failure| failure.message));
    Err(Failure::evidence(format!(
        "{accepted} of {planned} planned packets were accepted ({})",
        why.join(", ")
    )))
}

fn prepare(arguments: &Arguments) -> Result<GeneratorPrepare, Failure> {
    let rate_pps = arguments.rate.0;
    if !(1..=limits::MAX_RATE_PPS).contains(&rate_pps) {
        return Err(Failure::usage(format!(
            "--rate {rate_pps} is not within 1..={}",
            limits::MAX_RATE_PPS
        )));
    }
    let at_rate = |Nanos(ns)| {
        let packets = u128::from(ns) * u128::from(rate_pps) / 1_000_000_000;
        u64::try_from(packets).unwrap_or(u64::MAX)
    };
    let packets = match (arguments.packets, arguments.duration) {
        (Some(Count(packets)), _) => packets,
        (None, Some(time)) => at_rate(time),
        (None, None) => return Err(Failure::usage("give --packets or --for")),
    };
    let warm_up = at_rate(arguments.warm_up);
    let limit_ns = arguments.duration.map_or(USUAL_LIMIT_NS, |time| time.0);
    let length_ns = length_ns(packets, rate_pps);
    if length_ns > limit_ns {
        return Err(Failure::usage(format!(
            "{packets} packets at {rate_pps} a second take {} ms; {} is allowed, --for TIME allows \
             another time",
            length_ns.div_ceil(1_000_000),
            Nanos(limit_ns)
        )));
    }
    let senders = arguments
        .senders
        .unwrap_or_else(|| default_senders(rate_pps));
    let per_sender = rate_pps / u64::from(senders.max(1));
    let batch = arguments.batch.unwrap_or(if per_sender > SINGLE_PPS {
        USUAL_BATCH
    } else {
        1
    });
    let flows = match arguments.flows {
        Some(flows) => flows,
        None => u16::try_from(senders).unwrap_or(u16::MAX),
    };
    let slice = |class, packets, start_ns| Slice {
        start_ns,
        packets,
        class,
    };
    let mut slices = vec![
        slice(Class::WarmUp, warm_up, 0),
        slice(Class::Counted, packets, self::length_ns(warm_up, rate_pps)),
    ];
    slices.retain(|slice| slice.class == Class::Counted || slice.packets > 0);
    let group = Group {
        name: GroupName::Arm("by-hand".into()),
        target: arguments.target,
        source_ports: SourcePorts {
            first: arguments.source_port,
            count: flows,
        },
        identity: TrialIdentity {
            run_id: arguments.run_id,
            trial: arguments.trial,
            nonce: arguments.nonce,
        },
        slices,
    };
    let payload = FrameSize(arguments.frame_size).payload(limits::family(&group));
    Ok(GeneratorPrepare {
        receive_thread: None,
        rate_pps,
        frame_size: arguments.frame_size,
        // Too small a frame is refused with the others' sentence.
        form: payload.and_then(Form::for_payload).unwrap_or(Form::Compact),
        method: SendMethod::default(),
        batch,
        senders,
        max_burst: max_burst(batch, per_sender),
        deadline_ns: arguments
            .warm_up
            .0
            .saturating_add(limit_ns)
            .saturating_add(GRACE_NS.max(limit_ns / 10)),
        cpus: arguments.cpus.clone(),
        allowed_targets: arguments.allow_target.clone(),
        groups: vec![group],
    })
}

/// Two batches or 1 ms of a sender's packets, whichever is more.
fn max_burst(batch: u32, per_sender_pps: u64) -> u32 {
    let millisecond = u32::try_from(per_sender_pps / 1_000).unwrap_or(u32::MAX);
    batch.saturating_mul(2).max(millisecond)
}

fn default_senders(rate_pps: u64) -> u32 {
    u32::try_from(rate_pps.div_ceil(SENDER_PPS))
        .unwrap_or(limits::MAX_SENDERS)
        .clamp(1, limits::MAX_SENDERS)
}

fn length_ns(packets: u64, rate_pps: u64) -> u64 {
    let ns = u128::from(packets) * 1_000_000_000 / u128::from(rate_pps);
    u64::try_from(ns).unwrap_or(u64::MAX)
}

fn hexadecimal(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16)
        .map_err(|_| format!("\"{text}\" is not up to 16 hexadecimal digits"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn asked(line: &str) -> Result<GeneratorPrepare, Failure> {
        let line = format!("send --target 127.0.0.1:39053 {line}");
        prepare(&Line::parse_from(line.split_whitespace()).arguments)
    }

    #[test]
    fn the_example_and_its_defaults() {
        let prepare = asked("--packets 15000000 --rate 250k --frame-size 64 --senders 4").unwrap();
        assert_eq!(
            (prepare.senders, prepare.batch, prepare.max_burst),
            (4, 1, 62)
        );
        assert_eq!(prepare.form, Form::Compact);
        assert_eq!(prepare.deadline_ns, 66_000_000_000);
        let group = &prepare.groups[0];
        assert_eq!(
            (group.source_ports.first, group.source_ports.count),
            (40_000, 4)
        );
        assert_eq!(group.slices.len(), 1);
        assert_eq!(limits::check(&prepare), Ok(()));
    }

    #[test]
    fn defaults_follow_the_rate_and_the_frame() {
        let prepare = asked("--for 2s --rate 600k --frame-size 94 --warm-up 100ms").unwrap();
        assert_eq!(
            (prepare.senders, prepare.batch, prepare.max_burst),
            (3, 16, 200)
        );
        assert_eq!(prepare.form, Form::Full);
        let slices = &prepare.groups[0].slices;
        assert_eq!(
            (slices[0].class, slices[0].packets),
            (Class::WarmUp, 60_000)
        );
        assert_eq!(
            (slices[1].start_ns, slices[1].packets),
            (100_000_000, 1_200_000)
        );
    }

    #[test]
    fn a_minute_is_the_most_unless_for_says_more() {
        assert!(asked("--packets 60000 --rate 1k").is_ok());
        let failure = asked("--packets 60001 --rate 1k").unwrap_err();
        assert_eq!(
            failure.message,
            "60001 packets at 1000 a second take 60001 ms; 60s is allowed, --for TIME allows \
             another time"
        );
        assert!(asked("--packets 60001 --rate 1k --for 61s").is_ok());
        assert!(asked("--packets 60001 --rate 1k --for 59s").is_err());
        assert!(asked("--rate 1k --for 2m").is_ok());
        assert!(asked("--packets 1 --rate 0").is_err());
    }

    #[test]
    fn identities_are_read_as_they_are_printed() {
        let prepare = asked("--packets 1 --rate 1 --run-id 00ff --trial 3 --nonce 4").unwrap();
        let identity = prepare.groups[0].identity;
        assert_eq!(
            (identity.run_id, identity.trial, identity.nonce),
            (255, 3, 4)
        );
        assert!(hexadecimal("xyz").is_err());
    }
}
