//! Opening what others may have put there: evidence is regular files, and nothing else is read. A pipe
//! would be waited for without end, a device read without end, a link may lead anywhere.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use wiretrial_contract::failure::Failure;

/// Opens a regular file to read it.
///
/// # Errors
///
/// It is something else (exit 5), or cannot be opened (exit 4).
pub(super) fn open(path: &Path) -> Result<File, Failure> {
    let shown = path.display();
    let cannot = |error: io::Error| Failure::evidence(format!("{shown}: {error}"));
    let other = || Failure::mismatch(format!("{shown} is not a regular file"));
    let file = OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
        .open(path)
        .map_err(|error| match error.raw_os_error() {
            // What open(2) gives for a link that is not followed, and for a socket.
            Some(code) if code == Errno::ELOOP as i32 || code == Errno::ENXIO as i32 => other(),
            _ => cannot(error),
        })?;
    if file.metadata().map_err(cannot)?.is_file() {
        Ok(file)
    } else {
        Err(other())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    #[test]
    fn only_a_regular_file_is_opened_and_nothing_is_waited_for() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::write(at("file"), b"x").unwrap();
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        symlink(at("file"), at("link")).unwrap();
        let _socket = UnixListener::bind(at("socket")).unwrap();
        for name in ["pipe", "link", "socket", "."] {
            assert_eq!(open(&at(name)).unwrap_err().code, 5, "{name}");
        }
        assert_eq!(open(&at("none")).unwrap_err().code, 4);
        let mut text = String::new();
        open(&at("file"))
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "x");
    }
}
