//! Traces as files of several formats, with what gets lost on the way.

mod blktrace;
mod iolog;
mod msr;

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::canonical::CanonicalWriter;
use super::error::TraceError;
use super::header::TraceHeader;
use super::reader::TracedDevice;
use super::trace::IoStream;
use super::traced_io::{Flags, NO_PROCESS, NO_PROCESSOR, Status, TracedIo};
use blktrace::BlktraceWriter;
use iolog::IologWriter;
use msr::MsrWriter;

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

/// What came of writing a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// I/Os in the file.
    pub ios: u64,
    /// What the format has no place for: how many I/Os lost it.
    pub losses: BTreeMap<&'static str, u64>,
}

impl Written {
    fn lose(&mut self, what: &'static str) {
        *self.losses.entry(what).or_default() += 1;
    }

    /// Note what no simple format has.
    fn lose_common(&mut self, io: &TracedIo, kept_flags: Flags) {
        if io.flags.0 & !kept_flags.0 != 0 {
            self.lose("flags");
        }
        if io.domain != io.device {
            self.lose("ordering domains");
        }
    }

    fn lose_issuer(&mut self, io: &TracedIo) {
        if io.pid != NO_PROCESS || io.command != 0 || io.cpu != NO_PROCESSOR {
            self.lose("processes and processors");
        }
    }

    fn lose_status(&mut self, io: &TracedIo) {
        if io.status != Status::Done {
            self.lose("errors, and that a completion is missing");
        }
    }
}

/// Writes I/Os of a trace in order.
trait TraceWriter {
    /// Add one; `names` are those known so far.
    fn write(&mut self, io: &TracedIo, names: &Names, written: &mut Written) -> io::Result<()>;

    /// End the file.
    fn finish(&mut self) -> io::Result<()>;
}

/// Names that I/Os refer to by number, as far as they were met.
struct Names {
    devices: Vec<TracedDevice>,
    commands: Vec<String>,
    origin_utc_ns: Option<i64>,
}

impl From<TraceHeader> for Names {
    fn from(header: TraceHeader) -> Self {
        Self { devices: header.devices, commands: header.commands, origin_utc_ns: header.origin_utc_ns }
    }
}

impl Names {
    /// The name of a device, also of one without.
    fn device(&self, number: u16) -> String {
        match self.devices.get(usize::from(number)) {
            Some(device) if !device.name.is_empty() => device.name.clone(),
            _ => format!("device{number}"),
        }
    }

    fn lack(&self, io: &TracedIo) -> bool {
        usize::from(io.device) >= self.devices.len() || usize::from(io.command) >= self.commands.len()
    }
}

/// Write all of a trace. `progress` hears the number of I/Os now and then, and may end it with an error.
///
/// # Errors
/// If the trace can't be read, or the file can't be written.
pub fn write_trace(
    stream: &mut dyn IoStream,
    format: OutputFormat,
    file: &mut (dyn Write + Send),
    progress: &mut dyn FnMut(u64) -> Result<(), TraceError>,
) -> Result<Written, TraceError> {
    match format {
        OutputFormat::Canonical => write_canonical(stream, file, progress),
        OutputFormat::FioIolog => write_with(stream, &mut IologWriter::new(file), progress),
        OutputFormat::Blktrace => write_with(stream, &mut BlktraceWriter::new(file), progress),
        OutputFormat::Msr => write_with(stream, &mut MsrWriter::new(file), progress),
    }
}

fn write_canonical(
    stream: &mut dyn IoStream,
    file: &mut (dyn Write + Send),
    progress: &mut dyn FnMut(u64) -> Result<(), TraceError>,
) -> Result<Written, TraceError> {
    let failed = |error| TraceError::Write(io::Error::other(error));
    let mut writer = CanonicalWriter::new(file).map_err(failed)?;
    let mut written = Written::default();
    let mut batch = Vec::new();
    while stream.read(&mut batch)? {
        writer.write(&batch).map_err(failed)?;
        written.ios += batch.len() as u64;
        progress(written.ios)?;
    }
    writer.finish(&stream.header()?).map_err(failed)?;
    Ok(written)
}

fn write_with(
    stream: &mut dyn IoStream,
    writer: &mut dyn TraceWriter,
    progress: &mut dyn FnMut(u64) -> Result<(), TraceError>,
) -> Result<Written, TraceError> {
    let mut written = Written::default();
    let mut names: Option<Names> = None;
    let mut batch = Vec::new();
    let mut ios = 0;
    while stream.read(&mut batch)? {
        for io in &batch {
            let known = names.take().filter(|names| !names.lack(io));
            let known = match known {
                Some(names) => names,
                None => Names::from(stream.header()?),
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
