//! The margin as written: a percentage of a ratio, or a number in the unit of a difference. Which of
//! them it must be follows from the primary metric.

use wiretrial_contract::metric::{Metric, Scale};
use wiretrial_contract::units::Percent;

use super::keys::percent;
use super::value::Raw;

/// Largest margin of a ratio: beyond it nearly everything would be the same.
const LARGEST_SHARE: f64 = 0.5;

/// A margin as written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Margin {
    /// None is declared.
    None,
    /// A percentage, as a ratio.
    Share(f64),
    /// A plain number.
    Number(f64),
}

impl Margin {
    /// Reads one; `None` for a value that is neither.
    pub(super) fn read(raw: &Raw) -> Option<Self> {
        match raw {
            Raw::Text(text) if text == "none" => Some(Self::None),
            Raw::Text(text) => {
                let share: Result<Percent, _> = text.parse();
                share.ok().map(|Percent(ratio)| Self::Share(ratio))
            }
            // A float is among them.
            Raw::Integer(_) | Raw::Other(_) => {
                let number: Result<f64, _> = raw.bare().parse();
                number
                    .ok()
                    .filter(|number| number.is_finite())
                    .map(Self::Number)
            }
            _ => None,
        }
    }

    /// The margin of a metric that is compared like this.
    ///
    /// # Errors
    ///
    /// It is written as one of the other scale; the sentence stands behind the key.
    pub(super) fn of(self, metric: Metric, scale: Scale) -> Result<Option<f64>, String> {
        match (self, scale) {
            (Self::None, _) => Ok(None),
            (Self::Share(ratio), Scale::Ratio) => Ok(Some(ratio)),
            (Self::Number(number), Scale::Difference) => Ok(Some(number)),
            (Self::Number(number), Scale::Ratio) => Err(format!(
                "is {number}; {metric} is compared as a ratio, so it must be a percentage such as \
                 \"3%\""
            )),
            (Self::Share(ratio), Scale::Difference) => Err(format!(
                "is {}; {metric} is compared as a difference, so it must be a number of {} such as 5",
                percent(ratio),
                metric.unit()
            )),
        }
    }
}

/// Whether a margin can be declared on this scale.
pub(super) fn is_allowed(margin: f64, scale: Scale) -> bool {
    match scale {
        Scale::Ratio => margin > 0.0 && margin <= LARGEST_SHARE,
        Scale::Difference => margin > 0.0,
    }
}

/// A margin as it is written, `3%` or `5`.
pub(super) fn text(margin: Option<f64>, scale: Scale) -> String {
    match (margin, scale) {
        (None, _) => "none".into(),
        (Some(margin), Scale::Ratio) => percent(margin),
        (Some(margin), Scale::Difference) => margin.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRIC: Metric = Metric::PeakRssBytes;

    #[test]
    fn a_margin_is_a_percentage_or_a_number() {
        let read = |raw: Raw| Margin::read(&raw);
        assert_eq!(read(Raw::Text("none".into())), Some(Margin::None));
        assert_eq!(read(Raw::Text("3%".into())), Some(Margin::Share(0.03)));
        assert_eq!(read(Raw::Integer(5)), Some(Margin::Number(5.0)));
        assert_eq!(read(Raw::Other("0.25".into())), Some(Margin::Number(0.25)));
        for wrong in [
            Raw::Text("3".into()),
            Raw::Switch(true),
            Raw::Other("inf".into()),
            Raw::Other("2026-11-30".into()),
        ] {
            assert_eq!(read(wrong.clone()), None, "{wrong}");
        }
    }

    #[test]
    fn the_primary_metric_says_which() {
        let of = |margin: Margin, scale| margin.of(METRIC, scale);
        assert_eq!(of(Margin::Share(0.03), Scale::Ratio), Ok(Some(0.03)));
        assert_eq!(of(Margin::Number(5.0), Scale::Difference), Ok(Some(5.0)));
        assert_eq!(of(Margin::None, Scale::Difference), Ok(None));
        assert_eq!(
            of(Margin::Number(5.0), Scale::Ratio).unwrap_err(),
            "is 5; peak-rss-bytes is compared as a ratio, so it must be a percentage such as \"3%\""
        );
        assert_eq!(
            of(Margin::Share(0.03), Scale::Difference).unwrap_err(),
            "is 3%; peak-rss-bytes is compared as a difference, so it must be a number of bytes such \
             as 5"
        );
    }

    #[test]
    fn a_difference_has_no_largest_margin() {
        assert!(is_allowed(0.5, Scale::Ratio) && !is_allowed(0.51, Scale::Ratio));
        assert!(is_allowed(1e6, Scale::Difference));
        assert!(!is_allowed(0.0, Scale::Difference) && !is_allowed(-1.0, Scale::Ratio));
        assert_eq!(text(Some(0.03), Scale::Ratio), "3%");
        assert_eq!(text(Some(0.25), Scale::Difference), "0.25");
        assert_eq!(text(None, Scale::Difference), "none");
    }
}
