//! Stamps datagrams and sends them, as many a call as there are, until each is taken or refused.

use std::fmt;
use std::ops::Range;
use std::os::fd::BorrowedFd;

use wiretrial_contract::clock;
use wiretrial_contract::stamp::{self, Class, Form, Identity, Stamp};

use super::sys::Messages;
use crate::payload;
use crate::tally::{GroupCounts, Sent};

/// Room for the datagrams of one call; allocated once and never in a call.
pub struct Batch {
    messages: Messages,
    intended: Vec<u64>,
    form: Form,
}

/// Datagrams of one flow that are sent now.
#[derive(Debug, Clone)]
pub struct Datagrams {
    /// Identity of their trial.
    pub identity: Identity,
    /// What they are for.
    pub class: Class,
    /// Their flow.
    pub flow: u16,
    /// Their numbers; at most as many as the batch has room for.
    pub sequences: Range<u64>,
}

impl Batch {
    /// Room for `count` datagrams of `payload` bytes of UDP payload each, stamped in `form`.
    #[must_use]
    pub fn new(count: u32, payload: u32, form: Form) -> Self {
        let count = count as usize;
        let mut messages = Messages::new(count, payload as usize);
        (0..count).for_each(|at| payload::fill(messages.payload(at)));
        Self {
            messages,
            intended: vec![0; count],
            form,
        }
    }

    /// Sends `datagrams` through `socket`, the `m`-th of which was intended for `intended(m)` ns
    /// and none of which for later than `now_ns`, a fresh reading of `CLOCK_MONOTONIC`. Counts
    /// every call and, for counted datagrams, how late each was. Returns a reading after the last
    /// call.
    ///
    /// A call that took only some is followed by one for the rest; a datagram that the kernel
    /// refuses has used up its number, and the rest goes on.
    ///
    /// # Panics
    ///
    /// When there are more datagrams than room.
    pub fn send(
        &mut self,
        socket: BorrowedFd,
        datagrams: &Datagrams,
        intended: impl Fn(u64) -> u64,
        now_ns: u64,
        counts: &mut GroupCounts,
    ) -> u64 {
        let mut now_ns = now_ns;
        let total = usize::try_from(datagrams.sequences.end - datagrams.sequences.start)
            .expect("at most a batch");
        let mut from = 0;
        while from < total {
            for (at, m) in (from..total).zip(from as u64..) {
                self.intended[at] = intended(m);
                let stamp = Stamp {
                    class: datagrams.class,
                    flow: datagrams.flow,
                    sequence: datagrams.sequences.start + m,
                    intended_ns: self.intended[at],
                    actual_ns: now_ns,
                };
                let payload = self.messages.payload(at);
                stamp::write(self.form, &datagrams.identity, &stamp, payload);
            }
            let begin_ns = clock::monotonic_ns();
            let taken = self.messages.send(socket, from..total);
            let sent = Sent {
                begin_ns,
                end_ns: clock::monotonic_ns(),
                given: u32::try_from(total - from).expect("at most a batch"),
                taken: taken.map(|n| u32::try_from(n).expect("at most a batch")),
            };
            counts.sent(datagrams.class, datagrams.flow, &sent);
            let decided = from..from + sent.decided() as usize;
            from = decided.end;
            if datagrams.class == Class::Counted {
                for intended_ns in &self.intended[decided] {
                    counts.late(now_ns.saturating_sub(*intended_ns));
                }
            }
            now_ns = sent.end_ns;
        }
        now_ns
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("room", &self.intended.len())
            .field("form", &self.form)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;
    use std::time::Duration;
    use wiretrial_contract::stamp::{FULL_LEN, Reading};

    const IDENTITY: Identity = Identity {
        run_id: 0x1122_3344_5566_7788,
        trial: 7,
        nonce: 0xA1B2_C3D4,
    };

    fn pair() -> (UdpSocket, UdpSocket) {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        receiver
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        (sender, receiver)
    }

    fn datagrams(sequences: Range<u64>) -> Datagrams {
        Datagrams {
            identity: IDENTITY,
            class: Class::Counted,
            flow: 3,
            sequences,
        }
    }

    /// The first bytes on the wire, fixed fields as a hex dump, and the reading of them.
    #[test]
    fn golden_bytes_on_the_wire() {
        let (sender, receiver) = pair();
        let mut batch = Batch::new(4, 60, Form::Full);
        let mut counts = GroupCounts::new(4);
        let now = clock::monotonic_ns();
        let what = datagrams(5..8);
        batch.send(sender.as_fd(), &what, |m| now - 100 - m, now, &mut counts);
        for m in 0..3 {
            let mut bytes = [0; 100];
            assert_eq!(receiver.recv(&mut bytes).unwrap(), 60);
            // Magic "WTRL", version 1, class 0, flow 3, run id, sequence.
            assert_eq!(
                bytes[..17],
                [
                    0x57,
                    0x54,
                    0x52,
                    0x4C,
                    1,
                    0,
                    3,
                    0,
                    0x88,
                    0x77,
                    0x66,
                    0x55,
                    0x44,
                    0x33,
                    0x22,
                    0x11,
                    5 + u8::try_from(m).unwrap()
                ]
            );
            let stamp = Stamp {
                class: Class::Counted,
                flow: 3,
                sequence: 5 + m,
                intended_ns: now - 100 - m,
                actual_ns: now,
            };
            let read = stamp::read(Form::Full, &IDENTITY, &bytes[..60]);
            assert_eq!(read, Reading::Ours(stamp));
            // Bytes 48..60 of SplitMix64 from seed 0.
            let mut fill = [0; 60];
            payload::fill(&mut fill);
            assert_eq!(bytes[FULL_LEN..60], fill[FULL_LEN..]);
        }
    }

    #[test]
    fn a_refused_datagram_uses_up_its_number_and_the_rest_goes_on() {
        let (sender, receiver) = pair();
        let target = receiver.local_addr().unwrap();
        drop(receiver);
        let mut batch = Batch::new(1, 18, Form::Compact);
        let mut counts = GroupCounts::new(4);
        let mut send = |sequence| {
            let now = clock::monotonic_ns();
            let what = datagrams(sequence..sequence + 1);
            batch.send(sender.as_fd(), &what, |_| now, now, &mut counts);
        };
        // Nobody listens: the first datagram is taken and comes back as an ICMP error, which the
        // second one is told of instead of being sent.
        send(0);
        send(1);
        let receiver = UdpSocket::bind(target).unwrap();
        receiver
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        send(2);
        let mut bytes = [0; 18];
        receiver.recv(&mut bytes).unwrap();
        let Reading::Ours(stamp) = stamp::read(Form::Compact, &IDENTITY, &bytes) else {
            panic!("a datagram of ours");
        };
        assert_eq!(stamp.sequence, 2);
        let text = format!("{counts:?}");
        assert!(
            text.contains("attempted: 3, accepted: [0, 0, 0, 2]"),
            "{text}"
        );
    }
}
