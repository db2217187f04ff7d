//! What an arm's program is: enough to build it again, and to see whether two of them differ.

use serde::{Deserialize, Serialize};

/// What an arm's program is. Unknown is absent, as is what does not apply.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Identity {
    /// SHA-256 of the executable's bytes.
    pub sha256: String,
    /// The linker's build id, hexadecimal (ELF note `NT_GNU_BUILD_ID`, ld(1) `--build-id`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// The commit it was built from, full object id. Absent for an executable that was not built
    /// here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// SHA-256 of what was not committed when it was built: of the bytes that `git diff-tree -r -z
    /// --no-renames` prints between the commit and the working tree, files that Git does not track
    /// included unless they are ignored. Those bytes name every changed path with the object id of
    /// its content. Absent when all was committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_sha256: Option<String>,
    /// Compilers and linkers that left their name in the ELF section `.comment`, joined by `; `.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiler: Option<String>,
    /// Argument lists that built it, in order. Empty for an executable that was not built here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub build: Vec<Vec<String>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_is_absent_in_json() {
        let mut identity = Identity {
            sha256: "ab".into(),
            build_id: None,
            commit: None,
            dirty_sha256: None,
            compiler: None,
            build: Vec::new(),
        };
        let json = serde_json::to_string(&identity).unwrap();
        assert_eq!(json, r#"{"sha256":"ab"}"#);
        assert_eq!(serde_json::from_str::<Identity>(&json).unwrap(), identity);
        identity.commit = Some("c0".into());
        identity.build = vec![vec!["make".into(), "-j2".into()]];
        let json = serde_json::to_string(&identity).unwrap();
        assert_eq!(
            json,
            r#"{"sha256":"ab","commit":"c0","build":[["make","-j2"]]}"#
        );
        assert_eq!(serde_json::from_str::<Identity>(&json).unwrap(), identity);
    }
}
