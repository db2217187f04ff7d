//! How a long trial went: samples at most once a second, a bounded number of them. Pure: it is told
//! the time and what was read.
//!
//! When [`MOST`] are there every other one is dropped, and the time between two is doubled: what
//! stays is evenly spaced and covers the whole trial. A trial of fewer than [`LEAST`] samples is too
//! short to have gone anywhere, and has no series.

use wiretrial_contract::report::Sample;

/// Shortest time between two samples, ns.
pub const INTERVAL_NS: u64 = 1_000_000_000;
/// Samples at most: an hour of them.
pub const MOST: usize = 3_600;
/// Fewest samples that make a series.
pub const LEAST: usize = 10;

/// The samples of one trial.
#[derive(Debug)]
pub struct Series {
    samples: Vec<Sample>,
    interval_ns: u64,
}

impl Series {
    /// None yet. There is room for all, so that none is taken from the allocator later.
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "what it holds is no default of anything"
    )]
    pub fn new() -> Self {
        Self {
            samples: Vec::with_capacity(MOST),
            interval_ns: INTERVAL_NS,
        }
    }

    /// How long after armed the next sample is due, ns.
    #[must_use]
    pub fn due_ns(&self) -> u64 {
        let last = self.samples.last().map_or(0, |sample| sample.at_ns);
        last.saturating_add(self.interval_ns)
    }

    /// Takes a sample; one that is not due is left out.
    pub fn add(&mut self, sample: Sample) {
        if sample.at_ns < self.due_ns() {
            return;
        }
        self.samples.push(sample);
        if self.samples.len() == MOST {
            let mut keep = [false, true].into_iter().cycle();
            self.samples.retain(|_| keep.next() == Some(true));
            self.interval_ns *= 2;
        }
    }

    /// The samples in order; none where there are fewer than [`LEAST`].
    #[must_use]
    pub fn into_samples(mut self) -> Vec<Sample> {
        if self.samples.len() < LEAST {
            self.samples.clear();
        }
        self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Sample {
        Sample {
            at_ns: seconds * 1_000_000_000,
            ..Sample::default()
        }
    }

    fn seconds(series: Series) -> Vec<u64> {
        let samples = series.into_samples();
        samples.iter().map(|s| s.at_ns / 1_000_000_000).collect()
    }

    #[test]
    fn a_sample_that_is_not_due_is_left_out() {
        let mut series = Series::new();
        assert_eq!(series.due_ns(), 1_000_000_000);
        for tenths in 0..=120 {
            series.add(Sample {
                at_ns: tenths * 100_000_000,
                ..Sample::default()
            });
        }
        assert_eq!(seconds(series), Vec::from_iter(1..=12));
    }

    #[test]
    fn a_short_trial_has_none() {
        let mut series = Series::new();
        (1..LEAST as u64).for_each(|second| series.add(at(second)));
        assert!(seconds(series).is_empty());
    }

    #[test]
    fn ten_hours_are_evenly_spaced_and_bounded() {
        let mut series = Series::new();
        let room = series.samples.capacity();
        for second in 1..=36_000 {
            series.add(at(second));
            assert!(series.samples.len() < MOST);
        }
        assert_eq!(series.samples.capacity(), room);
        // 3,600 at 1 s, 7,200 at 2 s, 14,400 at 4 s and 28,800 at 8 s fill it.
        let kept = seconds(series);
        assert_eq!(kept[0], 16);
        assert_eq!(kept.last(), Some(&36_000));
        assert!(kept.windows(2).all(|two| two[1] - two[0] == 16));
    }
}
