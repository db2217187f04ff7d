//! The command line: what is printed, and the exit code and sentence for everything that is wrong.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod real;

use std::net::UdpSocket;

use real::{Bench, run};

/// A child's first line, for scripts.
const HELLO: &str = r#"printf '{"v":1,"type":"hello","role":"receiver","protocol":[1,1],"stamp":[1,1],"version":"0","sha256":"0","pid":%s}\n' $$"#;

/// Runs the demo with a script for a receiver; nothing may be left behind.
fn with_receiver(script: &str) -> real::Ended {
    let bench = Bench::new();
    let receiver = bench.script("receiver", script);
    let ended = run(bench.campaign(&["--receiver-binary", receiver.to_str().unwrap()]));
    bench.wait_until_gone();
    assert!(
        !bench.path("evidence/demo").exists(),
        "nothing was sealed, nothing is left"
    );
    ended
}

#[test]
fn alone_it_prints_its_verbs_and_help_is_no_failure() {
    let bench = Bench::new();
    let ended = run(bench.wiretrial(&[]));
    assert_eq!(ended.code, Some(0));
    for verb in ["run", "plan", "explain", "doctor", "verify"] {
        assert!(ended.stdout.contains(verb), "{}", ended.stdout);
        let help = run(bench.wiretrial(&[verb, "--help"]));
        assert_eq!(help.code, Some(0));
        assert!(help.stdout.contains("Example"), "{}", help.stdout);
    }
    assert_eq!(run(bench.wiretrial(&["rum"])).code, Some(2));
    let version = run(bench.wiretrial(&["--version"]));
    assert!(version.stdout.starts_with("wiretrial "));
}

#[test]
fn a_plan_touches_nothing() {
    let bench = Bench::new();
    let ended = run(bench.wiretrial(&["plan", "demo"]));
    assert_eq!(
        (ended.code, ended.stdout.lines().count()),
        (Some(0), 5),
        "{}",
        ended.stdout
    );
    let full = run(bench.wiretrial(&["plan", "demo", "--full"]));
    assert!(full.stdout.contains("traffic.max-burst"));
    assert!(!bench.path("evidence").exists());
}

#[test]
fn words_are_explained() {
    let bench = Bench::new();
    let ended = run(bench.wiretrial(&["explain", "coupled"]));
    assert_eq!(ended.code, Some(0));
    assert!(ended.stdout.contains("coupled"));
    assert_eq!(run(bench.wiretrial(&["explain", "copled"])).code, Some(2));
}

#[test]
fn wrong_campaigns() {
    let bench = Bench::new();
    let file = bench.path("x.toml");
    std::fs::write(
        &file,
        "schema = 1\nkind = \"paired\"\n[[case]]\nname = \"a\"\ntraffic.rate_pps = 20000\n",
    )
    .unwrap();
    run(bench.wiretrial(&["run", "./x.toml"])).assert(
        2,
        "./x.toml:5: unknown key traffic.rate_pps; did you mean traffic.rate-pps?",
    );
    run(bench.wiretrial(&["run", "demo", "--pairs", "7"])).assert(
        2,
        "design.pairs is 7; it must be even and at least 6 (12 is the default)",
    );
    run(bench.wiretrial(&["run", "demo", "--set", "traffic.frame-size=60"])).assert(
        2,
        "frame-size 60 leaves 14 bytes of UDP payload; a counted packet needs 18 (frame-size 64)",
    );
    std::fs::write(
        &file,
        "schema = 1\nkind = \"paired\"\n[[case]]\nname = \"a\"\ntraffic.rate-pps = 0\n",
    )
    .unwrap();
    let ended = run(bench.wiretrial(&["run", "./x.toml"]));
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.last_line().contains("traffic.rate-pps is 0"),
        "{}",
        ended.stderr
    );
    assert!(!bench.path("evidence").exists());
}

#[test]
fn a_time_is_for_the_pilot_to_fill() {
    let bench = Bench::new();
    run(bench.wiretrial(&["run", "demo", "--quick", "--time", "5m"])).assert(
        2,
        "--time lets the pilot choose the pairs, and design.pilot is 0, as with --quick; --set design.pilot=3, or --pairs",
    );
    let both = run(bench.wiretrial(&["run", "demo", "--pairs", "12", "--time", "5m"]));
    assert_eq!(both.code, Some(2));
    assert!(both.stderr.contains("--time"), "{}", both.stderr);
    let no_time = run(bench.wiretrial(&["run", "demo", "--time", "5"]));
    assert_eq!(no_time.code, Some(2));
    run(bench.wiretrial(&["run", "demo", "--set", "design.pilot=7"]))
        .assert(2, "design.pilot is 7; it must be 0 to 6");
    assert!(!bench.path("evidence").exists());
}

#[test]
fn equal_arms_are_refused_unless_asked_for() {
    let bench = Bench::new();
    let ended = run(bench.campaign(&["--set", "arm.baseline.receiver.immediate=false"]));
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    let sentence = ended.last_line();
    assert!(
        sentence
            .starts_with("wiretrial: exit 2: baseline and candidate are the same binary (sha256 ")
            && sentence.ends_with("nothing to compare. --aa measures the floor on purpose"),
        "{sentence}"
    );
    assert!(!bench.path("evidence/demo").exists());
}

#[test]
fn an_existing_folder_is_not_touched() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("there")).unwrap();
    std::fs::write(bench.path("there/plan.json"), "{}").unwrap();
    run(bench.campaign(&["--out", "there"])).assert(
        2,
        "there exists; nothing is overwritten. --out another folder, or wiretrial run --resume there",
    );
    assert_eq!(std::fs::read_dir(bench.path("there")).unwrap().count(), 1);
}

#[test]
fn a_port_in_use_names_its_holder() {
    if !nix::unistd::geteuid().is_root() {
        // Without rights there is no capture on the host's own lo to ask for.
        return real::skipped("a_port_in_use_names_its_holder needs root");
    }
    let bench = Bench::new();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    let ended = run(bench.wiretrial(&[
        "run",
        "demo",
        "--quick",
        "--isolation",
        "none",
        "--port",
        &port.to_string(),
    ]));
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    let pid = std::process::id();
    assert!(
        ended.last_line().starts_with(&format!(
            "wiretrial: exit 3: port {port} is in use by pid {pid} ("
        )) && ended.last_line().ends_with("); wait, stop it, or --port"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_missing_executable_names_the_command_that_makes_it() {
    let bench = Bench::new();
    let ended = run(bench.campaign(&["--receiver-binary", "/nowhere/receiver"]));
    assert_eq!(ended.code, Some(3));
    assert!(
        ended
            .last_line()
            .ends_with("cargo build --release --bin wiretrial-receiver makes it"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_receiver_that_dies_before_it_is_ready() {
    let ended = with_receiver("echo 'enp9: No such device exists' >&2; exit 1");
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(
        ended.last_line().starts_with(
            "wiretrial: exit 4: receiver ended before ready (exit 1): \
             \"enp9: No such device exists\"; interfaces here: lo"
        ),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_receiver_that_prints_junk() {
    let ended = with_receiver(&format!(
        "{HELLO}; read line; echo 'Segmentation fault'; cat"
    ));
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(
        ended
            .last_line()
            .contains("not a message: \"Segmentation fault\""),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_receiver_that_prints_a_line_of_two_mebibytes() {
    let ended = with_receiver(&format!(
        "{HELLO}; read line; head -c 2097152 /dev/zero | tr '\\0' x; cat"
    ));
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(
        ended.last_line().contains("longer than 1048576 bytes"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_receiver_that_hangs() {
    let ended = with_receiver("cat > /dev/null");
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(
        ended
            .last_line()
            .contains("said nothing for 5 s while hello was due"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_receiver_of_another_protocol() {
    let ended = with_receiver(&format!(
        "{}; cat",
        HELLO.replace("[1,1],\"stamp", "[3,4],\"stamp")
    ));
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(
        ended
            .last_line()
            .contains("speaks protocol 3 to 4, this harness 1 to 2"),
        "{}",
        ended.stderr
    );
}

#[test]
fn an_agent_that_dies_is_named() {
    let bench = Bench::new();
    let running = bench.campaign(&["--out", "out"]).spawn().unwrap();
    let file = bench.path("out/trials.jsonl");
    real::wait_for("the first rows", || {
        (std::fs::metadata(&file).ok()?.len() > 0).then_some(())
    });
    let agent = real::children(running.id(), "wiretrial");
    let [agent] = agent[..] else {
        panic!("one agent: {agent:?}")
    };
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(i32::try_from(agent).unwrap()),
        nix::sys::signal::Signal::SIGKILL,
    )
    .unwrap();
    let ended = real::Ended::from(running.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(
        ended.last_line().contains("agent ended"),
        "{}",
        ended.stderr
    );
    assert!(
        ended
            .stderr
            .contains("go on with: wiretrial run --resume out"),
        "{}",
        ended.stderr
    );
    let rows = real::rows(&bench.path("out"));
    assert!(
        rows.iter().all(|row| row["outcome"] == "ok"),
        "its death is no trial's"
    );
    bench.wait_until_gone();
}
