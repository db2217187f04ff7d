//! Capture receiver: captures one trial's datagrams, counts each copy once, and says what it could
//! not see.
//!
//! The executable is a thin shell around this library, so that tests reach its parts.

pub mod account;
pub mod cli;
pub mod drain;
pub mod failure;
pub mod fold;
mod foreign;
pub mod path;
pub mod prepare;
pub mod process;
pub mod serve;
pub mod sink;
