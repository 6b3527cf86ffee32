//! The data plane of openpts: what to issue, how it is issued and timed, and what is recorded.
//!
//! It knows no simulated drive and no Python.

pub mod capture;
pub mod clock;
pub mod data;
pub mod engine;
pub mod histogram;
pub mod machine;
pub mod powercut;
pub mod workload;
