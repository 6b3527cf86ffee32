//! Latency buckets: where every I/O's time goes, how it is merged and how it is written down. Knows no time and
//! no I/O.

mod encoding;
mod log_linear;

pub use encoding::{DecodeError, decode, encode};
pub use log_linear::{Bounds, Bucket, LatencyHistogram, rank_of};
