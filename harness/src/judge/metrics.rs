//! The value of a metric in one trial, from its row alone. A value that cannot be had is `None`.

use wiretrial_contract::metric::Metric;
use wiretrial_contract::record::{Flag, TrialRecord};
use wiretrial_contract::report::GroupTally;

/// The value of `metric` in the trial of `row`, in the metric's unit.
#[must_use]
pub fn value(metric: Metric, row: &TrialRecord) -> Option<f64> {
    match metric {
        Metric::ProcessCpuNsPerPacket => process(row),
        Metric::SendCallNsPerPacket => send_call(row.tally()?),
        Metric::CaptureKernelNsPerPacket => kernel(row),
        Metric::CaptureCostNsPerPacket => Some(process(row)? + beside(row)?),
        Metric::PeakRssBytes => row.receiver()?.peak_rss_bytes.map(float),
        Metric::ReceiveCpuNsPerPacket => receive_cpu(row),
        Metric::LatencyP50Ns => Some(float(row.receiver()?.latency?.p50_ns)),
        Metric::LatencyP99Ns => Some(float(row.receiver()?.latency?.p99_ns)),
        Metric::HeapBytesPerPacket => {
            let report = row.receiver()?;
            per(float(report.heap_bytes?), report.copies.unique)
        }
        Metric::InstructionsPerPacket
        | Metric::ElapsedNsPerUnit
        | Metric::UnitsPerSecond
        | Metric::MaxSustainedPps => None,
    }
}

fn process(row: &TrialRecord) -> Option<f64> {
    let report = row.receiver()?;
    per(float(report.process_cpu_ns?), report.copies.unique)
}

/// What a capture costs outside its process: the time of the CPU that receives, where that was read;
/// where the sender receives, what its send calls took longer. `None` where another CPU receives and
/// its time is not known: the send calls are then no part of the capture's cost.
fn beside(row: &TrialRecord) -> Option<f64> {
    if row.tally()?.receive_cpu_ns.is_some() {
        receive_cpu(row)
    } else if row.flags.contains(&Flag::Coupled) {
        kernel(row)
    } else {
        None
    }
}

fn receive_cpu(row: &TrialRecord) -> Option<f64> {
    let tally = row.tally()?;
    per(float(tally.receive_cpu_ns?), tally.accepted)
}

/// Send calls of this arm less those to the control port, which no capture sees.
fn kernel(row: &TrialRecord) -> Option<f64> {
    Some(send_call(row.tally()?)? - send_call(row.control()?)?)
}

fn send_call(tally: &GroupTally) -> Option<f64> {
    per(float(tally.send_call_ns), tally.accepted)
}

fn per(value: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| value / float(count))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts and times of one trial are below 2^53"
)]
fn float(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::samples;
    use wiretrial_contract::control::GroupName;
    use wiretrial_contract::record::Delivery;

    fn row() -> TrialRecord {
        let control = GroupTally {
            name: GroupName::Control,
            send_call_ns: 20_000_000,
            ..samples::tally()
        };
        TrialRecord {
            generator: Some(samples::generator(vec![samples::tally(), control])),
            ..samples::row(0)
        }
    }

    /// 3 ms of CPU and 60 ms in send calls for 20,000 packets, 20 ms in those to the control port.
    #[test]
    fn costs_by_hand() {
        let value = |metric| value(metric, &row()).unwrap();
        let close = |one: f64, other: f64| assert!((one - other).abs() < 1e-9, "{one} {other}");
        close(value(Metric::ProcessCpuNsPerPacket), 150.0);
        close(value(Metric::SendCallNsPerPacket), 3000.0);
        close(value(Metric::CaptureKernelNsPerPacket), 2000.0);
        close(value(Metric::CaptureCostNsPerPacket), 2150.0);
        close(
            row().tally().and_then(GroupTally::offered_pps).unwrap(),
            20_000.0,
        );
    }

    #[test]
    fn without_a_control_port_there_is_no_capture_cost() {
        let mut row = row();
        row.generator.as_mut().unwrap().groups.pop();
        assert_eq!(value(Metric::CaptureCostNsPerPacket, &row), None);
        assert!(value(Metric::ProcessCpuNsPerPacket, &row).is_some());
    }

    /// 3 ms of CPU and 25 ms of the receiving thread for 20,000 packets.
    #[test]
    fn a_separate_cpu_is_in_the_capture_cost_and_send_calls_are_not() {
        let mut row = row();
        row.flags.clear();
        assert_eq!(value(Metric::CaptureCostNsPerPacket, &row), None);
        assert_eq!(value(Metric::ReceiveCpuNsPerPacket, &row), None);
        row.generator.as_mut().unwrap().groups[0].receive_cpu_ns = Some(25_000_000);
        let value = |metric| value(metric, &row).unwrap();
        assert!((value(Metric::ReceiveCpuNsPerPacket) - 1250.0).abs() < 1e-9);
        assert!((value(Metric::CaptureCostNsPerPacket) - 1400.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_delivered_is_no_value() {
        let mut row = row();
        let Some(Delivery::Sequences(report)) = &mut row.delivery else {
            panic!()
        };
        report.copies.unique = 0;
        assert_eq!(value(Metric::ProcessCpuNsPerPacket, &row), None);
    }
}
