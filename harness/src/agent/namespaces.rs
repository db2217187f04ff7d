//! Makes the namespaces of a topology: anonymous, so that they vanish with the last process in
//! them, and never a name that somebody must remove.

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::geteuid;

use wiretrial_contract::control::Isolation;

use super::{identity, sys};

/// Moves this process, which has a single thread, into the namespaces of `isolation`: mounts made
/// private, an own sysfs on /sys, `lo` up, and a packet socket bound to `lo` to prove that a
/// capture would open. [`Isolation::None`] changes nothing.
///
/// # Errors
///
/// One sentence: which step, its errno. The process may then be in half of the namespaces and
/// should end.
pub(super) fn make(isolation: Isolation) -> Result<(), String> {
    let own = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS;
    match isolation {
        Isolation::None => return Ok(()),
        Isolation::Netns if !geteuid().is_root() => {
            return Err("isolation netns needs root".into());
        }
        Isolation::Netns => {
            unshare(own).map_err(|errno| cannot("make a network namespace", errno))?;
        }
        Isolation::Sandbox => identity::unshare_mapped(own | CloneFlags::CLONE_NEWUSER)
            .map_err(|errno| format!("{RESTRICTED}: {errno}"))?,
    }
    own_mounts()?;
    sys::set_link_up("lo").map_err(|error| cannot("set lo up", error))?;
    sys::packet_socket("lo").map_err(|error| cannot("open a packet socket on lo", error))?;
    Ok(())
}

/// How the sentence starts when user namespaces cannot be had.
pub(crate) const RESTRICTED: &str = "user namespaces are restricted here";

/// /sys/class/net shows the network namespace of whoever mounted it, so a new network namespace
/// needs a new mount, and the mount must not spread to the host.
fn own_mounts() -> Result<(), String> {
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
