//! Which datagrams came, how often, in which order, how long they had lain in the ring, and
//! how long they were on their way. Pure: it gets frames and the time of their hand-over, and reads no
//! clock.
//!
//! Invariant: every frame is in exactly one field of [`Copies`].

use wiretrial_capture::flow::{self, Refusal};
use wiretrial_capture::frame::Frame;
use wiretrial_contract::control::ReceiverPrepare;
use wiretrial_contract::report::{Copies, Quantiles, Residence};
use wiretrial_contract::stamp::{self, Class, Form, Identity, Reading, Stamp};

use crate::latency::Latency;

/// Parts of a trial's numbers that [`Account::residence`] tells apart.
pub const PARTS: usize = 20;

/// What a frame was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A counted datagram, for the first time.
    First,
    /// A counted datagram again.
    Again,
    /// A probe datagram of this trial.
    Probe,
    /// Anything else.
    Other,
}

impl Kind {
    /// Whether it is a copy of a counted datagram.
    #[must_use]
    pub const fn is_counted(self) -> bool {
        matches!(self, Self::First | Self::Again)
    }
}

/// When a frame was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HandOver {
    /// `CLOCK_REALTIME` ns, the clock of frames' time stamps.
    pub real_ns: u64,
    /// `CLOCK_MONOTONIC` ns, the clock of stamps; looked at only where
    /// [`Account::measures_latency`].
    pub monotonic_ns: u64,
}

/// The counts of one trial.
#[derive(Debug)]
pub struct Account {
    identity: Identity,
    form: Form,
    flows: Vec<Flow>,
    planned: u64,
    copies: Copies,
    reordered: u64,
    late: u64,
    truncated: u64,
    stopped: bool,
    residence: [Stay; PARTS],
    latency: Option<Latency>,
}

impl Account {
    /// Empty counts for the trial that `prepare` describes. Its bitmaps, one bit a planned
    /// datagram, are touched now, so that no page is first touched during the trial.
    #[must_use]
    pub fn new(prepare: &ReceiverPrepare) -> Self {
        Self {
            identity: prepare.identity.into(),
            form: prepare.form,
            flows: prepare.planned.iter().map(|n| Flow::new(*n)).collect(),
            planned: prepare.planned.iter().sum(),
            copies: Copies::default(),
            reordered: 0,
            late: 0,
            truncated: 0,
            stopped: false,
            residence: [Stay::default(); PARTS],
            latency: None,
        }
    }

    /// Also takes the latency of first copies, where stamps have the intended send. Only for
    /// senders on this host: the clocks must be one.
    pub fn measure_latency(&mut self) {
        self.latency = (self.form == Form::Full).then(Latency::default);
    }

    /// Whether it takes latencies.
    #[must_use]
    pub fn measures_latency(&self) -> bool {
        self.latency.is_some()
    }

    /// Forgets the frames so far: from now on copies are counted.
    pub fn arm(&mut self) {
        for flow in &mut self.flows {
            flow.clear();
        }
        self.copies = Copies::default();
        self.reordered = 0;
        self.truncated = 0;
        self.residence = [Stay::default(); PARTS];
        if let Some(latency) = &mut self.latency {
            latency.clear();
        }
    }

    /// The sender has stopped: first copies from now on are late.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Counts one frame.
    #[inline]
    pub fn frame(&mut self, frame: &Frame<'_>, at: HandOver) -> Kind {
        let datagram = match flow::udp(frame.link_type, frame.bytes) {
            Ok(datagram) => datagram,
            Err(refusal) => {
                self.truncated += u64::from(refusal == Refusal::Cut && frame.is_cut());
                self.copies.foreign += 1;
                return Kind::Other;
            }
        };
        let stamp = match stamp::read(self.form, &self.identity, datagram.payload) {
            Reading::Ours(stamp) => stamp,
            Reading::Stale => {
                self.copies.stale += 1;
                return Kind::Other;
            }
            Reading::Corrupt => {
                self.copies.corrupt += 1;
                return Kind::Other;
            }
            Reading::Foreign => {
                let needed = self.form.len();
                let cut =
                    datagram.payload.len() < needed && datagram.wire_payload_len as usize >= needed;
                self.truncated += u64::from(cut);
                self.copies.foreign += 1;
                return Kind::Other;
            }
        };
        match stamp.class {
            Class::Counted => self.counted(&stamp, frame.time_ns, at),
            _ if usize::from(stamp.flow) >= self.flows.len() => {
                self.copies.corrupt += 1;
                Kind::Other
            }
            Class::WarmUp => {
                self.copies.warm_up += 1;
                Kind::Other
            }
            Class::Probe => {
                self.copies.probe += 1;
                Kind::Probe
            }
            Class::Filler => {
                self.copies.filler += 1;
                Kind::Other
            }
        }
    }

    #[inline]
    fn counted(&mut self, stamp: &Stamp, taken_ns: u64, at: HandOver) -> Kind {
        let flow = self.flows.get_mut(usize::from(stamp.flow));
        let Some(flow) = flow.filter(|flow| stamp.sequence < flow.planned) else {
            self.copies.corrupt += 1;
            return Kind::Other;
        };
        let Some(order) = flow.take(stamp.sequence) else {
            self.copies.duplicate += 1;
            return Kind::Again;
        };
        self.copies.unique += 1;
        self.reordered += u64::from(order == Order::Behind);
        self.late += u64::from(self.stopped);
        let stay_ns = at.real_ns.saturating_sub(taken_ns);
        self.residence[flow.part(stamp.sequence)].add(stay_ns);
        if let Some(latency) = &mut self.latency {
            latency.add(stamp.intended_ns, at.monotonic_ns);
        }
        Kind::First
    }

    /// Counted datagrams planned, over all flows.
    #[must_use]
    pub fn planned(&self) -> u64 {
        self.planned
    }

    /// Frames by what they were.
    #[must_use]
    pub fn copies(&self) -> Copies {
        self.copies
    }

    /// First copies of counted datagrams by flow.
    #[must_use]
    pub fn unique_per_flow(&self) -> Vec<u64> {
        self.flows.iter().map(|flow| flow.unique).collect()
    }

    /// First copies whose number is below one seen before in their flow (RFC 4737 section 3).
    #[must_use]
    pub fn reordered(&self) -> u64 {
        self.reordered
    }

    /// First copies that came after [`Account::stop`]; they are among the unique.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Foreign frames of which the snap length kept less than headers and stamp.
    #[must_use]
    pub fn truncated(&self) -> u64 {
        self.truncated
    }

    /// From the intended send to the hand-over of first copies; `None` where it is not measured,
    /// where none came, and where any was negative.
    #[must_use]
    pub fn latency(&self) -> Option<Quantiles> {
        self.latency.as_ref()?.quantiles()
    }

    /// Time in the ring by twentieth of the planned numbers of each flow.
    #[must_use]
    pub fn residence(&self) -> Vec<Residence> {
        self.residence.iter().map(Stay::residence).collect()
    }
}

/// The numbers of one flow that have come.
#[derive(Debug)]
struct Flow {
    planned: u64,
    /// Twentieths per number, rounded up, scaled by 2^[`PART_SHIFT`].
    part_scale: u64,
    seen: Vec<u64>,
    /// The highest number seen, plus one.
    above: u64,
    unique: u64,
}

const PART_SHIFT: u32 = 58;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Ahead,
    Behind,
}

impl Flow {
    fn new(planned: u64) -> Self {
        let words = usize::try_from(planned.div_ceil(64)).expect("bounded by prepare::check");
        let mut flow = Self {
            planned,
            part_scale: ((PARTS as u64) << PART_SHIFT).div_ceil(planned.max(1)),
            seen: vec![0; words],
            above: 0,
            unique: 0,
        };
        flow.clear();
        flow
    }

    fn clear(&mut self) {
        self.seen.fill(0);
        // Zeroed memory from the allocator is not backed by pages until it is written to, and a
        // compiler may leave out a write of zeros to it.
        std::hint::black_box(&mut self.seen);
        self.above = 0;
        self.unique = 0;
    }

    /// Marks `sequence`, which is below `planned`; `None` when it was marked before.
    #[inline]
    fn take(&mut self, sequence: u64) -> Option<Order> {
        let word = usize::try_from(sequence / 64).expect("below planned, so it is in the bitmap");
        let bit = 1_u64 << (sequence % 64);
        if self.seen[word] & bit != 0 {
            return None;
        }
        self.seen[word] |= bit;
        self.unique += 1;
        if sequence >= self.above {
            self.above = sequence + 1;
            Some(Order::Ahead)
        } else {
            Some(Order::Behind)
        }
    }

    /// The twentieth of the planned numbers that `sequence` is in, without a division. Exact up
    /// to 2^29 planned numbers, and beyond that off by one number at a boundary.
    #[inline]
    fn part(&self, sequence: u64) -> usize {
        let part = (u128::from(sequence) * u128::from(self.part_scale)) >> PART_SHIFT;
        usize::try_from(part).map_or(PARTS - 1, |part| part.min(PARTS - 1))
    }
}

/// Times in the ring, added up.
#[derive(Debug, Clone, Copy, Default)]
struct Stay {
    count: u64,
    sum_ns: u64,
    max_ns: u64,
}

impl Stay {
    #[inline]
    fn add(&mut self, ns: u64) {
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    fn residence(&self) -> Residence {
        Residence {
            count: self.count,
            mean_ns: self.sum_ns.checked_div(self.count).unwrap_or(0),
            max_ns: self.max_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wiretrial_capture::frame::LinkType;
    use wiretrial_contract::control::{CaptureSettings, Engine, SourcePorts, TrialIdentity};
    use wiretrial_contract::units::Family;

    fn account(planned: &[u64]) -> Account {
        Account::new(&prepare(planned, Form::Compact))
    }

    fn prepare(planned: &[u64], form: Form) -> ReceiverPrepare {
        ReceiverPrepare {
            interface: "lo".into(),
            family: Family::Ipv4,
            port: 39053,
            source_ports: SourcePorts {
                first: 40000,
                count: u16::try_from(planned.len()).unwrap(),
            },
            identity: TrialIdentity {
                run_id: 1,
                trial: 2,
                nonce: 3,
            },
            form,
            planned: planned.to_vec(),
            capture: CaptureSettings {
                buffer_bytes: 1 << 20,
                immediate: false,
                timeout_ns: 10_000_000,
                snaplen: 60,
                promiscuous: false,
            },
            engine: Engine::Direct,
            drain_limit_ns: 1,
            quiet_ns: 1,
            deadline_ns: 1,
            cpu: None,
        }
    }

    /// An IPv4 packet without a link layer that carries `payload` from port 40000.
    fn packet(payload: &[u8]) -> Vec<u8> {
        let total = u16::try_from(28 + payload.len()).unwrap();
        let mut out = vec![0x45, 0];
        out.extend(total.to_be_bytes());
        out.extend([0, 0, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
        out.extend(40000_u16.to_be_bytes());
        out.extend(39053_u16.to_be_bytes());
        out.extend((total - 20).to_be_bytes());
        out.extend([0, 0]);
        out.extend(payload);
        out
    }

    fn stamped(nonce: u32, class: Class, flow: u16, sequence: u64) -> Vec<u8> {
        let identity = Identity {
            run_id: 1,
            trial: 2,
            nonce,
        };
        let stamp = Stamp {
            class,
            flow,
            sequence,
            intended_ns: 0,
            actual_ns: 0,
        };
        let mut payload = vec![0; 18];
        stamp::write(Form::Compact, &identity, &stamp, &mut payload);
        packet(&payload)
    }

    fn at(real_ns: u64) -> HandOver {
        HandOver {
            real_ns,
            monotonic_ns: 0,
        }
    }

    fn see(account: &mut Account, bytes: &[u8], stay_ns: u64) -> Kind {
        let frame = Frame {
            bytes,
            wire_len: u32::try_from(bytes.len()).unwrap(),
            time_ns: 1_000_000,
            link_type: LinkType::RAW,
        };
        account.frame(&frame, at(1_000_000 + stay_ns))
    }

    fn counted(account: &mut Account, flow: u16, sequence: u64) -> Kind {
        see(account, &stamped(3, Class::Counted, flow, sequence), 5)
    }

    #[test]
    fn every_kind_of_frame_has_its_field() {
        let mut account = account(&[4, 4]);
        assert_eq!(counted(&mut account, 0, 0), Kind::First);
        assert_eq!(counted(&mut account, 0, 0), Kind::Again);
        assert_eq!(counted(&mut account, 1, 0), Kind::First);
        assert_eq!(counted(&mut account, 0, 4), Kind::Other, "beyond the plan");
        assert_eq!(counted(&mut account, 2, 0), Kind::Other, "no such flow");
        let probe = stamped(3, Class::Probe, 0, 9);
        assert_eq!(see(&mut account, &probe, 0), Kind::Probe);
        see(&mut account, &stamped(3, Class::Probe, 2, 9), 0);
        see(&mut account, &stamped(3, Class::WarmUp, 0, 9), 0);
        see(&mut account, &stamped(3, Class::Filler, 0, 9), 0);
        see(&mut account, &stamped(4, Class::Counted, 0, 1), 0);
        see(&mut account, &packet(b"what is this, no stamp at all"), 0);
        let mut broken = stamped(3, Class::Counted, 0, 1);
        broken[28 + 10] ^= 1;
        see(&mut account, &broken, 0);
        see(&mut account, &[0x45], 0);
        assert_eq!(
            account.copies(),
            Copies {
                unique: 2,
                duplicate: 1,
                warm_up: 1,
                probe: 1,
                filler: 1,
                stale: 1,
                foreign: 2,
                corrupt: 4,
            }
        );
        assert_eq!(account.unique_per_flow(), [1, 1]);
        assert_eq!(account.truncated(), 0, "nothing was cut by the snap length");
    }

    #[test]
    fn a_cut_stamp_is_foreign_and_truncated() {
        let mut account = account(&[4]);
        let bytes = stamped(3, Class::Counted, 0, 0);
        for kept in [45, 28, 27, 10] {
            let frame = Frame {
                bytes: &bytes[..kept],
                wire_len: u32::try_from(bytes.len()).unwrap(),
                time_ns: 0,
                link_type: LinkType::RAW,
            };
            assert_eq!(account.frame(&frame, at(0)), Kind::Other);
        }
        assert_eq!(account.truncated(), 4);
        assert_eq!(account.copies().foreign, 4);
    }

    #[test]
    fn only_first_copies_below_the_highest_are_reordered() {
        let mut account = account(&[10, 10]);
        for sequence in [0, 1, 4, 3, 3, 2, 5] {
            counted(&mut account, 0, sequence);
        }
        counted(&mut account, 1, 0);
        assert_eq!(account.reordered(), 2);
        assert_eq!(account.copies().duplicate, 1);
    }

    #[test]
    fn arming_forgets_and_stopping_makes_late() {
        let mut account = account(&[10]);
        counted(&mut account, 0, 0);
        account.arm();
        assert_eq!(account.copies().total(), 0);
        assert_eq!(counted(&mut account, 0, 0), Kind::First);
        account.stop();
        counted(&mut account, 0, 0);
        counted(&mut account, 0, 1);
        assert_eq!((account.late(), account.copies().unique), (1, 2));
    }

    #[test]
    fn residence_is_kept_by_twentieth_and_never_negative() {
        let mut account = account(&[40]);
        see(&mut account, &stamped(3, Class::Counted, 0, 0), 100);
        see(&mut account, &stamped(3, Class::Counted, 0, 1), 300);
        see(&mut account, &stamped(3, Class::Counted, 0, 39), 7);
        let early = stamped(3, Class::Counted, 0, 2);
        let frame = Frame {
            bytes: &early,
            wire_len: 46,
            time_ns: 10,
            link_type: LinkType::RAW,
        };
        account.frame(&frame, at(9));
        let parts = account.residence();
        assert_eq!(parts.len(), 20);
        assert_eq!(
            (parts[0].count, parts[0].mean_ns, parts[0].max_ns),
            (2, 200, 300)
        );
        assert_eq!((parts[1].count, parts[1].mean_ns), (1, 0));
        assert_eq!((parts[19].count, parts[19].max_ns), (1, 7));
    }

    #[test]
    fn latency_is_that_of_first_copies_with_full_stamps() {
        let mut account = Account::new(&prepare(&[10], Form::Full));
        account.measure_latency();
        let see = |account: &mut Account, class, sequence, intended_ns, monotonic_ns| {
            let identity = Identity {
                run_id: 1,
                trial: 2,
                nonce: 3,
            };
            let stamp = Stamp {
                class,
                flow: 0,
                sequence,
                intended_ns,
                actual_ns: intended_ns + 1,
            };
            let mut payload = [0; 48];
            stamp::write(Form::Full, &identity, &stamp, &mut payload);
            let bytes = packet(&payload);
            let frame = Frame {
                bytes: &bytes,
                wire_len: 76,
                time_ns: 0,
                link_type: LinkType::RAW,
            };
            account.frame(
                &frame,
                HandOver {
                    real_ns: 1 << 60,
                    monotonic_ns,
                },
            );
        };
        see(&mut account, Class::Counted, 0, 1000, 900);
        assert_eq!(account.latency(), None, "one was negative");
        account.arm();
        assert_eq!(account.latency(), None, "none came");
        see(&mut account, Class::WarmUp, 0, 1000, 9_000_000);
        see(&mut account, Class::Counted, 0, 1000, 1007);
        see(&mut account, Class::Counted, 0, 1000, 9_000_000);
        see(&mut account, Class::Counted, 1, 1000, 1009);
        let latency = account.latency().unwrap();
        assert_eq!(
            (latency.count, latency.p50_ns, latency.max_ns),
            (2, 7, 9),
            "neither warm-up nor a second copy"
        );
    }

    #[test]
    fn compact_stamps_have_no_latency() {
        let mut account = account(&[10]);
        account.measure_latency();
        assert!(!account.measures_latency());
        counted(&mut account, 0, 0);
        assert_eq!(account.latency(), None);
    }

    proptest! {
        #[test]
        fn the_part_is_the_quotient(planned in 1_u64..1 << 29, at: prop::sample::Index) {
            let sequence = at.index(usize::try_from(planned).unwrap()) as u64;
            let flow = Flow { planned, part_scale: (20_u64 << PART_SHIFT).div_ceil(planned),
                seen: vec![], above: 0, unique: 0 };
            prop_assert_eq!(flow.part(sequence) as u64, sequence * 20 / planned);
        }

        #[test]
        fn the_sets_are_exact_under_any_loss_copy_and_order(
            arrivals in prop::collection::vec((0_u16..3, 0_u64..70), 0..300),
        ) {
            let mut account = account(&[70, 65, 1]);
            let mut sets = vec![std::collections::BTreeSet::new(); 3];
            let (mut again, mut behind, mut outside) = (0, 0, 0);
            for (flow, sequence) in arrivals.iter().copied() {
                counted(&mut account, flow, sequence);
                let set = &mut sets[usize::from(flow)];
                if sequence >= [70, 65, 1][usize::from(flow)] {
                    outside += 1;
                } else if set.contains(&sequence) {
                    again += 1;
                } else {
                    behind += u64::from(set.last().is_some_and(|highest| *highest > sequence));
                    set.insert(sequence);
                }
            }
            let unique: Vec<u64> = sets.iter().map(|set| set.len() as u64).collect();
            prop_assert_eq!(account.unique_per_flow(), unique.clone());
            prop_assert_eq!(account.copies().unique, unique.iter().sum::<u64>());
            prop_assert_eq!(account.copies().duplicate, again);
            prop_assert_eq!(account.copies().corrupt, outside);
            prop_assert_eq!(account.reordered(), behind);
            prop_assert_eq!(account.copies().total(), arrivals.len() as u64);
        }
    }
}
