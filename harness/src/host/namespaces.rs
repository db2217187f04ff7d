//! How a new process comes to be where an agent is.
#![allow(
    unsafe_code,
    reason = "the steps run between fork and exec, where only async-signal-safe calls are allowed"
)]

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use nix::sched::{CloneFlags, setns};

use crate::agent::sys;

/// The namespaces of a process, held open.
#[derive(Debug)]
pub(super) struct Namespaces {
    /// Only when it is not the harness's own, which cannot be entered again.
    user: Option<File>,
    network: File,
    mounts: File,
}

impl Namespaces {
    /// Opens those of process `pid`.
    ///
    /// # Errors
    ///
    /// The error of opening one; the process is gone or belongs to somebody else.
    pub(super) fn of(pid: u32, own_users: bool) -> io::Result<Self> {
        let open = |name: &str| File::open(format!("/proc/{pid}/ns/{name}"));
        Ok(Self {
            user: own_users.then(|| open("user")).transpose()?,
            network: open("net")?,
            mounts: open("mnt")?,
        })
    }

    /// The same once more.
    ///
    /// # Errors
    ///
    /// Too many open files.
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        self.joined(self.network.try_clone()?)
    }

    /// The same with the network namespace that process `pid` holds open as `descriptor`.
    ///
    /// # Errors
    ///
    /// As [`Namespaces::of`].
    pub(super) fn with_network(&self, pid: u32, descriptor: RawFd) -> io::Result<Self> {
        self.joined(File::open(format!("/proc/{pid}/fd/{descriptor}"))?)
    }

    fn joined(&self, network: File) -> io::Result<Self> {
        Ok(Self {
            user: self.user.as_ref().map(File::try_clone).transpose()?,
            network,
            mounts: self.mounts.try_clone()?,
        })
    }

    /// The user namespace comes first: it gives the right to enter the others.
    fn enter(&self) -> nix::Result<()> {
        if let Some(user) = &self.user {
            setns(user, CloneFlags::CLONE_NEWUSER)?;
        }
        setns(&self.network, CloneFlags::CLONE_NEWNET)?;
        setns(&self.mounts, CloneFlags::CLONE_NEWNS)
    }
}

/// What a new process does before it executes its program.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    /// Namespaces to enter.
    pub(super) namespaces: Option<Arc<Namespaces>>,
    /// Keep the network capabilities that entering a user namespace gave.
    pub(super) keep_rights: bool,
    /// One descriptor to keep open.
    pub(super) inherit: Option<RawFd>,
}

impl Entry {
    /// Makes `command` start a process group of its own, so that a terminal's Ctrl-C reaches only
    /// the harness, with default signals, and take these steps.
    pub(super) fn prepare(self, command: &mut Command) {
        command.process_group(0);
        // Entering a mount namespace moves to its root.
        let folder = std::env::current_dir()
            .ok()
            .and_then(|folder| CString::new(folder.into_os_string().into_vec()).ok());
        // SAFETY: the closure makes system calls and allocates nothing.
        unsafe {
            command.pre_exec(move || self.steps(folder.as_ref()));
        }
    }

    fn steps(&self, folder: Option<&CString>) -> io::Result<()> {
        sys::default_signals()?;
        sys::close_on_exec();
        if let Some(namespaces) = &self.namespaces {
            namespaces.enter()?;
            if let Some(folder) = folder {
                // A folder that cannot be reached any more leaves the process at the root.
                let _ = nix::unistd::chdir(folder.as_c_str());
            }
        }
        if self.keep_rights {
            sys::keep_network_rights()?;
        }
        self.inherit.map_or(Ok(()), sys::keep_on_exec)
    }
}
