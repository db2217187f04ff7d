//! Tables as values: named columns with their unit in the header, and cells that know both how
//! people and how programs read them. The screen, Markdown and CSV render the same value.

mod arms;
mod costs;
mod effect;
mod family;
mod floors;
mod identities;
mod intervals;
mod limits;
mod loads;
mod order;
mod packets;
mod passes;
mod validity;

use wiretrial_contract::analysis::Analysis;
use wiretrial_contract::metric::{Metric, Scale};
use wiretrial_contract::plan::Workload;

use crate::number;

pub use arms::arms;
pub use costs::costs;
pub use effect::effect;
pub(crate) use effect::{effect_cell, interval_cell};
pub use family::{calibration, family, simultaneous};
pub use floors::floors;
pub(crate) use identities::compared;
pub use identities::identities;
pub use intervals::intervals;
pub use limits::limits;
pub use loads::loads;
pub use order::{order, time, with_voided};
pub use packets::packets;
pub(crate) use packets::{packets_in, unclean_cases};
pub use passes::passes;
pub use validity::{gates, validity};

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its name in file names, `[a-z0-9-]+`.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// What holds for all rows, such as the number of pairs.
    pub note: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with one cell a column.
    pub rows: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name in CSV with the unit as suffix; an interval takes two, `NAME_lo_UNIT` and
    /// `NAME_hi_UNIT`.
    pub name: String,
    /// Unit suffix of the name in CSV, empty for none.
    pub unit: &'static str,
    /// Its header for people, with the unit and, where there is one, the good direction.
    pub header: String,
    /// Its header on a screen whose title says the unit already.
    pub short: String,
    /// Side to which its cells are aligned.
    pub align: Align,
    /// Whether its cells are intervals.
    pub interval: bool,
}

/// Side to which cells are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// What colour may add to a cell; it never carries anything by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Nothing.
    Plain,
    /// Better, or passed.
    Good,
    /// Worse, failed or broken.
    Bad,
    /// Not decided.
    Open,
}

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Not known: a word for people, empty in CSV.
    Unknown,
    /// Does not apply: a dash for people, empty in CSV.
    Absent,
    /// Words.
    Text(String),
    /// Words with a tone.
    Verdict(String, Tone),
    /// A count.
    Count(u64),
    /// A signed count.
    Signed(i64),
    /// A number with the decimals its uncertainty supports.
    Number {
        /// The number.
        value: f64,
        /// Decimals for people.
        decimals: usize,
    },
    /// A declared ratio as a percentage.
    Percent(f64),
    /// A relative change, -1 and up; a signed percentage for people.
    Change {
        /// The change as a ratio less 1.
        change: f64,
        /// Decimals of the percentage for people.
        decimals: usize,
    },
    /// An interval of relative changes; an end is `None` where it cannot be resolved.
    Interval {
        /// Lower end as a ratio less 1.
        lo: Option<f64>,
        /// Upper end as a ratio less 1.
        hi: Option<f64>,
        /// Decimals of the percentages for people.
        decimals: usize,
    },
    /// A difference in the unit of its column; a signed number for people.
    Difference {
        /// The difference.
        value: f64,
        /// Decimals for people.
        decimals: usize,
    },
    /// An interval of a quantity, in its unit.
    Between {
        /// Lower end.
        lo: Option<f64>,
        /// Upper end.
        hi: Option<f64>,
        /// Decimals for people.
        decimals: usize,
    },
    /// An interval of differences; an end is `None` where it cannot be resolved.
    Span {
        /// Lower end.
        lo: Option<f64>,
        /// Upper end.
        hi: Option<f64>,
        /// Decimals for people.
        decimals: usize,
    },
    /// An interval that does not apply: a dash for people, empty in CSV.
    AbsentInterval,
    /// A p value.
    P(f64),
    /// A derived share as a whole percentage.
    Share(f64),
    /// A size without a sign on the scale of a comparison, rounded up for people.
    Size {
        /// The size: a share of a ratio, or a number of a difference.
        value: f64,
        /// The scale.
        scale: Scale,
    },
    /// The same of something that is measured and not a bound, rounded to the nearest for people.
    Spread {
        /// The size: a share of a ratio, or a number of a difference.
        value: f64,
        /// The scale.
        scale: Scale,
    },
    /// Between two counts, both included: a range for people, the most in CSV.
    Range {
        /// At least.
        least: u64,
        /// At most.
        most: u64,
    },
    /// Lost of accepted packets as a percentage; a range for people where `least` is below `lost`, the
    /// most in CSV.
    Loss {
        /// Lost, at least.
        least: u64,
        /// Lost, at most.
        lost: u64,
        /// Accepted.
        accepted: u64,
    },
    /// An upper bound of a loss ratio, rounded up for people.
    Bound(f64),
}

impl Table {
    /// The same table with only the columns of these names, in their order here.
    #[must_use]
    pub fn only(&self, names: &[&str]) -> Self {
        let kept: Vec<usize> = names
            .iter()
            .filter_map(|name| self.columns.iter().position(|column| column.name == *name))
            .collect();
        Self {
            columns: kept.iter().map(|at| self.columns[*at].clone()).collect(),
            rows: self
                .rows
                .iter()
                .map(|row| kept.iter().map(|at| row[*at].clone()).collect())
                .collect(),
            ..self.clone()
        }
    }
}

impl Column {
    fn left(name: &str, header: &str) -> Self {
        Self {
            name: name.into(),
            unit: "",
            header: header.into(),
            short: header.into(),
            align: Align::Left,
            interval: false,
        }
    }

    fn right(name: &str, header: &str) -> Self {
        Self {
            align: Align::Right,
            ..Self::left(name, header)
        }
    }

    fn interval(name: &str, header: &str) -> Self {
        Self {
            interval: true,
            ..Self::left(name, header).in_unit("percent")
        }
    }

    fn in_unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    fn short(self, short: &str) -> Self {
        Self {
            short: short.into(),
            ..self
        }
    }

    /// Its names in CSV: one, or two for an interval.
    #[must_use]
    pub fn csv_names(&self) -> Vec<String> {
        let suffix = if self.unit.is_empty() {
            String::new()
        } else {
            format!("_{}", self.unit)
        };
        if self.interval {
            ["lo", "hi"]
                .map(|end| format!("{}_{end}{suffix}", self.name))
                .to_vec()
        } else {
            vec![format!("{}{suffix}", self.name)]
        }
    }
}

impl Cell {
    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Unknown => "unknown".into(),
            Self::Absent | Self::AbsentInterval => "-".into(),
            Self::Text(text) | Self::Verdict(text, _) => text.clone(),
            Self::Count(value) => number::count(*value),
            Self::Signed(value) => number::signed(*value),
            Self::Number { value, decimals } => number::decimal(*value, *decimals),
            Self::Percent(ratio) => number::margin(*ratio),
            Self::Change { change, decimals } => number::change(*change, *decimals),
            Self::Interval { lo, hi, decimals } => {
                ends(*lo, *hi, |change| number::change(change, *decimals))
            }
            Self::Difference { value, decimals } => number::signed_decimal(*value, *decimals),
            Self::Span { lo, hi, decimals } => {
                ends(*lo, *hi, |end| number::signed_decimal(end, *decimals))
            }
            Self::Between { lo, hi, decimals } => {
                ends(*lo, *hi, |end| number::decimal(end, *decimals))
            }
            Self::P(p) => number::p_value(*p),
            Self::Share(share) => format!("{:.0} %", share * 100.0),
            Self::Size { value, scale } => match scale {
                Scale::Ratio => format!("{} %", number::two_digits_up(*value * 100.0)),
                Scale::Difference => number::two_digits_up(*value),
            },
            Self::Spread { value, scale } => match scale {
                Scale::Ratio => format!("{} %", number::two_digits_nearest(*value * 100.0)),
                Scale::Difference => number::two_digits_nearest(*value),
            },
            Self::Range { least, most } if least == most => number::count(*most),
            Self::Range { least, most } => {
                format!("{} to {}", number::count(*least), number::count(*most))
            }
            Self::Loss {
                least,
                lost,
                accepted,
            } => {
                let percent = |lost: u64| number::loss_percent(lost, *accepted);
                match (percent(*least), percent(*lost)) {
                    (Some(least), Some(most)) if least != most => format!("{least} to {most}"),
                    (_, Some(most)) => most,
                    (_, None) => "unknown".into(),
                }
            }
            Self::Bound(ratio) => number::bound_percent(*ratio),
        }
    }

    /// What colour may add.
    #[must_use]
    pub const fn tone(&self) -> Tone {
        match self {
            Self::Verdict(_, tone) => *tone,
            _ => Tone::Plain,
        }
    }
}

/// An interval for people.
fn ends(lo: Option<f64>, hi: Option<f64>, text: impl Fn(f64) -> String) -> String {
    if lo.is_none() && hi.is_none() {
        return "no interval".into();
    }
    let end = |end: Option<f64>| end.map_or_else(|| "unresolved".into(), &text);
    format!("[{}, {}]", end(lo), end(hi))
}

/// What the trials came to on `metric`: the arms of a table side by side, else candidate against
/// baseline.
#[must_use]
pub fn outcome(analysis: &Analysis, metric: Metric) -> Table {
    if analysis.estimates.is_empty() {
        effect(analysis, metric)
    } else {
        arms(analysis, metric)
    }
}

/// All tables of a report: the primary metric's effect first, then the packets and loads or the work
/// of passes, order and time, what all cases say together, checks, gates, limits, all costs and what was
/// measured, then the effects on the other metrics.
#[must_use]
pub fn all(analysis: &Analysis) -> Vec<Table> {
    let mut tables = vec![outcome(analysis, analysis.conditions.primary)];
    if is_live(analysis) {
        tables.extend([packets(analysis), loads(analysis)]);
    } else {
        tables.push(passes(analysis));
    }
    let beside = [
        intervals,
        order,
        time,
        with_voided,
        floors,
        family,
        simultaneous,
        calibration,
    ];
    tables.extend(beside.iter().filter_map(|table| table(analysis)));
    tables.extend([
        validity(analysis),
        gates(analysis),
        limits(analysis),
        costs(analysis),
    ]);
    if !analysis.conditions.arms.is_empty() {
        tables.push(identities(analysis));
    }
    tables.extend(
        other_metrics(analysis)
            .into_iter()
            .map(|metric| outcome(analysis, metric)),
    );
    tables
}

/// What the arms of an analysis are together: both, or all.
pub(crate) fn both_or_all(analysis: &Analysis) -> &'static str {
    if analysis.estimates.is_empty() {
        "both"
    } else {
        "all"
    }
}

/// Whether packets were sent.
pub(crate) fn is_live(analysis: &Analysis) -> bool {
    analysis.conditions.workload == Workload::Live
}

/// The metrics of an analysis that do not decide, in the contract's order. One that no trial has,
/// such as instructions without a counter for them, is among the costs only.
pub(crate) fn other_metrics(analysis: &Analysis) -> Vec<Metric> {
    Metric::ALL
        .into_iter()
        .filter(|metric| *metric != analysis.conditions.primary)
        .filter(|metric| {
            analysis
                .comparisons
                .iter()
                .any(|comparison| comparison.metric == *metric && comparison.pairs > 0)
        })
        .collect()
}

/// The tone of an answer's leading word.
pub(crate) fn answer_tone(word: &str) -> Tone {
    match word {
        "better" => Tone::Good,
        "worse" | "invalid" => Tone::Bad,
        "not decided" | "mixed" => Tone::Open,
        _ => Tone::Plain,
    }
}
