//! Flows: who talks to whom.

mod project;

pub use project::{Datagram, Refusal, udp};
