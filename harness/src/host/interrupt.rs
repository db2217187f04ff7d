//! SIGINT, SIGTERM, SIGHUP and SIGQUIT as a flag that every wait looks at.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use wiretrial_contract::clock;
use wiretrial_contract::failure::Failure;

/// Longest time between two looks at the flag, ns.
pub(super) const LOOK_NS: u64 = 100_000_000;

/// Whether a signal asked the harness to end. Clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// A flag that SIGINT, SIGTERM, SIGHUP and SIGQUIT set instead of ending the process, from now on.
    /// SIGXFSZ is taken as well, so that a file too large is an error of its write.
    ///
    /// # Errors
    ///
    /// The error of registering a signal handler.
    pub fn on_signals() -> io::Result<Self> {
        let flag = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
            signal_hook::flag::register(signal, Arc::clone(&flag.0))?;
        }
        // A file larger than a limit allows is an error of its write, as a full disk is.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        Ok(flag)
    }

    /// Sets the flag as a signal would.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Fails when the flag is set.
    ///
    /// # Errors
    ///
    /// [`Failure::interrupted`].
    pub fn check(&self) -> Result<(), Failure> {
        if self.0.load(Ordering::Relaxed) {
            return Err(Failure::interrupted());
        }
        Ok(())
    }

    /// Sleeps for `time`, looking at the flag at least every 100 ms.
    ///
    /// # Errors
    ///
    /// [`Failure::interrupted`], within 100 ms of the signal.
    pub fn sleep(&self, time: Duration) -> Result<(), Failure> {
        let deadline = deadline(time);
        loop {
            self.check()?;
            let now = clock::monotonic_ns();
            if now >= deadline {
                return Ok(());
            }
            clock::sleep_until(deadline.min(now + LOOK_NS));
        }
    }
}

/// `CLOCK_MONOTONIC` ns after `time` from now; saturates.
pub(super) fn deadline(time: Duration) -> u64 {
    let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    clock::monotonic_ns().saturating_add(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_the_flag() {
        let interrupt = Interrupt::default();
        let clone = interrupt.clone();
        assert_eq!(clone.sleep(Duration::ZERO), Ok(()));
        interrupt.raise();
        // Were the flag not looked at, this would never return.
        assert_eq!(clone.sleep(Duration::MAX), Err(Failure::interrupted()));
    }
}
