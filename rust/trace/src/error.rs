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
    /// What is made of it can't be written.
    #[error("can't write the trace: {0}")]
    Write(io::Error),
    /// The operator has stopped it.
    #[error("stopped")]
    Stopped,
    /// More of it is damaged than is allowed.
    #[error(
        "refused: {damaged} of {records} records are damaged, more than {} %; the first is {first}; list more with \
         `openpts trace check --damaged-limit 100`, or take the others with that option",
        limit * 100.0
    )]
    Damaged {
        /// Records in all.
        records: u64,
        /// Damaged ones.
        damaged: u64,
        /// Share of damaged ones that is allowed.
        limit: f64,
        /// Where the first is, and what is wrong with it.
        first: String,
    },
    /// It is a table of steps, which has no single I/Os.
    #[error(
        "can't read {path} as a trace: it is a table of steps, which has no single I/Os; show it alone and whole with \
         `openpts trace characterize`, or apply it with `openpts run rws`"
    )]
    StepTable {
        /// Of the table.
        path: String,
    },
    /// It is not what it was taken for, or must not be used; in one sentence with what to do.
    #[error("{0}")]
    Refused(String),
}
