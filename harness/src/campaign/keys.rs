//! The one table of keys of campaign files: path, form, range, default, who may set it, meaning.
//!
//! Reading, `wiretrial plan --full` and `campaigns/FORMAT.md` are made from it, so that they cannot
//! disagree.

mod table;

use wiretrial_contract::control::CaptureSettings;
use wiretrial_contract::plan::{
    Campaign, Case, Measured, PassProgram, Passes, ReceiverSpec, Topology, Traffic, Work, Workload,
};
use wiretrial_contract::program::{CountName, ProgramSpec};
use wiretrial_contract::units::{Bytes, Nanos};

pub use table::KEYS;
pub(super) use table::percent;

use super::nearest::nearest;
use super::source;

/// The version of the campaign files that this build reads.
pub const SCHEMA: u64 = 1;
/// The question of a campaign that asks none in words of its own.
pub const QUESTION: &str = "Is the candidate better than the baseline?";
/// The value of a key that does not apply.
pub const NOT_HERE: &str = "-";

/// A key of a campaign file.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its path from the top of the file, kebab-case, joined by dots.
    pub path: &'static str,
    /// How its value is written.
    pub form: Form,
    /// Which values are allowed.
    pub range: Range,
    /// What it is when nobody sets it.
    pub default: Default,
    /// Who may set it.
    pub level: Level,
    /// What it means, one line.
    pub meaning: &'static str,
    /// Its value at one place of a campaign, as it would be written, without quotes.
    pub show: fn(&At<'_>) -> String,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A time with its unit: `"50ms"`.
    Time,
    /// An amount of memory with its unit: `"16MiB"`.
    Size,
    /// An integer, or a text with k or M: `20000`, `"20k"`.
    Count,
    /// A percentage: `"3%"`, or `"none"`.
    Share,
    /// A percentage, or a number in the unit of a metric that is compared as a difference.
    Margin,
    /// `true` or `false`.
    Switch,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// A name: `[a-z0-9._-]+`, beginning with a letter or digit.
    Name,
    /// A line of text.
    Sentence,
    /// A path or the name of a program.
    Path,
    /// The arguments of a program, the program first.
    Arguments,
    /// Argument lists, one after the other.
    Steps,
    /// Environment variables.
    Variables,
    /// What shows that a program captures.
    Ready,
    /// Where a count is read.
    Source,
}

/// Which values are allowed, in ns, bytes or numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// All that have the form.
    Any,
    /// From the first to the last, both included.
    Within(u64, u64),
    /// What the words say, which depends on other keys; never more than the number.
    Rule(&'static str, u64),
}

/// What a key is when nobody sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Default {
    /// Always this, written as in a file without quotes.
    Fixed(&'static str),
    /// It follows from other keys as the words say.
    Derived(&'static str),
    /// It must be set.
    Required,
}

/// Who may set a key; `--set` may set all but `schema`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The file, for the whole campaign.
    Campaign,
    /// The file or a case.
    Case,
    /// The file, a case or an arm: it makes the arm.
    Arm,
}

/// One place of a campaign: an arm in a case.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// The campaign.
    pub campaign: &'a Campaign,
    /// Index of the case.
    pub case: usize,
    /// Index of the arm.
    pub arm: usize,
}

/// The key with this path.
#[must_use]
pub fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// The path nearest to a wrong one, if any is near.
#[must_use]
pub fn suggestion(wrong: &str) -> Option<&'static str> {
    nearest(wrong, KEYS.iter().map(|key| key.path))
}

/// Whether a path is a table that holds keys, such as `traffic`.
#[must_use]
pub fn is_table(path: &str) -> bool {
    KEYS.iter().any(|key| {
        key.path
            .strip_prefix(path)
            .is_some_and(|rest| rest.starts_with('.'))
    })
}

impl Key {
    /// The sentence that refuses a value of the right form: the value, the range, the default.
    #[must_use]
    pub fn refuse(&self, shown: &str) -> String {
        let default = match self.default {
            Default::Fixed(text) => format!(" ({text} is the default)"),
            Default::Derived(_) | Default::Required => String::new(),
        };
        format!(
            "{} is {shown}; it must be {}{default}",
            self.path,
            self.range_text()
        )
    }

    /// The allowed values in words.
    #[must_use]
    pub fn range_text(&self) -> String {
        match (self.range, self.form) {
            (Range::Any, Form::Word(words)) => words.join(", "),
            (Range::Any, _) => "any".into(),
            (Range::Within(low, high), _) if low == high => self.text(low),
            (Range::Within(low, high), _) => format!("{} to {}", self.text(low), self.text(high)),
            (Range::Rule(words, _), _) => words.into(),
        }
    }

    /// A number of this key's form as it is written.
    #[must_use]
    pub fn text(&self, number: u64) -> String {
        match self.form {
            Form::Time => Nanos(number).to_string(),
            Form::Size => Bytes(number).to_string(),
            _ => number.to_string(),
        }
    }

    /// Its value in every arm of every case, in the order of cases and arms.
    #[must_use]
    pub fn values(&self, campaign: &Campaign) -> Vec<String> {
        let arms = campaign.arms.len();
        (0..campaign.cases.len() * arms)
            .map(|place| {
                (self.show)(&At {
                    campaign,
                    case: place / arms,
                    arm: place % arms,
                })
            })
            .collect()
    }
}

impl Form {
    /// Its name in the documentation.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Size => "size",
            Self::Count => "count",
            Self::Share => "percentage",
            Self::Margin => "percentage or number",
            Self::Switch => "true or false",
            Self::Word(_) => "word",
            Self::Name => "name",
            Self::Sentence => "text",
            Self::Path => "path",
            Self::Arguments => "list of texts",
            Self::Steps => "list of lists of texts",
            Self::Variables => "table of texts",
            Self::Ready => "sign",
            Self::Source => "source",
        }
    }
}

impl Level {
    /// Who may set it, in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Campaign => "file",
            Self::Case => "file, case",
            Self::Arm => "file, case, arm",
        }
    }
}

impl At<'_> {
    fn case(&self) -> &Case {
        &self.campaign.cases[self.case]
    }

    /// A value of the traffic; a dash where nothing is sent.
    fn traffic(&self, show: impl FnOnce(&Traffic) -> String) -> String {
        let live = self.case().live();
        live.map_or_else(|| NOT_HERE.into(), |live| show(&live.traffic))
    }

    /// A value of the built-in receiver's capture; a dash where a program of the user's is measured.
    fn capture(&self, show: impl FnOnce(&CaptureSettings) -> String) -> String {
        match self.receiver().map(|receiver| &receiver.program) {
            Some(Measured::BuiltIn { capture, .. }) => show(capture),
            _ => NOT_HERE.into(),
        }
    }

    fn receiver(&self) -> Option<&ReceiverSpec> {
        self.case().live().map(|live| &live.receivers[self.arm])
    }

    /// A value of the topology; a dash where nothing is sent.
    fn topology(&self, show: impl FnOnce(&Topology) -> String) -> String {
        let live = self.case().live();
        live.map_or_else(|| NOT_HERE.into(), |_| show(&self.campaign.topology))
    }

    /// A value of the passes; a dash where there are none.
    fn passes(&self, show: impl FnOnce(&Passes) -> String) -> String {
        let passes = self.case().passes();
        passes.map_or_else(|| NOT_HERE.into(), show)
    }

    /// A value of the program of the user's; a dash where there is none.
    fn program(&self, show: impl FnOnce(&ProgramSpec) -> Option<String>) -> String {
        let program = match &self.case().work {
            Work::Live(live) => live.receivers[self.arm].outside(),
            Work::Passes(passes) => match &passes.programs[self.arm] {
                PassProgram::RawFold => None,
                PassProgram::Outside(program) => Some(program),
            },
        };
        program.and_then(show).unwrap_or_else(|| NOT_HERE.into())
    }

    /// The arguments of the program of the user's; a dash where the workload is another one.
    fn arguments(&self, workload: Workload) -> String {
        self.program(|program| {
            (self.campaign.workload() == workload).then(|| source::list(&program.arguments))
        })
    }

    /// Where the program of the user's says a count; a dash where it does not.
    fn count(&self, name: CountName) -> String {
        self.program(|program| program.counts.get(&name).map(source::text))
    }
}

#[cfg(test)]
mod tests {
    use super::super::value::Value;
    use super::*;

    #[test]
    fn paths_are_kebab_case_and_unique() {
        for (index, key) in KEYS.iter().enumerate() {
            assert!(
                key.path
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c == '-' || c == '.'),
                "{}",
                key.path
            );
            assert!(
                KEYS[..index].iter().all(|other| other.path != key.path),
                "{}",
                key.path
            );
        }
    }

    #[test]
    fn fixed_defaults_have_the_form_and_range_of_their_key() {
        for key in KEYS {
            let Default::Fixed(text) = key.default else {
                continue;
            };
            let value = key.form.read_default(text).unwrap();
            if let (Range::Within(low, high), Value::Number(number)) = (key.range, value) {
                assert!((low..=high).contains(&number), "{}", key.path);
            }
        }
    }

    #[test]
    fn the_refusal_of_seven_pairs() {
        assert_eq!(
            find("design.pairs").unwrap().refuse("7"),
            "design.pairs is 7; it must be even and at least 6 (12 is the default)"
        );
    }

    #[test]
    fn tables_are_known() {
        assert!(is_table("traffic"));
        assert!(!is_table("traffi"));
        assert!(!is_table("traffic.duration"));
    }
}
