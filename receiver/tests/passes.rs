//! Passes of programs over files, without any rights.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bench;
mod programs;

use bench::Child;
use nix::sys::signal::Signal;
use programs::{Leftovers, capture_file, program, shell, spec};
use wiretrial_contract::control::{
    Executable, FromChild, Pass, PassInput, PassWork, PassesPrepare, Ready, ToChild,
};
use wiretrial_contract::program::{CountName, CountSource};
use wiretrial_contract::report::PassReport;

fn prepare(executable: Executable) -> PassesPrepare {
    PassesPrepare {
        passes: PassWork::Outside(executable),
        file: Some(capture_file("whole", 500)),
        short_file: Some(capture_file("short", 100)),
        packets: [500, 100],
        limit_ns: 20_000_000_000,
        deadline_ns: 60_000_000_000,
        cpu: None,
    }
}

fn pass(child: &mut Child, input: PassInput) -> PassReport {
    child.send(&ToChild::Pass(Pass { input }));
    match child.receive() {
        FromChild::PassReport(report) => *report,
        other => panic!("no report: {other:?}"),
    }
}

/// A receiver that is ready for passes.
fn ready(prepare: &PassesPrepare) -> Child {
    let mut child = Child::start();
    child.send(&ToChild::PreparePasses(prepare.clone()));
    match child.receive() {
        FromChild::Ready(Ready::Passes(ready)) => assert!(!ready.cpus.is_empty()),
        other => panic!("not ready: {other:?}"),
    }
    child
}

/// What is said when the first pass of `script` fails.
fn refusal(change: impl FnOnce(&mut PassesPrepare), script: &str) -> (u8, String) {
    let _lock = bench::lock();
    let leftovers = Leftovers::now();
    let mut prepare = prepare(shell(script));
    change(&mut prepare);
    let mut child = ready(&prepare);
    child.send(&ToChild::Pass(Pass {
        input: PassInput::Whole,
    }));
    let error = child.error();
    assert_eq!(child.exit_code(), Some(error.code.into()));
    leftovers.assert_none();
    (error.code, error.message)
}

#[test]
fn a_work_line_and_a_fresh_folder_a_pass() {
    let _lock = bench::lock();
    let leftovers = Leftovers::now();
    let script = "test -z \"$(ls)\" || exit 9; touch here; i=0; while [ $i -lt 20000 ]; do \
                  i=$((i+1)); done; echo noise; \
                  echo '{\"units\":{packets},\"checksum\":\"ab\",\"bytes\":60}'";
    let script = script.replace("{\"", "{{\"").replace("60}", "60}}");
    let cpu = wiretrial_receiver::process::cpus().unwrap().pop();
    let prepare = PassesPrepare {
        cpu,
        ..prepare(shell(&script))
    };
    let mut child = ready(&prepare);
    for (input, units) in [(PassInput::Whole, 500), (PassInput::Short, 100)] {
        let report = pass(&mut child, input);
        assert_eq!((report.input, report.units), (input, Some(units)));
        assert_eq!((report.bytes, report.errors), (Some(60), None));
        assert_eq!(report.checksum.as_deref(), Some("ab"));
        assert!(report.cpu_ns > 0 && report.elapsed_ns > 0);
        assert!(!report.left_processes);
        assert_eq!(report.program_sha256.len(), 64);
    }
    child.send(&ToChild::Bye);
    assert_eq!(child.exit_code(), Some(0));
    leftovers.assert_none();
}

#[test]
fn cpu_time_has_what_the_program_waited_for() {
    let _lock = bench::lock();
    let busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    let mut child = ready(&prepare(shell(&format!("sh -c '{busy}'; true"))));
    let inside = pass(&mut child, PassInput::Whole).cpu_ns;
    let mut child = ready(&prepare(shell("true")));
    let none = pass(&mut child, PassInput::Whole).cpu_ns;
    assert!(inside > none, "{inside} {none}");
}

#[test]
fn memory_is_known_only_above_that_of_the_receiver() {
    let _lock = bench::lock();
    let script = "x=$(head -c 60000000 /dev/zero | tr '\\0' x); echo ${{#x}}";
    let mut child = ready(&prepare(shell(script)));
    let report = pass(&mut child, PassInput::Whole);
    assert!(report.peak_rss_bytes.unwrap() > 60_000_000);
    let mut child = ready(&prepare(shell("true")));
    assert_eq!(pass(&mut child, PassInput::Whole).peak_rss_bytes, None);
}

#[test]
fn a_process_left_behind_is_ended_and_said() {
    let _lock = bench::lock();
    let leftovers = Leftovers::now();
    let mut child = ready(&prepare(shell("setsid sleep 99 & echo '{{\"units\":1}}'")));
    let report = pass(&mut child, PassInput::Whole);
    assert!(report.left_processes);
    assert_eq!(report.units, Some(1));
    let report = pass(&mut child, PassInput::Whole);
    assert!(report.left_processes);
    child.send(&ToChild::Bye);
    assert_eq!(child.exit_code(), Some(0));
    // Its time is in nobody's.
    let mut child = ready(&prepare(shell("true & exec sleep 0.2")));
    assert!(pass(&mut child, PassInput::Whole).left_processes);
    child.send(&ToChild::Bye);
    assert_eq!(child.exit_code(), Some(0));
    leftovers.assert_none();
}

#[test]
fn a_pass_that_fails_is_named_with_its_last_words() {
    assert_eq!(
        refusal(|_| {}, "echo 'bad magic' >&2; exit 2"),
        (
            4,
            "sh failed in pass 1 over the whole input (exit 2); its last words: \"bad magic\""
                .into()
        )
    );
    assert_eq!(
        refusal(|_| {}, "kill -SEGV $$"),
        (
            4,
            "sh failed in pass 1 over the whole input (SIGSEGV); it said nothing".into()
        )
    );
    assert_eq!(
        refusal(|p| p.limit_ns = 300_000_000, "sleep 98 & sleep 99"),
        (
            4,
            "sh took over 300 ms in pass 1 over the whole input and was ended; give it less input, \
             or more time"
                .into()
        )
    );
}

#[test]
fn counts_and_a_work_line_that_differ_are_a_contradiction() {
    let change = |p: &mut PassesPrepare| {
        let PassWork::Outside(executable) = &mut p.passes else {
            unreachable!()
        };
        let source = CountSource::Stdout("(\\d+) packets".into());
        executable.spec.counts = [(CountName::Processed, source)].into();
    };
    let script = "echo 500 packets; echo '{{\"units\":499}}'";
    assert_eq!(
        refusal(change, script),
        (
            4,
            "sh contradicts itself in pass 1 over the whole input: 500 processed by its counts, \
             499 units in its work line"
                .into()
        )
    );
}

#[test]
fn another_program_under_the_same_name_is_not_run() {
    let _lock = bench::lock();
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join("changing");
    std::fs::copy("/bin/true", &path).unwrap();
    let path = path.display().to_string();
    let mut child = ready(&prepare(program(&path, spec(&["{binary}"]))));
    pass(&mut child, PassInput::Whole);
    pass(&mut child, PassInput::Short);
    std::fs::remove_file(&path).unwrap();
    std::fs::copy("/bin/false", &path).unwrap();
    child.send(&ToChild::Pass(Pass {
        input: PassInput::Whole,
    }));
    let error = child.error();
    assert_eq!(error.code, 4);
    assert!(
        error.message.starts_with(&format!(
            "{path} is not the program that was sealed: sha256 "
        )),
        "{}",
        error.message
    );
}

#[test]
fn nothing_stays_of_a_pass_that_is_cut_short() {
    let _lock = bench::lock();
    for end in [Signal::SIGTERM, Signal::SIGPIPE] {
        let leftovers = Leftovers::now();
        let mut child = ready(&prepare(shell("trap '' TERM; sleep 98 & setsid sleep 99")));
        child.send(&ToChild::Pass(Pass {
            input: PassInput::Whole,
        }));
        leftovers.wait_for_some();
        match end {
            Signal::SIGTERM => child.signal(end),
            _ => child.close_input(),
        }
        let code = if end == Signal::SIGTERM { 130 } else { 4 };
        assert_eq!(child.exit_code(), Some(code));
        leftovers.assert_none();
    }
}

#[test]
fn messages_out_of_order_are_refused() {
    let _lock = bench::lock();
    let mut child = Child::start();
    child.send(&ToChild::Pass(Pass {
        input: PassInput::Whole,
    }));
    let message = child.error().message;
    assert_eq!(
        message,
        "unexpected message \"pass\" when nothing is prepared"
    );

    let mut child = ready(&prepare(shell("sleep 60")));
    for _ in 0..2 {
        child.send(&ToChild::Pass(Pass {
            input: PassInput::Whole,
        }));
    }
    let error = child.error();
    assert_eq!(error.code, 2);
    assert_eq!(
        error.message,
        "unexpected message \"pass\" when a pass runs"
    );
}

#[test]
fn what_is_wrong_is_said_before_the_first_pass() {
    let _lock = bench::lock();
    for (script, words) in [
        (
            "cat {interface}",
            "program.arguments: {interface} stands for nothing in a pass over a file; use {file}",
        ),
        (
            "cat {files}",
            "program.arguments: unknown placeholder {files}",
        ),
    ] {
        let mut child = Child::start();
        child.send(&ToChild::PreparePasses(prepare(shell(script))));
        let error = child.error();
        assert_eq!(error.code, 2);
        assert!(error.message.starts_with(words), "{}", error.message);
    }
    let mut child = Child::start();
    child.send(&ToChild::PreparePasses(PassesPrepare {
        file: None,
        ..prepare(shell("cat {file}"))
    }));
    assert_eq!(
        child.error().message,
        "program.arguments: {file} stands for nothing here: this workload has no capture file"
    );
    let mut child = Child::start();
    child.send(&ToChild::PreparePasses(PassesPrepare {
        cpu: Some(1023),
        ..prepare(shell("true"))
    }));
    let error = child.error();
    assert_eq!(error.code, 3);
    assert!(
        error.message.starts_with("cannot pin to cpu 1023"),
        "{}",
        error.message
    );
}

/// Real readers of files, as their adapters have them.
#[test]
fn real_readers_say_how_many_packets_there_were() {
    let _lock = bench::lock();
    for (name, arguments, regex) in programs::READERS {
        let Some(path) = programs::installed(name) else {
            bench::skip(&format!("{name} is not installed"));
            continue;
        };
        let mut spec = spec(arguments);
        let source = CountSource::Stdout((*regex).into());
        spec.counts = [(CountName::Processed, source)].into();
        let mut child = ready(&prepare(program(&path, spec)));
        for (input, packets) in [(PassInput::Whole, 500), (PassInput::Short, 100)] {
            let report = pass(&mut child, input);
            assert_eq!(report.units, Some(packets), "{name}");
            assert!(!report.left_processes, "{name}");
        }
    }
}
