//! `recompute.py`: what a third party needs to redo intervals and verdicts without this program. It is
//! part of every evidence folder.

/// Name of the file.
pub const FILE: &str = "recompute.py";
/// Its text: Python 3.8 or newer, nothing but the standard library.
pub const TEXT: &str = include_str!("recompute.py");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::process::{Command, Output};

    use serde_json::Value;
    use tempfile::TempDir;
    use wiretrial_contract::analysis::Reason;
    use wiretrial_contract::control::{GroupName, PassInput};
    use wiretrial_contract::digest::sha256;
    use wiretrial_contract::metric::Metric;
    use wiretrial_contract::plan::{Plan, Work};
    use wiretrial_contract::record::{Delivery, Outcome, TrialRecord};
    use wiretrial_contract::report::GroupTally;

    use super::*;
    use crate::evidence::folder::{ANALYSIS, Folder, PLAN};
    use crate::evidence::json::pretty;
    use crate::evidence::rows;
    use crate::judge::{Identity, analyse};
    use crate::trial::samples;

    #[test]
    fn it_is_short_enough_to_read() {
        assert!(TEXT.lines().count() <= 80);
        assert!(TEXT.lines().all(|line| line.len() <= 120));
    }

    /// An evidence folder with what the judge makes of these rows.
    struct Evidence {
        root: TempDir,
    }

    impl Evidence {
        fn of(plan: &Plan, mut records: Vec<TrialRecord>) -> Self {
            let root = tempfile::tempdir().unwrap();
            let folder = Folder::create(&root.path().join("x")).unwrap();
            let bytes = pretty(plan);
            folder.write(PLAN, &bytes).unwrap();
            let mut chain = rows::Rows::create(folder.path(), &sha256(&bytes)).unwrap();
            chain.append(&mut records).unwrap();
            let analysis = analyse(
                plan,
                &records,
                &Identity {
                    plan_sha256: sha256(&bytes),
                    rows_sha256: sha256(&folder.read(rows::FILE).unwrap()),
                    host_class: "cc".into(),
                    host: "a host".into(),
                },
            );
            folder.write(ANALYSIS, &pretty(&analysis)).unwrap();
            folder.write(FILE, TEXT.as_bytes()).unwrap();
            Self { root }
        }

        fn folder(&self) -> Folder {
            Folder::open(&self.root.path().join("x")).unwrap()
        }

        fn run(&self) -> Output {
            let script = self.folder().path().join(FILE);
            let output = Command::new("python3").arg(script).output();
            output.expect("python3 is there: .ci/packages test")
        }

        /// What it prints when all is equal.
        fn equal(&self) -> String {
            let ended = self.run();
            let stderr = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert_eq!(ended.status.code(), Some(0), "{stderr}");
            String::from_utf8(ended.stdout).unwrap()
        }

        /// What it says of a difference.
        fn different(&self) -> String {
            let ended = self.run();
            assert_eq!(ended.status.code(), Some(1));
            String::from_utf8(ended.stderr).unwrap()
        }

        fn analysis(&self) -> Value {
            serde_json::from_slice(&self.folder().read(ANALYSIS).unwrap()).unwrap()
        }

        fn write_analysis(&self, analysis: &Value) {
            self.folder().write(ANALYSIS, &pretty(analysis)).unwrap();
        }
    }

    /// Costs of pair `pair` of an arm, ns: the candidate takes `percent`, with noise of up to 4 %.
    fn noisy(ns: u64, pair: u64, arm: &str, percent: u64) -> u64 {
        let candidate = arm == "candidate";
        let noise = 1_000 + (pair * 7 + u64::from(candidate) * 3) % 11 * 4;
        ns / 100_000 * noise * if candidate { percent } else { 100 }
    }

    fn members(plan: &Plan) -> Vec<(u64, String)> {
        let pairs = plan.pairs.iter().map(|planned| planned.pair);
        let arms = plan.campaign.arms.iter().map(|arm| arm.name.clone());
        let arms: Vec<String> = arms.collect();
        pairs
            .flat_map(|pair| arms.iter().map(move |arm| (pair, arm.clone())))
            .collect()
    }

    fn live(plan: &Plan, percent: u64) -> Vec<TrialRecord> {
        let rows = members(plan).into_iter().map(|(pair, arm)| {
            let mut row = samples::row(pair);
            let group = |name, send_call_ns| GroupTally {
                name,
                send_call_ns,
                ..samples::tally()
            };
            row.generator = Some(samples::generator(vec![
                group(
                    GroupName::Arm(arm.clone()),
                    noisy(60_000_000, pair, &arm, percent),
                ),
                group(GroupName::Control, 20_000_000),
            ]));
            if let Some(Delivery::Sequences(report)) = &mut row.delivery {
                report.process_cpu_ns = Some(noisy(30_000_000, pair + 1, &arm, percent));
            }
            TrialRecord { arm, ..row }
        });
        rows.collect()
    }

    fn passes(plan: &Plan, percent: u64, units: Option<u64>) -> Vec<TrialRecord> {
        let rows = members(plan).into_iter().map(|(pair, arm)| {
            let whole = |more| {
                let ns = noisy(300_000_000, pair + more, &arm, percent);
                let mut pass = samples::pass(PassInput::Whole, ns, ns / 2);
                if plan.campaign.cases[0]
                    .passes()
                    .is_some_and(|work| work.input.is_none())
                {
                    pass.units = units;
                }
                pass
            };
            let short = samples::pass(PassInput::Short, 2_000_000, 1_000_000);
            samples::passes_row(pair, &arm, vec![short, whole(0), whole(2)])
        });
        rows.collect()
    }

    fn with_primary(mut plan: Plan, metric: Metric) -> Plan {
        plan.campaign.design.primary = metric;
        plan
    }

    #[test]
    fn it_agrees_with_the_judge_on_packets() {
        let mut words = BTreeSet::new();
        for percent in [80, 98, 100, 103, 104, 140] {
            let plan = with_primary(samples::plan(), Metric::ProcessCpuNsPerPacket);
            let evidence = Evidence::of(&plan, live(&plan, percent));
            let word = evidence.analysis()["comparisons"][0]["verdict"].to_string();
            assert_eq!(
                evidence.equal(),
                "12 rows, 1 intervals, 1 verdicts: equal; 0 verdicts NOT recomputed (guards)\n",
                "{percent}: {word}"
            );
            words.insert(word);
        }
        assert!(words.len() >= 4, "{words:?}");
    }

    #[test]
    fn it_agrees_where_another_cpu_receives_and_on_programs_of_the_users() {
        for metric in [
            Metric::CaptureCostNsPerPacket,
            Metric::ReceiveCpuNsPerPacket,
        ] {
            let plan = with_primary(samples::plan(), metric);
            let mut records = live(&plan, 80);
            for row in &mut records {
                row.flags.clear();
                for group in &mut row.generator.as_mut().unwrap().groups {
                    group.receive_cpu_ns = Some(group.send_call_ns / 2);
                }
            }
            let evidence = Evidence::of(&plan, records);
            assert!(evidence.equal().contains("1 intervals, "), "{metric:?}");
        }
        for processed in [Some(24_016), None] {
            let plan = with_primary(samples::plan(), Metric::CaptureCostNsPerPacket);
            let rows = live(&plan, 80).into_iter();
            let rows = rows.map(|row| samples::outside(row, processed, Some((0, 0))));
            let evidence = Evidence::of(&plan, rows.collect());
            assert!(evidence.equal().contains("1 intervals, "), "{processed:?}");
        }
    }

    #[test]
    fn it_agrees_with_the_judge_on_passes() {
        for metric in [
            Metric::ProcessCpuNsPerPacket,
            Metric::ElapsedNsPerUnit,
            Metric::UnitsPerSecond,
        ] {
            let plan = with_primary(samples::passes_plan(), metric);
            let evidence = Evidence::of(&plan, passes(&plan, 90, None));
            assert_eq!(
                evidence.equal(),
                "12 rows, 1 intervals, 1 verdicts: equal; 0 verdicts NOT recomputed (guards)\n"
            );
            for units in [None, Some(1_000)] {
                let mut plan = plan.clone();
                let Work::Passes(work) = &mut plan.campaign.cases[0].work else {
                    panic!()
                };
                work.input = None;
                let evidence = Evidence::of(&plan, passes(&plan, 90, units));
                assert!(evidence.equal().contains("1 intervals, "), "{metric:?}");
            }
        }
    }

    #[test]
    fn what_guards_decide_is_said_and_only_the_interval_redone() {
        let plan = samples::plan();
        let mut records = live(&plan, 80);
        let voided = records.len() - 1;
        records[voided].outcome = Outcome::Voided;
        let evidence = Evidence::of(&plan, records.clone());
        assert_eq!(
            evidence.equal(),
            "12 rows, 0 intervals, 0 verdicts: equal; 1 verdicts NOT recomputed (guards)\n",
            "five pairs have no interval"
        );
        for row in &mut records {
            row.outcome = Outcome::Ok;
            if let Some(Delivery::Sequences(report)) = &mut row.delivery {
                report.process_cpu_ns = None;
            }
        }
        let evidence = Evidence::of(&plan, records);
        assert_eq!(
            evidence.equal(),
            "12 rows, 0 intervals, 0 verdicts: equal; 1 verdicts NOT recomputed (guards)\n"
        );
    }

    #[test]
    fn no_variation_is_a_point() {
        let plan = samples::passes_plan();
        let records = members(&plan).into_iter();
        let records = records.map(|(pair, arm)| samples::passes_row(pair, &arm, samples::passes()));
        let evidence = Evidence::of(&plan, records.collect());
        assert_eq!(
            evidence.analysis()["comparisons"][0]["flags"][0],
            "deterministic"
        );
        assert_eq!(
            evidence.equal(),
            "12 rows, 1 intervals, 1 verdicts: equal; 0 verdicts NOT recomputed (guards)\n"
        );
    }

    #[test]
    fn every_change_is_found() {
        let plan = samples::passes_plan();
        let evidence = Evidence::of(&plan, passes(&plan, 90, None));
        let before = evidence.analysis();
        let changed = |at: &str, value: Value| {
            let mut after = before.clone();
            *after.pointer_mut(&format!("/comparisons/0/{at}")).unwrap() = value;
            evidence.write_analysis(&after);
            evidence.different()
        };
        for kind in ["percentile", "expanded", "delta_t", "decision"] {
            for end in ["lo95", "hi95", "lo90", "hi90"] {
                let at = format!("{kind}/{end}");
                let written = before.pointer(&format!("/comparisons/0/{at}")).unwrap();
                let said = changed(&at, (written.as_f64().unwrap() * (1.0 + 1e-8)).into());
                assert!(
                    said.starts_with(&format!("{kind} interval of mix: written ")),
                    "{said}"
                );
            }
        }
        let said = changed("verdict", "equivalent".into());
        assert_eq!(
            said,
            "verdict of mix: written equivalent, recomputed improved_worthwhile\n"
        );
        let said = changed("values/3/1", 1.5.into());
        assert!(
            said.starts_with("values, index_sha256 of mix: written 1.5"),
            "{said}"
        );
        assert!(changed("index_sha256", "00".into()).contains("written 00"));
        let mut after = before.clone();
        after["rows_sha256"] = "00".into();
        evidence.write_analysis(&after);
        assert!(evidence.different().starts_with("hashes: written 00"));
        evidence.write_analysis(&before);
        let rows = String::from_utf8(evidence.folder().read(rows::FILE).unwrap()).unwrap();
        let longer = rows.replacen("\"elapsed_ns\":", "\"elapsed_ns\":1", 1);
        evidence
            .folder()
            .write(rows::FILE, longer.as_bytes())
            .unwrap();
        assert!(evidence.different().starts_with("chain: written"));
    }

    /// What the script says where reasons and verdict are these.
    fn with_reasons(evidence: &Evidence, reasons: &[&str], verdict: &str) -> Output {
        let mut after = evidence.analysis();
        after["comparisons"][0]["reasons"] = reasons.into();
        after["comparisons"][0]["verdict"] = verdict.into();
        evidence.write_analysis(&after);
        evidence.run()
    }

    #[test]
    fn a_reason_allows_what_the_rule_makes_of_it_and_nothing_else() {
        let plan = samples::passes_plan();
        let evidence = Evidence::of(&plan, passes(&plan, 90, None));
        assert_eq!(
            evidence.analysis()["comparisons"][0]["verdict"],
            "improved_worthwhile"
        );
        for reason in Reason::ALL.map(Reason::name) {
            let ended = with_reasons(&evidence, &[reason], "regressed_worthwhile");
            assert_eq!(ended.status.code(), Some(1), "{reason}");
            let said = String::from_utf8(ended.stderr).unwrap();
            assert!(
                said.starts_with("verdict of mix: written regressed_worthwhile, "),
                "{said}"
            );
        }
        for (reasons, verdict) in [
            (&["interrupted", "unequal_work"][..], "incomplete"),
            (&["wrong_result"], "invalid"),
            (&["voids_on_one_arm"], "asymmetric_failures"),
            (&["coupled_limit"], "not_comparable"),
            (&["change_point"], "unstable"),
            (&["below_floor"], "inconclusive"),
            (&["layout_sensitive"], "improved"),
            (&["layout_unknown"], "improved"),
            (&["work_unproven"], "improved"),
            (&["tail_unknown"], "improved"),
        ] {
            let ended = with_reasons(&evidence, reasons, verdict);
            let stderr = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(
                String::from_utf8_lossy(&ended.stdout),
                "12 rows, 1 intervals, 0 verdicts: equal; 1 verdicts NOT recomputed (guards)\n",
                "{reasons:?} {stderr}"
            );
            let ended = with_reasons(&evidence, reasons, "equivalent");
            assert_eq!(ended.status.code(), Some(1), "{reasons:?}");
        }
        let ended = with_reasons(&evidence, &["unequal_work", "solar_wind"], "not_comparable");
        assert_eq!(ended.status.code(), Some(1));
        assert_eq!(
            String::from_utf8_lossy(&ended.stderr),
            "mix: solar_wind is no known reason\n"
        );
    }

    #[test]
    fn a_field_that_is_missing_is_named_with_its_row() {
        let plan = samples::passes_plan();
        let evidence = Evidence::of(&plan, passes(&plan, 90, None));
        let text = String::from_utf8(evidence.folder().read(rows::FILE).unwrap()).unwrap();
        let mut lines: Vec<String> = text.lines().map(String::from).collect();
        let last = lines.last_mut().unwrap();
        *last = last.replace("\"cpu_ns\":", "\"cpu_nanoseconds\":");
        let text = lines.join("\n") + "\n";
        evidence
            .folder()
            .write(rows::FILE, text.as_bytes())
            .unwrap();
        let mut after = evidence.analysis();
        after["rows_sha256"] = sha256(text.as_bytes()).into();
        evidence.write_analysis(&after);
        let row: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!(
            evidence.different(),
            format!(
                "mix, row of {} in pair {}: no field 'cpu_ns'\n",
                row["arm"].as_str().unwrap(),
                row["pair"]
            )
        );
    }

    #[test]
    fn a_metric_it_does_not_know_is_not_called_equal() {
        for plan in [samples::plan(), samples::passes_plan()] {
            let plan = with_primary(plan, Metric::PeakRssBytes);
            let rows = match plan.campaign.cases[0].work {
                Work::Live(_) => live(&plan, 90),
                Work::Passes(_) => passes(&plan, 90, None),
            };
            assert_eq!(
                Evidence::of(&plan, rows).different(),
                "peak-rss-bytes is not recomputed here; wiretrial verify does\n"
            );
        }
    }
}
