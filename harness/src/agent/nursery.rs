//! Where the wire of a user who is not root is born.
//!
//! Files below /sys/class/net belong to whoever is user 0 in the user namespace of the interface
//! (net/core/net_namespace.c, `net_ns_get_ownership`). In a sandbox that maps only the caller's own
//! id nobody is, and `threaded` cannot be written. So a helper makes the pair in namespaces below
//! the sandbox, where the caller is user 0, switches threaded NAPI on there, and the pair is moved
//! out: the setting belongs to the interface and goes with it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use nix::fcntl::OFlag;
use nix::sched::CloneFlags;
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, getpid, pipe2};

use super::programs::{self, Place};
use super::sys::ethtool;
use super::wire::RECEIVER;
use super::{identity, namespaces, steering, sys};

/// A network namespace with the pair in it; it vanishes when this is dropped.
#[derive(Debug)]
pub(super) struct Nursery {
    network: File,
    helper: Pid,
    hold: Option<OwnedFd>,
}

impl Nursery {
    /// Makes the pair by `ip` with the arguments `add`, the receiver's end up, polled and threaded.
    ///
    /// # Errors
    ///
    /// One sentence: which step.
    pub(super) fn open(add: &[String]) -> Result<Self, String> {
        let pipe = || pipe2(OFlag::O_CLOEXEC).map_err(|errno| failed("make a pipe", errno));
        let (held, hold) = pipe()?;
        let (heard, say) = pipe()?;
        let mut ends = Some((hold, heard, held, say));
        let agent = getpid();
        let helper = sys::fork_helper(|| {
            let Some((hold, _, held, say)) = ends.take() else {
                return 1;
            };
            // Its own copy would keep the pipe open.
            drop(hold);
            help(agent, add, File::from(held), File::from(say))
        })
        .map_err(|errno| failed("start a helper", errno))?;
        let Some((hold, heard, ..)) = ends.take() else {
            return Err("the helper's pipes are gone".into());
        };
        let mut said = String::new();
        let read = File::from(heard).read_to_string(&mut said);
        let network = File::open(format!("/proc/{helper}/ns/net"));
        // From here on dropping it ends the helper.
        let nursery = network.map(|network| Self {
            network,
            helper,
            hold: Some(hold),
        });
        let nursery = nursery.map_err(|error| failed("open the helper's namespace", error))?;
        match (read, said.as_str()) {
            (Ok(_), "done") => Ok(nursery),
            (Ok(_), why) => Err(why.to_owned()),
            (Err(error), _) => Err(failed("hear from the helper", error)),
        }
    }
}

impl AsFd for Nursery {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.network.as_fd()
    }
}

impl Drop for Nursery {
    fn drop(&mut self) {
        drop(self.hold.take());
        let _ = waitpid(self.helper, None);
    }
}

/// The helper's life: makes the pair, says so, and holds its namespace until told to let go.
fn help(agent: Pid, add: &[String], mut held: File, mut say: File) -> u8 {
    let outcome = sys::die_with_parent(agent.as_raw())
        .map_err(|error| failed("tie the helper to the agent", error))
        .and_then(|()| bear(add));
    let said = outcome.as_ref().map_or_else(String::as_str, |()| "done");
    // Both fail only when the agent is gone.
    let _ = say.write_all(said.as_bytes());
    drop(say);
    let _ = held.read(&mut [0]);
    0
}

fn bear(add: &[String]) -> Result<(), String> {
    let own = CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS;
    identity::unshare_as_zero(own)
        .map_err(|errno| failed("make namespaces below the sandbox", errno))?;
    namespaces::own_mounts()?;
    programs::succeed("ip", add, Place::default())?;
    ethtool::set_features(RECEIVER, &[("rx-gro", true)])
        .map_err(|error| failed("switch rx-gro on", error))?;
    // A thread can only be asked for while the interface is polled, which it is while it is up.
    sys::set_link_up(RECEIVER).map_err(|error| failed("set the receiver's end up", error))?;
    steering::start_thread(Path::new("/sys/class/net"))
}

fn failed(what: &str, error: impl std::fmt::Display) -> String {
    format!("cannot {what}: {error}")
}
