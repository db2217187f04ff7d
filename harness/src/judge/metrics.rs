//! The value of a metric in one trial, from its row alone. A value that cannot be had is `None`.

use wiretrial_contract::metric::Metric;
use wiretrial_contract::plan::Case;
use wiretrial_contract::record::{Flag, LedgerState, TrialRecord};
use wiretrial_contract::report::{CountReport, GroupTally};

use super::{float, passes};

/// The value of `metric` in the trial of `row`, a trial of `case`, in the metric's unit.
#[must_use]
pub fn value(metric: Metric, case: &Case, row: &TrialRecord) -> Option<f64> {
    if let Some(work) = case.passes() {
        return passes::value(metric, work, row.passes()?);
    }
    match metric {
        Metric::ProcessCpuNsPerPacket => process(row),
        Metric::SendCallNsPerPacket => send_call(row.tally()?),
        Metric::CaptureKernelNsPerPacket => kernel(row),
        Metric::CaptureCostNsPerPacket => Some(process(row)? + beside(row)?),
        Metric::PeakRssBytes => match row.count() {
            Some(report) => report.peak_rss_bytes.map(float),
            None => row.receiver()?.peak_rss_bytes.map(float),
        },
        Metric::ReceiveCpuNsPerPacket => receive_cpu(row.tally()?),
        Metric::LatencyP50Ns => Some(float(row.receiver()?.latency?.p50_ns)),
        Metric::LatencyP99Ns => Some(float(row.receiver()?.latency?.p99_ns)),
        Metric::HeapBytesPerPacket => {
            let report = row.receiver()?;
            per(float(report.heap_bytes?), report.copies.unique)
        }
        Metric::LostPerMillion => lost(row),
        Metric::ContextSwitchesPerMillion => {
            let report = row.receiver()?;
            let switches = report.voluntary_switches? + report.involuntary_switches?;
            for_a_million(switches, report.copies.total())
        }
        Metric::PageFaultsPerMillion => {
            let report = row.receiver()?;
            let faults = report.minor_faults? + report.major_faults?;
            for_a_million(faults, report.copies.total())
        }
        Metric::InstructionsPerPacket => {
            let report = row.receiver()?;
            per(float(report.instructions?), report.copies.unique)
        }
        Metric::ElapsedNsPerUnit | Metric::UnitsPerSecond | Metric::MaxSustainedPps => None,
    }
}

/// Lost of a million accepted packets; `None` where a program's counts leave it open, or where they
/// contradict what was sent.
fn lost(row: &TrialRecord) -> Option<f64> {
    let ledger = row.ledger.as_ref()?;
    if ledger.lost_least.is_some() || matches!(ledger.state, LedgerState::Invalid { .. }) {
        return None;
    }
    for_a_million(u64::try_from(ledger.lost).ok()?, ledger.accepted)
}

fn for_a_million(count: u64, packets: u64) -> Option<f64> {
    per(float(count) * 1e6, packets)
}

fn process(row: &TrialRecord) -> Option<f64> {
    if let Some(report) = row.count() {
        let packets = packets_of_a_program(report, row.tally()?)?;
        return per(float(report.process_cpu_ns?), packets);
    }
    let report = row.receiver()?;
    per(float(report.process_cpu_ns?), report.copies.unique)
}

/// Packets that a program of the user's worked on from armed to the end of the drain: those it says it
/// processed in its life less the probes before, else all that were sent to it since.
fn packets_of_a_program(report: &CountReport, sent: &GroupTally) -> Option<u64> {
    match report.counts.processed {
        Some(processed) => processed.checked_sub(sent.probe_accepted),
        None => Some(sent.accepted + sent.warm_up_accepted + sent.filler_accepted),
    }
}

/// What a capture costs outside its process, over what a datagram to the control port costs, which no
/// capture takes: time of the CPU that receives, where that was read; where the sender receives, time
/// in send calls. `None` where another CPU receives and
/// its time is not known: the send calls are then no part of the capture's cost.
fn beside(row: &TrialRecord) -> Option<f64> {
    if row.tally()?.receive_cpu_ns.is_some() {
        Some(receive_cpu(row.tally()?)? - receive_cpu(row.control()?)?)
    } else if row.flags.contains(&Flag::Coupled) {
        kernel(row)
    } else {
        None
    }
}

fn receive_cpu(tally: &GroupTally) -> Option<f64> {
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
        let case = &samples::plan().campaign.cases[0];
        let value = |metric| value(metric, case, &row()).unwrap();
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
        let case = &samples::plan().campaign.cases[0];
        assert_eq!(value(Metric::CaptureCostNsPerPacket, case, &row), None);
        assert!(value(Metric::ProcessCpuNsPerPacket, case, &row).is_some());
    }

    /// 3 ms of CPU and 25 ms of the receiving thread for 20,000 packets, 20 ms of it for as many to the
    /// control port.
    #[test]
    fn a_separate_cpu_is_in_the_capture_cost_and_send_calls_are_not() {
        let mut row = row();
        row.flags.clear();
        let case = &samples::plan().campaign.cases[0];
        assert_eq!(value(Metric::CaptureCostNsPerPacket, case, &row), None);
        assert_eq!(value(Metric::ReceiveCpuNsPerPacket, case, &row), None);
        for group in &mut row.generator.as_mut().unwrap().groups {
            group.receive_cpu_ns = Some(match group.name {
                GroupName::Control => 20_000_000,
                GroupName::Arm(_) => 25_000_000,
            });
        }
        let value = |metric| value(metric, case, &row).unwrap();
        assert!((value(Metric::ReceiveCpuNsPerPacket) - 1250.0).abs() < 1e-9);
        assert!((value(Metric::CaptureCostNsPerPacket) - 400.0).abs() < 1e-9);
    }

    /// 20,000 counted and 4,000 warm-up copies: 24,000 were handed over.
    #[test]
    fn counts_for_a_million_by_hand_and_none_is_0() {
        let case = &samples::plan().campaign.cases[0];
        let of = |metric, row: &TrialRecord| value(metric, case, row);
        let mut row = row();
        let close = |one: Option<f64>, other: f64| {
            let one = one.unwrap();
            assert!((one - other).abs() < 1e-9, "{one} {other}");
        };
        close(of(Metric::LostPerMillion, &row), 0.0);
        assert_eq!(of(Metric::InstructionsPerPacket, &row), None);
        close(of(Metric::ContextSwitchesPerMillion, &row), 1e6 / 240.0);
        close(of(Metric::PageFaultsPerMillion, &row), 1e6 / 12_000.0);
        let ledger = row.ledger.as_mut().unwrap();
        (ledger.lost, ledger.unique) = (30, 19_970);
        close(of(Metric::LostPerMillion, &row), 1_500.0);
        let Some(Delivery::Sequences(report)) = &mut row.delivery else {
            panic!()
        };
        (report.voluntary_switches, report.major_faults) = (Some(0), None);
        report.instructions = Some(4_000_000);
        close(of(Metric::ContextSwitchesPerMillion, &row), 0.0);
        assert_eq!(of(Metric::PageFaultsPerMillion, &row), None);
        close(of(Metric::InstructionsPerPacket, &row), 200.0);
    }

    #[test]
    fn a_loss_that_is_open_or_contradicted_has_no_value() {
        let case = &samples::plan().campaign.cases[0];
        let lost = |row: &TrialRecord| value(Metric::LostPerMillion, case, row);
        let open = samples::outside(row(), Some(24_000), Some((3, 7)));
        assert_eq!(lost(&open), None);
        assert_eq!(lost(&samples::outside(row(), None, None)), lost(&open));
        let mut exact = open;
        exact.ledger.as_mut().unwrap().lost_least = None;
        let value = lost(&exact).unwrap();
        assert!((value - 350.0).abs() < 1e-9, "{value}");
        exact.ledger.as_mut().unwrap().state = LedgerState::Invalid {
            cause: String::new(),
        };
        assert_eq!(lost(&exact), None);
    }

    #[test]
    fn nothing_delivered_is_no_value() {
        let mut row = row();
        let Some(Delivery::Sequences(report)) = &mut row.delivery else {
            panic!()
        };
        report.copies.unique = 0;
        let case = &samples::plan().campaign.cases[0];
        assert_eq!(value(Metric::ProcessCpuNsPerPacket, case, &row), None);
    }

    /// 16 probes, 4,000 warm-up and 20,000 counted datagrams; 2.4 ms of CPU after the probes.
    #[test]
    fn a_programs_cpu_is_over_what_it_processed_or_else_over_what_was_sent() {
        let case = &samples::plan().campaign.cases[0];
        let of = |processed| {
            let row = samples::outside(row(), processed, None);
            value(Metric::ProcessCpuNsPerPacket, case, &row)
        };
        let close = |one: Option<f64>, other: f64| {
            let one = one.unwrap();
            assert!((one - other).abs() < 1e-9, "{one} {other}");
        };
        close(of(Some(12_016)), 200.0);
        close(of(None), 100.0);
        assert_eq!(of(Some(15)), None, "not even the probes");
        let row = samples::outside(row(), None, None);
        close(value(Metric::PeakRssBytes, case, &row), 1_048_576.0);
        close(value(Metric::CaptureCostNsPerPacket, case, &row), 2100.0);
    }
}
