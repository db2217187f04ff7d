//! How long pairs take, and how many fit in a time.

use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::PilotCase;
use wiretrial_contract::record::TrialRecord;
use wiretrial_contract::units::Nanos;
use wiretrial_stats::bootstrap::MAX_PAIRS;
use wiretrial_stats::interval::MIN_PAIRS;

use crate::trial::pairs::by_pair;

/// Mean time from the end of the pair before to the end of a pair of this case, ns, rest and waiting
/// included. None where no pair of it ran.
#[must_use]
pub fn pair_ns(rows: &[TrialRecord], case: &str) -> Option<u64> {
    let mut before_ns = 0;
    let mut times = Vec::new();
    for rows in by_pair(rows).values() {
        let ended_ns = rows.iter().map(|row| row.ended_ns).max().unwrap_or(0);
        if rows[0].case == case {
            times.push(ended_ns.saturating_sub(before_ns));
        }
        before_ns = ended_ns;
    }
    times.iter().sum::<u64>().checked_div(times.len() as u64)
}

/// Time of a round, which is one pair of every case, ns; none where that of a case is not known.
#[must_use]
pub fn round_ns(pilot: &[PilotCase]) -> Option<u64> {
    let times: Option<Vec<u64>> = pilot.iter().map(|case| case.pair_ns).collect();
    times
        .filter(|times| !times.is_empty())
        .map(|times| times.iter().sum())
}

/// The pairs a case that fit in `time_ns`: even, from 6 to 256.
///
/// # Errors
///
/// Not even 6 fit (exit 2, with the time they need), or the pilot does not say how long a pair takes
/// (exit 3).
///
/// # Panics
///
/// Never: 256 fits.
pub fn pairs(time_ns: u64, pilot: &[PilotCase]) -> Result<u32, Failure> {
    let round_ns = round_ns(pilot).filter(|ns| *ns > 0).ok_or_else(|| {
        Failure::host(
            "--time: no pilot pair of some case ran, so how many fit is not known; use --pairs",
        )
    })?;
    let (least, most) = (MIN_PAIRS as u64, MAX_PAIRS as u64);
    let fit = (time_ns / round_ns).min(most) & !1;
    if fit < least {
        let needed_s = (round_ns * least).div_ceil(1_000_000_000);
        return Err(Failure::usage(format!(
            "--time is {}; {least} pairs a case, the fewest, need {needed_s}s (--time {needed_s}s)",
            Nanos(time_ns)
        )));
    }
    Ok(u32::try_from(fit).expect("at most 256"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::samples;

    fn pilot(times_ns: &[Option<u64>]) -> Vec<PilotCase> {
        let case = |pair_ns: &Option<u64>| PilotCase {
            case: "20k".into(),
            pairs: 3,
            pair_ns: *pair_ns,
            sd: None,
            sd_upper: None,
            detectable: None,
            equivalence_margin: None,
            worthwhile: None,
            pairs_needed: None,
            passes: None,
        };
        times_ns.iter().map(case).collect()
    }

    #[test]
    fn a_pair_takes_from_the_end_of_the_one_before() {
        let rows: Vec<TrialRecord> = [(0, "a", 3), (1, "b", 10), (2, "a", 14)]
            .map(|(pair, case, ended)| TrialRecord {
                case: case.into(),
                ended_ns: ended,
                ..samples::row(pair)
            })
            .into();
        assert_eq!(pair_ns(&rows, "a"), Some(3));
        assert_eq!(pair_ns(&rows, "b"), Some(7));
        assert_eq!(pair_ns(&rows, "c"), None);
    }

    #[test]
    fn as_many_as_fit_and_an_even_number() {
        let s = 1_000_000_000;
        let two = pilot(&[Some(2 * s), Some(3 * s)]);
        assert_eq!(pairs(64 * s, &two), Ok(12));
        assert_eq!(pairs(69 * s, &two), Ok(12));
        assert_eq!(pairs(70 * s, &two), Ok(14));
        assert_eq!(pairs(30 * s, &two), Ok(6));
        assert_eq!(pairs(100_000 * s, &two), Ok(256));
        let short = pairs(29 * s, &two).unwrap_err();
        assert_eq!(
            (short.code, short.message.as_str()),
            (
                2,
                "--time is 29s; 6 pairs a case, the fewest, need 30s (--time 30s)"
            )
        );
        assert_eq!(pairs(60 * s, &pilot(&[Some(s), None])).unwrap_err().code, 3);
        assert_eq!(pairs(60 * s, &[]).unwrap_err().code, 3);
    }
}
