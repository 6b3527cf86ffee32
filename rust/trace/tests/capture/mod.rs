//! Captures are read back with the library's reader and held against what was recorded.

mod failure;
mod files;
mod pressure;
mod round_trip;
pub(super) mod support;
