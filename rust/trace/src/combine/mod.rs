//! New traces from old ones: a part of one, several as one.

mod filter;
mod merge;

pub use filter::{Filter, Filtered};
pub use merge::{Merged, Part, Speed};
