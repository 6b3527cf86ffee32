//! What can go wrong with a capture.

use super::figures::CaptureSummary;
use std::io;

/// Why there is no capture, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The configuration makes no sense.
    #[error("capture: {0}")]
    Configuration(String),
    /// The destination takes no file, or the writer thread can't be made; nothing was started.
    #[error("the capture can't begin: {0}")]
    Begin(#[source] io::Error),
    /// A file could not be written. The load went on; what is in no file is counted.
    #[error(
        "the capture failed: {reason}; {} of {} I/Os are in no file",
        summary.ios_discarded, summary.ios_recorded
    )]
    Write {
        /// The first error.
        reason: String,
        /// What there is nevertheless.
        summary: Box<CaptureSummary>,
    },
}
