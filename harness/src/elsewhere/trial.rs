//! The two reports of a trial by hand, joined into a row, its ledger and a verdict on loss.
//!
//! `wiretrial-generator send` and `wiretrial-receiver capture` print them. What only the hosts between
//! them could tell (queues, cards, backlogs) is not known, and stays `null`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use wiretrial_contract::analysis::Load;
use wiretrial_contract::control::{
    GeneratorPrepare, Group, ReceiverPrepare, TopologyKind, TrialIdentity, quote,
};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::LaunchOrder;
use wiretrial_contract::record::{
    Delivery, Flag, HostWindow, Ledger, Outcome, Phase, Stage, TRIAL_SCHEMA, TrialRecord,
};
use wiretrial_contract::report::{GeneratorReport, ReceiverReport};
use wiretrial_contract::units::Family;
use wiretrial_stats::loss::OFFERED_TOLERANCE;

use crate::judge::loads::{Terms, of_rows};
use crate::trial::{ledger, plausible};

/// Schema of what `wiretrial-generator send` prints.
const GENERATOR: &str = "wiretrial.by-hand-generator/1";
/// Schema of what `wiretrial-receiver capture` prints.
const RECEIVER: &str = "wiretrial.by-hand-receiver/1";
/// Bytes of a report at most; they are a few thousand.
const MOST_BYTES: u64 = 16 << 20;
/// Stages between two hosts, besides those of any path.
const BETWEEN: [Stage; 3] = [Stage::Qdisc, Stage::Path, Stage::Nic];

#[derive(Debug, Deserialize)]
struct Sent {
    prepare: GeneratorPrepare,
    report: GeneratorReport,
}

#[derive(Debug, Deserialize)]
struct Seen {
    prepare: ReceiverPrepare,
    report: ReceiverReport,
}

/// A trial by hand, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Where its datagrams went.
    pub ledger: Ledger,
    /// The trial as a load.
    pub load: Load,
}

/// Joins the reports in two files.
///
/// # Errors
///
/// Exit 2: a file is missing, no such report, one that contradicts itself, of another version, the other's,
/// or of another trial.
pub fn judge(generator: &Path, receiver: &Path) -> Result<Judged, Failure> {
    let sent: Sent = read(generator, GENERATOR)?;
    let seen: Seen = read(receiver, RECEIVER)?;
    let wrong = |path: &Path, what: String| Failure::usage(format!("{} {what}", path.display()));
    plausible::generator(&sent.prepare.groups, &sent.report, 1, u64::MAX)
        .map_err(|what| wrong(generator, what))?;
    let ([group], [_]) = (&sent.prepare.groups[..], &sent.report.groups[..]) else {
        return Err(Failure::usage(format!(
            "{} has {} groups of datagrams; a trial by hand has one",
            generator.display(),
            sent.prepare.groups.len()
        )));
    };
    let group = group.clone();
    if let Some((what, one, other)) = differing(&sent, &group, &seen) {
        return Err(Failure::usage(format!(
            "these are of different trials: {what} is {one} in {} and {other} in {}; both commands \
             take the same",
            generator.display(),
            receiver.display()
        )));
    }
    let planned = seen.prepare.planned.iter();
    let planned = planned.fold(0, |sum: u64, flow| sum.saturating_add(*flow));
    plausible::sequences(&seen.report, planned, u64::MAX).map_err(|what| wrong(receiver, what))?;
    Ok(joined(sent, &group, seen))
}

/// The first thing that the reports of one trial have in common and these have not.
fn differing(sent: &Sent, group: &Group, seen: &Seen) -> Option<(String, String, String)> {
    let TrialIdentity {
        run_id,
        trial,
        nonce,
    } = group.identity;
    let other = &seen.prepare;
    let family = if group.target.is_ipv4() {
        Family::Ipv4
    } else {
        Family::Ipv6
    };
    let accepted = |flow| sent.report.groups[0].accepted_per_flow.get(flow).copied();
    let mut both = vec![
        (
            "the port",
            group.target.port().to_string(),
            other.port.to_string(),
        ),
        (
            "the IP version",
            format!("{family:?}"),
            format!("{:?}", other.family),
        ),
        (
            "the form of the stamps",
            format!("{:?}", sent.prepare.form),
            format!("{:?}", other.form),
        ),
        (
            "the first source port",
            group.source_ports.first.to_string(),
            other.source_ports.first.to_string(),
        ),
        (
            "the number of flows",
            group.source_ports.count.to_string(),
            other.source_ports.count.to_string(),
        ),
        (
            "the run id",
            format!("{run_id:x}"),
            format!("{:x}", other.identity.run_id),
        ),
        (
            "the trial number",
            trial.to_string(),
            other.identity.trial.to_string(),
        ),
        (
            "the nonce",
            nonce.to_string(),
            other.identity.nonce.to_string(),
        ),
    ];
    // A receiver that was told of fewer packets takes the rest for foreign ones.
    both.extend(
        other
            .planned
            .iter()
            .enumerate()
            .filter_map(|(flow, planned)| {
                let accepted = accepted(flow).filter(|accepted| accepted > planned)?;
                Some((
                    "the number of packets in a flow",
                    accepted.to_string(),
                    planned.to_string(),
                ))
            }),
    );
    both.into_iter()
        .find(|(_, one, other)| one != other)
        .map(|(what, one, other)| (what.to_owned(), one.to_lowercase(), other.to_lowercase()))
}

fn joined(sent: Sent, group: &Group, seen: Seen) -> Judged {
    let coupled = group.target.ip().is_loopback();
    let topology = if coupled {
        TopologyKind::Loopback
    } else {
        TopologyKind::Wire
    };
    let delivery = Delivery::Sequences(Box::new(seen.report));
    let host = HostWindow::default();
    let mut ledger = ledger::of_delivery(topology, &sent.report.groups[0], &delivery, &host)
        .expect("a receiver that numbers datagrams has a ledger");
    if !coupled {
        for stage in BETWEEN {
            ledger.dropped.insert(stage, None);
            ledger.lost_at.insert(stage, None);
        }
    }
    let arm = match &group.name {
        wiretrial_contract::control::GroupName::Arm(name) => name.clone(),
        wiretrial_contract::control::GroupName::Control => "control".into(),
    };
    let row = TrialRecord {
        schema: TRIAL_SCHEMA.into(),
        prev: String::new(),
        row: 0,
        phase: Phase::Confirm,
        case: CASE.into(),
        arm: arm.clone(),
        pair: 0,
        replaces: None,
        order: LaunchOrder::BaselineFirst,
        identity: group.identity,
        outcome: Outcome::Ok,
        started_ns: 0,
        ended_ns: 0,
        intended_pps: Some(sent.prepare.rate_pps),
        receiver_sha256: None,
        program_sha256: None,
        generator_sha256: None,
        ready: None,
        generator: Some(sent.report),
        delivery: Some(delivery),
        host: None,
        ledger: Some(ledger.clone()),
        guards: Vec::new(),
        flags: if coupled {
            vec![Flag::Coupled]
        } else {
            Vec::new()
        },
    };
    let terms = Terms {
        case: CASE,
        arm: &arm,
        rate_pps: sent.prepare.rate_pps,
        max_burst: sent.prepare.max_burst,
        coupled,
        offered_tolerance: OFFERED_TOLERANCE,
        interleaved: false,
    };
    Judged {
        load: of_rows(&terms, &[&row]),
        ledger,
    }
}

/// What such a trial is called.
const CASE: &str = "by-hand";

fn read<T: DeserializeOwned>(path: &Path, schema: &str) -> Result<T, Failure> {
    let shown = path.display();
    let wrong = |why: String| Failure::usage(format!("{shown}: {why}"));
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|error| wrong(format!("it cannot be read: {error}")))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(wrong(format!(
            "it has more than {} MiB; a report is a few kB",
            MOST_BYTES >> 20
        )));
    }
    let command = |schema: &str| match schema {
        GENERATOR => "wiretrial-generator send",
        _ => "wiretrial-receiver capture",
    };
    let wanted = command(schema);
    let value: serde_json::Value = serde_json::from_slice(&bytes)
        .map_err(|error| wrong(format!("it is not what {wanted} prints: {error}")))?;
    let there = value["schema"].as_str().unwrap_or("");
    if there != schema {
        return Err(wrong(match there {
            GENERATOR | RECEIVER => format!(
                "it is the report of {}, and that of {wanted} belongs there; wiretrial judge trial \
                 GENERATOR RECEIVER",
                command(there)
            ),
            "" => format!("it is not what {wanted} prints: it has no schema"),
            other => format!(
                "it has schema {}, this version reads {schema}",
                quote(other)
            ),
        }));
    }
    serde_json::from_value(value)
        .map_err(|error| wrong(format!("it is not what {wanted} prints: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::fs;
    use wiretrial_contract::analysis::LoadVerdict;
    use wiretrial_contract::record::Share;

    /// As `send --packets 10000 --flows 2 --rate 20k` and a capture on lo printed them.
    const SENT: &str = include_str!("../../tests/elsewhere/generator.json");
    const SEEN: &str = include_str!("../../tests/elsewhere/receiver.json");

    fn value(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    fn set(text: &str, at: &str, to: impl Into<Value>) -> String {
        let mut value = value(text);
        *value.pointer_mut(at).unwrap() = to.into();
        value.to_string()
    }

    fn judged(sent: &str, seen: &str) -> Result<Judged, Failure> {
        let root = tempfile::tempdir().unwrap();
        let paths = ["gen.json", "recv.json"].map(|name| root.path().join(name));
        fs::write(&paths[0], sent).unwrap();
        fs::write(&paths[1], seen).unwrap();
        judge(&paths[0], &paths[1]).map_err(|failure| {
            let folder = format!("{}/", root.path().display());
            Failure {
                message: failure.message.replace(&folder, ""),
                ..failure
            }
        })
    }

    fn refused(sent: &str, seen: &str) -> String {
        let failure = judged(sent, seen).unwrap_err();
        assert_eq!(failure.code, 2);
        failure.message
    }

    #[test]
    fn recorded_reports_balance() {
        let judged = judged(SENT, SEEN).unwrap();
        assert_eq!(
            (judged.ledger.accepted, judged.ledger.unique),
            (10_000, 10_000)
        );
        assert_eq!(judged.ledger.unexplained, 0);
        let load = judged.load;
        assert_eq!((load.lost, load.rule_ok, load.repeats), (0, Some(true), 1));
        assert_eq!(load.intended_pps, 20_000);
        assert_eq!(load.lost_at[&Stage::Ring], Some(Share::Count(0)));
        assert_eq!(load.lost_at[&Stage::Backlog], None, "nobody read it");
        assert!(load.flags.contains(&Flag::LowInformation));
        assert!(load.offered_pps.is_some() && load.delivered_pps.is_some());
    }

    #[test]
    fn lost_between_hosts_is_lost_and_not_explained() {
        let remote = "/prepare/groups/0/target";
        let sent = set(SENT, remote, "192.0.2.1:39053");
        let seen = set(SEEN, "/report/copies/unique", 9_000);
        let seen = set(&seen, "/report/unique_per_flow", vec![4_500, 4_500]);
        let seen = (0..20).fold(seen, |seen, part| {
            set(&seen, &format!("/report/residence/{part}/count"), 450)
        });
        let received = value(&seen)["report"]["pcap"]["received"].as_u64().unwrap();
        let seen = set(&seen, "/report/pcap/received", received - 1_000);
        let judged = judged(&sent, &seen).unwrap();
        assert_eq!(
            (judged.load.lost, judged.load.rule_ok),
            (1_000, Some(false))
        );
        assert_eq!(judged.load.verdict, LoadVerdict::Fail);
        assert_eq!(judged.load.unexplained, 1_000);
        for stage in [
            Stage::Nic,
            Stage::Path,
            Stage::Qdisc,
            Stage::Link,
            Stage::Backlog,
        ] {
            assert_eq!(judged.load.lost_at[&stage], None, "{stage:?}");
        }
        assert!(!judged.load.flags.contains(&Flag::Coupled));
    }

    #[test]
    fn other_trials_are_told_apart_by_both_values() {
        for (at, to, said) in [
            (
                "/prepare/port",
                Value::from(39_054),
                "the port is 39053 in gen.json and 39054 in recv.json",
            ),
            (
                "/prepare/identity/nonce",
                7.into(),
                "the nonce is 0 in gen.json and 7 in recv.json",
            ),
            ("/prepare/identity/trial", 3.into(), "the trial number is 0"),
            (
                "/prepare/identity/run_id",
                "00000000000000ff".into(),
                "the run id is 0 in gen.json and ff in",
            ),
            (
                "/prepare/source_ports/count",
                4.into(),
                "the number of flows is 2 in gen.json and 4 in",
            ),
            (
                "/prepare/source_ports/first",
                4.into(),
                "the first source port is 40000",
            ),
            (
                "/prepare/family",
                "ipv6".into(),
                "the ip version is ipv4 in",
            ),
            (
                "/prepare/form",
                "full".into(),
                "the form of the stamps is compact in gen.json and full in",
            ),
            (
                "/prepare/planned",
                vec![5_000, 4_999].into(),
                "the number of packets in a flow is 5000 in gen.json and 4999 in",
            ),
        ] {
            let message = refused(SENT, &set(SEEN, at, to)).to_lowercase();
            let said = format!("these are of different trials: {said}");
            assert!(message.starts_with(&said), "{message}");
        }
    }

    #[test]
    fn files_that_are_no_such_reports() {
        assert_eq!(
            refused(SEEN, SENT),
            "gen.json: it is the report of wiretrial-receiver capture, and that of wiretrial-generator \
             send belongs there; wiretrial judge trial GENERATOR RECEIVER"
        );
        let newer = set(SEEN, "/schema", "wiretrial.by-hand-receiver/2");
        assert_eq!(
            refused(SENT, &newer),
            "recv.json: it has schema wiretrial.by-hand-receiver/2, this version reads \
             wiretrial.by-hand-receiver/1"
        );
        let said = "gen.json: it is not what wiretrial-generator send prints: ";
        for text in ["", "no", "{", "[]", "{}", "\u{0}", &SENT[..SENT.len() / 2]] {
            let message = refused(text, SEEN);
            assert!(
                message.starts_with(said) && !message.contains('\n'),
                "{message}"
            );
        }
        let missing = judge(Path::new("/nowhere/gen.json"), Path::new("x")).unwrap_err();
        assert!(
            missing
                .message
                .starts_with("/nowhere/gen.json: it cannot be read: No such file")
        );
        let folder = judge(Path::new("/"), Path::new("x")).unwrap_err();
        assert!(
            folder
                .message
                .starts_with("/: it cannot be read: Is a directory"),
            "{folder}"
        );
    }
}
