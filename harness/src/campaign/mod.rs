//! From a campaign file to the trials that will be run.
//!
//! [`keys`] is the one table of keys; [`mod@file`] reads TOML through it and gives a
//! [`Campaign`](wiretrial_contract::plan::Campaign) with every default filled in; [`order`] and
//! [`slices`] draw who runs when from a seed; [`text`] prints what that will be. What is wrong
//! with a file is one sentence and exit code 2, before anything runs.
//!
//! Nothing here reads a clock or the host, but for the campaign file and adapters named by path: the
//! same files, overrides and seed give the same trials.

mod adapters;
mod cases;
pub mod file;
pub mod format;
pub mod gates;
pub mod keys;
mod layers;
mod margin;
mod nearest;
pub mod order;
mod outside;
pub mod overrides;
pub mod placeholders;
pub mod plan;
pub(crate) mod resolve;
mod rules;
mod settings;
pub mod shipped;
pub mod skeleton;
pub mod slices;
mod source;
pub mod text;
mod value;
