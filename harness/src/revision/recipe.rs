//! How a revision becomes an executable.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use wiretrial_contract::failure::Failure;

/// How a revision becomes an executable: the keys `build`, `binary` and `env` of a campaign's
/// `[program]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// Argument lists, run in order at the top of the checkout. None for a program that needs no
    /// build.
    pub steps: Vec<Vec<String>>,
    /// The executable they leave, relative to the top of the checkout.
    pub binary: String,
    /// Variables of the steps, over those of this process.
    pub env: BTreeMap<String, String>,
}

/// The recipe of this project's receiver, for a repository that
/// [is this project](super::Repository::is_own).
#[must_use]
pub fn own_recipe() -> Recipe {
    let words = [
        "cargo",
        "build",
        "--release",
        "--locked",
        "-p",
        "wiretrial-receiver",
    ];
    Recipe {
        steps: vec![words.map(str::to_owned).to_vec()],
        binary: "target/release/wiretrial-receiver".into(),
        // A user's own setting would put the executable elsewhere.
        env: BTreeMap::from([("CARGO_TARGET_DIR".into(), "target".into())]),
    }
}

impl Recipe {
    /// Refuses what cannot be meant.
    ///
    /// # Errors
    ///
    /// [`Failure::usage`]: a step without a program, or an executable outside of the checkout.
    pub fn check(&self) -> Result<(), Failure> {
        if let Some(index) = self
            .steps
            .iter()
            .position(|step| step.first().is_none_or(String::is_empty))
        {
            return Err(Failure::usage(format!(
                "program.build has no program in step {} of {}; each step is a list such as \
                 [\"make\", \"-j2\"]",
                index + 1,
                self.steps.len()
            )));
        }
        let inside = Path::new(&self.binary)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if self.binary.is_empty() || self.binary.ends_with('/') || !inside {
            return Err(Failure::usage(format!(
                "program.binary is \"{}\"; it must be a path inside the repository, such as \
                 src/softflowd",
                self.binary
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_executable_outside_of_the_checkout_and_an_empty_step_are_refused() {
        assert_eq!(own_recipe().check(), Ok(()));
        for binary in ["", "/bin/true", "../prog", "a/../../prog", "a/"] {
            let recipe = Recipe {
                binary: binary.into(),
                ..own_recipe()
            };
            let failure = recipe.check().unwrap_err();
            assert_eq!(failure.code, 2);
            let start = format!("program.binary is \"{binary}\"");
            assert!(failure.message.starts_with(&start), "{failure}");
        }
        let recipe = Recipe {
            steps: vec![vec!["make".into()], vec![]],
            ..own_recipe()
        };
        let failure = recipe.check().unwrap_err();
        assert!(failure.message.contains("step 2 of 2"), "{failure}");
    }
}
