//! What a table says of each arm by itself: the median over its rounds, with an interval.

use wiretrial_contract::analysis::{Estimate, round12};
use wiretrial_contract::metric::Metric;
use wiretrial_contract::plan::{Kind, Plan};
use wiretrial_stats::rank::{median, median_interval};

use super::rows::CaseRows;
use super::{estimate::count, metrics};

/// Confidence of the interval of a median.
const CONFIDENCE: f64 = 0.95;

/// One estimate per arm and metric of a case of a table, the primary metric first; none elsewhere.
pub(super) fn estimates(plan: &Plan, case: &CaseRows<'_>) -> Vec<Estimate> {
    if plan.campaign.kind != Kind::Table {
        return Vec::new();
    }
    let primary = plan.campaign.design.primary;
    let rest = plan.campaign.metrics();
    let rest = rest.into_iter().filter(|metric| *metric != primary);
    std::iter::once(primary)
        .chain(rest)
        .flat_map(|metric| (0..case.arms.len()).map(move |place| (metric, place)))
        .map(|(metric, place)| of_arm(plan, case, metric, place))
        .collect()
}

fn of_arm(plan: &Plan, case: &CaseRows<'_>, metric: Metric, place: usize) -> Estimate {
    let value = |row| metrics::value(metric, case.case, row);
    // One that is missing is not a small one: then nothing is said.
    let values: Option<Vec<f64>> = case.of_arm(place).map(value).collect();
    let values = values.unwrap_or_default();
    let interval = median_interval(&values, CONFIDENCE);
    Estimate {
        case: case.case.name.clone(),
        arm: plan.campaign.arms[case.arms[place]].name.clone(),
        metric,
        unit: metric.unit_in(plan.campaign.workload()).into(),
        reference: place == 0,
        rounds: count(values.len()),
        median: median(&values).map(round12),
        lo95: interval.map(|interval| round12(interval.lo)),
        hi95: interval.map(|interval| round12(interval.hi)),
        confidence: interval.map(|interval| round12(interval.coverage)),
        values: values.into_iter().map(round12).collect(),
    }
}
