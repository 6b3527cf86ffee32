//! Every single I/O, streamed to Parquet files while the load goes on.
//!
//! A worker thread owns a [`Tap`] and writes 32 bytes for each I/O into a chunk. Full chunks go to one
//! writer thread, which sorts each by submission time, encodes it in columns and gives the empty chunk back.
//! The number of chunks is fixed. When a worker finds none empty it waits, so that the load slows down but
//! no I/O is lost; how often and how long it waited is part of the result.
//!
//! A Parquet file without its footer can't be read. The writer therefore closes a file and begins another
//! after some I/Os or seconds, or when it is to have all of a step, and a file has its final name only once it is
//! complete and on stable storage. A crash loses what the workers hold and the file in progress.
//!
//! When a file can't be written (disk full), the file is closed after its last complete row group, the load
//! goes on without capture, and the I/Os that are in no file are counted.

mod configuration;
mod control;
mod destination;
mod error;
mod figures;
mod part;
mod record;
mod schema;
mod tap;
mod writer;

pub use configuration::CaptureConfiguration;
pub use control::{Capture, Completion, open};
pub use destination::{Destination, Folder, PartFile};
pub use error::CaptureError;
pub use figures::{CaptureState, CaptureSummary, StepSummary, Waits};
pub use record::CapturedIo;
pub use schema::SCHEMA;
pub use tap::Tap;
