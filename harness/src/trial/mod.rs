//! One pair of trials: its steps, where its datagrams went, and whether it counts.

pub mod backlog;
pub mod conduct;
pub mod guards;
pub mod ledger;
mod member;
pub mod next;
pub mod pairs;
#[cfg(test)]
pub(crate) mod samples;
pub mod setting;
