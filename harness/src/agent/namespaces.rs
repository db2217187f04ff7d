//! Makes the namespaces of a topology: anonymous, so that they vanish with the last process in
//! them, and never a name that somebody must remove.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::geteuid;

use wiretrial_contract::control::{Isolation, TopologyKind};

use super::{identity, sys};

/// Moves this process, which has a single thread, into the namespaces of `isolation`: mounts made
/// private, an own sysfs on /sys, `lo` up, and a packet socket bound to `lo` to prove that a
/// capture would open. On a wire it ends in the receiver's network namespace and the sender's is
/// returned. [`Isolation::None`] changes nothing, and has no wire.
///
/// # Errors
///
/// One sentence: which step, its errno. The process may then be in half of the namespaces and
/// should end.
pub(super) fn make(isolation: Isolation, topology: TopologyKind) -> Result<Option<Sender>, String> {
    let own = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS;
    match isolation {
        Isolation::None if topology == TopologyKind::Wire => return Err(NEEDS_PRIVATE.into()),
        Isolation::None => return Ok(None),
        Isolation::Netns if !geteuid().is_root() => {
            return Err("isolation netns needs root".into());
        }
        Isolation::Netns => {
            unshare(own).map_err(|errno| cannot("make a network namespace", errno))?;
        }
        Isolation::Sandbox => identity::unshare_mapped(own | CloneFlags::CLONE_NEWUSER)
            .map_err(|errno| format!("{RESTRICTED}: {errno}"))?,
    }
    let sender = match topology {
        TopologyKind::Loopback => None,
        TopologyKind::Wire => Some(Sender::leave()?),
    };
    own_mounts()?;
    sys::set_link_up("lo").map_err(|error| cannot("set lo up", error))?;
    sys::packet_socket("lo").map_err(|error| cannot("open a packet socket on lo", error))?;
    Ok(sender)
}

/// The network namespace of the sender, held open by a process that is in the receiver's.
#[derive(Debug)]
pub(super) struct Sender {
    there: File,
    here: File,
}

impl Sender {
    /// Moves this process into a further network namespace; the one it was in is the sender's.
    fn leave() -> Result<Self, String> {
        let open = || {
            File::open("/proc/thread-self/ns/net")
                .map_err(|error| cannot("hold a network namespace open", error))
        };
        let there = open()?;
        sys::set_link_up("lo").map_err(|error| cannot("set the sender's lo up", error))?;
        unshare(CloneFlags::CLONE_NEWNET)
            .map_err(|errno| cannot("make a second network namespace", errno))?;
        let here = open()?;
        Ok(Self { there, here })
    }

    /// Does `act` inside; what it opens stays there.
    ///
    /// # Errors
    ///
    /// It cannot be entered; nothing was done.
    ///
    /// # Panics
    ///
    /// When the kernel does not let this process back in: it would go on in the wrong namespace.
    pub(super) fn within<T>(&self, act: impl FnOnce() -> T) -> Result<T, String> {
        setns(&self.there, CloneFlags::CLONE_NEWNET)
            .map_err(|errno| cannot("enter the sender's namespace", errno))?;
        let done = act();
        setns(&self.here, CloneFlags::CLONE_NEWNET)
            .expect("the namespace it came from, with the rights that made it");
        Ok(done)
    }

    /// Number of the descriptor that holds it.
    pub(super) fn descriptor(&self) -> RawFd {
        self.there.as_raw_fd()
    }
}

impl AsFd for Sender {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.there.as_fd()
    }
}

/// Why a wire is not made on the host's own interfaces.
pub(crate) const NEEDS_PRIVATE: &str =
    "topology wire needs a private network; run as root, or with --isolation sandbox";

/// How the sentence starts when user namespaces cannot be had.
pub(crate) const RESTRICTED: &str = "user namespaces are restricted here";

/// /sys/class/net shows the network namespace of whoever mounted it, so a new network namespace
/// needs a new mount, and the mount must not spread to the host.
pub(super) fn own_mounts() -> Result<(), String> {
    let no_path: Option<&str> = None;
    mount(
        no_path,
        "/",
        no_path,
        MsFlags::MS_REC | MsFlags::MS_PRIVATE,
        no_path,
    )
    .map_err(|errno| cannot("make mounts private", errno))?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let sysfs = |flags| mount(Some("sysfs"), "/sys", Some("sysfs"), flags, no_path);
    // Where the host's /sys is read-only a user namespace gets no other.
    sysfs(flags)
        .or_else(|_| sysfs(flags | MsFlags::MS_RDONLY))
        .map_err(|errno| {
            let reason = if errno == Errno::EPERM {
                "; parts of /sys are hidden here, as in a container"
            } else {
                ""
            };
            format!("cannot mount an own sysfs on /sys: {errno}{reason}")
        })
}

fn cannot(what: &str, error: impl std::fmt::Display) -> String {
    format!("cannot {what}: {error}")
}
