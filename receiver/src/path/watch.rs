//! Samples of a trial between dispatches, on the capture thread.

use wiretrial_contract::clock;
use wiretrial_contract::report::Sample;

use crate::process::Memory;
use crate::series::Series;

/// What looks at the process now and then.
#[derive(Debug)]
pub(super) struct Watch {
    series: Series,
    memory: Option<Memory>,
    armed_ns: u64,
    armed_cpu_ns: u64,
    /// When the next sample is due on the clock that every dispatch reads, `CLOCK_REALTIME` ns.
    due_real_ns: u64,
    /// How far away that was when it was set; further away only if the clock was stepped back, ns.
    most_ns: u64,
}

impl Watch {
    /// Opens what is read later.
    pub(super) fn start() -> Self {
        Self {
            series: Series::new(),
            memory: Memory::own(),
            armed_ns: 0,
            armed_cpu_ns: 0,
            due_real_ns: 0,
            most_ns: 0,
        }
    }

    /// The trial starts now.
    pub(super) fn armed(&mut self) {
        self.armed_ns = clock::monotonic_ns();
        self.armed_cpu_ns = clock::process_cpu_ns();
        self.wait_for_next();
    }

    /// Whether a sample may be due; a clock that was stepped makes it look.
    #[inline]
    pub(super) fn is_due(&self, real_ns: u64) -> bool {
        real_ns >= self.due_real_ns || self.due_real_ns - real_ns > self.most_ns
    }

    /// Adds what the process itself shows to `sample`, and keeps it if it is due.
    pub(super) fn add(&mut self, sample: Sample) {
        self.series.add(Sample {
            at_ns: clock::monotonic_ns().saturating_sub(self.armed_ns),
            rss_bytes: self.memory.as_ref().and_then(Memory::rss_bytes),
            process_cpu_ns: Some(clock::process_cpu_ns().saturating_sub(self.armed_cpu_ns)),
            ..sample
        });
        self.wait_for_next();
    }

    /// The samples.
    pub(super) fn series(self) -> Vec<Sample> {
        self.series.into_samples()
    }

    fn wait_for_next(&mut self) {
        let at_ns = clock::monotonic_ns().saturating_sub(self.armed_ns);
        self.most_ns = self.series.due_ns().saturating_sub(at_ns);
        self.due_real_ns = clock::realtime_ns().saturating_add(self.most_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_due_at_its_time_and_after_a_step_back_of_the_clock() {
        let watch = Watch {
            due_real_ns: 10_000,
            most_ns: 1_000,
            ..Watch::start()
        };
        assert!(!watch.is_due(9_999) && !watch.is_due(9_000));
        assert!(watch.is_due(10_000) && watch.is_due(20_000));
        assert!(watch.is_due(8_999));
    }

    #[test]
    fn nothing_is_kept_before_the_first_second() {
        let mut watch = Watch::start();
        watch.armed();
        watch.add(Sample::default());
        assert_eq!(watch.series.due_ns(), crate::series::INTERVAL_NS);
    }
}
