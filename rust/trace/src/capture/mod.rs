//! Every single I/O of the engine of openpts in Parquet files.

mod destination;
mod part;
mod schema;

use std::path::PathBuf;
use std::sync::Arc;

use openpts_core::capture::{self, Capture, CaptureConfiguration, CaptureError, Files, Tap};

pub use destination::{Destination, Folder, PartFile};
pub use schema::SCHEMA;

/// Parquet files in a folder, which is made with the first of them in one that exists.
#[must_use]
pub fn files_in(folder: impl Into<PathBuf>) -> Arc<dyn Files> {
    Arc::new(part::ParquetFiles(Folder::new(folder)))
}

/// Start a capture at this destination with one tap for each thread.
///
/// # Errors
/// As [`openpts_core::capture::open`].
pub fn open(
    destination: impl Destination + 'static,
    configuration: CaptureConfiguration,
) -> Result<(Capture, Vec<Tap>), CaptureError> {
    capture::open(Arc::new(part::ParquetFiles(destination)), configuration)
}
