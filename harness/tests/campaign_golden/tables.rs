//! Campaign files of kind table.

use wiretrial::campaign::order;
use wiretrial_contract::plan::{Kind, LaunchOrder};

use super::{Overrides, read, refused, set};

const TABLE: &str = r#"schema = 1
kind = "table"
traffic.rate-pps = 20000
[arm.immediate.receiver]
immediate = true
[arm.buffered.receiver]
immediate = false
[arm.small.receiver]
buffer-size = "1MiB"
"#;

#[test]
fn the_arms_are_those_of_the_file_in_its_order() {
    let campaign = read(TABLE);
    assert_eq!(campaign.kind, Kind::Table);
    let names: Vec<&str> = campaign.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(names, ["immediate", "buffered", "small"]);
    assert_eq!(campaign.reference(), 0);
    assert_eq!(campaign.cases[0].arms(), 3);
    let last = TABLE.replace("[arm.imm", "design.reference = \"small\"\n[arm.imm");
    assert_eq!(read(&last).reference(), 2);
}

#[test]
fn every_order_of_three_arms_is_drawn_equally_often() {
    let campaign = read(TABLE);
    let pairs = order::pairs(&campaign, 7);
    assert_eq!(pairs.len(), 12);
    for arms in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let order = LaunchOrder::Arms(arms.into());
        let times = pairs.iter().filter(|pair| pair.order == order).count();
        assert_eq!(times, 2, "{arms:?}");
    }
}

#[test]
fn a_plan_says_how_many_trials_rounds_and_ports_that_is() {
    let brief = wiretrial::campaign::text::brief(&read(TABLE), None);
    assert!(
        brief.contains("36 in 12 rounds, 12 a case; all arms alive"),
        "{brief}"
    );
    assert!(brief.contains("UDP ports 39053 to 39056"), "{brief}");
    let full = wiretrial::campaign::text::full(&read(TABLE), 7, None);
    let line = full
        .lines()
        .find(|line| line.trim_start().starts_with("design.reference"));
    assert!(line.unwrap().contains("immediate"), "{full}");
}

#[test]
fn what_a_table_does_not_have_is_refused() {
    let none = Overrides::default();
    let with = |line: &str| {
        refused(
            &TABLE.replace("[arm.imm", &format!("{line}\n[arm.imm")),
            &none,
        )
    };
    assert_eq!(
        with("design.reference = \"smal\""),
        "design.reference is smal; it must be one of the arms immediate, buffered, small"
    );
    assert_eq!(
        with("design.layout-control = \"small\""),
        "design.layout-control is small; it must be an arm beside the reference, in a table with a \
         design.margin"
    );
    assert_eq!(
        with("topology.port = 65533"),
        "topology.port is 65533; 4 ports in a row do not fit above it, choose a lower one"
    );
    assert_eq!(
        with("[[gate]]\nname = \"g\"\nany = [\"send-call-ns-per-packet down 1%\"]"),
        "gate g: gates judge a candidate, and a table has none; use kind = \"paired\""
    );
    let aa = Overrides {
        aa: true,
        ..Overrides::default()
    };
    assert!(refused(TABLE, &aa).starts_with("design.aa is true; a table"));
    assert_eq!(
        refused(
            "schema = 1\nkind = \"table\"\ntraffic.rate-pps = 100\n",
            &none
        ),
        "campaigns/x.toml: a table of 0 arms; write 2 to 8 tables [arm.NAME.receiver] or [arm.NAME.program]"
    );
    assert_eq!(
        refused(&TABLE.replace("arm.small", "arm.\"A b\""), &none),
        "campaigns/x.toml:8: arm A b is no name: a-z, 0-9, dot, underscore and dash, a letter or digit first"
    );
    assert_eq!(
        refused(TABLE, &set(&["arm.candidate.receiver.timeout=1ms"])),
        "--set arm.candidate.receiver.timeout: candidate is not an arm of a table campaign; they are \
         immediate and buffered and small"
    );
    let paired = TABLE.replace("\"table\"", "\"paired\"");
    assert_eq!(
        refused(&paired, &none),
        "campaigns/x.toml:4: immediate is not an arm of a paired campaign; they are baseline and candidate"
    );
}
