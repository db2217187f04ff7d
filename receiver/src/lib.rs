//! Capture receiver: captures one trial's datagrams, counts each copy once, and says what it could
//! not see.
//!
//! The executables are thin shells around this library, so that tests reach its parts: the receiver,
//! and the same with an allocator that counts.

pub mod account;
pub mod cli;
pub mod drain;
pub mod failure;
pub mod fold;
mod foreign;
pub mod instructions;
pub mod latency;
pub mod path;
pub mod prepare;
pub mod process;
pub mod series;
pub mod serve;
pub mod sink;
pub mod sys;
