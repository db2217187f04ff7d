//! Passes over an input: the value of a metric in one trial, and what an arm's passes did in all.

use wiretrial_contract::analysis::{PassSummary, round12};
use wiretrial_contract::control::PassInput;
use wiretrial_contract::metric::Metric;
use wiretrial_contract::plan::{Passes, Plan};
use wiretrial_contract::report::PassReport;
use wiretrial_stats::mean;

use super::work::{self, ArmWork};
use super::{CaseRows, float};

/// The value of `metric` over one trial's passes, in the metric's unit. Times a unit hold the start-up;
/// CPU time and instructions a packet of a file do not, since what the short input takes is taken out.
pub(super) fn value(metric: Metric, work: &Passes, reports: &[PassReport]) -> Option<f64> {
    match metric {
        Metric::ElapsedNsPerUnit => elapsed_a_unit(work, reports),
        Metric::UnitsPerSecond => Some(1e9 / elapsed_a_unit(work, reports)?),
        Metric::ProcessCpuNsPerPacket => a_further_unit(work, reports, |pass| Some(pass.cpu_ns)),
        Metric::InstructionsPerPacket => a_further_unit(work, reports, |pass| pass.instructions),
        Metric::PeakRssBytes => of(PassInput::Whole, reports)
            .map(|pass| pass.peak_rss_bytes)
            .collect::<Option<Vec<u64>>>()?
            .into_iter()
            .max()
            .map(float),
        _ => None,
    }
}

/// One summary per arm of a case; none where nothing is passed over.
pub(super) fn of_case(plan: &Plan, case: &CaseRows<'_>) -> Vec<PassSummary> {
    let Some(passes) = case.case.passes() else {
        return Vec::new();
    };
    work::of_passes(passes, case)
        .into_iter()
        .enumerate()
        .map(|(arm, work)| {
            let name = &plan.campaign.arms[case.arms[arm]].name;
            summary(&case.case.name, name, &reports(case, arm), work)
        })
        .collect()
}

/// The passes of an arm in all trials of a case that count.
pub(super) fn reports(case: &CaseRows<'_>, arm: usize) -> Vec<PassReport> {
    case.of_arm(arm)
        .filter_map(|row| row.passes())
        .flatten()
        .cloned()
        .collect()
}

/// The passes over one of the inputs.
pub(super) fn of(input: PassInput, reports: &[PassReport]) -> impl Iterator<Item = &PassReport> {
    reports.iter().filter(move |pass| pass.input == input)
}

fn summary(case: &str, arm: &str, reports: &[PassReport], work: ArmWork) -> PassSummary {
    let cpu = mean_of(PassInput::Whole, reports, |pass| pass.cpu_ns);
    let start_up = mean_of(PassInput::Short, reports, |pass| pass.cpu_ns);
    PassSummary {
        case: case.into(),
        arm: arm.into(),
        passes: of(PassInput::Whole, reports).count() as u64,
        units: work.units,
        checksum: work.checksum,
        elapsed_ns: mean_of(PassInput::Whole, reports, |pass| pass.elapsed_ns).map(round12),
        cpu_ns: cpu.map(round12),
        start_up_cpu_ns: start_up.map(round12),
        start_up_share: start_up
            .zip(cpu.filter(|cpu| *cpu > 0.0))
            .map(|(start_up, cpu)| round12(start_up / cpu)),
        left_processes: reports.iter().filter(|pass| pass.left_processes).count() as u64,
        proof: work.proof,
    }
}

fn elapsed_a_unit(work: &Passes, reports: &[PassReport]) -> Option<f64> {
    let elapsed = mean_of(PassInput::Whole, reports, |pass| pass.elapsed_ns)?;
    Some(elapsed / units(work, reports)?)
}

/// Of a file, what its further packets cost: the short input's passes show what starting takes.
fn a_further_unit(
    work: &Passes,
    reports: &[PassReport],
    cost: impl Fn(&PassReport) -> Option<u64>,
) -> Option<f64> {
    let whole = known_mean(PassInput::Whole, reports, &cost)?;
    let Some(input) = &work.input else {
        return Some(whole / units(work, reports)?);
    };
    let start_up = known_mean(PassInput::Short, reports, &cost)?;
    let units = input.units.checked_sub(input.short_units)?;
    (units > 0).then(|| (whole - start_up) / float(units))
}

/// Units of one pass over the whole input: the packets of the file, else what a command says, else
/// the command itself. Unknown where only some passes say.
fn units(work: &Passes, reports: &[PassReport]) -> Option<f64> {
    if let Some(input) = &work.input {
        return (input.units > 0).then(|| float(input.units));
    }
    let said: Vec<Option<u64>> = of(PassInput::Whole, reports)
        .map(|pass| pass.units)
        .collect();
    if said.iter().all(Option::is_none) {
        return (!said.is_empty()).then_some(1.0);
    }
    let said = said.into_iter().map(|units| units.map(float));
    mean::of(&said.collect::<Option<Vec<f64>>>()?).filter(|units| *units > 0.0)
}

fn mean_of(
    input: PassInput,
    reports: &[PassReport],
    time: impl Fn(&PassReport) -> u64,
) -> Option<f64> {
    known_mean(input, reports, &|pass: &PassReport| Some(time(pass)))
}

/// `None` where one pass does not know it.
fn known_mean(
    input: PassInput,
    reports: &[PassReport],
    cost: &impl Fn(&PassReport) -> Option<u64>,
) -> Option<f64> {
    let costs = of(input, reports).map(|pass| cost(pass).map(float));
    mean::of(&costs.collect::<Option<Vec<f64>>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::samples;

    fn close(one: Option<f64>, other: f64) {
        let one = one.unwrap();
        assert!((one - other).abs() < 1e-9, "{one} {other}");
    }

    /// Two passes over 1,000,100 packets of 30 and 34 ms with 22 and 26 ms of CPU, and one over 100
    /// packets with 4 ms: 20 ms for 1,000,000 packets.
    #[test]
    fn costs_of_a_file_by_hand() {
        let work = samples::file_passes();
        let mut reports = vec![
            samples::pass(PassInput::Short, 5_000_000, 4_000_000),
            samples::pass(PassInput::Whole, 30_000_000, 22_000_000),
            samples::pass(PassInput::Whole, 34_000_000, 26_000_000),
        ];
        let of = |metric, reports: &[PassReport]| value(metric, &work, reports);
        close(of(Metric::ProcessCpuNsPerPacket, &reports), 20.0);
        close(
            of(Metric::ElapsedNsPerUnit, &reports),
            32_000_000.0 / 1_000_100.0,
        );
        close(of(Metric::UnitsPerSecond, &reports), 1_000_100.0 / 0.032);
        assert_eq!(of(Metric::CaptureCostNsPerPacket, &reports), None);
        reports[1].peak_rss_bytes = Some(5 << 20);
        close(of(Metric::PeakRssBytes, &reports), 5_242_880.0);
        reports[2].peak_rss_bytes = None;
        assert_eq!(of(Metric::PeakRssBytes, &reports), None);
        reports.remove(0);
        assert_eq!(
            of(Metric::ProcessCpuNsPerPacket, &reports),
            None,
            "a start-up that is not known is not 0"
        );
    }

    /// 22 and 26 million instructions over 1,000,100 packets, 4 million over 100.
    #[test]
    fn instructions_by_hand_and_unknown_where_one_pass_has_none() {
        let work = samples::file_passes();
        let mut reports = samples::passes();
        let of = |reports: &[PassReport]| value(Metric::InstructionsPerPacket, &work, reports);
        assert_eq!(of(&reports), None);
        for (report, millions) in reports.iter_mut().zip([4, 22, 26]) {
            report.instructions = Some(millions * 1_000_000);
        }
        close(of(&reports), 20.0);
        reports[0].instructions = None;
        assert_eq!(of(&reports), None);
    }

    #[test]
    fn a_command_is_one_unit_where_it_says_none() {
        let work = Passes {
            input: None,
            ..samples::file_passes()
        };
        let said = |units: [Option<u64>; 2]| {
            let reports = units.map(|units| PassReport {
                units,
                ..samples::pass(PassInput::Whole, 30_000_000, 20_000_000)
            });
            (
                value(Metric::ElapsedNsPerUnit, &work, &reports),
                value(Metric::ProcessCpuNsPerPacket, &work, &reports),
            )
        };
        let (elapsed, cpu) = said([None, None]);
        close(elapsed, 30_000_000.0);
        close(cpu, 20_000_000.0);
        let (elapsed, cpu) = said([Some(1_000), Some(1_000)]);
        close(elapsed, 30_000.0);
        close(cpu, 20_000.0);
        assert_eq!(said([Some(1_000), None]), (None, None));
        assert_eq!(said([Some(0), Some(0)]), (None, None));
        assert_eq!(value(Metric::ElapsedNsPerUnit, &work, &[]), None);
    }
}
