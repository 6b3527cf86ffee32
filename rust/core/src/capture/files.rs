//! The files of a capture, whatever their format: the engine knows none.

use super::configuration::CaptureConfiguration;
use super::figures::Waits;
use super::record::{Chunk, Record};
use std::io;
use std::path::PathBuf;
use std::time::Instant;

/// Makes one file of a capture after the other.
pub trait Files: Send + Sync {
    /// Look whether a file could be begun, without making anything: a bad place shall be known before the
    /// load starts.
    ///
    /// # Errors
    /// If it can be seen that none could; by default nothing is.
    fn check(&self) -> io::Result<()> {
        Ok(())
    }

    /// Begin the file with this number, from 1.
    ///
    /// # Errors
    /// In words, if it can't be made.
    fn begin(&self, configuration: &CaptureConfiguration, number: u32) -> Result<Box<dyn OpenFile>, String>;
}

/// A file in the making.
pub trait OpenFile: Send {
    /// I/Os that were added.
    fn ios(&self) -> u64;

    /// When the first I/Os came, or the file was made.
    fn began(&self) -> Instant;

    /// Add the I/Os of a chunk, for which its thread has waited so long.
    ///
    /// # Errors
    /// In words, if the file takes no more: it is to be closed then.
    fn add(&mut self, rows: &[Row], waits: Waits) -> Result<(), String>;

    /// Complete the file with everything that was added: after an `error` with what has reached it.
    fn close(self: Box<Self>, error: Option<String>) -> Closed;
}

/// What became of a file.
#[derive(Debug)]
pub struct Closed {
    /// Name and size, if there is a file.
    pub file: Option<(PathBuf, u64)>,
    /// I/Os in it.
    pub ios: u64,
    /// I/Os that were meant to be in it and are not.
    pub lost: u64,
    /// The first error, that of adding included, in words.
    pub error: Option<String>,
}

/// An I/O with what its chunk says of it.
#[derive(Debug)]
pub struct Row {
    /// Number of the step in its session.
    pub step: u32,
    /// Number of the thread.
    pub thread: u16,
    /// First byte in units of [`CaptureConfiguration::lba_bytes`].
    pub lba: u64,
    record: Record,
}

impl Row {
    /// When it was submitted, on the engine's clock.
    #[must_use]
    pub const fn submitted_ns(&self) -> u64 {
        self.record.submitted_ns
    }

    /// From submission to completion.
    #[must_use]
    pub const fn latency_ns(&self) -> u64 {
        self.record.latency_ns
    }

    /// Number of bytes; 0 for a flush.
    #[must_use]
    pub const fn length_bytes(&self) -> u32 {
        self.record.length_bytes
    }

    /// Position of what it did in [`crate::workload::Operation::ALL`].
    #[must_use]
    pub const fn operation_number(&self) -> usize {
        self.record.operation_number()
    }

    /// 0, or the error number (errno).
    #[must_use]
    pub const fn result(&self) -> i32 {
        self.record.result()
    }
}

/// Sort a chunk by submission time and turn it into rows. I/Os are recorded as they complete; in the order of
/// submission the times differ by a fraction of the latency, which saves a byte for each.
///
/// # Errors
/// If an offset is no multiple of the LBA's unit and would not come back as it was.
pub(super) fn fill(rows: &mut Vec<Row>, chunk: &mut Chunk, lba_bytes: u32) -> Result<(), String> {
    chunk.records.sort_unstable_by_key(|record| record.submitted_ns);
    let (step, thread, lba_bytes) = (chunk.step, chunk.thread, u64::from(lba_bytes));
    let mut remainders = 0;
    rows.clear();
    rows.extend(chunk.records.iter().map(|&record| {
        remainders |= record.offset_bytes % lba_bytes;
        Row { step, thread, lba: record.offset_bytes / lba_bytes, record }
    }));
    if remainders == 0 {
        return Ok(());
    }
    Err(format!("an I/O's offset is not a multiple of {lba_bytes} bytes"))
}
