//! The rows of `[program]`: a capture program of the user's.

use wiretrial_contract::plan::Workload;
use wiretrial_contract::program::{CountName, ReadySign};

use super::super::super::source;
use super::{Default, Form, Key, Level, NOT_HERE, Range};

pub(super) const PROGRAM: &[Key] = &[
    Key {
        path: "program.adapter",
        form: Form::Path,
        range: Range::Any,
        default: Default::Derived("none"),
        level: Level::Arm,
        meaning: "a shipped adapter, or the path of a file with a [program]: its keys lie below those \
                  that stand beside this one",
        // What it sets is shown in its stead.
        show: |at| at.program(|_| None),
    },
    Key {
        path: "program.binary",
        form: Form::Path,
        range: Range::Any,
        default: Default::Derived("none; a program must have it"),
        level: Level::Arm,
        meaning: "the executable: after a build a path inside the repository, else a path or a name \
                  that is looked for in PATH",
        show: |at| at.program(|program| Some(program.binary.clone())),
    },
    Key {
        path: "program.build",
        form: Form::Steps,
        range: Range::Any,
        default: Default::Derived("none"),
        level: Level::Arm,
        meaning: "argument lists that build it in a checkout, in order, without a shell",
        show: |at| {
            at.program(|program| {
                let steps: Vec<String> = program
                    .build
                    .iter()
                    .map(|step| source::list(step))
                    .collect();
                (!steps.is_empty()).then(|| format!("[{}]", steps.join(", ")))
            })
        },
    },
    Key {
        path: "program.live",
        form: Form::Arguments,
        range: Range::Any,
        default: Default::Derived("none; a live workload must have it"),
        level: Level::Arm,
        meaning: "its argument list in a live workload, with placeholders",
        show: |at| at.arguments(Workload::Live),
    },
    Key {
        path: "program.file",
        form: Form::Arguments,
        range: Range::Any,
        default: Default::Derived("none; a file workload must have it"),
        level: Level::Arm,
        meaning: "its argument list in a file workload, with placeholders",
        show: |at| at.arguments(Workload::File),
    },
    Key {
        path: "program.command",
        form: Form::Arguments,
        range: Range::Any,
        default: Default::Derived("none; a command workload must have it"),
        level: Level::Arm,
        meaning: "its argument list in a command workload, with placeholders",
        show: |at| at.arguments(Workload::Command),
    },
    Key {
        path: "program.ready",
        form: Form::Ready,
        range: Range::Any,
        default: Default::Fixed("seen"),
        level: Level::Arm,
        meaning: "what shows that it captures: seen is its packet socket with a ring, { stderr = \
                  'regular expression' } a line it prints besides; live only",
        show: |at| match at.receiver() {
            Some(_) => at.program(|program| {
                Some(match &program.ready {
                    ReadySign::Seen => "seen".into(),
                    ReadySign::Stderr(regex) => {
                        format!("{{ stderr = {} }}", source::literal(regex))
                    }
                })
            }),
            None => NOT_HERE.into(),
        },
    },
    Key {
        path: "program.stop",
        form: Form::Word(&["SIGINT", "SIGTERM", "SIGHUP"]),
        range: Range::Any,
        default: Default::Fixed("SIGINT"),
        level: Level::Arm,
        meaning: "the signal that asks it to end; SIGTERM and SIGKILL follow where it does not; live \
                  only",
        show: |at| match at.receiver() {
            Some(_) => at.program(|program| Some(program.stop.name().into())),
            None => NOT_HERE.into(),
        },
    },
    Key {
        path: "program.cwd",
        form: Form::Path,
        range: Range::Any,
        default: Default::Derived("{work}"),
        level: Level::Arm,
        meaning: "its working folder, with placeholders",
        show: |at| at.program(|program| program.cwd.clone()),
    },
    Key {
        path: "program.env",
        form: Form::Variables,
        range: Range::Any,
        default: Default::Derived("none"),
        level: Level::Arm,
        meaning: "environment variables beside those that every trial gets",
        show: |at| {
            at.program(|program| {
                let variables = program.env.iter();
                let variables: Vec<String> = variables
                    .map(|(name, value)| format!("{name} = {}", source::literal(value)))
                    .collect();
                (!variables.is_empty()).then(|| format!("{{ {} }}", variables.join(", ")))
            })
        },
    },
    Key {
        path: "program.counts.processed",
        form: Form::Source,
        range: Range::Any,
        default: Default::Derived("unknown; then nothing shows that it did its work"),
        level: Level::Arm,
        meaning: "where it says how many packets went through its own processing",
        show: |at| at.count(CountName::Processed),
    },
    Key {
        path: "program.counts.received",
        form: Form::Source,
        range: Range::Any,
        default: Default::Derived("unknown"),
        level: Level::Arm,
        meaning: "packets its kernel socket counted, dropped ones included (ps_recv)",
        show: |at| at.count(CountName::Received),
    },
    Key {
        path: "program.counts.dropped",
        form: Form::Source,
        range: Range::Any,
        default: Default::Derived("unknown"),
        level: Level::Arm,
        meaning: "packets for which its ring had no room (ps_drop)",
        show: |at| at.count(CountName::Dropped),
    },
    Key {
        path: "program.counts.interface-dropped",
        form: Form::Source,
        range: Range::Any,
        default: Default::Derived("unknown"),
        level: Level::Arm,
        meaning: "packets its interface dropped (ps_ifdrop); printed, never a term of the loss",
        show: |at| at.count(CountName::InterfaceDropped),
    },
    Key {
        path: "program.counts.written",
        form: Form::Source,
        range: Range::Any,
        default: Default::Derived("unknown"),
        level: Level::Arm,
        meaning: "packets it wrote to a file",
        show: |at| at.count(CountName::Written),
    },
];
