//! Capture and decode library: packets in, frames and exact counters out.
//!
//! It knows nothing of trials, stamps or messages. Linux only, through libpcap.

pub mod flow;
pub mod frame;
pub mod source;
mod sys;
