//! The only place that reads a clock.
//!
//! All times are nanoseconds in a `u64`. Intervals use `CLOCK_MONOTONIC`, which all network
//! namespaces of one host share and which differs between hosts. libpcap stamps frames with
//! `CLOCK_REALTIME`; [`ClockPair`] relates the two. CPU time is `CLOCK_PROCESS_CPUTIME_ID`, which
//! the scheduler keeps exactly, unlike the sampled utime and stime of `getrusage` (clock_gettime(2)).

use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::time::{
    ClockId, ClockNanosleepFlags, clock_getcpuclockid, clock_gettime, clock_nanosleep,
};
use nix::unistd::Pid;

/// `CLOCK_MONOTONIC`, ns since an arbitrary start that is fixed until the next boot.
#[must_use]
pub fn monotonic_ns() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

/// `CLOCK_REALTIME`, ns since 1970-01-01T00:00:00Z. It may step.
#[must_use]
pub fn realtime_ns() -> u64 {
    read(ClockId::CLOCK_REALTIME)
}

/// CPU time of this process, all threads, user and system, in ns.
#[must_use]
pub fn process_cpu_ns() -> u64 {
    read(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of another process, all threads, user and system, in ns (clock_getcpuclockid(3));
/// `None` once it is gone. One that has ended and was not waited for still has it.
#[must_use]
pub fn cpu_ns_of(process: Pid) -> Option<u64> {
    let time = clock_gettime(clock_getcpuclockid(process).ok()?).ok()?;
    Some(nanoseconds(time))
}

/// Sleeps until `CLOCK_MONOTONIC` shows `deadline_ns`, or a signal comes; returns at once if that
/// has passed.
pub fn sleep_until(deadline_ns: u64) {
    let deadline = TimeSpec::from_duration(Duration::from_nanos(deadline_ns));
    // A signal ends the sleep early; every caller loops on the clock anyway.
    let _ = clock_nanosleep(
        ClockId::CLOCK_MONOTONIC,
        ClockNanosleepFlags::TIMER_ABSTIME,
        &deadline,
    );
}

/// `CLOCK_REALTIME` minus `CLOCK_MONOTONIC` at one moment, with how well it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ClockPair {
    /// Real time less monotonic time, ns. As text in messages and rows: it exceeds 2^53.
    #[serde(with = "text")]
    pub offset_ns: i64,
    /// Half the time between the two monotonic readings around the real one, ns.
    pub error_ns: u64,
}

impl ClockPair {
    /// The best of five readings: the one whose two monotonic readings lie closest together.
    #[must_use]
    pub fn now() -> Self {
        let mut best = Self::once();
        for _ in 0..4 {
            let next = Self::once();
            if next.error_ns < best.error_ns {
                best = next;
            }
        }
        best
    }

    fn once() -> Self {
        let before = monotonic_ns();
        let real = realtime_ns();
        let after = monotonic_ns();
        let error_ns = (after - before) / 2;
        Self {
            offset_ns: real.cast_signed() - (before + error_ns).cast_signed(),
            error_ns,
        }
    }
}

/// A wall time as RFC 3339 in UTC, to the second.
#[must_use]
pub fn rfc3339(realtime_ns: u64) -> String {
    format(realtime_ns, "%Y-%m-%dT%H:%M:%SZ")
}

/// The wall time that a text as of [`rfc3339`] says, ns; `None` for another text.
#[must_use]
pub fn from_rfc3339(text: &str) -> Option<u64> {
    let time: jiff::Timestamp = text.parse().ok()?;
    let seconds = u64::try_from(time.as_second()).ok()?;
    seconds.checked_mul(1_000_000_000)
}

/// A wall time fit for a folder's name: `20261130T142233Z`.
#[must_use]
pub fn folder_time(realtime_ns: u64) -> String {
    format(realtime_ns, "%Y%m%dT%H%M%SZ")
}

fn format(realtime_ns: u64, pattern: &str) -> String {
    let seconds = (realtime_ns / 1_000_000_000).cast_signed();
    match jiff::Timestamp::from_second(seconds) {
        Ok(time) => time.strftime(pattern).to_string(),
        Err(_) => format!("{seconds}s"),
    }
}

fn read(clock: ClockId) -> u64 {
    nanoseconds(clock_gettime(clock).expect("Linux has this clock"))
}

fn nanoseconds(time: TimeSpec) -> u64 {
    time.tv_sec().cast_unsigned() * 1_000_000_000 + time.tv_nsec().cast_unsigned()
}

/// A number that not every JSON reader can hold, as text.
mod text {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &i64, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(value)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<i64, D::Error> {
        String::deserialize(input)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monotonic_never_goes_back() {
        let first = monotonic_ns();
        assert!(monotonic_ns() >= first);
    }

    #[test]
    fn sleeping_ends_at_or_after_the_deadline() {
        let deadline = monotonic_ns() + 1_000_000;
        sleep_until(deadline);
        assert!(monotonic_ns() >= deadline);
    }

    #[test]
    fn a_process_is_read_by_its_number() {
        let before = process_cpu_ns();
        let ours = cpu_ns_of(nix::unistd::getpid()).unwrap();
        assert!(ours >= before && ours <= process_cpu_ns());
        let beyond = Pid::from_raw(1 << 23); // the kernel gives numbers up to 2^22
        assert_eq!(cpu_ns_of(beyond), None);
    }

    #[test]
    fn an_offset_is_text_in_json() {
        let pair = ClockPair {
            offset_ns: 1_796_053_867_294_423_698,
            error_ns: 25,
        };
        let json = r#"{"offset_ns":"1796053867294423698","error_ns":25}"#;
        assert_eq!(serde_json::to_string(&pair).unwrap(), json);
        assert_eq!(serde_json::from_str::<ClockPair>(json).unwrap(), pair);
    }

    #[test]
    fn wall_times() {
        assert_eq!(rfc3339(1_796_048_553_999_999_999), "2026-11-30T14:22:33Z");
        let whole_s = Some(1_796_048_553_000_000_000);
        assert_eq!(from_rfc3339("2026-11-30T14:22:33Z"), whole_s);
        for other in ["", "2026-11-30", "yesterday", "1969-01-01T00:00:00Z"] {
            assert_eq!(from_rfc3339(other), None, "{other}");
        }
        assert_eq!(folder_time(1_796_048_553_000_000_000), "20261130T142233Z");
    }
}
