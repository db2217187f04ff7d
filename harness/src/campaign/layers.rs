//! A campaign file taken apart: which layer sets which key, on which line.

use std::fmt;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use wiretrial_contract::failure::{Failure, visible};

use super::gates::{self, Gate};
use super::keys::{self, Form, Key, Level, Range};
use super::outside;
use super::value::{Raw, Value, is_case_name};

/// Where a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// A line of a file.
    Line(Arc<str>, usize),
    /// `--set`.
    Set,
    /// Another flag of the command line.
    Flag(&'static str),
    /// The table of keys.
    Table,
}

impl Place {
    /// A sentence with its place before it; only a line of a file needs one.
    pub(super) fn refuse(&self, sentence: impl fmt::Display) -> Failure {
        match self {
            Self::Line(file, line) => Failure::usage(format!("{file}:{line}: {sentence}")),
            _ => Failure::usage(sentence.to_string()),
        }
    }
}

/// One key that a layer sets.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: &'static Key,
    pub(super) value: Value,
    pub(super) place: Place,
}

/// What one arm sets.
#[derive(Debug)]
pub(super) struct ArmLayer {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) entries: Vec<Entry>,
}

/// What one case sets.
#[derive(Debug, Clone)]
pub(super) struct CaseLayer {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) entries: Vec<Entry>,
}

/// One swept key: a suffix for the case's name, and the setting.
#[derive(Debug)]
pub(super) struct Sweep {
    pub(super) key: &'static Key,
    pub(super) place: Place,
    pub(super) steps: Vec<(String, Value)>,
}

/// A campaign file, every key known and every value of the right form.
#[derive(Debug, Default)]
pub(super) struct Layers {
    pub(super) file: Vec<Entry>,
    pub(super) arms: Vec<ArmLayer>,
    pub(super) cases: Vec<CaseLayer>,
    pub(super) sweeps: Vec<Sweep>,
    pub(super) gates: Vec<Gate>,
}

/// Takes a file apart.
pub(super) fn read(label: &str, text: &str) -> Result<Layers, Failure> {
    let source = Source {
        label: label.into(),
        text,
    };
    let document = DeTable::parse(text).map_err(|error| {
        let message = error.message().lines().next().unwrap_or("not TOML");
        source
            .place(error.span().map_or(0, |span| span.start))
            .refuse(message)
    })?;
    let root = document.get_ref();
    source.check_schema(root)?;
    let mut layers = Layers::default();
    for (key, value) in in_order(root) {
        let place = source.place(key.span().start);
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("arm", DeValue::Table(arms)) => {
                for (name, arm) in in_order(arms) {
                    layers.arms.push(source.arm(name, arm.get_ref())?);
                }
            }
            ("arm", _) => return Err(place.refuse("arm is not a table; write [arm.NAME.receiver]")),
            ("case", DeValue::Array(cases)) => {
                for case in cases.iter() {
                    layers.cases.push(source.case(case)?);
                }
            }
            ("case", _) => return Err(place.refuse("case is not a list; write [[case]]")),
            ("gate", DeValue::Array(gates)) => {
                for gate in gates.iter() {
                    layers.gates.push(source.gate(gate)?);
                }
            }
            ("gate", _) => return Err(place.refuse("gate is not a list; write [[gate]]")),
            ("sweep", DeValue::Table(sweep)) => {
                for leaf in source.leaves("", sweep) {
                    layers.sweeps.push(source.sweep(&leaf)?);
                }
            }
            ("sweep", _) => {
                return Err(place.refuse("sweep is not a table; write sweep.KEY = [VALUE, ...]"));
            }
            (name, value) => {
                for leaf in source.below(name, &place, value) {
                    layers.file.push(leaf.entry("")?);
                }
            }
        }
    }
    Ok(layers)
}

/// Kinds of campaigns that are known and that this version does not run.
pub(super) const LATER_KINDS: [&str; 1] = ["probe"];

/// What an arm may set.
pub(super) const OF_ARMS: &str = "arms may set receiver.* and program.* only";

/// Reads a value that stands for `key`, wherever it was written.
pub(super) fn typed(key: &'static Key, raw: &Raw, place: &Place) -> Result<Value, Failure> {
    if let (Form::Word(kinds), "kind", Some(kind)) = (key.form, key.path, raw.text())
        && LATER_KINDS.contains(&kind)
    {
        return Err(place.refuse(format_args!(
            "kind is {kind}; wiretrial {} does not run it, it runs {}",
            env!("CARGO_PKG_VERSION"),
            kinds.join(", ")
        )));
    }
    let value = key
        .form
        .read(raw)
        .map_err(|refusal| place.refuse(format_args!("{} {refusal}", key.path)))?;
    if let Value::Number(number) = value {
        match key.range {
            Range::Within(low, high) if !(low..=high).contains(&number) => {
                return Err(place.refuse(key.refuse(&key.text(number))));
            }
            Range::Rule(_, most) if number > most => {
                return Err(place.refuse(format_args!(
                    "{} is {}; it must be at most {}",
                    key.path,
                    key.text(number),
                    key.text(most)
                )));
            }
            _ => {}
        }
    }
    outside::check(key, &value)
        .map_err(|sentence| place.refuse(format_args!("{}: {sentence}", key.path)))?;
    Ok(value)
}

/// The sentence for a path that is no key. `prefix` is what stands before every path of its layer.
pub(super) fn unknown(prefix: &str, path: &str) -> String {
    let path = &visible(path);
    if keys::is_table(path) {
        return format!("{prefix}{path} is a table; write one of its keys, {path}.KEY = VALUE");
    }
    keys::suggestion(path).map_or_else(
        || format!("unknown key {prefix}{path}; wiretrial new lists all keys"),
        |meant| format!("unknown key {prefix}{path}; did you mean {prefix}{meant}?"),
    )
}

struct Source<'t> {
    label: Arc<str>,
    text: &'t str,
}

/// A value with its path within its layer.
struct Leaf<'d> {
    path: String,
    value: &'d DeValue<'d>,
    place: Place,
}

impl Leaf<'_> {
    fn entry(&self, prefix: &str) -> Result<Entry, Failure> {
        let key = self.key(prefix)?;
        let value = typed(key, &Raw::from_toml(self.value), &self.place)?;
        Ok(Entry {
            key,
            value,
            place: self.place.clone(),
        })
    }

    fn key(&self, prefix: &str) -> Result<&'static Key, Failure> {
        keys::find(&self.path).ok_or_else(|| self.place.refuse(unknown(prefix, &self.path)))
    }
}

impl Source<'_> {
    fn place(&self, offset: usize) -> Place {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        Place::Line(Arc::clone(&self.label), line)
    }

    /// Before anything else: a file of another version may hold keys that this build cannot know.
    fn check_schema(&self, root: &DeTable<'_>) -> Result<(), Failure> {
        let schema = keys::find("schema").expect("the table has it");
        let Some((key, value)) = root.get_key_value("schema") else {
            return Err(Failure::usage(format!(
                "{}: schema is not set; write schema = {}",
                self.label,
                keys::SCHEMA
            )));
        };
        let place = self.place(key.span().start);
        typed(schema, &Raw::from_toml(value.get_ref()), &place).map(|_| ())
    }

    fn arm(
        &self,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        arm: &DeValue<'_>,
    ) -> Result<ArmLayer, Failure> {
        let place = self.place(name.span().start);
        let name = name.get_ref().to_string();
        let prefix = format!("arm.{name}.");
        let DeValue::Table(table) = arm else {
            return Err(place.refuse(format_args!(
                "arm.{name} is not a table; write [arm.{name}.receiver]"
            )));
        };
        let mut entries = Vec::new();
        for leaf in self.leaves("", table) {
            if leaf.key(&prefix)?.level != Level::Arm {
                return Err(leaf.place.refuse(format_args!(
                    "{prefix}{} cannot be set by an arm; {OF_ARMS}",
                    leaf.path
                )));
            }
            entries.push(leaf.entry(&prefix)?);
        }
        Ok(ArmLayer {
            name,
            place,
            entries,
        })
    }

    fn case(&self, case: &Spanned<DeValue<'_>>) -> Result<CaseLayer, Failure> {
        let place = self.place(case.span().start);
        let DeValue::Table(table) = case.get_ref() else {
            return Err(place.refuse("case is not a list of tables; write [[case]]"));
        };
        let mut name = None;
        let mut entries = Vec::new();
        for leaf in self.leaves("", table) {
            if leaf.path == "name" {
                name = Some(case_name(&leaf)?);
                continue;
            }
            if leaf.key("")?.level == Level::Campaign {
                return Err(leaf.place.refuse(format_args!(
                    "{} cannot be set by a case; set it for the whole file",
                    leaf.path
                )));
            }
            entries.push(leaf.entry("")?);
        }
        let Some(name) = name else {
            return Err(place.refuse("the case has no name; write name = \"...\" in it"));
        };
        Ok(CaseLayer {
            name,
            place,
            entries,
        })
    }

    fn gate(&self, gate: &Spanned<DeValue<'_>>) -> Result<Gate, Failure> {
        let place = self.place(gate.span().start);
        let DeValue::Table(table) = gate.get_ref() else {
            return Err(place.refuse("gate is not a list of tables; write [[gate]]"));
        };
        let entries: Vec<_> = in_order(table)
            .into_iter()
            .map(|(key, value)| {
                let name = key.get_ref().to_string();
                let place = self.place(key.span().start);
                (name, Raw::from_toml(value.get_ref()), place)
            })
            .collect();
        gates::read(place, &entries)
    }

    fn sweep(&self, leaf: &Leaf<'_>) -> Result<Sweep, Failure> {
        let key = leaf.key("sweep.")?;
        let path = key.path;
        if key.level == Level::Campaign {
            return Err(leaf.place.refuse(format_args!(
                "sweep.{path} cannot be swept; it is one for the whole file"
            )));
        }
        if matches!(
            key.form,
            Form::Arguments | Form::Steps | Form::Variables | Form::Ready | Form::Source
        ) {
            return Err(leaf.place.refuse(format_args!(
                "sweep.{path} cannot be swept; cases are named after their values, and a {} makes \
                 no name",
                key.form.name()
            )));
        }
        let values = match Raw::from_toml(leaf.value) {
            Raw::List(values) if !values.is_empty() => values,
            other => {
                return Err(leaf.place.refuse(format_args!(
                    "sweep.{path} is {other}; it must be a list of at least one value"
                )));
            }
        };
        let mut steps = Vec::new();
        for raw in values {
            steps.push((suffix(&raw), typed(key, &raw, &leaf.place)?));
        }
        Ok(Sweep {
            key,
            place: leaf.place.clone(),
            steps,
        })
    }

    /// All values below a table, in the order of the file. An empty table is kept if no key could
    /// stand in it, so that its misspelt name is refused too.
    fn leaves<'d>(&self, path: &str, table: &'d DeTable<'d>) -> Vec<Leaf<'d>> {
        let mut leaves = Vec::new();
        for (key, value) in in_order(table) {
            let path = if path.is_empty() {
                key.get_ref().to_string()
            } else {
                format!("{path}.{}", key.get_ref())
            };
            leaves.extend(self.below(&path, &self.place(key.span().start), value.get_ref()));
        }
        leaves
    }

    fn below<'d>(&self, path: &str, place: &Place, value: &'d DeValue<'d>) -> Vec<Leaf<'d>> {
        match value {
            // A table may be a value, as that of program.env is.
            DeValue::Table(table) if !table.is_empty() && keys::find(path).is_none() => {
                self.leaves(path, table)
            }
            DeValue::Table(_) if keys::is_table(path) => Vec::new(),
            value => vec![Leaf {
                path: path.into(),
                value,
                place: place.clone(),
            }],
        }
    }
}

fn case_name(leaf: &Leaf<'_>) -> Result<String, Failure> {
    match Raw::from_toml(leaf.value) {
        Raw::Text(name) if is_case_name(&name) => Ok(name),
        other => Err(leaf.place.refuse(format_args!(
            "case name {other} is not a name: a-z, 0-9, dot, underscore, dash, parts separated by /"
        ))),
    }
}

/// What a swept value adds to the name of a case: the value as written, in lower case, other signs
/// as dashes.
fn suffix(raw: &Raw) -> String {
    raw.bare()
        .to_lowercase()
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "._-".contains(c) {
                c
            } else {
                '-'
            }
        })
        .collect()
}

/// Entries of a table in the order in which they were written, not of their names.
fn in_order<'d, 'i>(
    table: &'d DeTable<'i>,
) -> Vec<(
    &'d Spanned<std::borrow::Cow<'i, str>>,
    &'d Spanned<DeValue<'i>>,
)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}
