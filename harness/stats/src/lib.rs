//! Pure statistics of paired trials and of packet loss.
//!
//! Everything here takes values and returns values: no files, no clocks, no environment, no
//! printing. Every random choice is a function of a 64-bit seed, so that a third party rebuilds
//! each number from the evidence alone. What cannot be said is `None` or a typed refusal, never a
//! number that looks like one.

pub mod bootstrap;
pub mod distribution;
pub mod drift;
pub mod interval;
pub mod loss;
pub mod mean;
pub mod order;
pub mod power;
pub mod proportion;
pub mod random;
pub mod rank;
mod sum;
pub mod verdict;
