//! The data plane of openpts: what to issue, how it is issued and timed, and what is recorded.
//!
//! It builds and tests without Python; [`python`] is the only module that knows of it.

pub mod clock;
pub mod engine;
pub mod histogram;
pub mod ring;
pub mod workload;

#[cfg(feature = "python")]
mod python;
