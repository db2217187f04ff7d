//! The work of passes in a sentence: how far it is known that all did the same.

use wiretrial_contract::analysis::{PassSummary, WorkProof};

use crate::shorten::shortened;

/// The clause about the work over all `passes`.
pub(super) fn clause(passes: &[PassSummary]) -> String {
    if passes.iter().all(|work| work.passes == 0) {
        return "no trial counts".into();
    }
    let of = |proof: WorkProof| -> Vec<&PassSummary> {
        passes.iter().filter(|work| work.proof == proof).collect()
    };
    let wrong = of(WorkProof::Wrong);
    if !wrong.is_empty() {
        return format!("wrong or missing work in {}", which(&wrong));
    }
    let silent = of(WorkProof::None);
    if silent.len() == passes.len() {
        return "how much work was done is not told".into();
    }
    if !silent.is_empty() {
        return format!("how much work was done is not told in {}", which(&silent));
    }
    if passes.iter().all(|work| work.proof == WorkProof::Checksum) {
        "every pass did the same work, by units and checksum".into()
    } else {
        "every pass did the same number of units".into()
    }
}

fn which(some: &[&PassSummary]) -> String {
    let first = some[0];
    let more = match some.len() {
        1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    format!("{} {}{more}", shortened(&first.case, 40), first.arm)
}
