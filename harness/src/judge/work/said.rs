//! What an arm's passes said of their work, and what is wrong with it.

use wiretrial_contract::analysis::WorkProof;
use wiretrial_contract::control::PassInput;
use wiretrial_contract::plan::{Passes, UnitsRule};
use wiretrial_contract::report::PassReport;
use wiretrial_reports::number;

use super::super::passes::of;
use super::{ArmWork, Wrong};

/// A value over many passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Uniform<T> {
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
pub(super) struct Said {
    pub(super) passes: usize,
    pub(super) units: Uniform<u64>,
    checksum: Uniform<String>,
    short_units: Uniform<u64>,
    short_checksum: Uniform<String>,
    errors: u64,
}

impl Said {
    pub(super) fn of(reports: &[PassReport]) -> Self {
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
    pub(super) fn by_itself(&self, passes: &Passes) -> Option<Wrong> {
        if self.errors > 0 {
            return Some(Wrong {
                saw: format!("{} errors", number::count(self.errors)),
                wanted: "none".into(),
            });
        }
        let input = passes.input.as_ref();
        let input = input.filter(|_| passes.units == UnitsRule::All);
        counted(&self.units, input.map(|input| input.units), "")
            .or_else(|| {
                let wanted = input.map(|input| input.short_units);
                counted(&self.short_units, wanted, " of the short input")
            })
            .or_else(|| summed(&self.checksum, ""))
            .or_else(|| summed(&self.short_checksum, " of the short input"))
    }

    /// What is wrong if `reference` is right.
    pub(super) fn against(&self, reference: &Self) -> Option<Wrong> {
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

    pub(super) fn work(&self, wrong: Option<Wrong>) -> ArmWork {
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
