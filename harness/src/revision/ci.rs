//! What a CI system says about the merge request it runs for.

use std::env;

/// A merge request that this process runs for, if it does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ci {
    request: Option<Request>,
}

/// A merge request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    /// Branch it would be merged into.
    pub(super) target: String,
    /// The commit it was started for: the merge of the branch into its target.
    pub(super) commit: Option<String>,
}

impl Ci {
    /// From the environment of this process.
    #[must_use]
    pub fn from_environment() -> Self {
        Self::from_variables(|name| env::var(name).ok())
    }

    /// From variables: of GitHub (`GITHUB_ACTIONS`, `GITHUB_EVENT_NAME`, `GITHUB_BASE_REF`,
    /// `GITHUB_SHA`; docs.github.com, "Variables reference") or GitLab
    /// (`CI_MERGE_REQUEST_EVENT_TYPE`, `CI_MERGE_REQUEST_TARGET_BRANCH_NAME`, `CI_COMMIT_SHA`;
    /// docs.gitlab.com, "Predefined CI/CD variables").
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let is = |name: &str, values: &[&str]| {
            variable(name).is_some_and(|value| values.contains(&value.as_str()))
        };
        let names = if is("GITHUB_ACTIONS", &["true"]) && is("GITHUB_EVENT_NAME", &["pull_request"])
        {
            Some(["GITHUB_BASE_REF", "GITHUB_SHA"])
        } else if is(
            "CI_MERGE_REQUEST_EVENT_TYPE",
            &["merged_result", "merge_train"],
        ) {
            Some(["CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "CI_COMMIT_SHA"])
        } else {
            None
        };
        let filled = |name: &str| variable(name).filter(|value| !value.is_empty());
        let request = names.and_then(|[target, commit]| {
            Some(Request {
                target: filled(target)?,
                commit: filled(commit),
            })
        });
        Self { request }
    }

    /// The merge request.
    pub(super) fn request(&self) -> Option<&Request> {
        self.request.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Ci {
        Ci::from_variables(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_merge_request_is_told_by_its_variables() {
        let github = [
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_EVENT_NAME", "pull_request"),
            ("GITHUB_BASE_REF", "main"),
            ("GITHUB_SHA", "c0"),
        ];
        let request = Request {
            target: "main".into(),
            commit: Some("c0".into()),
        };
        assert_eq!(with(&github).request(), Some(&request));
        assert_eq!(with(&github[1..]).request(), None);
        let pushed = [
            github[0],
            ("GITHUB_EVENT_NAME", "push"),
            ("GITHUB_BASE_REF", ""),
        ];
        assert_eq!(with(&pushed).request(), None);
        let gitlab = [
            ("CI_MERGE_REQUEST_EVENT_TYPE", "merged_result"),
            ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
            ("CI_COMMIT_SHA", "c0"),
        ];
        assert_eq!(with(&gitlab).request(), Some(&request));
        let detached = [("CI_MERGE_REQUEST_EVENT_TYPE", "detached"), gitlab[1]];
        assert_eq!(with(&detached).request(), None);
    }
}
