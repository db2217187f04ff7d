//! From a campaign file to the trials that will be run.
//!
//! [`keys`] is the one table of keys; [`mod@file`] reads TOML through it and gives a
//! [`Campaign`](wiretrial_contract::plan::Campaign) with every default filled in; [`order`] and
//! [`slices`] draw who runs when from a seed; [`text`] prints what that will be. What is wrong
//! with a file is one sentence and exit code 2, before anything runs.
//!
//! Nothing here reads a clock or the host: the same file, overrides and seed give the same trials.

pub mod file;
pub mod format;
pub mod keys;
mod layers;
mod nearest;
pub mod order;
pub mod overrides;
pub mod plan;
mod resolve;
mod rules;
pub mod shipped;
pub mod slices;
pub mod text;
mod value;
