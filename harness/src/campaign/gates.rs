//! Declared gates: `[[gate]]` tables and the conditions in them.

use wiretrial_contract::failure::Failure;
use wiretrial_contract::metric::Metric;
use wiretrial_contract::plan::{Campaign, Condition, GateSpec, Need, Test};
use wiretrial_contract::units::{Bytes, Count, Percent};

use super::keys::percent;
use super::layers::Place;
use super::rules;
use super::value::{Raw, is_name};

/// The gate that every campaign has.
const IMPLICIT: &str = "no_regression";

const FORMS: &str = "a condition such as \"units-per-second up 15%\", \"peak-rss-bytes <= 16MiB\" \
     or \"units-per-second >= 369k\"";

/// A gate of a file and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Gate {
    pub(super) place: Place,
    pub(super) spec: GateSpec,
}

/// Reads one table of `[[gate]]`: its keys with their values and places.
pub(super) fn read(place: Place, entries: &[(String, Raw, Place)]) -> Result<Gate, Failure> {
    let mut name = None;
    let mut lists = Vec::new();
    for (key, raw, place) in entries {
        match key.as_str() {
            "name" => match raw.text() {
                Some(text) if is_name(text) && text != IMPLICIT => name = Some(text.to_owned()),
                Some(IMPLICIT) => {
                    return Err(place.refuse(format_args!(
                        "gate name \"{IMPLICIT}\" is the one that every campaign has; choose another"
                    )));
                }
                _ => {
                    return Err(place.refuse(format_args!(
                        "gate name {raw} is not a name: a-z, 0-9, dot, underscore and dash"
                    )));
                }
            },
            "any" => lists.push((Need::Any, raw, place)),
            "all" => lists.push((Need::All, raw, place)),
            other => {
                return Err(place.refuse(format_args!(
                    "unknown key {other} of a gate; it has name, and any or all"
                )));
            }
        }
    }
    let Some(name) = name else {
        return Err(place.refuse("the gate has no name; write name = \"...\" in it"));
    };
    let [(need, raw, at)] = lists[..] else {
        return Err(place.refuse(format_args!(
            "gate {name} has {}; write any = [...] or all = [...]",
            if lists.is_empty() {
                "no conditions"
            } else {
                "both any and all"
            }
        )));
    };
    let texts = raw.texts().filter(|texts| !texts.is_empty());
    let Some(texts) = texts else {
        return Err(at.refuse(format_args!(
            "gate {name}: {raw} is not a list of conditions, at least one"
        )));
    };
    let conditions = texts.iter().map(|text| condition(text));
    let conditions: Result<Vec<_>, String> = conditions.collect();
    let conditions =
        conditions.map_err(|sentence| at.refuse(format_args!("gate {name}: {sentence}")))?;
    let spec = GateSpec {
        name,
        need,
        conditions,
    };
    Ok(Gate { place, spec })
}

/// Refuses two gates of one name and conditions on metrics that the trials do not have.
pub(super) fn check(gates: &[Gate], campaign: &Campaign) -> Result<(), Failure> {
    for (index, gate) in gates.iter().enumerate() {
        let name = &gate.spec.name;
        if gates[..index].iter().any(|other| other.spec.name == *name) {
            return Err(gate.place.refuse(format_args!(
                "a second gate is called {name}; names are unique"
            )));
        }
        rules::gate(&gate.spec, campaign).map_err(|sentence| gate.place.refuse(sentence))?;
    }
    Ok(())
}

/// Reads a condition.
fn condition(text: &str) -> Result<Condition, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [metric, test, value] = words[..] else {
        return Err(format!("\"{text}\" is not {FORMS}"));
    };
    let metric: Metric = metric.parse()?;
    let change = || {
        let Percent(ratio) = value
            .parse()
            .map_err(|_| format!("\"{text}\": {value} is not a percentage such as 15%"))?;
        if ratio > 0.0 && (test == "up" || ratio < 1.0) {
            return Ok(ratio);
        }
        let most = if test == "up" { "" } else { " and below 100%" };
        Err(format!(
            "\"{text}\": the change is {value}; it must be more than 0%{most}"
        ))
    };
    let test = match test {
        "up" => Test::Up(change()?),
        "down" => Test::Down(change()?),
        ">=" => Test::AtLeast(amount(metric, value, text)?),
        "<=" => Test::AtMost(amount(metric, value, text)?),
        other => {
            return Err(format!(
                "\"{text}\": {other} is none of up, down, >= and <="
            ));
        }
    };
    Ok(Condition { metric, test })
}

/// A value in the metric's unit: a number, with k or M, or a size where the unit is bytes.
fn amount(metric: Metric, value: &str, text: &str) -> Result<f64, String> {
    let bytes = metric.unit() == "bytes";
    let whole = value.parse().map(|Count(count)| count).ok().or_else(|| {
        let Bytes(bytes) = value.parse().ok().filter(|_| bytes)?;
        Some(bytes)
    });
    if let Some(whole) = whole {
        #[expect(
            clippy::cast_precision_loss,
            reason = "limits above 2^53 are not declared by people"
        )]
        return Ok(whole as f64);
    }
    let plain = value.chars().all(|c| c.is_ascii_digit() || c == '.');
    let number: Option<f64> = value.parse().ok().filter(|_| plain);
    number.ok_or_else(|| {
        let size = if bytes {
            ", or a size such as 16MiB"
        } else {
            ""
        };
        format!(
            "\"{text}\": {value} is not a number of {}, such as 1250 or 369k{size}",
            metric.unit()
        )
    })
}

/// A gate as it is written.
#[must_use]
pub fn text(gate: &GateSpec) -> String {
    let conditions: Vec<String> = gate.conditions.iter().map(condition_text).collect();
    let need = match gate.need {
        _ if conditions.len() == 1 => "",
        Need::Any => "any of ",
        Need::All => "all of ",
    };
    format!("{need}{}", conditions.join(", "))
}

/// A condition as it is written.
#[must_use]
pub fn condition_text(condition: &Condition) -> String {
    let metric = condition.metric;
    match condition.test {
        Test::Up(ratio) => format!("{metric} up {}", percent(ratio)),
        Test::Down(ratio) => format!("{metric} down {}", percent(ratio)),
        Test::AtLeast(value) => format!("{metric} >= {value}"),
        Test::AtMost(value) => format!("{metric} <= {value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_written_alike() {
        for (text, again) in [
            ("units-per-second up 15%", "units-per-second up 15%"),
            (
                "heap-bytes-per-packet down 20%",
                "heap-bytes-per-packet down 20%",
            ),
            ("units-per-second >= 369k", "units-per-second >= 369000"),
            ("peak-rss-bytes <= 16MiB", "peak-rss-bytes <= 16777216"),
            ("latency-p99-ns  <=  1250.5", "latency-p99-ns <= 1250.5"),
        ] {
            let condition = condition(text).unwrap();
            assert_eq!(condition_text(&condition), again);
        }
    }

    #[test]
    fn a_wrong_condition_is_quoted() {
        for (text, part) in [
            ("units-per-second", "is not a condition such as"),
            ("speed up 3%", "\"speed\" is not a metric; there are"),
            (
                "peak-rss-bytes up 0%",
                "the change is 0%; it must be more than 0%",
            ),
            ("peak-rss-bytes down 100%", "more than 0% and below 100%"),
            ("peak-rss-bytes up 15", "15 is not a percentage such as 15%"),
            ("peak-rss-bytes > 15", "> is none of up, down, >= and <="),
            (
                "latency-p99-ns <= 16MiB",
                "16MiB is not a number of ns, such as 1250 or 369k",
            ),
            ("latency-p99-ns <= inf", "inf is not a number of ns"),
            ("latency-p99-ns <= -1", "-1 is not a number of ns"),
        ] {
            let sentence = condition(text).unwrap_err();
            assert!(sentence.contains(part), "{sentence}");
        }
    }
}
