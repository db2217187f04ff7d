//! Repeats at one load in, a graded load out.

use super::evidence::{Counted, Evidence};
use super::repeat::{Lost, Repeat, Setting};
use super::{
    CEILING_SHARE, HETEROGENEITY_P, LIMIT, LIMIT_PER_THOUSAND, LoadReason, LoadVerdict,
    MIN_ACCEPTED, MIN_BLOCKS,
};

/// A graded load.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// The verdict.
    pub verdict: LoadVerdict,
    /// Its reasons, the deciding one first.
    pub reasons: Vec<LoadReason>,
    /// The bare rule over all repeats together: every repeat holds it. `None` where a repeat has no
    /// countable loss, or its interval straddles the limit.
    pub rule_ok: Option<bool>,
    /// Accepted packets of all repeats.
    pub accepted: u64,
    /// Fewest lost packets of all repeats.
    pub lost_least: u64,
    /// Most lost packets of all repeats; equal to the fewest where counted packet by packet.
    pub lost_most: u64,
    /// Dispersion, at least 1: the larger of repeats and time blocks.
    pub dispersion: f64,
    /// P of repeats scattering as they do around one loss ratio, beyond the bursts inside each of
    /// them; `None` for a single one.
    pub heterogeneity_p: Option<f64>,
    /// Upper 95 % bound of the loss ratio, 0..=1.
    pub upper95: Option<f64>,
    /// Lower 95 % bound of the loss ratio, 0..=1.
    pub lower95: Option<f64>,
    /// The bounds rest on fewer than 5 repeats, a dispersion over 20, or no time blocks.
    pub low_information: bool,
    /// Accepted packets at which the bound would hold if loss ratio and dispersion stayed as seen;
    /// only with `need_packets`, and `None` where a thousand times the evidence would not do.
    pub packets_needed: Option<f64>,
    /// A pass at 0.9 of the generator's ceiling or above: the load is a floor.
    pub at_least: bool,
}

/// Grades the repeats at one load: the first matching verdict of invalid, generator limited (or
/// coupled), path variable, fail, pass, inconclusive.
#[must_use]
pub fn classify(repeats: &[Repeat<'_>], setting: &Setting) -> Load {
    let counted: Vec<Counted> = repeats.iter().filter_map(Counted::of).collect();
    let evidence = Evidence::of(repeats, &counted);
    let broken = counted
        .iter()
        .filter(|repeat| repeat.ok == Some(false))
        .count();
    let held = counted
        .iter()
        .filter(|repeat| repeat.ok == Some(true))
        .count();
    let all_hold = !counted.is_empty() && held == repeats.len();
    let bound_holds = evidence.upper95.is_some_and(|bound| bound <= LIMIT);

    let mut load = Load {
        verdict: LoadVerdict::Inconclusive,
        reasons: Vec::new(),
        rule_ok: if all_hold {
            Some(true)
        } else {
            (broken > 0).then_some(false)
        },
        accepted: evidence.accepted,
        lost_least: evidence.least,
        lost_most: evidence.most,
        dispersion: evidence.dispersion,
        heterogeneity_p: evidence.heterogeneity_p,
        upper95: evidence.upper95,
        lower95: evidence.lower95,
        low_information: evidence.low_information,
        packets_needed: None,
        at_least: false,
    };
    let faults = [
        (LoadVerdict::Invalid, invalid(repeats, &counted)),
        (
            if setting.coupled {
                LoadVerdict::CoupledLimit
            } else {
                LoadVerdict::GeneratorLimited
            },
            generator(repeats, setting.offered_tolerance),
        ),
        (
            LoadVerdict::PathVariable,
            path(setting, &evidence, broken, held),
        ),
        (LoadVerdict::Fail, failures(repeats, &counted, broken)),
    ];
    if let Some((verdict, reasons)) = faults.into_iter().find(|fault| !fault.1.is_empty()) {
        load.verdict = verdict;
        load.reasons = reasons;
        return load;
    }
    let small = repeats.iter().any(|repeat| repeat.accepted < MIN_ACCEPTED);
    if all_hold && bound_holds && !small {
        load.verdict = LoadVerdict::Pass;
        let floor = |ceiling: f64| {
            repeats
                .iter()
                .any(|r| r.intended_pps >= CEILING_SHARE * ceiling)
        };
        load.at_least = setting.ceiling_pps.is_some_and(floor);
        return load;
    }
    if broken > 0 {
        load.reasons.push(LoadReason::Marginal);
    } else if !all_hold {
        load.reasons.push(LoadReason::TailUnknown);
    } else if !bound_holds {
        load.reasons.push(LoadReason::NeedPackets);
        load.packets_needed = evidence.packets_needed();
    }
    if small {
        load.reasons.push(LoadReason::BelowMinimum);
    }
    load
}

fn invalid(repeats: &[Repeat<'_>], counted: &[Counted]) -> Vec<LoadReason> {
    let mut reasons = Vec::new();
    if repeats.is_empty() {
        reasons.push(LoadReason::NoRepeats);
    }
    if counted.len() < repeats.len() {
        reasons.push(LoadReason::CounterMismatch);
    }
    if repeats.iter().any(|repeat| repeat.invalid) {
        reasons.push(LoadReason::InvalidTrial);
    }
    if repeats.iter().any(blocks_missing) {
        reasons.push(LoadReason::MissingBlocks);
    }
    reasons
}

/// Blocks that were begun and do not account for the repeat; none at all is a lack of information,
/// not a contradiction.
fn blocks_missing(repeat: &Repeat<'_>) -> bool {
    if repeat.blocks.is_empty() {
        return false;
    }
    let accepted: u128 = repeat.blocks.iter().map(|block| u128::from(block.1)).sum();
    let lost: u128 = repeat.blocks.iter().map(|block| u128::from(block.0)).sum();
    let lost_agrees = match repeat.lost {
        Lost::Unique(unique) => repeat
            .accepted
            .checked_sub(unique)
            .is_some_and(|total| lost == u128::from(total)),
        Lost::Between { .. } => true,
    };
    repeat.blocks.len() < MIN_BLOCKS || accepted != u128::from(repeat.accepted) || !lost_agrees
}

fn generator(repeats: &[Repeat<'_>], tolerance: f64) -> Vec<LoadReason> {
    let mut reasons = Vec::new();
    if !repeats.iter().all(|repeat| on_target(repeat, tolerance)) {
        reasons.push(LoadReason::OfferedOffTarget);
    }
    if repeats.iter().any(|repeat| repeat.sender.burst_exceeded) {
        reasons.push(LoadReason::BurstExceeded);
    }
    if repeats.iter().any(|repeat| repeat.sender.stretch_exceeded) {
        reasons.push(LoadReason::StretchExceeded);
    }
    let dropped = |repeat: &Repeat<'_>| {
        u128::from(repeat.sender.dropped) * 1_000
            > u128::from(repeat.planned) * u128::from(LIMIT_PER_THOUSAND)
    };
    if repeats.iter().any(dropped) {
        reasons.push(LoadReason::SenderDrops);
    }
    reasons
}

/// Whether the load was offered; one that is not a number was not.
fn on_target(repeat: &Repeat<'_>, tolerance: f64) -> bool {
    // the last term keeps loads exactly on the bound inside in spite of rounding
    (repeat.offered_pps / repeat.intended_pps - 1.0).abs() <= tolerance + 1e-12
}

fn path(setting: &Setting, evidence: &Evidence, broken: usize, held: usize) -> Vec<LoadReason> {
    let mut reasons = Vec::new();
    if setting.path_failed {
        reasons.push(LoadReason::PathFailed);
    }
    if broken > 0
        && held > 0
        && evidence
            .heterogeneity_p
            .is_some_and(|p| p < HETEROGENEITY_P)
    {
        reasons.push(LoadReason::RepeatsDisagree);
    }
    reasons
}

fn failures(repeats: &[Repeat<'_>], counted: &[Counted], broken: usize) -> Vec<LoadReason> {
    let mut reasons = Vec::new();
    if repeats.iter().any(|repeat| repeat.backlog_grows) {
        reasons.push(LoadReason::BacklogGrows);
    }
    if broken >= 2 {
        reasons.push(LoadReason::RepeatsFailed);
    }
    let above = |repeat: &Counted| repeat.lower95.is_some_and(|bound| bound > LIMIT);
    if counted
        .iter()
        .any(|repeat| repeat.ok == Some(false) && above(repeat))
    {
        reasons.push(LoadReason::BoundAboveLimit);
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::super::CONFIDENCE;
    use super::super::repeat::Sender;
    use super::*;
    use crate::proportion::upper_bound_within;

    /// `lost` of `accepted` packets, spread evenly over 20 blocks.
    fn blocks(accepted: u64, lost: u64) -> Vec<(u64, u64)> {
        (0..20)
            .map(|k| (lost * (k + 1) / 20 - lost * k / 20, accepted / 20))
            .collect()
    }

    fn repeat(accepted: u64, lost: u64, blocks: &[(u64, u64)]) -> Repeat<'_> {
        Repeat {
            planned: accepted,
            accepted,
            lost: Lost::Unique(accepted - lost),
            blocks,
            intended_pps: 100_000.0,
            offered_pps: 100_000.0,
            sender: Sender::default(),
            backlog_grows: false,
            invalid: false,
        }
    }

    fn graded(accepted: u64, losses: &[u64]) -> Load {
        let blocks: Vec<_> = losses.iter().map(|lost| blocks(accepted, *lost)).collect();
        let repeats: Vec<_> = losses
            .iter()
            .zip(&blocks)
            .map(|(lost, b)| repeat(accepted, *lost, b))
            .collect();
        classify(&repeats, &Setting::default())
    }

    #[test]
    fn clean_repeats_pass() {
        let load = graded(100_000, &[0; 5]);
        assert_eq!(
            (load.verdict, load.rule_ok),
            (LoadVerdict::Pass, Some(true))
        );
        assert!(!load.low_information && !load.at_least);
        assert!((load.dispersion - 1.0).abs() < 1e-15);
        assert!((load.upper95.unwrap() - (1.0 - 0.05f64.powf(1.0 / 500_000.0))).abs() < 1e-12);
        assert_eq!(
            (load.accepted, load.lost_least, load.lost_most),
            (500_000, 0, 0)
        );
    }

    #[test]
    fn a_high_load_passes_as_a_floor() {
        let even = blocks(100_000, 0);
        let setting = Setting {
            ceiling_pps: Some(110_000.0),
            ..Setting::default()
        };
        let load = classify(&[repeat(100_000, 0, &even)], &setting);
        assert!(load.at_least && load.low_information);
        assert_eq!(load.verdict, LoadVerdict::Pass);
    }

    #[test]
    fn near_the_limit_more_packets_are_needed() {
        let load = graded(20_000, &[18, 19, 20, 18, 19]);
        assert_eq!(
            (load.verdict, load.rule_ok),
            (LoadVerdict::Inconclusive, Some(true))
        );
        assert_eq!(load.reasons, [LoadReason::NeedPackets]);
        let needed = load.packets_needed.unwrap();
        assert!(needed > 100_000.0);
        // 94 of 100,000 scaled to the number named: just inside, and one packet in 100 less: outside
        let inside = |n: f64| upper_bound_within(n * 0.000_94, n, CONFIDENCE, LIMIT);
        assert!(inside(needed) && !inside(needed * 0.99));
        assert_eq!(graded(20_000, &[20; 5]).packets_needed, None);
        let tiny = graded(500, &[0; 5]);
        assert_eq!(
            tiny.reasons,
            [LoadReason::NeedPackets, LoadReason::BelowMinimum]
        );
        assert!((tiny.packets_needed.unwrap() - 2_995.0).abs() < 1.5);
        let short = graded(5_000, &[0; 5]);
        assert_eq!(short.verdict, LoadVerdict::Inconclusive);
        assert_eq!(short.reasons, [LoadReason::BelowMinimum]);
    }

    #[test]
    fn failures_by_count_by_bound_and_by_backlog() {
        let load = graded(100_000, &[500, 510, 490, 505, 495]);
        assert_eq!(
            (load.verdict, load.rule_ok),
            (LoadVerdict::Fail, Some(false))
        );
        assert_eq!(
            load.reasons,
            [LoadReason::RepeatsFailed, LoadReason::BoundAboveLimit]
        );
        assert_eq!(
            graded(100_000, &[500]).reasons,
            [LoadReason::BoundAboveLimit]
        );
        let even = blocks(100_000, 0);
        let grows = Repeat {
            backlog_grows: true,
            ..repeat(100_000, 0, &even)
        };
        let load = classify(&[grows; 5], &Setting::default());
        assert_eq!(load.reasons, [LoadReason::BacklogGrows]);
        assert_eq!(
            (load.verdict, load.rule_ok),
            (LoadVerdict::Fail, Some(true))
        );
    }

    #[test]
    fn one_repeat_just_over_is_marginal() {
        let load = graded(100_000, &[101, 90, 92, 88, 91]);
        assert_eq!(
            (load.verdict, load.rule_ok),
            (LoadVerdict::Inconclusive, Some(false))
        );
        assert_eq!(load.reasons, [LoadReason::Marginal]);
    }

    #[test]
    fn repeats_that_disagree_accuse_the_path() {
        let load = graded(100_000, &[0, 0, 0, 0, 500]);
        assert_eq!(load.verdict, LoadVerdict::PathVariable);
        assert_eq!(load.reasons, [LoadReason::RepeatsDisagree]);
        assert!(load.dispersion > 400.0 && load.low_information);
    }

    #[test]
    fn bursts_widen_the_bound() {
        let mut burst = vec![(0, 5_000); 20];
        burst[7].0 = 60;
        let repeats = [repeat(100_000, 60, &burst); 5];
        let load = classify(&repeats, &Setting::default());
        assert!(load.dispersion > 30.0, "{}", load.dispersion);
        assert_eq!(load.reasons, [LoadReason::NeedPackets]);
        assert_eq!(graded(100_000, &[60; 5]).verdict, LoadVerdict::Pass);
    }

    #[test]
    fn contradictions_are_invalid() {
        let even = blocks(100_000, 0);
        let good = repeat(100_000, 0, &even);
        let reasons = |repeat: Repeat<'_>| {
            let load = classify(&[good, repeat], &Setting::default());
            assert_eq!(load.verdict, LoadVerdict::Invalid);
            load.reasons
        };
        let mismatch = LoadReason::CounterMismatch;
        assert_eq!(
            reasons(Repeat {
                planned: 99_999,
                ..good
            }),
            [mismatch]
        );
        let blind = Repeat {
            blocks: &[],
            ..good
        };
        assert_eq!(
            reasons(Repeat {
                lost: Lost::Unique(100_001),
                ..blind
            }),
            [mismatch]
        );
        assert_eq!(
            reasons(Repeat {
                accepted: 0,
                lost: Lost::Unique(0),
                ..blind
            }),
            [mismatch]
        );
        assert_eq!(
            reasons(Repeat {
                invalid: true,
                ..good
            }),
            [LoadReason::InvalidTrial]
        );
        assert_eq!(
            reasons(Repeat {
                blocks: &even[1..],
                ..good
            }),
            [LoadReason::MissingBlocks]
        );
        let none = classify(&[], &Setting::default());
        assert_eq!(
            (none.verdict, none.reasons),
            (LoadVerdict::Invalid, vec![LoadReason::NoRepeats])
        );
        assert_eq!((none.upper95, none.rule_ok), (None, None));
    }

    #[test]
    fn a_load_that_was_not_offered_is_no_failure() {
        let even = blocks(100_000, 5_000);
        let lossy = repeat(100_000, 5_000, &even);
        let short = Repeat {
            offered_pps: 98_900.0,
            ..lossy
        };
        let load = classify(&[short], &Setting::default());
        assert_eq!(load.verdict, LoadVerdict::GeneratorLimited);
        assert_eq!(load.reasons, [LoadReason::OfferedOffTarget]);
        let coupled = Setting {
            coupled: true,
            ..Setting::default()
        };
        assert_eq!(
            classify(&[short], &coupled).verdict,
            LoadVerdict::CoupledLimit
        );
        let edge = Repeat {
            offered_pps: 99_000.0,
            ..lossy
        };
        assert_eq!(
            classify(&[edge], &Setting::default()).verdict,
            LoadVerdict::Fail
        );
        let sender = Sender {
            dropped: 101,
            burst_exceeded: true,
            stretch_exceeded: true,
        };
        let load = classify(&[Repeat { sender, ..lossy }], &Setting::default());
        assert_eq!(load.reasons.len(), 3);
        let unknown = Repeat {
            offered_pps: f64::NAN,
            ..lossy
        };
        let load = classify(&[unknown], &Setting::default());
        assert_eq!(load.verdict, LoadVerdict::GeneratorLimited);
    }

    #[test]
    fn a_failed_path_comes_before_a_failed_capture() {
        let even = blocks(100_000, 5_000);
        let setting = Setting {
            path_failed: true,
            ..Setting::default()
        };
        let load = classify(&[repeat(100_000, 5_000, &even); 3], &setting);
        assert_eq!(
            (load.verdict, load.reasons),
            (LoadVerdict::PathVariable, vec![LoadReason::PathFailed])
        );
    }

    #[test]
    fn an_unknown_tail_decides_only_outside_the_limit() {
        let tail = |least, most| {
            let lost = Lost::Between { least, most };
            let load = classify(
                &[Repeat {
                    lost,
                    ..repeat(100_000, 0, &[])
                }; 5],
                &Setting::default(),
            );
            assert!(load.low_information);
            (load.verdict, load.reasons, load.rule_ok)
        };
        let straddles = (
            LoadVerdict::Inconclusive,
            vec![LoadReason::TailUnknown],
            None,
        );
        assert_eq!(tail(50, 150), straddles);
        assert_eq!(tail(0, 50), (LoadVerdict::Pass, vec![], Some(true)));
        assert_eq!(tail(400, 900).0, LoadVerdict::Fail);
    }
}
