//! What the rows of a pilot say of the noise, and what that means for the planned pairs.

use crate::judge::estimate::on;
use wiretrial_contract::analysis::round12;
use wiretrial_contract::control::PassInput;
use wiretrial_contract::metric::Metric;
use wiretrial_contract::plan::{Case, Design, PilotCase, PilotPasses, Plan};
use wiretrial_contract::record::TrialRecord;
use wiretrial_contract::report::PassReport;
use wiretrial_stats::mean::{self, deviation};
use wiretrial_stats::{interval, power};

use super::fit;
use crate::judge::{float, metrics};
use crate::trial::pairs::{by_pair, counts};

/// What the rows of the pilot with the plan `pilot` showed of every case, for a campaign of `design`.
#[must_use]
pub fn cases(pilot: &Plan, rows: &[TrialRecord], design: &Design) -> Vec<PilotCase> {
    let cases = pilot.campaign.cases.iter();
    cases
        .map(|case| of_case(pilot, case, rows, design))
        .collect()
}

fn of_case(pilot: &Plan, case: &Case, rows: &[TrialRecord], design: &Design) -> PilotCase {
    let pairs = counted(pilot, case, rows);
    let pair_ns = fit::pair_ns(rows, &case.name);
    let sd = sd(case, design.primary, &pairs);
    let upper = sd.and_then(|sd| Some(sd * power::pilot_inflation(pairs.len())?));
    let planned = design.pairs as usize;
    let scale = design.primary.scale();
    let reach = |deviations: fn(usize) -> f64| {
        upper.map(|sd| round12(scale.size(deviations(planned) * sd)))
    };
    let with_margin = upper.zip(design.margin);
    PilotCase {
        case: case.name.clone(),
        pairs: u32::try_from(pairs.len()).unwrap_or(u32::MAX),
        pair_ns,
        sd: sd.map(round12),
        sd_upper: upper.map(round12),
        detectable: reach(power::minimal_detectable_effect),
        equivalence_margin: reach(power::equivalence_margin),
        worthwhile: with_margin
            .map(|(sd, margin)| round12(power::worthwhile_effect(on(scale), planned, margin, sd))),
        pairs_needed: with_margin
            .and_then(|(sd, margin)| power::pairs_needed(on(scale), margin, sd))
            .and_then(|pairs| u32::try_from(pairs).ok()),
        passes: case
            .passes()
            .map(|_| of_passes(design.primary, &pairs, pair_ns)),
    }
}

/// The pairs of a case that count, baseline and candidate.
fn counted<'a>(pilot: &Plan, case: &Case, rows: &'a [TrialRecord]) -> Vec<[&'a TrialRecord; 2]> {
    let baseline = &pilot.campaign.arms[0].name;
    by_pair(rows.iter().filter(|row| row.case == case.name))
        .into_values()
        .filter(|rows| counts(rows))
        .filter_map(|mut rows| {
            rows.sort_by_key(|row| row.arm != *baseline);
            rows.try_into().ok()
        })
        .collect()
}

/// Deviation of the log pair ratios; a rate's is that of the time it stands for.
fn sd(case: &Case, metric: Metric, pairs: &[[&TrialRecord; 2]]) -> Option<f64> {
    let of_arm = |arm: usize| -> Option<Vec<f64>> {
        let values = pairs
            .iter()
            .map(|pair| metrics::value(metric, case, pair[arm]));
        values.collect()
    };
    let (baseline, candidate) = (of_arm(0)?, of_arm(1)?);
    deviation(&interval::pair_effects(on(metric.scale()), &baseline, &candidate).ok()?)
}

/// Variation by level. The effect of a pair is the difference of its members' mean log passes: what
/// their passes alone would make of it is twice a pass's variance over their number, and what is
/// beyond that belongs to the launches.
fn of_passes(metric: Metric, pairs: &[[&TrialRecord; 2]], pair_ns: Option<u64>) -> PilotPasses {
    let members: Option<Vec<[Vec<f64>; 2]>> = pairs
        .iter()
        .map(|pair| Some([logs(metric, pair[0])?, logs(metric, pair[1])?]))
        .collect();
    let members = members.unwrap_or_default();
    let within: Vec<f64> = members
        .iter()
        .flatten()
        .filter_map(|passes| Some(deviation(passes)?.powi(2)))
        .collect();
    let iteration = mean::of(&within);
    let passes = members.iter().flatten().map(Vec::len).min().unwrap_or(0);
    let effects: Vec<f64> = members
        .iter()
        .filter_map(|[one, other]| Some(mean::of(other)? - mean::of(one)?))
        .collect();
    let launch = iteration
        .zip(deviation(&effects))
        .map(|(iteration, sd)| sd.powi(2) - 2.0 * iteration / count(passes))
        .filter(|variance| *variance > 0.0);
    let elapsed: u64 = pairs.iter().flatten().map(|row| elapsed_ns(row)).sum();
    let blocks = count(pairs.len()) * count(passes);
    let block_ns = (blocks > 0.0).then(|| float(elapsed) / blocks);
    let advised = block_ns.zip(pair_ns).zip(iteration.zip(launch)).and_then(
        |((block_ns, pair_ns), (iteration, launch))| {
            let around_ns = float(pair_ns) - block_ns * count(passes);
            power::iterations_per_launch(around_ns, block_ns, 2.0 * iteration, launch)
        },
    );
    PilotPasses {
        iteration_sd: iteration.map(|variance| round12(variance.sqrt())),
        launch_sd: launch.map(|variance| round12((variance / 2.0).sqrt())),
        advised: advised.map(whole),
    }
}

/// Logs of what each pass over the whole input cost; none where one cost nothing that was seen, or is not
/// known.
fn logs(metric: Metric, row: &TrialRecord) -> Option<Vec<f64>> {
    let cost = |pass: &PassReport| match metric {
        Metric::ElapsedNsPerUnit | Metric::UnitsPerSecond => Some(pass.elapsed_ns),
        Metric::ProcessCpuNsPerPacket => Some(pass.cpu_ns),
        Metric::InstructionsPerPacket => pass.instructions,
        Metric::PeakRssBytes => pass.peak_rss_bytes,
        // Passes have none of these.
        Metric::CaptureCostNsPerPacket
        | Metric::ReceiveCpuNsPerPacket
        | Metric::CaptureKernelNsPerPacket
        | Metric::SendCallNsPerPacket
        | Metric::LatencyP50Ns
        | Metric::LatencyP99Ns
        | Metric::HeapBytesPerPacket
        | Metric::LostPerMillion
        | Metric::ContextSwitchesPerMillion
        | Metric::PageFaultsPerMillion
        | Metric::MaxSustainedPps => None,
    };
    let whole = row
        .passes()?
        .iter()
        .filter(|pass| pass.input == PassInput::Whole);
    whole
        .map(|pass| {
            cost(pass)
                .filter(|cost| *cost > 0)
                .map(|cost| float(cost).ln())
        })
        .collect()
}

fn elapsed_ns(row: &TrialRecord) -> u64 {
    let passes = row.passes().into_iter().flatten();
    passes.map(|pass| pass.elapsed_ns).sum()
}

fn count(length: usize) -> f64 {
    float(length as u64)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at least 1, and `as` stops at the largest u32"
)]
fn whole(value: f64) -> u32 {
    value as u32
}

#[cfg(test)]
mod tests {
    use super::super::plan;
    use super::*;
    use crate::trial::samples;
    use wiretrial_contract::record::{Delivery, Outcome, Phase};

    fn close(one: Option<f64>, other: f64) {
        let one = one.unwrap();
        assert!((one - other).abs() < 2e-4, "{one} {other}");
    }

    /// Pairs of a pilot whose members' receivers take these ns a packet; the primary is their CPU.
    fn piloted(costs: &[[u64; 2]]) -> (Plan, Vec<TrialRecord>) {
        let mut sealed = samples::plan();
        sealed.campaign.design.pilot = 3;
        sealed.campaign.design.pairs = 12;
        sealed.campaign.design.margin = Some(0.01);
        sealed.campaign.design.primary = Metric::ProcessCpuNsPerPacket;
        let rows = (0_u64..).zip(costs).flat_map(|(pair, costs)| {
            [("baseline", costs[0]), ("candidate", costs[1])].map(|(arm, cost)| {
                let mut report = samples::receiver();
                report.process_cpu_ns = Some(cost * report.copies.unique);
                TrialRecord {
                    arm: arm.into(),
                    phase: Phase::Pilot,
                    started_ns: pair * 2_000_000_000 + 500_000_000,
                    ended_ns: (pair + 1) * 2_000_000_000,
                    delivery: Some(Delivery::Sequences(Box::new(report))),
                    ..samples::row(pair)
                }
            })
        });
        (sealed, rows.collect())
    }

    fn only(sealed: &Plan, rows: &[TrialRecord]) -> PilotCase {
        let pilot = plan(sealed).unwrap();
        let mut cases = cases(&pilot, rows, &sealed.campaign.design);
        assert_eq!(cases.len(), 1);
        cases.remove(0)
    }

    /// ln of 1000/1000, 1010/1000 and 1020/1000 have a deviation of 0.0099013; its upper limit is 2.12
    /// times that; 12 pairs find 0.889 of it.
    #[test]
    fn the_deviation_of_three_pairs_is_raised() {
        let (sealed, rows) = piloted(&[[1000, 1000], [1000, 1010], [1000, 1020]]);
        let case = only(&sealed, &rows);
        assert_eq!((case.pairs, case.pair_ns), (3, Some(2_000_000_000)));
        close(case.sd, 0.009_901);
        close(case.sd_upper, 0.020_96);
        close(case.detectable, (0.889_f64 * 0.020_96).exp_m1());
        close(case.equivalence_margin, (0.903_f64 * 0.020_96).exp_m1());
        close(case.worthwhile, 1.01 * (0.889_f64 * 0.020_96).exp() - 1.0);
        // ln 1.01 is 0.475 deviations: between the margins of 30 (0.547) and 60 pairs.
        assert!((32..60).contains(&case.pairs_needed.unwrap()), "{case:?}");
    }

    #[test]
    fn what_a_pilot_does_not_show_is_unknown() {
        let (sealed, mut rows) = piloted(&[[1000, 1000], [1000, 1010]]);
        rows[3].outcome = Outcome::Voided;
        let case = only(&sealed, &rows);
        assert_eq!((case.pairs, case.sd, case.pairs_needed), (1, None, None));
        assert_eq!(case.pair_ns, Some(2_000_000_000));
        let none = only(&sealed, &[]);
        assert_eq!((none.pairs, none.pair_ns, none.detectable), (0, None, None));
    }

    fn of_members(costs: &[[[u64; 2]; 2]]) -> PilotPasses {
        let rows: Vec<[TrialRecord; 2]> = costs
            .iter()
            .map(|members| {
                members.map(|costs| TrialRecord {
                    delivery: Some(Delivery::Passes(
                        costs
                            .map(|cpu_ns| samples::pass(PassInput::Whole, 1_000_000, cpu_ns))
                            .to_vec(),
                    )),
                    ..samples::row(0)
                })
            })
            .collect();
        let pairs: Vec<[&TrialRecord; 2]> = rows.iter().map(|[a, b]| [a, b]).collect();
        of_passes(Metric::ProcessCpuNsPerPacket, &pairs, Some(404_000_000))
    }

    /// Passes of a launch lie 2 % apart (deviation 1.41 %) and launches 10 %: 4 ms of passes in a pair
    /// of 404 ms, sqrt(400 / 2 x 2 x 0.0002 / 0.0098) is 2.9.
    #[test]
    fn passes_and_launches_vary_apart() {
        let far = of_members(&[
            [[1_000_000, 1_020_000], [1_000_000, 1_020_000]],
            [[1_000_000, 1_020_000], [1_100_000, 1_122_000]],
            [[1_000_000, 1_020_000], [1_210_000, 1_234_200]],
        ]);
        close(far.iteration_sd, 0.014);
        close(
            far.launch_sd,
            ((0.095_31_f64.powi(2) - 0.000_196) / 2.0).sqrt(),
        );
        assert_eq!(far.advised, Some(3));
        let none = of_members(&[[[1_000_000, 1_020_000], [1_000_000, 1_020_000]]; 3]);
        assert_eq!((none.launch_sd, none.advised), (None, None));
        assert_eq!(of_members(&[]).iteration_sd, None);
    }

    #[test]
    fn what_one_pass_does_not_know_is_unknown_of_the_launch() {
        let mut passes =
            [1_u64 << 20, 2 << 20].map(|cpu_ns| samples::pass(PassInput::Whole, 1, cpu_ns));
        let row = |passes: &[PassReport]| TrialRecord {
            delivery: Some(Delivery::Passes(passes.to_vec())),
            ..samples::row(0)
        };
        for pass in &mut passes {
            (pass.peak_rss_bytes, pass.instructions) = (Some(4 << 20), Some(1_000));
        }
        for metric in [Metric::PeakRssBytes, Metric::InstructionsPerPacket] {
            assert_eq!(logs(metric, &row(&passes)).map(|logs| logs.len()), Some(2));
        }
        let of = |passes: &[PassReport]| logs(Metric::InstructionsPerPacket, &row(passes)).unwrap();
        assert!(
            (of(&passes)[0] - 1_000_f64.ln()).abs() < 1e-12,
            "instructions and not time"
        );
        (passes[1].peak_rss_bytes, passes[1].instructions) = (None, None);
        for metric in [
            Metric::PeakRssBytes,
            Metric::InstructionsPerPacket,
            Metric::LatencyP50Ns,
        ] {
            assert_eq!(logs(metric, &row(&passes)), None, "{metric:?}");
        }
    }
}
