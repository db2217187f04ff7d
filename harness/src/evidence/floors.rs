//! What A/A campaigns showed of this host: `<root>/floors/<host class>/<plan>.json`, one small file a
//! campaign, never overwritten.
//!
//! A plan that is sealed later takes over the floors of its host class and of its own conditions, the
//! middle one of all that are not too old, so that repeating an A/A until one looks good is of no use.
//! A file that does not hold together is ignored and said so; none is ever trusted beyond that: what
//! was sealed of it stands in the plan.

use std::fs::{self, File};
use std::io::{Read as _, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use wiretrial_contract::analysis::{Analysis, Comparison, ShownFloor, Verdict, round12};
use wiretrial_contract::clock;
use wiretrial_contract::digest::sha256;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::metric::{Metric, Scale};
use wiretrial_contract::plan::{Campaign, Case, Floor, Kind, Measured, PassProgram, Plan, Work};
use wiretrial_contract::program::ProgramSpec;
use wiretrial_stats::bootstrap::MAX_PAIRS;
use wiretrial_stats::interval::MIN_PAIRS;
use wiretrial_stats::power;

use super::json::pretty;
use super::regular;
use crate::root;

/// Schema of a floor's file.
pub const SCHEMA: &str = "wiretrial.floor/1";
/// Bytes of a floor's file that are read; one has some kB.
const LARGEST: u64 = 1 << 20;
/// The folder in the evidence root.
pub const FOLDER: &str = "floors";
/// Days after which a floor is no longer taken over: hosts change.
pub const MAX_AGE_DAYS: u32 = 14;
/// A half width below is rounding: evidence keeps 12 significant digits.
const LEAST_WIDTH: f64 = 1e-12;
/// A ratio above, less 1, is no floor that a host can have: equal arms a million times apart.
const LARGEST_FLOOR: f64 = 1e6;
const DAY_NS: u64 = 86_400_000_000_000;
/// Digits of the host class in a folder's name, and of the plan in a file's.
const CLASS_DIGITS: usize = 4;
const PLAN_DIGITS: usize = 16;

/// One A/A campaign: the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Occasion {
    /// [`SCHEMA`].
    pub schema: String,
    /// SHA-256 of the host class.
    pub host_class: String,
    /// When the last session began that ran some of it, RFC 3339.
    pub measured: String,
    /// SHA-256 of its plan.
    pub plan_sha256: String,
    /// Its evidence, relative to the evidence root; none where it lies elsewhere.
    pub evidence: Option<String>,
    /// What it showed.
    pub floors: Vec<OneFloor>,
    /// SHA-256 of this file with an empty text here: it shows an edit, not a forgery.
    pub check: String,
}

/// How far equal arms came out apart in one metric of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OneFloor {
    /// The case.
    pub case: String,
    /// SHA-256 of the conditions: [`conditions`].
    pub conditions: String,
    /// The metric.
    pub metric: Metric,
    /// How far apart: [`ShownFloor::size`].
    pub floor: f64,
    /// The part of it that more pairs make smaller: [`ShownFloor::half_width`].
    pub half_width: f64,
    /// Standard deviation of the log pair ratios.
    pub sd_log: f64,
    /// Pairs that count.
    pub pairs: u32,
}

/// An occasion and how long ago it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// The occasion.
    pub occasion: Occasion,
    /// Whole days since it ended.
    pub age_days: u32,
}

/// The floors of a folder that can be used.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Read {
    /// Those not too old.
    pub known: Vec<Known>,
    /// A remark on the files that were ignored.
    pub note: Option<String>,
}

impl Occasion {
    /// What a finished A/A campaign showed; none where no case shows a floor. Cases that order or time moved
    /// are kept: leaving them out would flatter the host.
    #[must_use]
    pub fn of(
        plan: &Plan,
        analysis: &Analysis,
        host_class: &str,
        measured: String,
        evidence: Option<String>,
    ) -> Option<Self> {
        let verdict = |of: &Comparison| {
            let mut all = analysis.comparisons.iter();
            all.find(|one| one.primary && one.case == of.case && one.arm == of.arm)?
                .verdict
        };
        let floors: Vec<OneFloor> = analysis
            .comparisons
            .iter()
            .filter_map(|one| one_floor(&plan.campaign, one, verdict(one)?))
            .collect();
        if floors.is_empty() {
            return None;
        }
        let mut occasion = Self {
            schema: SCHEMA.into(),
            host_class: host_class.into(),
            measured,
            plan_sha256: analysis.plan_sha256.clone(),
            evidence,
            floors,
            check: String::new(),
        };
        occasion.check = occasion.checked();
        Some(occasion)
    }

    fn checked(&self) -> String {
        let bare = Self {
            check: String::new(),
            ..self.clone()
        };
        sha256(&pretty(&bare))
    }

    /// Where it belongs below the evidence root.
    fn place(&self) -> Option<(&str, String)> {
        let class = self.host_class.get(..CLASS_DIGITS)?;
        let plan = self.plan_sha256.get(..PLAN_DIGITS)?;
        Some((class, format!("{plan}.json")))
    }

    fn holds(&self) -> bool {
        let sound = |one: &OneFloor| {
            let pairs = one.pairs as usize;
            one.floor.is_finite()
                && one.half_width >= LEAST_WIDTH
                && one.floor >= one.half_width
                && one.sd_log > 0.0
                && one.sd_log.is_finite()
                && (one.metric.scale() == Scale::Difference || one.floor < LARGEST_FLOOR)
                && (MIN_PAIRS..=MAX_PAIRS).contains(&pairs)
        };
        self.schema == SCHEMA && self.check == self.checked() && self.floors.iter().all(sound)
    }
}

fn one_floor(campaign: &Campaign, one: &Comparison, verdict: Verdict) -> Option<OneFloor> {
    let case = campaign.cases.iter().find(|case| case.name == one.case)?;
    let candidate = (0..campaign.arms.len()).find(|arm| *arm != campaign.reference())?;
    let ShownFloor { size, half_width } = one.floor_under(verdict)?;
    Some(OneFloor {
        case: one.case.clone(),
        conditions: conditions(campaign, case, candidate),
        metric: one.metric,
        floor: size,
        half_width,
        sd_log: one.sd_log?,
        pairs: one.pairs,
    })
}

/// SHA-256 of all that a floor depends on in a case besides the host: topology, arrangement, what is
/// sent or read, the settings of arm `arm` but not its executable, how much other programs may do, and
/// the version of this program. Both arms of an A/A have the candidate's.
///
/// # Panics
///
/// Never: a campaign holds nothing that JSON cannot.
#[must_use]
pub fn conditions(campaign: &Campaign, case: &Case, arm: usize) -> String {
    let topology = &campaign.topology;
    let mut work = case.work.clone();
    match &mut work {
        Work::Live(live) => {
            only(&mut live.receivers, arm);
            for receiver in &mut live.receivers {
                if let Measured::Outside(program) = &mut receiver.program {
                    unnamed(program);
                }
            }
        }
        Work::Passes(passes) => {
            only(&mut passes.programs, arm);
            for program in &mut passes.programs {
                if let PassProgram::Outside(program) = program {
                    unnamed(program);
                }
            }
            // The file is known by its content.
            passes.input.iter_mut().for_each(|input| input.file.clear());
        }
    }
    let all = (
        env!("CARGO_PKG_VERSION"),
        topology.kind,
        topology.family,
        topology.receive_cpu,
        campaign.design.arrangement,
        campaign.design.foreign_cpu,
        work,
    );
    sha256(&serde_json::to_vec(&all).expect("a campaign is plain values"))
}

/// Keeps what is of one arm.
fn only<T>(of_arms: &mut Vec<T>, arm: usize) {
    of_arms.truncate(arm + 1);
    of_arms.drain(..of_arms.len().min(arm));
}

/// A program without where it is and how it is made.
fn unnamed(program: &mut ProgramSpec) {
    program.binary.clear();
    program.build.clear();
}

/// Writes what a campaign showed, whole or not at all; what is there of it already stays, unless it does
/// not hold together, as after a full disk.
///
/// # Errors
///
/// It cannot be written (exit 4).
pub fn keep(root: &Path, occasion: &Occasion) -> Result<(), Failure> {
    let Some((class, name)) = occasion.place() else {
        return Ok(());
    };
    let folder = root.join(FOLDER).join(class);
    let path = folder.join(name);
    if one(&path).is_some() {
        return Ok(());
    }
    let part = path.with_extension("part");
    let written = root::make(root)
        .and_then(|()| fs::create_dir_all(&folder))
        .and_then(|()| File::create(&part))
        .and_then(|mut file| {
            file.write_all(&pretty(occasion))?;
            file.sync_all()?;
            fs::rename(&part, &path)
        });
    written.map_err(|error| {
        // Whatever was written of it is of no use.
        let _ = fs::remove_file(&part);
        Failure::evidence(format!("{}: {error}", path.display()))
    })
}

/// Reads the floors of a host class below the evidence root, or of all classes.
#[must_use]
pub fn read(root: &Path, host_class: Option<&str>, now_ns: u64) -> Read {
    let mut read = Read::default();
    let mut ignored = Vec::new();
    for class in names(&root.join(FOLDER)) {
        if host_class.is_some_and(|wanted| !wanted.starts_with(&class)) {
            continue;
        }
        for name in names(&root.join(FOLDER).join(&class)) {
            let path = root.join(FOLDER).join(&class).join(&name);
            let Some(occasion) = one(&path).filter(|occasion| {
                occasion.place() == Some((&class, name))
                    && host_class.is_none_or(|wanted| occasion.host_class == wanted)
            }) else {
                ignored.push(path);
                continue;
            };
            match age_days(&occasion, now_ns) {
                Some(age_days) if age_days <= MAX_AGE_DAYS => {
                    read.known.push(Known { occasion, age_days });
                }
                Some(_) => {}
                None => ignored.push(path),
            }
        }
    }
    read.note = ignored.first().map(|first| {
        let more = match ignored.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "{}{more}: not a floor as a campaign of this host wrote it; ignored, remove it",
            first.display()
        )
    });
    read
}

/// A file that holds together.
fn one(path: &Path) -> Option<Occasion> {
    let mut bytes = Vec::new();
    let file = regular::open(path).ok()?;
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    let occasion: Occasion = serde_json::from_slice(&bytes).ok()?;
    occasion.holds().then_some(occasion)
}

/// Names in a folder, sorted; none where there is no such folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Whole days since it was measured; none for a time that is no time, or is to come.
fn age_days(occasion: &Occasion, now_ns: u64) -> Option<u32> {
    let measured_ns = clock::from_rfc3339(&occasion.measured)?;
    u32::try_from(now_ns.checked_sub(measured_ns)? / DAY_NS).ok()
}

/// The floor of every case of a campaign that has one, in a table of every case and arm: the larger of
/// what is known under the settings of the two arms that are compared, by the primary metric.
#[must_use]
pub fn of(campaign: &Campaign, known: &[Known]) -> Vec<Floor> {
    let reference = campaign.reference();
    let mut floors = Vec::new();
    for case in &campaign.cases {
        for arm in (0..campaign.arms.len()).filter(|arm| *arm != reference) {
            floors.extend(of_arms(campaign, case, [reference, arm], known));
        }
    }
    floors
}

fn of_arms(campaign: &Campaign, case: &Case, arms: [usize; 2], known: &[Known]) -> Option<Floor> {
    let [reference, candidate] = arms.map(|arm| of_settings(campaign, case, arm, known));
    let name = |arm: usize| campaign.arms[arm].name.clone();
    let only = match (&reference, &candidate) {
        (Some(_), None) => Some(name(arms[0])),
        (None, Some(_)) => Some(name(arms[1])),
        _ => None,
    };
    let both = [reference, candidate].into_iter().flatten();
    let larger = both.max_by(|one, other| one.shown.size.total_cmp(&other.shown.size))?;
    Some(Floor {
        case: case.name.clone(),
        arm: (campaign.kind == Kind::Table).then(|| name(arms[1])),
        only,
        metric: campaign.design.primary,
        size: round12(larger.shown.size),
        half_width: round12(larger.shown.half_width),
        occasions: larger.occasions,
        age_days: larger.age_days,
    })
}

/// What the occasions of one arm's settings say together.
struct Middle {
    shown: ShownFloor,
    age_days: u32,
    occasions: u32,
}

/// Each occasion counts once, with the highest of its cases under these conditions, scaled to the planned
/// pairs; the middle one of them is taken, of an even number the higher.
fn of_settings(campaign: &Campaign, case: &Case, arm: usize, known: &[Known]) -> Option<Middle> {
    let conditions = conditions(campaign, case, arm);
    let metric = campaign.design.primary;
    let highest = |known: &Known| {
        let floors = known.occasion.floors.iter();
        let sizes = floors
            .filter(|one| one.metric == metric && one.conditions == conditions)
            .map(|one| scaled(one, campaign.design.pairs));
        let highest = sizes.max_by(|one, other| one.size.total_cmp(&other.size))?;
        Some((highest, known.age_days))
    };
    let mut occasions: Vec<(ShownFloor, u32)> = known.iter().filter_map(highest).collect();
    let by_size = |one: &(ShownFloor, u32), other: &(ShownFloor, u32)| {
        let sizes = one.0.size.total_cmp(&other.0.size);
        sizes.then(one.1.cmp(&other.1))
    };
    occasions.sort_by(by_size);
    let (shown, age_days) = *occasions.get(occasions.len() / 2)?;
    Some(Middle {
        shown,
        age_days,
        occasions: u32::try_from(occasions.len()).unwrap_or(u32::MAX),
    })
}

/// What it would be with another number of pairs: its width follows them, what it lay off no difference
/// does not.
fn scaled(one: &OneFloor, pairs: u32) -> ShownFloor {
    let of = |pairs: u32| power::half_width(pairs as usize);
    let scale = one.metric.scale();
    let half = scale.effect(one.half_width);
    let off = scale.effect(one.floor) - half;
    let half_then = half * of(pairs) / of(one.pairs);
    ShownFloor {
        size: scale.size(half_then + off),
        half_width: scale.size(half_then),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge;
    use crate::trial::samples;
    use wiretrial_contract::control::ReceiveCpu;
    use wiretrial_contract::record::{Delivery, TrialRecord};
    use wiretrial_reports::answer;
    use wiretrial_reports::table::{self, Cell};

    const NOW_NS: u64 = 1_800_000_000_000_000_000;
    const CLASS: &str = "7c1e5eed7c1e5eed";

    /// A plan of six pairs and its rows; candidates cost these shares of a percent more, in turn.
    fn finished(plan: &Plan, spread: u64) -> Analysis {
        let rows: Vec<TrialRecord> = plan
            .pairs
            .iter()
            .flat_map(|planned| {
                let more = planned.pair % 3 * spread;
                [("baseline", 100_000), ("candidate", 100_000 + more)].map(|(arm, ns)| {
                    let mut report = samples::receiver();
                    report.process_cpu_ns = Some(ns * report.copies.unique);
                    TrialRecord {
                        arm: arm.into(),
                        order: planned.order.clone(),
                        delivery: Some(Delivery::Sequences(Box::new(report))),
                        ..samples::row(planned.pair)
                    }
                })
            })
            .collect();
        let identity = judge::Identity {
            plan_sha256: format!("{spread:064x}"),
            rows_sha256: String::new(),
            host_class: CLASS[..4].into(),
            host: String::new(),
        };
        judge::analyse(plan, &rows, &identity)
    }

    fn aa() -> Plan {
        let mut plan = samples::plan();
        plan.campaign.design.primary = Metric::ProcessCpuNsPerPacket;
        // The rows hold no load, so that none may count.
        plan.campaign.topology.receive_cpu = ReceiveCpu::Separate;
        plan
    }

    fn occasion(spread: u64, days_ago: u64) -> Occasion {
        let plan = aa();
        let mut analysis = finished(&plan, spread);
        analysis.plan_sha256 = sha256(&spread.to_le_bytes());
        let ended_ns = NOW_NS - days_ago * DAY_NS;
        let evidence = Some("sample/x".into());
        Occasion::of(&plan, &analysis, CLASS, clock::rfc3339(ended_ns), evidence).unwrap()
    }

    #[test]
    fn an_aa_campaign_leaves_a_floor_and_the_next_plan_takes_it_over() {
        let root = tempfile::tempdir().unwrap();
        let mut plan = aa();
        assert_eq!(
            of(
                &plan.campaign,
                &read(root.path(), Some(CLASS), NOW_NS).known
            ),
            []
        );
        for spread in [1_000, 3_000, 2_000] {
            keep(root.path(), &occasion(spread, 1)).unwrap();
        }
        let read = read(root.path(), Some(CLASS), NOW_NS);
        assert_eq!((read.known.len(), read.note), (3, None));
        plan.campaign.design.aa = false;
        let floors = of(&plan.campaign, &read.known);
        let middle = occasion(2_000, 1);
        let middle = middle
            .floors
            .iter()
            .find(|one| one.metric == plan.campaign.design.primary);
        let OneFloor {
            floor: size,
            half_width,
            ..
        } = *middle.unwrap();
        assert!((0.01..0.03).contains(&half_width), "{half_width}");
        assert!(size > half_width, "the candidate cost more");
        let [floor] = &floors[..] else {
            panic!("{floors:?}")
        };
        assert!((floor.size - size).abs() < 1e-9, "{floor:?}");
        assert!((floor.half_width - half_width).abs() < 1e-9, "{floor:?}");
        assert_eq!((floor.occasions, floor.age_days), (3, 1));
        // More pairs see more.
        plan.campaign.design.pairs = 24;
        let more = of(&plan.campaign, &read.known)[0].size;
        let off = (1.0 + size) / (1.0 + half_width) - 1.0;
        assert!((off..off + half_width / 2.0).contains(&more), "{more}");
    }

    #[test]
    fn of_two_occasions_the_worse_counts() {
        let known: Vec<Known> = [1_000, 3_000]
            .map(|spread| Known {
                occasion: occasion(spread, 1),
                age_days: 1,
            })
            .into();
        let both = of(&aa().campaign, &known);
        let worse = of(&aa().campaign, &known[1..]);
        assert!((both[0].size - worse[0].size).abs() < 1e-12);
        assert_eq!((both[0].occasions, worse[0].occasions), (2, 1));
    }

    #[test]
    fn cases_of_one_campaign_are_one_occasion_and_the_age_is_that_of_the_middle_one() {
        let mut campaign = aa().campaign;
        campaign.design.aa = false;
        let known = |spread, age_days| Known {
            occasion: occasion(spread, 1),
            age_days,
        };
        let mut wide = known(3_000, 9);
        let quiet = occasion(1_000, 1).floors;
        wide.occasion.floors.splice(0..0, quiet.clone());
        wide.occasion.floors.extend(quiet);
        let one = of(&campaign, std::slice::from_ref(&wide));
        let alone = of(&campaign, &[known(3_000, 9)]);
        assert_eq!(one, alone, "the highest of its cases, once");
        let three = of(&campaign, &[known(2_000, 5), wide, known(1_000, 1)]);
        assert_eq!(three[0].occasions, 3);
        assert_eq!(three[0].age_days, 5, "neither the youngest nor the oldest");
        let middle = of(&campaign, &[known(2_000, 5)]);
        assert!((three[0].size - middle[0].size).abs() < 1e-12);
    }

    #[test]
    fn the_file_says_what_the_reports_print() {
        let plan = aa();
        let analysis = finished(&plan, 3_000);
        let occasion = Occasion::of(&plan, &analysis, CLASS, clock::rfc3339(NOW_NS), None).unwrap();
        let one = analysis.comparisons.iter().find(|one| one.primary).unwrap();
        let kept = occasion
            .floors
            .iter()
            .find(|kept| kept.metric == one.metric);
        let kept = kept.unwrap().floor;
        let text = answer::floor_text(kept, one.scale, &one.unit);
        assert!(
            one.statement.contains(&format!("floor {text}")),
            "{}",
            one.statement
        );
        let answer = &analysis.answer.text;
        assert!(answer.ends_with(&format!("; A/A floor {text}")), "{answer}");
        let table = table::floors(&analysis).unwrap();
        let here = Cell::Size {
            value: kept,
            scale: one.scale,
        };
        assert_eq!(table.rows[0][1], here);
    }

    #[test]
    fn what_lay_off_no_difference_is_not_made_smaller_by_more_pairs() {
        let mut one = occasion(1_000, 1).floors.remove(0);
        (one.metric, one.pairs) = (Metric::ProcessCpuNsPerPacket, 6);
        (one.floor, one.half_width) = (1.02 * 1.01 - 1.0, 0.01);
        assert!((scaled(&one, 6).size - one.floor).abs() < 1e-12);
        let ShownFloor {
            size: more,
            half_width,
        } = scaled(&one, 24);
        let width = power::half_width(24) / power::half_width(6) * 0.01_f64.ln_1p();
        assert!((more - (1.02 * width.exp() - 1.0)).abs() < 1e-12, "{more}");
        assert!((half_width - width.exp_m1()).abs() < 1e-12, "{half_width}");
    }

    #[test]
    fn what_does_not_vary_leaves_no_floor() {
        let plan = aa();
        assert_eq!(
            Occasion::of(
                &plan,
                &finished(&plan, 0),
                CLASS,
                clock::rfc3339(NOW_NS),
                None
            ),
            None
        );
    }

    #[test]
    fn of_different_settings_the_larger_floor_counts_and_one_alone_says_so() {
        let known = |spread, change: bool| {
            let mut occasion = occasion(spread, 1);
            let mut campaign = aa().campaign;
            if change {
                samples::capture_mut(&mut campaign.cases[0], 1).immediate ^= true;
            }
            let conditions = conditions(&campaign, &campaign.cases[0], 1);
            for one in &mut occasion.floors {
                one.conditions.clone_from(&conditions);
            }
            Known {
                occasion,
                age_days: 1,
            }
        };
        let (plain, changed) = (known(1_000, false), known(3_000, true));
        let mut campaign = aa().campaign;
        samples::capture_mut(&mut campaign.cases[0], 1).immediate ^= true;
        let of = |known: &[Known]| of(&campaign, known).remove(0);
        let (low, high) = (
            of(std::slice::from_ref(&plain)),
            of(std::slice::from_ref(&changed)),
        );
        assert_eq!(low.only.as_deref(), Some("baseline"));
        assert_eq!(high.only.as_deref(), Some("candidate"));
        assert!(low.size < high.size);
        let both = of(&[plain, changed]);
        assert_eq!((both.only, both.size), (None, high.size));
    }

    #[test]
    fn a_table_has_a_floor_for_every_arm_beside_its_reference() {
        let mut campaign = aa().campaign;
        campaign.kind = Kind::Table;
        campaign.arms.push(campaign.arms[1].clone());
        campaign.arms[2].name = "other".into();
        let Work::Live(live) = &mut campaign.cases[0].work else {
            panic!("live")
        };
        live.receivers.push(live.receivers[1].clone());
        samples::capture_mut(&mut campaign.cases[0], 2).immediate ^= true;
        let known = Known {
            occasion: occasion(1_000, 1),
            age_days: 1,
        };
        let arms: Vec<_> = of(&campaign, &[known])
            .into_iter()
            .map(|floor| (floor.arm.unwrap(), floor.only))
            .collect();
        assert_eq!(
            arms,
            [
                ("candidate".to_owned(), None),
                ("other".to_owned(), Some("baseline".to_owned()))
            ]
        );
    }

    #[test]
    fn what_is_old_or_of_another_class_or_conditions_is_not_used() {
        let root = tempfile::tempdir().unwrap();
        keep(root.path(), &occasion(1_000, 15)).unwrap();
        assert_eq!(
            read(root.path(), Some(CLASS), NOW_NS),
            Read::default(),
            "too old"
        );
        keep(root.path(), &occasion(2_000, 14)).unwrap();
        let one = read(root.path(), Some(CLASS), NOW_NS);
        assert_eq!(one.known.len(), 1);
        assert_eq!(read(root.path(), Some("8c1e"), NOW_NS), Read::default());
        for change in [
            |campaign: &mut Campaign| {
                samples::live_mut(&mut campaign.cases[0]).traffic.rate_pps += 1
            },
            |campaign: &mut Campaign| {
                for arm in [0, 1] {
                    samples::capture_mut(&mut campaign.cases[0], arm).immediate ^= true;
                }
            },
            |campaign: &mut Campaign| campaign.design.foreign_cpu = 0.5,
        ] {
            let mut campaign = aa().campaign;
            assert_eq!(of(&campaign, &one.known).len(), 1);
            change(&mut campaign);
            assert_eq!(of(&campaign, &one.known), []);
        }
        let mut other = aa().campaign;
        other.topology.port += 10;
        other.cases[0].name = "renamed".into();
        assert_eq!(of(&other, &one.known).len(), 1);
    }

    #[test]
    fn a_file_that_was_touched_is_ignored_with_a_note() {
        let root = tempfile::tempdir().unwrap();
        let good = occasion(1_000, 1);
        keep(root.path(), &good).unwrap();
        let folder = root.path().join("floors/7c1e");
        let path = folder.join(good.place().unwrap().1);
        let text = fs::read_to_string(&path).unwrap();
        // What is there is never overwritten.
        let mut better = good.clone();
        better.floors.clear();
        keep(root.path(), &better).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);

        // What a full disk left of it is no floor, and is written again.
        fs::write(&path, "").unwrap();
        keep(root.path(), &good).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(names(&folder).len(), 1, "nothing half written is left");

        fs::write(&path, text.replacen("\"pairs\": 6", "\"pairs\": 200", 1)).unwrap();
        fs::write(folder.join("notes.txt"), "hello").unwrap();
        let touched = read(root.path(), Some(CLASS), NOW_NS);
        assert_eq!(touched.known, []);
        let note = touched.note.unwrap();
        assert!(note.contains(" and 1 more: not a floor"), "{note}");

        fs::write(&path, &text).unwrap();
        fs::remove_file(folder.join("notes.txt")).unwrap();
        assert_eq!(read(root.path(), Some(CLASS), NOW_NS).known.len(), 1);
        // The same digits, another class.
        let other = read(root.path(), Some("7c1e5eed00000000"), NOW_NS);
        assert!(other.known.is_empty() && other.note.is_some());
        let early = read(root.path(), Some(CLASS), NOW_NS - 2 * DAY_NS);
        assert!(
            early.known.is_empty() && early.note.is_some(),
            "from the future"
        );
    }

    #[test]
    fn broken_evidence_leaves_no_floor() {
        let plan = aa();
        let mut analysis = finished(&plan, 1_000);
        for one in &mut analysis.comparisons {
            one.verdict = one.verdict.map(|_| Verdict::Invalid);
        }
        assert_eq!(
            Occasion::of(&plan, &analysis, CLASS, clock::rfc3339(NOW_NS), None),
            None
        );
    }
}
