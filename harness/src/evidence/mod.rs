//! A campaign's evidence on disk: the sealed plan, rows that are only ever added, and what is
//! derived from them.

pub mod again;
pub mod chain;
pub mod environment;
pub mod finish;
pub mod floors;
pub mod folder;
pub mod json;
pub mod pack;
pub mod privacy;
pub mod recompute;
mod regular;
pub mod replay;
pub mod reports;
pub mod rows;
pub mod verify;
