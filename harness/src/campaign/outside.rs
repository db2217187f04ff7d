//! A program of the user's: what its keys may hold, and what they make.

use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::Workload;
use wiretrial_contract::program::{CountName, Placeholder, ProgramSpec, ReadySign, StopSignal};

use super::keys::Key;
use super::settings::Settings;
use super::value::Value;
use super::{placeholders, source};

/// Keys of a program begin with this.
pub(super) const PREFIX: &str = "program.";

/// What a value of `[program]` must be by itself; the sentence without the key.
pub(super) fn check(key: &Key, value: &Value) -> Result<(), String> {
    match value {
        Value::Arguments(arguments) => self::arguments(arguments, workload_of(key)),
        Value::Steps(steps) => {
            let empty = steps.iter().position(Vec::is_empty);
            empty.map_or(Ok(()), |step| {
                Err(format!(
                    "step {} is []; it must name a program",
                    step.saturating_add(1)
                ))
            })
        }
        Value::Ready(ReadySign::Stderr(regex)) => source::compiles(regex).map(|_| ()),
        Value::Sources(sources) => sources.check(),
        Value::Word(folder) if key.path == "program.cwd" => placeholders::check(folder, None),
        _ => Ok(()),
    }
}

/// The program that the settings of an arm describe. `place` is the end of a sentence, such as
/// ` for arm candidate in case a`.
pub(super) fn program(
    settings: &Settings,
    workload: Workload,
    label: &str,
    place: &str,
) -> Result<ProgramSpec, Failure> {
    refuse_receiver(settings)?;
    let kind = workload.name();
    let list = format!("{PREFIX}{kind}");
    let missing = |path: &str, why: &str| {
        let adapter = settings.word("program.adapter");
        let adapter = adapter.map_or_else(String::new, |name| format!(", adapter {name} has none"));
        Failure::usage(format!("{label}: {path} is not set{place}{adapter}; {why}"))
    };
    let Some(binary) = settings.word("program.binary") else {
        return Err(missing("program.binary", "name the executable"));
    };
    let Some(Value::Arguments(arguments)) = settings.value(&list) else {
        let why = format!("a {kind} workload runs it, for instance {list} = [\"{{binary}}\"]");
        return Err(missing(&list, &why));
    };
    let build = match settings.value("program.build") {
        Some(Value::Steps(steps)) => steps.clone(),
        _ => Vec::new(),
    };
    if !build.is_empty() && (binary.starts_with('/') || binary.split('/').any(|part| part == ".."))
    {
        return Err(settings.refuse(
            "program.binary",
            &format!("is \"{binary}\"; after a build it is a path inside the repository"),
        ));
    }
    let cwd = settings.word("program.cwd");
    if let Some(folder) = &cwd {
        placeholders::check(folder, Some(workload))
            .map_err(|sentence| settings.refuse("program.cwd", &sentence))?;
    }
    let mut program = ProgramSpec {
        binary,
        build,
        arguments: arguments.clone(),
        env: match settings.value("program.env") {
            Some(Value::Variables(variables)) => variables.clone(),
            _ => Default::default(),
        },
        cwd,
        ..ProgramSpec::default()
    };
    if workload == Workload::Live {
        if let Some(Value::Ready(ready)) = settings.value("program.ready") {
            program.ready = ready.clone();
        }
        let stop = settings.fixed_word("program.stop");
        let named = StopSignal::ALL.into_iter().find(|all| all.name() == stop);
        program.stop = named.expect("the table knows all signals");
    }
    for name in CountName::ALL {
        let path = format!("program.counts.{}", name.name());
        let Some(Value::Sources(sources)) = settings.value(&path) else {
            continue;
        };
        if let Some(source) = sources.of(workload) {
            source::check(source, Some(workload))
                .map_err(|sentence| settings.refuse(&path, &sentence))?;
            program.counts.insert(name, source.clone());
        }
    }
    Ok(program)
}

/// The built-in receiver's capture settings say nothing of a program of the user's.
fn refuse_receiver(settings: &Settings) -> Result<(), Failure> {
    let capture = settings
        .set_by_hand("receiver.")
        .find(|path| *path != "receiver.drain-limit");
    capture.map_or(Ok(()), |path| {
        Err(settings.refuse(
            path,
            "is set, but a program of the user's captures; leave out receiver.* or program.*",
        ))
    })
}

fn arguments(arguments: &[String], workload: Option<Workload>) -> Result<(), String> {
    if arguments.is_empty() {
        return Err("the list is []; it begins with \"{binary}\"".into());
    }
    for argument in arguments {
        placeholders::check(argument, workload)?;
    }
    let named = arguments
        .iter()
        .any(|argument| placeholders::holds(argument, Placeholder::Binary));
    if named {
        return Ok(());
    }
    Err("{binary} is not in it; what runs would not be the program whose SHA-256 is sealed".into())
}

fn workload_of(key: &Key) -> Option<Workload> {
    match key.path {
        "program.live" => Some(Workload::Live),
        "program.file" => Some(Workload::File),
        "program.command" => Some(Workload::Command),
        _ => None,
    }
}
