//! One socket option, and two questions to libpcap that its binding leaves out.
#![allow(
    unsafe_code,
    reason = "setsockopt(2) for AF_PACKET and two functions of libpcap have no safe wrapper"
)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use pcap::{Active, Capture};

unsafe extern "C" {
    fn pcap_lib_version() -> *const c_char;
    fn pcap_get_tstamp_precision(handle: *mut c_void) -> c_int;
}

/// Sets `PACKET_IGNORE_OUTGOING` (packet(7), Linux 4.20): the socket sees only what arrives. On
/// the loopback interface every frame passes twice, once leaving and once arriving.
pub(crate) fn ignore_outgoing(socket: BorrowedFd<'_>) -> io::Result<()> {
    const SOL_PACKET: c_int = 263;
    const PACKET_IGNORE_OUTGOING: c_int = 23;
    let on: c_int = 1;
    // SAFETY: the descriptor is open for the call, and the option's value is an int that lives
    // longer than the call, with its own size as the length.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            SOL_PACKET,
            PACKET_IGNORE_OUTGOING,
            (&raw const on).cast::<c_void>(),
            libc::socklen_t::try_from(size_of::<c_int>()).expect("an int is a few bytes"),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Unit of the second half of a frame's time stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precision {
    /// Microseconds.
    Micro,
    /// Nanoseconds.
    Nano,
}

/// The precision an open capture really has (pcap_get_tstamp_precision(3PCAP)).
pub(crate) fn precision(capture: &Capture<Active>) -> Precision {
    const NANO: c_int = 1;
    // SAFETY: the handle is open as long as `capture` is, and the call only reads from it.
    let answer = unsafe { pcap_get_tstamp_precision(capture.as_ptr().cast()) };
    if answer == NANO {
        Precision::Nano
    } else {
        Precision::Micro
    }
}

/// What libpcap calls itself (pcap_lib_version(3PCAP)).
pub(crate) fn libpcap_version() -> String {
    // SAFETY: the function returns a string with a terminating zero that is never freed.
    let text = unsafe { CStr::from_ptr(pcap_lib_version()) };
    text.to_string_lossy().into_owned()
}
