//! The hard caps of the generator, and the check of a `prepare` against them.
//!
//! They hold whoever asks. A value over its cap is an error that names both.

use wiretrial_contract::control::{GeneratorPrepare, Group, GroupName, MAX_FLOWS};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::stamp::{COMPACT_LEN, Class, FULL_LEN, Form};
use wiretrial_contract::units::{FCS, Family, FrameSize, Nanos};

use crate::target;

/// Most datagrams one `prepare` may plan, warm-up included.
pub const MAX_PACKETS: u64 = 10_000_000_000;
/// Most sender threads.
pub const MAX_SENDERS: u32 = 64;
/// Most groups.
pub const MAX_GROUPS: usize = 16;
/// Highest rate inside a slice over all senders, packets per second.
pub const MAX_RATE_PPS: u64 = 20_000_000;
/// Longest schedule, from `go` to the end of the last slice, ns: 24 h.
pub const MAX_DURATION_NS: u64 = 24 * 3_600 * 1_000_000_000;
/// Latest deadline, ns from `prepare`: twice the longest schedule and a minute.
pub const MAX_DEADLINE_NS: u64 = 2 * MAX_DURATION_NS + 60 * 1_000_000_000;
/// Smallest frame, bytes with FCS: Ethernet's minimum (IEEE 802.3).
pub const MIN_FRAME_SIZE: u32 = 64;
/// Largest frame, bytes with FCS: a jumbo frame with an MTU of 9000. Loopback could take more; one
/// cap for all keeps what was measured there repeatable on a wire.
pub const MAX_FRAME_SIZE: u32 = 9018;
/// Most datagrams a send call takes: the kernel's own limit (UIO_MAXIOV, sendmmsg(2)).
pub const MAX_BATCH: u32 = 1024;

/// Checks everything of `prepare` that needs no socket. The order of slices is
/// [`crate::schedule::Schedule`]'s to check.
///
/// # Errors
///
/// The first value that is wrong, over its cap or under its minimum, or a target that is not
/// allowed.
pub fn check(prepare: &GeneratorPrepare) -> Result<(), Failure> {
    between("senders", prepare.senders, 1, MAX_SENDERS)?;
    between("batch", prepare.batch, 1, MAX_BATCH)?;
    between("rate-pps", prepare.rate_pps, 1, MAX_RATE_PPS)?;
    between("deadline", prepare.deadline_ns, 1, MAX_DEADLINE_NS)?;
    if prepare.max_burst < prepare.batch {
        return Err(Failure::usage(format!(
            "max-burst {} is less than one batch of {}; two batches are the usual least",
            prepare.max_burst, prepare.batch
        )));
    }
    between("number of groups", prepare.groups.len(), 1, MAX_GROUPS)?;
    for group in &prepare.groups {
        check_group(prepare, group)?;
    }
    for (at, group) in prepare.groups.iter().enumerate() {
        if let Some(other) = prepare.groups[..at].iter().find(|o| overlap(o, group)) {
            return Err(Failure::usage(format!(
                "{} and {} share source ports; give each group its own",
                name(&other.name),
                name(&group.name)
            )));
        }
    }
    let packets: u128 = prepare
        .groups
        .iter()
        .flat_map(|group| &group.slices)
        .map(|slice| u128::from(slice.packets))
        .sum();
    if packets > u128::from(MAX_PACKETS) {
        return Err(over("number of packets", packets, MAX_PACKETS));
    }
    Ok(())
}

/// UDP payload of a frame of `prepare`, bytes.
///
/// # Errors
///
/// A frame over its cap, under Ethernet's minimum, or too small for the stamp.
pub fn payload(prepare: &GeneratorPrepare, family: Family) -> Result<u32, Failure> {
    let size = prepare.frame_size;
    if size > MAX_FRAME_SIZE {
        return Err(over("frame-size", size, MAX_FRAME_SIZE));
    }
    let left = FrameSize(size).payload(family).unwrap_or(0);
    let (what, wanted) = match prepare.form {
        Form::Compact => ("a counted packet", COMPACT_LEN),
        Form::Full => ("the full stamp", FULL_LEN),
    };
    if (left as usize) < wanted {
        return Err(Failure::usage(format!(
            "frame-size {size} leaves {left} bytes of UDP payload; {what} needs {wanted} \
             (frame-size {})",
            wanted + (family.headers() + FCS) as usize
        )));
    }
    if size < MIN_FRAME_SIZE {
        return Err(Failure::usage(format!(
            "frame-size {size} is under Ethernet's minimum of {MIN_FRAME_SIZE}"
        )));
    }
    Ok(left)
}

/// IP version of a group's datagrams.
#[must_use]
pub fn family(group: &Group) -> Family {
    if group.target.is_ipv4() {
        Family::Ipv4
    } else {
        Family::Ipv6
    }
}

/// A group's name as sentences have it.
#[must_use]
pub fn name(name: &GroupName) -> String {
    match name {
        GroupName::Control => "group control".into(),
        GroupName::Arm(arm) => format!("group {arm}"),
    }
}

fn check_group(prepare: &GeneratorPrepare, group: &Group) -> Result<(), Failure> {
    target::check(group.target.ip(), &prepare.allowed_targets)?;
    if group.target.port() == 0 {
        return Err(Failure::usage(format!(
            "target {} has port 0; name the receiver's port",
            group.target
        )));
    }
    if family(group) != family(&prepare.groups[0]) {
        return Err(Failure::usage(format!(
            "target {} is of another IP version than {}; one prepare has one",
            group.target, prepare.groups[0].target
        )));
    }
    payload(prepare, family(group))?;
    let ports = group.source_ports;
    between("number of flows", ports.count, 1, MAX_FLOWS)?;
    if !u32::from(ports.count).is_multiple_of(prepare.senders) {
        return Err(Failure::usage(format!(
            "{}: {} flows are not a multiple of {} senders",
            name(&group.name),
            ports.count,
            prepare.senders
        )));
    }
    if ports.first == 0 || ports.first.checked_add(ports.count - 1).is_none() {
        return Err(Failure::usage(format!(
            "{}: {} source ports from {} leave the range 1..=65535",
            name(&group.name),
            ports.count,
            ports.first
        )));
    }
    if group.slices.is_empty() {
        return Err(Failure::usage(format!(
            "{} has no slices; leave it out or give it one",
            name(&group.name)
        )));
    }
    for (at, slice) in group.slices.iter().enumerate() {
        if slice.packets == 0 || slice.class == Class::Probe {
            return Err(Failure::usage(format!(
                "{}: slice {at} must have packets, counted or warm-up",
                name(&group.name)
            )));
        }
    }
    Ok(())
}

fn overlap(one: &Group, other: &Group) -> bool {
    let range = |group: &Group| {
        let first = u32::from(group.source_ports.first);
        first..first + u32::from(group.source_ports.count)
    };
    let (one, other) = (range(one), range(other));
    one.start < other.end && other.start < one.end
}

fn between<T: PartialOrd + std::fmt::Display + Copy>(
    what: &str,
    value: T,
    least: T,
    most: T,
) -> Result<(), Failure> {
    if value > most {
        return Err(over(what, value, most));
    }
    if value < least {
        return Err(Failure::usage(format!(
            "{what} is {value}; the least is {least}"
        )));
    }
    Ok(())
}

fn over(what: &str, value: impl std::fmt::Display, cap: impl std::fmt::Display) -> Failure {
    Failure::usage(format!(
        "{what} {value} is over the generator's cap of {cap}"
    ))
}

/// The failure of a schedule that is `length_ns` long.
#[must_use]
pub fn too_long(length_ns: u128) -> Failure {
    over(
        "schedule of",
        format!("{length_ns}ns"),
        Nanos(MAX_DURATION_NS),
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use wiretrial_contract::control::{SendMethod, Slice, SourcePorts, TrialIdentity};

    /// One group, one counted slice of 100 datagrams, 1,000 a second.
    pub(crate) fn prepare() -> GeneratorPrepare {
        GeneratorPrepare {
            receive_thread: None,
            groups: vec![group("a", 40_000, 0)],
            rate_pps: 1_000,
            frame_size: 64,
            form: Form::Compact,
            method: SendMethod::Sendmmsg,
            batch: 1,
            senders: 1,
            max_burst: 2,
            deadline_ns: 1_000_000_000,
            cpus: Vec::new(),
            allowed_targets: Vec::new(),
        }
    }

    pub(crate) fn group(arm: &str, first: u16, start_ns: u64) -> Group {
        Group {
            name: GroupName::Arm(arm.into()),
            target: "127.0.0.1:39053".parse().unwrap(),
            source_ports: SourcePorts { first, count: 4 },
            identity: TrialIdentity {
                run_id: 1,
                trial: 2,
                nonce: 3,
            },
            slices: vec![Slice {
                start_ns,
                packets: 100,
                class: Class::Counted,
            }],
        }
    }

    fn failure(change: impl FnOnce(&mut GeneratorPrepare)) -> String {
        let mut changed = prepare();
        change(&mut changed);
        let failure = check(&changed).unwrap_err();
        assert_eq!(failure.code, 2);
        failure.message
    }

    #[test]
    fn a_good_prepare_passes() {
        assert_eq!(check(&prepare()), Ok(()));
    }

    #[test]
    fn small_frames_say_what_they_leave() {
        assert_eq!(
            failure(|p| p.frame_size = 60),
            "frame-size 60 leaves 14 bytes of UDP payload; a counted packet needs 18 \
             (frame-size 64)"
        );
        assert_eq!(
            failure(|p| p.form = Form::Full),
            "frame-size 64 leaves 18 bytes of UDP payload; the full stamp needs 48 (frame-size 94)"
        );
        assert_eq!(
            failure(|p| p.groups[0].target = "[::1]:39053".parse().unwrap()),
            "frame-size 64 leaves 0 bytes of UDP payload; a counted packet needs 18 \
             (frame-size 84)"
        );
    }

    #[test]
    fn every_cap_names_value_and_cap() {
        assert_eq!(
            failure(|p| p.senders = 65),
            "senders 65 is over the generator's cap of 64"
        );
        for (message, value, cap) in [
            (failure(|p| p.batch = 1025), "1025", "1024"),
            (failure(|p| p.rate_pps = 20_000_001), "20000001", "20000000"),
            (failure(|p| p.frame_size = 9019), "9019", "9018"),
            (
                failure(|p| p.groups[0].source_ports.count = 1025),
                "1025",
                "1024",
            ),
            (
                failure(|p| p.groups[0].slices[0].packets = MAX_PACKETS + 1),
                "10000000001",
                "10000000000",
            ),
            (
                failure(|p| p.deadline_ns = u64::MAX),
                "18446744073709551615",
                "172860000000000",
            ),
            (
                failure(|p| p.groups = (0..17).map(|g| group("g", 1_000 + 4 * g, 0)).collect()),
                "17",
                "16",
            ),
        ] {
            assert!(
                message.contains(value) && message.contains(cap),
                "{message}"
            );
        }
        assert!(too_long(86_400_000_000_001).message.contains("86400s"));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert_eq!(failure(|p| p.rate_pps = 0), "rate-pps is 0; the least is 1");
        for (message, part) in [
            (failure(|p| p.senders = 0), "senders is 0"),
            (failure(|p| p.batch = 0), "batch is 0"),
            (failure(|p| p.groups.clear()), "number of groups is 0"),
            (failure(|p| p.deadline_ns = 0), "deadline is 0"),
            (
                failure(|p| p.groups[0].slices.clear()),
                "group a has no slices",
            ),
            (
                failure(|p| p.groups[0].slices[0].packets = 0),
                "slice 0 must have packets",
            ),
            (
                failure(|p| p.groups[0].slices[0].class = Class::Probe),
                "counted or warm-up",
            ),
            (
                failure(|p| p.senders = 3),
                "4 flows are not a multiple of 3 senders",
            ),
            (failure(|p| p.max_burst = 0), "max-burst 0 is less"),
            (
                failure(|p| p.groups[0].source_ports.first = 65_533),
                "leave the range",
            ),
            (
                failure(|p| p.groups.push(group("b", 40_003, 0))),
                "group a and group b share source ports",
            ),
            (
                failure(|p| p.groups[0].target.set_port(0)),
                "127.0.0.1:0 has port 0",
            ),
            (
                failure(|p| p.groups[0].target = "192.0.2.1:5".parse().unwrap()),
                "--allow-target 192.0.2.1",
            ),
            (
                failure(|p| {
                    p.frame_size = 128;
                    p.groups.push(Group {
                        target: "[::1]:5".parse().unwrap(),
                        ..group("b", 50_000, 0)
                    });
                }),
                "another IP version",
            ),
        ] {
            assert!(message.contains(part), "{message}");
        }
    }
}
