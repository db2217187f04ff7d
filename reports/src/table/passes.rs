//! The work of passes: one row a case and arm, with what starting takes shown apart.

use wiretrial_contract::analysis::{Analysis, PassSummary, WorkProof};
use wiretrial_contract::plan::Workload;

use super::{Cell, Column, Table, Tone};
use crate::shorten::shortened;

/// Characters of a checksum in a table for people.
const CHECKSUM: usize = 18;

/// What every arm's passes did, one row a case and arm in the order of the analysis.
#[must_use]
pub fn passes(analysis: &Analysis) -> Table {
    let note = match analysis.conditions.workload {
        Workload::File => {
            "start-up: CPU of a pass over the first packets alone; it is not in the CPU a packet"
        }
        _ => "one pass is one run of the command; start-up is in every number",
    };
    Table {
        name: "passes".into(),
        title: "work of the passes, by arm".into(),
        note: note.into(),
        columns: vec![
            Column::left("case", "case"),
            Column::left("arm", "arm"),
            Column::right("passes", "passes"),
            Column::right("units", "units a pass").short("units"),
            Column::right("elapsed", "elapsed a pass, ms")
                .short("elapsed, ms")
                .in_unit("ms"),
            Column::right("cpu", "CPU a pass, ms")
                .short("CPU, ms")
                .in_unit("ms"),
            Column::right("start_up_cpu", "start-up CPU, ms")
                .short("start-up, ms")
                .in_unit("ms"),
            Column::right("start_up_share", "start-up of CPU, %")
                .short("of CPU")
                .in_unit("percent"),
            Column::left("checksum", "checksum"),
            Column::right("left_processes", "passes that left processes"),
            Column::left("work", "work"),
        ],
        rows: analysis.passes.iter().map(row).collect(),
    }
}

fn row(work: &PassSummary) -> Vec<Cell> {
    let time = |ns: Option<f64>| {
        ns.map_or(Cell::Unknown, |ns| Cell::Number {
            value: ns / 1e6,
            decimals: 3,
        })
    };
    vec![
        Cell::Text(work.case.clone()),
        Cell::Text(work.arm.clone()),
        Cell::Count(work.passes),
        work.units.map_or(Cell::Unknown, Cell::Count),
        time(work.elapsed_ns),
        time(work.cpu_ns),
        time(work.start_up_cpu_ns),
        work.start_up_share.map_or(Cell::Unknown, |ratio| {
            let tenths = (ratio * 1000.0).round() / 1000.0;
            Cell::Percent(tenths)
        }),
        work.checksum.as_ref().map_or(Cell::Unknown, |checksum| {
            Cell::Text(shortened(checksum, CHECKSUM))
        }),
        Cell::Count(work.left_processes),
        proof(work),
    ]
}

fn proof(work: &PassSummary) -> Cell {
    let (text, tone) = match work.proof {
        _ if work.passes == 0 => ("no trial counts", Tone::Open),
        WorkProof::Checksum => ("same units and checksum", Tone::Good),
        WorkProof::Units => ("same units", Tone::Good),
        WorkProof::None => ("not told", Tone::Open),
        WorkProof::Wrong => ("wrong", Tone::Bad),
    };
    Cell::Verdict(text.into(), tone)
}
