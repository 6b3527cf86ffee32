//! The data plane of openpts: what to issue, how it is issued and timed, and what is recorded.
//!
//! It builds and tests without Python; [`python`] is the only module that knows of it.

pub mod capture;
pub mod clock;
pub mod data;
pub mod engine;
pub mod histogram;
pub mod machine;
pub mod nvme_target;
pub mod simulator;
pub mod workload;

#[cfg(feature = "python")]
mod python;
