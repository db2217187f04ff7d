//! Whether the arms did the work, and the same work: units and checksums of passes, counts of programs.

mod said;

use wiretrial_contract::analysis::WorkProof;
use wiretrial_contract::plan::{Case, PassProgram, Passes, Work};
use wiretrial_contract::program::CountName;
use wiretrial_contract::record::{Flag, TrialRecord};
use wiretrial_reports::number;
use wiretrial_stats::verdict::Reason;

use super::passes::reports;
use super::{CaseRows, loads};
use said::{Said, Uniform};

/// What is wrong with an arm's work: what it did, and what it should have done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) saw: String,
    pub(super) wanted: String,
}

/// What the passes of an arm did in one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArmWork {
    /// Units of every pass over the whole input.
    pub(super) units: Option<u64>,
    /// Checksum of every pass over the whole input.
    pub(super) checksum: Option<String>,
    /// How far it is known to be right.
    pub(super) proof: WorkProof,
    /// What is wrong, where something is.
    pub(super) wrong: Option<Wrong>,
}

/// What was wrong in each arm of a case.
pub(super) fn wrong(case: &CaseRows<'_>) -> Vec<(usize, Wrong)> {
    match &case.case.work {
        Work::Passes(passes) => of_passes(passes, case)
            .into_iter()
            .enumerate()
            .filter_map(|(arm, work)| Some((arm, work.wrong?)))
            .collect(),
        Work::Live(_) => (0..case.arms.len())
            .filter_map(|arm| Some((arm, case.of_arm(arm).find_map(more_than_was_sent)?)))
            .collect(),
    }
}

/// Why nothing may be called worthwhile: an arm does not say what it did, or how much it lost is a
/// range around the limit.
pub(super) fn unproven(case: &CaseRows<'_>) -> Option<Reason> {
    // A command line that says nothing of its work is one unit by itself.
    let commands = case
        .case
        .passes()
        .is_some_and(|passes| passes.input.is_none());
    if !commands && silent(case) {
        return Some(Reason::WorkUnproven);
    }
    loads::tail_unknown(case).then_some(Reason::TailUnknown)
}

/// Whether some arm does not say how much it did.
pub(super) fn silent(case: &CaseRows<'_>) -> bool {
    match &case.case.work {
        Work::Passes(passes) => {
            !case.pairs.is_empty()
                && of_passes(passes, case)
                    .iter()
                    .any(|work| work.proof == WorkProof::None)
        }
        Work::Live(_) => case.counted().any(|row| {
            let said = |row: &TrialRecord| row.count().is_none_or(|c| c.counts.processed.is_some());
            !said(row) || row.flags.contains(&Flag::WorkUnproven)
        }),
    }
}

/// What each arm's passes did, in the order of the case's arms, held against the input and the first
/// arm. Where they disagree and no input tells who is right, the other is wrong: the first is the
/// reference.
pub(super) fn of_passes(passes: &Passes, case: &CaseRows<'_>) -> Vec<ArmWork> {
    let said: Vec<Said> = (0..case.arms.len())
        .map(|place| Said::of(&reports(case, place)))
        .collect();
    let at = |place: usize| {
        let (own, reference) = (&said[place], &said[0]);
        let wrong = untold(passes, case, &said, place)
            .or_else(|| own.by_itself(passes))
            .or_else(|| own.against(reference));
        own.work(wrong)
    };
    (0..said.len()).map(at).collect()
}

/// Units that are missing: the arm's program was to tell them, or the other arm's, which is told of
/// in the same way, does.
fn untold(passes: &Passes, case: &CaseRows<'_>, said: &[Said], place: usize) -> Option<Wrong> {
    let beside = if place == 0 { 1 } else { 0 };
    let (one, other) = (&said[place], said.get(beside)?);
    if one.passes == 0 || one.units != Uniform::Never {
        return None;
    }
    let declared = |place: usize| {
        let program = passes.programs.get(case.arms[place]);
        program.is_some_and(tells_units)
    };
    let alike = declared(place) == declared(beside) || passes.input.is_none();
    let missing = declared(place) || (alike && other.units != Uniform::Never);
    missing.then(|| Wrong {
        saw: "no units of work".into(),
        wanted: match (&passes.input, &other.units) {
            (Some(input), _) => format!("{} units", number::count(input.units)),
            (None, Uniform::Always(units)) => format!("{} units", number::count(*units)),
            _ => "units in every pass".into(),
        },
    })
}

fn tells_units(program: &PassProgram) -> bool {
    match program {
        PassProgram::RawFold => true,
        PassProgram::Outside(program) => program.counts.contains_key(&CountName::Processed),
    }
}

/// A program that says it processed more packets than were sent to it.
fn more_than_was_sent(row: &TrialRecord) -> Option<Wrong> {
    let processed = row.count()?.counts.processed?;
    let most = row.tally()?.all_accepted();
    (processed > most).then(|| Wrong {
        saw: format!("{} packets processed", number::count(processed)),
        wanted: format!("at most the {} that were sent", number::count(most)),
    })
}

/// Whether the case has a program whose work was to be told.
pub(super) fn is_told(case: &Case) -> bool {
    match &case.work {
        Work::Passes(_) => true,
        Work::Live(live) => live.receivers.iter().any(|spec| spec.outside().is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Identity, analyse, exit_code};
    use super::*;
    use crate::trial::samples;
    use wiretrial_contract::analysis::{Analysis, Reason, Verdict};
    use wiretrial_contract::control::PassInput;
    use wiretrial_contract::exit;
    use wiretrial_contract::plan::Plan;
    use wiretrial_contract::program::{CountSource, ProgramSpec};
    use wiretrial_contract::report::PassReport;

    /// A campaign of passes over a file, each arm's changed by a function, the candidate 10 % cheaper.
    fn campaign(plan: &Plan, change: impl Fn(usize, &mut PassReport)) -> Analysis {
        let rows: Vec<TrialRecord> = plan
            .pairs
            .iter()
            .flat_map(|planned| [0, 1].map(|arm| (planned.pair, arm)))
            .map(|(pair, arm)| {
                let mut passes = samples::passes();
                for pass in &mut passes {
                    let percent = [100, 90][arm];
                    pass.cpu_ns = pass.cpu_ns * percent / 100 + pair * 1_000;
                    change(arm, pass);
                }
                samples::passes_row(pair, ["baseline", "candidate"][arm], passes)
            })
            .collect();
        let identity = Identity {
            plan_sha256: "aa".into(),
            rows_sha256: "bb".into(),
            host_class: "cc".into(),
            host: "a host".into(),
        };
        analyse(plan, &rows, &identity)
    }

    fn proofs(analysis: &Analysis) -> [WorkProof; 2] {
        [analysis.passes[0].proof, analysis.passes[1].proof]
    }

    fn whole(pass: &PassReport) -> bool {
        pass.input == PassInput::Whole
    }

    #[test]
    fn the_same_work_is_proven_and_start_up_is_shown_apart() {
        let analysis = campaign(&samples::passes_plan(), |_, _| {});
        assert_eq!(analysis.verdict, Verdict::ImprovedWorthwhile);
        assert_eq!(proofs(&analysis), [WorkProof::Checksum; 2]);
        let baseline = &analysis.passes[0];
        assert_eq!((baseline.passes, baseline.units), (12, Some(1_000_100)));
        let close = |one: Option<f64>, other: f64| assert!((one.unwrap() - other).abs() < 1e-6);
        // 4 ms, and 24 ms, plus 0 to 5 us of noise.
        close(baseline.start_up_cpu_ns, 4_002_500.0);
        close(baseline.cpu_ns, 24_002_500.0);
        close(baseline.start_up_share, 4_002_500.0 / 24_002_500.0);
        assert!(
            analysis
                .answer
                .text
                .ends_with("every pass did the same work, by units and checksum"),
            "{}",
            analysis.answer.text
        );
        assert!(!analysis.answer.text.contains("lost"));
        assert!(analysis.loads.is_empty());
        assert_eq!(exit_code(&analysis), (exit::DONE, None));
    }

    #[test]
    fn a_slower_start_alone_is_the_same() {
        let analysis = campaign(&samples::passes_plan(), |arm, pass| {
            pass.cpu_ns = if whole(pass) { 24_000_000 } else { 4_000_000 };
            pass.cpu_ns += [0, 8_000_000][arm];
        });
        assert_eq!(analysis.verdict, Verdict::Equivalent);
        assert!(analysis.passes[1].start_up_share > analysis.passes[0].start_up_share);
    }

    #[test]
    fn wrong_or_missing_work_is_invalid() {
        type Change = fn(usize, &mut PassReport);
        let changes: [(Change, WorkProof); 7] = [
            (
                |arm, pass| pass.units = pass.units.map(|n| n - arm as u64),
                WorkProof::Wrong,
            ),
            (
                |arm, pass| {
                    if arm == 1 {
                        pass.units = None
                    }
                },
                WorkProof::Wrong,
            ),
            (|arm, pass| pass.errors = Some(arm as u64), WorkProof::Wrong),
            (
                |arm, pass| pass.checksum = Some(format!("sum {arm}")),
                WorkProof::Wrong,
            ),
            // Only the short input.
            (
                |arm, pass| {
                    if pass.input == PassInput::Short && arm == 1 {
                        pass.units = Some(99);
                    }
                },
                WorkProof::Wrong,
            ),
            // One pass of many.
            (
                |arm, pass| {
                    if pass.elapsed_ns == 34_000_000 && arm == 1 {
                        pass.checksum = None;
                    }
                },
                WorkProof::Wrong,
            ),
            // More packets than there are.
            (
                |arm, pass| pass.units = pass.units.map(|n| n + 1_000 * arm as u64),
                WorkProof::Wrong,
            ),
        ];
        for (at, (change, proof)) in changes.into_iter().enumerate() {
            let analysis = campaign(&samples::passes_plan(), change);
            assert_eq!(analysis.verdict, Verdict::Invalid, "change {at}");
            assert_eq!(
                analysis.comparisons[0].reasons[0],
                Reason::WrongResult,
                "change {at}"
            );
            assert_eq!(
                proofs(&analysis),
                [WorkProof::Checksum, proof],
                "change {at}"
            );
            let (code, sentence) = exit_code(&analysis);
            assert_eq!(code, exit::EVIDENCE);
            let sentence = sentence.unwrap();
            assert!(
                sentence.contains("work done: mix candidate: "),
                "{sentence}"
            );
        }
        let analysis = campaign(&samples::passes_plan(), |arm, pass| {
            pass.units = pass.units.map(|n| n - 1 + arm as u64);
        });
        assert_eq!(
            exit_code(&analysis).1.unwrap(),
            "case mix: invalid (wrong_result); work done: mix baseline: 1,000,099 units a pass \
             against 1,000,100 in the input"
        );
    }

    /// Programs that declare no count and say nothing: the gain stands, and is not held against the
    /// margin.
    #[test]
    fn what_is_not_told_is_never_worthwhile() {
        let mut plan = samples::passes_plan();
        let silent = PassProgram::Outside(ProgramSpec::default());
        samples::passes_mut(&mut plan.campaign.cases[0]).programs = vec![silent; 2];
        let quiet = |_: usize, pass: &mut PassReport| {
            pass.units = None;
            pass.checksum = None;
        };
        let analysis = campaign(&plan, quiet);
        let primary = &analysis.comparisons[0];
        assert_eq!(primary.verdict, Some(Verdict::Improved));
        assert_eq!(primary.reasons, [Reason::WorkUnproven]);
        assert!(primary.flags.contains(&Flag::WorkUnproven));
        assert_eq!(proofs(&analysis), [WorkProof::None; 2]);
        assert!(
            analysis
                .limitations
                .iter()
                .any(|limit| limit.word == "work_unproven")
        );
        // One that tells beside one that was never asked to: still not proven, and not wrong.
        let mut told = ProgramSpec::default();
        told.counts
            .insert(CountName::Processed, CountSource::Stdout("(\\d+)".into()));
        samples::passes_mut(&mut plan.campaign.cases[0]).programs[0] = PassProgram::Outside(told);
        let analysis = campaign(&plan, |arm, pass| {
            if arm == 1 {
                quiet(arm, pass);
            }
        });
        assert_eq!(proofs(&analysis), [WorkProof::Checksum, WorkProof::None]);
        assert_eq!(analysis.verdict, Verdict::Improved);
    }

    #[test]
    fn commands_are_held_against_each_other() {
        let mut plan = samples::passes_plan();
        let work = samples::passes_mut(&mut plan.campaign.cases[0]);
        work.input = None;
        work.programs = vec![PassProgram::Outside(ProgramSpec::default()); 2];
        let analysis = campaign(&plan, |_, pass| pass.units = Some(500));
        assert_eq!(proofs(&analysis), [WorkProof::Checksum; 2]);
        // One says what it did and the other does not: their units are not the same thing.
        let analysis = campaign(&plan, |arm, pass| pass.units = [Some(500), None][arm]);
        assert_eq!(analysis.verdict, Verdict::Invalid);
        let analysis = campaign(&plan, |arm, pass| pass.units = Some([500, 499][arm]));
        assert_eq!(proofs(&analysis), [WorkProof::Checksum, WorkProof::Wrong]);
    }

    #[test]
    fn a_program_cannot_process_more_than_was_sent() {
        let mut plan = samples::plan();
        for receiver in &mut samples::live_mut(&mut plan.campaign.cases[0]).receivers {
            receiver.program = wiretrial_contract::plan::Measured::Outside(ProgramSpec::default());
        }
        let judged = |processed| {
            let mut row = samples::outside(samples::row(0), Some(processed), Some((0, 0)));
            row.generator = Some(samples::generator(vec![samples::tally()]));
            let case = CaseRows::of_pairs(&plan.campaign.cases[0], vec![[&row, &row]; 6]);
            wrong(&case)
                .into_iter()
                .map(|(_, wrong)| wrong.saw)
                .collect::<Vec<_>>()
        };
        // 16 probes, 4,000 warm-up and 20,000 counted datagrams.
        assert!(judged(24_016).is_empty());
        assert_eq!(judged(24_017), ["24,017 packets processed"; 2]);
    }

    #[test]
    fn a_required_conclusion_is_missing_before_a_gate_fails() {
        let mut plan = samples::passes_plan();
        plan.campaign.design.require_conclusion = true;
        let mut noisy = campaign(&plan, |arm, pass| {
            if whole(pass) {
                let high = (pass.cpu_ns / 1_000 % 2 == 0) == (arm == 0);
                pass.cpu_ns = if high { 30_000_000 } else { 24_000_000 };
            }
        });
        assert_eq!(noisy.verdict, Verdict::Inconclusive);
        assert_eq!(
            exit_code(&noisy),
            (
                exit::EVIDENCE,
                Some(
                    "case mix: not decided (spans_no_difference), and a conclusion is required"
                        .into()
                )
            )
        );
        noisy.conditions.require_conclusion = false;
        assert_eq!(exit_code(&noisy).0, exit::DONE);
    }
}
