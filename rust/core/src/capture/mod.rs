//! Every single I/O, streamed to files while the load goes on.
//!
//! A worker thread owns a [`Tap`] and writes 32 bytes for each I/O into a chunk. Full chunks go to one
//! writer thread, which sorts each by submission time, adds it to a file and gives the empty chunk back. What
//! format the files have is the caller's choice: see [`Files`].
//!
//! The number of chunks is fixed. When a worker finds none empty it waits, so that the load slows down but
//! no I/O is lost; how often and how long it waited is part of the result.
//!
//! A file of columns can't be read without its footer. The writer therefore closes a file and begins another
//! after some I/Os or seconds, or when it is to have all of a step, and a file has its final name only once it is
//! complete and on stable storage. A crash loses what the workers hold and the file in progress.
//!
//! When a file can't be written (disk full), it is closed with what has reached it, the load goes on without
//! capture, and the I/Os that are in no file are counted.

mod configuration;
mod control;
mod error;
mod figures;
mod files;
mod record;
mod tap;
mod writer;

pub use configuration::CaptureConfiguration;
pub use control::{Capture, Completion, open};
pub use error::CaptureError;
pub use figures::{CaptureState, CaptureSummary, StepSummary, Waits};
pub use files::{Closed, Files, OpenFile, Row};
pub use record::CapturedIo;
pub use tap::Tap;
