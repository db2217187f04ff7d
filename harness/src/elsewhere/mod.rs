//! Numbers that were measured elsewhere, judged by the same rules: pairs of values in a CSV file, and
//! the reports that the generator and the receiver print by hand.
//!
//! Nothing of how they came about is known here, so no guard can be checked: what is said of them holds
//! as far as they do.

pub mod pairs;
pub mod trial;
pub mod values;
