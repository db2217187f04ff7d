//! Whether an executable is still the one that was sealed.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use wiretrial_contract::control::Executable;
use wiretrial_contract::digest;
use wiretrial_contract::failure::Failure;

/// Hashes an executable, and again only when the file has changed: by device, inode, size, and both
/// times, which are looked at each time. A change of content moves the change time, which no
/// program can set.
#[derive(Debug, Default)]
pub(super) struct Seal {
    last: Option<(Mark, String)>,
}

type Mark = (u64, u64, u64, [i64; 4]);

impl Seal {
    /// The SHA-256 of the executable, which is the sealed one.
    ///
    /// # Errors
    ///
    /// A host failure when the file cannot be read; an evidence failure when it is another one.
    pub(super) fn check(&mut self, executable: &Executable) -> Result<String, Failure> {
        let path = Path::new(&executable.path);
        let sha256 = self.hash(path).map_err(|error| {
            Failure::host(format!(
                "cannot read the program {}: {error}; build or install it, or correct \
                 program.binary",
                executable.path
            ))
        })?;
        if sha256 != executable.sha256 {
            return Err(Failure::evidence(format!(
                "{} is not the program that was sealed: sha256 {sha256}, sealed {}; it was not \
                 started",
                executable.path, executable.sha256
            )));
        }
        Ok(sha256)
    }

    fn hash(&mut self, path: &Path) -> io::Result<String> {
        let before = mark(&fs::metadata(path)?);
        if let Some((known, sha256)) = &self.last
            && *known == before
        {
            return Ok(sha256.clone());
        }
        let sha256 = digest::sha256_file(path)?;
        // A file that changes while it is read is hashed again the next time.
        self.last = (mark(&fs::metadata(path)?) == before).then(|| (before, sha256.clone()));
        Ok(sha256)
    }
}

fn mark(file: &Metadata) -> Mark {
    let times = [
        file.mtime(),
        file.mtime_nsec(),
        file.ctime(),
        file.ctime_nsec(),
    ];
    (file.dev(), file.ino(), file.size(), times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiretrial_contract::program::ProgramSpec;

    #[test]
    fn another_content_is_refused_even_after_a_good_look() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        fs::write(&path, "one").unwrap();
        let mut executable = Executable {
            path: path.display().to_string(),
            sha256: digest::sha256(b"one"),
            spec: ProgramSpec::default(),
        };
        let mut seal = Seal::default();
        for _ in 0..2 {
            assert_eq!(seal.check(&executable).unwrap(), executable.sha256);
        }
        fs::write(&path, "two").unwrap();
        let failure = seal.check(&executable).unwrap_err();
        assert_eq!(failure.code, 4);
        assert!(
            failure
                .message
                .contains("is not the program that was sealed"),
            "{failure}"
        );
        executable.path.push('x');
        assert_eq!(seal.check(&executable).unwrap_err().code, 3);
    }
}
