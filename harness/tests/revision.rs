//! Revisions of real repositories, built by a real compiler.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "revision/build.rs"]
mod build;
#[path = "revision/place.rs"]
mod place;
#[path = "revision/resolve.rs"]
mod resolve;
