//! Each arm of a case as a load: how many were lost, where, and whether the limit was kept.

mod totals;

use std::collections::BTreeMap;

use wiretrial_contract::analysis::{Load, LoadVerdict, round12};
use wiretrial_contract::plan::{Arrangement, Live, Plan};
use wiretrial_contract::record::{Flag, Ledger, LedgerState, Share, Stage, TrialRecord};
use wiretrial_contract::units::loss_ratio;
use wiretrial_stats::loss::{self, Lost, Repeat, Sender, Setting};
use wiretrial_stats::proportion;
use wiretrial_stats::rank::median;

use self::totals::Totals;
use super::{CaseRows, float, summed, words};
use crate::trial::guards::relative_difference;

/// Lost or delivered counts that differ by more than this are another amount of work.
const UNEQUAL: f64 = loss::LIMIT;

/// One load per arm.
pub(super) fn of_case(plan: &Plan, case: &CaseRows<'_>) -> Vec<Load> {
    let Some(live) = case.case.live() else {
        return Vec::new();
    };
    (0..case.arms.len())
        .map(|arm| of_arm(plan, case, live, arm))
        .collect()
}

/// Whether an arm lost too much, or the arms did not deliver the same; where counts are ranges, beyond
/// doubt.
pub(super) fn unequal_work(case: &CaseRows<'_>) -> bool {
    let arms = 0..case.arms.len();
    let totals: Vec<Totals> = arms.map(|arm| Totals::of(case.of_arm(arm))).collect();
    let lost = totals.iter().any(|t| over(t.least, t.accepted));
    // Of the arm that delivered most, the least; of the one that delivered fewest, the most.
    let more = totals
        .iter()
        .map(|t| float(t.unique))
        .max_by(f64::total_cmp);
    let fewer = totals
        .iter()
        .map(|t| float(t.accepted.saturating_sub(t.least)))
        .min_by(f64::total_cmp);
    let apart = more.zip(fewer).is_some_and(|(more, fewer)| {
        more > fewer && more > 0.0 && relative_difference(more, fewer) > UNEQUAL
    });
    lost || apart
}

/// Whether an arm may have lost too much: the range of its loss holds the limit.
pub(super) fn tail_unknown(case: &CaseRows<'_>) -> bool {
    (0..case.arms.len()).any(|arm| {
        let t = Totals::of(case.of_arm(arm));
        over(t.lost, t.accepted) && !over(t.least, t.accepted)
    })
}

fn over(lost: u64, accepted: u64) -> bool {
    loss_ratio(lost, accepted).is_some_and(|ratio| ratio > UNEQUAL)
}

/// Whether the capture may have slowed the sender down: in the middle pair the offered load is off
/// its bounds, or the members' loads lie too far apart. The middle one, since a single stall of the
/// host moves one pair, and what a capture does moves all of them.
pub(super) fn coupled_limit(plan: &Plan, case: &CaseRows<'_>) -> bool {
    let live = case.case.live().is_some();
    if !live || !plan.campaign.topology.coupled() || case.pairs.is_empty() {
        return false;
    }
    let Some(apart) = median(&members_apart(case)) else {
        return true;
    };
    let [low, high] = plan.rule.offered;
    let middles = offered_middles(case);
    let known = middles.len() == case.arms.len();
    let off = middles.iter().any(|ratio| !(low..=high).contains(ratio));
    !known || off || apart > plan.rule.pair_offered
}

/// Offered over intended load in the middle trial of each arm where that is known.
pub(super) fn offered_middles(case: &CaseRows<'_>) -> Vec<f64> {
    let arms = 0..case.arms.len();
    arms.filter_map(|arm| {
        let ratios: Vec<f64> = case.of_arm(arm).filter_map(offered_ratio).collect();
        median(&ratios)
    })
    .collect()
}

/// How far an offered load may lie from the intended one, as a ratio: what the guards of a paired
/// campaign allow, since such a campaign judges the load it got.
fn tolerance(plan: &Plan) -> f64 {
    1.0 - plan.rule.offered[0]
}

/// How far the members of each pair lie apart in offered load, as ratios.
pub(super) fn members_apart(case: &CaseRows<'_>) -> Vec<f64> {
    case.pairs
        .iter()
        .filter_map(|pair| {
            let offered: Option<Vec<f64>> = pair.iter().map(|row| offered_pps(row)).collect();
            let offered = offered?;
            let least = offered.iter().copied().min_by(f64::total_cmp)?;
            let most = offered.iter().copied().max_by(f64::total_cmp)?;
            Some(relative_difference(least, most))
        })
        .collect()
}

fn offered_pps(row: &TrialRecord) -> Option<f64> {
    row.tally()?.offered_pps()
}

fn offered_ratio(row: &TrialRecord) -> Option<f64> {
    Some(offered_pps(row)? / float(row.intended_pps?))
}

fn of_arm(plan: &Plan, case: &CaseRows<'_>, live: &Live, arm: usize) -> Load {
    let rows: Vec<&TrialRecord> = case.of_arm(arm).collect();
    let terms = Terms {
        case: &case.case.name,
        arm: &plan.campaign.arms[arm].name,
        rate_pps: live.traffic.rate_pps,
        max_burst: live.traffic.max_burst,
        coupled: plan.campaign.topology.coupled(),
        offered_tolerance: tolerance(plan),
        interleaved: plan.campaign.design.arrangement == Arrangement::Interleaved,
    };
    of_rows(&terms, &rows)
}

/// What a load is judged by, beside its trials.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) case: &'a str,
    pub(crate) arm: &'a str,
    /// Asked, packets per second.
    pub(crate) rate_pps: u64,
    pub(crate) max_burst: u32,
    /// Whether the sender does the receive work.
    pub(crate) coupled: bool,
    /// How far the offered load may lie from the intended one, as a ratio.
    pub(crate) offered_tolerance: f64,
    /// Whether the datagrams of one trial were sent in slices.
    pub(crate) interleaved: bool,
}

/// Trials at one load, judged.
pub(crate) fn of_rows(terms: &Terms<'_>, rows: &[&TrialRecord]) -> Load {
    let totals = Totals::of(rows.iter().copied());
    let blocks: Vec<Vec<(u64, u64)>> = rows.iter().map(|row| time_blocks(row)).collect();
    let repeats: Vec<Repeat<'_>> = rows
        .iter()
        .zip(&blocks)
        .filter_map(|(row, blocks)| repeat(terms, row, blocks))
        .collect();
    let setting = Setting {
        coupled: terms.coupled,
        offered_tolerance: terms.offered_tolerance,
        ..Setting::default()
    };
    let graded = loss::classify(&repeats, &setting);
    Load {
        case: terms.case.into(),
        arm: terms.arm.into(),
        repeats: u32::try_from(rows.len()).unwrap_or(u32::MAX),
        intended_pps: terms.rate_pps,
        offered_pps: offered(rows),
        delivered_pps: if terms.interleaved {
            None
        } else {
            delivered(rows)
        },
        accepted: totals.accepted,
        unique: totals.unique,
        lost: totals.lost,
        lost_least: totals.range.then_some(totals.least),
        ring_tail: sum(rows, |row| row.count().and(row.ledger.as_ref()?.ring_tail))
            .filter(|_| !rows.is_empty()),
        loss_ratio: loss_ratio(totals.lost, totals.accepted).map(round12),
        loss_upper95: graded.upper95.map(round12),
        worst_upper95: worst_bound(rows),
        rule_ok: graded.rule_ok,
        lost_at: lost_at(rows),
        unexplained: totals.unexplained,
        duplicate: sum(rows, |row| row.receiver().map(|r| r.copies.duplicate)),
        reordered: sum(rows, |row| row.receiver().map(|r| r.reordered)),
        foreign: sum(rows, |row| {
            row.receiver()
                .map(|r| r.copies.foreign + r.copies.stale + r.copies.corrupt)
        }),
        bounds: if graded.at_least {
            vec!["at_least".into()]
        } else {
            Vec::new()
        },
        verdict: verdict(graded.verdict),
        reasons: graded.reasons.into_iter().map(words::load_reason).collect(),
        flags: flags(rows, graded.low_information),
    }
}

fn repeat<'a>(
    terms: &Terms<'_>,
    row: &TrialRecord,
    blocks: &'a [(u64, u64)],
) -> Option<Repeat<'a>> {
    let totals = Totals::of_trial(row)?;
    let tally = row.tally()?;
    let generator = row.generator.as_ref()?;
    let scheduled = float(generator.scheduled_ns);
    Some(Repeat {
        planned: tally.planned,
        accepted: totals.accepted,
        lost: if row.count().is_some() {
            Lost::Between {
                least: totals.least,
                most: totals.lost,
            }
        } else {
            Lost::Unique(totals.unique)
        },
        blocks,
        intended_pps: float(row.intended_pps?),
        offered_pps: offered_pps(row)?,
        sender: Sender {
            dropped: tally.planned.saturating_sub(tally.accepted),
            burst_exceeded: generator.longest_burst > u64::from(terms.max_burst),
            stretch_exceeded: float(generator.shifted_ns) > terms.offered_tolerance * scheduled,
        },
        backlog_grows: row.flags.contains(&Flag::BacklogGrows),
        invalid: row
            .ledger
            .as_ref()
            .is_some_and(|ledger| matches!(ledger.state, LedgerState::Invalid { .. })),
    })
}

/// Lost and accepted by twentieth of the planned numbers. Only when every planned datagram was
/// accepted: else the accepted ones of a twentieth are not known.
fn time_blocks(row: &TrialRecord) -> Vec<(u64, u64)> {
    let (Some(tally), Some(report)) = (row.tally(), row.receiver()) else {
        return Vec::new();
    };
    let parts = report.residence.len() as u64;
    if tally.accepted != tally.planned || parts == 0 {
        return Vec::new();
    }
    let flows = tally.accepted_per_flow.iter();
    let planned = |part: u64| -> u64 {
        // Numbers s of a flow of n with s * parts / n, rounded down, equal to `part`.
        flows
            .clone()
            .map(|n| (n * (part + 1)).div_ceil(parts) - (n * part).div_ceil(parts))
            .sum()
    };
    (0..parts)
        .zip(&report.residence)
        .map(|(part, seen)| (planned(part).saturating_sub(seen.count), planned(part)))
        .collect()
}

fn offered(rows: &[&TrialRecord]) -> Option<f64> {
    let tallies: Vec<_> = rows.iter().filter_map(|row| row.tally()).collect();
    let accepted = summed(tallies.iter().map(|tally| tally.accepted));
    let sending = summed(tallies.iter().map(|tally| tally.sending_ns));
    (sending > 0).then(|| round12(float(accepted) * 1e9 / float(sending)))
}

/// Unique over first to last consumption, over all trials.
fn delivered(rows: &[&TrialRecord]) -> Option<f64> {
    let reports: Vec<_> = rows.iter().filter_map(|row| row.receiver()).collect();
    let unique = summed(reports.iter().map(|report| report.copies.unique));
    let spans: Option<Vec<u64>> = reports
        .iter()
        .map(|report| report.last_ns?.checked_sub(report.first_ns?))
        .collect();
    let span = summed(spans?.into_iter());
    (span > 0).then(|| round12(float(unique) * 1e9 / float(span)))
}

fn worst_bound(rows: &[&TrialRecord]) -> Option<f64> {
    rows.iter()
        .filter_map(|row| Totals::of_trial(row))
        .map(|trial| {
            proportion::upper_bound(float(trial.lost), float(trial.accepted), loss::CONFIDENCE)
        })
        .collect::<Option<Vec<f64>>>()?
        .into_iter()
        .max_by(f64::total_cmp)
        .map(round12)
}

/// Sums the stages of all trials; a stage unknown in one trial is unknown in the sum.
fn lost_at(rows: &[&TrialRecord]) -> BTreeMap<Stage, Option<Share>> {
    let ledgers: Vec<&Ledger> = rows.iter().filter_map(|row| row.ledger.as_ref()).collect();
    let mut stages: BTreeMap<Stage, Option<Share>> = BTreeMap::new();
    for (stage, share) in ledgers.iter().flat_map(|ledger| &ledger.lost_at) {
        let sum = stages.entry(*stage).or_insert(Some(Share::Count(0)));
        *sum = sum.and_then(|sum| share.map(|share| add(sum, share)));
    }
    stages
}

fn add(one: Share, other: Share) -> Share {
    let ends = |share| match share {
        Share::Count(count) => (count, count),
        Share::Range { min, max } => (min, max),
    };
    let ((a, b), (c, d)) = (ends(one), ends(other));
    let (min, max) = (a.saturating_add(c), b.saturating_add(d));
    if min == max {
        Share::Count(min)
    } else {
        Share::Range { min, max }
    }
}

fn flags(rows: &[&TrialRecord], low_information: bool) -> Vec<Flag> {
    let mut flags: Vec<Flag> = rows
        .iter()
        .flat_map(|row| row.flags.iter().copied())
        .collect();
    if low_information {
        flags.push(Flag::LowInformation);
    }
    flags.sort_unstable();
    flags.dedup();
    flags
}

/// Unknown in one trial is unknown in the sum.
fn sum(rows: &[&TrialRecord], count: impl Fn(&TrialRecord) -> Option<u64>) -> Option<u64> {
    let counts: Option<Vec<u64>> = rows.iter().map(|row| count(row)).collect();
    Some(summed(counts?.into_iter()))
}

fn verdict(verdict: loss::LoadVerdict) -> LoadVerdict {
    match verdict {
        loss::LoadVerdict::Pass => LoadVerdict::Pass,
        loss::LoadVerdict::Fail => LoadVerdict::Fail,
        loss::LoadVerdict::Inconclusive => LoadVerdict::Inconclusive,
        loss::LoadVerdict::CoupledLimit => LoadVerdict::CoupledLimit,
        loss::LoadVerdict::GeneratorLimited => LoadVerdict::GeneratorLimited,
        loss::LoadVerdict::PathVariable => LoadVerdict::PathVariable,
        loss::LoadVerdict::Invalid => LoadVerdict::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::samples;
    use wiretrial_contract::analysis::LoadReason;
    use wiretrial_contract::plan::Measured;
    use wiretrial_contract::program::ProgramSpec;

    fn judged(processed: Option<u64>, lost: Option<(u64, u64)>) -> (Load, bool, bool) {
        let mut plan = samples::plan();
        samples::live_mut(&mut plan.campaign.cases[0]).receivers[0].program =
            Measured::Outside(ProgramSpec::default());
        let mut row = samples::outside(samples::row(0), processed, lost);
        row.generator = Some(samples::generator(vec![samples::tally()]));
        let ours = samples::row(0);
        let case = CaseRows::of_pairs(&plan.campaign.cases[0], vec![[&row, &ours]; 6]);
        let load = of_case(&plan, &case).remove(0);
        (load, unequal_work(&case), tail_unknown(&case))
    }

    #[test]
    fn a_range_of_loss_decides_only_outside_the_limit() {
        let (load, unequal, tail) = judged(Some(24_016), Some((0, 0)));
        assert_eq!(load.verdict, LoadVerdict::Pass);
        assert_eq!(
            (load.lost, load.lost_least, load.ring_tail),
            (0, Some(0), Some(30))
        );
        assert!(!unequal && !tail);
        let (load, unequal, tail) = judged(Some(23_016), Some((0, 1_000)));
        assert_eq!(load.verdict, LoadVerdict::Inconclusive);
        assert_eq!(load.reasons, [LoadReason::TailUnknown]);
        assert_eq!(
            (load.lost_least, load.lost, load.unique),
            (Some(0), 6_000, 114_000)
        );
        assert!(!unequal && tail);
        let (load, unequal, tail) = judged(Some(23_016), Some((900, 1_000)));
        assert_eq!(load.verdict, LoadVerdict::Fail);
        assert!(unequal && !tail);
    }

    #[test]
    fn what_a_program_lost_that_says_nothing_is_not_known() {
        let (load, unequal, tail) = judged(None, None);
        assert!(load.loss_unknown());
        assert_eq!(load.verdict, LoadVerdict::Inconclusive);
        assert_eq!((load.ring_tail, load.duplicate), (None, None));
        assert!(!unequal && tail);
    }

    #[test]
    fn shares_add_up_and_unknown_stays_unknown() {
        assert_eq!(add(Share::Count(1), Share::Count(2)), Share::Count(3));
        assert_eq!(
            add(Share::Count(1), Share::Range { min: 0, max: 2 }),
            Share::Range { min: 1, max: 3 }
        );
    }
}
