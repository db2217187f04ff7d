//! Packets of a case over both arms: sent, seen, lost, and what the 0.1 % rule says of the worse arm.

use wiretrial_contract::analysis::{Analysis, Load, LoadReason, LoadVerdict};
use wiretrial_contract::record::Flag;

use super::loads::{verdict_tone, verdict_words};
use super::{Cell, Column, Table, both_or_all};

/// Packets by case, the arms added up. `unexplained` adds the arms as numbers when they have the
/// same sign and as sizes otherwise, so that two doubts never cancel. The bound is the higher of the
/// arms' pooled 95 % upper bounds, unknown when one is.
#[must_use]
pub fn packets(analysis: &Analysis) -> Table {
    let groups = by_case(&analysis.loads);
    table(
        analysis,
        groups
            .iter()
            .map(|loads| row(&loads[0].case, loads))
            .collect(),
    )
}

/// The same with at most `most` rows: the worst cases by themselves, the others in one last row.
pub(crate) fn packets_in(analysis: &Analysis, most: usize) -> Table {
    let mut groups = by_case(&analysis.loads);
    if groups.len() <= most {
        return packets(analysis);
    }
    let all = groups.len();
    groups.sort_by_key(|loads| std::cmp::Reverse(severity(loads)));
    let alone = most.saturating_sub(1).min(unclean(&groups));
    let rest: Vec<&Load> = groups.split_off(alone).concat();
    let name = if alone == 0 {
        format!("all {all} cases")
    } else {
        format!("{} more", all - alone)
    };
    let mut rows: Vec<Vec<Cell>> = groups
        .iter()
        .map(|loads| row(&loads[0].case, loads))
        .collect();
    rows.push(row(&name, &rest));
    table(analysis, rows)
}

/// Cases whose packets need a row of their own.
pub(crate) fn unclean_cases(analysis: &Analysis) -> usize {
    unclean(&by_case(&analysis.loads))
}

fn unclean(groups: &[Vec<&Load>]) -> usize {
    groups
        .iter()
        .filter(|loads| severity(loads) > (0, 0, 0))
        .count()
}

fn table(analysis: &Analysis, rows: Vec<Vec<Cell>>) -> Table {
    let title = format!("packets, {} arms", both_or_all(analysis));
    Table {
        name: "packets".into(),
        note: String::new(),
        columns: vec![
            Column::left("case", "case").short(&title),
            Column::right("accepted", "sent").in_unit("packets"),
            Column::right("unique", "seen").in_unit("packets"),
            Column::right("lost", "lost").in_unit("packets"),
            Column::right("unexplained", "unexplained").in_unit("copies"),
            Column::right("upper95", "95 % bound").in_unit("percent"),
            Column::left("rule", "0.1 % rule"),
        ],
        rows,
        title,
    }
}

fn by_case(loads: &[Load]) -> Vec<Vec<&Load>> {
    let mut groups: Vec<Vec<&Load>> = Vec::new();
    for load in loads {
        match groups.iter_mut().find(|group| group[0].case == load.case) {
            Some(group) => group.push(load),
            None => groups.push(vec![load]),
        }
    }
    groups
}

fn row(name: &str, loads: &[&Load]) -> Vec<Cell> {
    let counted = loads.iter().all(|load| load.repeats > 0);
    let sum = |count: fn(&Load) -> u64| {
        if !counted {
            return Cell::Unknown;
        }
        Cell::Count(
            loads
                .iter()
                .fold(0_u64, |sum, load| sum.saturating_add(count(load))),
        )
    };
    // A range where an arm's is one, unknown where an arm's is.
    let told = counted && !loads.iter().any(|load| load.loss_unknown());
    let range = |ends: fn(&Load) -> (u64, u64)| {
        if !told {
            return Cell::Unknown;
        }
        let sums = loads.iter().fold((0_u64, 0_u64), |sum, load| {
            let (least, most) = ends(load);
            (sum.0.saturating_add(least), sum.1.saturating_add(most))
        });
        Cell::Range {
            least: sums.0,
            most: sums.1,
        }
    };
    vec![
        Cell::Text(name.into()),
        sum(|load| load.accepted),
        range(|load| {
            let (least, _) = load.lost_range();
            let most = load.accepted.saturating_sub(least).max(load.unique);
            (load.unique, most)
        }),
        range(Load::lost_range),
        if counted {
            Cell::Signed(unexplained(loads))
        } else {
            Cell::Unknown
        },
        worst_bound(loads).map_or(Cell::Unknown, Cell::Bound),
        rule(loads),
    ]
}

fn unexplained(loads: &[&Load]) -> i64 {
    let same_sign = loads.iter().all(|load| load.unexplained >= 0)
        || loads.iter().all(|load| load.unexplained <= 0);
    loads.iter().fold(0_i64, |sum, load| {
        let copies = if same_sign {
            load.unexplained
        } else {
            load.unexplained.saturating_abs()
        };
        sum.saturating_add(copies)
    })
}

fn worst_bound(loads: &[&Load]) -> Option<f64> {
    loads
        .iter()
        .map(|load| load.loss_upper95)
        .collect::<Option<Vec<f64>>>()?
        .into_iter()
        .reduce(f64::max)
}

fn rule(loads: &[&Load]) -> Cell {
    let verdict = loads
        .iter()
        .map(|load| load.verdict)
        .max_by_key(|verdict| rank(*verdict))
        .unwrap_or(LoadVerdict::Invalid);
    let mut text = verdict_words(verdict).to_owned();
    if verdict == LoadVerdict::Inconclusive && loads.iter().all(|load| load.rule_ok == Some(true)) {
        text += ", rule holds";
        let few = |load: &&Load| load.reasons.contains(&LoadReason::BelowMinimum);
        if loads.iter().any(few) {
            text += ", too few packets";
        }
    }
    let coupled = loads.iter().any(|load| load.flags.contains(&Flag::Coupled));
    if coupled && verdict != LoadVerdict::CoupledLimit {
        text += ", coupled";
    }
    let arms: Vec<&str> = loads
        .iter()
        .filter(|load| load.verdict == verdict)
        .map(|load| load.arm.as_str())
        .collect();
    if let [arm] = arms[..]
        && loads.len() > 1
    {
        text += &format!(" ({arm})");
    }
    Cell::Verdict(text, verdict_tone(verdict))
}

fn severity(loads: &[&Load]) -> (u8, u64, u64) {
    let rank = loads
        .iter()
        .map(|load| rank(load.verdict))
        .max()
        .unwrap_or(0);
    let lost = loads
        .iter()
        .fold(0_u64, |sum, load| sum.saturating_add(load.lost));
    (rank, lost, unexplained(loads).unsigned_abs())
}

const fn rank(verdict: LoadVerdict) -> u8 {
    match verdict {
        LoadVerdict::Pass => 0,
        LoadVerdict::Inconclusive => 1,
        LoadVerdict::CoupledLimit => 2,
        LoadVerdict::GeneratorLimited => 3,
        LoadVerdict::PathVariable => 4,
        LoadVerdict::Fail => 5,
        LoadVerdict::Invalid => 6,
    }
}
