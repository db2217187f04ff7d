//! When a trial is over: how long to wait for frames after the sender has stopped. Pure.

/// The rule's constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Counted datagrams the sender's kernel accepted; `None` when nobody said.
    pub accepted: Option<u64>,
    /// The capture's packet buffer timeout, ns.
    pub timeout_ns: u64,
    /// Quiet time that ends it while datagrams are missing, ns; at least two timeouts are waited.
    pub quiet_ns: u64,
    /// Longest drain, ns.
    pub limit_ns: u64,
}

/// A drain that is going on.
#[derive(Debug, Clone, Copy)]
pub struct Drain {
    rule: Rule,
    stop_ns: u64,
    last_ns: u64,
}

impl Drain {
    /// A drain from `stop_ns` on, a time of any one monotonic clock.
    #[must_use]
    pub fn new(rule: Rule, stop_ns: u64) -> Self {
        Self {
            rule,
            stop_ns,
            last_ns: stop_ns,
        }
    }

    /// Something was delivered at `now_ns`.
    pub fn delivered(&mut self, now_ns: u64) {
        self.last_ns = now_ns;
    }

    /// How long to wait for the next frame, ns; `None` when the drain is over.
    ///
    /// It is over when all accepted datagrams have come and one more capture timeout brought
    /// nothing, or when nothing came for the quiet time, or at its limit.
    #[must_use]
    pub fn wait_ns(&self, now_ns: u64, unique: u64) -> Option<u64> {
        let rule = &self.rule;
        let complete = rule.accepted.is_some_and(|accepted| unique >= accepted);
        let quiet_ns = if complete {
            rule.timeout_ns
        } else {
            rule.quiet_ns.max(rule.timeout_ns.saturating_mul(2))
        };
        let end = self
            .last_ns
            .saturating_add(quiet_ns)
            .min(self.stop_ns.saturating_add(rule.limit_ns));
        (end > now_ns).then(|| end - now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule {
        accepted: Some(100),
        timeout_ns: 10,
        quiet_ns: 200,
        limit_ns: 2000,
    };

    #[test]
    fn complete_waits_one_timeout_more_from_stop_or_the_last_frame() {
        let mut drain = Drain::new(RULE, 1000);
        assert_eq!(drain.wait_ns(1000, 100), Some(10));
        assert_eq!(drain.wait_ns(1009, 100), Some(1));
        assert_eq!(drain.wait_ns(1010, 100), None);
        drain.delivered(1009);
        assert_eq!(drain.wait_ns(1010, 100), Some(9));
    }

    #[test]
    fn missing_datagrams_are_waited_for_until_it_is_quiet() {
        let mut drain = Drain::new(RULE, 1000);
        assert_eq!(drain.wait_ns(1150, 99), Some(50));
        drain.delivered(1150);
        assert_eq!(drain.wait_ns(1349, 99), Some(1));
        assert_eq!(drain.wait_ns(1350, 99), None);
    }

    #[test]
    fn quiet_is_never_less_than_two_timeouts() {
        let rule = Rule {
            timeout_ns: 150,
            ..RULE
        };
        assert_eq!(Drain::new(rule, 0).wait_ns(0, 99), Some(300));
    }

    #[test]
    fn the_limit_holds_while_frames_keep_coming() {
        let mut drain = Drain::new(RULE, 1000);
        drain.delivered(2999);
        assert_eq!(drain.wait_ns(2999, 99), Some(1));
        assert_eq!(drain.wait_ns(3000, 99), None);
    }

    #[test]
    fn without_an_accepted_number_only_quiet_ends_it() {
        let rule = Rule {
            accepted: None,
            ..RULE
        };
        assert_eq!(Drain::new(rule, 0).wait_ns(10, 100), Some(190));
    }
}
