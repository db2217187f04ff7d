//! Programs for the tests: a small capture that misbehaves on request, shells, and adapters of real
//! ones; and how to see that nothing of them stays.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::bench;
use wiretrial_contract::control::{Executable, OutsidePrepare, SourcePorts};
use wiretrial_contract::digest;
use wiretrial_contract::program::{CountName, CountSource, ProgramSpec, ReadySign};
use wiretrial_contract::units::Family;

/// The filter of [`outside`].
pub(crate) const FILTER: &str = "ip and udp and dst port 39053 and src portrange 40000-40001";

/// A folder of the build for what the tests make.
fn made(name: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    path.display().to_string()
}

/// The executable at `path` as it is now.
pub(crate) fn program(path: &str, spec: ProgramSpec) -> Executable {
    Executable {
        path: path.into(),
        sha256: digest::sha256_file(Path::new(path)).unwrap(),
        spec,
    }
}

pub(crate) fn spec(arguments: &[&str]) -> ProgramSpec {
    ProgramSpec {
        arguments: arguments.iter().map(ToString::to_string).collect(),
        ..ProgramSpec::default()
    }
}

/// A shell that runs `script`; its braces are placeholders.
pub(crate) fn shell(script: &str) -> Executable {
    program("/bin/sh", spec(&["{binary}", "-c", script]))
}

/// The capture of `probe.c` in these modes.
pub(crate) fn probe(modes: &[&str]) -> Executable {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/probe.c");
    let version = digest::sha256_file(Path::new(source)).unwrap();
    let folder = made(&format!("probe-{}", &version[..8]));
    let path = format!("{folder}/probe");
    fs::create_dir_all(folder).unwrap();
    if !Path::new(&path).exists() {
        let fresh = format!("{path}-{}", std::process::id());
        let done = Command::new("cc")
            .args(["-O1", "-o", &fresh, source])
            .status();
        assert!(done.unwrap().success(), "cc {source}");
        fs::rename(&fresh, &path).unwrap();
    }
    let mut spec = spec(&["{binary}", "{interface}", "{port}"]);
    spec.arguments.extend(modes.iter().map(ToString::to_string));
    let source = CountSource::Stdout("counted (\\d+)".into());
    spec.counts = [(CountName::Processed, source)].into();
    program(&path, spec)
}

/// A trial of a program on `lo`, with the flows of the bench.
pub(crate) fn outside(program: Executable) -> OutsidePrepare {
    OutsidePrepare {
        interface: "lo".into(),
        family: Family::Ipv4,
        port: 39053,
        source_ports: SourcePorts {
            first: 40000,
            count: 2,
        },
        packets: 2000,
        program,
        drain_limit_ns: 2_000_000_000,
        quiet_ns: 200_000_000,
        deadline_ns: 60_000_000_000,
        cpu: None,
    }
}

/// The path of a program of this host.
pub(crate) fn installed(name: &str) -> Option<String> {
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':')
        .chain(["/usr/sbin"])
        .map(|folder| format!("{folder}/{name}"))
        .find(|path| Path::new(path).is_file())
}

/// How tcpdump, tshark, dumpcap and softflowd are started and counted live.
pub(crate) fn adapter(name: &str) -> Option<OutsidePrepare> {
    let path = installed(name)?;
    let stderr = |regex: &str| CountSource::Stderr(regex.into());
    let control = |regex: &str| CountSource::Command {
        arguments: ["softflowctl", "-c", "{work}/ctl", "statistics"]
            .map(Into::into)
            .into(),
        regex: regex.into(),
    };
    let (arguments, sign, counts): (&[&str], _, Vec<_>) = match name {
        "tcpdump" => (
            &[
                "{binary}",
                "-i",
                "{interface}",
                "-n",
                "-w",
                "/dev/null",
                "{filter}",
            ],
            "listening on ",
            vec![
                (CountName::Processed, stderr(r"(\d+) packets? captured")),
                (
                    CountName::Received,
                    stderr(r"(\d+) packets? received by filter"),
                ),
                (
                    CountName::Dropped,
                    stderr(r"(\d+) packets? dropped by kernel"),
                ),
            ],
        ),
        "tshark" => (
            &[
                "{binary}",
                "-n",
                "-q",
                "-i",
                "{interface}",
                "--temp-dir",
                "{work}",
                "-z",
                "io,stat,0",
                "-f",
                "{filter}",
            ],
            "Capturing on ",
            vec![(CountName::Processed, stderr(r"(\d+) packets? captured"))],
        ),
        "dumpcap" => (
            &[
                "{binary}",
                "-q",
                "-i",
                "{interface}",
                "-w",
                "/dev/null",
                "-f",
                "{filter}",
            ],
            "Capturing on ",
            vec![
                (
                    CountName::Processed,
                    stderr(r"Packets received/dropped on interface .*: (\d+)/\d+ \(pcap"),
                ),
                (CountName::Dropped, stderr(r"/\d+ \(pcap:(\d+)/")),
                (CountName::InterfaceDropped, stderr(r"ps_ifdrop:(\d+)")),
                (CountName::Written, stderr(r"Packets captured: (\d+)")),
            ],
        ),
        _ => (
            &[
                "{binary}",
                "-d",
                "-i",
                "{interface}",
                "-n",
                "127.0.0.1:9",
                "-c",
                "{work}/ctl",
                "-p",
                "{work}/pid",
                "{filter}",
            ],
            "Exporting flows from ",
            vec![
                (CountName::Processed, control(r"Packets processed: (\d+)")),
                (
                    CountName::Received,
                    control(r"Packets received by libpcap: (\d+)"),
                ),
                (
                    CountName::Dropped,
                    control(r"Packets dropped by libpcap: (\d+)"),
                ),
                (
                    CountName::InterfaceDropped,
                    control(r"Packets dropped by interface: (\d+)"),
                ),
            ],
        ),
    };
    let mut spec = spec(arguments);
    spec.ready = ReadySign::Stderr(sign.into());
    spec.counts = counts.into_iter().collect();
    Some(outside(program(&path, spec)))
}

/// Readers of files: name, arguments, and the count on their standard output.
pub(crate) const READERS: &[(&str, &[&str], &str)] = &[
    (
        "tcpdump",
        &["{binary}", "-r", "{file}", "--count"],
        r"(\d+) packets?",
    ),
    (
        "tshark",
        &["{binary}", "-n", "-q", "-r", "{file}", "-z", "io,stat,0"],
        r"<> +[\d.]+ +\| +(\d+) +\|",
    ),
    (
        "softflowd",
        &[
            "{binary}",
            "-d",
            "-r",
            "{file}",
            "-n",
            "127.0.0.1:9",
            "-c",
            "none",
            "-p",
            "{work}/pid",
        ],
        r"Packets processed: (\d+)",
    ),
];

/// A classic pcap file of UDP datagrams, 60 bytes a frame, 1 ms apart.
pub(crate) fn capture_file(name: &str, packets: u32) -> String {
    let path = made(&format!("{name}-{packets}.pcap"));
    let mut bytes = Vec::new();
    for word in [0xA1B2_C3D4_u32, 0x0004_0002, 0, 0, 262_144, 1] {
        bytes.extend(word.to_ne_bytes());
    }
    for number in 0..packets {
        for word in [1_700_000_000 + number / 1000, number % 1000 * 1000, 60, 60] {
            bytes.extend(word.to_ne_bytes());
        }
        let mut frame = [0_u8; 60];
        frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
        frame[14..24].copy_from_slice(&[0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
        frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        frame[34..40].copy_from_slice(&[0x9C, 0x40, 0x98, 0x8D, 0, 26]);
        bytes.extend(frame);
    }
    let fresh = format!("{path}-{}-{name}", std::process::id());
    fs::File::create(&fresh).unwrap().write_all(&bytes).unwrap();
    fs::rename(&fresh, &path).unwrap();
    path
}

/// Whether a process runs; one that waits for its parent does not.
pub(crate) fn runs(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| !rest.starts_with('Z'))
    })
}

/// What the tests' programs could leave: processes, folders and control groups.
pub(crate) struct Leftovers(Vec<String>);

impl Leftovers {
    /// What is there before.
    pub(crate) fn now() -> Self {
        Self(found())
    }

    fn fresh(&self) -> Vec<String> {
        let mut now = found();
        now.retain(|one| !self.0.contains(one));
        now
    }

    pub(crate) fn some(&self) -> bool {
        !self.fresh().is_empty()
    }

    /// Waits until processes are there.
    pub(crate) fn wait_for_some(&self) {
        while !self.fresh().iter().any(|one| one.starts_with("process")) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Removes what a killed receiver could not.
    pub(crate) fn remove_folders(&self) {
        for folder in self.fresh() {
            if Path::new(&folder).is_dir() && folder.contains("/wiretrial-work-") {
                fs::remove_dir_all(folder).unwrap();
            }
        }
    }

    pub(crate) fn assert_none(&self) {
        let left = self.fresh();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

fn found() -> Vec<String> {
    let folder = bench::temporary();
    let mark = format!("TMPDIR={}", folder.display());
    let mut found = Vec::new();
    for pid in numbered("/proc") {
        let read = |file: &str| {
            let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let ours = read("environ").split('\0').any(|one| one == mark);
        let line = read("cmdline").replace('\0', " ");
        if ours && runs(pid) && !line.contains("wiretrial-receiver serve") {
            found.push(format!("process {pid} {line}"));
        }
    }
    for entry in fs::read_dir(&folder).unwrap().flatten() {
        found.push(entry.path().display().to_string());
    }
    for parent in [
        "/sys/fs/cgroup",
        "/sys/fs/cgroup/unified",
        "/sys/fs/cgroup/cpuacct",
    ] {
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let owner = name
                .strip_prefix("wiretrial-group-")
                .and_then(|name| name.split_once('-'));
            if owner.is_some_and(|(pid, _)| !Path::new("/proc").join(pid).exists()) {
                found.push(entry.path().display().to_string());
            }
        }
    }
    found
}

fn numbered(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_string_lossy().parse().ok())
        .collect()
}
