//! Bytes for people and for CI: the answer sentence, the tables, the screen, `report.md`,
//! `tables/*.csv`, the job summary and JUnit's XML.
//!
//! Everything here is a function of an [`Analysis`](wiretrial_contract::analysis::Analysis) and of
//! nothing else: no clock, no environment, no file. The same analysis gives the same bytes, so a
//! report can be rendered again and compared. What depends on the session of running (times, the
//! evidence folder) is passed beside it to the screen only, in [`screen::Session`].
//!
//! Invariants: a sentence never says more than the decision interval it rests on (see [`answer`]);
//! a percentage of packets stands beside its counts; a loss is never rounded to nothing; what is not
//! known is printed as unknown and is empty in CSV.

pub mod answer;
pub mod csv;
mod flags;
pub mod junit;
pub mod markdown;
pub mod number;
pub mod screen;
mod shorten;
pub mod summary;
pub mod table;
