//! A part of a trace. What stays keeps its time.

use std::ops::Range;

use serde::Deserialize;

use super::super::error::TraceError;
use super::super::header::{Change, SourceFile, TraceHeader};
use super::super::trace::IoStream;
use super::super::traced_io::{TracedIo, TracedOperation};

/// Which I/Os stay: those that are everything that is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// Issued within, in ns since the trace's first I/O.
    pub time_ns: Option<Range<i64>>,
    /// One of these operations.
    pub operations: Vec<TracedOperation>,
    /// On one of these devices.
    pub devices: Vec<String>,
    /// Of one of these processes.
    pub pids: Vec<i32>,
    /// With any byte in this range; flushes, which have no place, are in none.
    pub bytes: Option<Range<u64>>,
    /// Those that would go instead.
    pub inverted: bool,
}

impl Filter {
    fn takes(&self, io: &TracedIo, device_is_wanted: bool) -> bool {
        let all = device_is_wanted
            && self.time_ns.as_ref().is_none_or(|times| times.contains(&io.issued_ns))
            && (self.operations.is_empty() || self.operations.contains(&io.operation))
            && (self.pids.is_empty() || self.pids.contains(&io.pid))
            && self.bytes.as_ref().is_none_or(|bytes| {
                io.length_bytes > 0 && io.offset_bytes < bytes.end && bytes.start < io.end_bytes()
            });
        all != self.inverted
    }

    /// In words, for the header.
    fn words(&self) -> String {
        let mut parts = Vec::new();
        if let Some(times) = &self.time_ns {
            parts.push(format!("issued from {} to before {} ns", times.start, times.end));
        }
        if !self.operations.is_empty() {
            let names: Vec<_> = self.operations.iter().map(|operation| operation.name()).collect();
            parts.push(format!("operation {}", names.join(" or ")));
        }
        if !self.devices.is_empty() {
            parts.push(format!("device {}", self.devices.join(" or ")));
        }
        if !self.pids.is_empty() {
            let pids: Vec<_> = self.pids.iter().map(i32::to_string).collect();
            parts.push(format!("process {}", pids.join(" or ")));
        }
        if let Some(bytes) = &self.bytes {
            parts.push(format!("in bytes {} to before {}", bytes.start, bytes.end));
        }
        let words = if parts.is_empty() { "all".into() } else { parts.join(", ") };
        if self.inverted { format!("filtered: not ({words})") } else { format!("filtered: {words}") }
    }
}

/// The I/Os of a trace that stay.
pub struct Filtered<S> {
    inner: S,
    filter: Filter,
    is_wanted: Vec<bool>,
    has_ended: bool,
    /// The trace's files, once it was read.
    files: fn(&S) -> &[SourceFile],
}

impl<S: IoStream> Filtered<S> {
    /// A part of this trace; `files` are those that it was read from.
    pub const fn new(inner: S, filter: Filter, files: fn(&S) -> &[SourceFile]) -> Self {
        Self { inner, filter, is_wanted: Vec::new(), has_ended: false, files }
    }

    /// The trace that this is a part of.
    pub const fn whole(&self) -> &S {
        &self.inner
    }

    fn learn_devices(&mut self) -> Result<(), TraceError> {
        let wanted = &self.filter.devices;
        self.is_wanted =
            self.inner.header()?.devices.iter().map(|device| wanted.contains(&device.name)).collect();
        Ok(())
    }
}

impl<S: IoStream> IoStream for Filtered<S> {
    fn read(&mut self, batch: &mut Vec<TracedIo>) -> Result<bool, TraceError> {
        while self.inner.read(batch)? {
            let known = self.is_wanted.len();
            let by_device = !self.filter.devices.is_empty();
            if by_device && batch.iter().any(|io| usize::from(io.device) >= known) {
                self.learn_devices()?;
            }
            batch.retain(|io| {
                let is_wanted =
                    !by_device || self.is_wanted.get(usize::from(io.device)).copied().unwrap_or(false);
                self.filter.takes(io, is_wanted)
            });
            if !batch.is_empty() {
                return Ok(true);
            }
        }
        batch.clear();
        self.has_ended = true;
        for name in &self.filter.devices {
            let devices = self.inner.header()?.devices;
            if !devices.iter().any(|device| device.name == *name) {
                let names: Vec<_> = devices.iter().map(|device| device.name.as_str()).collect();
                return Err(TraceError::Refused(format!(
                    "can't filter by --device {name}: the trace has {}",
                    names.join(", ")
                )));
            }
        }
        Ok(false)
    }

    fn header(&self) -> Result<TraceHeader, TraceError> {
        let mut header = self.inner.header()?;
        if self.has_ended {
            header
                .changes
                .push(Change { done: self.filter.words(), parents: (self.files)(&self.inner).to_vec() });
        }
        Ok(header)
    }
}
