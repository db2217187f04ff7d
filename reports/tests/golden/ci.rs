//! Golden JUnit documents and job summaries.

use wiretrial_contract::analysis::Analysis;
use wiretrial_reports::{answer, junit, summary};

use crate::fixture;

#[test]
fn junit_of_a_worse_case() {
    insta::assert_snapshot!(junit::document(&fixture::file()));
}

#[test]
fn junit_of_wrong_work() {
    insta::assert_snapshot!(junit::document(&fixture::wrong_work()));
}

#[test]
fn junit_of_a_failed_gate() {
    insta::assert_snapshot!(junit::document(&fixture::commands()));
}

#[test]
fn junit_of_an_open_case() {
    insta::assert_snapshot!(junit::document(&fixture::open()));
}

#[test]
fn an_open_case_is_an_error_where_a_conclusion_is_required() {
    let mut analysis = fixture::open();
    analysis.conditions.require_conclusion = true;
    let text = junit::document(&analysis);
    assert!(
        text.contains("failures=\"0\" errors=\"1\" skipped=\"0\""),
        "{text}"
    );
    assert!(text.contains("<error message="), "{text}");
}

/// The counts of a suite are those of its elements.
#[test]
fn the_counts_of_a_suite_are_those_of_its_elements() {
    for analysis in [
        fixture::demo(),
        fixture::six(),
        fixture::eight(),
        fixture::open(),
        fixture::file(),
        fixture::commands(),
        fixture::wrong_work(),
    ] {
        let text = junit::document(&analysis);
        let elements = |name: &str| text.matches(&format!("<{name} ")).count();
        let counts = format!(
            "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
            elements("testcase"),
            elements("failure"),
            elements("error"),
            elements("skipped")
        );
        assert_eq!(text.matches(&counts).count(), 2, "{counts}\n{text}");
        let cases = analysis
            .comparisons
            .iter()
            .filter(|one| one.primary)
            .count();
        assert!(elements("testcase") >= cases);
    }
}

#[test]
fn text_of_users_cannot_leave_its_attribute() {
    let mut analysis = fixture::commands();
    analysis.campaign = "a\"><script>\u{1b}[0m".into();
    analysis.gates[1].cases[0].reason = "]]> & \n<b>".into();
    let text = junit::document(&analysis);
    assert!(
        !text.contains("<script>") && !text.contains("<b>"),
        "{text}"
    );
    assert!(text.contains("]]&gt; &amp; &#10;&lt;b&gt;"), "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
}

#[test]
fn summary_of_a_file() {
    insta::assert_snapshot!(summary::summary(&fixture::file()));
}

#[test]
fn summary_of_outside_programs() {
    insta::assert_snapshot!(summary::summary(&fixture::outside()));
}

#[test]
fn the_first_line_is_the_answer_and_the_second_the_missing_floor() {
    let mut analysis = fixture::file();
    let text = summary::summary(&analysis);
    let mut lines = text.lines();
    let sentence = answer::sentence(&analysis.answer);
    assert_eq!(
        lines.next().map(str::trim_end),
        Some(&*format!("**{sentence}**"))
    );
    assert!(lines.next().unwrap().starts_with("There is no A/A floor"));
    analysis
        .limitations
        .retain(|limit| limit.word != "no_aa_floor");
    assert!(!summary::summary(&analysis).contains("A/A floor"));
}

fn many(cases: u32) -> Analysis {
    let names: Vec<String> = (0..cases)
        .map(|at| format!("case-{at:04}-of-a-sweep"))
        .collect();
    let comparisons = names
        .iter()
        .map(|name| {
            let mut one = fixture::file().comparisons.remove(4);
            one.case.clone_from(name);
            one
        })
        .collect();
    let mut analysis = fixture::analysis(comparisons, Vec::new());
    let file = fixture::file();
    analysis.conditions = file.conditions;
    analysis.passes = names
        .iter()
        .map(|name| {
            let mut work = file.passes[2].clone();
            work.case.clone_from(name);
            work
        })
        .collect();
    fixture::judge(&mut analysis);
    analysis
}

#[test]
fn a_summary_keeps_its_length_by_cutting_rows_and_says_how_many() {
    let text = summary::summary(&many(2_000));
    assert!(text.len() <= summary::MOST_BYTES, "{}", text.len());
    assert!(text.len() > summary::MOST_BYTES / 2, "{}", text.len());
    let shown = text.matches("-of-a-sweep | 8").count();
    let cut = format!("\n\n{} more rows: report.md.", 2_000 - shown);
    assert!(text.contains(&cut), "{shown} {cut}");
    assert!(!summary::summary(&many(20)).contains("more rows"));
}

#[test]
fn even_a_text_of_the_users_does_not_make_it_longer() {
    let mut analysis = fixture::file();
    analysis.question = "é".repeat(60_000);
    let text = summary::summary(&analysis);
    assert!(text.len() <= summary::MOST_BYTES);
    assert!(text.ends_with("report.md has the rest.\n"));
}
