//! JUnit's XML: one suite a campaign, one test case a gate and case of the campaign.
//!
//! A gate that failed is a failure, evidence that does not hold an error, a case that is not decided is
//! skipped. Times are left out: the analysis has none, and unknown is not 0. The elements and
//! attributes are those that the schemas of JUnit reports in use share.

use std::fmt::Write as _;

use wiretrial_contract::analysis::{Analysis, Comparison, Gate, GateCase, Verdict};

use crate::answer;

/// The whole document.
#[must_use]
pub fn document(analysis: &Analysis) -> String {
    let tests: Vec<Test> = analysis
        .gates
        .iter()
        .flat_map(|gate| of_gate(analysis, gate))
        .collect();
    let of = |wanted: fn(&Outcome) -> bool| tests.iter().filter(|t| wanted(&t.outcome)).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        tests.len(),
        of(|outcome| matches!(outcome, Outcome::Failed(_))),
        of(|outcome| matches!(outcome, Outcome::Broken(..))),
        of(|outcome| matches!(outcome, Outcome::Skipped(_))),
    );
    let campaign = escape(&analysis.campaign);
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites name=\"wiretrial\" {counts}>");
    let _ = writeln!(out, "  <testsuite name=\"{campaign}\" {counts}>");
    out += "    <properties>\n";
    for (name, value) in [
        ("answer", answer::sentence(&analysis.answer)),
        ("class", analysis.class.name().into()),
        ("plan", analysis.plan_sha256.clone()),
        ("host", analysis.conditions.host_class.clone()),
    ] {
        let value = escape(&value);
        let _ = writeln!(out, "      <property name=\"{name}\" value=\"{value}\"/>");
    }
    out += "    </properties>\n";
    for test in &tests {
        test.write(&mut out, &campaign);
    }
    out += "  </testsuite>\n</testsuites>\n";
    out
}

/// The document of a campaign that could not be run: one test case that is an error.
#[must_use]
pub fn not_run(sentence: &str) -> String {
    let sentence = escape(sentence);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"wiretrial\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n  \
         <testsuite name=\"wiretrial\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n    \
         <testcase name=\"not run\" classname=\"wiretrial\">\n      \
         <error message=\"{sentence}\"/>\n    </testcase>\n  </testsuite>\n</testsuites>\n"
    )
}

/// One test case.
struct Test {
    gate: String,
    case: String,
    statement: String,
    outcome: Outcome,
}

enum Outcome {
    Passed,
    /// The gate failed: the message.
    Failed(String),
    /// The evidence does not hold: its word and the message.
    Broken(String, String),
    /// Not decided: why.
    Skipped(String),
}

impl Test {
    fn write(&self, out: &mut String, campaign: &str) {
        let _ = writeln!(
            out,
            "    <testcase classname=\"{campaign}.{}\" name=\"{}\">",
            escape(&self.gate),
            escape(&self.case)
        );
        let _ = match &self.outcome {
            Outcome::Passed => Ok(()),
            Outcome::Skipped(why) => {
                writeln!(out, "      <skipped message=\"{}\"/>", escape(why))
            }
            Outcome::Failed(message) => writeln!(
                out,
                "      <failure message=\"{}\" type=\"{}\"/>",
                escape(message),
                escape(&self.gate)
            ),
            Outcome::Broken(word, message) => writeln!(
                out,
                "      <error message=\"{}\" type=\"{}\"/>",
                escape(message),
                escape(word)
            ),
        };
        if !self.statement.is_empty() {
            let text = escape(&self.statement);
            let _ = writeln!(out, "      <system-out>{text}</system-out>");
        }
        *out += "    </testcase>\n";
    }
}

/// A gate in every case; a gate without cases is one test by itself.
fn of_gate(analysis: &Analysis, gate: &Gate) -> Vec<Test> {
    if gate.cases.is_empty() {
        let outcome = if gate.passed {
            Outcome::Passed
        } else {
            Outcome::Failed(message(analysis, &gate.reason))
        };
        return vec![Test {
            gate: gate.name.clone(),
            case: "all cases".into(),
            statement: String::new(),
            outcome,
        }];
    }
    gate.cases
        .iter()
        .map(|case| {
            let comparison = analysis
                .comparisons
                .iter()
                .find(|comparison| comparison.primary && comparison.case == case.case);
            Test {
                gate: gate.name.clone(),
                case: case.case.clone(),
                statement: comparison.map_or_else(String::new, |one| one.statement.clone()),
                outcome: outcome(analysis, case, comparison),
            }
        })
        .collect()
}

fn outcome(analysis: &Analysis, case: &GateCase, comparison: Option<&Comparison>) -> Outcome {
    let message = || message(analysis, &case.reason);
    match comparison.and_then(|comparison| comparison.verdict) {
        Some(
            verdict @ (Verdict::Invalid
            | Verdict::AsymmetricFailures
            | Verdict::Unstable
            | Verdict::NotComparable
            | Verdict::Incomplete),
        ) => Outcome::Broken(verdict.name().into(), message()),
        Some(verdict @ Verdict::Inconclusive) if analysis.conditions.require_conclusion => {
            Outcome::Broken(verdict.name().into(), message())
        }
        _ if !case.passed => Outcome::Failed(message()),
        Some(Verdict::Inconclusive) => Outcome::Skipped(case.reason.clone()),
        _ => Outcome::Passed,
    }
}

fn message(analysis: &Analysis, reason: &str) -> String {
    format!("{} | {reason}", answer::sentence(&analysis.answer))
}

/// Text that is safe in an attribute and in an element: the five characters of XML as entities, line
/// ends and tabs as references, and what XML 1.0 (section 2.2) does not allow as U+FFFD.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&apos;",
            '\t' => out += "&#9;",
            '\n' => out += "&#10;",
            '\r' => out += "&#13;",
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn nothing_leaves_its_place() {
        assert_eq!(
            escape("a<b>&\"c\"'d'\n\t\u{1b}[31m\u{0}\u{fffe}é"),
            "a&lt;b&gt;&amp;&quot;c&quot;&apos;d&apos;&#10;&#9;\u{fffd}[31m\u{fffd}\u{fffd}é"
        );
    }
}
