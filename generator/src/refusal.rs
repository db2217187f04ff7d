//! Why the generator refuses or stops: one sentence and the exit code it stands for.

use std::fmt;

use wiretrial_contract::exit;

/// An expected failure. The sentence names the place, the value and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Exit code, see [`wiretrial_contract::exit`].
    pub code: u8,
    /// The sentence, lower case, no full stop.
    pub message: String,
}

impl Refusal {
    /// What was asked for is wrong; nothing was sent.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            code: exit::USAGE,
            message: message.into(),
        }
    }

    /// This host cannot do it.
    pub fn host(message: impl Into<String>) -> Self {
        Self {
            code: exit::HOST,
            message: message.into(),
        }
    }

    /// It was begun and did not come to its end.
    pub fn incomplete(message: impl Into<String>) -> Self {
        Self {
            code: exit::EVIDENCE,
            message: message.into(),
        }
    }

    /// SIGINT, SIGTERM or SIGHUP came.
    #[must_use]
    pub fn interrupted() -> Self {
        Self {
            code: exit::INTERRUPTED,
            message: "interrupted by a signal".into(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}
