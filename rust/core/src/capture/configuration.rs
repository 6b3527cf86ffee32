//! How much memory a capture takes, and when it goes on to another file.

use super::error::CaptureError;
use super::record::RECORD_BYTES;
use std::time::Duration;

/// I/Os in one chunk at most: 256 KiB, some milliseconds of the fastest thread, so that handing it over costs
/// well below a nanosecond for each I/O.
const LARGEST_CHUNK_IOS: usize = 8192;
/// A thread has one chunk in its hand, one with the writer and two for the writer's delays.
const FEWEST_CHUNKS: usize = 4;
/// Default for the chunks of all threads together.
const CHUNK_MEMORY_BYTES: usize = 24 << 20;

/// A capture's properties.
///
/// Its memory is `threads * buffered_ios_per_thread * 32 B` for the chunks, and some 24 MiB for the writer:
/// a row group of 6 MiB, in buffers that may be twice as large, pages in the making, and one chunk's columns.
/// With the default for the first term, 24 MiB, this makes 48 MiB for any number of threads up to 1536.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureConfiguration {
    /// The target's sector.
    pub sector_bytes: u32,
    /// Unit of the column `lba`, of which all offsets are multiples: the sector, or something larger where
    /// the program is known to be aligned to it. 4096 instead of 512 saves 3 bits of a random place.
    pub lba_bytes: u32,
    /// Threads that record, at most 65,536.
    pub threads: u32,
    /// I/Os for which each thread has room while the writer is busy. Rounded down to whole chunks.
    pub buffered_ios_per_thread: usize,
    /// A file is complete with this many I/Os, give or take one chunk.
    pub ios_per_file: u64,
    /// A file is complete after this time, counted from its first I/O: about what a crash loses.
    pub file_duration: Duration,
    /// Which clock the submission times are of, in words, for readers of the files.
    pub clock: String,
}

impl CaptureConfiguration {
    /// The defaults: 24 MiB for the chunks of all threads, files of at most a minute and 2^26 I/Os.
    #[must_use]
    pub fn new(sector_bytes: u32, threads: u32) -> Self {
        let ios = CHUNK_MEMORY_BYTES / RECORD_BYTES / threads.max(1) as usize;
        Self {
            sector_bytes,
            lba_bytes: sector_bytes,
            threads,
            buffered_ios_per_thread: ios.max(128 * FEWEST_CHUNKS),
            ios_per_file: 1 << 26,
            file_duration: Duration::from_secs(60),
            clock: "monotonic, ns since the engine began".into(),
        }
    }

    /// I/Os of one chunk.
    pub(super) fn chunk_ios(&self) -> usize {
        (self.buffered_ios_per_thread / FEWEST_CHUNKS).min(LARGEST_CHUNK_IOS)
    }

    /// Chunks of one thread.
    pub(super) fn chunks_per_thread(&self) -> usize {
        self.buffered_ios_per_thread / self.chunk_ios()
    }

    pub(super) fn check(&self) -> Result<(), CaptureError> {
        let reason = if self.sector_bytes == 0 || self.lba_bytes == 0 {
            "sector and unit of the LBA have at least one byte".into()
        } else if self.threads == 0 || self.threads > 1 << 16 {
            format!("1 to 65536 threads, not {}", self.threads)
        } else if self.buffered_ios_per_thread < FEWEST_CHUNKS {
            format!("buffers hold {FEWEST_CHUNKS} I/Os of each thread at least")
        } else if self.ios_per_file == 0 || self.file_duration.is_zero() {
            "a file holds at least one I/O and lasts some time".into()
        } else {
            return Ok(());
        };
        Err(CaptureError::Configuration(reason))
    }
}
