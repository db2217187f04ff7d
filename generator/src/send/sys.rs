//! System calls without a safe wrapper.
#![allow(unsafe_code, reason = "sendmmsg(2) and two socket options")]

use std::mem;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;
use wiretrial_contract::units::Family;

/// Payload buffers of one length with the headers that describe them to the kernel; allocated once.
pub(super) struct Messages {
    payload: Vec<u8>,
    length: usize,
    iovecs: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

impl Messages {
    /// `count` buffers of `length` bytes, all zero.
    pub(super) fn new(count: usize, length: usize) -> Self {
        // SAFETY: both are plain C structs for which all zeros are a valid value: null pointers
        // with lengths of 0.
        let (iovec, header) = unsafe { (mem::zeroed(), mem::zeroed()) };
        Self {
            payload: vec![0; count * length],
            length,
            iovecs: vec![iovec; count],
            headers: vec![header; count],
        }
    }

    /// Buffer `at`.
    pub(super) fn payload(&mut self, at: usize) -> &mut [u8] {
        &mut self.payload[at * self.length..][..self.length]
    }

    /// Sends the buffers in `range`, which is not empty, through a connected socket. Returns how
    /// many the kernel took, at least one, or why it refused the first (sendmmsg(2)); an error
    /// behind the first only ends the call. Interrupted calls are repeated.
    pub(super) fn send(&mut self, socket: BorrowedFd, range: Range<usize>) -> Result<usize, Errno> {
        // All pointers come from one borrow of each vector, so that none outdates another.
        let payload = self.payload.as_mut_ptr();
        for (iovec, at) in self.iovecs[range.clone()].iter_mut().zip(range.clone()) {
            iovec.iov_base = payload.wrapping_add(at * self.length).cast();
            iovec.iov_len = self.length;
        }
        let iovecs = self.iovecs.as_mut_ptr();
        let headers = &mut self.headers[range.clone()];
        for (header, at) in headers.iter_mut().zip(range) {
            header.msg_hdr.msg_iov = iovecs.wrapping_add(at);
            header.msg_hdr.msg_iovlen = 1;
        }
        let count = u32::try_from(headers.len()).expect("at most 1024 messages");
        loop {
            // SAFETY: `headers` holds `count` headers without name and control data, each with one
            // iovec of its own number that describes the buffer of that number: the range was
            // checked against both vectors, and the payload has a buffer for each of them. The
            // kernel reads the buffers and writes only `msg_len`; nothing moves during the call.
            let sent =
                unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), count, 0) };
            return match usize::try_from(sent) {
                Ok(0) => Err(Errno::EIO),
                Ok(sent) => Ok(sent),
                Err(_) if Errno::last() == Errno::EINTR => continue,
                Err(_) => Err(Errno::last()),
            };
        }
    }
}

/// Makes the kernel refuse datagrams over the path's MTU (EMSGSIZE) instead of cutting them up:
/// one datagram is one frame (ip(7), ipv6(7)).
pub(super) fn forbid_fragments(socket: BorrowedFd, family: Family) -> Result<(), Errno> {
    let (level, name, value): (_, _, libc::c_int) = match family {
        Family::Ipv4 => (
            libc::IPPROTO_IP,
            libc::IP_MTU_DISCOVER,
            libc::IP_PMTUDISC_DO,
        ),
        Family::Ipv6 => (
            libc::IPPROTO_IPV6,
            libc::IPV6_MTU_DISCOVER,
            libc::IPV6_PMTUDISC_DO,
        ),
    };
    let length = socklen::<libc::c_int>();
    // SAFETY: the option's value is an int, and `value` lives through the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            length,
        )
    };
    Errno::result(result).map(drop)
}

/// MTU of the route that a connected socket takes, bytes (ip(7), ipv6(7)).
pub(super) fn route_mtu(socket: BorrowedFd, family: Family) -> Result<u32, Errno> {
    let (level, name) = match family {
        Family::Ipv4 => (libc::IPPROTO_IP, libc::IP_MTU),
        Family::Ipv6 => (libc::IPPROTO_IPV6, libc::IPV6_MTU),
    };
    let mut value: libc::c_int = 0;
    let mut length = socklen::<libc::c_int>();
    // SAFETY: the option's value is an int, `length` says so, and both live through the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw mut value).cast(),
            &raw mut length,
        )
    };
    Errno::result(result)?;
    u32::try_from(value).map_err(|_| Errno::ERANGE)
}

fn socklen<T>() -> libc::socklen_t {
    libc::socklen_t::try_from(size_of::<T>()).expect("an int is small")
}
