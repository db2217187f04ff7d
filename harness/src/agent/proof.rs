//! Proves with counted datagrams that the wire carries them, and who does the receive work.
//!
//! Bursts go from a socket of the sender's namespace to one of this process's own, the next when the
//! one before has arrived: far fewer than the 256 frames a veth queue holds.

use std::fs;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::time::Duration;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use wiretrial_contract::clock;
use wiretrial_contract::control::TopologyKind;
use wiretrial_contract::units::Family;

use super::namespaces::Sender;
use super::steering;

/// Bursts of a proof.
const BURSTS: u32 = 10;
/// Datagrams of a burst.
const BURST: u32 = 30;
/// Longest wait for a datagram.
const ARRIVES: Duration = Duration::from_millis(500);
/// Longest wait for a counter that follows what it counts, ns.
const SETTLES_NS: u64 = 200_000_000;
/// Between two looks at it, ns.
const LOOK_NS: u64 = 1_000_000;
/// Bytes of a datagram.
const PAYLOAD: [u8; 18] = [0; 18];

/// This process on one CPU, until dropped.
#[derive(Debug)]
pub(super) struct Away(Option<CpuSet>);

impl Away {
    /// Moves this process to `cpu`, where that is possible: receive packet steering to the CPU it
    /// sends from would be seen by nobody.
    pub(super) fn to(cpu: u32) -> Self {
        let before = sched_getaffinity(Pid::from_raw(0)).ok();
        let moved = steering::pin(std::process::id(), cpu).is_ok();
        Self(before.filter(|_| moved))
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // It came from there.
            let _ = sched_setaffinity(Pid::from_raw(0), before);
        }
    }
}

/// Sends the bursts and checks that every datagram arrives.
///
/// # Errors
///
/// One sentence: no socket, or how many arrived.
pub(super) fn arrives(sender: &Sender) -> Result<(), String> {
    let wire = TopologyKind::Wire;
    let bind = |address: std::net::IpAddr| UdpSocket::bind((address, 0));
    let failed = |error| format!("cannot open a socket on the wire: {error}");
    let sink = bind(wire.receiver_address(Family::Ipv4)).map_err(failed)?;
    sink.set_read_timeout(Some(ARRIVES)).map_err(failed)?;
    let target = sink.local_addr().map_err(failed)?;
    let source = sender
        .within(|| bind(wire.sender_address(Family::Ipv4)))?
        .map_err(failed)?;
    let mut arrived = 0;
    for burst in 1..=BURSTS {
        for _ in 0..BURST {
            source
                .send_to(&PAYLOAD, target)
                .map_err(|error| format!("cannot send on the wire: {error}"))?;
        }
        while arrived < burst * BURST {
            match sink.recv(&mut [0; PAYLOAD.len()]) {
                Ok(_) => arrived += 1,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    let sent = burst * BURST;
                    return Err(format!("the wire delivered {arrived} of {sent} datagrams"));
                }
            }
        }
    }
    Ok(())
}

/// Which of `threads` did the receive work: the one that ran for most of the bursts.
///
/// # Errors
///
/// The wire lost datagrams, no thread ran, or several did.
pub(super) fn by_threads(sender: &Sender, threads: &[u32]) -> Result<u32, String> {
    let ran = |thread: &u32| Ran::read(*thread).unwrap_or_default();
    let before: Vec<Ran> = threads.iter().map(ran).collect();
    arrives(sender)?;
    // A thread is charged when it leaves its CPU.
    let moved = settled(|| {
        let after = threads.iter().map(ran);
        let moved: Vec<u32> = (threads.iter().zip(before.iter().zip(after)))
            .filter(|(_, (before, after))| after.worked_since(before))
            .map(|(thread, _)| *thread)
            .collect();
        (!moved.is_empty()).then_some(moved)
    });
    match moved.as_deref() {
        Some([thread]) => Ok(*thread),
        Some(several) => Err(format!("{} kernel threads ran for it", several.len())),
        None => Err("its kernel thread did not run for the datagrams".into()),
    }
}

/// Checks that the CPU of receive packet steering was handed the frames.
///
/// # Errors
///
/// The wire lost datagrams, or that CPU was not woken for them.
pub(super) fn by_steering(sender: &Sender, cpu: u32) -> Result<(), String> {
    let handed = || received_rps(&fs::read_to_string("/proc/net/softnet_stat").ok()?, cpu);
    let before = handed().ok_or("softnet_stat does not say what a CPU was handed")?;
    arrives(sender)?;
    let moved = settled(|| {
        let wakes = handed()?.wrapping_sub(before);
        (wakes >= BURSTS / 2).then_some(())
    });
    moved.ok_or_else(|| format!("CPU {cpu} was not woken for the datagrams"))
}

fn settled<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = clock::monotonic_ns() + SETTLES_NS;
    loop {
        let found = look();
        let now = clock::monotonic_ns();
        if found.is_some() || now >= deadline {
            return found;
        }
        clock::sleep_until(now + LOOK_NS);
    }
}

/// What a task did (Documentation/scheduler/sched-stats.rst).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ran {
    /// Time on a CPU, ns.
    pub(super) on_cpu_ns: u64,
    /// Times it got one.
    times: u64,
}

impl Ran {
    /// Of `task` so far; `None` when it is not there, or this kernel does not say.
    pub(super) fn read(task: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{task}/schedstat")).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split_ascii_whitespace();
        Some(Self {
            on_cpu_ns: fields.next()?.parse().ok()?,
            times: fields.nth(1)?.parse().ok()?,
        })
    }

    /// A poller sleeps between bursts, so it runs once for each, or little less.
    fn worked_since(self, before: &Self) -> bool {
        self.on_cpu_ns > before.on_cpu_ns && self.times >= before.times + u64::from(BURSTS / 2)
    }
}

/// Times that `cpu` was woken for frames of other CPUs: `received_rps`, the tenth column; the CPU is
/// the thirteenth (net/core/net-procfs.c, `softnet_seq_show`).
fn received_rps(text: &str, cpu: u32) -> Option<u32> {
    text.lines().find_map(|line| {
        let columns: Vec<u32> = line
            .split_ascii_whitespace()
            .map(|column| u32::from_str_radix(column, 16))
            .collect::<Result<_, _>>()
            .ok()?;
        (*columns.get(12)? == cpu).then(|| columns[9])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_column_of_the_cpu_that_was_woken() {
        let text = "00000001 0 0 0 0 0 0 0 0 00000007 0 0 00000000 0 0\n\
                    00000001 0 0 0 0 0 0 0 0 0000000a 0 0 00000003 0 0\n";
        assert_eq!(received_rps(text, 3), Some(10));
        assert_eq!(received_rps(text, 1), None);
        assert_eq!(received_rps("00000001 0 0 0 0 0 0 0 0 00000007\n", 0), None);
    }

    #[test]
    fn a_thread_that_ran_by_chance_is_no_proof() {
        let before = Ran::parse("1000 5 7\n").unwrap();
        let ran = |on_cpu_ns, times| Ran { on_cpu_ns, times }.worked_since(&before);
        assert!(ran(90_000, 12));
        assert!(!ran(90_000, 11));
        assert!(!ran(1000, 17));
        assert_eq!(Ran::parse("1000"), None);
        assert!(Ran::read(std::process::id()).is_some());
    }
}
