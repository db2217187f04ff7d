//! Golden screens, and the limits on lines and columns.

use wiretrial_contract::analysis::{Analysis, PassSummary, Verdict, WorkProof};
use wiretrial_reports::screen::{Colour, LINES, WIDTH, screen};

use crate::fixture;
use crate::noise;

fn plain(analysis: &Analysis) -> String {
    screen(analysis, &fixture::session(), Colour::Never)
}

fn campaigns() -> Vec<Analysis> {
    vec![
        fixture::demo(),
        fixture::six(),
        fixture::eight(),
        fixture::invalid(),
        fixture::without_margin(),
        fixture::same_arms(),
        fixture::open(),
        fixture::file(),
        fixture::commands(),
        fixture::wrong_work(),
        fixture::outside(),
        noise::flagged(),
        noise::equal(),
        noise::differences(),
        noise::below_floor(),
    ]
}

#[test]
fn demo() {
    insta::assert_snapshot!(plain(&fixture::demo()));
}

#[test]
fn six_cases() {
    insta::assert_snapshot!(plain(&fixture::six()));
}

#[test]
fn eight_cases_show_the_six_worst() {
    insta::assert_snapshot!(plain(&fixture::eight()));
}

#[test]
fn invalid() {
    insta::assert_snapshot!(plain(&fixture::invalid()));
}

#[test]
fn without_margin() {
    insta::assert_snapshot!(plain(&fixture::without_margin()));
}

#[test]
fn same_arms() {
    insta::assert_snapshot!(plain(&fixture::same_arms()));
}

#[test]
fn open() {
    insta::assert_snapshot!(plain(&fixture::open()));
}

#[test]
fn file() {
    insta::assert_snapshot!(plain(&fixture::file()));
}

#[test]
fn commands() {
    insta::assert_snapshot!(plain(&fixture::commands()));
}

#[test]
fn wrong_work() {
    insta::assert_snapshot!(plain(&fixture::wrong_work()));
}

#[test]
fn outside_programs() {
    insta::assert_snapshot!(plain(&fixture::outside()));
}

/// Six cases of passes: two rows a case do not fit, and those with wrong work are kept.
#[test]
fn six_cases_of_passes_fit() {
    let mut analysis = fixture::six();
    let file = fixture::wrong_work();
    analysis.conditions.workload = file.conditions.workload;
    analysis.conditions.arms = file.conditions.arms;
    analysis.loads.clear();
    for comparison in &analysis.comparisons {
        for work in &file.passes[2..4] {
            analysis.passes.push(PassSummary {
                case: comparison.case.clone(),
                ..work.clone()
            });
        }
    }
    analysis.passes[9].proof = WorkProof::Wrong;
    fixture::judge(&mut analysis);
    let text = plain(&analysis);
    assert!(text.lines().count() <= LINES, "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= WIDTH),
        "{text}"
    );
    assert!(text.contains(" wrong"), "{text}");
}

#[test]
fn no_screen_is_wider_than_100_columns_or_longer_than_24_lines() {
    for analysis in campaigns() {
        let text = plain(&analysis);
        for line in text.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
            assert_eq!(line, line.trim_end());
        }
        let more = usize::from(text.contains(" more: report.md\npackets"));
        assert!(text.lines().count() <= LINES + more, "{text}");
    }
}

/// One to six cases, with everything that makes lines: each must keep the limits.
#[test]
fn every_number_of_cases_up_to_six_fits() {
    for cases in 1..=6 {
        let mut analysis = fixture::six();
        let kept: Vec<String> = analysis
            .comparisons
            .iter()
            .take(cases)
            .map(|one| one.case.clone())
            .collect();
        analysis.comparisons.truncate(cases);
        analysis.loads.retain(|load| kept.contains(&load.case));
        fixture::judge(&mut analysis);
        let text = plain(&analysis);
        assert!(text.lines().count() <= LINES, "{text}");
        for case in kept {
            assert!(text.lines().any(|line| line.starts_with(&case)), "{text}");
        }
    }
}

#[test]
fn the_worst_cases_are_shown_first_and_the_others_counted() {
    let mut analysis = fixture::eight();
    analysis.comparisons[7].verdict = Some(Verdict::Invalid);
    let case = analysis.comparisons[6].case.clone();
    analysis.comparisons[6] = fixture::effect(
        &case,
        [1_000.0, 1_080.0],
        [6.0, 10.0],
        Verdict::RegressedWorthwhile,
    );
    fixture::judge(&mut analysis);
    let text = plain(&analysis);
    let rows: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("case"))
        .skip(1)
        .take(7)
        .collect();
    assert!(
        rows[0].contains("size-8192") && rows[0].contains("invalid"),
        "{text}"
    );
    assert!(
        rows[1].contains("size-4096") && rows[1].contains("worse, > 3 %"),
        "{text}"
    );
    assert!(
        rows[2].contains("size-2048") && rows[2].contains("not comparable"),
        "{text}"
    );
    // The answer is long, and takes the line of a case: five are shown.
    assert_eq!(rows[5], "3 more: report.md");
}

#[test]
fn colour_adds_and_never_carries() {
    for analysis in campaigns() {
        let coloured = screen(&analysis, &fixture::session(), Colour::Ansi);
        assert!(coloured.contains('\u{1b}'));
        let mut bare = String::new();
        let mut rest = coloured.as_str();
        while let Some((before, after)) = rest.split_once('\u{1b}') {
            bare += before;
            rest = after.split_once('m').map_or("", |(_, text)| text);
        }
        bare += rest;
        assert_eq!(bare, plain(&analysis));
    }
}

#[test]
fn an_analysis_without_cases_still_has_a_screen() {
    let mut analysis = fixture::demo();
    analysis.comparisons.clear();
    analysis.loads.clear();
    analysis.limitations.clear();
    analysis.gates.clear();
    fixture::judge(&mut analysis);
    let text = plain(&analysis);
    assert!(
        text.contains("ANSWER  invalid: no case was compared"),
        "{text}"
    );
    assert!(!text.contains("packets, both arms"), "{text}");
}

/// A month at line rate: the numbers get long, the lines do not.
#[test]
fn long_counts_fit() {
    let mut analysis = fixture::demo();
    for load in &mut analysis.loads {
        load.accepted = 4_000_000_000_000;
        load.unique = 3_999_000_000_000;
        load.lost = 1_000_000_000;
        load.unexplained = -1_000_000_000;
    }
    for comparison in &mut analysis.comparisons {
        comparison.mean_baseline = Some(9_876_543_210.0);
        comparison.mean_candidate = Some(9_876_543_210.0);
    }
    fixture::judge(&mut analysis);
    for line in plain(&analysis).lines() {
        assert!(line.chars().count() <= WIDTH, "{line}");
    }
}

/// One arm with copies too many and one with copies too few are two doubts, not none.
#[test]
fn doubts_of_the_arms_do_not_cancel() {
    let mut analysis = fixture::demo();
    analysis.loads[0].unexplained = 17;
    analysis.loads[1].unexplained = -17;
    analysis.loads[2].unexplained = -3;
    analysis.loads[3].unexplained = -4;
    let text = plain(&analysis);
    let cell = |case: &str| {
        text.lines()
            .skip_while(|line| !line.starts_with("packets"))
            .find(|line| line.starts_with(case))
            .and_then(|line| line.split_whitespace().nth(4))
            .map(str::to_owned)
    };
    assert_eq!(cell("20k").as_deref(), Some("34"), "{text}");
    assert_eq!(cell("50k").as_deref(), Some("-7"), "{text}");
}
