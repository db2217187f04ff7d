//! How far equal arms come out apart: as it was known before, and as an A/A campaign shows it.

use wiretrial_contract::analysis::{Analysis, Comparison};

use super::order::effect_unit;
use super::{Cell, Column, Table};

/// One row a case; `None` where nothing of it is known.
#[must_use]
pub fn floors(analysis: &Analysis) -> Option<Table> {
    let aa = analysis.calibration.is_some();
    let cases: Vec<&Comparison> = analysis
        .comparisons
        .iter()
        .filter(|one| one.primary && (aa || one.floor.is_some()))
        .collect();
    if cases.is_empty() {
        return None;
    }
    let unit = effect_unit(analysis);
    let size = |name: &str, header: &str| Column::right(name, header).in_unit(unit);
    let title = if aa {
        "how far equal arms come out apart"
    } else {
        "how far equal arms are known to come out apart"
    };
    Some(Table {
        name: "floors".into(),
        title: title.into(),
        note:
            "half the width of the 95 % decision interval, or the distance of its far end where it \
               excludes no difference"
                .into(),
        columns: vec![
            Column::left("case", "case"),
            size("here", "in this campaign"),
            size("scatter", "scatter of the pairs"),
            size("known", "known before"),
            Column::right("occasions", "A/A campaigns"),
            Column::right("age_days", "days old"),
        ],
        rows: cases.iter().map(|one| row(one, aa)).collect(),
    })
}

fn row(one: &Comparison, aa: bool) -> Vec<Cell> {
    let size = |size: Option<f64>| {
        size.map_or(Cell::Absent, |value| Cell::Size {
            value,
            scale: one.scale,
        })
    };
    let scatter = one.sd_log.filter(|_| aa);
    let scatter = scatter.map_or(Cell::Absent, |value| Cell::Spread {
        value,
        scale: one.scale,
    });
    let here = one.shown_floor().filter(|_| aa).map(|floor| floor.size);
    let floor = one.floor;
    let count =
        |number: Option<u32>| number.map_or(Cell::Absent, |number| Cell::Count(number.into()));
    vec![
        Cell::Text(one.label()),
        size(here),
        scatter,
        size(floor.map(|floor| floor.size)),
        count(floor.map(|floor| floor.occasions)),
        count(floor.map(|floor| floor.age_days)),
    ]
}
