//! The data plane of openpts: what to issue, how it is issued and timed, and what is recorded.
//!
//! It builds and tests without Python; [`python`] is the only module that knows of it.

pub mod histogram;

#[cfg(feature = "python")]
mod python;
