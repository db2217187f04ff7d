//! `wiretrial doctor`: what this host can do, what will disturb a measurement, what mends it.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use wiretrial_contract::control::{Isolation, ReceiveCpu, Steering, TopologyKind};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::record::HostFacts;

use super::output;
use crate::campaign::plan::FOREIGN_CPU;
use crate::executables::{self, Named};
use crate::host::{
    Host, HostLock, Interrupt, IsolationChoice, LocalHost, Setting, counts_instructions,
};

/// Try every isolation, read what disturbs measurements here, and name the command that mends each
/// finding, the weightiest first.
///
/// Example: wiretrial doctor
#[derive(Debug, Args)]
pub(super) struct Arguments {}

/// How long other programs are watched.
const LOOK: Duration = Duration::from_secs(1);

/// How much a finding costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// Nothing can be measured.
    Stops,
    /// Evidence can only suggest.
    Weakens,
    /// A limit to know.
    Limits,
}

struct Finding {
    weight: Weight,
    text: String,
    cure: String,
}

pub(super) fn run(_: &Arguments) -> Result<(), Failure> {
    let interrupt = Interrupt::on_signals()
        .map_err(|error| Failure::host(format!("cannot handle signals: {error}")))?;
    let mut findings = Vec::new();
    let mut lines = Vec::new();
    match HostLock::take()
        .map(drop)
        .and_then(|()| executables::find_receiver(&Named::default()))
    {
        Err(failure) => findings.push(stops(&failure)),
        Ok(receiver) => {
            let isolations = isolations(&receiver, &interrupt)?;
            lines.extend(isolations.iter().map(|(name, result)| match result {
                Ok(()) => format!("isolation {name}: works"),
                Err(failure) => format!("isolation {name}: {failure}"),
            }));
            match open(&receiver, IsolationChoice::Auto, LOOPBACK, &interrupt) {
                Err(failure) => findings.push(stops(&failure)),
                Ok(mut host) => look(&mut host, &receiver, &mut lines, &mut findings)?,
            }
            lines.push(wire(open(
                &receiver,
                IsolationChoice::Auto,
                WIRE,
                &interrupt,
            ))?);
        }
    }
    findings.sort_by_key(|finding| finding.weight);
    let word = |weight| match weight {
        Weight::Stops => "stops",
        Weight::Weakens => "weakens",
        Weight::Limits => "limits",
    };
    lines.extend(
        findings
            .iter()
            .map(|f| format!("{}: {}; {}", word(f.weight), f.text, f.cure)),
    );
    lines.push(
        match findings.first().map(|finding| finding.weight) {
            Some(Weight::Stops) => "ready for nothing here",
            Some(Weight::Weakens) => "ready for exploratory",
            Some(Weight::Limits) | None => "ready for confirmatory",
        }
        .into(),
    );
    output::data(&format!("{}\n", lines.join("\n")))?;
    match findings
        .into_iter()
        .find(|finding| finding.weight == Weight::Stops)
    {
        Some(finding) => Err(Failure::host(finding.text)),
        None => Ok(()),
    }
}

fn stops(failure: &Failure) -> Finding {
    Finding {
        weight: Weight::Stops,
        text: failure.message.clone(),
        cure: "no trial can run".into(),
    }
}

const LOOPBACK: (TopologyKind, ReceiveCpu) = (TopologyKind::Loopback, ReceiveCpu::Sender);
const WIRE: (TopologyKind, ReceiveCpu) = (TopologyKind::Wire, ReceiveCpu::Separate);

fn open(
    receiver: &Path,
    isolation: IsolationChoice,
    (topology, receive_cpu): (TopologyKind, ReceiveCpu),
    interrupt: &Interrupt,
) -> Result<LocalHost, Failure> {
    LocalHost::open(&Setting {
        executable: Path::new("/proc/self/exe"),
        receivers: &[receiver],
        isolation,
        topology,
        receive_cpu,
        interrupt: interrupt.clone(),
        lock: None,
        say: output::note,
    })
}

/// Whether topology `wire` works, and how the receive work gets a CPU of its own there.
fn wire(opened: Result<LocalHost, Failure>) -> Result<String, Failure> {
    match opened {
        Err(failure) if failure == Failure::interrupted() => Err(failure),
        Err(failure) => Ok(format!("topology wire: {failure}")),
        Ok(host) => Ok(format!(
            "topology wire: works, receive CPU by {}",
            host.made().steering.map_or("nothing", Steering::name)
        )),
    }
}

/// Each isolation and whether it works.
type Tried = Vec<(&'static str, Result<(), Failure>)>;

/// Tries each isolation and lets go of it again.
fn isolations(receiver: &Path, interrupt: &Interrupt) -> Result<Tried, Failure> {
    [Isolation::Sandbox, Isolation::Netns, Isolation::None]
        .into_iter()
        .map(|isolation| {
            let result = open(receiver, isolation.into(), LOOPBACK, interrupt).map(drop);
            match result {
                Err(failure) if failure == Failure::interrupted() => Err(failure),
                result => Ok((isolation.name(), result)),
            }
        })
        .collect()
}

fn look(
    host: &mut LocalHost,
    receiver: &Path,
    lines: &mut Vec<String>,
    findings: &mut Vec<Finding>,
) -> Result<(), Failure> {
    let facts = host.facts().clone();
    lines.push(format!("auto takes {}", host.isolation()));
    lines.push(words(&facts));
    lines.push(match counts_instructions() {
        Ok(()) => "instructions: counted by the processor".into(),
        Err(why) => format!("instructions: not counted, {why}"),
    });
    match host.libpcap_of(receiver) {
        Ok(libpcap) => lines.push(format!(
            "receiver: {}",
            libpcap.unwrap_or("libpcap unknown".into())
        )),
        Err(failure) => findings.push(stops(&failure)),
    }
    if facts.cpus_allowed.len() < 2 {
        findings.push(Finding {
            weight: Weight::Weakens,
            text: "one CPU: generator and receiver share it (placement_free)".into(),
            cure: "give this process two CPUs, see taskset(1)".into(),
        });
    }
    match host.wait_quiet(LOOK, f64::MAX)? {
        Some(cpus) if cpus >= FOREIGN_CPU => findings.push(Finding {
            weight: Weight::Weakens,
            text: format!("other programs use {:.1} % of a CPU", cpus * 100.0),
            cure: format!(
                "stop them: trials with more than {} % are voided",
                FOREIGN_CPU * 100.0
            ),
        }),
        Some(_) => {}
        None => findings.push(Finding {
            weight: Weight::Weakens,
            text: "the CPU use of other programs cannot be read (no schedstat, or a pid namespace)"
                .into(),
            cure: "use a kernel with CONFIG_SCHED_INFO, outside of containers with their own pids"
                .into(),
        }),
    }
    if facts
        .governor
        .as_deref()
        .is_some_and(|governor| governor != "performance")
    {
        findings.push(Finding {
            weight: Weight::Limits,
            text: format!(
                "CPU governor {}",
                facts.governor.as_deref().unwrap_or("unknown")
            ),
            cure: "sudo cpupower frequency-set -g performance".into(),
        });
    }
    if facts
        .virtualisation
        .as_deref()
        .is_some_and(|kind| kind != "none")
    {
        findings.push(Finding {
            weight: Weight::Limits,
            text: format!(
                "virtual machine ({})",
                facts.virtualisation.as_deref().unwrap_or("unknown")
            ),
            cure: "stalls of the host show up as lateness; use interleaved pairs".into(),
        });
    }
    Ok(())
}

fn words(facts: &HostFacts) -> String {
    let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".into());
    format!(
        "{}, {} CPUs, kernel {}, clock {}",
        known(&facts.cpu_model),
        facts
            .cpus_online
            .map_or_else(|| "unknown".into(), |cpus| cpus.to_string()),
        known(&facts.kernel),
        known(&facts.clock_source)
    )
}
