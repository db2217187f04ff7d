//! The order of every step of a pair and of a campaign, on a host that only writes them down.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fake;

use fake::campaign::{plan, programs, setting};
use fake::{FakeHost, Fault};
use wiretrial::campaign::overrides::Overrides;
use wiretrial::campaign::{file, plan as sealing};
use wiretrial::evidence::chain::Chain;
use wiretrial::evidence::folder::Folder;
use wiretrial::evidence::json::pretty;
use wiretrial::evidence::rows::{self, Rows};
use wiretrial::evidence::{replay, verify};
use wiretrial::judge;
use wiretrial::pilot;
use wiretrial::run;
use wiretrial::trial::next::{Next, next};
use wiretrial::trial::pair::{self, PairRun};
use wiretrial::trial::pairs;
use wiretrial::trial::setting::Job;
use wiretrial_contract::analysis::{Analysis, LoadVerdict, Reason, Verdict};
use wiretrial_contract::digest::sha256;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{Campaign, LaunchOrder, Plan, Seed};
use wiretrial_contract::record::{
    Delivery, LedgerState, Outcome, Phase, Share, Stage, Step, TrialRecord,
};
use wiretrial_reports::{csv, screen, table};

const PLAN_SHA256: &str = "00";

/// Runs the first pair of the plan that is launched in this order, to its end or until a signal.
fn pair(plan: &Plan, order: LaunchOrder, host: &mut FakeHost) -> PairRun {
    let programs = programs();
    let setting = setting(plan, &programs);
    let planned = plan
        .pairs
        .iter()
        .find(|planned| planned.order == order)
        .unwrap();
    let mut all = PairRun {
        rows: Vec::new(),
        stopped: None,
    };
    for arms in setting.together(planned) {
        let job = Job {
            planned,
            phase: Phase::Confirm,
            replaces: None,
            arms: &arms,
        };
        let mut run = pair::run(host, &setting, &job, &all.rows);
        all.rows.append(&mut run.rows);
        all.stopped = run.stopped;
    }
    all
}

fn refs(rows: &[TrialRecord]) -> Vec<&TrialRecord> {
    rows.iter().collect()
}

#[test]
fn every_step_of_an_interleaved_pair() {
    let mut host = FakeHost::new(&[]);
    let run = pair(&plan(&[]), LaunchOrder::CandidateFirst, &mut host);
    let expected = "\
wait until quiet
launch receiver of candidate
launch receiver of baseline
launch generator
prepare -> receiver of candidate
ready <- receiver of candidate
prepare -> receiver of baseline
ready <- receiver of baseline
prepare -> generator
ready <- generator
probe -> generator
seen <- receiver of candidate
seen <- receiver of baseline
armed <- receiver of candidate
armed <- receiver of baseline
counters of 3 processes
go -> generator
done <- generator
stop -> receiver of candidate
stop -> receiver of baseline
done <- receiver of candidate
done <- receiver of baseline
counters again
report <- generator
report <- receiver of candidate
report <- receiver of baseline
end generator
end receiver of candidate
end receiver of baseline";
    assert_eq!(host.log.borrow().join("\n"), expected);
    assert_eq!(
        run.rows
            .iter()
            .map(|row| row.arm.as_str())
            .collect::<Vec<_>>(),
        ["candidate", "baseline"]
    );
    assert!(pairs::counts(&refs(&run.rows)));
}

#[test]
fn every_step_of_a_sequential_pair() {
    let mut host = FakeHost::new(&[]);
    let plan = plan(&["design.arrangement=sequential"]);
    let run = pair(&plan, LaunchOrder::BaselineFirst, &mut host);
    let member = |arm: &str| {
        format!(
            "\
wait until quiet
launch receiver of {arm}
launch generator
prepare -> receiver of {arm}
ready <- receiver of {arm}
prepare -> generator
ready <- generator
probe -> generator
seen <- receiver of {arm}
armed <- receiver of {arm}
counters of 2 processes
go -> generator
done <- generator
stop -> receiver of {arm}
done <- receiver of {arm}
counters again
report <- generator
report <- receiver of {arm}
end generator
end receiver of {arm}"
        )
    };
    assert_eq!(
        host.log.borrow().join("\n"),
        format!("{}\n{}", member("baseline"), member("candidate"))
    );
    assert!(pairs::counts(&refs(&run.rows)));
}

#[test]
fn a_receiver_that_dies_is_a_row_and_its_partner_is_voided() {
    let mut host = FakeHost::new(&[Fault::DiesWhenArming("candidate")]);
    let run = pair(&plan(&[]), LaunchOrder::BaselineFirst, &mut host);
    let log = host.log.borrow().join("\n");
    assert!(!log.contains("go -> generator"), "nothing is sent:\n{log}");
    assert!(
        log.ends_with("end generator\nend receiver of baseline\nend receiver of candidate"),
        "everything is ended:\n{log}"
    );
    let outcomes: Vec<_> = run
        .rows
        .iter()
        .map(|row| (row.arm.as_str(), &row.outcome))
        .collect();
    let failed = Outcome::Failed {
        step: Step::Arm,
        cause: "receiver of candidate ended (signal 9)".into(),
        code: 4,
    };
    assert_eq!(
        outcomes,
        [("baseline", &Outcome::Voided), ("candidate", &failed)]
    );
    assert!(run.stopped.is_none());
}

#[test]
fn a_signal_ends_the_pair_and_voids_both_members() {
    let mut host = FakeHost::new(&[Fault::SignalWhileSending]);
    let run = pair(&plan(&[]), LaunchOrder::BaselineFirst, &mut host);
    assert_eq!(run.stopped, Some(Failure::interrupted()));
    assert!(pairs::interrupted(&refs(&run.rows)));
    assert!(
        host.log
            .borrow()
            .join("\n")
            .contains("end receiver of candidate")
    );
}

/// Runs a whole campaign; what ended it, its rows and its analysis.
fn campaign(plan: &Plan, faults: &[Fault]) -> (Next, Vec<TrialRecord>, Analysis) {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = Rows::create(folder.path(), PLAN_SHA256).unwrap();
    let (programs, mut records) = (programs(), Vec::new());
    let setting = setting(plan, &programs);
    let mut host = FakeHost::new(faults);
    run::run(
        &mut host,
        &setting,
        plan,
        &mut rows,
        &mut records,
        &mut |_| (),
    )
    .unwrap();
    let bytes = std::fs::read(folder.path().join(rows::FILE)).unwrap();
    let read: Result<Vec<_>, _> = Chain::new(&bytes[..], PLAN_SHA256).collect();
    assert_eq!(
        read.unwrap(),
        records,
        "what is on disk is what was measured"
    );
    let identity = judge::Identity {
        plan_sha256: PLAN_SHA256.into(),
        rows_sha256: "11".into(),
        host_class: "7c1e".into(),
        host: "a host".into(),
    };
    let analysis = judge::analyse(plan, &records, &identity);
    (next(plan, &records), records, analysis)
}

/// Baseline 3,000 ns of CPU and 2,000 ns in the kernel, candidate 500 and 2,000.
#[test]
fn a_campaign_gives_the_ratio_its_costs_have() {
    let plan = plan(&[]);
    let (end, records, analysis) = campaign(&plan, &[]);
    assert_eq!((end, records.len()), (Next::Finished, 24));
    let primary: Vec<_> = analysis.comparisons.iter().filter(|c| c.primary).collect();
    assert_eq!(primary.len(), 2);
    for comparison in primary {
        assert_eq!(comparison.verdict, Some(Verdict::ImprovedWorthwhile));
        assert!(
            (comparison.ratio.unwrap() - 0.5).abs() < 1e-12,
            "{:?}",
            comparison.ratio
        );
        assert_eq!(comparison.pairs, 6);
    }
    assert!(
        analysis
            .loads
            .iter()
            .all(|load| load.verdict == LoadVerdict::Pass),
        "{:#?}",
        analysis.loads
    );
    assert!(
        analysis.validity.iter().all(|check| check.holds),
        "{:#?}",
        analysis.validity
    );
    assert_eq!(judge::exit_code(&analysis), (0, None));
}

#[test]
fn rows_come_in_the_order_of_the_plan() {
    let plan = plan(&[]);
    let (_, records, _) = campaign(&plan, &[]);
    let ran: Vec<(u64, &str)> = records
        .iter()
        .map(|row| (row.pair, row.arm.as_str()))
        .collect();
    let planned: Vec<(u64, &str)> = plan
        .pairs
        .iter()
        .flat_map(|planned| {
            let arms = planned
                .order
                .arms()
                .into_iter()
                .map(|arm| plan.campaign.arms[arm].name.as_str());
            arms.map(|arm| (planned.pair, arm))
        })
        .collect();
    assert_eq!(ran, planned);
}

#[test]
fn a_loss_of_one_in_a_hundred_is_found_in_the_ring_and_nothing_is_compared() {
    let (_, records, analysis) = campaign(&plan(&[]), &[Fault::Drops("candidate", 100)]);
    let row = records.iter().find(|row| row.arm == "candidate").unwrap();
    let ledger = row.ledger.as_ref().unwrap();
    assert_eq!(ledger.state, LedgerState::Balanced);
    assert_eq!(
        ledger.lost_at[&Stage::Ring],
        Some(Share::Count(ledger.accepted / 100))
    );
    let load = analysis
        .loads
        .iter()
        .find(|load| load.arm == "candidate")
        .unwrap();
    assert_eq!(load.verdict, LoadVerdict::Fail);
    let comparison = analysis.comparisons.iter().find(|c| c.primary).unwrap();
    assert_eq!(comparison.verdict, Some(Verdict::NotComparable));
    assert_eq!(comparison.reasons[0], Reason::UnequalWork);
    assert_eq!(judge::exit_code(&analysis).0, 4);
}

#[test]
fn a_candidate_that_always_dies_ends_every_case() {
    let plan = plan(&[]);
    let (end, records, analysis) = campaign(&plan, &[Fault::DiesWhenArming("candidate")]);
    let most = plan.campaign.design.replacements as usize;
    let cases = analysis.comparisons.iter().filter(|c| c.primary);
    assert_eq!(
        (end, records.len()),
        (Next::Finished, cases.clone().count() * (most + 1) * 2)
    );
    assert_eq!(judge::exit_code(&analysis).0, 4);
    for comparison in cases {
        assert_eq!(comparison.verdict, Some(Verdict::Invalid));
        assert_eq!(comparison.reasons[0], Reason::ReplacementsExhausted);
    }
}

#[test]
fn a_resumed_campaign_has_the_same_analysis() {
    let plan = plan(&[]);
    let (_, whole, analysis) = campaign(&plan, &[]);
    let programs = programs();
    let setting = setting(&plan, &programs);
    for rows_before in [0, 2, 10, 22] {
        let folder = tempfile::tempdir().unwrap();
        let mut rows = Rows::create(folder.path(), PLAN_SHA256).unwrap();
        let mut records = whole[..rows_before].to_vec();
        rows.append(&mut records).unwrap();
        let mut host = FakeHost::new(&[]);
        run::run(
            &mut host,
            &setting,
            &plan,
            &mut rows,
            &mut records,
            &mut |_| (),
        )
        .unwrap();
        let identity = judge::Identity {
            plan_sha256: PLAN_SHA256.into(),
            rows_sha256: "11".into(),
            host_class: "7c1e".into(),
            host: "a host".into(),
        };
        assert_eq!(judge::analyse(&plan, &records, &identity), analysis);
    }
}

/// Runs the pilot of a plan: its plan, its rows, and the bytes they are on disk.
fn piloted(plan: &Plan, faults: &[Fault]) -> (Plan, Vec<TrialRecord>, Vec<u8>) {
    let own = pilot::plan(plan).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut rows = Rows::create(folder.path(), "01").unwrap();
    let programs = programs();
    let mut host = FakeHost::new(faults);
    let setting = setting(&own, &programs);
    let records = run::pilot(&mut host, &setting, &own, &mut rows, &mut |_| ()).unwrap();
    let bytes = std::fs::read(folder.path().join(rows::FILE)).unwrap();
    (own, records, bytes)
}

#[test]
fn a_pilot_is_three_pairs_a_case_that_are_never_in_an_estimate() {
    let plan = plan(&[]);
    let (own, pilot_rows, bytes) = piloted(&plan, &[]);
    assert_eq!(pilot_rows.len(), 12);
    assert!(pilot_rows.iter().all(|row| row.phase == Phase::Pilot));
    assert_eq!(replay::check_pilot(&own, &pilot_rows), Ok(()));
    let short = replay::check_pilot(&own, &pilot_rows[..10]).unwrap_err();
    assert!(short.message.contains("ends before its pair 5"), "{short}");

    // Its rows do not hang on the campaign's plan, and would not be taken for its rows.
    let foreign: Result<Vec<_>, _> = Chain::new(&bytes[..], PLAN_SHA256).collect();
    assert_eq!(foreign.unwrap_err().code, 5);
    let as_rows = replay::check(&plan, &pilot_rows).unwrap_err();
    assert_eq!(as_rows.code, 5, "{as_rows}");

    // Even among them they would be in no comparison.
    let (_, mut records, analysis) = campaign(&plan, &[]);
    records.extend(pilot_rows.into_iter().map(|row| TrialRecord {
        pair: row.pair + 1_000,
        ..row
    }));
    let identity = judge::Identity {
        plan_sha256: PLAN_SHA256.into(),
        rows_sha256: "11".into(),
        host_class: "7c1e".into(),
        host: "a host".into(),
    };
    let mixed = judge::analyse(&plan, &records, &identity);
    assert_eq!(mixed.comparisons, analysis.comparisons);
    assert_eq!(mixed.loads, analysis.loads);
}

/// The fake host's costs do not vary at all.
#[test]
fn what_a_pilot_shows_is_in_the_plan() {
    let mut plan = plan(&[]);
    let (own, rows, _) = piloted(&plan, &[]);
    let (design, seen) = pilot::decided(&plan.campaign.design, Some(&(own, rows))).unwrap();
    assert_eq!(design, plan.campaign.design);
    let cases: Vec<&str> = seen.iter().map(|case| case.case.as_str()).collect();
    assert_eq!(cases, ["20k", "50k"]);
    for case in &seen {
        assert_eq!((case.pairs, case.pairs_needed), (3, Some(6)));
        assert!(case.detectable.unwrap() < 1e-9, "{case:?}");
        assert!((case.worthwhile.unwrap() - 0.03).abs() < 1e-9, "{case:?}");
        assert!(case.pair_ns.unwrap() > 0);
    }
    plan.pilot = seen;
    assert!(
        pilot::outlook::line(&plan).starts_with("this host can see about 0.000 % with 6 pairs"),
        "{}",
        pilot::outlook::line(&plan)
    );
}

/// Writes plan and rows of a pilot as a session does.
fn keep_pilot(folder: &Folder, own: &Plan, rows: &[TrialRecord]) {
    let bytes = pretty(own);
    folder.write("pilot/plan.json", &bytes).unwrap();
    let place = folder.path().join("pilot");
    let _ = std::fs::remove_file(place.join(rows::FILE));
    let mut chain = Rows::create(&place, &sha256(&bytes)).unwrap();
    chain.append(&mut rows.to_vec()).unwrap();
}

#[test]
fn verify_makes_the_numbers_of_a_pilot_again_from_its_rows() {
    let mut plan = plan(&[]);
    let (own, rows, _) = piloted(&plan, &[]);
    let piloted = (own, rows);
    (_, plan.pilot) = pilot::decided(&plan.campaign.design, Some(&piloted)).unwrap();
    let (own, rows) = piloted;
    let root = tempfile::tempdir().unwrap();
    let folder = Folder::create(&root.path().join("x")).unwrap();
    keep_pilot(&folder, &own, &rows);
    assert_eq!(verify::check_pilot(&folder, &plan), Ok(()));

    let refused = |plan: &Plan, what: &str| {
        let failure = verify::check_pilot(&folder, plan).unwrap_err();
        assert_eq!(failure.code, 5);
        assert!(failure.message.contains(what), "{failure}");
    };
    let mut better = plan.clone();
    better.pilot[1].detectable = Some(0.001);
    refused(&better, "plan.json /pilot/1/detectable");
    better.pilot.clear();
    refused(&better, "plan.json /pilot");
    let mut other = plan.clone();
    other.seed = Seed(1);
    refused(&other, "it is not the pilot of the sealed plan");
    let mut timed = plan.clone();
    timed.campaign.design.time_ns = Some(60_000_000_000);
    refused(&timed, "it is not the pilot of the sealed plan");

    // Rows with a chain that holds, and another story.
    let mut told = rows.clone();
    for row in told.iter_mut().filter(|row| row.pair >= 4) {
        row.ended_ns += 1_000_000_000;
    }
    keep_pilot(&folder, &own, &told);
    refused(&plan, "/pair_ns");
    keep_pilot(&folder, &own, &rows[..10]);
    refused(&plan, "the pilot ends before its pair 5");
    std::fs::write(folder.path().join("pilot/trials.jsonl"), "{}\n").unwrap();
    refused(&plan, "row 0");
}

#[test]
fn a_time_chooses_the_pairs_from_the_pilot() {
    let mut plan = plan(&[]);
    let declared = plan.campaign.design.clone();
    plan.campaign.design.time_ns = Some(60_000_000_000);
    let (own, rows, _) = piloted(&plan, &[]);
    let piloted = (own, rows);
    let (design, seen) = pilot::decided(&plan.campaign.design, Some(&piloted)).unwrap();
    let round_ns: u64 = seen.iter().map(|case| case.pair_ns.unwrap()).sum();
    assert!(
        design.pairs.is_multiple_of(2) && design.pairs > 6,
        "{design:?}"
    );
    assert!(u64::from(design.pairs) * round_ns <= 60_000_000_000);
    assert!(u64::from(design.pairs + 2) * round_ns > 60_000_000_000);
    assert_eq!(design.replacements, design.pairs / 6);
    // The same question, however many fit.
    let campaign = |design| Campaign {
        design,
        ..plan.campaign.clone()
    };
    assert_eq!(
        sealing::question_sha256(&campaign(design)),
        sealing::question_sha256(&plan.campaign)
    );
    assert_eq!(
        sealing::question_sha256(&campaign(declared)),
        sealing::question_sha256(&plan.campaign)
    );
    plan.campaign.design.time_ns = Some(1);
    let short = pilot::decided(&plan.campaign.design, Some(&piloted)).unwrap_err();
    assert_eq!(short.code, 2, "{short}");
}

#[test]
fn a_pilot_whose_candidate_dies_is_unknown_and_no_failure() {
    let plan = plan(&[]);
    let (own, rows, _) = piloted(&plan, &[Fault::DiesWhenArming("candidate")]);
    let pairs: std::collections::BTreeSet<u64> = rows.iter().map(|row| row.pair).collect();
    assert_eq!(pairs.len(), 12, "every pair is replaced once");
    assert_eq!(replay::check_pilot(&own, &rows), Ok(()));
    let (_, seen) = pilot::decided(&plan.campaign.design, Some(&(own, rows))).unwrap();
    for case in &seen {
        assert_eq!((case.pairs, case.sd, case.detectable), (0, None, None));
    }
}

#[test]
fn a_budget_ends_a_campaign_between_pairs_and_nothing_is_decided() {
    let mut plan = plan(&[]);
    let (_, whole, _) = campaign(&plan, &[]);
    let ended_ns = |pair: u64| {
        let rows = whole.iter().filter(|row| row.pair == pair);
        rows.map(|row| row.ended_ns).max().unwrap()
    };
    plan.campaign.design.budget_ns = Some(ended_ns(10));
    let (end, records, analysis) = campaign(&plan, &[]);
    assert_eq!((end, records.len()), (Next::Spent, 22));
    assert_eq!(replay::check(&plan, &records), Ok(()));
    let more = replay::check(&plan, &whole).unwrap_err();
    assert!(more.message.contains("was over before it"), "{more}");
    assert_eq!(judge::exit_code(&analysis).0, 4);
    let short = analysis.comparisons.iter().filter(|c| c.primary);
    let short: Vec<_> = short.filter(|c| c.pairs < 6).collect();
    assert_eq!(short.len(), 1);
    assert_eq!(short[0].verdict, Some(Verdict::Incomplete));
    assert_eq!(short[0].reasons[0], Reason::BudgetExhausted);
}

const TABLE: &str = r#"schema = 1
kind = "table"
[design]
pairs = 6
margin = "3%"
reference = "base"
layout-control = "again"
[arm.candidate.receiver]
immediate = true
[arm.base.receiver]
immediate = false
[arm.again.receiver]
immediate = false
[[case]]
name = "20k"
traffic.rate-pps = 20000
"#;

/// The candidate costs 500 ns of CPU a packet, the others 3,000; in the kernel all cost 2,000.
#[test]
fn a_table_sets_every_arm_beside_its_reference() {
    let table = file::parse("t.toml", TABLE, &Overrides::default()).unwrap();
    let plan = fake::campaign::sealed(table);
    let (end, records, analysis) = campaign(&plan, &[]);
    assert_eq!((end, records.len()), (Next::Finished, 18));
    let first: std::collections::BTreeSet<&str> = records
        .chunks(3)
        .map(|round| round[0].arm.as_str())
        .collect();
    assert_eq!(first.len(), 3, "each arm is launched first in some round");
    let estimates: Vec<_> = analysis
        .estimates
        .iter()
        .filter(|one| one.metric == plan.campaign.design.primary)
        .map(|one| (one.arm.as_str(), one.reference, one.rounds))
        .collect();
    assert_eq!(
        estimates,
        [
            ("base", true, 6),
            ("candidate", false, 6),
            ("again", false, 6)
        ]
    );
    let primary: Vec<_> = analysis
        .comparisons
        .iter()
        .filter(|one| one.primary)
        .map(|one| (one.label(), one.verdict.unwrap()))
        .collect();
    assert_eq!(
        primary,
        [
            ("20k candidate".into(), Verdict::ImprovedWorthwhile),
            ("20k again".into(), Verdict::Equivalent)
        ]
    );
    assert_eq!(analysis.answer.word, "table");
    assert_eq!(judge::exit_code(&analysis), (0, None));
    replay::check(&plan, &records).unwrap();
    insta::assert_snapshot!(shown(&analysis));
    insta::assert_snapshot!(csv::render(&table::arms(
        &analysis,
        plan.campaign.design.primary
    )));
    let lost = &[Fault::Drops("again", 100)];
    let (_, _, analysis) = campaign(&plan, lost);
    assert_eq!(
        judge::exit_code(&analysis).0,
        4,
        "arms that did unequal work"
    );
}

fn shown(analysis: &Analysis) -> String {
    let session = screen::Session {
        elapsed_ns: 60_000_000_000,
        sending_ns: 40_000_000_000,
        evidence_path: "evidence/t".into(),
        notes: Vec::new(),
    };
    screen::screen(analysis, &session, screen::Colour::Never)
}

/// The control arm costs 6 times what its reference does: so does its layout, for all anyone knows.
#[test]
fn an_arm_is_worthwhile_only_where_the_layout_is_not() {
    let moved = TABLE.replace(
        "layout-control = \"again\"",
        "layout-control = \"candidate\"",
    );
    let moved = moved.replace(
        "[arm.base.receiver]",
        "[arm.candidate2.receiver]\nimmediate = true\n[arm.base.receiver]",
    );
    let table = file::parse("t.toml", &moved, &Overrides::default()).unwrap();
    let plan = fake::campaign::sealed(table);
    let (_, _, analysis) = campaign(&plan, &[Fault::Varies]);
    let capped = analysis
        .comparisons
        .iter()
        .find(|one| one.primary && one.arm.as_deref() == Some("candidate"))
        .unwrap();
    assert_eq!(capped.verdict, Some(Verdict::Improved));
    assert!(capped.reasons.contains(&Reason::LayoutSensitive));
    assert_eq!(
        capped.randomization_p, None,
        "orders of a table are drawn for all its arms at once"
    );
}

/// One trial of the control arm has no value: what its layout does is then not known, and not nothing.
#[test]
fn a_layout_that_is_not_known_lets_no_arm_be_worthwhile() {
    let table = file::parse("t.toml", TABLE, &Overrides::default()).unwrap();
    let plan = fake::campaign::sealed(table);
    let (_, mut rows, known) = campaign(&plan, &[Fault::Varies]);
    let of_candidate = |analysis: &Analysis| {
        let comparisons = analysis.comparisons.iter();
        let mut own =
            comparisons.filter(|one| one.primary && one.arm.as_deref() == Some("candidate"));
        own.next().cloned().unwrap()
    };
    assert_eq!(
        of_candidate(&known).verdict,
        Some(Verdict::ImprovedWorthwhile)
    );
    let control = plan.campaign.design.layout_control.clone().unwrap();
    let row = rows.iter_mut().find(|row| row.arm == control).unwrap();
    let Some(Delivery::Sequences(report)) = &mut row.delivery else {
        panic!("a receiver's report")
    };
    report.process_cpu_ns = None;
    let identity = judge::Identity {
        plan_sha256: "aa".into(),
        rows_sha256: "bb".into(),
        host_class: "cc".into(),
        host: "a host".into(),
    };
    let analysis = judge::analyse(&plan, &rows, &identity);
    let capped = of_candidate(&analysis);
    assert_eq!(capped.verdict, Some(Verdict::Improved));
    assert!(capped.reasons.contains(&Reason::LayoutUnknown));
}
