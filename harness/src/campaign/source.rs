//! Where a program says its counts, as it is written in `counts.NAME`, and the expressions in it.

use regex::Regex;
use serde_json::Value as Json;
use wiretrial_contract::plan::Workload;
use wiretrial_contract::program::CountSource;

use super::placeholders;
use super::value::Raw;

/// The forms of a source, for the sentence that refuses another.
pub(super) const FORMS: &str = "a source of a count: { stdout = 'regex' }, { stderr = 'regex' }, \
     { file = \"path\", regex = 'regex' }, { json = \"/pointer\" }, \
     { command = [\"...\"], stdout = 'regex' }, or { live = SOURCE, file = SOURCE, command = SOURCE }";

/// All workloads.
const WORKLOADS: [Workload; 3] = [Workload::Live, Workload::File, Workload::Command];

/// Where a count is read: the same in every workload, or by workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sources {
    Same(CountSource),
    ByWorkload(Vec<(Workload, CountSource)>),
}

impl Sources {
    /// The source in a workload.
    pub(super) fn of(&self, workload: Workload) -> Option<&CountSource> {
        match self {
            Self::Same(source) => Some(source),
            Self::ByWorkload(sources) => sources
                .iter()
                .find(|(of, _)| *of == workload)
                .map(|(_, source)| source),
        }
    }

    /// The sentence about a source that cannot work, whatever it is used for.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Self::Same(source) => check(source, None),
            Self::ByWorkload(sources) => sources
                .iter()
                .try_for_each(|(workload, source)| check(source, Some(*workload))),
        }
    }
}

/// Reads a source, or one per workload; `None` when it is neither.
pub(super) fn read(raw: &Raw) -> Option<Sources> {
    let Raw::Table(entries) = raw else {
        return None;
    };
    if entries.is_empty() {
        return None;
    }
    let by_workload: Option<Vec<_>> = entries
        .iter()
        .map(|(name, value)| match value {
            Raw::Table(source) => Some((workload(name)?, source)),
            _ => None,
        })
        .collect();
    match by_workload {
        Some(sources) => sources
            .into_iter()
            .map(|(workload, source)| Some((workload, one(source)?)))
            .collect::<Option<_>>()
            .map(Sources::ByWorkload),
        None => one(entries).map(Sources::Same),
    }
}

/// The sentence about a source that cannot work in a workload, or in none.
pub(super) fn check(source: &CountSource, workload: Option<Workload>) -> Result<(), String> {
    match source {
        CountSource::Stdout(regex) | CountSource::Stderr(regex) => number(regex),
        CountSource::File { path, regex } => {
            placeholders::check(path, workload)?;
            number(regex)
        }
        CountSource::Json(pointer) if pointer.is_empty() || pointer.starts_with('/') => Ok(()),
        CountSource::Json(pointer) => Err(format!(
            "the JSON pointer \"{pointer}\" does not begin with /; write one as \"/packets\""
        )),
        CountSource::Command { arguments, regex } => {
            if arguments.is_empty() {
                return Err("the command is []; it must name a program".into());
            }
            for argument in arguments {
                placeholders::check(argument, workload)?;
            }
            number(regex)
        }
    }
}

/// The sentence about an expression that does not compile.
pub(super) fn compiles(regex: &str) -> Result<Regex, String> {
    Regex::new(regex).map_err(|error| {
        let text = error.to_string();
        let why = text.lines().last().unwrap_or_default().trim();
        let why = why.strip_prefix("error: ").unwrap_or(why);
        format!("the regular expression '{regex}' does not compile: {why}")
    })
}

/// The sentence about an expression without exactly one group.
fn number(regex: &str) -> Result<(), String> {
    match compiles(regex)?.captures_len() - 1 {
        1 => Ok(()),
        0 => Err(format!(
            "the regular expression '{regex}' has no group; put the number in ( )"
        )),
        groups => Err(format!(
            "the regular expression '{regex}' has {groups} groups; keep ( ) around the number and \
             write the others (?: )"
        )),
    }
}

/// A source as it is written.
pub(super) fn text(source: &CountSource) -> String {
    match source {
        CountSource::Stdout(regex) => format!("{{ stdout = {} }}", literal(regex)),
        CountSource::Stderr(regex) => format!("{{ stderr = {} }}", literal(regex)),
        CountSource::File { path, regex } => {
            format!("{{ file = {}, regex = {} }}", quoted(path), literal(regex))
        }
        CountSource::Json(pointer) => format!("{{ json = {} }}", quoted(pointer)),
        CountSource::Command { arguments, regex } => format!(
            "{{ command = {}, stdout = {} }}",
            list(arguments),
            literal(regex)
        ),
    }
}

/// An argument list as it is written.
pub(super) fn list(arguments: &[String]) -> String {
    let arguments: Vec<String> = arguments.iter().map(|text| quoted(text)).collect();
    format!("[{}]", arguments.join(", "))
}

/// A text as it is written without escapes, if it can be.
pub(super) fn literal(text: &str) -> String {
    if text.contains('\'') || text.contains(char::is_control) {
        quoted(text)
    } else {
        format!("'{text}'")
    }
}

/// A text in double quotes; the escapes of JSON are some of those of TOML.
fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}

fn workload(name: &str) -> Option<Workload> {
    WORKLOADS
        .into_iter()
        .find(|workload| workload.name() == name)
}

fn one(entries: &[(String, Raw)]) -> Option<CountSource> {
    let get = |wanted: &str| {
        let found = entries.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value)
    };
    let text = |name: &str| get(name).and_then(Raw::text).map(String::from);
    match entries.len() {
        1 => text("stdout")
            .map(CountSource::Stdout)
            .or_else(|| text("stderr").map(CountSource::Stderr))
            .or_else(|| text("json").map(CountSource::Json)),
        2 if get("file").is_some() => Some(CountSource::File {
            path: text("file")?,
            regex: text("regex")?,
        }),
        2 => Some(CountSource::Command {
            arguments: get("command")?.texts()?,
            regex: text("stdout")?,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(toml: &str) -> Raw {
        Raw::from_toml(toml::de::DeValue::parse(toml).unwrap().get_ref())
    }

    #[test]
    fn a_source_is_read_and_written_alike() {
        for toml in [
            r"{ stdout = '(\d+)' }",
            r"{ stderr = '(\d+) packets' }",
            r#"{ file = "{work}/stats", regex = '(\d+)' }"#,
            r#"{ json = "/counts/processed" }"#,
            r#"{ command = ["ctl", "-c", "{work}/ctl"], stdout = "it's (\\d+)" }"#,
        ] {
            let sources = read(&raw(toml)).unwrap();
            assert_eq!(text(sources.of(Workload::Live).unwrap()), toml);
            assert_eq!(sources.check(), Ok(()), "{toml}");
        }
    }

    #[test]
    fn a_file_to_look_into_is_no_file_workload() {
        let by = read(&raw(
            "{ live = { stderr = '(a)' }, file = { file = 'x', regex = '(b)' } }",
        ))
        .unwrap();
        assert_eq!(
            by.of(Workload::Live),
            Some(&CountSource::Stderr("(a)".into()))
        );
        assert!(matches!(
            by.of(Workload::File),
            Some(CountSource::File { .. })
        ));
        assert_eq!(by.of(Workload::Command), None);
    }

    #[test]
    fn what_is_no_source_is_not_read() {
        for toml in [
            "'x'",
            "{}",
            "{ stdout = 3 }",
            "{ file = 'x' }",
            "{ stdout = 'a', stderr = 'b' }",
            "{ live = { stdot = 'a' } }",
            "{ live = { stdout = 'a' }, stdout = 'b' }",
        ] {
            assert_eq!(read(&raw(toml)), None, "{toml}");
        }
    }

    #[test]
    fn an_expression_has_one_group() {
        assert_eq!(number(r"(\d+) packets?"), Ok(()));
        assert_eq!(number(r"(?:a|b) (\d+)"), Ok(()));
        assert_eq!(
            number("packets").unwrap_err(),
            "the regular expression 'packets' has no group; put the number in ( )"
        );
        assert!(number("(a)(b)").unwrap_err().contains("has 2 groups"));
        assert_eq!(
            number("(a").unwrap_err(),
            "the regular expression '(a' does not compile: unclosed group"
        );
    }
}
