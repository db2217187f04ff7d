//! The way into the kernel: sockets, and calls that take many datagrams.

pub mod batch;
pub mod sockets;
mod sys;
