//! All that crosses a process or a file boundary of wiretrial.
//!
//! Every process of the project speaks in these types and in nothing else: the units, the bytes
//! in each datagram, the line messages, the reports, the evidence rows, the plan, the analysis
//! and the exit codes. It also holds the one place that reads a clock and the one that hashes.
//!
//! The crate imports none of the project's other crates and does no measuring of its own.

pub mod analysis;
pub mod clock;
pub mod control;
pub mod digest;
pub mod exit;
pub mod failure;
pub mod identity;
pub mod metric;
pub mod plan;
pub mod record;
pub mod report;
pub mod stamp;
pub mod units;
