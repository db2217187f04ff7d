//! What a failed capture means for the process.

use wiretrial_capture::source::LiveError;
use wiretrial_contract::failure::Failure;

/// What a failed capture means for the process: an error that can be passed to `map_err`.
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "map_err gives it away")]
pub fn of_capture(error: LiveError) -> Failure {
    match &error {
        LiveError::NoRight { .. } => {
            let program = std::env::current_exe()
                .map_or_else(|_| "PATH".into(), |path| path.display().to_string());
            Failure::host(format!(
                "{error}. sudo setcap cap_net_raw+ep {program} (again after each rebuild), or \
                 capture in a private network: unshare -Urn, or --isolation sandbox of wiretrial"
            ))
        }
        LiveError::Setting { .. } | LiveError::Filter { .. } => Failure::usage(error.to_string()),
        LiveError::Gone { .. } => Failure::evidence(error.to_string()),
        _ => Failure::host(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiretrial_contract::exit;

    #[test]
    fn a_missing_right_comes_with_the_command_that_mends_it() {
        let failure = of_capture(LiveError::NoRight {
            interface: "enp3s0".into(),
        });
        let program = std::env::current_exe().unwrap();
        assert_eq!(failure.code, exit::HOST);
        assert_eq!(
            failure.message,
            format!(
                "cannot capture on enp3s0: needs cap_net_raw. sudo setcap cap_net_raw+ep {} \
                 (again after each rebuild), or capture in a private network: unshare -Urn, or \
                 --isolation sandbox of wiretrial",
                program.display()
            )
        );
    }

    #[test]
    fn an_unknown_interface_is_answered_with_those_there_are() {
        let failure = of_capture(LiveError::NoInterface {
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
