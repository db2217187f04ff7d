//! The packets in a sentence: nothing lost, or how many of how many, by arm.

use wiretrial_contract::analysis::{Load, LoadVerdict};

use crate::number;
use crate::shorten::shortened;

/// The clause about loss over all `loads`. A loss is said with its count and its denominator.
pub(super) fn clause(loads: &[Load]) -> String {
    if loads.is_empty() {
        return "packets were not counted".into();
    }
    if loads.iter().all(|load| load.repeats == 0) {
        return "no trial counts, so no packets do".into();
    }
    let invalid: Vec<&Load> = with(loads, LoadVerdict::Invalid)
        .into_iter()
        .filter(|load| load.repeats > 0)
        .collect();
    if !invalid.is_empty() {
        return format!("packet counts do not add up in {}", which(&invalid, loads));
    }
    if loads.iter().any(|load| load.accepted == 0) {
        return "no trial counts in some load, so no packets do".into();
    }
    if loads.iter().all(Load::loss_unknown) {
        return "how many packets were lost is not told".into();
    }
    if loads.iter().all(|load| load.lost == 0) {
        return "no packet lost".into();
    }
    let mut arms: Vec<&str> = Vec::new();
    for load in loads {
        if !arms.contains(&load.arm.as_str()) {
            arms.push(&load.arm);
        }
    }
    let mut parts: Vec<String> = arms.iter().filter_map(|arm| by_arm(arm, loads)).collect();
    if parts.len() < arms.len() {
        parts.push("the other arm none".into());
    }
    let failed = with(loads, LoadVerdict::Fail);
    let limit = if failed.is_empty() {
        String::new()
    } else {
        format!(", failing the 0.1 % rule in {}", which(&failed, loads))
    };
    format!("{}{limit}", parts.join(", "))
}

/// What an arm lost; `None` for nothing.
fn by_arm(arm: &str, loads: &[Load]) -> Option<String> {
    let of_arm = || loads.iter().filter(|load| load.arm == arm);
    if of_arm().any(Load::loss_unknown) {
        return Some(format!("what {arm} lost is not told"));
    }
    let (mut least, mut most, mut accepted) = (0_u64, 0_u64, 0_u64);
    for load in of_arm() {
        let (fewest, lost) = load.lost_range();
        least = least.saturating_add(fewest);
        most = most.saturating_add(lost);
        accepted = accepted.saturating_add(load.accepted);
    }
    let percent = number::loss_percent(most, accepted)?;
    let (lost, percent) = if least == most {
        (number::count(most), percent)
    } else {
        let range = format!("{} to {}", number::count(least), number::count(most));
        (range, format!("at most {percent}"))
    };
    (most > 0).then(|| {
        format!(
            "{arm} lost {lost} of {} packets ({percent})",
            number::count(accepted)
        )
    })
}

fn with(loads: &[Load], verdict: LoadVerdict) -> Vec<&Load> {
    loads
        .iter()
        .filter(|load| load.verdict == verdict)
        .collect()
}

fn which(some: &[&Load], all: &[Load]) -> String {
    let first = some[0];
    let more = match some.len() {
        1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    format!(
        "{} of {} loads ({} {}{more})",
        some.len(),
        all.len(),
        shortened(&first.case, 40),
        first.arm
    )
}
