//! Why a process of the project stops or refuses: one sentence and the exit code it stands for.

use std::fmt;

use crate::exit;

/// An expected failure. The sentence says the place, the value and what to do; it starts in lower
/// case and has no full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Exit code, see [`crate::exit`].
    pub code: u8,
    /// The sentence.
    pub message: String,
}

impl Failure {
    /// The command line or a file is wrong; nothing ran.
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

    /// A trial or its evidence is not whole.
    pub fn evidence(message: impl Into<String>) -> Self {
        Self {
            code: exit::EVIDENCE,
            message: message.into(),
        }
    }

    /// Finished evidence is not what it says.
    pub fn mismatch(message: impl Into<String>) -> Self {
        Self {
            code: exit::MISMATCH,
            message: message.into(),
        }
    }

    /// SIGINT, SIGTERM, SIGHUP or SIGQUIT came.
    #[must_use]
    pub fn interrupted() -> Self {
        Self {
            code: exit::INTERRUPTED,
            message: "interrupted".into(),
        }
    }
}

impl Failure {
    /// The last line on standard error of a process that ends for this: its name, the code and the
    /// sentence, with a newline. Control characters are made visible, but for the ends of lines: a name in
    /// a file must not write on the terminal.
    #[must_use]
    pub fn last_line(&self, program: &str) -> String {
        let lines = self.message.split('\n').map(visible);
        let message: Vec<String> = lines.collect();
        format!("{program}: exit {}: {}\n", self.code, message.join("\n"))
    }
}

/// A text with its control characters made visible.
#[must_use]
pub fn visible(text: &str) -> String {
    let plain = |c: char| !c.is_control() || c == '\t';
    text.chars().fold(String::new(), |mut shown, c| {
        if plain(c) {
            shown.push(c);
        } else {
            shown.extend(c.escape_default());
        }
        shown
    })
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_file_does_not_write_on_the_terminal() {
        let failure = Failure::usage("kind \u{1b}[2Jx\r is none\nsee\tFORMAT.md");
        assert_eq!(
            failure.last_line("wiretrial"),
            "wiretrial: exit 2: kind \\u{1b}[2Jx\\r is none\nsee\tFORMAT.md\n"
        );
        assert_eq!(visible("a\nb"), "a\\nb");
    }
}
