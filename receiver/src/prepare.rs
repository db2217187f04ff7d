//! What of a `prepare` this build can do. Parsing has refused unknown fields before.

use wiretrial_contract::control::{MAX_FLOWS, ReceiverPrepare, SourcePorts};
use wiretrial_contract::failure::Failure;

/// Most counted datagrams of one trial: bitmaps of 1 GiB.
pub const MOST_PLANNED: u64 = 1 << 33;

const MILLISECOND: u64 = 1_000_000;

/// Refuses values that cannot be meant.
///
/// # Errors
///
/// A usage failure that names the field and its value.
pub fn check(prepare: &ReceiverPrepare) -> Result<(), Failure> {
    check_target(&prepare.interface, prepare.port, prepare.source_ports)?;
    let ports = prepare.source_ports;
    let planned = prepare
        .planned
        .iter()
        .try_fold(0_u64, |sum, n| sum.checked_add(*n));
    let timeout = prepare.capture.timeout_ns;
    if prepare.planned.len() != usize::from(ports.count) {
        return refuse(format!(
            "planned has {} flows and source_ports {}; they must agree",
            prepare.planned.len(),
            ports.count
        ));
    }
    if planned.is_none_or(|planned| planned > MOST_PLANNED) {
        return refuse(format!(
            "planned is over {MOST_PLANNED} datagrams; send fewer"
        ));
    }
    if timeout == 0 || !timeout.is_multiple_of(MILLISECOND) {
        return refuse(format!(
            "capture.timeout_ns is {timeout}; it must be whole milliseconds, at least one"
        ));
    }
    Ok(())
}

/// Refuses an interface, a port and flows that cannot be meant.
///
/// # Errors
///
/// A usage failure that names the field and its value.
pub fn check_target(interface: &str, port: u16, ports: SourcePorts) -> Result<(), Failure> {
    if interface.is_empty() {
        return refuse("interface is empty; it must name one, such as lo".into());
    }
    if port == 0 {
        return refuse("port is 0; it must be 1 to 65535".into());
    }
    if ports.count == 0 || ports.count > MAX_FLOWS {
        let count = ports.count;
        return refuse(format!(
            "source_ports.count is {count}; it must be 1 to {MAX_FLOWS}"
        ));
    }
    if ports.first == 0 || ports.first.checked_add(ports.count - 1).is_none() {
        return refuse(format!(
            "source_ports.first is {}; with {} flows it must be 1 to {}",
            ports.first,
            ports.count,
            u32::from(u16::MAX) + 1 - u32::from(ports.count)
        ));
    }
    Ok(())
}

/// Refuses a `stop` with other flows than the `prepare` had.
///
/// # Errors
///
/// A usage failure with both numbers.
pub fn check_flows(accepted: &[u64], flows: usize) -> Result<(), Failure> {
    if accepted.len() == flows {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "stop: accepted has {} flows; prepare had {flows}",
        accepted.len()
    )))
}

fn refuse(text: String) -> Result<(), Failure> {
    Err(Failure::usage(format!("prepare: {text}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiretrial_contract::control::{CaptureSettings, Engine, SourcePorts, TrialIdentity};
    use wiretrial_contract::stamp::Form;
    use wiretrial_contract::units::Family;

    fn prepare() -> ReceiverPrepare {
        ReceiverPrepare {
            interface: "lo".into(),
            family: Family::Ipv4,
            port: 39053,
            source_ports: SourcePorts {
                first: 65535,
                count: 1,
            },
            identity: TrialIdentity {
                run_id: 0,
                trial: 0,
                nonce: 0,
            },
            form: Form::Compact,
            planned: vec![0],
            capture: CaptureSettings {
                buffer_bytes: 1 << 20,
                immediate: false,
                timeout_ns: 10_000_000,
                snaplen: 60,
                promiscuous: false,
            },
            engine: Engine::Direct,
            drain_limit_ns: 1,
            quiet_ns: 1,
            deadline_ns: 1,
            cpu: None,
        }
    }

    #[test]
    fn each_refusal_names_its_field() {
        check(&prepare()).unwrap();
        type Change = fn(&mut ReceiverPrepare);
        let changes: [(&str, Change); 8] = [
            ("interface is empty", |p| p.interface.clear()),
            ("port is 0", |p| p.port = 0),
            ("source_ports.count is 0", |p| p.source_ports.count = 0),
            ("source_ports.count is 1025", |p| {
                p.source_ports.count = 1025
            }),
            ("with 2 flows it must be 1 to 65534", |p| {
                p.source_ports.count = 2
            }),
            ("planned has 2 flows", |p| p.planned = vec![1, 1]),
            ("planned is over", |p| p.planned = vec![MOST_PLANNED + 1]),
            ("capture.timeout_ns is 1500000", |p| {
                p.capture.timeout_ns = 1_500_000
            }),
        ];
        for (words, change) in changes {
            let mut prepare = prepare();
            change(&mut prepare);
            let failure = check(&prepare).unwrap_err();
            assert_eq!(failure.code, 2);
            assert!(failure.message.contains(words), "{failure}");
        }
    }
}
