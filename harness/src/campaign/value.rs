//! What is written in a campaign file, and what it means for a key.

use std::collections::BTreeMap;
use std::fmt;

use toml::de::DeValue;
use wiretrial_contract::failure::visible;
use wiretrial_contract::program::ReadySign;
use wiretrial_contract::units::{Bytes, Count, Nanos, Percent};

use super::keys::Form;
use super::margin::Margin;
use super::source::{self, Sources};

/// A value as written, not yet read for a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Raw {
    Text(String),
    Integer(i128),
    Switch(bool),
    List(Vec<Raw>),
    /// A table that is a value, such as a source of a count.
    Table(Vec<(String, Raw)>),
    /// Floats and dates; a margin may be a float.
    Other(String),
}

impl Raw {
    pub(super) fn from_toml(value: &DeValue<'_>) -> Self {
        match value {
            DeValue::String(text) => Self::Text(text.to_string()),
            DeValue::Integer(integer) => i128::from_str_radix(integer.as_str(), integer.radix())
                .map_or_else(|_| Self::Other(integer.to_string()), Self::Integer),
            DeValue::Boolean(switch) => Self::Switch(*switch),
            DeValue::Array(items) => Self::List(
                items
                    .iter()
                    .map(|item| Self::from_toml(item.get_ref()))
                    .collect(),
            ),
            DeValue::Float(float) => Self::Other(float.to_string()),
            DeValue::Datetime(date) => Self::Other(date.to_string()),
            DeValue::Table(table) => Self::Table(
                table
                    .iter()
                    .map(|(key, value)| {
                        let name = key.get_ref().to_string();
                        (name, Self::from_toml(value.get_ref()))
                    })
                    .collect(),
            ),
        }
    }

    /// The text, if it is one.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The texts of a list, if it holds nothing else.
    pub(super) fn texts(&self) -> Option<Vec<String>> {
        match self {
            Self::List(items) => items
                .iter()
                // No argument can hold a zero byte (execve(2)).
                .map(|item| {
                    item.text()
                        .filter(|text| !text.contains('\0'))
                        .map(String::from)
                })
                .collect(),
            _ => None,
        }
    }

    /// The value without quotes: what a sweep puts into the names of its cases.
    pub(super) fn bare(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "\"{}\"", visible(text)),
            Self::Integer(integer) => write!(f, "{integer}"),
            Self::Switch(switch) => write!(f, "{switch}"),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Self::Table(entries) => {
                let entries: Vec<String> = entries
                    .iter()
                    .map(|(name, value)| format!("{name} = {value}"))
                    .collect();
                write!(f, "{{ {} }}", entries.join(", "))
            }
            Self::Other(text) => f.write_str(text),
        }
    }
}

/// A value that has the form its key wants; times in ns, sizes in bytes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Number(u64),
    Share(Option<f64>),
    Margin(Margin),
    Switch(bool),
    Word(String),
    Arguments(Vec<String>),
    Steps(Vec<Vec<String>>),
    Variables(BTreeMap<String, String>),
    Ready(ReadySign),
    Sources(Sources),
}

impl Form {
    /// Reads a value; the error quotes it and names a form that works.
    pub(super) fn read(&self, raw: &Raw) -> Result<Value, String> {
        let number = |number: u64| Value::Number(number);
        match (self, raw) {
            (Self::Time, Raw::Text(text)) => read::<Nanos>(text).map(|Nanos(nanos)| number(nanos)),
            (Self::Size, Raw::Text(text)) => read::<Bytes>(text).map(|Bytes(bytes)| number(bytes)),
            (Self::Count, Raw::Text(text)) => read::<Count>(text).map(|Count(count)| number(count)),
            (Self::Count, Raw::Integer(integer)) => u64::try_from(*integer)
                .map(number)
                .map_err(|_| self.refuse(raw)),
            (Self::Share, Raw::Text(text)) if text == "none" => Ok(Value::Share(None)),
            (Self::Share, Raw::Text(text)) => {
                read::<Percent>(text).map(|Percent(ratio)| Value::Share(Some(ratio)))
            }
            (Self::Margin, raw) => Margin::read(raw)
                .map(Value::Margin)
                .ok_or_else(|| self.refuse(raw)),
            (Self::Switch, Raw::Switch(switch)) => Ok(Value::Switch(*switch)),
            (Self::Word(words), Raw::Text(text)) if words.contains(&text.as_str()) => {
                Ok(Value::Word(text.clone()))
            }
            (Self::Name, Raw::Text(text)) if is_name(text) => Ok(Value::Word(text.clone())),
            (Self::Sentence, Raw::Text(text)) if is_sentence(text) => Ok(Value::Word(text.clone())),
            (Self::Path, Raw::Text(text)) if is_path(text) => Ok(Value::Word(text.clone())),
            (Self::Arguments, raw) => raw
                .texts()
                .map(Value::Arguments)
                .ok_or_else(|| self.refuse(raw)),
            (Self::Steps, Raw::List(steps)) => {
                let steps: Option<_> = steps.iter().map(Raw::texts).collect();
                steps.map(Value::Steps).ok_or_else(|| self.refuse(raw))
            }
            (Self::Variables, Raw::Table(entries)) => {
                let texts = entries.iter().map(|(name, value)| {
                    let value = value.text()?;
                    is_variable(name, value).then(|| (name.clone(), value.into()))
                });
                let texts: Option<_> = texts.collect();
                texts.map(Value::Variables).ok_or_else(|| self.refuse(raw))
            }
            (Self::Ready, Raw::Text(text)) if text == "seen" => Ok(Value::Ready(ReadySign::Seen)),
            (Self::Ready, Raw::Table(entries)) => match &entries[..] {
                [(name, Raw::Text(regex))] if name == "stderr" => {
                    Ok(Value::Ready(ReadySign::Stderr(regex.clone())))
                }
                _ => Err(self.refuse(raw)),
            },
            (Self::Source, raw) => source::read(raw)
                .map(Value::Sources)
                .ok_or_else(|| self.refuse(raw)),
            _ => Err(self.refuse(raw)),
        }
    }

    /// Reads the text of a default in the table of keys.
    pub(super) fn read_default(&self, text: &str) -> Result<Value, String> {
        match (self, text) {
            (Self::Switch, "true" | "false") => Ok(Value::Switch(text == "true")),
            _ => self.read(&Raw::Text(text.into())),
        }
    }

    fn refuse(&self, raw: &Raw) -> String {
        let wanted = match self {
            Self::Time => "a time such as \"1s\", \"50ms\" or \"2m\"".into(),
            Self::Size => "a size such as \"16MiB\" or \"256KiB\"".into(),
            Self::Count => "a count such as 1500, \"250k\" or \"1M\"".into(),
            Self::Share => "a percentage such as \"3%\"".into(),
            Self::Margin => {
                "a percentage such as \"3%\", or a number in the unit of a primary metric \
                             that is compared as a difference"
                    .into()
            }
            Self::Switch => "true or false".into(),
            Self::Word([word]) => format!("\"{word}\", the only choice"),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::Name => {
                "a name: a-z, 0-9, dot, underscore and dash after a letter or digit, at most 64"
                    .into()
            }
            Self::Sentence => "a line of text, 1 to 200 characters".into(),
            Self::Path => "a path, 1 to 4096 characters".into(),
            Self::Arguments => "a list of texts such as [\"{binary}\", \"-r\", \"{file}\"]".into(),
            Self::Steps => {
                "a list of lists of texts such as [[\"./configure\"], [\"make\"]]".into()
            }
            Self::Variables => "a table of texts such as { LC_ALL = \"C\" }".into(),
            Self::Ready => "\"seen\" or { stderr = 'regular expression' }".into(),
            Self::Source => source::FORMS.into(),
        };
        format!("{raw} is not {wanted}")
    }
}

/// Whether a text names a campaign: `[a-z0-9._-]+`, and never a hidden or a parent folder.
pub(super) fn is_name(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c))
}

/// Whether a text names a case: names as of campaigns, separated by `/`.
pub(super) fn is_case_name(text: &str) -> bool {
    text.len() <= 128 && text.split('/').all(is_name)
}

fn is_sentence(text: &str) -> bool {
    (1..=200).contains(&text.chars().count()) && !text.contains(char::is_control)
}

fn is_path(text: &str) -> bool {
    (1..=4_096).contains(&text.chars().count()) && !text.contains(char::is_control)
}

fn is_variable(name: &str, value: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
}

fn read<T: std::str::FromStr>(text: &str) -> Result<T, String>
where
    T::Err: fmt::Display,
{
    text.parse().map_err(|error: T::Err| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(form: Form, raw: Raw) -> String {
        form.read(&raw).unwrap_err()
    }

    #[test]
    fn a_value_has_the_form_of_its_key() {
        assert_eq!(
            Form::Time.read(&Raw::Text("50ms".into())),
            Ok(Value::Number(50_000_000))
        );
        assert_eq!(Form::Count.read(&Raw::Integer(7)), Ok(Value::Number(7)));
        assert_eq!(
            Form::Count.read(&Raw::Text("20k".into())),
            Ok(Value::Number(20_000))
        );
        assert_eq!(
            Form::Share.read(&Raw::Text("3%".into())),
            Ok(Value::Share(Some(0.03)))
        );
        assert_eq!(
            Form::Share.read(&Raw::Text("none".into())),
            Ok(Value::Share(None))
        );
    }

    #[test]
    fn a_refusal_quotes_the_value_and_names_a_form_that_works() {
        assert_eq!(
            refusal(Form::Time, Raw::Integer(1)),
            "1 is not a time such as \"1s\", \"50ms\" or \"2m\""
        );
        assert_eq!(
            refusal(Form::Count, Raw::Integer(-1)),
            "-1 is not a count such as 1500, \"250k\" or \"1M\""
        );
        assert_eq!(
            refusal(Form::Switch, Raw::Text("true".into())),
            "\"true\" is not true or false"
        );
        assert_eq!(
            refusal(Form::Word(&["paired"]), Raw::Text("pared".into())),
            "\"pared\" is not \"paired\", the only choice"
        );
        assert_eq!(
            refusal(Form::Word(&["ipv4", "ipv6"]), Raw::Integer(4)),
            "4 is not one of ipv4, ipv6"
        );
        assert_eq!(
            refusal(Form::Time, Raw::List(vec![Raw::Text("1s".into())])),
            "[\"1s\"] is not a time such as \"1s\", \"50ms\" or \"2m\""
        );
    }

    /// The two refusals of one form, of a wrong type and of a wrong text, are the same sentence.
    #[test]
    fn refusals_agree_with_the_units() {
        for form in [Form::Time, Form::Size, Form::Count, Form::Share] {
            let raw = Raw::Text("x".into());
            assert_eq!(form.read(&raw), Err(form.refuse(&raw)));
        }
    }

    #[test]
    fn names_cannot_leave_their_folder() {
        for name in ["..", ".hidden", "", "a/b", "A", "-x", "a b"] {
            assert!(!is_name(name), "{name}");
        }
        assert!(is_name("vxlan_2.a-b"));
        for name in ["a//b", "/a", "a/..", "a/"] {
            assert!(!is_case_name(name), "{name}");
        }
        assert!(is_case_name("20k/10ms"));
    }
}
