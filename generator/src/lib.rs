//! The UDP generator: stamped datagrams on an absolute schedule, every one of them accounted for.
//!
//! A `prepare` (from the harness or from the command line) is checked once and becomes a
//! [`schedule::Schedule`]; each sender thread walks its share of it, waits, stamps, sends and
//! counts. Every planned datagram is sent unless the kernel refuses it or somebody says stop;
//! nothing is ever sent before its intended time.
//!
//! A generator that is careless is a weapon, so the caps of [`limits`] and the targets of
//! [`target`] hold here, whoever starts it.

pub mod cli;
pub mod edges;
pub mod event;
pub mod limits;
pub mod pacer;
pub mod payload;
pub mod schedule;
pub mod send;
pub mod senders;
pub mod serve;
pub mod tally;
pub mod target;
pub mod worker;
