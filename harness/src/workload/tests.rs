//! Files made byte by byte, whole, cut anywhere, and of random bytes; and what tshark says of the
//! standard inputs.

use std::io::Cursor;
use std::process::Command;

use proptest::prelude::*;
use wiretrial_contract::{digest, exit};

use super::*;

/// Parts of a file in order: its bytes, and whether they are a packet record.
type Parts = Vec<(Vec<u8>, bool)>;

fn be(big: bool, value: u32) -> [u8; 4] {
    if big {
        value.to_be_bytes()
    } else {
        value.to_le_bytes()
    }
}

fn be16(big: bool, value: u16) -> [u8; 2] {
    if big {
        value.to_be_bytes()
    } else {
        value.to_le_bytes()
    }
}

fn pcap(big: bool, magic: u32, link: u32, packets: &[&[u8]]) -> Parts {
    let mut header = be(big, magic).to_vec();
    header.extend([be16(big, 2), be16(big, 4)].concat());
    for value in [0, 0, 65_535, link] {
        header.extend(be(big, value));
    }
    let mut parts = vec![(header, false)];
    for packet in packets {
        let kept = u32::try_from(packet.len()).unwrap();
        let mut record: Vec<u8> = [1, 2, kept, 1500].map(|value| be(big, value)).concat();
        record.extend(*packet);
        parts.push((record, true));
    }
    parts
}

fn block(big: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let total = be(big, u32::try_from(padded + 12).unwrap());
    let mut out = [be(big, kind), total].concat();
    out.extend(body);
    out.resize(8 + padded, 0);
    out.extend(total);
    out
}

fn section(big: bool, length: u64) -> Vec<u8> {
    let mut body = be(big, 0x1A2B_3C4D).to_vec();
    body.extend([be16(big, 1), be16(big, 0)].concat());
    let length = if big {
        length.to_be_bytes()
    } else {
        length.to_le_bytes()
    };
    body.extend(length);
    block(big, 0x0A0D_0D0A, &body)
}

fn interface(big: bool, link: u16, snap_length: u32) -> Vec<u8> {
    let mut body = [be16(big, link), be16(big, 0)].concat();
    body.extend(be(big, snap_length));
    block(big, 1, &body)
}

fn enhanced(big: bool, interface: u32, packet: &[u8]) -> Vec<u8> {
    let kept = u32::try_from(packet.len()).unwrap();
    let mut body: Vec<u8> = [interface, 0, 7, kept, 1500].map(|v| be(big, v)).concat();
    body.extend(packet);
    block(big, 6, &body)
}

fn obsolete(big: bool, interface: u16, packet: &[u8]) -> Vec<u8> {
    let kept = u32::try_from(packet.len()).unwrap();
    let mut body = [be16(big, interface), be16(big, 0)].concat();
    body.extend([0, 7, kept, 1500].map(|v| be(big, v)).concat());
    body.extend(packet);
    block(big, 2, &body)
}

fn simple(big: bool, wire_len: u32, packet: &[u8]) -> Vec<u8> {
    block(big, 3, &[&be(big, wire_len), packet].concat())
}

/// Two sections of different byte order, every packet block, and blocks that are none.
fn pcapng(big: bool) -> Parts {
    let statistics = block(big, 5, &[0; 12]);
    vec![
        (section(big, u64::MAX), false),
        (interface(big, 1, 4), false),
        (interface(big, 113, 0), false),
        (enhanced(big, 1, b"12345"), true),
        (simple(big, 60, b"1234"), true),
        (statistics, false),
        (obsolete(big, 1, b"1"), true),
        (section(!big, 100), false),
        (interface(!big, 228, 0), false),
        (enhanced(!big, 0, b""), true),
        (simple(!big, 3, b"123"), true),
    ]
}

fn bytes(parts: &Parts) -> Vec<u8> {
    parts.iter().flat_map(|(bytes, _)| bytes.clone()).collect()
}

fn scanned(bytes: &[u8]) -> Result<Scan, Broken> {
    // A small buffer, so that its edges fall everywhere.
    scan(BufReader::with_capacity(7, Cursor::new(bytes)), u64::MAX)
}

fn every_file() -> Vec<Parts> {
    let packets: [&[u8]; 3] = [b"one", b"", b"three"];
    let mut files = vec![pcapng(false), pcapng(true)];
    for big in [false, true] {
        for magic in [0xA1B2_C3D4, 0xA1B2_3C4D] {
            files.push(pcap(big, magic, 1, &packets));
        }
    }
    files
}

#[test]
fn packets_are_counted_in_every_format_and_byte_order() {
    for big in [false, true] {
        // The link type's upper half says that there is an FCS of four bytes.
        let scan = scanned(&bytes(&pcap(big, 0xA1B2_C3D4, 0x2400_0071, &[b"one"]))).unwrap();
        assert_eq!((scan.units, scan.format), (1, Format::PcapMicro));
        assert_eq!(scan.links, BTreeSet::from([113]));
        let scan = scanned(&bytes(&pcap(big, 0xA1B2_3C4D, 1, &[b"one", b"2"]))).unwrap();
        assert_eq!((scan.units, scan.format), (2, Format::PcapNano));
        let scan = scanned(&bytes(&pcapng(big))).unwrap();
        assert_eq!((scan.units, scan.format), (5, Format::Pcapng));
        assert_eq!(scan.links, BTreeSet::from([1, 113, 228]));
    }
}

#[test]
fn every_shorter_file_is_refused_at_its_place_or_ends_at_a_record() {
    for parts in every_file() {
        let whole = bytes(&parts);
        let (mut start, mut units) = (0, 0);
        for (number, (part, is_packet)) in parts.iter().enumerate() {
            for end in start..start + part.len() {
                let found = scanned(&whole[..end]);
                if end == 0 {
                    assert!(matches!(found, Err(Broken::Empty)));
                } else if end == start {
                    assert_eq!(found.unwrap().units, units, "{end}");
                } else {
                    let Err(Broken::Cut {
                        place,
                        needed,
                        found,
                    }) = found
                    else {
                        panic!("{end}: {found:?}")
                    };
                    assert_eq!(place.offset, start as u64, "{end}");
                    assert_eq!(found, (end - start) as u64, "{end}");
                    assert!(found < needed && needed <= part.len() as u64, "{end}");
                    let known = match place.part {
                        Part::Header => number == 0,
                        Part::Record(record) => *is_packet && record == units + 1,
                        Part::Before(record) => record == units + 1,
                    };
                    assert!(known, "{end}: {place}");
                }
            }
            start += part.len();
            units += u64::from(*is_packet);
        }
        assert_eq!(scanned(&whole).unwrap().units, units);
    }
}

fn in_folder<T>(bytes: &[u8], body: impl FnOnce(&Path) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("in.cap"), bytes).unwrap();
    body(folder.path())
}

#[test]
fn a_short_file_is_the_start_of_the_long_one() {
    for parts in every_file() {
        let whole = bytes(&parts);
        let units = scanned(&whole).unwrap().units;
        for packets in 1..units + 2 {
            in_folder(&whole, |folder| {
                let short = folder.join("short");
                let written = write_short(&folder.join("in.cap"), &short, packets).unwrap();
                assert_eq!(written, packets.min(units));
                assert_eq!(count(&short).unwrap().units, written);
                let short = fs::read(short).unwrap();
                let changed: Vec<usize> = (0..short.len())
                    .filter(|at| short[*at] != whole[*at])
                    .collect();
                // Only the length of the second section of the pcapng files.
                assert!(
                    changed.is_empty() || changed.len() == 8 && short.len() > 200,
                    "{changed:?}"
                );
                assert!(changed.iter().all(|at| short[*at] == 0xFF));
            });
        }
    }
}

#[test]
fn a_file_that_breaks_leaves_no_short_one_and_is_named() {
    let mut whole = bytes(&pcap(false, 0xA1B2_C3D4, 1, &[b"one", b"two", b"three"]));
    whole.pop();
    in_folder(&whole, |folder| {
        let (path, short) = (folder.join("in.cap"), folder.join("short"));
        let failure = count(&path).unwrap_err();
        assert_eq!(failure.code, exit::USAGE);
        assert_eq!(
            failure.message,
            format!(
                "{}: packet record 3 at byte 62 is cut: 20 of 21 bytes are there; editcap IN OUT \
                 keeps the whole ones",
                path.display()
            )
        );
        assert_eq!(write_short(&path, &short, 2), Ok(2));
        let onto = write_short(&path, &folder.join("./in.cap"), 2).unwrap_err();
        assert_eq!(onto.code, exit::USAGE);
        assert_eq!(fs::read(&path).unwrap(), whole, "it is still there");
        assert_eq!(write_short(&path, &short, 3).unwrap_err(), failure);
        let nowhere = folder.join("no/folder");
        assert_eq!(
            write_short(&path, &nowhere, 2).unwrap_err().code,
            exit::HOST
        );
        let failure = count(&nowhere).unwrap_err();
        assert_eq!(failure.code, exit::USAGE);
        assert!(failure.message.starts_with("cannot open /"), "{failure}");
        assert!(
            count(folder)
                .unwrap_err()
                .message
                .ends_with("is a directory")
        );
        let pipe = folder.join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let failure = count(&pipe).unwrap_err();
        assert!(failure.message.contains("no regular file"), "{failure}");
    });
}

/// What is wrong is said with its value and place.
#[test]
fn refusals() {
    let header = &bytes(&pcap(false, 0xA1B2_C3D4, 1, &[]))[..];
    let record = |captured: u32| [&[0; 8][..], &captured.to_le_bytes(), &[0; 4]].concat();
    let ng = [section(true, 7), interface(true, 1, 0)].concat();
    let mut lengths = enhanced(true, 0, b"1234");
    *lengths.last_mut().unwrap() = 32;
    let mut room = enhanced(true, 0, b"1234");
    room[23] = 5;
    let mut odd = block(true, 99, &[]);
    odd[7] = 13;
    let mut magic = section(false, 0);
    magic[8] = 0;
    let mut version = section(true, 0);
    version[13] = 2;
    let cases: [(Vec<u8>, &str); 16] = [
        (vec![], "the file is empty; give a pcap or pcapng file"),
        (
            b"\x1f\x8b\x08\x00".to_vec(),
            "not a capture file: it begins with 1f 8b 08 00 (gzip); unpack it with gunzip",
        ),
        (
            b"# wiretrial".to_vec(),
            "not a capture file: it begins with 23 20 77 69; give a pcap or pcapng file",
        ),
        (
            vec![0x34, 0xCD, 0xB2, 0xA1],
            "not a capture file: it begins with 34 cd b2 a1 (modified pcap of patched kernels); \
             convert it with editcap -F pcapng",
        ),
        (
            [&header[..4], &[2, 0, 3, 0], &header[8..]].concat(),
            "version 2.3 of the format is not read; rewrite it with editcap",
        ),
        (
            version,
            "version 2.0 of the format is not read; rewrite it with editcap",
        ),
        (
            [header, &record(262_145)].concat(),
            "packet record 1 at byte 24 is broken: a captured length of 262145 bytes; at most \
             262144 are taken of link type 1",
        ),
        (
            [header, &record(3), b"12"].concat(),
            "packet record 1 at byte 24 is cut: 18 of 19 bytes are there; editcap IN OUT keeps \
             the whole ones",
        ),
        (
            magic,
            "block in front of packet record 1 at byte 0 is broken: no byte-order magic in the \
             section header",
        ),
        (
            [&ng[..], &lengths].concat(),
            "packet record 1 at byte 48 is broken: its two lengths are 36 and 32",
        ),
        (
            [&ng[..], &room].concat(),
            "packet record 1 at byte 48 is broken: a captured length of 5 in a block with room \
             for 4",
        ),
        (
            [&ng[..], &odd].concat(),
            "block in front of packet record 1 at byte 48 is broken: a block length of 13; it \
             must be a multiple of 4 from 12 to 16777216",
        ),
        (
            [&ng[..], &enhanced(true, 1, b"")].concat(),
            "packet record 1 at byte 48 is broken: it is of interface 1; the section has \
             described 1",
        ),
        (
            [&ng[..], &section(false, 0), &simple(false, 0, b"")].concat(),
            "packet record 1 at byte 76 is broken: it is of interface 0; the section has \
             described 0",
        ),
        (
            [&ng[..], &simple(true, 9, b"12345678")].concat(),
            "packet record 1 at byte 48 is broken: a captured length of 9 in a block with room \
             for 8",
        ),
        (
            [&ng[..], &[0, 0, 0, 6]].concat(),
            "block in front of packet record 1 at byte 48 is cut: 4 of 8 bytes are there; \
             editcap IN OUT keeps the whole ones",
        ),
    ];
    for (bytes, words) in cases {
        assert_eq!(scanned(&bytes).unwrap_err().to_string(), words);
    }
    in_folder(header, |folder| {
        let failure = count(&folder.join("in.cap")).unwrap_err();
        assert!(
            failure
                .message
                .ends_with(": no packets in it; give a file with at least one")
        );
    });
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        start in prop::sample::select(every_file().iter().map(bytes).chain([vec![]]).collect::<Vec<_>>()),
        cut: prop::sample::Index,
        tail in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let kept = &start[..cut.index(start.len() + 1)];
        if let Ok(scan) = scanned(&[kept, &tail].concat()) {
            prop_assert_eq!(scan.end, (kept.len() + tail.len()) as u64);
        }
    }

    #[test]
    fn a_changed_byte_never_makes_it_panic_or_count_more_than_there_is_room_for(
        mut file in prop::sample::select(every_file().iter().map(bytes).collect::<Vec<_>>()),
        at: prop::sample::Index,
        value: u8,
    ) {
        let at = at.index(file.len());
        file[at] = value;
        if let Ok(scan) = scanned(&file) {
            prop_assert!(scan.units <= file.len() as u64 / 16);
        }
    }
}

fn mix(packets: u64, seed: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let standard = parse_standard(&format!("standard:mix/{packets}"))
        .unwrap()
        .unwrap();
    standard.write_to(seed, &mut out).unwrap();
    out
}

#[test]
fn standard_inputs_by_name() {
    let named = |text| parse_standard(text).map(|named| named.map(|named| named.to_string()));
    for (text, whole) in [
        ("mix", "standard:mix/100k"),
        ("standard:mix", "standard:mix/100k"),
        ("mix/1M", "standard:mix/1M"),
        ("standard:mix/100", "standard:mix/100"),
        ("standard:mix/10M", "standard:mix/10M"),
    ] {
        assert_eq!(named(text), Some(Ok(whole.into())));
    }
    for path in [
        "./mix",
        "mix.pcap",
        "mix/web.pcap",
        "bench/mix",
        "",
        "mixed/1M",
    ] {
        assert_eq!(named(path), None, "{path}");
    }
    for (text, words) in [
        (
            "standard:mix/99",
            "standard:mix/99 has 99 packets; it must be 100 to 10000000",
        ),
        (
            "mix/11M",
            "mix/11M has 11000000 packets; it must be 100 to 10000000",
        ),
        (
            "standard:web/1M",
            "no standard input \"web/1M\"; there is mix",
        ),
        (
            "standard:mix/many",
            "standard:mix/many: \"many\" is not a count such as",
        ),
    ] {
        let failure = parse_standard(text).unwrap().unwrap_err();
        assert_eq!(failure.code, exit::USAGE);
        assert!(failure.message.starts_with(words), "{failure}");
    }
}

/// The bytes are pinned: evidence names an input by its hash.
#[test]
fn a_standard_input_is_the_same_everywhere() {
    assert_eq!(digest::sha256(&mix(1000, 1)), MIX_1000_SEED_1);
    assert_ne!(mix(1000, 2), mix(1000, 1));
    let short = mix(100, 1);
    assert_eq!(
        mix(1000, 1)[..short.len()],
        short,
        "a shorter one is its start"
    );
    let folder = tempfile::tempdir().unwrap();
    let (path, cut) = (folder.path().join("mix"), folder.path().join("cut"));
    let standard = parse_standard("mix/1000").unwrap().unwrap();
    standard.write(1, &path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), mix(1000, 1));
    assert_eq!(count(&path).unwrap().units, 1000);
    assert_eq!(write_short(&path, &cut, 100), Ok(100));
    assert_eq!(fs::read(&cut).unwrap(), short);
}

const MIX_1000_SEED_1: &str = "13ee744530828af20de68ccd05ceb5e1294446f0d92c25f61c9fbd6ce3df3367";

/// Fields of every packet, as tshark reads them with all checksums checked. It must be installed.
fn tshark(path: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(path);
    for option in ["ip", "udp", "tcp"] {
        command
            .arg("-o")
            .arg(format!("{option}.check_checksum:TRUE"));
    }
    let output = command
        .args(arguments)
        .output()
        .expect("tshark is installed");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn tshark_finds_nothing_wrong_with_a_mix() {
    const PACKETS: usize = 2400;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mix.pcap");
    fs::write(&path, mix(PACKETS as u64, 1)).unwrap();
    let fields = [
        "ip.checksum.status",
        "udp.checksum.status",
        "tcp.checksum.status",
        "icmp.checksum.status",
        "icmpv6.checksum.status",
        "frame.len",
        "ipv6.version",
        "udp.stream",
        "tcp.stream",
        "frame.time_delta",
    ];
    let mut arguments = vec!["-T", "fields", "-E", "separator=,"];
    arguments.extend(fields.iter().flat_map(|field| ["-e", field]));
    let rows = tshark(&path, &arguments);
    let rows: Vec<Vec<&str>> = rows.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), PACKETS);
    let having =
        |column: usize, value: &str| rows.iter().filter(|row| row[column] == value).count();
    let known = |column| PACKETS - having(column, "");
    // 1 is good, 0 bad, 2 not checked.
    for (column, field) in fields.iter().enumerate().take(5) {
        assert_eq!(having(column, "1"), known(column), "{field}");
        assert!(known(column) > 0, "{field}");
    }
    assert_eq!(known(0) + known(6), PACKETS, "every packet is IPv4 or IPv6");
    assert_eq!(
        (1..5).map(known).sum::<usize>(),
        PACKETS,
        "every packet has one protocol"
    );
    assert!(
        (1..4).all(|column| known(column) > known(column + 1)),
        "as their shares say"
    );
    assert_eq!(
        (having(5, "572"), having(5, "1496")),
        (PACKETS / 3, PACKETS / 12)
    );
    let short = rows
        .iter()
        .filter(|row| ["60", "62", "74"].contains(&row[5]))
        .count();
    assert_eq!(short, PACKETS * 7 / 12);
    assert!(
        rows[1..]
            .iter()
            .all(|row| row[9].parse::<f64>().unwrap() > 0.0)
    );
    let streams = |column: usize| {
        rows.iter()
            .map(|row| row[column])
            .collect::<BTreeSet<_>>()
            .len()
    };
    assert_eq!(
        (streams(7) - 1, streams(8) - 1),
        (33, 24),
        "all but flow 63, which is drawn once in 4096 times"
    );
    let wrong = "_ws.malformed || _ws.expert.severity == error || _ws.expert.severity == warning";
    assert_eq!(tshark(&path, &["-Y", wrong]), "");

    // The check itself: one wrong byte at the end is found.
    let mut wrong_byte = fs::read(&path).unwrap();
    *wrong_byte.last_mut().unwrap() ^= 1;
    fs::write(&path, wrong_byte).unwrap();
    assert_eq!(tshark(&path, &["-Y", wrong]).lines().count(), 1);
}
