//! Whether the arms did the work, and the same work: units and checksums of passes, counts of programs.

use wiretrial_contract::analysis::WorkProof;
use wiretrial_contract::control::PassInput;
use wiretrial_contract::plan::{Case, PassProgram, Passes, Work};
use wiretrial_contract::program::CountName;
use wiretrial_contract::record::{Flag, TrialRecord};
use wiretrial_contract::report::PassReport;
use wiretrial_reports::number;
use wiretrial_stats::verdict::Reason;

use super::passes::{of, reports};
use super::{CaseRows, loads};

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
        Work::Live(_) => (0..2)
            .filter_map(|arm| Some((arm, case.of_arm(arm).find_map(more_than_was_sent)?)))
            .collect(),
    }
}

/// Why nothing may be called worthwhile: an arm does not say what it did, or how much it lost is a
/// range around the limit.
pub(super) fn unproven(case: &CaseRows<'_>) -> Option<Reason> {
    if silent(case) {
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

/// What each arm's passes did, held against the input and the other arm. Where the arms disagree and
/// no input tells who is right, the candidate is wrong: the baseline is the reference.
pub(super) fn of_passes(passes: &Passes, case: &CaseRows<'_>) -> [ArmWork; 2] {
    let all = [0, 1].map(|arm| reports(case, arm));
    let said = all.each_ref().map(|reports| Said::of(reports));
    let [baseline, candidate] = &said;
    [
        arm(passes, &said, 0).or_else(|| baseline.by_itself(passes)),
        arm(passes, &said, 1)
            .or_else(|| candidate.by_itself(passes))
            .or_else(|| candidate.against(baseline)),
    ]
    .into_iter()
    .zip(&said)
    .map(|(wrong, said)| said.work(wrong))
    .collect::<Vec<_>>()
    .try_into()
    .expect("two arms")
}

/// Units that are missing: the arm's program was to tell them, or the other arm's, which is told of
/// in the same way, does.
fn arm(passes: &Passes, said: &[Said; 2], arm: usize) -> Option<Wrong> {
    let (one, other) = (&said[arm], &said[1 - arm]);
    if one.passes == 0 || one.units != Uniform::Never {
        return None;
    }
    let declared = |arm: usize| passes.programs.get(arm).is_some_and(tells_units);
    let alike = declared(arm) == declared(1 - arm) || passes.input.is_none();
    let missing = declared(arm) || (alike && other.units != Uniform::Never);
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

/// A value over many passes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Uniform<T> {
    /// No pass has it.
    Never,
    /// Every pass has the same.
    Always(T),
    /// These two passes differ.
    Mixed(Option<T>, Option<T>),
}

impl<T: Clone + PartialEq> Uniform<T> {
    fn of(values: impl IntoIterator<Item = Option<T>>) -> Self {
        let mut values = values.into_iter();
        let Some(first) = values.next() else {
            return Self::Never;
        };
        if let Some(other) = values.find(|value| *value != first) {
            return Self::Mixed(first, other);
        }
        first.map_or(Self::Never, Self::Always)
    }

    fn always(&self) -> Option<T> {
        match self {
            Self::Always(value) => Some(value.clone()),
            Self::Never | Self::Mixed(..) => None,
        }
    }
}

/// What an arm's passes said.
struct Said {
    passes: usize,
    units: Uniform<u64>,
    checksum: Uniform<String>,
    short_units: Uniform<u64>,
    short_checksum: Uniform<String>,
    errors: u64,
}

impl Said {
    fn of(reports: &[PassReport]) -> Self {
        let units = |input| Uniform::of(of(input, reports).map(|pass| pass.units));
        let checksum = |input| Uniform::of(of(input, reports).map(|pass| pass.checksum.clone()));
        Self {
            passes: of(PassInput::Whole, reports).count(),
            units: units(PassInput::Whole),
            checksum: checksum(PassInput::Whole),
            short_units: units(PassInput::Short),
            short_checksum: checksum(PassInput::Short),
            errors: reports.iter().filter_map(|pass| pass.errors).sum(),
        }
    }

    /// What is wrong without looking at the other arm.
    fn by_itself(&self, passes: &Passes) -> Option<Wrong> {
        if self.errors > 0 {
            return Some(Wrong {
                saw: format!("{} errors", number::count(self.errors)),
                wanted: "none".into(),
            });
        }
        let input = passes.input.as_ref();
        counted(&self.units, input.map(|input| input.units), "")
            .or_else(|| {
                let wanted = input.map(|input| input.short_units);
                counted(&self.short_units, wanted, " of the short input")
            })
            .or_else(|| summed(&self.checksum, ""))
            .or_else(|| summed(&self.short_checksum, " of the short input"))
    }

    /// What is wrong if `reference` is right.
    fn against(&self, reference: &Self) -> Option<Wrong> {
        if let (Uniform::Always(units), Uniform::Always(wanted)) = (&self.units, &reference.units)
            && units != wanted
        {
            return Some(Wrong {
                saw: format!("{} units a pass", number::count(*units)),
                wanted: format!("{} of the baseline", number::count(*wanted)),
            });
        }
        [
            (&self.checksum, &reference.checksum),
            (&self.short_checksum, &reference.short_checksum),
        ]
        .into_iter()
        .find_map(|(one, other)| match (one, other) {
            (Uniform::Always(sum), Uniform::Always(wanted)) if sum != wanted => Some(Wrong {
                saw: format!("checksum {}", short(sum)),
                wanted: format!("{} of the baseline", short(wanted)),
            }),
            _ => None,
        })
    }

    fn work(&self, wrong: Option<Wrong>) -> ArmWork {
        let proof = match (&wrong, &self.units, &self.checksum) {
            (Some(_), ..) => WorkProof::Wrong,
            (None, Uniform::Never, _) => WorkProof::None,
            (None, _, Uniform::Always(_)) => WorkProof::Checksum,
            (None, ..) => WorkProof::Units,
        };
        ArmWork {
            units: self.units.always(),
            checksum: self.checksum.always(),
            proof,
            wrong,
        }
    }
}

fn counted(units: &Uniform<u64>, wanted: Option<u64>, input: &str) -> Option<Wrong> {
    let text = |units: &Option<u64>| units.map_or("no".into(), number::count);
    match (units, wanted) {
        (Uniform::Mixed(one, other), _) => Some(Wrong {
            saw: format!("{} and {} units{input} a pass", text(one), text(other)),
            wanted: "the same in every pass".into(),
        }),
        (Uniform::Always(units), Some(wanted)) if *units != wanted => Some(Wrong {
            saw: format!("{} units{input} a pass", number::count(*units)),
            wanted: format!("{} in the input", number::count(wanted)),
        }),
        _ => None,
    }
}

fn summed(checksum: &Uniform<String>, input: &str) -> Option<Wrong> {
    let Uniform::Mixed(one, other) = checksum else {
        return None;
    };
    let text = |sum: &Option<String>| sum.as_deref().map_or("none".into(), short);
    Some(Wrong {
        saw: format!("checksums {} and {}{input}", text(one), text(other)),
        wanted: "the same in every pass".into(),
    })
}

/// A checksum as a person reads it.
fn short(checksum: &str) -> String {
    let start: String = checksum.chars().take(16).collect();
    if start.len() < checksum.len() {
        format!("{start}..")
    } else {
        start
    }
}

/// A program that says it processed more packets than were sent to it.
fn more_than_was_sent(row: &TrialRecord) -> Option<Wrong> {
    let processed = row.count()?.counts.processed?;
    let sent = row.tally()?;
    let most = [
        sent.probe_accepted,
        sent.warm_up_accepted,
        sent.accepted,
        sent.filler_accepted,
    ]
    .into_iter()
    .fold(0_u64, u64::saturating_add);
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
