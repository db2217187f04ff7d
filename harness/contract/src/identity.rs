//! What an arm's executable is, so that nobody has to believe a label.

use serde::{Deserialize, Serialize};

/// Identity of an executable. The path it lies at is no part of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Identity {
    /// SHA-256 of its bytes.
    pub sha256: String,
    /// GNU build id (the ELF note `NT_GNU_BUILD_ID`), hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// Commit it was built from, 40 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// SHA-256 of the uncommitted changes it was built with; none when the tree was clean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_sha256: Option<String>,
    /// What the ELF section `.comment` says of its compilers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiler: Option<String>,
    /// Argument lists that built it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub build: Vec<Vec<String>>,
}
