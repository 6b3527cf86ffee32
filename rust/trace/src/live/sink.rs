//! The file of a capture: every I/O, or tables of steps.

use std::fs::{File, OpenOptions, rename};
use std::io;
use std::path::PathBuf;

use crate::canonical::CanonicalWriter;
use crate::error::TraceError;
use crate::header::{Change, Counts, FidelityClass, TraceHeader};
use crate::reader::{Level, SourceFacts, TracedDevice};
use crate::steps::{
    ALL_DEVICES, Detail, StepHeader, StepLength, StepOptions, StepRow, StepTable, write_steps,
};
use crate::tally::Tally;
use crate::traced_io::TracedIo;

use super::order::{LiveEnd, LiveOrder};

enum Contents {
    Events(Box<CanonicalWriter<File>>),
    Steps { table: Box<StepTable>, rows: Vec<StepRow>, file: File, step_ns: u64 },
}

/// A file in the making.
pub(super) struct Sink {
    contents: Contents,
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
        let devices: Vec<TracedDevice> = order
            .devices
            .iter()
            .map(|device| TracedDevice {
                name: device.name.clone(),
                capacity_bytes: Some(device.capacity_bytes),
                sector_bytes: Some(device.sector_bytes),
            })
            .collect();
        let contents = match order.step_ns {
            None => {
                let writer = CanonicalWriter::new(file).map_err(|error| failed(error.into()))?;
                Contents::Events(Box::new(writer))
            }
            Some(step_ns) => Contents::Steps {
                table: Box::new(StepTable::new(StepOptions {
                    start_ns: 0,
                    length: if step_ns == 0 { StepLength::ByDuration } else { StepLength::Fixed(step_ns) },
                    has_completions: true,
                    devices: u16::try_from(devices.len()).unwrap_or(u16::MAX),
                    detail: Detail::Full,
                })),
                rows: Vec::new(),
                file,
                step_ns,
            },
        };
        Ok(Self { contents, devices, path, part })
    }

    pub fn push(&mut self, ios: &[TracedIo]) -> Result<(), TraceError> {
        match &mut self.contents {
            Contents::Events(writer) => {
                let written = writer.write(ios);
                written.map_err(|error| TraceError::File { path: self.part.clone(), source: error.into() })
            }
            Contents::Steps { table, rows, .. } => {
                ios.iter().try_for_each(|io| table.push(io))?;
                rows.extend(table.take_rows());
                Ok(())
            }
        }
    }

    /// Steps close by themselves where no I/O is open that may still belong to them.
    pub fn advance(&mut self, now_ns: i64, in_flight: usize) -> Result<(), TraceError> {
        match &mut self.contents {
            Contents::Steps { table, rows, .. } if in_flight == 0 && now_ns < i64::MAX / 2 => {
                table.advance(now_ns)?;
                rows.extend(table.take_rows());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub fn lose(&mut self, at_ns: i64, events: u64) {
        if let Contents::Steps { table, .. } = &mut self.contents {
            table.lose(at_ns, ALL_DEVICES, events);
        }
    }

    pub fn host_was_busy(&mut self, at_ns: i64, share: f32) {
        match &mut self.contents {
            Contents::Steps { table, step_ns, .. } if *step_ns > 0 => table.host_was_busy(at_ns, share),
            _ => {}
        }
    }

    /// The file gets its name once it is whole and on the disk. Its size.
    pub fn finish(self, level: Level, end_ns: i64, end: &LiveEnd, tally: &Tally) -> Result<u64, TraceError> {
        let path = self.part.clone();
        let failed = |source: io::Error| TraceError::File { path: path.clone(), source };
        let file = match self.contents {
            Contents::Events(writer) => {
                let header = event_header(level, &self.devices, end, tally);
                writer.finish(&header).map_err(|error| failed(error.into()))?
            }
            Contents::Steps { table, mut rows, file, .. } => {
                let length_ns = table.length_ns();
                rows.extend(table.finish(Some(end_ns))?);
                let header = StepHeader {
                    step_length_ns: length_ns,
                    epoch_ns: Some(end.start_utc_ns),
                    level: level.name().to_owned(),
                    devices: self.devices.iter().map(|device| device.name.clone()).collect(),
                    commands: end.commands.clone(),
                    notes: end.notes.clone(),
                    ..StepHeader::default()
                };
                write_steps(file, &header, &rows).map_err(|error| failed(error.into()))?
            }
        };
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
