//! What a report cannot say, whatever was measured: then the child that made it is wrong, and its trial
//! fails. What only contradicts another process's counts is the ledger's to judge.

use wiretrial_contract::control::Group;
use wiretrial_contract::record::Delivery;
use wiretrial_contract::report::{CountReport, GeneratorReport, GroupTally, ReceiverReport};
use wiretrial_contract::stamp::Class;

/// By how much a CPU time may exceed the time that went by, ns: clocks are read at different moments.
const SLACK_NS: u64 = 1_000_000_000;

/// What is wrong with the report of a generator of so many senders, `wall_ns` after the launch.
pub(crate) fn generator(
    asked: &[Group],
    report: &GeneratorReport,
    senders: u32,
    wall_ns: u64,
) -> Result<(), String> {
    let names = report.groups.iter().map(|tally| &tally.name);
    if !names.eq(asked.iter().map(|group| &group.name)) {
        return Err(format!(
            "reports {} groups of datagrams, other than the {} that it was given",
            report.groups.len(),
            asked.len()
        ));
    }
    let most_ns = most(wall_ns, u64::from(senders));
    let mut groups = asked.iter().zip(&report.groups);
    groups.try_for_each(|(asked, tally)| group(asked, tally, most_ns))
}

fn group(asked: &Group, tally: &GroupTally, most_ns: u64) -> Result<(), String> {
    let of = |class: Class| -> u64 {
        let slices = asked.slices.iter().filter(|slice| slice.class == class);
        slices.map(|slice| slice.packets).sum()
    };
    let by_flow = sum(&tally.accepted_per_flow);
    same("planned", tally.planned, of(Class::Counted))?;
    at_most("attempted", tally.attempted, tally.planned)?;
    at_most("accepted", tally.accepted, tally.attempted)?;
    same("accepted by flow", by_flow, tally.accepted)?;
    at_most(
        "accepted of the warm-up",
        tally.warm_up_accepted,
        of(Class::WarmUp),
    )?;
    at_most("accepted filler", tally.filler_accepted, of(Class::Filler))?;
    at_most("ns in send calls", tally.send_call_ns, most_ns)?;
    at_most("ns in stalled calls", tally.stalled_ns, tally.send_call_ns)?;
    at_most(
        "ns of the receive thread",
        tally.receive_cpu_ns.unwrap_or(0),
        most_ns,
    )?;
    in_order(tally.first_ns, tally.last_ns)
}

/// What is wrong with a receiver's report on so many planned datagrams, `wall_ns` after it was launched
/// on so many CPUs.
pub(super) fn receiver(
    report: &Delivery,
    planned: u64,
    cpus: usize,
    wall_ns: u64,
) -> Result<(), String> {
    let most_ns = most(wall_ns, cpus as u64);
    match report {
        Delivery::Sequences(report) => sequences(report, planned, most_ns),
        Delivery::Count(report) => counts(report, most_ns),
        Delivery::Passes(_) => Ok(()),
    }
}

/// The same of the built-in receiver, with the most CPU time that there can have been.
pub(crate) fn sequences(report: &ReceiverReport, planned: u64, most_ns: u64) -> Result<(), String> {
    let copies = &report.copies;
    at_most("unique", copies.unique, planned)?;
    same(
        "unique by flow",
        sum(&report.unique_per_flow),
        copies.unique,
    )?;
    at_most("reordered", report.reordered, copies.unique)?;
    at_most("late", report.late, copies.unique)?;
    at_most("truncated", report.truncated, copies.foreign)?;
    at_most(
        "ns of CPU time",
        report.process_cpu_ns.unwrap_or(0),
        most_ns,
    )?;
    at_most(
        "ns of CPU time before ready",
        report.start_up_cpu_ns,
        most_ns,
    )?;
    if copies.unique > 0 && report.process_cpu_ns == Some(0) {
        return Err("reports no CPU time for the datagrams that it counted".into());
    }
    in_order(report.first_ns, report.last_ns)
}

fn counts(report: &CountReport, most_ns: u64) -> Result<(), String> {
    at_most(
        "ns of CPU time",
        report.process_cpu_ns.unwrap_or(0),
        most_ns,
    )?;
    at_most(
        "ns of CPU time before it captured",
        report.start_up_cpu_ns.unwrap_or(0),
        most_ns,
    )
}

/// Most CPU time of so many threads or CPUs.
fn most(wall_ns: u64, cpus: u64) -> u64 {
    wall_ns.saturating_add(SLACK_NS).saturating_mul(cpus.max(1))
}

fn sum(counts: &[u64]) -> u64 {
    let all = counts.iter();
    all.fold(0, |sum: u64, count| sum.saturating_add(*count))
}

fn same(what: &str, said: u64, meant: u64) -> Result<(), String> {
    if said == meant {
        return Ok(());
    }
    Err(format!("reports {said} {what}, which must be {meant}"))
}

fn at_most(what: &str, said: u64, most: u64) -> Result<(), String> {
    if said <= most {
        return Ok(());
    }
    Err(format!(
        "reports {said} {what}, more than the {most} there can be"
    ))
}

fn in_order(first_ns: Option<u64>, last_ns: Option<u64>) -> Result<(), String> {
    match first_ns.zip(last_ns) {
        Some((first, last)) if last < first => Err(format!(
            "reports its last datagram at {last} ns, before its first at {first} ns"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use wiretrial_contract::control::{GroupName, Slice, SourcePorts, TrialIdentity};

    use super::*;
    use crate::trial::samples;

    const WALL_NS: u64 = 3_000_000_000;

    fn asked(tally: &GroupTally) -> Group {
        let slice = |packets, class| Slice {
            start_ns: 0,
            packets,
            class,
        };
        Group {
            name: tally.name.clone(),
            target: "127.0.0.1:9".parse().unwrap(),
            source_ports: SourcePorts { first: 1, count: 1 },
            identity: TrialIdentity {
                run_id: 0,
                trial: 0,
                nonce: 0,
            },
            slices: vec![
                slice(tally.warm_up_accepted, Class::WarmUp),
                slice(tally.planned, Class::Counted),
                slice(tally.filler_accepted, Class::Filler),
            ],
        }
    }

    #[test]
    fn a_report_as_it_was_asked_for_holds() {
        let tally = samples::tally();
        let report = samples::generator(vec![tally.clone()]);
        assert_eq!(generator(&[asked(&tally)], &report, 1, WALL_NS), Ok(()));
        let receiver_report = Delivery::Sequences(Box::new(samples::receiver()));
        let planned = samples::receiver().copies.unique;
        assert_eq!(receiver(&receiver_report, planned, 1, WALL_NS), Ok(()));
    }

    #[test]
    fn what_no_sender_can_have_done_is_refused() {
        let good = samples::tally();
        let said = |change: fn(&mut GroupTally)| {
            let mut tally = good.clone();
            change(&mut tally);
            let report = samples::generator(vec![tally]);
            generator(&[asked(&good)], &report, 1, WALL_NS).unwrap_err()
        };
        let changes: [fn(&mut GroupTally); 8] = [
            |tally| tally.name = GroupName::Control,
            |tally| tally.planned += 1,
            |tally| tally.attempted = tally.planned + 1,
            |tally| tally.accepted = u64::MAX,
            |tally| tally.accepted_per_flow = vec![u64::MAX, u64::MAX],
            |tally| tally.warm_up_accepted = u64::MAX,
            |tally| tally.send_call_ns = u64::MAX,
            |tally| (tally.first_ns, tally.last_ns) = (Some(2), Some(1)),
        ];
        for change in changes {
            let said = said(change);
            assert!(said.starts_with("reports "), "{said}");
        }
        let none = generator(&[asked(&good)], &samples::generator(Vec::new()), 1, WALL_NS);
        assert_eq!(
            none.unwrap_err(),
            "reports 0 groups of datagrams, other than the 1 that it was given"
        );
    }

    #[test]
    fn what_no_receiver_can_have_seen_is_refused() {
        let planned = samples::receiver().copies.unique;
        let changes: [fn(&mut ReceiverReport); 7] = [
            |report| report.copies.unique += 1,
            |report| report.unique_per_flow = vec![u64::MAX, 2],
            |report| report.reordered = u64::MAX,
            |report| report.truncated = report.copies.foreign + 1,
            |report| report.process_cpu_ns = Some(1 << 50),
            |report| report.process_cpu_ns = Some(0),
            |report| (report.first_ns, report.last_ns) = (Some(2), Some(1)),
        ];
        for change in changes {
            let mut report = samples::receiver();
            change(&mut report);
            let said = receiver(&Delivery::Sequences(Box::new(report)), planned, 2, WALL_NS);
            let said = said.unwrap_err();
            assert!(said.starts_with("reports "), "{said}");
        }
    }
}
