//! `wiretrial judge`: numbers that were measured elsewhere, by the same rules.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use wiretrial_contract::analysis::Load;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::metric::{Direction, Scale};
use wiretrial_contract::plan::Seed;
use wiretrial_contract::record::{Ledger, Share};
use wiretrial_contract::units::Percent;
use wiretrial_reports::number;

use super::{options, output};
use crate::elsewhere::pairs::{self, Domain};
use crate::elsewhere::trial;
use crate::elsewhere::values::{self, Asked};

/// Judge numbers that were measured elsewhere, by the rules of a campaign. No guard can be checked, so a
/// verdict holds as far as the numbers do.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Pairs(Box<PairsArguments>),
    Trial(TrialArguments),
}

/// Compare pairs of values in a CSV file: baseline,candidate[,order]
#[derive(Debug, Args)]
#[command(
    after_help = "The first line is the header; # begins a comment. order says which of a pair was
measured first: baseline or candidate; the randomization test takes that order as if it had been drawn
among all that are balanced. At least 6 pairs give an interval, 12 are usual, above 256 the verdict rests
on Student's t alone, more than 1,000,000 are refused. A pair is a launch of each arm, not a sample.

Examples:
  wiretrial judge pairs times.csv --margin 3%
  wiretrial judge pairs rates.csv --margin 5% --direction higher --unit 'packets per second'
  wiretrial judge pairs lost.csv --difference --margin 10 --unit packets
  some-benchmark | wiretrial judge pairs - --margin 3% --format json

Exit codes: 0 judged, whatever the verdict; 2 the file or the command line is wrong"
)]
struct PairsArguments {
    /// The file, or - for standard input
    file: PathBuf,
    /// The effect that is worth having or fearing: a percentage, or with --difference a number in the
    /// unit of the values. Without one nothing is the same or worthwhile
    #[arg(long, value_name = "MARGIN", allow_hyphen_values = true)]
    margin: Option<String>,
    /// Which values are better
    #[arg(long, value_enum, default_value_t)]
    direction: Better,
    /// Subtract instead of dividing: for values that can be 0 or less
    #[arg(long)]
    difference: bool,
    /// What the values are called
    #[arg(long, value_name = "NAME", default_value = "value")]
    metric: String,
    /// Their unit
    #[arg(long, value_name = "TEXT", default_value = "")]
    unit: String,
    /// Seed of the resamples: the same one gives the same intervals
    #[arg(long, value_parser = options::seed, default_value = "0x0000000000000000")]
    seed: Seed,
    /// What to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Join the two reports of a trial by hand: where its packets went, and whether the loss limit was kept
#[derive(Debug, Args)]
#[command(after_help = "Example:
  wiretrial-receiver capture --interface eth1 --packets 1M > recv.json
  wiretrial-generator send --target 10.99.0.2:39053 --packets 1M --rate 100k > gen.json
  wiretrial judge trial gen.json recv.json

Exit codes: 0 judged, whatever the verdict; 2 a file is wrong, or they are of different trials")]
struct TrialArguments {
    /// What wiretrial-generator send printed
    generator: PathBuf,
    /// What wiretrial-receiver capture printed
    receiver: PathBuf,
    /// What to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Better {
    /// A cost
    #[default]
    Lower,
    /// A rate
    Higher,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Format {
    /// For people
    #[default]
    Screen,
    /// One document with the names of analysis.json
    Json,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.what {
        What::Pairs(arguments) => judge_pairs(arguments),
        What::Trial(arguments) => judge_trial(arguments),
    }
}

fn judge_pairs(arguments: &PairsArguments) -> Result<(), Failure> {
    let asked = arguments.asked()?;
    let domain = match asked.scale {
        Scale::Ratio => Domain::Positive,
        Scale::Difference => Domain::Any,
    };
    let pairs = if arguments.file == Path::new("-") {
        pairs::read("standard input", io::stdin().lock(), domain)?
    } else {
        let shown = arguments.file.display().to_string();
        let wrong = |why: String| Failure::usage(format!("{shown}: {why}"));
        if arguments.file.is_dir() {
            return Err(wrong(
                "it is a folder; name a CSV file, or - for standard input".into(),
            ));
        }
        let file = File::open(&arguments.file)
            .map_err(|error| wrong(format!("it cannot be read: {error}")))?;
        pairs::read(&shown, BufReader::new(file), domain)?
    };
    let comparison = values::judge(&pairs, &asked);
    output::data(&match arguments.format {
        Format::Json => format!("{:#}\n", values::document(&comparison, &asked)),
        Format::Screen => {
            let mut text = format!("{}\n", comparison.statement);
            let notes = values::notes(&comparison).into_iter();
            text.extend(notes.map(|note| format!("  {note}\n")));
            if comparison.decision.lo95.is_none() {
                text.extend(few(&comparison.values));
            }
            text
        }
    })
}

/// The values themselves, where there is no more to be said.
fn few(values: &[[f64; 2]]) -> impl Iterator<Item = String> {
    const SHOWN: usize = 12;
    let more = values.len().saturating_sub(SHOWN);
    let rows = values.iter().take(SHOWN);
    rows.map(|[one, other]| format!("  {one} -> {other}\n"))
        .chain((more > 0).then(|| format!("  and {more} more\n")))
}

impl PairsArguments {
    fn asked(&self) -> Result<Asked, Failure> {
        let margin = self.margin.as_deref().map(|text| self.margin_of(text));
        Ok(Asked {
            metric: self.metric.clone(),
            unit: self.unit.clone(),
            direction: match self.direction {
                Better::Lower => Direction::LowerIsBetter,
                Better::Higher => Direction::HigherIsBetter,
            },
            scale: if self.difference {
                Scale::Difference
            } else {
                Scale::Ratio
            },
            margin: margin.transpose()?,
            seed: self.seed,
        })
    }

    fn margin_of(&self, text: &str) -> Result<f64, Failure> {
        let (value, wanted) = if self.difference {
            let value = text.parse::<f64>().ok();
            (
                value.filter(|value| value.is_finite() && *value > 0.0),
                "a number above 0 in the unit of the values, as --difference subtracts",
            )
        } else {
            let share = text.parse::<Percent>().ok().map(|Percent(share)| share);
            (
                share.filter(|share| *share > 0.0 && *share <= 0.5),
                "a percentage above 0% and at most 50%, such as 3%",
            )
        };
        value.ok_or_else(|| Failure::usage(format!("--margin {text} is not {wanted}")))
    }
}

fn judge_trial(arguments: &TrialArguments) -> Result<(), Failure> {
    let judged = trial::judge(&arguments.generator, &arguments.receiver)?;
    output::data(&match arguments.format {
        Format::Json => format!("{:#}\n", json!({ "loads": [judged.load] })),
        Format::Screen => shown(&judged.load, &judged.ledger),
    })
}

/// The ledger and the verdict, a line each.
fn shown(load: &Load, ledger: &Ledger) -> String {
    let pps = |rate: Option<f64>| rate.map_or("unknown".into(), |rate| number::decimal(rate, 0));
    let loss = number::loss_percent(load.lost, load.accepted);
    let bound = load.loss_upper95.map(number::bound_percent);
    let unknown = || "unknown".to_owned();
    let places: Vec<String> = load
        .lost_at
        .iter()
        .map(|(stage, share)| format!("{} {}", stage.name(), place(*share)))
        .collect();
    let flags = load.flags.iter().map(|flag| flag.name());
    let words: Vec<&str> = load
        .reasons
        .iter()
        .map(|reason| reason.name())
        .chain(flags)
        .collect();
    let words = match &words[..] {
        [] => String::new(),
        words => format!(" ({})", words.join(", ")),
    };
    let rule = match load.rule_ok {
        Some(true) => "holds",
        Some(false) => "does not hold",
        None => "is not known",
    };
    format!(
        "rate      {} packets per second asked, {} offered, {} delivered\n\
         packets   {} accepted = {} seen + {} lost: {}, 95 % bound {}; the 0.1 % rule {rule}\n\
         lost in   {}; {} unexplained\n\
         beside    {} duplicate, {} reordered, {} foreign\n\
         verdict   {}{words}\n",
        number::count(load.intended_pps),
        pps(load.offered_pps),
        pps(load.delivered_pps),
        number::count(ledger.accepted),
        number::count(ledger.unique),
        number::signed(ledger.lost),
        loss.unwrap_or_else(unknown),
        bound.unwrap_or_else(unknown),
        places.join(", "),
        number::signed(load.unexplained),
        counted(load.duplicate),
        counted(load.reordered),
        counted(load.foreign),
        load.verdict.name(),
    )
}

fn counted(count: Option<u64>) -> String {
    count.map_or("unknown".into(), number::count)
}

fn place(share: Option<Share>) -> String {
    match share {
        None => "unknown".into(),
        Some(Share::Count(count)) => number::count(count),
        Some(Share::Range { min, max }) => {
            format!("{} to {}", number::count(min), number::count(max))
        }
    }
}
