//! Why the receiver stops or refuses: one sentence and the exit code it stands for.

use std::fmt;

use wiretrial_capture::source::LiveError;
use wiretrial_contract::exit;

/// An expected failure. The sentence says the place, the value and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Exit code, see [`wiretrial_contract::exit`].
    pub code: u8,
    /// The sentence; lower case, no full stop.
    pub message: String,
}

impl Failure {
    /// What was asked for is wrong.
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

    /// The trial cannot be finished.
    pub fn evidence(message: impl Into<String>) -> Self {
        Self {
            code: exit::EVIDENCE,
            message: message.into(),
        }
    }

    /// SIGINT or SIGTERM came.
    #[must_use]
    pub fn interrupted() -> Self {
        Self {
            code: exit::INTERRUPTED,
            message: "interrupted".into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<LiveError> for Failure {
    fn from(error: LiveError) -> Self {
        match &error {
            LiveError::NoRight { .. } => {
                let program = std::env::current_exe()
                    .map_or_else(|_| "PATH".into(), |path| path.display().to_string());
                Self::host(format!(
                    "{error}. sudo setcap cap_net_raw+ep {program} (again after each rebuild), or \
                     run in a private network: --isolation sandbox"
                ))
            }
            LiveError::Setting { .. } | LiveError::Filter { .. } => Self::usage(error.to_string()),
            LiveError::Gone { .. } => Self::evidence(error.to_string()),
            _ => Self::host(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_right_comes_with_the_command_that_mends_it() {
        let failure = Failure::from(LiveError::NoRight {
            interface: "enp3s0".into(),
        });
        let program = std::env::current_exe().unwrap();
        assert_eq!(failure.code, exit::HOST);
        assert_eq!(
            failure.message,
            format!(
                "cannot capture on enp3s0: needs cap_net_raw. sudo setcap cap_net_raw+ep {} \
                 (again after each rebuild), or run in a private network: --isolation sandbox",
                program.display()
            )
        );
    }

    #[test]
    fn an_unknown_interface_is_answered_with_those_there_are() {
        let failure = Failure::from(LiveError::NoInterface {
            interface: "enp9".into(),
            present: vec!["lo".into(), "eno1".into()],
        });
        assert_eq!(failure.code, exit::HOST);
        assert_eq!(
            failure.message,
            "no interface \"enp9\"; interfaces here: lo, eno1"
        );
    }
}
