//! What writers of all formats have in common.

use std::collections::BTreeMap;
use std::io;

use super::super::header::TraceHeader;
use super::super::reader::TracedDevice;
use super::super::traced_io::{Flags, NO_PROCESS, NO_PROCESSOR, Quality, Status, TracedIo};

/// What came of writing a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// I/Os in the file.
    pub ios: u64,
    /// What the format has no place for: how many I/Os lost it.
    pub losses: BTreeMap<&'static str, u64>,
}

impl Written {
    pub(super) fn lose(&mut self, what: &'static str) {
        *self.losses.entry(what).or_default() += 1;
    }

    /// Note what no simple format has.
    pub(super) fn lose_common(&mut self, io: &TracedIo, kept_flags: Flags) {
        if io.flags.0 & !kept_flags.0 != 0 {
            self.lose("flags");
        }
        if io.domain != io.device {
            self.lose("ordering domains");
        }
        if io.quality != Quality::NONE {
            self.lose("marks of what was made, inferred or rounded");
        }
    }

    pub(super) fn lose_issuer(&mut self, io: &TracedIo) {
        if io.pid != NO_PROCESS || io.command != 0 || io.cpu != NO_PROCESSOR {
            self.lose("processes and processors");
        }
    }

    pub(super) fn lose_status(&mut self, io: &TracedIo) {
        if io.status != Status::Done {
            self.lose("errors, and that a completion is missing");
        }
    }
}

/// Writes I/Os of a trace in order.
pub(super) trait TraceWriter {
    /// Add one; `names` are those known so far.
    fn write(&mut self, io: &TracedIo, names: &Names, written: &mut Written) -> io::Result<()>;

    /// End the file.
    fn finish(&mut self) -> io::Result<()>;
}

/// Names that I/Os refer to by number, as far as they were met.
pub(super) struct Names {
    devices: Vec<TracedDevice>,
    pub(super) commands: Vec<String>,
    pub(super) origin_utc_ns: Option<i64>,
}

impl From<TraceHeader> for Names {
    fn from(header: TraceHeader) -> Self {
        Self { devices: header.devices, commands: header.commands, origin_utc_ns: header.origin_utc_ns }
    }
}

impl Names {
    /// The name of a device, also of one without.
    pub(super) fn device(&self, number: u16) -> String {
        match self.devices.get(usize::from(number)) {
            Some(device) if !device.name.is_empty() => device.name.clone(),
            _ => format!("device{number}"),
        }
    }

    /// Whether names of this I/O were not met when these were taken.
    pub(super) fn lack(&self, io: &TracedIo) -> bool {
        usize::from(io.device) >= self.devices.len() || usize::from(io.command) >= self.commands.len()
    }
}
