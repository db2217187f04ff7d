//! What `wiretrial new` prints: a campaign file with every key, its allowed values and default, from
//! the table of keys. Lines that begin with `#` and no space are keys to uncomment.

use super::keys::{Default as KeyDefault, Form, KEYS, Key};
use super::layers::LATER_KINDS;

/// What to begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skeleton {
    /// Two configurations of the built-in receiver under live traffic.
    Paired,
    /// A table of many configurations of the built-in receiver under live traffic.
    Table,
    /// The highest rate that is sustained; this version does not run it.
    Probe,
    /// A program of the user's that reads a file, as `.wiretrial.toml` in its repository.
    Program,
}

/// Width of comments.
const WIDTH: usize = 98;

const CASES: &str = "
# Named points. Each has its name and any key of traffic, receiver, program or workload but its kind.
#[[case]]
#name = \"50k\"
#traffic.rate-pps = 50000

# Every case once per value.
#[sweep]
#traffic.frame-size = [64, 512]

# Gates beside the one that every campaign has, no_regression: any or all of its conditions hold in
# every case. METRIC up or down PERCENT; METRIC >= or <= NUMBER.
#[[gate]]
#name = \"worth-it\"
#any = [\"process-cpu-ns-per-packet down 20%\", \"peak-rss-bytes down 20%\"]
";

const ARMS: &str = "
# What differs between the arms: keys of receiver and program, nothing else.
[arm.baseline.receiver]
immediate = true
[arm.candidate.receiver]
immediate = false
";

const TABLE_ARMS: &str = "
# The arms, 2 to 8, with names of your own: keys of receiver and program, nothing else.
[arm.immediate.receiver]
immediate = true
[arm.buffered.receiver]
immediate = false
[arm.small-ring.receiver]
buffer-size = \"1MiB\"
";

/// The file.
#[must_use]
pub fn text(skeleton: Skeleton) -> String {
    let mut text = head(skeleton);
    let mut table = "";
    for key in KEYS {
        let (of, name) = key.path.split_once('.').unwrap_or(("", key.path));
        if of != table {
            table = of;
            text += &format!("\n[{of}]\n");
        }
        text += &comment(&about(key));
        let value = value(skeleton, key);
        let mark = if value.is_some() { "" } else { "#" };
        let value = value.unwrap_or_else(|| example(key));
        text += &format!("{mark}{name} = {value}\n");
    }
    text += match skeleton {
        Skeleton::Paired | Skeleton::Probe => ARMS,
        Skeleton::Table => TABLE_ARMS,
        Skeleton::Program => "",
    };
    text + CASES
}

fn head(skeleton: Skeleton) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let kind = match skeleton {
        Skeleton::Paired => None,
        Skeleton::Table => None,
        Skeleton::Probe => Some(LATER_KINDS[0]),
        Skeleton::Program => {
            return comment(
                "How your capture program is measured. As .wiretrial.toml in the root of its \
                 repository it is what wiretrial compare uses. Here it reads a file; for live \
                 traffic set workload.kind, program.live and traffic.rate-pps.",
            ) + "\n";
        }
    };
    let mut text = String::new();
    if let Some(kind) = kind {
        text += &comment(&format!(
            "wiretrial {version} does not run kind = \"{kind}\" yet and refuses this file; these are \
             the keys that all kinds share."
        ));
    }
    text + &comment(
        "Print what it means: wiretrial plan FILE --full. Keys that begin with # have the default \
         that stands above them, or an example.",
    ) + "\n"
}

/// Its value where the skeleton sets it; the rest is commented out.
fn value(skeleton: Skeleton, key: &Key) -> Option<String> {
    let set = match (skeleton, key.path) {
        (Skeleton::Table, "question") => {
            return Some("\"What does each arm cost, beside the reference?\"".into());
        }
        (Skeleton::Table, "design.margin") => return Some("\"3%\"".into()),
        (_, "schema" | "question") => true,
        (Skeleton::Table, "kind") => return Some("\"table\"".into()),
        (Skeleton::Probe, "kind") => return Some(format!("\"{}\"", LATER_KINDS[0])),
        (_, "kind") => true,
        (Skeleton::Program, "workload.kind") => return Some("\"file\"".into()),
        (
            Skeleton::Program,
            "workload.file" | "program.binary" | "program.file" | "program.counts.processed",
        ) => true,
        (Skeleton::Program, _) => false,
        (_, "name" | "traffic.rate-pps") => true,
        _ => false,
    };
    set.then(|| example(key))
}

/// Its meaning, form, allowed values and default.
fn about(key: &Key) -> String {
    let default = match key.default {
        KeyDefault::Fixed(text) => format!("default {text}"),
        KeyDefault::Derived(words) => format!("default: {words}"),
        KeyDefault::Required => "no default".into(),
    };
    let allowed = match key.range_text() {
        any if any == "any" => String::new(),
        allowed => format!(", {allowed}"),
    };
    format!("{}. {}{allowed}; {default}", key.meaning, key.form.name())
}

/// A value as it is written: the default if it is always the same.
fn example(key: &Key) -> String {
    if let KeyDefault::Fixed(text) = key.default {
        return match key.form {
            Form::Count | Form::Switch => text.into(),
            _ => format!("\"{text}\""),
        };
    }
    match key.path {
        "schema" | "traffic.flows" | "traffic.senders" | "traffic.batch" => "1",
        "name" => "\"my-campaign\"",
        "kind" => "\"paired\"",
        "workload.file" => "\"bench/mix.pcap\"",
        "design.primary" => "\"process-cpu-ns-per-packet\"",
        "design.pilot" => "3",
        "design.budget" => "\"30m\"",
        "design.replacements" => "2",
        "design.reference" => "\"immediate\"",
        "design.layout-control" => "\"buffered\"",
        "topology.kind" => "\"loopback\"",
        "topology.receive-cpu" => "\"sender\"",
        "traffic.rate-pps" => "20000",
        "traffic.frame-size" => "64",
        "traffic.warm-up" => "\"200ms\"",
        "traffic.slice" => "\"50ms\"",
        "traffic.max-burst" => "20",
        "receiver.snaplen" => "60",
        "program.adapter" => "\"softflowd\"",
        "program.binary" => "\"softflowd\"",
        "program.build" => r#"[["autoreconf", "-if"], ["./configure"], ["make", "-j2"]]"#,
        "program.live" => {
            r#"["{binary}", "-d", "-i", "{interface}", "-n", "127.0.0.1:9", "-c", "{work}/ctl", "{filter}"]"#
        }
        "program.file" => {
            r#"["{binary}", "-d", "-r", "{file}", "-n", "127.0.0.1:9", "-c", "none"]"#
        }
        "program.command" => r#"["{binary}", "--version"]"#,
        "program.cwd" => "\"{work}\"",
        "program.env" => r#"{ LC_ALL = "C" }"#,
        "program.counts.processed" => r"{ stdout = 'Packets processed: (\d+)' }",
        "program.counts.received" => r"{ stderr = '(\d+) packets? received by filter' }",
        "program.counts.dropped" => r#"{ json = "/counts/dropped" }"#,
        "program.counts.interface-dropped" => {
            r#"{ command = ["softflowctl", "-c", "{work}/ctl", "statistics"], stdout = 'by interface: (\d+)' }"#
        }
        "program.counts.written" => r#"{ file = "{work}/stats", regex = 'written (\d+)' }"#,
        _ => "\"\"",
    }
    .into()
}

/// Text as lines of a comment.
fn comment(text: &str) -> String {
    let mut lines = String::new();
    let mut line = String::from("#");
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > WIDTH && line.len() > 1 {
            lines += &line;
            lines.push('\n');
            line = "#".into();
        }
        line.push(' ');
        line += word;
    }
    lines + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::layers::{Place, typed};
    use super::super::value::Raw;
    use super::*;

    #[test]
    fn every_key_has_an_example_that_is_allowed() {
        for key in KEYS {
            let example = example(key);
            let parsed = toml::de::DeValue::parse(&example).unwrap();
            let raw = Raw::from_toml(parsed.get_ref());
            typed(key, &raw, &Place::Table).unwrap();
        }
    }

    #[test]
    fn every_key_stands_in_every_skeleton() {
        for skeleton in [
            Skeleton::Paired,
            Skeleton::Table,
            Skeleton::Probe,
            Skeleton::Program,
        ] {
            let text = text(skeleton);
            for key in KEYS {
                let (_, name) = key.path.split_once('.').unwrap_or(("", key.path));
                let lines = text.lines().filter(|line| {
                    line.trim_start_matches('#')
                        .starts_with(&format!("{name} = "))
                });
                assert!(lines.count() >= 1, "{}", key.path);
            }
        }
    }

    #[test]
    fn comments_are_wrapped() {
        let lines = comment(&"word ".repeat(40));
        assert!(lines.lines().count() > 1);
        assert!(
            lines
                .lines()
                .all(|line| line.starts_with("# word") && line.len() <= WIDTH)
        );
    }
}
