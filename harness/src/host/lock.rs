//! One campaign a host.
//!
//! Backlog, softnet and softirq belong to the whole machine, so two campaigns would measure each
//! other. The lock is on the kernel's boot id, a file that every user can open and that leaves
//! nothing behind. It cannot see a campaign in a container that has a proc filesystem of its own.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use wiretrial_contract::failure::Failure;

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The lock, held until this, its clones and the agents that inherited it are gone.
#[derive(Debug, Clone)]
pub struct HostLock(Arc<Flock<File>>);

impl HostLock {
    /// Takes the lock, or says who holds it.
    ///
    /// # Errors
    ///
    /// [`Failure::host`]: another campaign holds it, or the boot id cannot be opened.
    pub fn take() -> Result<Self, Failure> {
        Self::take_file(Path::new(BOOT_ID))
    }

    fn take_file(path: &Path) -> Result<Self, Failure> {
        let cannot =
            |error: io::Error| Failure::host(format!("cannot lock {}: {error}", path.display()));
        let file = File::open(path).map_err(cannot)?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Ok(Self(Arc::new(lock))),
            Err((file, Errno::EWOULDBLOCK)) => {
                let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
                let holder = file.metadata().ok().and_then(|file| {
                    let device = (
                        nix::sys::stat::major(file.dev()),
                        nix::sys::stat::minor(file.dev()),
                    );
                    holder(&locks, device, file.ino())
                });
                Err(held(holder))
            }
            Err((_, errno)) => Err(cannot(errno.into())),
        }
    }

    /// Its descriptor, for an agent to inherit.
    pub(super) fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

fn held(holder: Option<u32>) -> Failure {
    // A holder that has ended left the lock to its agent; its pid would mislead.
    let who = holder
        .and_then(|pid| Some((pid, fs::read_to_string(format!("/proc/{pid}/comm")).ok()?)))
        .map(|(pid, name)| format!(" (pid {pid}, {})", name.trim_end()))
        .unwrap_or_default();
    Failure::host(format!(
        "another campaign holds this host{who}; wait for it or stop it"
    ))
}

/// The pid in the line of /proc/locks for this file, `1: FLOCK ADVISORY WRITE 4121 00:15:8 0 EOF`
/// (proc(5)); device numbers are hexadecimal there.
fn holder(locks: &str, device: (u64, u64), inode: u64) -> Option<u32> {
    let file = format!("{:02x}:{:02x}:{inode}", device.0, device.1);
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, "FLOCK", _, _, pid, found, ..] = fields[..] else {
            return None;
        };
        (found == file).then(|| pid.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_is_named_and_the_lock_ends_with_its_owner() {
        // A file of proc like the real one, but this process's own.
        let file = Path::new("/proc/self/limits");
        let lock = HostLock::take_file(file).unwrap();
        let refused = HostLock::take_file(file).unwrap_err();
        assert_eq!(refused.code, wiretrial_contract::exit::HOST);
        let me = format!("(pid {}, ", std::process::id());
        assert!(refused.message.contains(&me), "{refused}");
        drop(lock);
        HostLock::take_file(file).unwrap();
    }

    #[test]
    fn lines_of_proc_locks() {
        let locks = "1: POSIX  ADVISORY  WRITE 11 00:15:8 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 4121 00:15:8 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 5000 00:15:8 0 EOF\n";
        assert_eq!(holder(locks, (0, 0x15), 8), Some(4121));
        assert_eq!(holder(locks, (0, 0x15), 9), None);
        assert_eq!(
            held(None).message,
            "another campaign holds this host; wait for it or stop it"
        );
    }
}
