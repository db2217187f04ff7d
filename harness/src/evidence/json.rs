//! How the files of a folder are written.

use serde::Serialize;

/// JSON for people to read, with a newline at its end.
///
/// # Panics
///
/// When `value` has a key that is no text; no type of the project has.
#[must_use]
pub fn pretty<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("string keys and finite numbers");
    bytes.push(b'\n');
    bytes
}
