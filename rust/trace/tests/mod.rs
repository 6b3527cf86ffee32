//! Tests by the public names of this crate alone. They are compiled with its unit tests: as crates of their own,
//! they would need the library compiled once more.

mod blktrace;
mod canonical_form;
mod capture;
mod figures;
mod live;
mod opening;
mod order;
mod pairing;
mod session_capture;
mod support;
