//! Campaign files as people see them: what the demo resolves to, what is printed about it, every
//! sentence about a wrong file, and the generated page.

#[path = "campaign_golden/programs.rs"]
mod programs;
#[path = "campaign_golden/tables.rs"]
mod tables;

use proptest::prelude::*;
use wiretrial::campaign::file::{identical_arms, parse};
use wiretrial::campaign::keys::{KEYS, find};
use wiretrial::campaign::overrides::Overrides;
use wiretrial::campaign::{format, shipped, slices, text};
use wiretrial_contract::control::CaptureSettings;
use wiretrial_contract::exit;
use wiretrial_contract::plan::{Campaign, Measured};

const FORMAT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../campaigns/FORMAT.md");

/// A campaign whose only fault is what a test adds; its line 6 is the first one added.
const BASE: &str =
    "schema = 1\nkind = \"paired\"\n[[case]]\nname = \"a\"\ntraffic.rate-pps = 20000\n";

fn set(assignments: &[&str]) -> Overrides {
    Overrides {
        set: assignments.iter().map(ToString::to_string).collect(),
        ..Overrides::default()
    }
}

fn demo(overrides: &Overrides) -> Campaign {
    shipped::load("demo", overrides).expect("the demo is right")
}

fn capture(campaign: &Campaign, case: usize, arm: usize) -> &CaptureSettings {
    match &campaign.cases[case].live().expect("a live case").receivers[arm].program {
        Measured::BuiltIn { capture, .. } => capture,
        Measured::Outside(_) => panic!("the built-in receiver"),
    }
}

fn read(text: &str) -> Campaign {
    parse("campaigns/x.toml", text, &Overrides::default()).expect("the file is right")
}

/// The sentence about a file, which always stands for exit code 2.
fn refused(text: &str, overrides: &Overrides) -> String {
    let failure = parse("campaigns/x.toml", text, overrides).expect_err("the file is wrong");
    assert_eq!(failure.code, exit::USAGE);
    failure.message
}

fn refused_line(line: &str) -> String {
    refused(&format!("{BASE}{line}\n"), &Overrides::default())
}

fn refused_demo(assignments: &[&str]) -> String {
    let failure = shipped::load("demo", &set(assignments)).expect_err("the override is wrong");
    assert_eq!(failure.code, exit::USAGE);
    failure.message
}

#[test]
fn the_demo_resolved() {
    let json = serde_json::to_string_pretty(&demo(&Overrides::default())).unwrap();
    insta::assert_snapshot!(json, @r#"
    {
      "name": "demo",
      "kind": "paired",
      "question": "Does a buffered ring cost less per packet than immediate mode?",
      "design": {
        "pairs": 12,
        "margin": 0.03,
        "primary": "capture-cost-ns-per-packet",
        "arrangement": "interleaved",
        "aa": false,
        "replacements": 2,
        "rest_ns": 100000000,
        "foreign_cpu": 0.025,
        "fail_on": "regressed_worthwhile",
        "require_conclusion": false,
        "pilot": 3
      },
      "topology": {
        "kind": "loopback",
        "receive_cpu": "sender",
        "family": "ipv4",
        "port": 39053
      },
      "arms": [
        {
          "name": "baseline"
        },
        {
          "name": "candidate"
        }
      ],
      "cases": [
        {
          "name": "20k",
          "work": {
            "live": {
              "traffic": {
                "rate_pps": 20000,
                "frame_size": 64,
                "duration_ns": 1000000000,
                "warm_up_ns": 200000000,
                "slice_ns": 50000000,
                "flows": 1,
                "senders": 1,
                "method": "sendmmsg",
                "batch": 1,
                "max_burst": 20
              },
              "receivers": [
                {
                  "program": {
                    "built_in": {
                      "capture": {
                        "buffer_bytes": 16777216,
                        "immediate": true,
                        "timeout_ns": 10000000,
                        "snaplen": 60,
                        "promiscuous": false
                      },
                      "engine": "direct"
                    }
                  },
                  "drain_limit_ns": 2000000000
                },
                {
                  "program": {
                    "built_in": {
                      "capture": {
                        "buffer_bytes": 16777216,
                        "immediate": false,
                        "timeout_ns": 10000000,
                        "snaplen": 60,
                        "promiscuous": false
                      },
                      "engine": "direct"
                    }
                  },
                  "drain_limit_ns": 2000000000
                }
              ]
            }
          }
        },
        {
          "name": "50k",
          "work": {
            "live": {
              "traffic": {
                "rate_pps": 50000,
                "frame_size": 64,
                "duration_ns": 1000000000,
                "warm_up_ns": 200000000,
                "slice_ns": 50000000,
                "flows": 1,
                "senders": 1,
                "method": "sendmmsg",
                "batch": 1,
                "max_burst": 50
              },
              "receivers": [
                {
                  "program": {
                    "built_in": {
                      "capture": {
                        "buffer_bytes": 16777216,
                        "immediate": true,
                        "timeout_ns": 10000000,
                        "snaplen": 60,
                        "promiscuous": false
                      },
                      "engine": "direct"
                    }
                  },
                  "drain_limit_ns": 2000000000
                },
                {
                  "program": {
                    "built_in": {
                      "capture": {
                        "buffer_bytes": 16777216,
                        "immediate": false,
                        "timeout_ns": 10000000,
                        "snaplen": 60,
                        "promiscuous": false
                      },
                      "engine": "direct"
                    }
                  },
                  "drain_limit_ns": 2000000000
                }
              ]
            }
          }
        }
      ]
    }
    "#);
}

#[test]
fn the_plan_of_the_demo() {
    insta::assert_snapshot!(text::brief(&demo(&Overrides::default()), None), @r#"
    cases    2: 20k, 50k
    trials   48 in 24 pairs, 12 a case after 3 of a pilot; both arms alive, 50ms slices
    time     about 2 min 7 s: 1 min 30 s sending, 37 s not
    touches  lo in a private network, UDP ports 39053 to 39055; a new folder of evidence/
    effect   the pilot will say; wiretrial run floor shows what this host sees
    "#);
}

/// Twenty cases that are over in minutes, one arm after the other too.
#[test]
fn the_plan_of_a_calibration() {
    let of = |set: &[&str]| {
        let overrides = Overrides {
            set: set.iter().map(ToString::to_string).collect(),
            ..Overrides::default()
        };
        let campaign = shipped::load("calibrate", &overrides).unwrap();
        assert!(campaign.design.aa && campaign.design.pilot == 0);
        assert_eq!(campaign.cases.len(), 20);
        let brief = text::brief(&campaign, None);
        assert!(!brief.contains("few slices"), "{brief}");
        brief.lines().nth(2).unwrap().to_owned()
    };
    assert_eq!(
        of(&[]),
        "time     about 7 min 18 s: 2 min 24 s sending, 4 min 54 s not"
    );
    assert_eq!(
        of(&["design.arrangement=sequential"]),
        "time     about 10 min 30 s: 3 min 12 s sending, 7 min 18 s not"
    );
}

#[test]
fn the_full_plan_of_a_quick_demo() {
    let overrides = Overrides {
        quick: true,
        ..Overrides::default()
    };
    let seed = 0x5eed_5eed_5eed_5eed;
    insta::assert_snapshot!(text::full(&demo(&overrides), seed, None), @r#"
    cases    2: 20k, 50k
    trials   24 in 12 pairs, 6 a case; both arms alive, 50ms slices; few slices, so exploratory
    time     about 22 s: 7 s sending, 15 s not
    touches  lo in a private network, UDP ports 39053 to 39055; a new folder of evidence/
    effect   not known before pairs have run; wiretrial run floor shows what this host sees

    keys
      schema                    1  (no default)
      name                      demo  (default: the file's name without .toml)
      kind                      paired  (no default)
      question                  Does a buffered ring cost less per packet than immediate mode?  (default Is the candidate better than the baseline?)
      workload.kind             live  (default)
      design.pairs              6  (default 12)
      design.pilot              0  (default: 3; 0 with design.aa)
      design.budget             none  (default: none)
      design.margin             3%  (default none)
      design.primary            capture-cost-ns-per-packet  (default: the first metric of its trials)
      design.arrangement        interleaved  (default)
      design.aa                 false  (default)
      design.foreign-cpu        2.5%  (default)
      design.replacements       1  (default: one per 6 pairs, at least 1)
      design.rest               100ms  (default)
      design.fail-on            regressed_worthwhile  (default)
      design.require-conclusion false  (default)
      design.require-stable     false  (default)
      topology.kind             loopback  (default: loopback; wire when a program of the user's captures)
      topology.receive-cpu      sender  (default: separate on a wire, sender on loopback)
      topology.family           ipv4  (default)
      topology.port             39053  (default)
      traffic.rate-pps          20k: 20000, 50k: 50000  (no default)
      traffic.frame-size        64  (default: 64 with ipv4, 84 with ipv6)
      traffic.duration          200ms  (default 1s)
      traffic.warm-up           200ms  (default: 200ms, or 20 times the longer receiver.timeout if that is more; 0 with a program of yours)
      traffic.slice             50ms  (default: 50ms, or 5 times the longer receiver.timeout if that is more)
      traffic.flows             1  (default: traffic.senders)
      traffic.senders           1  (default: one per 250000 packets per second)
      traffic.batch             1  (default: 1 up to 100000 packets per second a sender, else 16)
      traffic.max-burst         20k: 20, 50k: 50  (default: two batches, or 1ms of one sender's packets if that is more)
      receiver.buffer-size      16MiB  (default)
      receiver.immediate        baseline: true, candidate: false  (default false)
      receiver.timeout          10ms  (default)
      receiver.snaplen          60  (default: headers and stamp, exactly)
      receiver.promiscuous      false  (default)
      receiver.engine           direct  (default)
      receiver.drain-limit      2s  (default)

    pairs, seed 0x5eed5eed5eed5eed
      pair  case  round  first        gap  padding
         0  50k       0  baseline    24ms    1550B
         1  20k       0  candidate  113ms    3399B
         2  50k       1  candidate  150ms    2087B
         3  20k       1  candidate   45ms    3421B
         4  50k       2  baseline   133ms    2037B
         5  20k       2  baseline   219ms    3907B
         6  20k       3  candidate   46ms    2204B
         7  50k       3  candidate  235ms    2067B
         8  50k       4  baseline   208ms    1575B
         9  20k       4  baseline    76ms     685B
        10  50k       5  candidate  123ms    1089B
        11  20k       5  baseline    30ms    3709B
    "#);
}

/// `UPDATE_FORMAT=1 cargo test -p wiretrial --test campaign_golden` writes the page again.
#[test]
fn the_page_is_the_generated_one() {
    let page = format::page();
    if std::env::var_os("UPDATE_FORMAT").is_some() {
        std::fs::write(FORMAT, &page).unwrap();
    }
    let committed = std::fs::read_to_string(FORMAT).unwrap();
    assert!(
        committed == page,
        "campaigns/FORMAT.md is old; UPDATE_FORMAT=1 cargo test -p wiretrial --test campaign_golden"
    );
}

/// Each key reaches the campaign, and is shown as it was set.
#[test]
fn every_key_is_kept() {
    let values = [
        ("name", "other"),
        ("question", "Is it so?"),
        ("design.pairs", "20"),
        ("design.pilot", "5"),
        ("design.budget", "90s"),
        ("design.margin", "7%"),
        ("design.require-stable", "true"),
        ("design.primary", "process-cpu-ns-per-packet"),
        ("design.arrangement", "sequential"),
        ("design.aa", "true"),
        ("design.foreign-cpu", "10%"),
        ("design.replacements", "9"),
        ("design.rest", "1s"),
        ("design.fail-on", "never"),
        ("design.require-conclusion", "true"),
        ("topology.kind", "wire"),
        ("topology.receive-cpu", "separate"),
        ("topology.family", "ipv6"),
        ("topology.port", "40000"),
        ("traffic.rate-pps", "600000"),
        ("traffic.frame-size", "200"),
        ("traffic.duration", "3s"),
        ("traffic.warm-up", "700ms"),
        ("traffic.slice", "60ms"),
        ("traffic.flows", "12"),
        ("traffic.senders", "4"),
        ("traffic.batch", "8"),
        ("traffic.max-burst", "99"),
        ("receiver.buffer-size", "2MiB"),
        ("receiver.immediate", "true"),
        ("receiver.timeout", "11ms"),
        ("receiver.snaplen", "300"),
        ("receiver.promiscuous", "true"),
        ("receiver.drain-limit", "3s"),
    ];
    let assignments: Vec<String> = values
        .iter()
        .map(|(path, value)| format!("{path}={value}"))
        .collect();
    let before = demo(&Overrides::default());
    let after = demo(&Overrides {
        set: assignments,
        ..Overrides::default()
    });
    for (path, value) in values {
        let key = find(path).unwrap();
        assert!(
            key.values(&after).iter().all(|shown| shown == value),
            "{path}"
        );
        assert_ne!(key.values(&before), key.values(&after), "{path}");
    }
    let only_choice = ["schema", "receiver.engine"];
    let of_tables = ["kind", "design.reference", "design.layout-control"];
    for key in KEYS {
        let set = values.iter().any(|(path, _)| *path == key.path);
        let elsewhere = ["workload.", "program."]
            .iter()
            .any(|table| key.path.starts_with(table));
        assert!(
            set != (elsewhere || only_choice.contains(&key.path) || of_tables.contains(&key.path)),
            "{}",
            key.path
        );
    }
}

#[test]
fn layers_win_in_order() {
    let text = "schema = 1\nkind = \"paired\"\n\
        traffic.duration = \"2s\"\nreceiver.timeout = \"2ms\"\nreceiver.snaplen = 100\n\
        [arm.candidate]\nreceiver.timeout = \"3ms\"\n\
        [[case]]\nname = \"a\"\ntraffic.rate-pps = 1000\n\
        [[case]]\nname = \"b\"\n[case.traffic]\nrate-pps = \"5k\"\nduration = \"4s\"\n[case.receiver]\nsnaplen = 200\n";
    let shown = |overrides: &Overrides, path: &str| {
        let campaign = parse("x.toml", text, overrides).unwrap();
        find(path).unwrap().values(&campaign)
    };
    let none = Overrides::default();
    assert_eq!(shown(&none, "traffic.duration"), ["2s", "2s", "4s", "4s"]);
    assert_eq!(
        shown(&none, "traffic.rate-pps"),
        ["1000", "1000", "5000", "5000"]
    );
    assert_eq!(
        shown(&none, "receiver.timeout"),
        ["2ms", "3ms", "2ms", "3ms"]
    );
    assert_eq!(
        shown(&none, "receiver.snaplen"),
        ["100", "100", "200", "200"]
    );

    let timeouts = set(&["receiver.timeout=5ms", "arm.candidate.receiver.timeout=6ms"]);
    assert_eq!(
        shown(&timeouts, "receiver.timeout"),
        ["5ms", "6ms", "5ms", "6ms"]
    );

    let all = Overrides {
        set: vec!["traffic.duration=300ms".into()],
        pairs: Some(8),
        margin: Some("5%".into()),
        aa: true,
        quick: true,
        port: Some(5000),
    };
    assert_eq!(shown(&all, "traffic.duration"), ["300ms"; 4]);
    assert_eq!(shown(&all, "design.margin"), ["5%"; 4]);
    assert_eq!(shown(&all, "design.pairs"), ["8"; 4]);
    assert_eq!(shown(&all, "topology.port"), ["5000"; 4]);
    assert_eq!(
        shown(&all, "receiver.timeout"),
        ["3ms"; 4],
        "both the candidate's"
    );
}

#[test]
fn defaults_follow_other_keys() {
    let shown = |assignments: &[&str], path: &str| {
        let campaign = demo(&set(assignments));
        find(path).unwrap().values(&campaign)[0].clone()
    };
    for (assignment, path, value) in [
        ("traffic.rate-pps=100k", "traffic.batch", "1"),
        ("traffic.rate-pps=100001", "traffic.batch", "16"),
        ("traffic.rate-pps=250k", "traffic.senders", "1"),
        ("traffic.rate-pps=250001", "traffic.senders", "2"),
        ("traffic.rate-pps=1M", "traffic.flows", "4"),
        ("traffic.rate-pps=1M", "traffic.max-burst", "250"),
        ("traffic.rate-pps=10k", "traffic.max-burst", "10"),
        ("traffic.rate-pps=1k", "traffic.max-burst", "2"),
        ("receiver.timeout=12ms", "traffic.slice", "60ms"),
        ("receiver.timeout=12ms", "traffic.warm-up", "240ms"),
        ("traffic.frame-size=93", "receiver.snaplen", "60"),
        ("traffic.frame-size=94", "receiver.snaplen", "90"),
        ("design.pairs=6", "design.replacements", "1"),
        ("design.pairs=24", "design.replacements", "4"),
    ] {
        assert_eq!(shown(&[assignment], path), value, "{assignment}: {path}");
    }
    let campaign = read(&format!("topology.family = \"ipv6\"\n{BASE}"));
    assert_eq!(campaign.cases[0].live().unwrap().traffic.frame_size, 84);
    assert_eq!(capture(&campaign, 0, 0).snaplen, 80);
    assert_eq!(campaign.name, "x");
}

#[test]
fn sweeps_multiply_cases() {
    let names = |text: &str| -> Vec<String> {
        let campaign = read(text);
        campaign.cases.into_iter().map(|case| case.name).collect()
    };
    let head = "schema = 1\nkind = \"paired\"\n";
    assert_eq!(
        names(&format!(
            "{head}sweep.traffic.rate-pps = [20000, \"50k\"]\n"
        )),
        ["default/20000", "default/50k"]
    );
    let two = format!(
        "{head}[sweep]\ntraffic.rate-pps = [20000, 50000]\nreceiver.buffer-size = [\"2MiB\", \"16MiB\"]\n\
         [[case]]\nname = \"a\"\n[[case]]\nname = \"b\"\ntraffic.frame-size = 512\n"
    );
    assert_eq!(
        names(&two),
        [
            "a/20000/2mib",
            "a/20000/16mib",
            "a/50000/2mib",
            "a/50000/16mib",
            "b/20000/2mib",
            "b/20000/16mib",
            "b/50000/2mib",
            "b/50000/16mib",
        ]
    );
    let campaign = read(&two);
    assert_eq!(campaign.cases[6].live().unwrap().traffic.rate_pps, 50_000);
    assert_eq!(capture(&campaign, 6, 1).buffer_bytes, 2 << 20);
}

#[test]
fn arms_that_are_alike_are_noticed_unless_wanted() {
    assert!(!identical_arms(&demo(&Overrides::default())));
    assert!(identical_arms(&demo(&set(&["receiver.immediate=true"]))));
    let floor = demo(&set(&["design.aa=true"]));
    assert!(!identical_arms(&floor));
    assert_eq!(
        floor.cases[0].live().unwrap().receivers[0],
        floor.cases[0].live().unwrap().receivers[1]
    );
    assert!(!capture(&floor, 0, 0).immediate);
}

#[test]
fn quick_has_few_slices() {
    let quick = demo(&Overrides {
        quick: true,
        ..Overrides::default()
    });
    assert_eq!(quick.design.pairs, 6);
    assert_eq!(
        slices::counted_blocks(&quick.cases[0].live().unwrap().traffic),
        4
    );
}

#[test]
fn unknown_keys() {
    let text = "schema = 1\nname = \"x\"\nkind = \"paired\"\n\n[design]\npairs = 12\n\n[traffic]\n\
        frame-size = 64\nduration = \"1s\"\n\n[[case]]\nname = \"a\"\ntraffic.rate_pps = 20000\n";
    assert_eq!(
        refused(text, &Overrides::default()),
        "campaigns/x.toml:14: unknown key traffic.rate_pps; did you mean traffic.rate-pps?"
    );
    assert_eq!(
        refused_line("[arm.candidate.receiver]\nimediate = true"),
        "campaigns/x.toml:7: unknown key arm.candidate.receiver.imediate; did you mean arm.candidate.receiver.immediate?"
    );
    assert_eq!(
        refused_line("[sweep]\ntraffic.rate = [1]"),
        "campaigns/x.toml:7: unknown key sweep.traffic.rate; did you mean sweep.traffic.rate-pps?"
    );
    assert_eq!(
        refused(&format!("pairs = 12\n{BASE}"), &Overrides::default()),
        "campaigns/x.toml:1: unknown key pairs; did you mean design.pairs?"
    );
    assert_eq!(
        refused_line("[program]\nbinry = \"softflowd\""),
        "campaigns/x.toml:7: unknown key program.binry; did you mean program.binary?"
    );
    assert_eq!(
        refused_line("[colour]\nof = \"softflowd\""),
        "campaigns/x.toml:7: unknown key colour.of; wiretrial new lists all keys"
    );
    assert_eq!(
        refused_line("[trafic]"),
        "campaigns/x.toml:6: unknown key trafic; wiretrial new lists all keys"
    );
    assert_eq!(
        refused("schema = 1\ntraffic = 3\n", &Overrides::default()),
        "campaigns/x.toml:2: traffic is a table; write one of its keys, traffic.KEY = VALUE"
    );
    assert_eq!(
        refused_demo(&["traffic.rate_pps=1"]),
        "--set traffic.rate_pps: unknown key; did you mean traffic.rate-pps?"
    );
    assert_eq!(
        refused_demo(&["x.y=1"]),
        "--set x.y: unknown key; wiretrial new lists all keys"
    );
}

#[test]
fn wrong_values() {
    assert_eq!(
        refused_line("traffic.duration = \"1h\""),
        "campaigns/x.toml:6: traffic.duration \"1h\" is not a time such as \"1s\", \"50ms\" or \"2m\""
    );
    assert_eq!(
        refused_line("receiver.buffer-size = 16"),
        "campaigns/x.toml:6: receiver.buffer-size 16 is not a size such as \"16MiB\" or \"256KiB\""
    );
    assert_eq!(
        refused_line("traffic.flows = 1.5"),
        "campaigns/x.toml:6: traffic.flows 1.5 is not a count such as 1500, \"250k\" or \"1M\""
    );
    assert_eq!(
        refused_line("traffic.senders = 65"),
        "campaigns/x.toml:6: traffic.senders is 65; it must be 1 to 64"
    );
    assert_eq!(
        refused_line("receiver.drain-limit = \"2m\""),
        "campaigns/x.toml:6: receiver.drain-limit is 120s; it must be 10ms to 60s (2s is the default)"
    );
    assert_eq!(
        refused_line("receiver.timeout = \"11s\""),
        "campaigns/x.toml:6: receiver.timeout is 11s; it must be at most 10s"
    );
    assert_eq!(
        refused_line("receiver.engine = \"queue\""),
        "campaigns/x.toml:6: receiver.engine \"queue\" is not \"direct\", the only choice"
    );
    assert_eq!(
        refused_demo(&["traffic.duration=1h"]),
        "traffic.duration \"1h\" is not a time such as \"1s\", \"50ms\" or \"2m\""
    );
    assert_eq!(
        refused_demo(&["design.margin=3"]),
        "design.margin is 3; capture-cost-ns-per-packet is compared as a ratio, so it must be a \
         percentage such as \"3%\""
    );
    assert_eq!(
        refused_demo(&["design.arrangement=both"]),
        "design.arrangement \"both\" is not one of interleaved, sequential"
    );
    let port = Overrides {
        port: Some(80),
        ..Overrides::default()
    };
    assert_eq!(
        refused(BASE, &port),
        "topology.port is 80; it must be 1024 to 65533 (39053 is the default)"
    );
}

#[test]
fn files_of_another_shape() {
    let none = Overrides::default();
    assert_eq!(
        refused("kind = \"paired\"\n", &none),
        "campaigns/x.toml: schema is not set; write schema = 1"
    );
    assert_eq!(
        refused("new = 1\nschema = 2\n", &none),
        "campaigns/x.toml:2: schema is 2; it must be 1"
    );
    assert_eq!(
        refused("schema = 1\n", &none),
        "campaigns/x.toml: kind is not set; it has no default"
    );
    assert_eq!(
        refused(
            "schema = 1\nkind = \"paired\"\n[[case]]\nname = \"a\"\n",
            &none
        ),
        "campaigns/x.toml: traffic.rate-pps is not set in case a; it has no default"
    );
    assert_eq!(
        refused("schema = 1\nkind =\n", &none),
        "campaigns/x.toml:2: string values must be quoted, expected literal string"
    );
    assert_eq!(
        refused_line("[case.design]\npairs = 6"),
        "campaigns/x.toml:7: design.pairs cannot be set by a case; set it for the whole file"
    );
    assert_eq!(
        refused_line("[[case]]\ntraffic.rate-pps = 1"),
        "campaigns/x.toml:6: the case has no name; write name = \"...\" in it"
    );
    assert_eq!(
        refused_line("[[case]]\nname = \"A b\""),
        "campaigns/x.toml:7: case name \"A b\" is not a name: a-z, 0-9, dot, underscore, dash, parts separated by /"
    );
    assert_eq!(
        refused_line("[[case]]\nname = \"a\""),
        "campaigns/x.toml:6: a second case is called a; names are unique"
    );
    assert_eq!(
        refused("schema = 1\n[case]\nname = \"a\"\n", &none),
        "campaigns/x.toml:2: case is not a list; write [[case]]"
    );
    assert_eq!(
        refused("schema = 1\narm = 3\n", &none),
        "campaigns/x.toml:2: arm is not a table; write [arm.NAME.receiver]"
    );
    assert_eq!(
        refused("schema = 1\nsweep = 3\n", &none),
        "campaigns/x.toml:2: sweep is not a table; write sweep.KEY = [VALUE, ...]"
    );
}

#[test]
fn layers_that_may_not_set_a_key() {
    assert_eq!(
        refused_line("[arm.other.receiver]\nimmediate = true"),
        "campaigns/x.toml:6: other is not an arm of a paired campaign; they are baseline and candidate"
    );
    assert_eq!(
        refused_line("[arm.candidate.traffic]\nbatch = 3"),
        "campaigns/x.toml:7: arm.candidate.traffic.batch cannot be set by an arm; arms may set receiver.* and program.* only"
    );
    assert_eq!(
        refused_line("receiver.timeout = \"1ms\"\n[arm.candidate.receiver]\ntimeout = \"2ms\""),
        "campaigns/x.toml:6: receiver.timeout is set by case a and set by arm candidate; leave one of them"
    );
    assert_eq!(
        refused_line(
            "[sweep.receiver]\nimmediate = [true]\n[arm.candidate.receiver]\nimmediate = true"
        ),
        "campaigns/x.toml:7: receiver.immediate is swept and set by arm candidate; leave one of them"
    );
    assert_eq!(
        refused_line("[sweep.traffic]\nrate-pps = [1]"),
        "campaigns/x.toml:7: traffic.rate-pps is swept and set by case a; leave one of them"
    );
    assert_eq!(
        refused_line("[sweep.traffic]\nbatch = []"),
        "campaigns/x.toml:7: sweep.traffic.batch is []; it must be a list of at least one value"
    );
    assert_eq!(
        refused_line("[sweep.traffic]\nbatch = [1, 1]"),
        "campaigns/x.toml:7: sweep.traffic.batch makes two cases called a/1; names are unique"
    );
    assert_eq!(
        refused_line("[sweep.design]\npairs = [6, 8]"),
        "campaigns/x.toml:7: sweep.design.pairs cannot be swept; it is one for the whole file"
    );
    let many: Vec<String> = (1..=1001).map(|size| size.to_string()).collect();
    assert_eq!(
        refused_line(&format!("[sweep.traffic]\nbatch = [{}]", many.join(", "))),
        "campaigns/x.toml:7: sweep.traffic.batch makes 1001 cases; at most 1000 are allowed"
    );
    let swept = format!("{BASE}[sweep.traffic]\nduration = [\"1s\", \"2s\"]\n");
    assert_eq!(
        refused(&swept, &set(&["traffic.duration=3s"])),
        "--set cannot set traffic.duration: the campaign sweeps it, and its cases are named after it"
    );
    let quick = Overrides {
        quick: true,
        ..Overrides::default()
    };
    assert_eq!(
        refused(&swept, &quick),
        "--quick cannot set traffic.duration: the campaign sweeps it, and its cases are named after it"
    );
    assert_eq!(
        refused_demo(&["traffic.duration"]),
        "--set traffic.duration: no value; write --set key=value"
    );
    assert_eq!(
        refused_demo(&["schema=1"]),
        "--set schema: the version belongs to the file"
    );
    assert_eq!(
        refused_demo(&["arm.other.receiver.timeout=1ms"]),
        "--set arm.other.receiver.timeout: other is not an arm of a paired campaign; they are baseline and candidate"
    );
    assert_eq!(
        refused_demo(&["arm.candidate.traffic.batch=1"]),
        "--set arm.candidate.traffic.batch: arms may set receiver.* and program.* only"
    );
}

#[test]
fn values_that_do_not_fit_together() {
    for (assignments, sentence) in [
        (
            &["design.pairs=7"][..],
            "design.pairs is 7; it must be even and at least 6 (12 is the default)",
        ),
        (
            &["design.pairs=4"],
            "design.pairs is 4; it must be even and at least 6 (12 is the default)",
        ),
        (
            &["design.margin=0%"],
            "design.margin is 0%; it must be more than 0% and at most 50%, or more than 0 for a difference, or none (none is the default)",
        ),
        (
            &["design.margin=none", "design.require-stable=true"],
            "design.require-stable is true; order and time are held against the margin, so declare \
             design.margin",
        ),
        (
            &["design.primary=elapsed-ns-per-unit"],
            "design.primary is elapsed-ns-per-unit; at a fixed offered rate that is the generator's clock, choose \
             capture-cost-ns-per-packet, process-cpu-ns-per-packet, capture-kernel-ns-per-packet, \
             send-call-ns-per-packet, peak-rss-bytes, lost-per-million, \
             context-switches-per-million, page-faults-per-million, instructions-per-packet",
        ),
        (
            &["traffic.rate-pps=0"],
            "traffic.rate-pps is 0; it must be 10 to 16000000 packets per second",
        ),
        (
            &["traffic.frame-size=60"],
            "frame-size 60 leaves 14 bytes of UDP payload; a counted packet needs 18 (frame-size 64)",
        ),
        (
            &["traffic.frame-size=45"],
            "frame-size 45 leaves no bytes of UDP payload; a counted packet needs 18 (frame-size 64)",
        ),
        (
            &["topology.family=ipv6"],
            "frame-size 64 leaves no bytes of UDP payload; a counted packet needs 18 (frame-size 84)",
        ),
        (
            &["receiver.timeout=1500us"],
            "receiver.timeout is 1500us; it must be whole milliseconds, 1ms to 10s (10ms is the default)",
        ),
        (
            &["receiver.timeout=0ms"],
            "receiver.timeout is 0ns; it must be whole milliseconds, 1ms to 10s (10ms is the default)",
        ),
        (
            &["receiver.snaplen=59"],
            "receiver.snaplen is 59; it must be at least 60, the headers and the stamp of a frame of 64 bytes",
        ),
        (
            &["traffic.warm-up=100ms"],
            "traffic.warm-up is 100ms; it must be at least 200ms",
        ),
        (
            &["traffic.warm-up=200ms", "receiver.timeout=11ms"],
            "traffic.warm-up is 200ms; it must be at least 220ms, 20 times receiver.timeout 11ms",
        ),
        (
            &["traffic.slice=49ms"],
            "traffic.slice is 49ms; it must be at least 50ms, 5 times receiver.timeout 10ms",
        ),
        (
            &["traffic.duration=49ms"],
            "traffic.duration is 49ms; it must be at least 50ms, one slice",
        ),
        (
            &["traffic.flows=3", "traffic.senders=2"],
            "traffic.flows is 3; it must be a multiple of traffic.senders, which is 2",
        ),
        (
            &["traffic.flows=0"],
            "traffic.flows is 0; it must be a multiple of traffic.senders, which is 1",
        ),
        (
            &["traffic.max-burst=3", "traffic.batch=4"],
            "traffic.max-burst is 3; it must be at least traffic.batch",
        ),
        (
            &["traffic.rate-pps=1000", "traffic.batch=64"],
            "traffic.slice is 50ms, which holds 50 packets; flows 1, senders 1 and batch 64 need 82 (slice 82ms)",
        ),
        (
            &["traffic.duration=10m"],
            "traffic.duration is 600s, which is 12004 slices of 50ms with the warm-up; at most 4000 fit a plan (slice 151ms)",
        ),
        (
            &[
                "traffic.duration=1440m",
                "traffic.slice=1m",
                "traffic.rate-pps=16M",
                "traffic.senders=1",
            ],
            "traffic.duration is 86400s, which is 1382400001440 packets a flow; a stamp counts to 1099511627775, so take more traffic.flows",
        ),
    ] {
        assert_eq!(refused_demo(assignments), sentence);
    }
}

/// The cure that a sentence names is one.
#[test]
fn cures_cure() {
    for assignments in [
        &[
            "traffic.rate-pps=1000",
            "traffic.batch=64",
            "traffic.slice=82ms",
        ][..],
        &["traffic.duration=10m", "traffic.slice=151ms"],
        &["topology.family=ipv6", "traffic.frame-size=84"],
    ] {
        demo(&set(assignments));
    }
}

/// What is wrong in one case only is said with its name.
#[test]
fn the_case_is_named_if_others_are_right() {
    let text = format!("{BASE}[[case]]\nname = \"b\"\ntraffic.rate-pps = 0\n");
    assert_eq!(
        refused(&text, &Overrides::default()),
        "case b: traffic.rate-pps is 0; it must be 10 to 16000000 packets per second"
    );
}

proptest! {
    /// A damaged file is read, or refused with one line that names it; it never does anything else.
    #[test]
    fn damage_is_one_sentence(start: prop::sample::Index, length in 0_usize..40, patch in "[a-z0-9.=\\[\\]{}\"\n -]{0,12}") {
        let text = shipped::ALL[0].text;
        let start = start.index(text.len());
        let end = (start + length).min(text.len());
        let damaged = format!("{}{patch}{}", &text[..start], &text[end..]);
        if let Err(failure) = parse("campaigns/x.toml", &damaged, &Overrides::default()) {
            prop_assert_eq!(failure.code, exit::USAGE);
            prop_assert!(!failure.message.contains('\n'), "{}", failure.message);
            prop_assert!(!failure.message.is_empty());
        }
    }
}
