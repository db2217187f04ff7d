//! Campaigns over programs of the user's and over passes: what they resolve to, the sentences about
//! wrong ones, shipped adapters, gates, and the files that `wiretrial new` prints.

use std::path::PathBuf;

use regex::Regex;
use wiretrial::campaign::file::{self, parse};
use wiretrial::campaign::keys::{KEYS, find};
use wiretrial::campaign::overrides::Overrides;
use wiretrial::campaign::skeleton::{self, Skeleton};
use wiretrial::campaign::{shipped, text};
use wiretrial_contract::control::{ReceiveCpu, TopologyKind};
use wiretrial_contract::metric::Metric;
use wiretrial_contract::plan::{
    Arrangement, Campaign, Condition, FailOn, Input, Need, PassProgram, Test, Workload,
};
use wiretrial_contract::program::{
    CountName, CountSource, Placeholder, ProgramSpec, ReadySign, StopSignal,
};

use super::{read, refused, refused_demo, refused_line, set};

/// The outside program of the design's example, as `.wiretrial.toml` in its repository.
const SOFTFLOWD: &str = r#"schema = 1
kind = "paired"
workload = { kind = "file", file = "bench/mix.pcap" }

[program]
build  = [["autoreconf", "-if"], ["./configure"], ["make", "-j2"]]
binary = "softflowd"
file   = ["{binary}", "-d", "-r", "{file}", "-n", "127.0.0.1:9", "-c", "none"]
live   = ["{binary}", "-d", "-i", "{interface}", "-n", "127.0.0.1:9", "-c", "{work}/ctl", "{filter}"]
counts.processed = { stdout = 'Packets processed: (\d+)' }
"#;

/// A live campaign of a program; its line 9 is the first one added.
const LIVE: &str = "schema = 1\nkind = \"paired\"\n[[case]]\nname = \"a\"\ntraffic.rate-pps = 20000\n\
    [arm.baseline.program]\nadapter = \"tcpdump\"\n[arm.candidate.program]\n";

/// A file campaign of a program; its line 6 is the first one added, in `[program]`.
const FILE: &str = "schema = 1\nkind = \"paired\"\nworkload = { kind = \"file\", file = \"a.pcap\" }\n\
    [program]\nbinary = \"p\"\n";

fn wrong_program(lines: &str) -> String {
    refused(&format!("{FILE}{lines}\n"), &Overrides::default())
}

fn pass_program(campaign: &Campaign, arm: usize) -> &ProgramSpec {
    match &campaign.cases[0].passes().expect("passes").programs[arm] {
        PassProgram::Outside(program) => program,
        PassProgram::RawFold => panic!("a program of the user's"),
    }
}

fn live_program(campaign: &Campaign, arm: usize) -> &ProgramSpec {
    let live = campaign.cases[0].live().expect("a live case");
    live.receivers[arm]
        .outside()
        .expect("a program of the user's")
}

#[test]
fn a_program_that_reads_a_file() {
    let campaign = parse(".wiretrial.toml", SOFTFLOWD, &Overrides::default()).unwrap();
    assert_eq!(campaign.name, "wiretrial");
    assert_eq!(campaign.workload(), Workload::File);
    assert_eq!(campaign.design.primary, Metric::ProcessCpuNsPerPacket);
    assert_eq!(campaign.design.arrangement, Arrangement::Interleaved);
    let passes = campaign.cases[0].passes().unwrap();
    assert_eq!((passes.passes, passes.limit_ns), (5, 60_000_000_000));
    let input = Input {
        file: "bench/mix.pcap".into(),
        sha256: String::new(),
        units: 0,
        short_units: 100,
        short_sha256: String::new(),
    };
    assert_eq!(passes.input, Some(input));
    let program = pass_program(&campaign, 0);
    assert_eq!(program, pass_program(&campaign, 1));
    assert_eq!(program.binary, "softflowd");
    assert_eq!(program.build.len(), 3);
    assert_eq!(program.arguments[..4], ["{binary}", "-d", "-r", "{file}"]);
    assert_eq!(
        program.counts[&CountName::Processed],
        CountSource::Stdout(r"Packets processed: (\d+)".into())
    );
    assert!(file::identical_arms(&campaign));
}

#[test]
fn the_same_program_live() {
    let live = set(&["workload.kind=live", "traffic.rate-pps=20k"]);
    let campaign = parse(".wiretrial.toml", SOFTFLOWD, &live).unwrap();
    assert_eq!(campaign.topology.kind, TopologyKind::Wire);
    assert_eq!(campaign.topology.receive_cpu, ReceiveCpu::Separate);
    assert_eq!(campaign.design.primary, Metric::ProcessCpuNsPerPacket);
    let program = live_program(&campaign, 1);
    assert_eq!(program.arguments[2], "-i");
    assert_eq!(
        (&program.ready, program.stop),
        (&ReadySign::Seen, StopSignal::SigInt)
    );
    let traffic = &campaign.cases[0].live().unwrap().traffic;
    assert_eq!(
        (traffic.warm_up_ns, traffic.slice_ns),
        (0, 50_000_000),
        "what is lost of a warm-up could not be told from what counts"
    );
}

#[test]
fn where_files_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.toml");
    std::fs::write(&path, format!("{FILE}adapter = \"own/a.toml\"\n")).unwrap();
    std::fs::create_dir(folder.path().join("own")).unwrap();
    let adapter = "schema = 1\n[program]\nbinary = \"q\"\nfile = [\"{binary}\", \"{file}\"]\n";
    std::fs::write(folder.path().join("own/a.toml"), adapter).unwrap();
    let path = path.to_str().unwrap();

    let resolved = shipped::resolve(path, &Overrides::default()).unwrap();
    assert_eq!(resolved.folder, folder.path());
    assert_eq!(resolved.inputs, [folder.path().join("a.pcap")]);
    let program = pass_program(&resolved.campaign, 0);
    assert_eq!(program.binary, "p", "the file's own keys lie above");
    assert_eq!(program.arguments, ["{binary}", "{file}"]);

    let elsewhere = set(&["workload.file=b.pcap"]);
    let resolved = shipped::resolve(path, &elsewhere).unwrap();
    assert_eq!(resolved.inputs, [PathBuf::from("b.pcap")]);
    let absolute = set(&["workload.file=/data/c.pcap"]);
    let resolved = shipped::resolve(path, &absolute).unwrap();
    assert_eq!(resolved.inputs, [PathBuf::from("/data/c.pcap")]);
    let passes = resolved.campaign.cases[0].passes().unwrap();
    assert_eq!(passes.input.as_ref().unwrap().file, "c.pcap");
    let standard = FILE.replace("a.pcap", "standard:mix/1k");
    assert_ne!(standard, FILE);
    std::fs::write(path, format!("{standard}adapter = \"own/a.toml\"\n")).unwrap();
    let resolved = shipped::resolve(path, &Overrides::default()).unwrap();
    assert_eq!(resolved.inputs, [PathBuf::from("standard:mix/1k")]);

    let demo = shipped::resolve("demo", &Overrides::default()).unwrap();
    assert_eq!((demo.inputs.len(), demo.folder), (0, PathBuf::new()));
}

#[test]
fn the_built_in_receiver_reads_files_and_cases_differ_in_them() {
    let campaign = read(
        "schema = 1\nkind = \"paired\"\nworkload.kind = \"file\"\nsweep.workload.file = [\"a.pcap\", \"b.pcap\"]\n",
    );
    let names: Vec<&str> = campaign
        .cases
        .iter()
        .map(|case| case.name.as_str())
        .collect();
    assert_eq!(names, ["default/a.pcap", "default/b.pcap"]);
    let passes = campaign.cases[1].passes().unwrap();
    assert_eq!(
        passes.programs,
        [PassProgram::RawFold, PassProgram::RawFold]
    );
    assert_eq!(passes.input.as_ref().unwrap().file, "b.pcap");
}

#[test]
fn a_command_line_has_no_input() {
    let campaign = read(
        "schema = 1\nkind = \"paired\"\nworkload.kind = \"command\"\n\
         [arm.baseline.program]\nbinary = \"gzip\"\ncommand = [\"{binary}\", \"-V\"]\n\
         [arm.candidate.program]\nbinary = \"xz\"\ncommand = [\"{binary}\", \"-V\"]\n",
    );
    assert_eq!(campaign.workload(), Workload::Command);
    assert_eq!(campaign.design.primary, Metric::ElapsedNsPerUnit);
    assert_eq!(pass_program(&campaign, 1).binary, "xz");
}

/// Each key of a program and of passes reaches the campaign, and is shown as it was set.
#[test]
fn every_key_of_programs_is_kept() {
    let common = [
        ("program.binary", "bin/p"),
        ("program.build", r#"[["make"], ["make", "check"]]"#),
        ("program.cwd", "{work}/in"),
        ("program.env", "{ LC_ALL = 'C' }"),
        ("program.counts.processed", r"{ stdout = '(\d+)' }"),
        ("program.counts.received", r"{ stderr = '(\d+)' }"),
        ("program.counts.dropped", r#"{ json = "/dropped" }"#),
        (
            "program.counts.interface-dropped",
            r#"{ file = "{work}/s", regex = '(\d+)' }"#,
        ),
        (
            "program.counts.written",
            r#"{ command = ["ctl", "{work}/c"], stdout = '(\d+)' }"#,
        ),
    ];
    let live = [
        ("workload.kind", "live"),
        ("program.live", r#"["{binary}", "-i", "{interface}"]"#),
        ("program.ready", r"{ stderr = 'listening' }"),
        ("program.stop", "SIGHUP"),
    ];
    let file = [
        ("workload.kind", "file"),
        ("workload.file", "x/y.pcap"),
        ("workload.units", "equal"),
        ("workload.passes", "7"),
        ("workload.limit", "90s"),
        ("program.file", r#"["{binary}", "-r", "{file}"]"#),
    ];
    let command = [
        ("workload.kind", "command"),
        ("program.command", r#"["{binary}"]"#),
    ];
    let mut shown: Vec<&str> = vec!["program.adapter"];
    for (of, more) in [
        (&live[..], "traffic.rate-pps=1k"),
        (&file, ""),
        (&command, ""),
    ] {
        let values: Vec<(&str, &str)> = common.iter().chain(of).copied().collect();
        let mut assignments: Vec<String> = values
            .iter()
            .map(|(path, value)| format!("{path}={value}"))
            .collect();
        assignments.extend((!more.is_empty()).then(|| more.to_owned()));
        let overrides = Overrides {
            set: assignments,
            ..Overrides::default()
        };
        let campaign = parse("x.toml", "schema = 1\nkind = \"paired\"\n", &overrides).unwrap();
        let full = text::full(&campaign, 1, None);
        for (path, value) in values {
            assert_eq!(find(path).unwrap().values(&campaign), [value; 2], "{path}");
            assert!(full.contains(value), "{path}");
            shown.push(path);
        }
        assert!(!full.contains("receiver.immediate"), "{full}");
    }
    for key in KEYS {
        if key.path.starts_with("program.") || key.path.starts_with("workload.") {
            assert!(shown.contains(&key.path), "{}", key.path);
        }
    }
}

#[test]
fn the_plan_of_a_file_campaign() {
    let campaign = parse(".wiretrial.toml", SOFTFLOWD, &Overrides::default()).unwrap();
    assert_eq!(
        text::brief(&campaign, None),
        "cases    1: default\n\
         program  softflowd, built in 3 steps\n\
         trials   24 in 12 pairs, 12 a case after 3 of a pilot; 5 passes each, the arms' in turns\n\
         time     as long as the passes take, 60s each at most\n\
         touches  reads bench/mix.pcap; a new folder of evidence/\n\
         effect   the pilot will say; wiretrial run floor shows what this host sees\n"
    );
    assert_eq!(
        text::duration(&campaign),
        "wiretrial: 12 pairs, as long as the passes take, 60s each at most"
    );
    let quick = Overrides {
        quick: true,
        ..Overrides::default()
    };
    let campaign = parse(".wiretrial.toml", SOFTFLOWD, &quick).unwrap();
    assert_eq!(campaign.cases[0].passes().unwrap().passes, 2);
}

#[test]
fn two_programs_side_by_side() {
    let campaign = shipped::load("tcpdump-dumpcap", &Overrides::default()).unwrap();
    assert_eq!(campaign.topology.kind, TopologyKind::Wire);
    assert_eq!(campaign.topology.receive_cpu, ReceiveCpu::Separate);
    let [tcpdump, dumpcap] = [0, 1].map(|arm| live_program(&campaign, arm));
    assert_eq!((&*tcpdump.binary, &*dumpcap.binary), ("tcpdump", "dumpcap"));
    assert!(!dumpcap.counts.contains_key(&CountName::Received));
    let brief = text::brief(&campaign, None);
    for part in [
        "program  baseline: tcpdump, candidate: dumpcap\n",
        "touches  a pair of interfaces in two private networks, UDP ports 39053 to 39055",
    ] {
        assert!(brief.contains(part), "{brief}");
    }
}

/// An adapter that a later layer names takes the place of an earlier one as a whole.
#[test]
fn the_last_adapter_counts() {
    let both = set(&["program.adapter=dumpcap"]);
    let campaign = shipped::load("tcpdump-dumpcap", &both).unwrap();
    assert_eq!(live_program(&campaign, 0), live_program(&campaign, 1));
    assert!(
        !live_program(&campaign, 0)
            .counts
            .contains_key(&CountName::Received)
    );
}

/// What the programs really print, and what the expressions of their adapters find in it.
#[test]
fn adapters_find_the_counts() {
    let live = [
        (
            "tcpdump",
            "tcpdump: listening on lo, link-type EN10MB (Ethernet), snapshot length 262144 bytes\n\
             1214 packets captured\n4000 packets received by filter\n7 packets dropped by kernel\n",
            &[
                (CountName::Processed, "1214"),
                (CountName::Received, "4000"),
                (CountName::Dropped, "7"),
            ][..],
        ),
        (
            "dumpcap",
            "Capturing on 'Loopback: lo'\nFile: /dev/null\nPackets captured: 2000\nPackets \
             received/dropped on interface 'Loopback: lo': 2001/9 \
             (pcap:4/dumpcap:3/flushed:2/ps_ifdrop:5) (100.0%)\n",
            &[
                (CountName::Processed, "2001"),
                (CountName::Dropped, "4"),
                (CountName::InterfaceDropped, "5"),
                (CountName::Written, "2000"),
            ],
        ),
        (
            "tshark",
            "Capturing on 'Loopback: lo'\n ** (tshark:454) 19:25:32.782590 [Main MESSAGE] -- \
             Capture started.\n ** (tshark:454) 19:25:32.782642 [Main MESSAGE] -- File: \
             \"/tmp/x/wireshark_loCGGBZ3.pcapng\"\ntshark: \n2000 packets captured\n",
            &[(CountName::Processed, "2000")],
        ),
        (
            "softflowd",
            "softflowd[6554]: Accumulated statistics since 2026-11-30T19:27:44 UTC:\n\
             Number of active flows: 1\nPackets processed: 1724\nFragments: 0\n\
             Ignored packets: 0 (0 non-IP, 0 too short)\nPackets received by libpcap: 4000\n\
             Packets dropped by libpcap: 3\nPackets dropped by interface: 0\n",
            &[
                (CountName::Processed, "1724"),
                (CountName::Received, "4000"),
                (CountName::Dropped, "3"),
                (CountName::InterfaceDropped, "0"),
            ],
        ),
    ];
    let file = [
        ("tcpdump", "5000 packets\n"),
        (
            "tshark",
            "| Duration: 4.999 secs             |\n| Interval       | Frames |  Bytes |\n\
             | 0.000 <> 4.999 |   5000 | 300000 |\n",
        ),
        ("softflowd", "Packets processed: 5000\nFragments: 0\n"),
    ];
    let campaign = |name: &str, kind: &str, more: &str| {
        let text = format!(
            "schema = 1\nkind = \"paired\"\nworkload.kind = \"{kind}\"\n{more}\nprogram.adapter = \"{name}\"\n"
        );
        parse("x.toml", &text, &Overrides::default())
    };
    assert_eq!(
        live.map(|(name, ..)| name),
        shipped::ADAPTERS.map(|adapter| adapter.name)
    );
    for (name, printed, counts) in live {
        let campaign = campaign(name, "live", "traffic.rate-pps = 1000").unwrap();
        let program = live_program(&campaign, 0);
        assert_eq!(program.counts.len(), counts.len(), "{name}");
        for (count, value) in counts {
            assert_eq!(
                found(&program.counts[count], printed),
                Some(*value),
                "{name} {count:?}"
            );
        }
    }
    for (name, printed) in file {
        let campaign = campaign(name, "file", "workload.file = \"a.pcap\"").unwrap();
        let counts = &pass_program(&campaign, 0).counts;
        assert_eq!(counts.len(), 1, "{name}");
        assert_eq!(
            found(&counts[&CountName::Processed], printed),
            Some("5000"),
            "{name}"
        );
    }
    assert_eq!(
        campaign("dumpcap", "file", "workload.file = \"a.pcap\"")
            .unwrap_err()
            .message,
        "x.toml: program.file is not set for arm baseline in case default, adapter dumpcap has none; \
         a file workload runs it, for instance program.file = [\"{binary}\"]"
    );
}

/// The last number that a source finds in a text.
fn found<'t>(source: &CountSource, text: &'t str) -> Option<&'t str> {
    let (CountSource::Stdout(regex)
    | CountSource::Stderr(regex)
    | CountSource::Command { regex, .. }) = source
    else {
        panic!("adapters use expressions");
    };
    let last = Regex::new(regex)
        .expect("it was checked")
        .captures_iter(text)
        .last()?;
    last.get(1).map(|group| group.as_str())
}

#[test]
fn wrong_programs() {
    for (lines, sentence) in [
        (
            "file = [\"{binary}\", \"{fle}\"]",
            "campaigns/x.toml:6: program.file: unknown placeholder {fle}; there are {binary} \
             {interface} {port} {filter} {file} {work} {packets} ({{ for a brace)",
        ),
        (
            "live = [\"{binary}\", \"{file}\"]",
            "campaigns/x.toml:6: program.live: {file} stands for nothing in a live workload; there \
             are {binary} {interface} {port} {filter} {work} {packets}",
        ),
        (
            "file = [\"{binary}\", \"{interface}\"]",
            "campaigns/x.toml:6: program.file: {interface} stands for nothing in a file workload; \
             there are {binary} {file} {work} {packets}",
        ),
        (
            "file = [\"{binary}\", \"{file\"]",
            "campaigns/x.toml:6: program.file: \"{file\" has a brace without its partner; {{ and }} \
             stand for braces",
        ),
        (
            "file = []",
            "campaigns/x.toml:6: program.file: the list is []; it begins with \"{binary}\"",
        ),
        (
            "file = [\"p\", \"{file}\"]",
            "campaigns/x.toml:6: program.file: {binary} is not in it; what runs would not be the \
             program whose SHA-256 is sealed",
        ),
        (
            "file = \"p -r x\"",
            "campaigns/x.toml:6: program.file \"p -r x\" is not a list of texts such as \
             [\"{binary}\", \"-r\", \"{file}\"]",
        ),
        (
            "build = [[\"make\"], []]",
            "campaigns/x.toml:6: program.build: step 2 is []; it must name a program",
        ),
        (
            "build = [\"make\"]",
            "campaigns/x.toml:6: program.build [\"make\"] is not a list of lists of texts such as \
             [[\"./configure\"], [\"make\"]]",
        ),
        (
            "counts.processed = { stdout = 'x' }",
            "campaigns/x.toml:6: program.counts.processed: the regular expression 'x' has no group; \
             put the number in ( )",
        ),
        (
            "counts.processed = { stdout = '(x' }",
            "campaigns/x.toml:6: program.counts.processed: the regular expression '(x' does not \
             compile: unclosed group",
        ),
        (
            "counts.processed = { stdout = '(x)(y)' }",
            "campaigns/x.toml:6: program.counts.processed: the regular expression '(x)(y)' has 2 \
             groups; keep ( ) around the number and write the others (?: )",
        ),
        (
            "counts.processed = { json = \"packets\" }",
            "campaigns/x.toml:6: program.counts.processed: the JSON pointer \"packets\" does not \
             begin with /; write one as \"/packets\"",
        ),
        (
            "counts.processed = { command = [], stdout = '(x)' }",
            "campaigns/x.toml:6: program.counts.processed: the command is []; it must name a program",
        ),
        (
            "counts.procesed = { stdout = '(x)' }",
            "campaigns/x.toml:6: unknown key program.counts.procesed.stdout; did you mean \
             program.counts.processed?",
        ),
        (
            "counts.processed = { stdot = '(x)' }",
            "campaigns/x.toml:6: program.counts.processed { stdot = \"(x)\" } is not a source of a \
             count: { stdout = 'regex' }, { stderr = 'regex' }, { file = \"path\", regex = 'regex' }, \
             { json = \"/pointer\" }, { command = [\"...\"], stdout = 'regex' }, or { live = SOURCE, \
             file = SOURCE, command = SOURCE }",
        ),
        (
            "ready = { stderr = '(' }",
            "campaigns/x.toml:6: program.ready: the regular expression '(' does not compile: \
             unclosed group",
        ),
        (
            "ready = \"soon\"",
            "campaigns/x.toml:6: program.ready \"soon\" is not \"seen\" or { stderr = 'regular \
             expression' }",
        ),
        (
            "stop = \"SIGKILL\"",
            "campaigns/x.toml:6: program.stop \"SIGKILL\" is not one of SIGINT, SIGTERM, SIGHUP",
        ),
        (
            "env = { A = 1 }",
            "campaigns/x.toml:6: program.env { A = 1 } is not a table of texts such as { LC_ALL = \
             \"C\" }",
        ),
        (
            "cwd = \"{work}/{port}\"\nfile = [\"{binary}\"]",
            "campaigns/x.toml:6: program.cwd: {port} stands for nothing in a file workload; there \
             are {binary} {file} {work} {packets}",
        ),
        (
            "file = [\"{binary}\"]\ncounts.processed = { file = \"{port}\", regex = '(x)' }",
            "campaigns/x.toml:7: program.counts.processed: {port} stands for nothing in a file \
             workload; there are {binary} {file} {work} {packets}",
        ),
        (
            "live = [\"{binary}\"]",
            "campaigns/x.toml: program.file is not set for arm baseline in case default; a file \
             workload runs it, for instance program.file = [\"{binary}\"]",
        ),
        (
            "adapter = \"tcpdmp\"",
            "campaigns/x.toml:6: program.adapter is \"tcpdmp\"; shipped: tcpdump, dumpcap, tshark, \
             softflowd; a file is named with a / or .toml",
        ),
        (
            "adapter = \"own.toml\"",
            "campaigns/x.toml:6: program.adapter: cannot read campaigns/own.toml: No such file or \
             directory (os error 2)",
        ),
        (
            "[sweep.program]\nfile = [[\"a\"]]",
            "campaigns/x.toml:7: sweep.program.file cannot be swept; cases are named after their \
             values, and a list of texts makes no name",
        ),
    ] {
        assert_eq!(wrong_program(lines), sentence);
    }
    for binary in ["/usr/bin/p", "../p"] {
        let text = FILE.replace("\"p\"", &format!("\"{binary}\""));
        assert_eq!(
            refused(
                &format!("{text}build = [[\"make\"]]\nfile = [\"{{binary}}\"]\n"),
                &Overrides::default()
            ),
            format!(
                "campaigns/x.toml:5: program.binary is \"{binary}\"; after a build it is a path \
                 inside the repository"
            )
        );
    }
    assert_eq!(
        refused(
            &FILE.replace("binary = \"p\"", "file = [\"{binary}\"]"),
            &Overrides::default()
        ),
        "campaigns/x.toml: program.binary is not set for arm baseline in case default; name the \
         executable"
    );
}

#[test]
fn keys_of_another_workload() {
    for (lines, sentence) in [
        (
            "[traffic]\nbatch = 1",
            "campaigns/x.toml:7: traffic.batch is set, but a file workload sends nothing; leave it out",
        ),
        (
            "[receiver]\nimmediate = true",
            "campaigns/x.toml:7: receiver.immediate is set, but a file workload sends nothing; leave it out",
        ),
        (
            "[topology]\nkind = \"wire\"",
            "campaigns/x.toml:7: topology.kind is set, but a file workload sends nothing; leave it out",
        ),
    ] {
        assert_eq!(wrong_program(lines), sentence);
    }
    assert_eq!(
        refused_line("workload.passes = 3"),
        "campaigns/x.toml:6: workload.passes is set, but a live workload has no passes; leave it out"
    );
    assert_eq!(
        refused_line("workload.file = \"a\""),
        "campaigns/x.toml:6: workload.file is set, but a live workload reads no file; leave it out"
    );
    assert_eq!(
        refused(
            "schema = 1\nkind = \"paired\"\nworkload.kind = \"file\"\n",
            &Overrides::default()
        ),
        "campaigns/x.toml: workload.file is not set in case default; a file workload reads one"
    );
    assert_eq!(
        refused(
            "schema = 1\nkind = \"paired\"\nworkload.kind = \"command\"\n",
            &Overrides::default()
        ),
        "campaigns/x.toml: program.binary is not set for arm baseline in case default; name the \
         executable"
    );
    assert_eq!(
        wrong_program("file = [\"{binary}\"]\n[design]\narrangement = \"sequential\""),
        "design.arrangement is sequential; passes of the two arms alternate always, leave it out"
    );
    assert_eq!(
        wrong_program("file = [\"{binary}\"]\n[design]\nprimary = \"latency-p50-ns\""),
        "design.primary is latency-p50-ns; its trials do not have it, choose \
         process-cpu-ns-per-packet, elapsed-ns-per-unit, units-per-second, peak-rss-bytes, \
         instructions-per-packet"
    );
    assert_eq!(
        refused(FILE, &set(&["workload.passes=0"])),
        "workload.passes is 0; it must be 1 to 10000 (5 is the default)"
    );
}

#[test]
fn programs_and_the_built_in_receiver() {
    let live = |lines: &str| refused(&format!("{LIVE}{lines}\n"), &Overrides::default());
    assert_eq!(
        live(""),
        "campaigns/x.toml: arm baseline of case a has a [program] and arm candidate of case a has \
         none; measure programs in all arms of every case, or the built-in receiver in all"
    );
    assert_eq!(
        live("adapter = \"dumpcap\"\n[receiver]\nimmediate = true"),
        "campaigns/x.toml:11: receiver.immediate is set, but a program of the user's captures; leave \
         out receiver.* or program.*"
    );
    assert_eq!(
        live("adapter = \"dumpcap\"\n[design]\nprimary = \"latency-p50-ns\""),
        "design.primary is latency-p50-ns; its trials do not have it, choose \
         process-cpu-ns-per-packet, capture-cost-ns-per-packet, receive-cpu-ns-per-packet, \
         send-call-ns-per-packet, peak-rss-bytes, lost-per-million"
    );
    let drain = read(&format!(
        "{LIVE}adapter = \"dumpcap\"\n[receiver]\ndrain-limit = \"1s\"\n"
    ));
    let receiver = &drain.cases[0].live().unwrap().receivers[0];
    assert_eq!(receiver.drain_limit_ns, 1_000_000_000);
    let loopback = read(&format!(
        "{LIVE}adapter = \"dumpcap\"\n[topology]\nkind = \"loopback\"\n"
    ));
    assert_eq!(loopback.topology.receive_cpu, ReceiveCpu::Sender);
    assert_eq!(
        refused_demo(&["topology.receive-cpu=separate"]),
        "topology.receive-cpu is separate; on loopback the receive work is done inside the sender's \
         calls, so choose topology.kind = \"wire\""
    );
}

#[test]
fn gates_are_kept() {
    let campaign = read(&format!(
        "{FILE}file = [\"{{binary}}\"]\n[design]\nfail-on = \"regressed\"\nrequire-conclusion = true\n\
         [[gate]]\nname = \"worth-it\"\nany = [\"units-per-second up 15%\", \"peak-rss-bytes down 20%\"]\n\
         [[gate]]\nname = \"floor\"\nall = [\"units-per-second >= 369000\"]\n"
    ));
    assert_eq!(campaign.design.fail_on, FailOn::Regressed);
    assert!(campaign.design.require_conclusion);
    let [worth, floor] = &campaign.gates[..] else {
        panic!("two gates");
    };
    assert_eq!((&*worth.name, worth.need), ("worth-it", Need::Any));
    assert_eq!(
        worth.conditions,
        [
            Condition {
                metric: Metric::UnitsPerSecond,
                test: Test::Up(0.15)
            },
            Condition {
                metric: Metric::PeakRssBytes,
                test: Test::Down(0.2)
            }
        ]
    );
    assert_eq!(
        (floor.need, floor.conditions[0].test),
        (Need::All, Test::AtLeast(369_000.0))
    );
    let brief = text::brief(&campaign, None);
    for line in [
        "gate     worth-it: any of units-per-second up 15%, peak-rss-bytes down 20%\n",
        "gate     floor: units-per-second >= 369000\n",
    ] {
        assert!(brief.contains(line), "{brief}");
    }
}

#[test]
fn wrong_gates() {
    for (lines, sentence) in [
        (
            "[[gate]]\nany = [\"peak-rss-bytes up 3%\"]",
            "campaigns/x.toml:6: the gate has no name; write name = \"...\" in it",
        ),
        (
            "[[gate]]\nname = \"g\"",
            "campaigns/x.toml:6: gate g has no conditions; write any = [...] or all = [...]",
        ),
        (
            "[[gate]]\nname = \"g\"\nany = [\"peak-rss-bytes up 3%\"]\nall = [\"peak-rss-bytes up 3%\"]",
            "campaigns/x.toml:6: gate g has both any and all; write any = [...] or all = [...]",
        ),
        (
            "[[gate]]\nname = \"g\"\nany = []",
            "campaigns/x.toml:8: gate g: [] is not a list of conditions, at least one",
        ),
        (
            "[[gate]]\nname = \"g\"\nsome = []",
            "campaigns/x.toml:8: unknown key some of a gate; it has name, and any or all",
        ),
        (
            "[[gate]]\nname = \"no_regression\"",
            "campaigns/x.toml:7: gate name \"no_regression\" is the one that every campaign has; choose another",
        ),
        (
            "[[gate]]\nname = \"g\"\nany = [\"peak-rss-bytes faster\"]",
            "campaigns/x.toml:8: gate g: \"peak-rss-bytes faster\" is not a condition such as \
             \"units-per-second up 15%\", \"peak-rss-bytes <= 16MiB\" or \"units-per-second >= 369k\"",
        ),
        (
            "[[gate]]\nname = \"g\"\nall = [\"units-per-second up 15%\"]",
            "campaigns/x.toml:6: gate g: its trials have no units-per-second; they have \
             capture-cost-ns-per-packet, process-cpu-ns-per-packet, capture-kernel-ns-per-packet, \
             send-call-ns-per-packet, peak-rss-bytes, lost-per-million, \
             context-switches-per-million, page-faults-per-million, instructions-per-packet",
        ),
        (
            "[[gate]]\nname = \"g\"\nany = [\"lost-per-million down 10%\"]",
            "campaigns/x.toml:6: gate g: lost-per-million can be 0, so that no percentage of it says \
             anything; set a limit, as \"lost-per-million <= 100\"",
        ),
        (
            "[[gate]]\nname = \"g\"\nall = [\"peak-rss-bytes up 1%\"]\n\
             [[gate]]\nname = \"g\"\nall = [\"peak-rss-bytes up 1%\"]",
            "campaigns/x.toml:9: a second gate is called g; names are unique",
        ),
    ] {
        assert_eq!(refused_line(lines), sentence);
    }
    assert_eq!(
        refused("schema = 1\ngate = 3\n", &Overrides::default()),
        "campaigns/x.toml:2: gate is not a list; write [[gate]]"
    );
}

#[test]
fn what_new_prints_is_read() {
    for (skeleton, workload) in [
        (Skeleton::Paired, Workload::Live),
        (Skeleton::Table, Workload::Live),
        (Skeleton::Program, Workload::File),
    ] {
        let text = skeleton::text(skeleton);
        let campaign = parse("new.toml", &text, &Overrides::default()).unwrap();
        assert_eq!(campaign.workload(), workload);
    }
    let text = skeleton::text(Skeleton::Probe);
    let failure = parse("new.toml", &text, &Overrides::default()).unwrap_err();
    let line = 1 + text
        .lines()
        .position(|line| line.starts_with("kind = "))
        .unwrap();
    assert_eq!(
        failure.message,
        format!(
            "new.toml:{line}: kind is probe; wiretrial {} does not run it, it runs paired, table",
            env!("CARGO_PKG_VERSION")
        )
    );
    let paired = text.replace("kind = \"probe\"", "kind = \"paired\"");
    parse("new.toml", &paired, &Overrides::default()).unwrap();
}

/// The page names every placeholder.
#[test]
fn the_page_knows_the_placeholders() {
    let page = wiretrial::campaign::format::page();
    for placeholder in Placeholder::ALL {
        assert!(page.contains(&format!("`{placeholder}`")), "{placeholder}");
    }
}
