//! Waits until other programs leave the host alone.

use std::time::Duration;

use wiretrial_contract::failure::Failure;

use super::tasks::TaskTimes;

/// Length of a window in which they are watched.
const WINDOW: Duration = Duration::from_millis(250);
/// Longest wait, ns.
const LIMIT_NS: u64 = 40_000_000_000;

/// A wait that lasts so long is told, ns.
const TOLD_NS: u64 = 5_000_000_000;

/// Watches window after window until one is quiet, with less than `cpus` used, or the limit has
/// passed. The first one lasts as long as `rest` where that is longer. The CPUs used in the last
/// one, or `None` when that cannot be told. A long wait is told once, with the CPUs used then.
///
/// # Errors
///
/// Those of `pause`.
pub(super) fn wait(
    rest: Duration,
    cpus: f64,
    mut read: impl FnMut() -> Option<TaskTimes>,
    mut pause: impl FnMut(Duration) -> Result<(), Failure>,
    tell: impl FnOnce(f64),
) -> Result<Option<f64>, Failure> {
    let mut tell = Some(tell);
    let mut before = read();
    let limit_ns = before.as_ref().map_or(0, |first| first.at_ns + LIMIT_NS);
    let mut window = rest.max(WINDOW);
    let rested_ns = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX);
    let told_ns = before.as_ref().map_or(0, |first| {
        first
            .at_ns
            .saturating_add(rested_ns)
            .saturating_add(TOLD_NS)
    });
    loop {
        pause(window)?;
        window = WINDOW;
        let (Some(earlier), Some(now)) = (before, read()) else {
            return Ok(None);
        };
        let used = now.cpus_since(&earlier);
        if used.is_none_or(|used| used < cpus) || now.at_ns >= limit_ns {
            return Ok(used);
        }
        if now.at_ns >= told_ns
            && let Some((tell, used)) = tell.take().zip(used)
        {
            tell(used);
        }
        before = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits where one other task used `used` ns in each window; beyond the list nothing more.
    fn wait_for(used: &[u64]) -> (Result<Option<f64>, Failure>, u32) {
        let mut told = 0;
        let (result, pauses) = wait_telling(used, &mut told);
        assert_eq!(told, u32::from(pauses > 21), "after five seconds, once");
        (result, pauses)
    }

    fn wait_telling(used: &[u64], told: &mut u32) -> (Result<Option<f64>, Failure>, u32) {
        let window_ns = u64::try_from(WINDOW.as_nanos()).unwrap();
        let (mut at_ns, mut total) = (7, 0);
        let mut used = used.iter().copied();
        let mut pauses = 0;
        let result = wait(
            Duration::ZERO,
            0.025,
            || {
                let times = TaskTimes::of(at_ns, &[(1, total)]);
                at_ns += window_ns;
                total += used.next().unwrap_or(0);
                Some(times)
            },
            |_| {
                pauses += 1;
                Ok(())
            },
            |_| *told += 1,
        );
        (result, pauses)
    }

    #[test]
    fn the_first_quiet_window_ends_the_wait() {
        // 2.5 % of 250 ms are 6.25 ms.
        assert_eq!(wait_for(&[0]), (Ok(Some(0.0)), 1));
        assert_eq!(wait_for(&[6_000_000]), (Ok(Some(0.024)), 1));
        assert_eq!(wait_for(&[200_000_000, 6_250_000]), (Ok(Some(0.0)), 3));
    }

    #[test]
    fn the_first_window_is_the_rest() {
        let mut pauses = Vec::new();
        let mut times = [0, 50_000_000]
            .map(|used| TaskTimes::of(used, &[(1, used)]))
            .into_iter();
        let rest = Duration::from_millis(350);
        let waited = wait(
            rest,
            2.0,
            || times.next(),
            |time| {
                pauses.push(time);
                Ok(())
            },
            |_| (),
        );
        assert_eq!(waited, Ok(Some(1.0)));
        assert_eq!(pauses, [rest]);
    }

    #[test]
    fn after_forty_seconds_the_last_window_is_told() {
        assert_eq!(wait_for(&[125_000_000; 500]), (Ok(Some(0.5)), 160));
    }

    #[test]
    fn unknown_use_and_signals_end_the_wait() {
        let rest = Duration::ZERO;
        assert_eq!(wait(rest, 0.025, || None, |_| Ok(()), |_| ()), Ok(None));
        let signal = wait(
            rest,
            0.025,
            || None,
            |_| Err(Failure::interrupted()),
            |_| (),
        );
        assert_eq!(signal, Err(Failure::interrupted()));
    }
}
