//! What a sealed campaign can be expected to see, in sentences, before its first pair.

use wiretrial_contract::metric::Scale;
use wiretrial_contract::plan::{Campaign, Floor, PilotCase, Plan};
use wiretrial_reports::{answer, number};
use wiretrial_stats::bootstrap::MAX_PAIRS;
use wiretrial_stats::power;

use super::fit;
use crate::judge::estimate::on;

/// What is known of the noise of a case: deviation of the pair effects.
struct Noise<'a> {
    case: &'a str,
    sd: f64,
    floor: Option<&'a Floor>,
}

/// The line before the first pair: what can be seen with the planned pairs, and how many the margin
/// needs where they are more, or that nothing is known. The noisiest case decides.
#[must_use]
pub fn line(plan: &Plan) -> String {
    let known = noise(&plan.campaign, &plan.pilot, &plan.floors);
    let Some(worst) = known
        .iter()
        .max_by(|one, other| one.sd.total_cmp(&other.sd))
    else {
        return unknown(&plan.campaign).into();
    };
    let design = &plan.campaign.design;
    let mut beside = Vec::new();
    if plan.campaign.cases.len() > 1 {
        beside.push(format!("worst case {}", worst.case));
    }
    beside.extend(
        worst
            .floor
            .map(|floor| format!("A/A floor, {}", occasions(floor))),
    );
    let names = plan.campaign.cases.iter().map(|case| case.name.as_str());
    let unseen: Vec<&str> = names
        .filter(|name| known.iter().all(|k| k.case != *name))
        .collect();
    if !unseen.is_empty() {
        beside.push(format!("not known for {}", unseen.join(", ")));
    }
    let beside = match beside.join("; ") {
        empty if empty.is_empty() => empty,
        text => format!(" ({text})"),
    };
    let needed = design.margin.map(|margin| {
        (
            margin,
            power::pairs_needed(on(design.primary.scale()), margin, worst.sd),
        )
    });
    let more = match needed {
        Some((margin, None)) => format!(
            "; {} needs more than {MAX_PAIRS}",
            margin_of(&plan.campaign, margin)
        ),
        Some((margin, Some(pairs))) if pairs > design.pairs as usize => {
            let time = fit::round_ns(&plan.pilot)
                .map(|ns| format!(", {}", number::duration(ns.saturating_mul(pairs as u64))));
            format!(
                "; {} needs {pairs} pairs{}: --pairs {pairs}",
                margin_of(&plan.campaign, margin),
                time.unwrap_or_default()
            )
        }
        _ => String::new(),
    };
    format!(
        "this host can see about {} with {} pairs{more}{beside}",
        size_of(&plan.campaign, detectable(&plan.campaign, worst.sd)),
        design.pairs
    )
}

/// The warning that a margin is smaller than equal arms come out apart here.
#[must_use]
pub fn warning(plan: &Plan) -> Option<String> {
    let margin = plan
        .campaign
        .design
        .margin
        .filter(|_| !plan.campaign.design.aa)?;
    let worst = plan
        .floors
        .iter()
        .filter(|floor| floor.metric == plan.campaign.design.primary && floor.size > margin)
        .max_by(|one, other| one.size.total_cmp(&other.size))?;
    let case = if plan.campaign.cases.len() > 1 {
        format!(" in {}", worst.case)
    } else {
        String::new()
    };
    Some(format!(
        "cannot see {} here (A/A floor {}{case}, {}): the verdict will not be decided unless the \
         effect is beyond the floor",
        margin_of(&plan.campaign, margin),
        size_of(&plan.campaign, worst.size),
        occasions(worst)
    ))
}

/// Remarks on what the pilot did not show, and on how passes and launches vary.
#[must_use]
pub fn notes(plan: &Plan) -> Vec<String> {
    let missing: Vec<&str> = plan
        .pilot
        .iter()
        .filter(|case| case.sd.is_none())
        .map(|case| case.case.as_str())
        .collect();
    let mut notes = Vec::new();
    if !missing.is_empty() {
        notes.push(format!(
            "the pilot could not be had for {}: too few of its pairs count; the campaign goes on \
             without it",
            missing.join(", ")
        ));
    }
    notes.extend(
        plan.pilot
            .iter()
            .filter_map(|case| passes(&plan.campaign, case)),
    );
    notes
}

/// What `wiretrial plan` says of the detectable effect, by the floors of a host class.
#[must_use]
pub fn effect(campaign: &Campaign, floors: &[Floor], host_class: &str) -> Option<String> {
    let known = noise(campaign, &[], floors);
    let worst = known
        .iter()
        .max_by(|one, other| one.sd.total_cmp(&other.sd))?;
    let floor = worst.floor?;
    Some(format!(
        "about {} with {} pairs on host {host_class} ({}A/A floor {}, {}, {} old)",
        size_of(campaign, detectable(campaign, worst.sd)),
        campaign.design.pairs,
        if campaign.cases.len() > 1 {
            format!("worst case {}; ", worst.case)
        } else {
            String::new()
        },
        size_of(campaign, floor.size),
        occasions(floor),
        number_of(floor.age_days, "day")
    ))
}

/// The noise of every case of which something is known: by its pilot, else by its floor.
fn noise<'a>(
    campaign: &'a Campaign,
    pilot: &'a [PilotCase],
    floors: &'a [Floor],
) -> Vec<Noise<'a>> {
    let design = &campaign.design;
    let of_case = |case: &'a str| {
        let seen = pilot.iter().find(|seen| seen.case == case);
        if let Some(sd) = seen.and_then(|seen| seen.sd_upper) {
            return Some(Noise {
                case,
                sd,
                floor: None,
            });
        }
        let floor = floors
            .iter()
            .filter(|floor| floor.case == case && floor.metric == design.primary)
            .max_by(|one, other| one.half_width.total_cmp(&other.half_width))?;
        let effect = design.primary.scale().effect(floor.half_width);
        let sd = effect / power::half_width(design.pairs as usize);
        Some(Noise {
            case,
            sd,
            floor: Some(floor),
        })
    };
    campaign
        .cases
        .iter()
        .filter_map(|case| of_case(&case.name))
        .collect()
}

fn detectable(campaign: &Campaign, sd: f64) -> f64 {
    let design = &campaign.design;
    let deviations = power::minimal_detectable_effect(design.pairs as usize);
    design.primary.scale().size(deviations * sd)
}

/// A margin as it was declared.
fn margin_of(campaign: &Campaign, margin: f64) -> String {
    let primary = campaign.design.primary;
    answer::margin_text(
        margin,
        primary.scale(),
        primary.unit_in(campaign.workload()),
    )
}

/// An effect of the primary metric for people.
fn size_of(campaign: &Campaign, size: f64) -> String {
    let primary = campaign.design.primary;
    match primary.scale() {
        Scale::Ratio => percent(size),
        Scale::Difference => {
            let unit = primary.unit_in(campaign.workload());
            format!("{} {unit}", number::short(size))
        }
    }
}

fn unknown(campaign: &Campaign) -> &'static str {
    match (campaign.design.aa, campaign.design.pilot) {
        (true, _) => "what this host can see is not known yet: this A/A campaign will show it",
        (false, 0) => {
            "what this host can see is not known: no pilot and no A/A floor; wiretrial run floor \
             shows it"
        }
        (false, _) => {
            "what this host can see is not known: no pilot pairs that count and no A/A floor; \
             wiretrial run floor shows it"
        }
    }
}

fn passes(campaign: &Campaign, seen: &PilotCase) -> Option<String> {
    let varied = seen.passes.as_ref()?;
    let iteration = varied.iteration_sd?;
    let case = campaign.cases.iter().find(|case| case.name == seen.case)?;
    let planned = case.passes()?.passes;
    let launches = match varied.launch_sd {
        Some(sd) => format!("launches by {}", percent(sd)),
        None => "launches by no more than that explains".into(),
    };
    let advice = varied.advised.map(|advised| {
        let far = advised > planned.saturating_mul(2) || planned > advised.saturating_mul(2);
        let set = if far {
            format!(": --set workload.passes={advised}")
        } else {
            String::new()
        };
        format!(
            "; {} a launch would spend the time best{set}",
            number_of(advised, "pass")
        )
    });
    Some(format!(
        "{}: passes vary by {}, {launches}{}",
        seen.case,
        percent(iteration),
        advice.unwrap_or_default()
    ))
}

fn occasions(floor: &Floor) -> String {
    let occasions = number_of(floor.occasions, "occasion");
    match &floor.only {
        Some(arm) => format!("{occasions}, floor of the {arm} only"),
        None => occasions,
    }
}

fn number_of(number: u32, what: &str) -> String {
    let plural = match what {
        _ if number == 1 => "",
        "pass" => "es",
        _ => "s",
    };
    format!("{number} {what}{plural}")
}

/// A ratio for people: two digits that say something.
fn percent(ratio: f64) -> String {
    let percent = ratio * 100.0;
    let decimals = match percent {
        p if p < 0.1 => 3,
        p if p < 1.0 => 2,
        p if p < 10.0 => 1,
        _ => 0,
    };
    format!("{percent:.decimals$} %")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::samples;
    use wiretrial_contract::metric::Metric;
    use wiretrial_contract::plan::PilotPasses;

    fn seen(case: &str, sd_upper: Option<f64>) -> PilotCase {
        PilotCase {
            case: case.into(),
            pairs: 3,
            pair_ns: Some(8_500_000_000),
            sd: sd_upper,
            sd_upper,
            detectable: None,
            equivalence_margin: None,
            worthwhile: None,
            pairs_needed: None,
            passes: None,
        }
    }

    fn floor(case: &str, size: f64, occasions: u32) -> Floor {
        Floor {
            case: case.into(),
            arm: None,
            only: None,
            metric: Metric::CaptureCostNsPerPacket,
            size,
            half_width: size,
            occasions,
            age_days: 1,
        }
    }

    /// 12 pairs, a margin of 3 %, and a pilot.
    fn plan(pilot: &[PilotCase], floors: &[Floor]) -> Plan {
        let mut plan = samples::plan();
        let design = &mut plan.campaign.design;
        (design.aa, design.pairs, design.pilot) = (false, 12, 3);
        plan.pilot = pilot.to_vec();
        plan.floors = floors.to_vec();
        for name in pilot
            .iter()
            .map(|p| &p.case)
            .chain(floors.iter().map(|f| &f.case))
        {
            if plan.campaign.cases.iter().all(|case| case.name != *name) {
                let mut case = plan.campaign.cases[0].clone();
                case.name.clone_from(name);
                plan.campaign.cases.push(case);
            }
        }
        plan
    }

    #[test]
    fn enough_pairs() {
        // 0.889 x 1.57 % is 1.4 %
        assert_eq!(
            line(&plan(&[seen("20k", Some(0.0157))], &[])),
            "this host can see about 1.4 % with 12 pairs"
        );
        assert_eq!(
            line(&plan(
                &[seen("20k", Some(0.0157)), seen("50k", Some(0.02))],
                &[]
            )),
            "this host can see about 1.8 % with 12 pairs (worst case 50k)"
        );
    }

    #[test]
    fn too_few_pairs() {
        // ln 1.03 is 0.5376 deviations of 5.5 %; 30 pairs need 0.547, 32 0.529
        assert_eq!(
            line(&plan(&[seen("20k", Some(0.055))], &[])),
            "this host can see about 5.0 % with 12 pairs; 3 % needs 32 pairs, 4 min 32 s: --pairs 32"
        );
        assert_eq!(
            line(&plan(&[seen("20k", Some(0.4)), seen("50k", None)], &[])),
            "this host can see about 43 % with 12 pairs; 3 % needs more than 256 (worst case 20k; not \
             known for 50k)"
        );
    }

    #[test]
    fn without_a_margin_no_number_of_pairs_is_too_small() {
        let mut plan = plan(&[seen("20k", Some(0.4))], &[]);
        plan.campaign.design.margin = None;
        assert_eq!(line(&plan), "this host can see about 43 % with 12 pairs");
    }

    #[test]
    fn a_floor_stands_in_for_a_pilot() {
        // a half width of 1 % is 1.57 % of deviation at 12 pairs
        let mut plan = plan(&[], &[floor("20k", 0.01, 3)]);
        plan.campaign.design.pilot = 0;
        assert_eq!(
            line(&plan),
            "this host can see about 1.4 % with 12 pairs (A/A floor, 3 occasions)"
        );
        assert_eq!(
            effect(&plan.campaign, &plan.floors, "7c1e").unwrap(),
            "about 1.4 % with 12 pairs on host 7c1e (A/A floor 1.0 %, 3 occasions, 1 day old)"
        );
        assert_eq!(effect(&plan.campaign, &[], "7c1e"), None);
        // What lay off no difference is no noise.
        plan.floors[0].size = 0.05;
        assert!(line(&plan).starts_with("this host can see about 1.4 %"));
    }

    #[test]
    fn nothing_is_known_without_either() {
        let mut plan = plan(&[], &[]);
        plan.campaign.design.pilot = 0;
        assert_eq!(
            line(&plan),
            "what this host can see is not known: no pilot and no A/A floor; wiretrial run floor \
             shows it"
        );
        plan.campaign.design.aa = true;
        assert!(line(&plan).contains("this A/A campaign will show it"));
        plan.campaign.design.primary = Metric::ProcessCpuNsPerPacket;
        plan.floors = vec![floor("20k", 0.01, 3)];
        assert!(
            line(&plan).contains("not known"),
            "a floor of another metric"
        );
    }

    #[test]
    fn a_margin_under_the_floor_is_said() {
        let floors = [floor("20k", 0.02, 1), floor("50k", 0.041, 3)];
        assert_eq!(
            warning(&plan(&[], &floors)).unwrap(),
            "cannot see 3 % here (A/A floor 4.1 % in 50k, 3 occasions): the verdict will not be \
             decided unless the effect is beyond the floor"
        );
        assert_eq!(warning(&plan(&[], &floors[..1])), None);
        let mut aa = plan(&[], &floors);
        aa.campaign.design.aa = true;
        assert_eq!(warning(&aa), None);
    }

    #[test]
    fn what_passes_and_launches_do() {
        let mut plan = samples::passes_plan();
        let case = plan.campaign.cases[0].name.clone();
        let mut said = |advised: Option<u32>, launch_sd: Option<f64>| {
            let mut one = seen(&case, Some(0.01));
            one.passes = Some(PilotPasses {
                iteration_sd: Some(0.021),
                launch_sd,
                advised,
            });
            plan.pilot = vec![one];
            samples::passes_mut(&mut plan.campaign.cases[0]).passes = 5;
            notes(&plan).remove(0)
        };
        let far = said(Some(12), Some(0.008));
        assert!(
            far.ends_with(
                ": passes vary by 2.1 %, launches by 0.80 %; 12 passes a launch would spend the \
                 time best: --set workload.passes=12"
            ),
            "{far}"
        );
        assert!(
            said(Some(10), Some(0.008)).ends_with("10 passes a launch would spend the time best")
        );
        assert!(
            said(Some(1), Some(0.1))
                .ends_with("1 pass a launch would spend the time best: --set workload.passes=1")
        );
        assert!(said(None, None).ends_with("launches by no more than that explains"));
    }

    #[test]
    fn a_pilot_that_could_not_be_had_says_so() {
        let notes = notes(&plan(&[seen("20k", None), seen("50k", Some(0.01))], &[]));
        assert_eq!(notes.len(), 1);
        assert!(
            notes[0].starts_with("the pilot could not be had for 20k:"),
            "{notes:?}"
        );
    }
}
