//! Why a trace can't be used.

use std::io;
use std::path::PathBuf;

/// Why a trace can't be used.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The operating system says no.
    #[error("can't read {}: {source}", path.display())]
    File {
        /// Of the trace.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not what it was taken for, or must not be used; in one sentence with what to do.
    #[error("{0}")]
    Refused(String),
}
