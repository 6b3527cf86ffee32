//! The canonical form of traces, which is Parquet, and the captures of openpts' own engine, which are as well.

mod columns;
mod issuer;
mod own_capture;
mod parquet_file;
mod reader;
mod reading;
mod schema;
mod writer;

use super::error::TraceError;
use super::formats::{Format, Opened, ReadOptions};
use super::source::Source;
use own_capture::{CAPTURE_KEY, OwnCaptureReader};
use parquet_file::{MAGIC, ParquetFile};
use reader::CanonicalReader;
use schema::NAME;
pub use writer::CanonicalWriter;

/// The formats of this folder.
pub(super) static FORMATS: &[Format] = &[Format {
    name: NAME,
    label: "traces in the canonical form, and captures of openpts (Parquet)",
    nearness: |_| None,
    is_at_head: |head| head.starts_with(MAGIC),
    open,
}];

/// Which of both it is follows from the end of the file.
fn open(sources: Vec<Source>, _: &ReadOptions) -> Opened {
    let mut files = sources.into_iter().map(ParquetFile::open).collect::<Result<Vec<_>, _>>()?;
    if files.iter().any(|file| file.value(CAPTURE_KEY).is_some()) {
        return Ok(Box::new(OwnCaptureReader::new(files)?));
    }
    if files.len() > 1 {
        return Err(TraceError::Refused(format!(
            "can't read {} traces in the canonical form as one: each is a whole trace; give one at \
             a time",
            files.len()
        )));
    }
    let file = files.pop().ok_or_else(|| TraceError::Refused("no file is given".into()))?;
    Ok(Box::new(CanonicalReader::new(file)?))
}
