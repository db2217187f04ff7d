//! What the judge derives from the rows, and the reports print: `analysis.json`.
//!
//! Everything here can be computed again from the plan and the rows. Derived floats are rounded to
//! 12 significant digits before they are written.

mod comparison;
mod estimate;
mod family;
mod reason;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::control::Isolation;
use crate::identity::Identity;
use crate::metric::Metric;
use crate::plan::{Arrangement, FailOn, Workload};
use crate::record::{Flag, Share, Stage};

pub use comparison::{
    Comparison, Diagnostics, Fraction, Interval, KnownFloor, LevelShift, Secondary, ShownFloor,
    Variant,
};
pub use estimate::Estimate;
pub use family::{Calibration, Family};
pub use reason::{LoadReason, Reason};

/// Schema of `analysis.json`.
pub const ANALYSIS_SCHEMA: &str = "wiretrial.analysis/3";

/// `analysis.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// [`ANALYSIS_SCHEMA`].
    pub schema: String,
    /// Name of the campaign.
    pub campaign: String,
    /// Its kind.
    pub kind: String,
    /// Its question.
    pub question: String,
    /// SHA-256 of `plan.json`.
    pub plan_sha256: String,
    /// SHA-256 of `trials.jsonl`.
    pub rows_sha256: String,
    /// The answer: one sentence from a fixed list.
    pub answer: Answer,
    /// The verdict of the whole: the worst over the cases' primary comparisons.
    pub verdict: Verdict,
    /// The gates.
    pub gates: Vec<Gate>,
    /// One per case and metric, the primary metric first within a case.
    pub comparisons: Vec<Comparison>,
    /// One per case, arm and metric of a table, the primary metric first within a case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub estimates: Vec<Estimate>,
    /// What the primary comparisons say together, where there are at least two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
    /// What equal arms say of the method; A/A campaigns only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// One per case and arm of live trials.
    pub loads: Vec<Load>,
    /// One per case and arm of passes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<PassSummary>,
    /// The highest sustained rate, packets per second; campaigns that do not look for one have none.
    pub max_sustained: Option<u64>,
    /// The identities and guards, each with both sides' numbers.
    pub validity: Vec<Check>,
    /// What this evidence does not establish.
    pub limitations: Vec<Limitation>,
    /// How far the evidence carries.
    pub class: EvidenceClass,
    /// Why not further; empty for confirmatory evidence.
    pub class_reasons: Vec<String>,
    /// How it was made.
    pub conditions: Conditions,
}

/// The answer: one sentence, in evidence `word: text`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Answer {
    /// `better`, `worse`, `same`, `not decided`, `mixed`, `invalid`.
    pub word: String,
    /// The rest of the sentence.
    pub text: String,
}

impl From<Answer> for String {
    fn from(answer: Answer) -> Self {
        format!("{}: {}", answer.word, answer.text)
    }
}

impl TryFrom<String> for Answer {
    type Error = String;
    fn try_from(sentence: String) -> Result<Self, String> {
        let (word, text) = sentence
            .split_once(": ")
            .ok_or_else(|| format!("\"{sentence}\" is no answer such as \"same: ...\""))?;
        Ok(Self {
            word: word.into(),
            text: text.into(),
        })
    }
}

/// How far evidence carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceClass {
    /// Shows that the parts work.
    Smoke,
    /// Suggests.
    Exploratory,
    /// Sealed, complete, enough pairs.
    Confirmatory,
}

impl EvidenceClass {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Smoke => "smoke",
            Self::Exploratory => "exploratory",
            Self::Confirmatory => "confirmatory",
        }
    }
}

/// Verdict of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better by more than the margin.
    ImprovedWorthwhile,
    /// Better.
    Improved,
    /// The same within the margin.
    Equivalent,
    /// Not decided.
    Inconclusive,
    /// Worse.
    Regressed,
    /// Worse by more than the margin.
    RegressedWorthwhile,
    /// The arms did not do the same work, or the sender was held back by the capture.
    NotComparable,
    /// The result moved during the campaign by more than the margin.
    Unstable,
    /// One arm's trials were voided more often than the other's.
    AsymmetricFailures,
    /// Broken accounting, wrong work or too many voids.
    Invalid,
    /// Not all planned pairs were run.
    Incomplete,
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Self; 11] = [
        Self::ImprovedWorthwhile,
        Self::Improved,
        Self::Equivalent,
        Self::Inconclusive,
        Self::Regressed,
        Self::RegressedWorthwhile,
        Self::NotComparable,
        Self::Unstable,
        Self::AsymmetricFailures,
        Self::Invalid,
        Self::Incomplete,
    ];

    /// Whether the pairs are all there and measure what was asked, so that equal arms under it show how
    /// far apart such come out. Order and time may have moved them.
    #[must_use]
    pub const fn rests_on_its_pairs(self) -> bool {
        match self {
            Self::ImprovedWorthwhile
            | Self::Improved
            | Self::Equivalent
            | Self::Inconclusive
            | Self::Regressed
            | Self::RegressedWorthwhile
            | Self::Unstable => true,
            Self::NotComparable | Self::AsymmetricFailures | Self::Invalid | Self::Incomplete => {
                false
            }
        }
    }

    /// Its name in evidence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ImprovedWorthwhile => "improved_worthwhile",
            Self::Improved => "improved",
            Self::Equivalent => "equivalent",
            Self::Inconclusive => "inconclusive",
            Self::Regressed => "regressed",
            Self::RegressedWorthwhile => "regressed_worthwhile",
            Self::NotComparable => "not_comparable",
            Self::Unstable => "unstable",
            Self::AsymmetricFailures => "asymmetric_failures",
            Self::Invalid => "invalid",
            Self::Incomplete => "incomplete",
        }
    }
}

/// Verdict of a load: does the case stay below the loss limit?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadVerdict {
    /// Every repeat kept the rule and the bound is below the limit.
    Pass,
    /// It did not.
    Fail,
    /// The rule holds but the bound does not, or a single repeat was marginal.
    Inconclusive,
    /// The rate was not reached where the sender does the receive work.
    CoupledLimit,
    /// The rate was not reached: the generator was the limit.
    GeneratorLimited,
    /// Repeats at one rate disagree more than chance allows.
    PathVariable,
    /// Broken accounting.
    Invalid,
}

impl LoadVerdict {
    /// All verdicts of a load.
    pub const ALL: [Self; 7] = [
        Self::Pass,
        Self::Fail,
        Self::Inconclusive,
        Self::CoupledLimit,
        Self::GeneratorLimited,
        Self::PathVariable,
        Self::Invalid,
    ];

    /// Its name in evidence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
            Self::CoupledLimit => "coupled_limit",
            Self::GeneratorLimited => "generator_limited",
            Self::PathVariable => "path_variable",
            Self::Invalid => "invalid",
        }
    }
}

/// One arm of one case, as a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// The case.
    pub case: String,
    /// The arm.
    pub arm: String,
    /// Trials added up.
    pub repeats: u32,
    /// Asked, packets per second: a label.
    pub intended_pps: u64,
    /// Accepted over the measured sending time: the load of record.
    pub offered_pps: Option<f64>,
    /// Unique over first to last consumption; `None` in interleaved trials.
    pub delivered_pps: Option<f64>,
    /// Counted datagrams the sender's kernel accepted.
    pub accepted: u64,
    /// Delivered at least once; the fewest, where `lost_least` is set.
    pub unique: u64,
    /// accepted - unique; the most, where `lost_least` is set.
    pub lost: u64,
    /// Fewest that may have been lost, where a program's counts leave that open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_least: Option<u64>,
    /// Packets that the program's ring took and that it never processed; they are not lost. Unknown
    /// where a trial does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring_tail: Option<u64>,
    /// lost / accepted.
    pub loss_ratio: Option<f64>,
    /// Upper 95 % bound of the loss ratio.
    pub loss_upper95: Option<f64>,
    /// The worst single trial's upper bound.
    pub worst_upper95: Option<f64>,
    /// Lost per thousand within the limit in every trial, in integers; `None` when not known.
    pub rule_ok: Option<bool>,
    /// The lost by stage, `null` where unknown.
    pub lost_at: BTreeMap<Stage, Option<Share>>,
    /// Copies that no counter explains, summed as numbers.
    pub unexplained: i64,
    /// Duplicate copies.
    pub duplicate: Option<u64>,
    /// Reordered datagrams.
    pub reordered: Option<u64>,
    /// Foreign, stale and corrupt copies.
    pub foreign: Option<u64>,
    /// What bounds the load, in fixed words, such as `at_least`.
    pub bounds: Vec<String>,
    /// The verdict.
    pub verdict: LoadVerdict,
    /// Why, the deciding reason first.
    pub reasons: Vec<LoadReason>,
    /// Notes.
    pub flags: Vec<Flag>,
}

impl Load {
    /// Fewest and most packets that were lost; equal where they were counted one by one.
    #[must_use]
    pub fn lost_range(&self) -> (u64, u64) {
        (self.lost_least.unwrap_or(self.lost), self.lost)
    }

    /// Whether nothing at all is known of what was lost.
    #[must_use]
    pub const fn loss_unknown(&self) -> bool {
        matches!(self.lost_least, Some(0)) && self.accepted > 0 && self.lost >= self.accepted
    }
}

/// What an arm's passes in one case did, and what starting them took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassSummary {
    /// The case.
    pub case: String,
    /// The arm.
    pub arm: String,
    /// Passes over the whole input, in all trials that count.
    pub passes: u64,
    /// Units of work of each of them; `None` when they do not say or do not agree.
    pub units: Option<u64>,
    /// `checksum` of each of them; `None` when they do not say or do not agree.
    pub checksum: Option<String>,
    /// Mean time of one, ns.
    pub elapsed_ns: Option<f64>,
    /// Mean CPU time of one, ns.
    pub cpu_ns: Option<f64>,
    /// Mean CPU time of a pass over the short input, ns: what starting takes.
    pub start_up_cpu_ns: Option<f64>,
    /// `start_up_cpu_ns` over `cpu_ns`.
    pub start_up_share: Option<f64>,
    /// Passes that left processes behind: their work is in no time here.
    pub left_processes: u64,
    /// How far the work is known to be right.
    pub proof: WorkProof,
}

/// How far the work of passes is known to be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkProof {
    /// No pass says how much it did.
    None,
    /// Every pass did as many units as it should.
    Units,
    /// The same, and all checksums agree.
    Checksum,
    /// A pass did other work, or none.
    Wrong,
}

impl WorkProof {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::None, Self::Units, Self::Checksum, Self::Wrong];

    /// Its name in evidence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Units => "units",
            Self::Checksum => "checksum",
            Self::Wrong => "wrong",
        }
    }
}

/// A declared or implicit gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Its name.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
    /// Why.
    pub reason: String,
    /// What it says of each case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<GateCase>,
}

/// A gate in one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateCase {
    /// The case.
    pub case: String,
    /// Whether it passed there.
    pub passed: bool,
    /// Why.
    pub reason: String,
}

/// One identity or guard over all trials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What is checked.
    pub name: String,
    /// The left side's numbers.
    pub left: String,
    /// The right side's numbers.
    pub right: String,
    /// Whether it holds in every trial.
    pub holds: bool,
    /// In how many trials it was checked.
    pub trials: u64,
}

/// Something the evidence does not establish.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limitation {
    /// Its word for `explain`.
    pub word: String,
    /// One clause.
    pub text: String,
}

/// How the evidence was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// Version of the harness.
    pub version: String,
    /// Seed, as in the plan.
    pub seed: String,
    /// Isolation.
    pub isolation: Isolation,
    /// Arrangement.
    pub arrangement: Arrangement,
    /// Topology.
    pub topology: String,
    /// Host class: four digits and words.
    pub host_class: String,
    /// Words for the host.
    pub host: String,
    /// Declared margin: a ratio, or a number in the unit of a primary metric that is compared as a
    /// difference.
    pub margin: Option<f64>,
    /// Primary metric.
    pub primary: Metric,
    /// Pairs planned per case.
    pub pairs_planned: u32,
    /// Attempt at this question.
    pub attempt: u32,
    /// SHA-256 of the earlier plans of this question, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_plans: Vec<String>,
    /// How datagrams were sent or what was read, one entry a case.
    pub sending: Vec<String>,
    /// What differs between the arms, one entry a setting.
    pub treatment: Vec<String>,
    /// Pairs planned in all.
    pub pairs_total: u64,
    /// Pairs in the estimates.
    pub pairs_done: u64,
    /// Pairs voided.
    pub pairs_voided: u64,
    /// CPUs of the senders; empty when unpinned.
    pub sender_cpus: Vec<u32>,
    /// CPU of the receivers.
    pub receiver_cpu: Option<u32>,
    /// What the programs were given to do.
    pub workload: Workload,
    /// What was measured in each arm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<ArmIdentity>,
    /// When the gate `no_regression` fails.
    pub fail_on: FailOn,
    /// Whether a case that is not decided ends with exit code 4.
    pub require_conclusion: bool,
}

/// What was measured in an arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArmIdentity {
    /// The arm.
    pub arm: String,
    /// Its executable.
    #[serde(flatten)]
    pub identity: Identity,
}

/// `value` rounded to 12 significant digits, as derived floats are written.
#[must_use]
pub fn round12(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    format!("{value:.11e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_significant_digits() {
        assert!((round12(1.0 / 3.0) - 0.333_333_333_333).abs() < f64::EPSILON);
        assert!((round12(-123_456_789_012_345.0) + 123_456_789_012_000.0).abs() < f64::EPSILON);
        assert!(round12(0.0).abs() < f64::EPSILON);
    }

    #[test]
    fn names_are_what_serde_writes() {
        for verdict in Verdict::ALL {
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.name());
        }
        for verdict in LoadVerdict::ALL {
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.name());
        }
        for proof in WorkProof::ALL {
            assert_eq!(serde_json::to_value(proof).unwrap(), proof.name());
        }
    }

    #[test]
    fn an_arm_is_its_identity() {
        let arm = ArmIdentity {
            arm: "baseline".into(),
            identity: Identity {
                sha256: "4be1".into(),
                ..Identity::default()
            },
        };
        let text = serde_json::to_string(&arm).unwrap();
        assert_eq!(text, r#"{"arm":"baseline","sha256":"4be1"}"#);
        assert_eq!(serde_json::from_str::<ArmIdentity>(&text).unwrap(), arm);
    }
}
