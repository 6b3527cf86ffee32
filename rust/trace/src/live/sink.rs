//! The file of a capture: every I/O.

use std::fs::{File, OpenOptions, rename};
use std::io;
use std::path::PathBuf;

use crate::canonical::CanonicalWriter;
use crate::error::TraceError;
use crate::header::{Change, Counts, FidelityClass, TraceHeader};
use crate::reader::{Level, SourceFacts, TracedDevice};
use crate::tally::Tally;
use crate::traced_io::TracedIo;

use super::order::{LiveEnd, LiveOrder};

/// A file in the making.
pub(super) struct Sink {
    writer: CanonicalWriter<File>,
    devices: Vec<TracedDevice>,
    path: PathBuf,
    part: PathBuf,
}

impl Sink {
    pub fn new(order: &LiveOrder) -> Result<Self, TraceError> {
        let path = order.file.clone();
        let mut part = path.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        let failed = |source: io::Error| TraceError::File { path: part.clone(), source };
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(&part).map_err(failed)?;
        let devices = order
            .devices
            .iter()
            .map(|device| TracedDevice {
                name: device.name.clone(),
                capacity_bytes: Some(device.capacity_bytes),
                sector_bytes: Some(device.sector_bytes),
            })
            .collect();
        let writer = CanonicalWriter::new(file).map_err(|error| failed(error.into()))?;
        Ok(Self { writer, devices, path, part })
    }

    pub fn push(&mut self, ios: &[TracedIo]) -> Result<(), TraceError> {
        let written = self.writer.write(ios);
        written.map_err(|error| TraceError::File { path: self.part.clone(), source: error.into() })
    }

    /// The file gets its name once it is whole and on the disk. Its size.
    pub fn finish(self, level: Level, end: &LiveEnd, tally: &Tally) -> Result<u64, TraceError> {
        let failed = |source: io::Error| TraceError::File { path: self.part.clone(), source };
        let header = event_header(level, &self.devices, end, tally);
        let file = self.writer.finish(&header).map_err(|error| failed(error.into()))?;
        file.sync_all().map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        rename(&self.part, &self.path).map_err(failed)?;
        Ok(bytes)
    }
}

fn event_header(level: Level, devices: &[TracedDevice], end: &LiveEnd, tally: &Tally) -> TraceHeader {
    let facts = SourceFacts {
        format: "openpts-capture",
        level,
        resolution_ns: 1,
        epoch_ns: Some(end.start_utc_ns),
        has_completions: true,
        has_issue_times: true,
        devices: devices.to_vec(),
        commands: end.commands.clone(),
    };
    let change =
        |(subject, text): (&String, &String)| Change { done: format!("{subject}: {text}"), parents: vec![] };
    TraceHeader {
        format: facts.format.to_owned(),
        level,
        class: FidelityClass::of(&facts),
        resolution_ns: facts.resolution_ns,
        origin_utc_ns: facts.epoch_ns,
        has_completions: true,
        has_issue_times: true,
        devices: facts.devices,
        commands: facts.commands,
        sources: Vec::new(),
        records: Counts::from(tally),
        changes: end.notes.iter().map(change).collect(),
    }
}
