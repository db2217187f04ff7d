//! The command `wiretrial`: it plans a campaign, starts generators and receivers as processes of
//! their own, keeps what they report as evidence, judges it and prints reports.
//!
//! Data flows one way: campaign file, plan, trials, rows, analysis, reports.

pub mod agent;
mod cache;
pub mod campaign;
pub mod cli;
pub mod compare;
pub mod elsewhere;
pub mod evidence;
pub mod executables;
pub mod explain;
pub mod host;
pub mod judge;
pub mod pilot;
pub mod revision;
pub mod root;
pub mod run;
pub mod session;
pub mod trial;
pub mod workload;
