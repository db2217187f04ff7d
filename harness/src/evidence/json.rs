//! How the files of a folder are written, and which version of them is read.

use serde::{Deserialize, Serialize};
use wiretrial_contract::failure::Failure;

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

/// Refuses a file of another schema, before anything else in it is looked at: another version may have
/// other fields.
///
/// # Errors
///
/// Exit 5: the schema there, and the one that is read. Bytes without a schema are left to whoever reads
/// them.
pub fn schema(file: &str, bytes: &[u8], read: &str) -> Result<(), Failure> {
    #[derive(Deserialize)]
    struct Only {
        schema: String,
    }
    match serde_json::from_slice::<Only>(bytes) {
        Ok(only) if only.schema != read => Err(Failure::mismatch(format!(
            "{file} has schema {}, this version reads {read}",
            wiretrial_contract::control::quote(&only.schema)
        ))),
        _ => Ok(()),
    }
}
