//! The order of every step of a pair and of a campaign, on a host that only writes them down.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fake;

use fake::campaign::{plan, programs, setting};
use fake::{FakeHost, Fault};
use wiretrial::evidence::rows::{self, Rows, read_chain};
use wiretrial::judge;
use wiretrial::run::{self, End};
use wiretrial::trial::pair::{self, PairRun};
use wiretrial::trial::pairs;
use wiretrial::trial::setting::Job;
use wiretrial_contract::analysis::{Analysis, LoadVerdict, Verdict};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{LaunchOrder, Plan};
use wiretrial_contract::record::{LedgerState, Outcome, Phase, Share, Stage, Step, TrialRecord};

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

/// Runs a whole campaign; its end, its rows and its analysis.
fn campaign(plan: &Plan, faults: &[Fault]) -> (End, Vec<TrialRecord>, Analysis) {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = Rows::create(folder.path(), PLAN_SHA256).unwrap();
    let (programs, mut records) = (programs(), Vec::new());
    let setting = setting(plan, &programs);
    let mut host = FakeHost::new(faults);
    let end = run::run(
        &mut host,
        &setting,
        plan,
        &mut rows,
        &mut records,
        &mut |_| (),
    )
    .unwrap();
    let bytes = std::fs::read(folder.path().join(rows::FILE)).unwrap();
    let (read, _) = read_chain(&bytes, PLAN_SHA256).unwrap();
    assert_eq!(read, records, "what is on disk is what was measured");
    let identity = judge::Identity {
        plan_sha256: PLAN_SHA256.into(),
        rows_sha256: "11".into(),
        host_class: "7c1e".into(),
        host: "a host".into(),
    };
    let analysis = judge::analyse(plan, &records, &identity);
    (end, records, analysis)
}

/// Baseline 3,000 ns of CPU and 2,000 ns in the kernel, candidate 500 and 2,000.
#[test]
fn a_campaign_gives_the_ratio_its_costs_have() {
    let plan = plan(&[]);
    let (end, records, analysis) = campaign(&plan, &[]);
    assert_eq!((end, records.len()), (End::Finished, 24));
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
    assert_eq!(comparison.reasons[0], "unequal_work");
    assert_eq!(judge::exit_code(&analysis).0, 4);
}

#[test]
fn a_candidate_that_always_dies_ends_the_campaign() {
    let (end, records, analysis) = campaign(&plan(&[]), &[Fault::DiesWhenArming("candidate")]);
    assert_eq!(end, End::Exhausted);
    assert!(!records.is_empty());
    assert_eq!(judge::exit_code(&analysis).0, 4);
    let comparison = analysis.comparisons.iter().find(|c| c.primary).unwrap();
    assert!(matches!(
        comparison.verdict,
        Some(Verdict::Invalid | Verdict::Incomplete)
    ));
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
