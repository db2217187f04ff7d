//! Merged settings as the values of a campaign, with the defaults that follow from other keys.

use wiretrial_contract::control::{CaptureSettings, Engine, ReceiveCpu, SendMethod, TopologyKind};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::metric::Metric;
use wiretrial_contract::plan::{
    Arrangement, Design, FailOn, Input, Kind, Live, Measured, PassProgram, Passes, ReceiverSpec,
    Topology, Traffic, UnitsRule, Workload,
};
use wiretrial_contract::program::ProgramSpec;
use wiretrial_contract::stamp::{COMPACT_LEN, Form};
use wiretrial_contract::units::{Family, FrameSize};

use super::settings::Settings;

const MARGIN: &str = "design.margin";
/// One sender's share of the rate, packets per second, by default at most.
const RATE_PER_SENDER: u64 = 250_000;
/// Up to this rate a sender sends one datagram a call by default, packets per second.
const UNBATCHED: u64 = 100_000;
/// Datagrams a call above it.
const BATCH: u32 = 16;
/// The default slice, ns.
const SLICE_NS: u64 = 50_000_000;

/// Timeouts in a warm-up, at least: by then the ring has turned over in its steady rhythm.
pub(super) const TIMEOUTS_IN_WARM_UP: u64 = 20;
/// Timeouts in a slice, at least: so few blocks of the ring hold packets of two slices.
pub(super) const TIMEOUTS_IN_SLICE: u64 = 5;
/// The shortest warm-up, ns.
pub(super) const WARM_UP_NS: u64 = 200_000_000;

/// Pairs a case before the seal, by default.
const PILOT_PAIRS: u32 = 3;

/// The packets of the short input, which shows what starting costs.
const SHORT_UNITS: u64 = 100;

pub(super) fn workload(settings: &Settings) -> Workload {
    match settings.fixed_word("workload.kind").as_str() {
        "file" => Workload::File,
        "command" => Workload::Command,
        _ => Workload::Live,
    }
}

pub(super) fn kind(settings: &Settings) -> Kind {
    match settings.word("kind").as_deref() {
        Some("table") => Kind::Table,
        _ => Kind::Paired,
    }
}

/// Why a key means nothing in a workload; `None` when it means something.
pub(super) fn not_here(path: &str, workload: Workload) -> Option<&'static str> {
    let sending = ["traffic.", "receiver.", "topology."];
    match (workload, path) {
        (Workload::Live | Workload::Command, "workload.file") => Some("reads no file"),
        (Workload::Command, "workload.units") => Some("reads no file"),
        (Workload::Live, "workload.passes" | "workload.limit" | "workload.units") => {
            Some("has no passes")
        }
        (Workload::File | Workload::Command, path)
            if sending.iter().any(|table| path.starts_with(table)) =>
        {
            Some("sends nothing")
        }
        _ => None,
    }
}

/// `arms` are the campaign's, in their order.
///
/// # Errors
///
/// A margin of another scale than the primary metric's.
pub(super) fn design(
    settings: &Settings,
    kind: Kind,
    arms: &[String],
    workload: Workload,
    receive_cpu: ReceiveCpu,
) -> Result<Design, Failure> {
    let primary = match settings.word("design.primary") {
        Some(name) => name.parse().expect("the table knows all metrics"),
        None => Metric::of(workload, receive_cpu)[0],
    };
    let margin = settings
        .margin(MARGIN)
        .of(primary, primary.scale())
        .map_err(|sentence| settings.refuse(MARGIN, &sentence))?;
    let pairs: u32 = settings.fixed("design.pairs");
    let aa = settings.switch("design.aa");
    Ok(Design {
        pairs,
        margin,
        primary,
        arrangement: if settings.fixed_word("design.arrangement") == "sequential" {
            Arrangement::Sequential
        } else {
            Arrangement::Interleaved
        },
        aa,
        reference: match kind {
            Kind::Paired => None,
            Kind::Table => {
                let named = settings.word("design.reference");
                named.or_else(|| arms.first().cloned())
            }
        },
        layout_control: match kind {
            Kind::Paired => None,
            Kind::Table => settings.word("design.layout-control"),
        },
        replacements: settings
            .number("design.replacements")
            .unwrap_or_else(|| replacements(pairs)),
        rest_ns: settings.fixed("design.rest"),
        // A text without a share, `none`, is refused by the rules.
        foreign_cpu: settings.share("design.foreign-cpu").unwrap_or(0.0),
        fail_on: {
            let word = settings.fixed_word("design.fail-on");
            let named = FailOn::ALL.into_iter().find(|all| all.name() == word);
            named.expect("the table knows all of them")
        },
        require_conclusion: settings.switch("design.require-conclusion"),
        require_stable: settings.switch("design.require-stable"),
        // Equal arms are there to show the noise themselves; a table decides nothing.
        pilot: settings
            .number("design.pilot")
            .unwrap_or(if aa || kind == Kind::Table {
                0
            } else {
                PILOT_PAIRS
            }),
        budget_ns: settings.number("design.budget"),
        time_ns: None,
    })
}

/// Voided pairs replaced per case where nothing is declared.
pub(crate) fn replacements(pairs: u32) -> u32 {
    (pairs / 6).max(1)
}

/// `captures`: whether a program of the user's does; on lo its counters would double.
pub(super) fn topology(settings: &Settings, captures: bool) -> Topology {
    let kind = match settings.word("topology.kind").as_deref() {
        Some("wire") => TopologyKind::Wire,
        None if captures => TopologyKind::Wire,
        _ => TopologyKind::Loopback,
    };
    let receive_cpu = match settings.word("topology.receive-cpu").as_deref() {
        Some("separate") => ReceiveCpu::Separate,
        None if kind == TopologyKind::Wire => ReceiveCpu::Separate,
        _ => ReceiveCpu::Sender,
    };
    Topology {
        kind,
        receive_cpu,
        family: if settings.fixed_word("topology.family") == "ipv6" {
            Family::Ipv6
        } else {
            Family::Ipv4
        },
        port: settings.fixed("topology.port"),
    }
}

/// What a live case is made of; `programs` are the arms' own, if the user's are measured.
pub(super) fn live(arms: &[Settings], programs: Vec<Option<ProgramSpec>>, family: Family) -> Live {
    // The timeout of a program of the user's is not known.
    let timeouts = arms
        .iter()
        .zip(&programs)
        .filter(|(_, program)| program.is_none())
        .map(|(arm, _)| arm.fixed("receiver.timeout"));
    let timeout_ns = timeouts.max().unwrap_or(0);
    // Its counts cover its whole life: what is lost of a warm-up could not be told from what counts.
    let warm_up_ns = if programs.iter().any(Option::is_some) {
        0
    } else {
        WARM_UP_NS.max(TIMEOUTS_IN_WARM_UP * timeout_ns)
    };
    let traffic = traffic(&arms[0], timeout_ns, warm_up_ns, family);
    let receivers = arms
        .iter()
        .zip(programs)
        .map(|(arm, program)| ReceiverSpec {
            program: program.map_or_else(
                || built_in(arm, family, traffic.frame_size),
                Measured::Outside,
            ),
            drain_limit_ns: arm.fixed("receiver.drain-limit"),
        });
    Live {
        receivers: receivers.collect(),
        traffic,
    }
}

/// What a case of passes is made of; its file is not read.
pub(super) fn passes(
    arms: &[Settings],
    programs: Vec<Option<ProgramSpec>>,
    workload: Workload,
) -> Passes {
    let settings = &arms[0];
    let written = settings.word("workload.file");
    let written = written.filter(|_| workload == Workload::File);
    Passes {
        input: written.map(|written| Input {
            file: if written.starts_with('/') {
                written.rsplit('/').next().unwrap_or_default().into()
            } else {
                written
            },
            sha256: String::new(),
            units: 0,
            short_units: SHORT_UNITS,
            short_sha256: String::new(),
        }),
        units: if settings.fixed_word("workload.units") == "equal" {
            UnitsRule::Equal
        } else {
            UnitsRule::All
        },
        passes: settings.fixed("workload.passes"),
        limit_ns: settings.fixed("workload.limit"),
        programs: programs
            .into_iter()
            .map(|program| program.map_or(PassProgram::RawFold, PassProgram::Outside))
            .collect(),
    }
}

/// The traffic of a case; `timeout_ns` is the longer one of its arms' captures, `warm_up_ns` what it
/// has where nothing is set.
fn traffic(settings: &Settings, timeout_ns: u64, warm_up_ns: u64, family: Family) -> Traffic {
    let rate_pps: u64 = settings.fixed("traffic.rate-pps");
    let senders: u32 = settings.number("traffic.senders").unwrap_or_else(|| {
        u32::try_from(rate_pps.div_ceil(RATE_PER_SENDER).max(1)).expect("the table limits the rate")
    });
    let rate_per_sender = rate_pps.div_ceil(senders.into());
    let batch = settings
        .number("traffic.batch")
        .unwrap_or(if rate_per_sender <= UNBATCHED {
            1
        } else {
            BATCH
        });
    Traffic {
        rate_pps,
        frame_size: settings
            .number("traffic.frame-size")
            .unwrap_or_else(|| smallest_frame(family)),
        duration_ns: settings.fixed("traffic.duration"),
        warm_up_ns: settings.number("traffic.warm-up").unwrap_or(warm_up_ns),
        slice_ns: settings
            .number("traffic.slice")
            .unwrap_or_else(|| SLICE_NS.max(TIMEOUTS_IN_SLICE * timeout_ns)),
        flows: settings
            .number("traffic.flows")
            .unwrap_or_else(|| u16::try_from(senders).expect("the table limits the senders")),
        senders,
        method: SendMethod::Sendmmsg,
        batch,
        max_burst: settings.number("traffic.max-burst").unwrap_or_else(|| {
            let millisecond = u32::try_from(rate_per_sender.div_ceil(1_000));
            (2 * batch).max(millisecond.expect("the table limits the rate"))
        }),
    }
}

fn built_in(settings: &Settings, family: Family, frame_size: u32) -> Measured {
    Measured::BuiltIn {
        capture: CaptureSettings {
            buffer_bytes: settings.fixed("receiver.buffer-size"),
            immediate: settings.switch("receiver.immediate"),
            timeout_ns: settings.fixed("receiver.timeout"),
            snaplen: settings
                .number("receiver.snaplen")
                .unwrap_or_else(|| stamped(family, frame_size)),
            promiscuous: settings.switch("receiver.promiscuous"),
        },
        engine: Engine::Direct,
    }
}

/// Bytes from the start of a frame to the end of its stamp: what a receiver must keep.
pub(super) fn stamped(family: Family, frame_size: u32) -> u32 {
    let stamp = FrameSize(frame_size)
        .payload(family)
        .and_then(Form::for_payload)
        .map_or(COMPACT_LEN, Form::len);
    family.headers() + u32::try_from(stamp).expect("a stamp is short")
}

/// The smallest frame that holds a stamp, bytes with its check sequence.
pub(super) fn smallest_frame(family: Family) -> u32 {
    let stamp = u32::try_from(COMPACT_LEN).expect("a stamp is short");
    wiretrial_contract::units::FCS + family.headers() + stamp
}
