//! One pair of trials: its steps, where its datagrams went, and whether it counts.

pub mod backlog;
pub(crate) mod conduct;
pub mod count;
mod drops;
pub mod guards;
pub mod ledger;
mod member;
pub mod next;
pub mod pair;
pub mod pairs;
pub mod passes;
pub(crate) mod plausible;
#[cfg(test)]
pub(crate) mod samples;
pub mod setting;
pub mod standing;
