//! Times what `make bench` says of evidence: how long 12,500 to 100,000 rows take, and how much memory.
//!
//! Rows of passes with the counters of a live host are written by the code that writes a campaign's.
//! Then, each time in a process of its own, they are read from the file in two ways:
//!
//! * `estimate`: read row by row, chained and paired, 30 metrics of both arms kept, and each of them
//!   compared by Student's t, of which many pairs are.
//! * `verify`: all rows kept, held against the plan and judged, as `wiretrial verify` does.
//!
//! Usage: `rows [REPEATS]`, 5 by default, in turns over the sizes. Asserts nothing about time.

#![allow(
    clippy::print_stdout,
    reason = "an example that measures and prints; the library does neither"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::Command;

use wiretrial::campaign::{overrides::Overrides, plan as sealing, shipped};
use wiretrial::evidence::chain::Chain;
use wiretrial::evidence::replay;
use wiretrial::evidence::rows::{self, Rows};
use wiretrial::judge::{self, metrics};
use wiretrial::trial::guards::{self, DesignView};
use wiretrial::trial::pairs;
use wiretrial::trial::passes::drawn;
use wiretrial_contract::clock;
use wiretrial_contract::control::{Isolation, PassInput, TrialIdentity};
use wiretrial_contract::metric::Metric;
use wiretrial_contract::plan::{
    Arrangement, Case, Input, PassProgram, Passes, Placement, Plan, PlannedPair, Seed, UnitsRule,
    Work,
};
use wiretrial_contract::record::{
    Delivery, HostCounters, HostWindow, Outcome, Phase, TRIAL_SCHEMA, TrialRecord,
};
use wiretrial_contract::report::PassReport;
use wiretrial_stats::interval::{Enumerate, Scale, compare};
use wiretrial_stats::random::Stream;

const SIZES: [u32; 4] = [12_500, 25_000, 50_000, 100_000];
const METRICS: usize = 30;
const CASE: &str = "mix";
const PLAN_SHA256: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
/// Metrics that passes have.
const OF_PASSES: [Metric; 5] = [
    Metric::ProcessCpuNsPerPacket,
    Metric::ElapsedNsPerUnit,
    Metric::UnitsPerSecond,
    Metric::InstructionsPerPacket,
    Metric::PeakRssBytes,
];

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => bench(5),
        [repeats] => bench(repeats.parse()?),
        [way, folder, rows] => measured(way, Path::new(folder), rows.parse()?),
        _ => Err("usage: rows [REPEATS]".into()),
    }
}

/// What one process took.
#[derive(Debug, Clone, Copy)]
struct Taken {
    seconds: f64,
    peak_mb: f64,
}

fn bench(repeats: usize) -> Fallible<()> {
    let mut folders = Vec::new();
    for rows in SIZES {
        let folder = tempfile::tempdir()?;
        write(folder.path(), &plan(rows / 2)?)?;
        folders.push((rows, folder));
    }
    let load = std::fs::read_to_string("/proc/loadavg")?;
    println!("== rows of evidence, {METRICS} metrics, median of {repeats} (least..most)");
    println!("load average {}", load.trim());
    for way in ["estimate", "verify"] {
        let mut taken: Vec<Vec<Taken>> = vec![Vec::new(); SIZES.len()];
        for _ in 0..repeats {
            for (taken, (rows, folder)) in taken.iter_mut().zip(&folders) {
                taken.push(in_a_process(way, folder.path(), *rows)?);
            }
        }
        println!(
            "{way:<10}{:>9}{:>9}{:>9} {:<15}{:>8}{:>9}",
            "rows", "MB", "s", "", "ratio", "peak MB"
        );
        let mut before = None;
        for (taken, (rows, folder)) in taken.iter_mut().zip(&folders) {
            taken.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
            let [Some(least), Some(middle), Some(most)] =
                [taken.first(), taken.get(taken.len() / 2), taken.last()]
            else {
                return Err("nothing was measured".into());
            };
            let peak_mb = taken.iter().map(|taken| taken.peak_mb).fold(0.0, f64::max);
            let ratio = before.map_or_else(String::new, |before: f64| {
                format!("x{:.2}", middle.seconds / before)
            });
            before = Some(middle.seconds);
            let size_mb = mb(std::fs::metadata(folder.path().join(rows::FILE))?.len());
            let range = format!("{:.3}..{:.3}", least.seconds, most.seconds);
            println!(
                "{:<10}{rows:>9}{size_mb:>9.1}{:>9.3} {range:<15}{ratio:>8}{peak_mb:>9.1}",
                "", middle.seconds
            );
        }
    }
    Ok(())
}

fn in_a_process(way: &str, folder: &Path, rows: u32) -> Fallible<Taken> {
    let output = Command::new(std::env::current_exe()?)
        .arg(way)
        .arg(folder)
        .arg(rows.to_string())
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let (seconds, peak_mb) = text.trim().split_once(' ').ok_or("two numbers")?;
    Ok(Taken {
        seconds: seconds.parse()?,
        peak_mb: peak_mb.parse()?,
    })
}

fn measured(way: &str, folder: &Path, rows: u32) -> Fallible<()> {
    let file = folder.join(rows::FILE);
    let elapsed_ns = match way {
        "estimate" => estimate(&file, rows)?,
        "verify" => verify(&file, rows)?,
        other => return Err(format!("{other}: estimate or verify").into()),
    };
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB"))
        .ok_or("VmHWM of /proc/self/status")?;
    let peak: u64 = peak.trim().parse()?;
    println!("{} {}", real(elapsed_ns) / 1e9, mb(peak * 1024));
    Ok(())
}

/// Reading, chaining, pairing and Student's t, in the memory of the values that are compared.
fn estimate(file: &Path, rows: u32) -> Fallible<u64> {
    let case = case();
    let start_ns = clock::monotonic_ns();
    let mut columns: Vec<[Vec<f64>; 2]> = vec![Default::default(); METRICS];
    let mut first: Option<TrialRecord> = None;
    for row in Chain::open(file, PLAN_SHA256)? {
        let row = row?;
        let Some(begun) = first.take() else {
            first = Some(row);
            continue;
        };
        if begun.pair != row.pair || !pairs::counts(&[&begun, &row]) {
            return Err(format!("pair {} is not whole", begun.pair).into());
        }
        for row in [&begun, &row] {
            let arm = usize::from(row.arm != "baseline");
            let values = values(&case, row).ok_or("a value that is not known")?;
            for (column, value) in columns.iter_mut().zip(values) {
                column[arm].push(value);
            }
        }
    }
    let mut compared = 0;
    for [baseline, candidate] in &columns {
        let ratio = compare(Scale::Ratio, baseline, candidate, 1, Enumerate::No)?;
        let limits = ratio
            .intervals
            .map_err(|refusal| format!("{refusal:?}"))?
            .delta_t;
        let wide = limits.lo95 < limits.hi95;
        if !wide || baseline.len() != rows as usize / 2 {
            return Err("an interval without width, or of too few pairs".into());
        }
        compared += 1;
    }
    if compared != METRICS {
        return Err(format!("{compared} metrics").into());
    }
    Ok(clock::monotonic_ns() - start_ns)
}

/// The tool's own path: all rows, held against the plan, and judged.
fn verify(file: &Path, rows: u32) -> Fallible<u64> {
    let plan = plan(rows / 2)?;
    let start_ns = clock::monotonic_ns();
    let records = Chain::open(file, PLAN_SHA256)?.collect::<Result<Vec<_>, _>>()?;
    replay::check(&plan, &records)?;
    let identity = judge::Identity {
        plan_sha256: PLAN_SHA256.into(),
        rows_sha256: PLAN_SHA256.into(),
        host_class: "0000".into(),
        host: "synthetic".into(),
    };
    let analysis = judge::analyse(&plan, &records, &identity);
    if analysis.comparisons[0].pairs != rows / 2 {
        return Err("not every pair was judged".into());
    }
    Ok(clock::monotonic_ns() - start_ns)
}

/// The metrics that passes have, then the counters of the row itself.
fn values(case: &Case, row: &TrialRecord) -> Option<Vec<f64>> {
    let mut values = Vec::with_capacity(METRICS);
    for metric in OF_PASSES {
        values.push(metrics::value(metric, case, row)?);
    }
    for pass in row.passes()? {
        values.extend([pass.elapsed_ns, pass.cpu_ns].map(real));
        values.extend([real(pass.peak_rss_bytes?), real(pass.instructions?)]);
    }
    let (start, end) = (&row.host.as_ref()?.start, &row.host.as_ref()?.end);
    for (before, after) in [(&start.softnet, &end.softnet), (&start.udp, &end.udp)] {
        let delta = |name: &&str| Some(real(after.get(*name)? - before.get(*name)?));
        let names = ["processed", "squeezed", "in_datagrams", "out_datagrams"];
        values.extend(names.iter().filter_map(delta));
    }
    for name in ["rx_packets", "rx_bytes", "tx_packets", "tx_bytes"] {
        let of = |counters: &HostCounters| counters.links.get("lo")?.get(name).copied();
        values.push(real(of(end)? - of(start)?));
    }
    values.push(real(row.ended_ns - row.started_ns));
    (values.len() == METRICS).then_some(values)
}

/// A sealed plan of that many pairs, one arm after the other.
fn plan(pairs: u32) -> Fallible<Plan> {
    let mut campaign = shipped::load("demo", &Overrides::default())?;
    let design = &mut campaign.design;
    design.pairs = pairs;
    design.arrangement = Arrangement::Sequential;
    design.primary = Metric::ProcessCpuNsPerPacket;
    design.margin = Some(0.02);
    campaign.cases = vec![case()];
    let sha256 = |name: &str| wiretrial_contract::digest::sha256(name.as_bytes());
    Ok(sealing::plan(sealing::Inputs {
        campaign,
        earlier_plans: Vec::new(),
        ci_attempt: None,
        seed: Seed(1),
        isolation: Isolation::None,
        binaries: ["receiver/baseline", "receiver/candidate"]
            .map(|role| (role.to_owned(), sha256(role)))
            .into(),
        identities: BTreeMap::new(),
        origins: BTreeMap::new(),
        placement: Placement::default(),
        floors: Vec::new(),
    }))
}

fn case() -> Case {
    Case {
        name: CASE.into(),
        work: Work::Passes(Passes {
            input: Some(Input {
                file: "mix.pcap".into(),
                sha256: "4be1".repeat(16),
                units: 100_000,
                short_units: 100,
                short_sha256: "77aa".repeat(16),
            }),
            passes: 2,
            units: UnitsRule::All,
            limit_ns: 60_000_000_000,
            programs: vec![PassProgram::RawFold, PassProgram::RawFold],
        }),
    }
}

/// Writes the rows of a finished plan.
fn write(folder: &Path, plan: &Plan) -> Fallible<()> {
    let mut file = Rows::create(folder, PLAN_SHA256)?;
    let mut noise = Noise {
        stream: Stream::new(7),
        now_ns: 1_000_000_000,
        counters: counters(),
    };
    for planned in plan.pairs.chunks(5_000) {
        let rows = planned
            .iter()
            .flat_map(|planned| pair(plan, planned, &mut noise));
        file.append(&mut rows.collect::<Vec<_>>())?;
    }
    Ok(())
}

/// What time and chance did so far.
struct Noise {
    stream: Stream,
    now_ns: u64,
    counters: HostCounters,
}

impl Noise {
    /// About `value`, within 2 %.
    fn about(&mut self, value: u64) -> u64 {
        value - value / 50 + self.stream.below(value / 25)
    }
}

fn counters() -> HostCounters {
    let named = |names: &[&str]| -> BTreeMap<String, u64> {
        names.iter().map(|name| ((*name).to_owned(), 0)).collect()
    };
    let link = named(&[
        "rx_packets",
        "rx_bytes",
        "rx_dropped",
        "rx_errors",
        "tx_packets",
        "tx_bytes",
        "tx_dropped",
        "tx_errors",
    ]);
    HostCounters {
        links: [("lo".to_owned(), link)].into(),
        softnet: named(&["processed", "dropped", "squeezed"]),
        udp: named(&[
            "in_datagrams",
            "out_datagrams",
            "in_errors",
            "rcvbuf_errors",
        ]),
        sink_dropped: Some(0),
        ..HostCounters::default()
    }
}

/// Both rows of a pair, in its launch order.
fn pair(plan: &Plan, planned: &PlannedPair, noise: &mut Noise) -> Vec<TrialRecord> {
    let order = drawn(2, 2, true, plan.seed.0, CASE, planned.pair);
    let arms = planned.order.arms().into_iter();
    arms.map(|arm| {
        let name = &plan.campaign.arms[arm].name;
        let inputs = order.iter().filter(|(of, _)| *of == arm);
        let program = &plan.binaries[&format!("receiver/{name}")];
        let passes: Vec<PassReport> = inputs
            .map(|(_, input)| pass(*input, arm, program, noise))
            .collect();
        row(plan, planned, arm, passes, noise)
    })
    .collect()
}

/// A pass of an arm, the candidate 3 % cheaper.
fn pass(input: PassInput, arm: usize, program: &str, noise: &mut Noise) -> PassReport {
    let (units, cpu_ns, checksum) = match input {
        PassInput::Whole => (100_000, [24_000_000, 23_280_000][arm], "whole"),
        PassInput::Short => (100, 4_000_000, "short"),
    };
    PassReport {
        input,
        elapsed_ns: noise.about(cpu_ns + 1_000_000),
        cpu_ns: noise.about(cpu_ns),
        units: Some(units),
        bytes: Some(units * 512),
        errors: Some(0),
        checksum: Some(wiretrial_contract::digest::sha256(checksum.as_bytes())),
        peak_rss_bytes: Some(noise.about(4 << 20)),
        instructions: Some(noise.about(cpu_ns * 3)),
        program_sha256: program.to_owned(),
        left_processes: false,
    }
}

fn row(
    plan: &Plan,
    planned: &PlannedPair,
    arm: usize,
    passes: Vec<PassReport>,
    noise: &mut Noise,
) -> TrialRecord {
    let name = &plan.campaign.arms[arm].name;
    let program = &plan.binaries[&format!("receiver/{name}")];
    let started_ns = noise.now_ns;
    let start = HostCounters {
        at_ns: started_ns,
        ..noise.counters.clone()
    };
    noise.now_ns += noise.about(60_000_000);
    advance(noise);
    let end = HostCounters {
        at_ns: noise.now_ns,
        ..noise.counters.clone()
    };
    let host = HostWindow {
        start,
        end,
        foreign_cpu_ns: Some(0),
    };
    let number = u32::try_from(planned.pair).unwrap_or(u32::MAX) * 2 + u32::from(arm == 1);
    TrialRecord {
        schema: TRIAL_SCHEMA.into(),
        prev: String::new(),
        row: 0,
        phase: Phase::Confirm,
        case: CASE.into(),
        arm: name.clone(),
        pair: planned.pair,
        replaces: None,
        order: planned.order.clone(),
        identity: TrialIdentity {
            run_id: 1,
            trial: number,
            nonce: number,
        },
        outcome: Outcome::Ok,
        started_ns,
        ended_ns: noise.now_ns,
        intended_pps: None,
        receiver_sha256: Some(program.clone()),
        program_sha256: Some(program.clone()),
        generator_sha256: None,
        ready: None,
        generator: None,
        delivery: Some(Delivery::Passes(passes)),
        guards: guards::check(&DesignView::of_passes(&plan.rule, Vec::new(), &host)),
        host: Some(host),
        ledger: None,
        flags: Vec::new(),
    }
}

/// What a trial adds to the counters of the host.
fn advance(noise: &mut Noise) {
    let packets = noise.about(20_000);
    let add = |counters: &mut BTreeMap<String, u64>, name: &str, by: u64| {
        if let Some(counter) = counters.get_mut(name) {
            *counter += by;
        }
    };
    let squeezed = noise.about(100);
    let counters = &mut noise.counters;
    if let Some(link) = counters.links.get_mut("lo") {
        for side in ["rx", "tx"] {
            add(link, &format!("{side}_packets"), packets);
            add(link, &format!("{side}_bytes"), packets * 64);
        }
    }
    add(&mut counters.softnet, "processed", packets);
    add(&mut counters.softnet, "squeezed", squeezed);
    add(&mut counters.udp, "in_datagrams", packets);
    add(&mut counters.udp, "out_datagrams", packets);
}

fn mb(bytes: u64) -> f64 {
    real(bytes) / 1e6
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts and times of a campaign are below 2^53"
)]
fn real(value: u64) -> f64 {
    value as f64
}
