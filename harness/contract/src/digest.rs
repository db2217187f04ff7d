//! SHA-256 over bytes as they are; nothing is put into a canonical form first.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

/// SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// SHA-256 of a file's content, read in pieces.
///
/// # Errors
///
/// The error of opening or reading `path`.
pub fn sha256_file(path: &Path) -> io::Result<String> {
    sha256_read(File::open(path)?)
}

/// SHA-256 of all that a reader gives, taken in pieces.
///
/// # Errors
///
/// The error of reading.
pub fn sha256_read(mut from: impl Read) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0_u8; 1 << 16];
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            return Ok(hex(&hasher.finalize()));
        }
        hasher.update(&buffer[..read]);
    }
}

/// SHA-256 of the executable this process runs.
///
/// # Errors
///
/// The error of reading `/proc/self/exe`.
pub fn sha256_self() -> io::Result<String> {
    sha256_file(Path::new("/proc/self/exe"))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4, the example of one block.
    #[test]
    fn abc() {
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_file_has_the_hash_of_its_bytes() {
        let path = std::env::temp_dir().join(format!("wiretrial-digest-{}", std::process::id()));
        let bytes = vec![7_u8; 200_000];
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(sha256_file(&path).unwrap(), sha256(&bytes));
        std::fs::remove_file(&path).unwrap();
    }
}
