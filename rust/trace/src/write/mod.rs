//! Traces as files of several formats, with what gets lost on the way.

mod blktrace;
mod iolog;
mod msr;
mod writer;

use std::io::{self, Write};

use super::canonical::CanonicalWriter;
use super::error::TraceError;
use super::trace::Trace;
use blktrace::BlktraceWriter;
use iolog::IologWriter;
use msr::MsrWriter;
pub use writer::Written;
use writer::{Names, TraceWriter};

/// What a trace can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// The canonical form.
    Canonical,
    /// For `fio --read_iolog`.
    FioIolog,
    /// One merged file of version 7, as `blkparse -d` makes it.
    Blktrace,
    /// CSV as of MSR Cambridge.
    Msr,
}

impl OutputFormat {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Canonical, Self::FioIolog, Self::Blktrace, Self::Msr];

    /// As `--to` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Canonical => "openpts",
            Self::FioIolog => "fio_iolog",
            Self::Blktrace => "blktrace",
            Self::Msr => "msr",
        }
    }
}

/// Write all of a trace. `progress` hears the number of I/Os now and then, and may end it with an error.
///
/// # Errors
/// If the trace can't be read, or the file can't be written.
pub fn write_trace(
    trace: &mut Trace,
    format: OutputFormat,
    file: &mut (dyn Write + Send),
    progress: &mut dyn FnMut(u64) -> Result<(), TraceError>,
) -> Result<Written, TraceError> {
    match format {
        OutputFormat::Canonical => write_canonical(trace, file, progress),
        OutputFormat::FioIolog => write_with(trace, &mut IologWriter::new(file), progress),
        OutputFormat::Blktrace => write_with(trace, &mut BlktraceWriter::new(file), progress),
        OutputFormat::Msr => write_with(trace, &mut MsrWriter::new(file), progress),
    }
}

fn write_canonical(
    trace: &mut Trace,
    file: &mut (dyn Write + Send),
    progress: &mut dyn FnMut(u64) -> Result<(), TraceError>,
) -> Result<Written, TraceError> {
    let failed = |error| TraceError::Write(io::Error::other(error));
    let mut writer = CanonicalWriter::new(file).map_err(failed)?;
    let mut written = Written::default();
    let mut batch = Vec::new();
    while trace.read(&mut batch)? {
        writer.write(&batch).map_err(failed)?;
        written.ios += batch.len() as u64;
        progress(written.ios)?;
    }
    writer.finish(&trace.header()?).map_err(failed)?;
    Ok(written)
}

fn write_with(
    trace: &mut Trace,
    writer: &mut dyn TraceWriter,
    progress: &mut dyn FnMut(u64) -> Result<(), TraceError>,
) -> Result<Written, TraceError> {
    let mut written = Written::default();
    let mut names: Option<Names> = None;
    let mut batch = Vec::new();
    let mut ios = 0;
    while trace.read(&mut batch)? {
        for io in &batch {
            let known = names.take().filter(|names| !names.lack(io));
            let known = match known {
                Some(names) => names,
                None => Names::from(trace.header()?),
            };
            writer.write(io, &known, &mut written).map_err(TraceError::Write)?;
            names = Some(known);
        }
        ios += batch.len() as u64;
        progress(ios)?;
    }
    writer.finish().map_err(TraceError::Write)?;
    Ok(written)
}
