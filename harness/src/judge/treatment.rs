//! What differs between the arms, in words that name no path of the user's.

use serde_json::{Map, Value};
use wiretrial_contract::identity::Identity;
use wiretrial_contract::plan::{Case, Kind, Measured, PassProgram, Plan, Work};
use wiretrial_contract::program::ProgramSpec;

/// What differs between the arms, one entry a setting and set of values.
pub(super) fn treatment(plan: &Plan) -> Vec<String> {
    let reference = plan.campaign.reference();
    let mut all = Vec::new();
    for (arm, spec) in plan.campaign.arms.iter().enumerate() {
        if arm == reference {
            continue;
        }
        let cases = plan.campaign.cases.iter();
        let differ = cases.flat_map(|case| of_case(case, [reference, arm]));
        let differ = differ.chain(executables(plan, [reference, arm]));
        all.extend(differ.map(|one| match plan.campaign.kind {
            Kind::Paired => one,
            Kind::Table => format!("{}: {one}", spec.name),
        }));
    }
    all.sort();
    all.dedup();
    all
}

/// The same identity with the paths in its build's argument lists shortened.
pub(super) fn without_paths(identity: &Identity) -> Identity {
    let build = identity.build.iter();
    Identity {
        build: build
            .map(|step| step.iter().map(|argument| anonymous(argument)).collect())
            .collect(),
        ..identity.clone()
    }
}

fn of_case(case: &Case, two: [usize; 2]) -> Vec<String> {
    let arms: Vec<Described> = match &case.work {
        Work::Live(live) => live
            .receivers
            .iter()
            .map(|spec| match &spec.program {
                Measured::BuiltIn { capture, engine } => {
                    let mut fields = fields(capture);
                    fields.insert("engine".into(), value(engine));
                    Described {
                        name: "the built-in receiver".into(),
                        ours: true,
                        settings: fields,
                    }
                }
                Measured::Outside(program) => outside(program),
            })
            .collect(),
        Work::Passes(passes) => passes
            .programs
            .iter()
            .map(|program| match program {
                PassProgram::RawFold => Described {
                    name: "raw-fold".into(),
                    ours: true,
                    settings: Map::new(),
                },
                PassProgram::Outside(program) => outside(program),
            })
            .collect(),
    };
    let [Some(baseline), Some(candidate)] = two.map(|arm| arms.get(arm)) else {
        return Vec::new();
    };
    let mut differences = Vec::new();
    if baseline.name != candidate.name {
        differences.push(format!("program: {} -> {}", baseline.name, candidate.name));
    }
    // Settings of a built-in program and of a user's have nothing in common.
    if baseline.ours != candidate.ours {
        return differences;
    }
    let (baseline, candidate) = (&baseline.settings, &candidate.settings);
    let mut names: Vec<&String> = baseline.keys().chain(candidate.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let (one, other) = (baseline.get(name), candidate.get(name));
        if one != other {
            let text = |value: Option<&Value>| value.map_or("none".into(), words);
            differences.push(format!(
                "{}: {} -> {}",
                name.replace('_', "-"),
                text(one),
                text(other)
            ));
        }
    }
    differences
}

/// An arm's program in a case.
struct Described {
    name: String,
    ours: bool,
    settings: Map<String, Value>,
}

/// A user's program by the name of its executable, with its settings but for that.
fn outside(program: &ProgramSpec) -> Described {
    let mut settings = fields(program);
    settings.remove("binary");
    Described {
        name: program.binary.rsplit('/').next().unwrap_or_default().into(),
        ours: false,
        settings,
    }
}

/// The arms' executables, where they are not the same bytes.
fn executables(plan: &Plan, two: [usize; 2]) -> Option<String> {
    let [baseline, candidate] = two.map(|arm| &plan.campaign.arms[arm].name);
    let one = plan.identities.get(baseline)?;
    let other = plan.identities.get(candidate)?;
    let digits = |identity: &Identity| identity.sha256.chars().take(12).collect::<String>();
    (one.sha256 != other.sha256)
        .then(|| format!("executable: sha256 {} -> {}", digits(one), digits(other)))
}

fn fields(of: &impl serde::Serialize) -> Map<String, Value> {
    match value(of) {
        Value::Object(fields) => fields,
        _ => unreachable!("a struct is an object"),
    }
}

fn value(of: &impl serde::Serialize) -> Value {
    serde_json::to_value(of).expect("plain fields")
}

/// A setting's value; an argument list as it is typed.
fn words(value: &Value) -> String {
    match value {
        Value::Array(items) if items.iter().all(Value::is_string) => {
            let words = items.iter().filter_map(Value::as_str).map(anonymous);
            words.collect::<Vec<_>>().join(" ")
        }
        other => anonymous(&other.to_string()),
    }
}

/// `text` with every absolute path cut to its last part: whoever reads a report learns what was run,
/// not where the user keeps it.
fn anonymous(text: &str) -> String {
    const ENDS: [char; 9] = [' ', '=', ':', ',', '"', '\'', '\n', '\t', ';'];
    let mut out = String::new();
    for piece in text.split_inclusive(ENDS) {
        let (path, end) = match piece.char_indices().next_back() {
            Some((at, last)) if ENDS.contains(&last) => piece.split_at(at),
            _ => (piece, ""),
        };
        let (before, path) = path.split_at(absolute(path));
        out.push_str(before);
        match path.trim_end_matches('/').rsplit_once('/') {
            Some((_, name)) if !path.starts_with("/dev/") => {
                out.push_str("../");
                out.push_str(name);
            }
            _ => out.push_str(path),
        }
        out.push_str(end);
    }
    out
}

/// Where an absolute path starts in `piece`, its length where there is none: at its start, or behind an
/// option as in `-I/usr/include`.
fn absolute(piece: &str) -> usize {
    if piece.starts_with(['/', '~']) {
        return 0;
    }
    let slash = piece.find('/').filter(|_| piece.starts_with(['-', '@']));
    slash
        .filter(|at| !piece[..*at].ends_with(['.', '}']))
        .unwrap_or(piece.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::samples;

    #[test]
    fn what_differs_is_named_once() {
        let mut plan = samples::plan();
        assert_eq!(treatment(&plan), Vec::<String>::new());
        samples::capture_mut(&mut plan.campaign.cases[0], 0).immediate = true;
        let again = plan.campaign.cases[0].clone();
        plan.campaign.cases.push(again);
        assert_eq!(treatment(&plan), ["immediate: true -> false"]);
    }

    #[test]
    fn programs_differ_in_name_arguments_and_bytes_and_in_no_path() {
        let mut plan = samples::plan();
        let program = |binary: &str, arguments: &[&str]| {
            Measured::Outside(ProgramSpec {
                binary: binary.into(),
                arguments: arguments.iter().map(ToString::to_string).collect(),
                ..ProgramSpec::default()
            })
        };
        let live = samples::live_mut(&mut plan.campaign.cases[0]);
        live.receivers[0].program =
            program("/home/eve/bin/tcpdump", &["{binary}", "-w", "/dev/null"]);
        live.receivers[1].program = program(
            "dumpcap",
            &["{binary}", "--config=/home/eve/x.conf", "-w", "{work}/out"],
        );
        for (arm, sha256) in [("baseline", "4be1"), ("candidate", "77aa")] {
            let identity = Identity {
                sha256: sha256.repeat(16),
                ..Identity::default()
            };
            plan.identities.insert(arm.into(), identity);
        }
        assert_eq!(
            treatment(&plan),
            [
                "arguments: {binary} -w /dev/null -> {binary} --config=../x.conf -w {work}/out",
                "executable: sha256 4be14be14be1 -> 77aa77aa77aa",
                "program: tcpdump -> dumpcap",
            ]
        );
    }

    #[test]
    fn the_built_in_receiver_against_a_program() {
        let mut plan = samples::plan();
        samples::live_mut(&mut plan.campaign.cases[0]).receivers[1].program =
            Measured::Outside(ProgramSpec {
                binary: "tcpdump".into(),
                ..ProgramSpec::default()
            });
        let lines = treatment(&plan);
        assert_eq!(
            lines[lines.len() - 1],
            "program: the built-in receiver -> tcpdump"
        );
    }

    #[test]
    fn paths_are_cut_wherever_they_stand() {
        for (text, cut) in [
            ("/home/eve/a.pcap", "../a.pcap"),
            ("--in=/a/b,/c/d", "--in=../b,../d"),
            ("~/x/y z", "../y z"),
            ("cat /srv/x | wc", "cat ../x | wc"),
            ("{file} a/b 1/2", "{file} a/b 1/2"),
            ("/dev/null", "/dev/null"),
            ("-I/home/eve/include", "-I../include"),
            ("-w{work}/ctl", "-w{work}/ctl"),
            ("-L../lib", "-L../lib"),
            ("file:///home/eve/x", "file:../x"),
            ("-DPREFIX=\"/opt/x/\"", "-DPREFIX=\"../x\""),
        ] {
            assert_eq!(anonymous(text), cut);
        }
    }
}
