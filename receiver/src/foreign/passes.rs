//! Passes over an input: a program of the user's, started anew for each, or the receiver's own
//! reading.

use std::path::Path;

use wiretrial_contract::clock;
use wiretrial_contract::control::{Executable, PassInput, PassWork, PassesPrepare, PassesReady};
use wiretrial_contract::digest;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::report::PassReport;

use super::counts::{Readers, Words};
use super::launch::{self, Launch, ending};
use super::live::absolute;
use super::places::{Input, Places};
use super::seal::Seal;
use super::work::Work;
use super::worker::{Orders, Worker};
use super::{Cut, tree};
use crate::instructions::{Instructions, Reading};
use crate::{fold, process};

/// Most passes of one process.
pub(crate) const MOST_PASSES: u64 = 100_000;

/// What the thread of the passes tells the thread that controls it.
#[derive(Debug)]
pub(crate) enum Notice {
    /// It can run passes.
    Ready(PassesReady),
    /// One is over.
    Report(Box<PassReport>),
    /// It cannot go on, and nothing of it is left.
    Failed(Failure),
}

/// Passes under way. Dropping it ends the program and all it started.
#[derive(Debug)]
pub(crate) struct Passes(Worker<PassInput>);

impl Passes {
    /// Gets ready on a thread of its own. `instructions` counts those of this process, for passes of
    /// the receiver's own.
    ///
    /// # Errors
    ///
    /// A host failure when no thread can be started.
    pub(crate) fn start(
        prepare: PassesPrepare,
        instructions: Option<Instructions>,
        notify: impl Fn(Notice) + Clone + Send + 'static,
    ) -> Result<Self, Failure> {
        tree::adopt()?;
        let own = prepare.passes == PassWork::RawFold;
        // A program starts under no counter but its own.
        let instructions = instructions.filter(|_| own);
        let say = notify.clone();
        let work = move |orders: &Orders<PassInput>| run(&prepare, instructions, orders, &say);
        let mut worker = Worker::start(work, move |failure| notify(Notice::Failed(failure)))?;
        if own {
            // It reads and holds nothing, and a pass of ours cannot be cut short.
            worker.detach();
        }
        Ok(Self(worker))
    }

    /// Runs one pass.
    pub(crate) fn pass(&self, input: PassInput) {
        self.0.order(input);
    }
}

fn run(
    prepare: &PassesPrepare,
    instructions: Option<Instructions>,
    orders: &Orders<PassInput>,
    notify: &impl Fn(Notice),
) -> Result<(), Cut> {
    let mut runner = match &prepare.passes {
        PassWork::RawFold => Runner::Own(
            digest::sha256_self()
                .map_err(|error| Failure::host(format!("cannot read /proc/self/exe: {error}")))?,
            instructions,
        ),
        PassWork::Outside(executable) => Runner::Outside(executable, Seal::default()),
    };
    let (cpus, program_sha256) = match &mut runner {
        Runner::Own(..) => {
            if let Some(cpu) = prepare.cpu {
                process::pin(cpu)?;
            }
            (None, None)
        }
        Runner::Outside(executable, seal) => {
            // What is wrong with the specification is said now, and not in the first pass.
            let folder = launch::folder()?;
            let places = places(prepare, executable, PassInput::Whole, folder.path());
            Launch::new(executable, &places, prepare.cpu)?.check()?;
            Readers::new(&executable.spec.counts, &places)?;
            (prepare.cpu, Some(seal.check(executable)?))
        }
    };
    let cpus = match cpus {
        Some(cpu) => vec![cpu],
        None => process::cpus()
            .map_err(|error| Failure::host(format!("cannot read the allowed cpus: {error}")))?,
    };
    notify(Notice::Ready(PassesReady {
        cpus,
        program_sha256,
    }));
    for number in 1.. {
        let input = orders.next()?;
        let report = match &mut runner {
            Runner::Own(sha256, instructions) => {
                own_pass(prepare, input, number, sha256, instructions.as_mut())?
            }
            Runner::Outside(executable, seal) => {
                outside_pass(prepare, executable, seal, input, number, orders)?
            }
        };
        notify(Notice::Report(Box::new(report)));
    }
    Ok(())
}

/// What runs.
enum Runner<'a> {
    /// The receiver itself, with its SHA-256 and the counter of its instructions.
    Own(String, Option<Instructions>),
    /// A program.
    Outside(&'a Executable, Seal),
}

fn own_pass(
    prepare: &PassesPrepare,
    input: PassInput,
    number: u64,
    sha256: &str,
    mut instructions: Option<&mut Instructions>,
) -> Result<PassReport, Failure> {
    let file = file(prepare, input).ok_or_else(|| {
        Failure::usage(format!(
            "pass {number}: there is no file for {}",
            words(input)
        ))
    })?;
    let mut counted = || instructions.as_mut().and_then(|counter| counter.read());
    let before = counted();
    let (start_ns, cpu_ns) = (clock::monotonic_ns(), clock::process_cpu_ns());
    let folded = fold::pass(Path::new(file))?;
    let cpu_ns = clock::process_cpu_ns().saturating_sub(cpu_ns);
    let elapsed_ns = clock::monotonic_ns().saturating_sub(start_ns);
    let after = counted();
    if elapsed_ns > prepare.limit_ns {
        return Err(too_long("raw-fold", prepare, input, number));
    }
    Ok(PassReport {
        input,
        elapsed_ns,
        cpu_ns,
        units: Some(folded.units),
        bytes: Some(folded.bytes),
        errors: Some(folded.errors),
        checksum: Some(format!("{:016x}", folded.sum)),
        peak_rss_bytes: process::peak_rss_bytes(),
        instructions: after
            .zip(before)
            .and_then(|(after, before)| after.since(before)),
        program_sha256: sha256.to_owned(),
        left_processes: false,
    })
}

fn outside_pass(
    prepare: &PassesPrepare,
    executable: &Executable,
    seal: &mut Seal,
    input: PassInput,
    number: u64,
    orders: &Orders<PassInput>,
) -> Result<PassReport, Cut> {
    let program_sha256 = seal.check(executable)?;
    let folder = launch::folder()?;
    let binary = absolute(&executable.path);
    let places = Places {
        binary: &binary,
        ..places(prepare, executable, input, folder.path())
    };
    let readers = Readers::new(&executable.spec.counts, &places)?;
    let launch = Launch::new(executable, &places, prepare.cpu)?;
    let own_peak = process::peak_rss_bytes();

    let mut instructions = Instructions::of_next_program();

    let start_ns = clock::monotonic_ns();
    let mut program = launch.start()?;
    let until_ns = start_ns.saturating_add(prepare.limit_ns);
    let in_time = program.wait(until_ns, || orders.wait(0).map(drop));
    if !matches!(in_time, Ok(true)) {
        drop(program);
        tree::end_all();
        in_time?;
        return Err(too_long(&launch::name(executable), prepare, input, number).into());
    }
    let ended = program.reap()?;
    let elapsed_ns = clock::monotonic_ns().saturating_sub(start_ns);

    let left_processes = tree::end_all();
    let counted = instructions.as_mut().and_then(Instructions::read);
    if ended.status != Some(0) {
        return Err(Failure::evidence(format!(
            "{} failed in pass {number} over {} ({}); {}",
            program.name,
            words(input),
            ending(&ended),
            program.last_words()
        ))
        .into());
    }
    let (stdout, stderr) = program.output();
    let work = Work::in_output(&stdout);
    let counts = readers.read(&Words {
        stdout,
        stderr,
        ..Words::default()
    });
    if let (Some(counted), Some(said)) = (counts.processed, work.units)
        && counted != said
    {
        return Err(Failure::evidence(format!(
            "{} contradicts itself in pass {number} over {}: {counted} processed by its counts, \
             {said} units in its work line",
            program.name,
            words(input)
        ))
        .into());
    }
    Ok(PassReport {
        input,
        elapsed_ns,
        cpu_ns: ended.cpu_ns,
        units: counts.processed.or(work.units),
        bytes: work.bytes,
        errors: work.errors,
        checksum: work.checksum,
        peak_rss_bytes: own_peak
            .filter(|own| ended.max_rss_bytes > *own)
            .map(|_| ended.max_rss_bytes),
        instructions: counted.and_then(|counted| counted.since(Reading::NONE)),
        program_sha256,
        left_processes,
    })
}

fn places<'a>(
    prepare: &'a PassesPrepare,
    executable: &'a Executable,
    input: PassInput,
    work: &'a Path,
) -> Places<'a> {
    let [whole, short] = prepare.packets;
    Places {
        binary: &executable.path,
        input: Input::File(file(prepare, input)),
        work,
        packets: match input {
            PassInput::Whole => whole,
            PassInput::Short => short,
        },
    }
}

fn file(prepare: &PassesPrepare, input: PassInput) -> Option<&str> {
    match input {
        PassInput::Whole => prepare.file.as_deref(),
        PassInput::Short => prepare.short_file.as_deref(),
    }
}

fn words(input: PassInput) -> &'static str {
    match input {
        PassInput::Whole => "the whole input",
        PassInput::Short => "the short input",
    }
}

fn too_long(name: &str, prepare: &PassesPrepare, input: PassInput, number: u64) -> Failure {
    Failure::evidence(format!(
        "{name} took over {} ms in pass {number} over {} and was ended; give it less input, or more \
         time",
        prepare.limit_ns / 1_000_000,
        words(input)
    ))
}
