//! What a power cut must not take: stamped writes, the journal of their acknowledgments, and the verdict.
//!
//! ```text
//! journal: deals writes and flushes, notes what was acknowledged    writers: threads that carry them out
//! stamps:  each sector says who wrote it, when, and that it is whole
//! check:   reads everything back and holds it against the journal    bench: what lasts from cut to cut
//! ```
//!
//! Does not know how the power is cut, and knows no Python.

mod bench;
mod check;
mod journal;
mod stamps;
mod writers;

use std::io;

pub use bench::Bench;
pub use check::{Class, DataLoss, Finding, Rules};
pub use journal::{Action, Journal, Load};
pub use stamps::Stamps;
pub use writers::{FileVictim, Writers};

/// A drive whose power is to be cut. All places and lengths are whole sectors.
pub trait Victim: Send + Sync {
    /// Write; `through`: with Force Unit Access.
    ///
    /// # Errors
    /// If the drive does not acknowledge it.
    fn write(&self, offset_bytes: u64, data: &[u8], through: bool) -> io::Result<()>;

    /// Make durable what was acknowledged until now.
    ///
    /// # Errors
    /// If the drive does not acknowledge it.
    fn flush(&self) -> io::Result<()>;

    /// Read all of the buffer.
    ///
    /// # Errors
    /// If the drive has not all of the data.
    fn read(&self, offset_bytes: u64, buffer: &mut [u8]) -> io::Result<()>;
}
