//! Frames from a network interface, through libpcap's ring in memory shared with the kernel.
//!
//! One thread dispatches; any thread may end its wait through a [`Waker`]. A wait that was ended is
//! an outcome, not an error. Nothing is copied: a frame's bytes lie in the ring.
//!
//! It refuses a timeout of 0, with which the kernel never hands over a partly filled block.

use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use pcap::{Active, BreakLoop, Capture};

use super::{LiveError, words};
use crate::frame::{Frame, LinkType};
use crate::sys::{self, Precision};

/// Bytes asked for beyond the snap length in immediate mode. libpcap 1.10 sizes the slots of a
/// TPACKET_V2 ring up to 16 bytes too small for it (it takes the network header to start earlier
/// than the kernel puts it), and the kernel then keeps less of each frame: 58 of 60 bytes.
const SLOT_SLACK: u32 = 16;

/// How a live capture is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSettings {
    /// Interface to capture on.
    pub interface: String,
    /// Ring asked for, bytes, at most 2^31 - 1; see [`Live::ring`] for what was granted.
    pub buffer_bytes: u32,
    /// Hand over each frame at once (libpcap then uses TPACKET_V2), or by block.
    pub immediate: bool,
    /// Time after which a partly filled block is handed over, ms, 1..=2^31 - 1.
    pub timeout_ms: u32,
    /// Bytes kept of each frame, 1..=2^31 - 17.
    pub snaplen: u32,
    /// Also take frames for other hosts.
    pub promiscuous: bool,
}

/// Whether the socket also gets frames that leave the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outgoing {
    /// Left out by the kernel (`PACKET_IGNORE_OUTGOING`), so no counter has them either.
    Ignored,
    /// Captured, because the kernel cannot leave them out; never so on a loopback interface.
    Captured,
}

/// libpcap's counters since the capture was opened (pcap_stats(3PCAP)). They wrap at 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counters {
    /// `ps_recv`. On Linux: frames that passed the filter in the kernel, dropped ones included.
    pub received: u32,
    /// `ps_drop`: frames for which the ring had no room.
    pub dropped: u32,
    /// `ps_ifdrop`. On Linux it stays 0, unread, unless the capture is promiscuous.
    pub interface_dropped: u32,
}

/// The ring as the kernel made it (packet(7), sock_diag(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingGeometry {
    /// TPACKET version, 2 or 3.
    pub version: u32,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Blocks.
    pub blocks: u32,
    /// Bytes of a frame slot; TPACKET_V3 packs frames closer than this.
    pub frame_bytes: u32,
    /// Frame slots.
    pub frames: u32,
    /// Time after which a partly filled block is handed over, ms; 0 for TPACKET_V2.
    pub retire_ms: u32,
}

/// How one call of [`Live::dispatch`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dispatch {
    /// Frames handed over; may be more than 0 even when it was woken.
    pub frames: u64,
    /// A [`Waker`] ended it.
    pub woken: bool,
}

/// Ends the wait of a capture from any thread.
#[derive(Clone)]
pub struct Waker(Arc<Wakes>);

struct Wakes {
    handle: BreakLoop,
    /// Wakes that no dispatch has answered yet. Each break libpcap reports has a wake of its own
    /// behind it, so this tells a break from an error, which libpcap's binding does not.
    open: AtomicU64,
}

impl Waker {
    /// Makes the current or the next [`Live::dispatch`] return. A no-op once the capture is closed.
    pub fn wake(&self) {
        self.0.open.fetch_add(1, Ordering::SeqCst);
        self.0.handle.breakloop();
    }
}

impl fmt::Debug for Waker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waker").finish_non_exhaustive()
    }
}

/// An open capture.
pub struct Live {
    capture: Capture<Active>,
    wakes: Arc<Wakes>,
    interface: String,
    index: Option<u32>,
    kept: usize,
    link_type: LinkType,
    fraction_ns: u64,
    outgoing: Outgoing,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live")
            .field("interface", &self.interface)
            .field("link_type", &self.link_type)
            .field("fraction_ns", &self.fraction_ns)
            .field("outgoing", &self.outgoing)
            .finish_non_exhaustive()
    }
}

impl Live {
    /// Opens a capture, sets its filter (pcap-filter(7)) and leaves departing frames out.
    ///
    /// The filter must not say `inbound`: until the first block after setting it has passed,
    /// libpcap applies it in user space, where the direction is not known.
    ///
    /// Frames that passed before all of this was in force may be in the counters: take the
    /// counters once, later, and count from there.
    ///
    /// # Errors
    ///
    /// See [`LiveError`].
    pub fn open(settings: &LiveSettings, filter: &str) -> Result<Self, LiveError> {
        let interface = settings.interface.clone();
        let buffer = int("buffer_bytes", settings.buffer_bytes)?;
        let timeout = int("timeout_ms", settings.timeout_ms)?;
        int("snaplen", settings.snaplen)?;
        let slack = if settings.immediate { SLOT_SLACK } else { 0 };
        let snaplen = int("snaplen", settings.snaplen.saturating_add(slack))?;
        let index = if_nametoindex(interface.as_str()).ok();
        let flags = flags(&interface);
        if flags.is_some_and(|flags| !flags.contains(InterfaceFlags::IFF_UP)) {
            return Err(LiveError::Down { interface });
        }

        let inactive = Capture::from_device(interface.as_str())
            .map_err(|error| refused(&interface, "open a capture", error))?;
        let mut capture = inactive
            .buffer_size(buffer)
            .immediate_mode(settings.immediate)
            .timeout(timeout)
            .snaplen(snaplen)
            .promisc(settings.promiscuous)
            .precision(pcap::Precision::Nano)
            .open()
            .map_err(|error| refused(&interface, "open a capture", error))?;
        let mut live = Self {
            link_type: LinkType(capture.get_datalink().0),
            fraction_ns: match sys::precision(&capture) {
                Precision::Nano => 1,
                Precision::Micro => 1000,
            },
            wakes: Arc::new(Wakes {
                handle: capture.breakloop_handle(),
                open: AtomicU64::new(0),
            }),
            capture,
            interface,
            index,
            kept: settings.snaplen as usize,
            outgoing: Outgoing::Ignored,
        };
        live.capture
            .filter(filter, true)
            .map_err(|error| LiveError::Filter {
                filter: filter.to_owned(),
                cause: words(error),
            })?;
        if let Err(cause) = sys::ignore_outgoing(live.capture.as_fd()) {
            if flags.is_none_or(|flags| flags.contains(InterfaceFlags::IFF_LOOPBACK)) {
                let interface = live.interface;
                return Err(LiveError::Outgoing { interface, cause });
            }
            live.outgoing = Outgoing::Captured;
        }
        Ok(live)
    }

    /// Waits for frames and hands each to `handler`, at most `count` of them; `None` means all that
    /// are in the ring by then, which under overload may be for as long as it lasts.
    ///
    /// In immediate mode the wait also ends, with nothing, after the timeout.
    ///
    /// # Errors
    ///
    /// [`LiveError::Gone`] and [`LiveError::Pcap`].
    #[inline]
    pub fn dispatch(
        &mut self,
        count: Option<usize>,
        mut handler: impl FnMut(&Frame<'_>),
    ) -> Result<Dispatch, LiveError> {
        let (link_type, fraction_ns, kept) = (self.link_type, self.fraction_ns, self.kept);
        let mut frames = 0;
        // What it returns leaves out the frames it had handed over before it was woken.
        let result = self.capture.dispatch(count, |packet| {
            frames += 1;
            let seconds = packet.header.ts.tv_sec.cast_unsigned();
            let fraction = packet.header.ts.tv_usec.cast_unsigned();
            handler(&Frame {
                bytes: &packet.data[..packet.data.len().min(kept)],
                wire_len: packet.header.len,
                time_ns: seconds * 1_000_000_000 + fraction * fraction_ns,
                link_type,
            });
        });
        match result {
            Ok(_) => Ok(Dispatch {
                frames,
                woken: false,
            }),
            Err(error) => {
                let taken =
                    self.wakes
                        .open
                        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |open| {
                            open.checked_sub(1)
                        });
                if taken.is_ok() {
                    return Ok(Dispatch {
                        frames,
                        woken: true,
                    });
                }
                Err(self.broken("read frames", error))
            }
        }
    }

    /// Waits at most `timeout_ns` until [`Live::dispatch`] would find frames without waiting, and
    /// says whether it would. Wakes do not end it; a signal does, with `false`. The time is
    /// rounded up to a millisecond.
    ///
    /// # Errors
    ///
    /// [`LiveError::Pcap`] when poll(2) fails.
    pub fn wait(&self, timeout_ns: u64) -> Result<bool, LiveError> {
        let timeout =
            PollTimeout::try_from(timeout_ns.div_ceil(1_000_000)).unwrap_or(PollTimeout::MAX);
        let mut fds = [PollFd::new(self.capture.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, timeout) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::EINTR) => Ok(false),
            Err(errno) => Err(LiveError::Pcap {
                interface: self.interface.clone(),
                action: "wait for frames",
                cause: errno.desc().to_owned(),
            }),
        }
    }

    /// libpcap's counters as they stand. Only the dispatching thread may ask, between dispatches.
    ///
    /// # Errors
    ///
    /// [`LiveError::Pcap`] when `pcap_stats` fails.
    pub fn counters(&mut self) -> Result<Counters, LiveError> {
        let stat = self.capture.stats().map_err(|error| LiveError::Pcap {
            interface: self.interface.clone(),
            action: "read the counters",
            cause: words(error),
        })?;
        Ok(Counters {
            received: stat.received,
            dropped: stat.dropped,
            interface_dropped: stat.if_dropped,
        })
    }

    /// The ring as the kernel made it, or `None` when there is none.
    ///
    /// # Errors
    ///
    /// The kernel has no `NETLINK_SOCK_DIAG` for packet sockets, or did not answer.
    pub fn ring(&self) -> io::Result<Option<RingGeometry>> {
        sys::ring_of(self.capture.as_fd())
    }

    /// How the first header of its frames is to be read.
    #[must_use]
    pub fn link_type(&self) -> LinkType {
        self.link_type
    }

    /// Whether it also gets frames that leave the host.
    #[must_use]
    pub fn outgoing(&self) -> Outgoing {
        self.outgoing
    }

    /// A handle with which other threads end its wait.
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.wakes))
    }

    fn broken(&self, action: &'static str, error: pcap::Error) -> LiveError {
        let interface = self.interface.clone();
        let there = if_nametoindex(interface.as_str()).ok() == self.index;
        let up = flags(&interface).is_some_and(|flags| flags.contains(InterfaceFlags::IFF_UP));
        if self.index.is_some() && !(there && up) {
            return LiveError::Gone { interface };
        }
        LiveError::Pcap {
            interface,
            action,
            cause: words(error),
        }
    }
}

/// What libpcap calls itself, with its version.
#[must_use]
pub fn libpcap_version() -> String {
    sys::libpcap_version()
}

/// Names of the interfaces of this network namespace, in the kernel's order.
#[must_use]
pub fn interfaces() -> Vec<String> {
    let mut names = Vec::new();
    for entry in getifaddrs().into_iter().flatten() {
        if !names.contains(&entry.interface_name) {
            names.push(entry.interface_name);
        }
    }
    names
}

fn flags(interface: &str) -> Option<InterfaceFlags> {
    let mut entries = getifaddrs().ok()?;
    let entry = entries.find(|entry| entry.interface_name == interface)?;
    Some(entry.flags)
}

fn int(name: &'static str, value: u32) -> Result<i32, LiveError> {
    i32::try_from(value)
        .ok()
        .filter(|value| *value > 0)
        .ok_or(LiveError::Setting {
            name,
            value: u64::from(value),
            wanted: "1 to 2147483647",
        })
}

/// The binding keeps libpcap's words and drops its code, so the cause is looked for again.
fn refused(interface: &str, action: &'static str, error: pcap::Error) -> LiveError {
    let interface = interface.to_owned();
    if if_nametoindex(interface.as_str()) == Err(Errno::ENODEV) && interface != "any" {
        let present = interfaces();
        return LiveError::NoInterface { interface, present };
    }
    let attempt = socket(
        AddressFamily::Packet,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        None,
    );
    if matches!(attempt, Err(Errno::EPERM | Errno::EACCES)) {
        return LiveError::NoRight { interface };
    }
    LiveError::Pcap {
        interface,
        action,
        cause: words(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> LiveSettings {
        LiveSettings {
            interface: "lo".into(),
            buffer_bytes: 1 << 20,
            immediate: false,
            timeout_ms: 10,
            snaplen: 128,
            promiscuous: false,
        }
    }

    #[test]
    fn a_timeout_of_nothing_is_refused_before_anything_is_opened() {
        let error = Live::open(
            &LiveSettings {
                timeout_ms: 0,
                ..settings()
            },
            "udp",
        )
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "timeout_ms is 0; it must be 1 to 2147483647"
        );
    }

    #[test]
    fn an_unknown_interface_is_answered_with_those_there_are() {
        let error = Live::open(
            &LiveSettings {
                interface: "nosuch0".into(),
                ..settings()
            },
            "udp",
        )
        .unwrap_err();
        let LiveError::NoInterface { present, .. } = &error else {
            panic!("{error}")
        };
        assert!(present.contains(&"lo".to_owned()), "{error}");
    }

    #[test]
    fn libpcap_says_its_name() {
        assert!(libpcap_version().starts_with("libpcap version "));
    }
}
