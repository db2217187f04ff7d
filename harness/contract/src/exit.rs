//! Exit codes of every executable of the project, by cause.
//!
//! Scripts branch on these numbers and need no text. When several apply the order is
//! [`INTERRUPTED`], [`MISMATCH`], [`EVIDENCE`], [`GATE`].

/// Done, and every gate passed. `inconclusive` and a regression below the margin are here too.
pub const DONE: u8 = 0;
/// A gate failed.
pub const GATE: u8 = 1;
/// The command line or a file is wrong; nothing ran.
pub const USAGE: u8 = 2;
/// This host cannot: a missing right, interface or program, or a port in use.
pub const HOST: u8 = 3;
/// The evidence is invalid, unstable, asymmetric, not comparable or incomplete.
pub const EVIDENCE: u8 = 4;
/// A check of finished evidence found a difference.
pub const MISMATCH: u8 = 5;
/// Ended by SIGINT, SIGTERM, SIGHUP or SIGQUIT; what was measured is kept.
pub const INTERRUPTED: u8 = 130;

/// One exit code with the sentence that `explain` prints.
#[derive(Debug, Clone, Copy)]
pub struct Exit {
    /// The number the process ends with.
    pub code: u8,
    /// What it means, one sentence.
    pub meaning: &'static str,
}

/// All codes, in the order of their numbers.
pub const ALL: [Exit; 7] = [
    Exit {
        code: DONE,
        meaning: "done, every gate passed; not decided is also 0, with a line",
    },
    Exit {
        code: GATE,
        meaning: "a gate failed: a regression, or a declared condition that was not shown",
    },
    Exit {
        code: USAGE,
        meaning: "the command line or a file is wrong; nothing ran",
    },
    Exit {
        code: HOST,
        meaning: "this host cannot: a right, interface, program or port is missing, or a rate was not reached in the rehearsal",
    },
    Exit {
        code: EVIDENCE,
        meaning: "the evidence is invalid, unstable, asymmetric, not comparable or incomplete, or a required conclusion is missing",
    },
    Exit {
        code: MISMATCH,
        meaning: "a check of finished evidence found a difference",
    },
    Exit {
        code: INTERRUPTED,
        meaning: "interrupted; what was measured is kept and can be resumed",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_ordered() {
        assert!(ALL.windows(2).all(|pair| pair[0].code < pair[1].code));
    }
}
