//! Merged settings as the values of a campaign, with the defaults that follow from other keys.

use std::collections::BTreeMap;

use wiretrial_contract::control::{CaptureSettings, Engine, ReceiveCpu, SendMethod, TopologyKind};
use wiretrial_contract::metric::Metric;
use wiretrial_contract::plan::{
    Arrangement, Design, FailOn, Measured, ReceiverSpec, Topology, Traffic,
};
use wiretrial_contract::stamp::{COMPACT_LEN, Form};
use wiretrial_contract::units::{Family, FrameSize};

use super::value::Value;

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

/// Values by path; every key with a fixed default has one.
#[derive(Debug)]
pub(super) struct Settings(pub(super) BTreeMap<&'static str, Value>);

impl Settings {
    pub(super) fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    pub(super) fn fixed_word(&self, path: &str) -> String {
        self.word(path).expect("the key has a word")
    }

    pub(super) fn word(&self, path: &str) -> Option<String> {
        match self.0.get(path)? {
            Value::Word(word) => Some(word.clone()),
            _ => None,
        }
    }

    fn number<T: TryFrom<u64>>(&self, path: &str) -> Option<T> {
        match self.0.get(path)? {
            Value::Number(number) => T::try_from(*number).ok(),
            _ => None,
        }
    }

    fn fixed<T: TryFrom<u64>>(&self, path: &str) -> T {
        self.number(path)
            .expect("the key has a value, and its range fits the type")
    }

    fn share(&self, path: &str) -> Option<f64> {
        match self.0.get(path)? {
            Value::Share(share) => *share,
            _ => None,
        }
    }

    fn switch(&self, path: &str) -> bool {
        matches!(self.0.get(path), Some(Value::Switch(true)))
    }
}

pub(super) fn design(settings: &Settings) -> Design {
    let pairs: u32 = settings.fixed("design.pairs");
    Design {
        pairs,
        margin: settings.share("design.margin"),
        primary: settings
            .fixed_word("design.primary")
            .parse::<Metric>()
            .expect("the table knows all metrics"),
        arrangement: if settings.fixed_word("design.arrangement") == "sequential" {
            Arrangement::Sequential
        } else {
            Arrangement::Interleaved
        },
        aa: settings.switch("design.aa"),
        replacements: settings
            .number("design.replacements")
            .unwrap_or_else(|| (pairs / 6).max(1)),
        rest_ns: settings.fixed("design.rest"),
        // A text without a share, `none`, is refused by the rules.
        foreign_cpu: settings.share("design.foreign-cpu").unwrap_or(0.0),
        fail_on: FailOn::default(),
        require_conclusion: false,
    }
}

pub(super) fn topology(settings: &Settings) -> Topology {
    Topology {
        kind: TopologyKind::Loopback,
        receive_cpu: ReceiveCpu::Sender,
        family: if settings.fixed_word("topology.family") == "ipv6" {
            Family::Ipv6
        } else {
            Family::Ipv4
        },
        port: settings.fixed("topology.port"),
    }
}

/// The traffic of a case, from the settings of all its arms: they share it, but for the longer of
/// their timeouts.
pub(super) fn traffic(arms: &[Settings], family: Family) -> Traffic {
    let settings = &arms[0];
    let timeout_ns: u64 = arms
        .iter()
        .map(|arm| arm.fixed("receiver.timeout"))
        .max()
        .unwrap_or(0);
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
        warm_up_ns: settings
            .number("traffic.warm-up")
            .unwrap_or_else(|| WARM_UP_NS.max(TIMEOUTS_IN_WARM_UP * timeout_ns)),
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

pub(super) fn receiver(settings: &Settings, family: Family, frame_size: u32) -> ReceiverSpec {
    ReceiverSpec {
        program: Measured::BuiltIn {
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
        },
        drain_limit_ns: settings.fixed("receiver.drain-limit"),
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
