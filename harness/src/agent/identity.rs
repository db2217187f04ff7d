//! Which users and groups exist in a sandbox: those of the caller, each as itself.
//!
//! An ordinary user may map only their own id (user_namespaces(7)), which is enough for a capture.
//! Root keeps every id that exists around it, because programs started by root drop to another
//! user, and a user that is not mapped cannot be dropped to.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sched::{CloneFlags, unshare};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, getegid, geteuid, getpid, pipe2};

use super::sys;

/// Moves this process, which has a single thread, into new namespaces of which `flags` includes
/// the one of users, with ids mapped to themselves.
///
/// # Errors
///
/// The errno of the step that failed: making the namespaces, or writing a map.
pub(super) fn unshare_mapped(flags: CloneFlags) -> Result<(), Errno> {
    if geteuid().is_root() {
        unshare_as_root(flags)
    } else {
        unshare_as_user(flags)
    }
}

fn unshare_as_user(flags: CloneFlags) -> Result<(), Errno> {
    let (user, group) = (geteuid(), getegid());
    unshare(flags)?;
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("{user} {user} 1\n"))?;
    write("/proc/self/gid_map", &format!("{group} {group} 1\n"))
}

/// Moves this process, which has a single thread, into new namespaces of which `flags` includes the
/// one of users, where it is user and group 0.
///
/// # Errors
///
/// As [`unshare_mapped`].
pub(super) fn unshare_as_zero(flags: CloneFlags) -> Result<(), Errno> {
    let (user, group) = (geteuid(), getegid());
    unshare(flags)?;
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("0 {user} 1\n"))?;
    write("/proc/self/gid_map", &format!("0 {group} 1\n"))
}

/// Mapping other ids takes `CAP_SETUID` in the namespace around the new one, so a helper that
/// stays there writes the maps.
fn unshare_as_root(flags: CloneFlags) -> Result<(), Errno> {
    let users = identities(&read("/proc/self/uid_map")?);
    let groups = identities(&read("/proc/self/gid_map")?);
    let agent = getpid();
    let (go, started) = pipe2(OFlag::O_CLOEXEC)?;
    let mut ends = Some((go, started));
    let helper = sys::fork_helper(|| {
        // The helper drops its copy of the writing end, or it would never see the end of the pipe.
        let go = ends.take().map(|(go, _)| go);
        go.map_or(0, |go| match write_maps(go, agent, &users, &groups) {
            Ok(()) => 0,
            Err(errno) => u8::try_from(errno as i32).unwrap_or(u8::MAX),
        })
    })?;
    let started = ends.take().map(|(_, started)| started);
    let made = unshare(flags);
    if let (Ok(()), Some(started)) = (made, started) {
        // A helper that is gone shows in its status below.
        let _ = fs::File::from(started).write_all(b"!");
    }
    let status = waitpid(helper, None)?;
    made?;
    match status {
        WaitStatus::Exited(_, 0) => Ok(()),
        WaitStatus::Exited(_, errno) => Err(Errno::from_raw(errno)),
        _ => Err(Errno::ECHILD),
    }
}

fn write_maps(go: OwnedFd, agent: Pid, users: &str, groups: &str) -> Result<(), Errno> {
    let mut byte = [0];
    if fs::File::from(go).read(&mut byte).map_err(errno_of)? == 0 {
        // The namespaces were not made; the agent says why.
        return Ok(());
    }
    write(&format!("/proc/{agent}/uid_map"), users)?;
    write(&format!("/proc/{agent}/gid_map"), groups)
}

/// The ids of a map's inner side, each mapped to itself.
fn identities(map: &str) -> String {
    let mut lines = String::new();
    for line in map.lines() {
        let mut fields = line.split_ascii_whitespace();
        if let (Some(first), Some(length)) = (fields.next(), fields.nth(1)) {
            lines.push_str(&format!("{first} {first} {length}\n"));
        }
    }
    lines
}

fn read(path: &str) -> Result<String, Errno> {
    fs::read_to_string(path).map_err(errno_of)
}

/// The kernel takes a map in one write.
fn write(path: &str, text: &str) -> Result<(), Errno> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .open(path)
        .map_err(errno_of)?;
    file.write_all(text.as_bytes()).map_err(errno_of)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err takes"
)]
fn errno_of(error: std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_around_is_mapped_to_itself() {
        assert_eq!(
            identities("         0          0 4294967295\n"),
            "0 0 4294967295\n"
        );
        assert_eq!(
            identities("0 1000 1\n1 100000 65536\n"),
            "0 0 1\n1 1 65536\n"
        );
        assert_eq!(identities(""), "");
    }
}
