//! Traces of virtual SCSI disks by VMware ESX (CloudPhysics), in both versions.

use super::super::error::TraceError;
use super::super::formats::{Format, Opened, ReadOptions};
use super::super::reader::{BATCH_IOS, Level, SourceFacts, TraceReader, TracedDevice};
use super::super::source::Source;
use super::super::tally::{Place, Tally};
use super::super::traced_io::{TracedIo, TracedOperation};
use super::filling::fill;

pub(super) const FORMAT: Format = Format {
    name: "vscsi",
    label: "VMware vscsi traces, versions 1 and 2",
    is_at_head: |head| version_of(head).is_some(),
    open,
};

/// Records at the head that must all look right.
const LOOKED_AT: usize = 16;
/// Times are in us since 1970; nothing was traced before this, nor will be after that.
const TIMES_US: std::ops::Range<u64> = 0..4_000_000_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    const fn record_bytes(self) -> usize {
        match self {
            Self::One => 32,
            Self::Two => 40,
        }
    }
}

/// A record, whichever version it comes from.
struct Record {
    length_bytes: u32,
    scatter_entries: u32,
    command: u16,
    version: u16,
    block: u64,
    time_us: u64,
    response_us: Option<u64>,
}

impl Record {
    fn new(bytes: &[u8], version: Version) -> Self {
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        match version {
            Version::One => Self {
                length_bytes: word(4),
                scatter_entries: word(8),
                command: half(12),
                version: half(14),
                block: long(16),
                time_us: long(24),
                response_us: None,
            },
            Version::Two => Self {
                command: half(0),
                version: half(2),
                length_bytes: word(8),
                scatter_entries: word(12),
                block: long(16),
                time_us: long(24),
                response_us: Some(long(32)),
            },
        }
    }

    fn looks_right(&self, version: Version) -> bool {
        usize::from(self.version >> 8) == version as usize + 1
            && self.command <= 0xff
            && self.scatter_entries <= 4096
            && TIMES_US.contains(&self.time_us)
    }
}

fn version_of(head: &[u8]) -> Option<Version> {
    [Version::One, Version::Two].into_iter().find(|version| {
        let mut records = head.chunks_exact(version.record_bytes()).take(LOOKED_AT).peekable();
        records.peek().is_some() && records.all(|record| Record::new(record, *version).looks_right(*version))
    })
}

fn operation_of(command: u16) -> Option<TracedOperation> {
    match command {
        0x08 | 0x28 | 0x88 | 0xa8 => Some(TracedOperation::Read),
        0x0a | 0x2a | 0x8a | 0xaa => Some(TracedOperation::Write),
        0x35 | 0x91 => Some(TracedOperation::Flush),
        0x42 => Some(TracedOperation::Trim),
        0x41 | 0x93 => Some(TracedOperation::WriteZeroes),
        _ => None,
    }
}

struct VscsiReader {
    sources: Vec<Source>,
    file: usize,
    offset_bytes: u64,
    /// Of the file that is being read; all records of it are of the same.
    version: Option<Version>,
    has_completions: bool,
}

fn open(sources: Vec<Source>, _: &ReadOptions) -> Opened {
    Ok(Box::new(VscsiReader { sources, file: 0, offset_bytes: 0, version: None, has_completions: false }))
}

impl VscsiReader {
    fn version(&mut self) -> Result<Version, TraceError> {
        if let Some(version) = self.version {
            return Ok(version);
        }
        let source = &mut self.sources[self.file];
        let failed = |error| TraceError::File { path: source.path.clone(), source: error };
        let head = source.bytes.fill_buf().map_err(failed)?;
        let version = version_of(head).ok_or_else(|| {
            TraceError::Refused(format!("can't read {}: it is no vscsi trace", source.path.display()))
        })?;
        self.version = Some(version);
        self.has_completions |= version == Version::Two;
        Ok(version)
    }

    fn take(&mut self, record: &[u8], version: Version, batch: &mut Vec<TracedIo>, tally: &mut Tally) {
        let place = self.offset_bytes;
        let fields = Record::new(record, version);
        if !fields.looks_right(version) {
            tally.damage(self.file, Place::Byte(place), "record without the version's mark");
            return;
        }
        let Some(operation) = operation_of(fields.command) else {
            tally.skip("SCSI commands that access no data");
            return;
        };
        let Some(offset_bytes) = fields.block.checked_mul(512) else {
            tally.damage(self.file, Place::Byte(place), "block number out of range");
            return;
        };
        let issued_ns = (fields.time_us * 1000).cast_signed();
        let mut io = match operation {
            TracedOperation::Flush => TracedIo::new(issued_ns, operation, 0, 0, place),
            _ => TracedIo::new(issued_ns, operation, offset_bytes, u64::from(fields.length_bytes), place),
        };
        io.completed_ns = fields.response_us.and_then(|response_us| {
            issued_ns.checked_add(i64::try_from(response_us.checked_mul(1000)?).ok()?)
        });
        batch.push(io);
        tally.accept();
    }
}

impl TraceReader for VscsiReader {
    fn read(&mut self, batch: &mut Vec<TracedIo>, tally: &mut Tally) -> Result<bool, TraceError> {
        if self.file == self.sources.len() {
            return Ok(false);
        }
        let version = self.version()?;
        let mut records = vec![0; version.record_bytes() * BATCH_IOS];
        let source = &mut self.sources[self.file];
        let length = fill(&mut *source.bytes, &mut records)
            .map_err(|error| TraceError::File { path: source.path.clone(), source: error })?;
        let chunks = records[..length].chunks_exact(version.record_bytes());
        let rest = chunks.remainder().len();
        for record in chunks {
            self.take(record, version, batch, tally);
            self.offset_bytes += version.record_bytes() as u64;
        }
        if rest > 0 {
            tally.damage(self.file, Place::Byte(self.offset_bytes), "record that is cut off");
        }
        if length < records.len() {
            self.file += 1;
            self.offset_bytes = 0;
            self.version = None;
        }
        Ok(true)
    }

    fn facts(&self) -> SourceFacts {
        SourceFacts {
            format: FORMAT.name,
            level: Level::Wire,
            resolution_ns: 1000,
            epoch_ns: Some(0),
            has_completions: self.has_completions,
            has_issue_times: true,
            devices: vec![TracedDevice {
                name: "disk".into(),
                capacity_bytes: None,
                sector_bytes: Some(512),
            }],
            commands: vec![String::new()],
        }
    }

    /// The batch is of the file before where one has just ended.
    fn current_file(&self) -> usize {
        if self.version.is_some() { self.file } else { self.file.saturating_sub(1) }
    }

    fn place(&self, source_position: u64) -> Place {
        Place::Byte(source_position)
    }
}
