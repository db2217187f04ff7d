//! Real campaigns on real packets: both identities, killed processes, signals, a second campaign, a
//! full disk. Nothing here asserts a time or a rate.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod real;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use real::{Bench, Ended, Running, children, json, namespaces, rows, run, wait_for};
use serde_json::Value;

const SPOKEN_HELLO: &str = r#"
hello() {
    printf '{"v":1,"type":"hello","role":"%s","protocol":[1,1],"stamp":[1,1],"version":"0","sha256":"0","pid":%s}\n' "$1" $$
}
hang() {
    : > "$WIRETRIAL_TEST_MARK"
    cat > /dev/null
    exit 0
}
"#;

/// A receiver that says what it must until the step it hangs in.
const HANGING_RECEIVER: &str = r#"
at() { [ "$WIRETRIAL_TEST_HANG" = "$1" ] && hang; }
at launch
hello receiver
while read -r line; do
    case $line in
    *'"type":"prepare"'*)
        at prepare
        printf '{"v":1,"type":"ready","role":"receiver","interface":"lo","addresses":["127.0.0.1"],"link_type":"EN10MB","ring":null,"filter":"","cpus":[0]}\n'
        at probe
        # Not before the first probe, which comes when the generator is ready.
        sleep 1
        printf '{"v":1,"type":"seen"}\n'
        at arm
        printf '{"v":1,"type":"armed"}\n'
        [ "$WIRETRIAL_TEST_HANG" = send ] && : > "$WIRETRIAL_TEST_MARK"
        ;;
    *'"type":"stop"'*)
        at drain
        printf '{"v":1,"type":"done"}\n'
        at report
        ;;
    *'"type":"bye"'*) exit 0 ;;
    esac
done
"#;

fn kill_process(pid: u32, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(pid).unwrap()), signal).unwrap();
}

/// Not 0 or 4 is a failure of the harness; 4 is a busy host's answer.
fn assert_ran(ended: &Ended) {
    assert!(
        matches!(ended.code, Some(0 | 4)),
        "exit {:?}\nstdout:\n{}\nstderr:\n{}",
        ended.code,
        ended.stdout,
        ended.stderr
    );
}

fn number(value: &Value) -> i64 {
    value
        .as_i64()
        .unwrap_or_else(|| panic!("{value} is a number"))
}

/// Both identities from the raw counts of a row, without the harness's own ledger.
fn assert_balanced(row: &Value) {
    let seen = &row["delivery"]["sequences"];
    let groups = row["generator"]["groups"].as_array().unwrap();
    let sent = groups
        .iter()
        .find(|group| group["name"]["arm"] == row["arm"])
        .unwrap();
    let copies = seen["copies"].as_object().unwrap();
    let delivered: i64 = copies.values().map(number).sum();
    let (received, dropped) = (
        number(&seen["pcap"]["received"]),
        number(&seen["pcap"]["dropped"]),
    );
    assert_eq!(
        received,
        delivered + dropped,
        "ps_recv = delivered + ps_drop: {row}"
    );
    let into = number(&sent["accepted"]) + number(&sent["warm_up_accepted"]);
    let ours = number(&copies["unique"]) + number(&copies["warm_up"]);
    assert_eq!(
        into,
        ours + dropped,
        "every copy is delivered or in the ring's drops: {row}"
    );
    let ledger = &row["ledger"];
    assert_eq!(
        number(&ledger["lost"]),
        number(&sent["accepted"]) - number(&copies["unique"]),
        "accepted = unique + lost: {row}"
    );
    assert_eq!(number(&ledger["unexplained"]), 0, "{row}");
    assert_eq!(ledger["state"], "balanced", "{row}");
}

fn identities_hold(arrangement: &str) {
    let bench = Bench::new();
    let ended = run(bench.campaign(&["--set", &format!("design.arrangement={arrangement}")]));
    assert_ran(&ended);
    let rows = rows(&bench.evidence());
    for (case, rate) in [("20k", 20_000), ("50k", 50_000)] {
        let of_case: Vec<&Value> = rows
            .iter()
            .filter(|row| row["case"] == case && row["outcome"] == "ok")
            .collect();
        assert!(
            of_case.len() >= 12,
            "six pairs of {case}: {}",
            of_case.len()
        );
        for row in of_case {
            assert_eq!(number(&row["intended_pps"]), rate);
            assert_balanced(row);
        }
    }
    assert!(ended.stdout.contains("ANSWER"), "{}", ended.stdout);
    let verified = run(bench.wiretrial(&["verify"]));
    assert_eq!(verified.code, Some(0), "{}", verified.stderr);
    assert!(verified.stdout.ends_with("equal\n"), "{}", verified.stdout);
    let script = bench.evidence().join("recompute.py");
    let redone = std::process::Command::new("python3").arg(script).output();
    let redone: Ended = redone.unwrap().into();
    assert_eq!(redone.code, Some(0), "{}", redone.stderr);
    assert!(
        redone.stdout.contains("verdicts: equal"),
        "{}",
        redone.stdout
    );
    bench.wait_until_gone();
    let file = bench.evidence().join("trials.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    let changed = text.replacen("\"duplicate\":0", "\"duplicate\":1", 1);
    assert_ne!(changed, text);
    fs::write(&file, changed).unwrap();
    let verified = run(bench.wiretrial(&["verify"]));
    assert_eq!(verified.code, Some(5), "{}", verified.stderr);
}

#[test]
fn both_identities_are_exact_interleaved() {
    identities_hold("interleaved");
}

#[test]
fn both_identities_are_exact_sequential() {
    identities_hold("sequential");
}

#[test]
fn a_killed_receiver_is_a_row_and_its_pair_is_replaced() {
    let bench = Bench::new();
    let running = Running::start(bench.one_case(&[]));
    let harness = running.0.id();
    // The first rows are there: the rehearsal is over and the campaign is sealed.
    let file = wait_for("the first rows", || {
        let folder = fs::read_dir(bench.path("evidence/one"))
            .ok()?
            .next()?
            .ok()?
            .path();
        let file = folder.join("trials.jsonl");
        (fs::metadata(&file).ok()?.len() > 0).then_some(file)
    });
    let victim = wait_for("a receiver beside a generator", || {
        let sending = !children(harness, "wiretrial-generator").is_empty();
        children(harness, "wiretrial-receiver")
            .first()
            .copied()
            .filter(|_| sending)
    });
    kill_process(victim, Signal::SIGKILL);
    let mut running = running;
    let code = running.0.wait().unwrap().code();
    assert!(matches!(code, Some(0 | 4)), "{code:?}");
    let rows = rows(file.parent().unwrap());
    let failed: Vec<&Value> = rows
        .iter()
        .filter(|row| row["outcome"]["failed"].is_object())
        .collect();
    let [failed] = failed[..] else {
        panic!("one failed row: {failed:?}")
    };
    let cause = failed["outcome"]["failed"]["cause"].as_str().unwrap();
    assert!(cause.contains("signal 9"), "{cause}");
    let partner = rows
        .iter()
        .find(|row| row["pair"] == failed["pair"] && row["arm"] != failed["arm"])
        .unwrap();
    assert_eq!(partner["outcome"], "voided");
    assert!(
        rows.iter().any(|row| row["replaces"] == failed["pair"]),
        "it is replaced"
    );
    bench.wait_until_gone();
}

#[test]
fn a_killed_harness_leaves_nothing_behind_in_any_step() {
    for step in [
        "launch", "prepare", "probe", "arm", "send", "drain", "report",
    ] {
        let bench = Bench::new();
        let before = namespaces();
        let receiver = bench.script("hanging", &format!("{SPOKEN_HELLO}{HANGING_RECEIVER}"));
        let mark = bench.path("mark");
        let mut command = bench.campaign(&[
            "--receiver-binary",
            receiver.to_str().unwrap(),
            "--out",
            "out",
        ]);
        command
            .env("WIRETRIAL_TEST_HANG", step)
            .env("WIRETRIAL_TEST_MARK", &mark);
        let mut running = Running::start(command);
        wait_for(&format!("step {step}"), || mark.exists().then_some(()));
        running.0.kill().unwrap();
        running.0.wait().unwrap();
        bench.wait_until_gone();
        wait_for("the scripts to be gone", || {
            children_named(&receiver).is_empty().then_some(())
        });
        wait_for("the namespaces to be gone", || {
            namespaces().is_subset(&before).then_some(())
        });
        let temporary = fs::read_dir(bench.path("tmp")).unwrap().count();
        assert_eq!(temporary, 0, "step {step} leaves a file");
    }
}

/// Processes that run a script of this path.
fn children_named(script: &Path) -> Vec<String> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("cmdline")).ok())
        .filter(|line| line.contains(script.to_str().unwrap()))
        .collect()
}

#[test]
fn a_killed_harness_leaves_nothing_behind_at_any_moment() {
    let before = namespaces();
    for milliseconds in [20, 150, 400, 800, 1300, 2100, 3000] {
        let bench = Bench::new();
        let mut running = Running::start(bench.campaign(&[]));
        std::thread::sleep(Duration::from_millis(milliseconds));
        running.0.kill().unwrap();
        running.0.wait().unwrap();
        bench.wait_until_gone();
        wait_for("the namespaces to be gone", || {
            namespaces().is_subset(&before).then_some(())
        });
        assert_eq!(fs::read_dir(bench.path("tmp")).unwrap().count(), 0);
    }
}

#[test]
fn a_second_campaign_on_the_host_is_refused() {
    let bench = Bench::new();
    let running = Running::start(bench.campaign(&[]));
    wait_for("the first campaign's folder", || {
        bench.path("evidence/demo").exists().then_some(())
    });
    let second = run(bench.campaign(&["--out", "second"]));
    assert_eq!(second.code, Some(3), "{}", second.stderr);
    let pid = running.0.id();
    assert!(
        second
            .last_line()
            .contains(&format!("another campaign holds this host (pid {pid}")),
        "{}",
        second.stderr
    );
    assert!(!bench.path("second").exists());
}

#[test]
fn an_interrupted_campaign_keeps_its_rows_and_goes_on() {
    let bench = Bench::new();
    let mut command = bench.one_case(&["--out", "out"]);
    let child = command.spawn().unwrap();
    let file = bench.path("out/trials.jsonl");
    wait_for("the first rows", || {
        (fs::metadata(&file).ok()?.len() > 0).then_some(())
    });
    // In the middle of a pair: a generator is there.
    wait_for("a generator", || {
        (!children(child.id(), "wiretrial-generator").is_empty()).then_some(())
    });
    kill_process(child.id(), Signal::SIGINT);
    let ended = Ended::from(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(
        ended
            .stderr
            .contains("go on with: wiretrial run --resume out"),
        "{}",
        ended.stderr
    );
    bench.wait_until_gone();
    let kept = rows(&bench.path("out"));
    assert!(!kept.is_empty());

    let unfinished = run(bench.wiretrial(&["verify", "out"]));
    assert_eq!(unfinished.code, Some(4), "{}", unfinished.stderr);

    refuses_what_is_not_the_same(&bench);
    let ended = run(bench.wiretrial(&["run", "--resume", "out"]));
    assert_ran(&ended);
    let all = rows(&bench.path("out"));
    assert_eq!(all[..kept.len()], kept[..], "rows are only added");
    let counted = all.iter().filter(|row| row["outcome"] == "ok").count();
    assert_eq!(counted, 12, "six pairs");
    let sessions = json(&bench.path("out/environment.json"));
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 2);
    let verified = run(bench.wiretrial(&["verify", "out"]));
    assert_eq!(verified.code, Some(0), "{}", verified.stderr);
}

/// A campaign goes on with its own plan, executables and host only, and is not touched otherwise.
fn refuses_what_is_not_the_same(bench: &Bench) {
    let copy = |name: &str, file: &str, from: &str, to: &str| {
        let done = Command::new("cp")
            .arg("-r")
            .args([bench.path("out"), bench.path(name)])
            .status();
        assert!(done.unwrap().success());
        let path = bench.path(name).join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file}: {from}");
        fs::write(&path, text.replace(from, to)).unwrap();
    };
    copy(
        "elsewhere",
        "environment.json",
        "\"classes\": {\n        \"host-a\": [\n          \"",
        "\"classes\": {\n        \"host-a\": [\n          \"0",
    );
    copy("replanned", "plan.json", "\"offered\"", "\"offered\" ");
    let other = bench.path("receiver-of-another-build");
    let mut bytes = fs::read(bench.path("wiretrial-receiver")).unwrap();
    bytes.push(0);
    fs::write(&other, bytes).unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).unwrap();
    let other = other.to_str().unwrap();
    for (arguments, code, sentence) in [
        (
            &["out", "--receiver-binary", other][..],
            2,
            "is not the executable the plan was sealed with",
        ),
        (&["elsewhere"][..], 2, "it can only go on there"),
        (&["replanned"][..], 5, "does not follow the line before it"),
    ] {
        let before = fs::read(bench.path("out/trials.jsonl")).unwrap();
        let ended = run(bench.wiretrial(&[&["run", "--resume"], arguments].concat()));
        assert_eq!(ended.code, Some(code), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(sentence), "{}", ended.stderr);
        assert_eq!(fs::read(bench.path("out/trials.jsonl")).unwrap(), before);
    }
}

#[test]
fn a_full_disk_ends_the_campaign_and_keeps_the_rows_before() {
    let bench = Bench::new();
    // A disk of its own that rows of a few pairs fill; it vanishes with its mount namespace.
    let script = "mkdir small && mount -t tmpfs -o size=144k tmpfs small || exit 99
        ./wiretrial run demo --quick --isolation netns --set design.foreign-cpu=100% \\
            --seed 7 --out small/out
        code=$?
        ./wiretrial verify small/out
        echo \"verify $?\" >&2
        wc -l < small/out/trials.jsonl
        exit $code";
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .current_dir(bench.folder.path())
        .env("HOME", bench.folder.path());
    let ended = run(command);
    assert_ne!(ended.code, Some(99), "{}", ended.stderr);
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("No space left on device"),
        "{}",
        ended.stderr
    );
    // The chain that is left is whole, and not finished.
    assert!(ended.stderr.contains("verify 4"), "{}", ended.stderr);
    let rows: u64 = ended.stdout.trim().parse().unwrap();
    assert!(rows >= 2 && rows.is_multiple_of(2), "{rows} rows");
}
