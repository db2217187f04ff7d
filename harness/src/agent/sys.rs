//! The system calls of agents and of starting children that have no safe wrapper.
#![allow(
    unsafe_code,
    reason = "these calls take pointers to kernel structures, or run between fork and exec"
)]

pub(super) mod ethtool;

use std::ffi::CString;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::unistd::{ForkResult, Pid};

/// What [`keep_network_rights`] keeps: open packet sockets, and change interfaces
/// (capabilities(7)).
const NETWORK_RIGHTS: [u32; 2] = [CAP_NET_RAW, CAP_NET_ADMIN];
/// `CAP_NET_ADMIN` of linux/capability.h.
const CAP_NET_ADMIN: u32 = 12;
/// `CAP_NET_RAW` of linux/capability.h.
pub(crate) const CAP_NET_RAW: u32 = 13;
/// `_LINUX_CAPABILITY_VERSION_3` of linux/capability.h: two words a set.
const CAPABILITY_VERSION_3: u32 = 0x2008_0522;

/// Sets an interface of this network namespace up (netdevice(7)).
pub(super) fn set_link_up(interface: &str) -> io::Result<()> {
    let socket = inet_socket()?;
    let mut request = named_request(interface)?;
    // SAFETY: the request lives through the call and has room for the flags the kernel writes.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS, &raw mut request) })?;
    // SAFETY: SIOCGIFFLAGS filled this member of the union.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    request.ifr_ifru.ifru_flags = flags | libc::c_short::try_from(libc::IFF_UP).unwrap_or(1);
    // SAFETY: the request lives through the call and is only read.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) })
}

/// Moves the calling process into the network namespace that `namespace` holds open (setns(2)).
/// Async-signal-safe.
pub(super) fn enter_network(namespace: RawFd) -> io::Result<()> {
    // SAFETY: no pointers; a descriptor of something else gives EINVAL.
    check(unsafe { libc::setns(namespace, libc::CLONE_NEWNET) })
}

/// Opens a packet socket and binds it to `interface`, which is what every capture does first
/// (packet(7)). Nothing is received through it: its protocol is 0.
pub(crate) fn packet_socket(interface: &str) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; a descriptor that is returned belongs to nobody else.
    let raw = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    check(raw)?;
    // SAFETY: `raw` is open and owned by nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(raw) };
    // SAFETY: every bit pattern is a value of this plain structure.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::c_ushort::try_from(libc::AF_PACKET).unwrap_or(0);
    address.sll_ifindex = i32::try_from(nix::net::if_::if_nametoindex(interface)?)
        .map_err(|_| io::Error::from_raw_os_error(libc::ENODEV))?;
    // SAFETY: the address is a whole sockaddr_ll and lives through the call.
    check(unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            length_of::<libc::sockaddr_ll>(),
        )
    })?;
    Ok(socket)
}

/// Makes a socket drop everything it is sent: a classic BPF program whose only instruction returns
/// 0, "keep no byte" (socket(7), `SO_ATTACH_FILTER`).
pub(super) fn drop_everything(socket: BorrowedFd<'_>) -> io::Result<()> {
    const RETURN_CONSTANT: u16 = 0x06;
    let mut program = [libc::sock_filter {
        code: RETURN_CONSTANT,
        jt: 0,
        jf: 0,
        k: 0,
    }];
    let filter = libc::sock_fprog {
        len: 1,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: filter and program live through the call; the kernel copies both.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const filter).cast(),
            length_of::<libc::sock_fprog>(),
        )
    })
}

/// Forks a helper that does `work` and ends with the code it gives.
///
/// Only for a process with a single thread: the helper allocates.
pub(super) fn fork_helper(work: impl FnOnce() -> u8) -> nix::Result<Pid> {
    // SAFETY: the caller has one thread, so no lock is held by a thread the helper lacks.
    match unsafe { nix::unistd::fork() }? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            let code = work();
            // SAFETY: ends this process without running the parent's exit handlers.
            unsafe { libc::_exit(i32::from(code)) }
        }
    }
}

/// Closes every descriptor beyond the standard three when this process executes another program:
/// also those that it inherited itself. Async-signal-safe.
///
/// Kernels before 5.11 cannot (close_range(2)); what this program opened is closed anyway.
pub(crate) fn close_on_exec() {
    // SAFETY: no pointers, and no descriptor is closed now.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3 as libc::c_uint,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
    }
}

/// Keeps `descriptor` open when this process executes another program. Async-signal-safe.
pub(crate) fn keep_on_exec(descriptor: RawFd) -> io::Result<()> {
    // SAFETY: no pointers; a closed descriptor gives EBADF.
    check(unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) })
}

/// Gives signals that may have been ignored or caught by a parent their default action, so that a
/// child ends as its user expects. Async-signal-safe.
pub(crate) fn default_signals() -> io::Result<()> {
    for signal in [
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGHUP,
        libc::SIGPIPE,
        libc::SIGCHLD,
    ] {
        // SAFETY: the default action runs no code of this process.
        if unsafe { libc::signal(signal, libc::SIG_DFL) } == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Ends this process with SIGKILL when the thread that started it ends (prctl(2)); at once when the
/// process `parent` has ended already. Async-signal-safe.
pub(super) fn die_with_parent(parent: libc::pid_t) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) })?;
    // SAFETY: no pointers, and it cannot fail.
    if unsafe { libc::getppid() } != parent {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    Ok(())
}

/// Makes `command` start with default signals, and end with SIGKILL when the thread that starts it
/// ends.
pub(crate) fn end_with_parent(command: &mut Command) {
    let parent = nix::unistd::getpid().as_raw();
    // SAFETY: the closure makes async-signal-safe system calls and nothing else.
    unsafe {
        command.pre_exec(move || {
            default_signals()?;
            die_with_parent(parent)
        });
    }
}

/// Carries `CAP_NET_RAW` and `CAP_NET_ADMIN` over the next exec of a process whose user is not
/// root: inheritable, then ambient (capabilities(7)). Async-signal-safe.
pub(crate) fn keep_network_rights() -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: libc::c_int,
    }
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Word {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    let mut header = Header {
        version: CAPABILITY_VERSION_3,
        pid: 0,
    };
    let mut words = [Word {
        effective: 0,
        permitted: 0,
        inheritable: 0,
    }; 2];
    // SAFETY: version 3 has a header and two words, which live through the call.
    check_long(unsafe { libc::syscall(libc::SYS_capget, &raw mut header, words.as_mut_ptr()) })?;
    for right in NETWORK_RIGHTS {
        words[0].inheritable |= 1 << right;
    }
    // SAFETY: as above; the words are only read.
    check_long(unsafe { libc::syscall(libc::SYS_capset, &raw mut header, words.as_ptr()) })?;
    for right in NETWORK_RIGHTS {
        // SAFETY: no pointers.
        check(unsafe {
            libc::prctl(
                libc::PR_CAP_AMBIENT,
                libc::PR_CAP_AMBIENT_RAISE,
                libc::c_ulong::from(right),
                0,
                0,
            )
        })?;
    }
    Ok(())
}

/// Whether an executable file gives `capability` to whoever runs it: its extended attribute has it
/// permitted and the effective bit set (capabilities(7), file capability extended attributes).
pub(crate) fn gives_capability(file: &Path, capability: u32) -> bool {
    let Ok(path) = CString::new(file.as_os_str().as_bytes()) else {
        return false;
    };
    let mut value = [0_u8; 24];
    // SAFETY: both names end with 0 and the kernel writes at most the length it is given.
    let length = unsafe {
        libc::getxattr(
            path.as_ptr(),
            c"security.capability".as_ptr(),
            value.as_mut_ptr().cast(),
            value.len(),
        )
    };
    length >= 8 && permits(&value, capability)
}

/// Little endian: the revision with the effective bit, then the low words of the permitted and the
/// inheritable set. All capabilities of networking are in the low words.
fn permits(value: &[u8; 24], capability: u32) -> bool {
    const EFFECTIVE: u8 = 1;
    let word = u32::from_le_bytes([value[4], value[5], value[6], value[7]]);
    value[0] & EFFECTIVE != 0 && word & (1 << capability) != 0
}

fn inet_socket() -> io::Result<OwnedFd> {
    Ok(nix::sys::socket::socket(
        nix::sys::socket::AddressFamily::Inet,
        nix::sys::socket::SockType::Datagram,
        nix::sys::socket::SockFlag::SOCK_CLOEXEC,
        None,
    )?)
}

fn named_request(interface: &str) -> io::Result<libc::ifreq> {
    // SAFETY: every bit pattern is a value of this plain structure and its union.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    Ok(request)
}

fn length_of<T>() -> libc::socklen_t {
    libc::socklen_t::try_from(mem::size_of::<T>()).expect("kernel structures are small")
}

fn check(result: libc::c_int) -> io::Result<()> {
    check_long(libc::c_long::from(result))
}

fn check_long(result: libc::c_long) -> io::Result<()> {
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_capabilities() {
        // `cap_net_raw+ep` as setcap writes it: revision 2, effective.
        let mut value = [0; 24];
        value[..8].copy_from_slice(&[1, 0, 0, 2, 0, 0x20, 0, 0]);
        assert!(permits(&value, CAP_NET_RAW));
        assert!(!permits(&value, CAP_NET_ADMIN));
        value[0] = 0;
        assert!(!permits(&value, CAP_NET_RAW));
        assert!(!gives_capability(Path::new("/proc/self/exe"), CAP_NET_RAW));
    }

    #[test]
    fn an_unknown_interface_is_an_error() {
        assert!(set_link_up("a-name-that-is-far-too-long").is_err());
        assert!(packet_socket("wt-none").is_err());
    }
}
