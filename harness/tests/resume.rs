//! A campaign that is killed at any step, torn by a power cut, out of disk or stopped by a signal goes
//! on where it was. What runs it is a process of its own, this test started again, on a host that
//! answers the same every time: so what comes out must be the same bytes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "the other tests use more of it")]
mod fake;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use fake::campaign::{plan, programs, setting};
use fake::{FakeHost, Fault};
use wiretrial::evidence::again;
use wiretrial::evidence::environment::{Environment, FILE as ENVIRONMENT, HOST, Session};
use wiretrial::evidence::finish::finish;
use wiretrial::evidence::folder::{ANALYSIS, Folder, PILOT, PLAN, REHEARSAL, SUMS};
use wiretrial::evidence::json::pretty;
use wiretrial::evidence::rows::{self, Rows};
use wiretrial::evidence::verify::verify;
use wiretrial::host::Interrupt;
use wiretrial::pilot::{self, rehearsal};
use wiretrial::run;
use wiretrial_contract::clock;
use wiretrial_contract::digest::sha256;
use wiretrial_contract::exit;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::Plan;
use wiretrial_contract::record::{HostFacts, Outcome};

/// Says to the process where the evidence is.
const FOLDER: &str = "WIRETRIAL_TEST_FOLDER";
/// Says to the process how the members of a pair run.
const ARRANGEMENT: &str = "WIRETRIAL_TEST_ARRANGEMENT";
/// What a step is told with; every one waits for an answer.
const STEP: &str = "step: ";
/// What the end is told with: the exit code.
const END: &str = "end: ";
/// What tmpfs gives out at a time, bytes.
const PAGE: u64 = 4_096;
/// The answer that follows a signal.
const SIGNALLED: &str = "signalled";
const WORDS: &str = "a host that answers";

/// The process that is killed.
#[test]
#[ignore = "started by the other tests"]
fn the_campaign() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let interrupt = Interrupt::on_signals().unwrap();
    let told = move |step: &str| {
        tell(&format!("{STEP}{step}"));
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer).unwrap();
        if answer.trim() == SIGNALLED {
            // It may be on its way to another thread.
            interrupt.sleep(Duration::from_secs(60))?;
        }
        interrupt.check()
    };
    let code = match campaign(&folder, Rc::new(told)) {
        Ok(()) => exit::DONE,
        Err(failure) => {
            tell(&failure.message);
            failure.code
        }
    };
    tell(&format!("{END}{code}"));
}

fn tell(line: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

/// Whether a file belongs to the rehearsal or the pilot.
fn before_the_seal(name: &str) -> bool {
    [REHEARSAL, PILOT]
        .iter()
        .any(|place| name.starts_with(place))
}

/// Begins the campaign, or goes on with it, to its end.
fn campaign(path: &Path, told: fake::Told) -> Result<(), Failure> {
    let mut host = FakeHost::telling(&[Fault::Varies], Rc::clone(&told));
    let programs = programs();
    if !path.join(PLAN).exists() {
        begin(path, &mut host)?;
    }
    let mut again = again::open(Folder::open(path)?)?;
    let torn = again.mend()?;
    again.environment.sessions.push(session(&again, torn));
    again.environment.write(again.folder())?;
    let plan = again.plan.clone();
    let mut at = setting(&plan, &programs);
    at.began_ns = wiretrial::host::Host::now_ns(&host);
    at.gone_ns = again.gone_ns();
    run::run(
        &mut host,
        &at,
        &plan,
        &mut again.rows,
        &mut again.records,
        &mut |rows| {
            told(&format!("{} rows", rows.len())).unwrap_or_default();
        },
    )?;
    told("finish")?;
    let host_class = ("7c1e", WORDS);
    finish(
        again.folder(),
        &plan,
        &again.plan_sha256,
        &again.records,
        host_class,
    )
    .map(|_| ())
}

/// Rehearses, runs the pilot and seals.
fn begin(path: &Path, host: &mut FakeHost) -> Result<(), Failure> {
    let arrangement = std::env::var(ARRANGEMENT).unwrap();
    let plan = plan(&[&format!("design.arrangement={arrangement}")]);
    let plan = Plan {
        campaign: wiretrial_contract::plan::Campaign {
            cases: plan.campaign.cases[..1].to_vec(),
            ..plan.campaign.clone()
        },
        ..plan
    };
    let plan = Plan {
        question_sha256: wiretrial::campaign::plan::question_sha256(&plan.campaign),
        pairs: wiretrial::campaign::order::pairs(&plan.campaign, plan.seed.0),
        ..plan
    };
    let folder = Folder::create(path)?;
    let programs = programs();
    let start = |plan: &Plan, place: &str| {
        let bytes = pretty(plan);
        folder.write(&format!("{place}/{PLAN}"), &bytes)?;
        Rows::create(&path.join(place), &sha256(&bytes))
    };
    let rehearsal = rehearsal::plan(&plan);
    let mut rows = start(&rehearsal, REHEARSAL)?;
    let at = setting(&rehearsal, &programs);
    run::rehearse(host, &at, &rehearsal, &mut rows)?;
    let noise = pilot::plan(&plan).unwrap();
    let mut rows = start(&noise, PILOT)?;
    let at = setting(&noise, &programs);
    let seen = run::pilot(host, &at, &noise, &mut rows, &mut |_| ())?;
    let (_, seen) = pilot::decided(&plan.campaign.design, Some(&(noise, seen)))?;
    let plan = Plan {
        pilot: seen,
        ..plan
    };
    Environment::new().write(&folder)?;
    let bytes = pretty(&plan);
    folder.write(PLAN, &bytes)?;
    Rows::create(path, &sha256(&bytes)).map(|_| ())
}

fn session(again: &again::Again, torn_bytes: Option<u64>) -> Session {
    Session {
        began: clock::rfc3339(clock::realtime_ns()),
        rows_before: again.rows.count(),
        torn_bytes,
        boot: Some("b0".into()),
        isolation: again.plan.isolation,
        notes: Vec::new(),
        hosts: [(HOST.to_owned(), HostFacts::default())].into(),
        classes: [(HOST.to_owned(), ("7c1e".repeat(16), WORDS.to_owned()))].into(),
        libpcap: None,
    }
}

/// A process that waits at each step.
struct Process {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Process {
    fn start(folder: &Path, arrangement: &str) -> Self {
        let mut child = this_again(&std::env::current_exe().unwrap())
            .env(FOLDER, folder)
            .env(ARRANGEMENT, arrangement)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The next step, or the exit code at the end.
    fn step(&mut self) -> Result<String, u8> {
        loop {
            let line = self.lines.next().expect("it says how it ends").unwrap();
            if let Some(step) = line.strip_prefix(STEP) {
                return Ok(step.to_owned());
            }
            if let Some(code) = line.strip_prefix(END) {
                return Err(code.parse().unwrap());
            }
        }
    }

    fn go_on(&mut self) {
        writeln!(self.child.stdin.as_mut().unwrap()).unwrap();
    }

    /// Lets it run to its end: its steps and exit code.
    fn at_its_end(mut self) -> (Vec<String>, u8) {
        let mut steps = Vec::new();
        loop {
            match self.step() {
                Ok(step) => steps.push(step),
                Err(code) => {
                    self.child.wait().unwrap();
                    return (steps, code);
                }
            }
            self.go_on();
        }
    }

    /// Lets it run until it stands at step number `at`, counted from 0, and does something there.
    fn until(mut self, at: usize, then: impl FnOnce(&mut Child)) -> Self {
        for _ in 0..at {
            self.step().unwrap();
            self.go_on();
        }
        self.step().unwrap();
        then(&mut self.child);
        self
    }

    fn kill_at(self, at: usize) {
        let mut killed = self.until(at, |child| child.kill().unwrap());
        killed.child.wait().unwrap();
    }
}

fn this_again(executable: &Path) -> Command {
    let mut command = Command::new(executable);
    command.args(["--exact", "the_campaign", "--ignored", "--nocapture"]);
    command
}

/// An uninterrupted campaign: its folder, steps and analysis.
struct Whole {
    root: tempfile::TempDir,
    steps: Vec<String>,
    analysis: Vec<u8>,
}

fn whole(arrangement: &str) -> Whole {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("whole");
    let (steps, code) = Process::start(&folder, arrangement).at_its_end();
    assert_eq!(code, exit::DONE);
    assert!(verified(&folder) > 0);
    Whole {
        analysis: fs::read(folder.join(ANALYSIS)).unwrap(),
        root,
        steps,
    }
}

/// Checks finished evidence; its rows.
fn verified(folder: &Path) -> usize {
    let done = verify(&Folder::open(folder).unwrap()).unwrap();
    done.rows
}

/// Goes on with what is in a folder; the analysis in the end.
fn resumed(folder: &Path, arrangement: &str) -> Vec<u8> {
    let (_, code) = Process::start(folder, arrangement).at_its_end();
    assert_eq!(code, exit::DONE);
    verified(folder);
    fs::read(folder.join(ANALYSIS)).unwrap()
}

/// Steps of the rehearsal, the pilot, the second pair, and the end.
fn chosen(steps: &[String]) -> Vec<usize> {
    let rows: Vec<usize> = (0..steps.len())
        .filter(|at| steps[*at].ends_with(" rows"))
        .collect();
    let (first, second) = (rows[0], rows[1]);
    let sends = |at: &usize| steps[*at] == "go -> generator";
    let before = (0..steps.len()).filter(sends).take(2);
    before
        .chain(first..=second)
        .chain([steps.len() - 1])
        .collect()
}

fn killed_at_every_step(arrangement: &str) {
    let whole = whole(arrangement);
    let steps = chosen(&whole.steps);
    assert!(steps.len() > 20, "{:?}", whole.steps);
    for at in steps {
        let folder = whole.root.path().join(format!("{at}"));
        Process::start(&folder, arrangement).kill_at(at);
        assert!(!folder.join(ANALYSIS).exists());
        let same = resumed(&folder, arrangement) == whole.analysis;
        assert!(same, "killed at {at}: {}", whole.steps[at]);
    }
}

#[test]
fn killed_at_every_step_of_an_interleaved_pair_it_ends_the_same() {
    killed_at_every_step("interleaved");
}

#[test]
fn killed_at_every_step_of_a_sequential_pair_it_ends_the_same() {
    killed_at_every_step("sequential");
}

#[test]
fn killed_five_times_it_ends_the_same() {
    let whole = whole("interleaved");
    let folder = whole.root.path().join("five");
    let begun = whole
        .steps
        .iter()
        .position(|step| step == "2 rows")
        .unwrap();
    let steps_a_pair =
        whole.steps.len() - whole.steps.iter().rposition(|s| s == "10 rows").unwrap();
    for times in 0..5 {
        // First in the pilot's wake, then each time some way into what is left.
        let at = if times == 0 {
            begun
        } else {
            steps_a_pair / 2 + times * 5
        };
        Process::start(&folder, "interleaved").kill_at(at);
    }
    assert!(resumed(&folder, "interleaved") == whole.analysis);
    let sessions = Environment::read(&Folder::open(&folder).unwrap()).unwrap();
    assert_eq!(sessions.sessions.len(), 6);
}

#[test]
fn a_torn_last_line_is_kept_aside_and_run_again() {
    let whole = whole("interleaved");
    let folder = whole.root.path().join("torn");
    let at = whole
        .steps
        .iter()
        .position(|step| step == "6 rows")
        .unwrap();
    Process::start(&folder, "interleaved").kill_at(at);
    let bytes = fs::read(folder.join(rows::FILE)).unwrap();
    let last = bytes[..bytes.len() - 1]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .unwrap()
        + 1;
    for end in [last + 1, (last + bytes.len()) / 2, bytes.len() - 1] {
        let copy = whole.root.path().join(format!("torn-{end}"));
        copy_all(&folder, &copy);
        fs::write(copy.join(rows::FILE), &bytes[..end]).unwrap();
        let (_, code) = Process::start(&copy, "interleaved").at_its_end();
        assert_eq!(code, exit::DONE);
        assert_eq!(fs::read(copy.join("raw/torn-1")).unwrap(), bytes[last..end]);
        // The pair's other row was whole: the pair is a voided one, and is run again.
        let rows = verified(&copy);
        assert_eq!(rows, 12 + 1);
    }
}

#[test]
fn a_crash_between_any_two_files_of_the_end_is_mended() {
    let whole = whole("interleaved");
    let done = whole.root.path().join("whole");
    let folder = Folder::open(&done).unwrap();
    let before = [PLAN, rows::FILE, ENVIRONMENT];
    let derived: Vec<String> = folder
        .files()
        .unwrap()
        .into_iter()
        .filter(|name| !before.contains(&name.as_str()) && !before_the_seal(name))
        .chain([SUMS.to_owned()])
        .collect();
    assert!(derived.len() > 5, "{derived:?}");
    for gone in &derived {
        let copy = whole
            .root
            .path()
            .join(format!("end-{}", gone.replace('/', "-")));
        copy_all(&done, &copy);
        // What was being written when it happened.
        fs::rename(copy.join(gone), copy.join(format!("{gone}.part"))).unwrap();
        let _ = fs::remove_file(copy.join(SUMS));
        assert!(resumed(&copy, "interleaved") == whole.analysis, "{gone}");
    }
}

#[test]
fn a_signal_voids_the_pair_it_hits_and_nothing_else() {
    let whole = whole("interleaved");
    let folder = whole.root.path().join("signal");
    let sends = |at: &usize| whole.steps[*at] == "go -> generator";
    // The rehearsal and the pilot send too.
    let at = (0..whole.steps.len()).filter(sends).nth(6).unwrap();
    let mut process = Process::start(&folder, "interleaved").until(at, |child| {
        let id = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
        nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGINT).unwrap();
    });
    writeln!(process.child.stdin.as_mut().unwrap(), "{SIGNALLED}").unwrap();
    let (_, code) = process.at_its_end();
    assert_eq!(code, exit::INTERRUPTED);
    resumed(&folder, "interleaved");
    let again = again::open(Folder::open(&folder).unwrap()).unwrap();
    let voided = again
        .records
        .iter()
        .filter(|row| row.outcome == Outcome::Voided);
    assert_eq!(voided.count(), 2);
    assert_eq!(again.records.len(), 14, "the pair was run again");
}

/// Disks that are full while rows are written and while reports are, in mount namespaces of their own;
/// then they grow.
#[test]
fn a_full_disk_ends_it_in_order_and_it_goes_on_when_there_is_room() {
    let whole = whole("interleaved");
    let script = r#"
set -e
mount -t tmpfs -o size="$SIZE" none "$DISK"
yes "" | "$@" >"$KEPT-1" || true
mount -o remount,size=64m "$DISK"
yes "" | "$@" >"$KEPT-2" || true
cp -r "$DISK/full" "$KEPT"
"#;
    let this = this_again(&std::env::current_exe().unwrap());
    let of = |kept: &dyn Fn(&str) -> bool| {
        let folder = Folder::open(&whole.root.path().join("whole")).unwrap();
        let names = folder.files().unwrap().into_iter();
        let sizes = names
            .filter(|name| kept(name))
            .map(|name| fs::metadata(folder.path().join(name)).unwrap().len());
        sizes.map(|size| size.div_ceil(PAGE)).sum::<u64>()
    };
    let before = of(&|name| before_the_seal(name) || name == PLAN || name == ENVIRONMENT);
    let rows = of(&|name| name == rows::FILE);
    for (pages, cause) in [
        (before + rows / 2, "rows before it are kept"),
        (before + rows + 1, "analysis.json could not be written"),
    ] {
        let size = (pages * PAGE).to_string();
        let disk = whole.root.path().join(format!("disk-{size}"));
        let kept = whole.root.path().join(format!("kept-{size}"));
        fs::create_dir(&disk).unwrap();
        let done = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount"])
            .args(["sh", "-c", script, "sh"])
            .arg(this.get_program())
            .args(this.get_args())
            .env("SIZE", &size)
            .env("DISK", &disk)
            .env("KEPT", &kept)
            .env(FOLDER, disk.join("full"))
            .env(ARRANGEMENT, "interleaved")
            .status();
        assert!(done.unwrap().success());
        let said = |time: u32| {
            let name = format!("kept-{size}-{time}");
            fs::read_to_string(whole.root.path().join(name)).unwrap()
        };
        let end = |code: u8| format!("{END}{code}\n");
        assert!(said(1).contains("No space left"), "{}", said(1));
        assert!(said(1).contains(cause), "{}", said(1));
        assert!(said(1).contains(&end(exit::EVIDENCE)), "{}", said(1));
        assert!(said(2).contains(&end(exit::DONE)), "{}", said(2));
        verified(&kept);
        assert!(fs::read(kept.join(ANALYSIS)).unwrap() == whole.analysis);
    }
}

fn copy_all(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-r").args([from, to]).status();
    assert!(done.unwrap().success());
}
