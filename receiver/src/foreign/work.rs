//! What a program says of the work it did: the last JSON object on its standard output.

use serde_json::Value;

use super::counts::last_document;

/// A work line, `{"units":N,"checksum":"..."}`; what is not in it is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Work {
    /// Units of work done.
    pub(super) units: Option<u64>,
    /// Bytes in them.
    pub(super) bytes: Option<u64>,
    /// Errors met.
    pub(super) errors: Option<u64>,
    /// A sum over the result, text or number.
    pub(super) checksum: Option<String>,
}

impl Work {
    /// The work line in what was printed.
    pub(super) fn in_output(stdout: &str) -> Self {
        let Some(Value::Object(line)) = last_document(stdout) else {
            return Self::default();
        };
        let number = |key: &str| line.get(key).and_then(Value::as_u64);
        Self {
            units: number("units"),
            bytes: number("bytes"),
            errors: number("errors"),
            checksum: match line.get("checksum") {
                Some(Value::String(text)) => Some(text.clone()),
                Some(Value::Number(number)) => Some(number.to_string()),
                _ => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_line_may_have_any_of_its_fields() {
        let work = Work::in_output("noise\n{\"units\":5,\"checksum\":\"ab\",\"bytes\":300}\n\n");
        assert_eq!(
            (work.units, work.bytes, work.errors),
            (Some(5), Some(300), None)
        );
        assert_eq!(work.checksum.unwrap(), "ab");
        let work = Work::in_output("{\"units\":-5,\"checksum\":18446744073709551615}");
        assert_eq!(
            (work.units, work.checksum),
            (None, Some(u64::MAX.to_string()))
        );
        for text in ["", "[1]", "{\"units\":}", "5"] {
            assert_eq!(Work::in_output(text), Work::default(), "{text}");
        }
    }
}
