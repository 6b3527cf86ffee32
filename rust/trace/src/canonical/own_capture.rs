//! Reads what the engine of openpts has captured: `capture-*.parquet`.

use super::super::capture::SCHEMA;
use super::super::error::TraceError;
use super::super::reader::{BATCH_IOS, Disorder, Level, SourceFacts, TraceReader, TracedDevice};
use super::super::tally::{Place, Tally};
use super::super::traced_io::{Status, TracedIo, TracedOperation};
use super::columns::operation_of;
use super::parquet_file::ParquetFile;
use super::reading::Group;
use super::schema::NAME;

/// Key of the version of captures in a file's metadata.
pub(super) const CAPTURE_KEY: &str = "openpts.capture";
const VERSION: &str = "1";

#[derive(Clone, Copy)]
enum Column {
    Thread = 1,
    Submitted,
    Latency,
    Lba,
    Length,
    Operation,
    Errno,
}

fn io_of(group: &Group, row: usize, lba_bytes: u64, number_of_row: u64) -> Option<TracedIo> {
    let number = |column: Column| group.number(column as usize, row);
    let operation = match group.word(Column::Operation as usize, row) {
        b"fsync" => TracedOperation::Flush,
        word => operation_of(word)?,
    };
    let offset_bytes = u64::try_from(number(Column::Lba)).ok()?.checked_mul(lba_bytes)?;
    // As it was written: without a sign, in 32 bits.
    let length_bytes = u64::from(number(Column::Length) as u32);
    let issued_ns = number(Column::Submitted);
    let mut io = TracedIo::new(issued_ns, operation, offset_bytes, length_bytes, number_of_row);
    io.completed_ns = Some(issued_ns.checked_add(number(Column::Latency))?);
    // A thread of the engine waits for its own I/Os only.
    io.domain = u16::try_from(number(Column::Thread)).ok()?;
    io.status = match number(Column::Errno) {
        0 => Status::Done,
        errno => Status::Failed(u16::try_from(errno.unsigned_abs()).ok()?),
    };
    Some(io)
}

/// Reads the files of one capture.
pub(super) struct OwnCaptureReader {
    files: Vec<ParquetFile>,
    lba_bytes: u64,
    sector_bytes: Option<u32>,
    group: Option<Group>,
    file: usize,
    next_group: usize,
    row: u64,
}

impl OwnCaptureReader {
    pub(super) fn new(files: Vec<ParquetFile>) -> Result<Self, TraceError> {
        let refused = |name: &str, why: &str| {
            Err(TraceError::Refused(format!(
                "can't read {name}: {why}; use the openpts that made the capture"
            )))
        };
        for file in &files {
            if file.value(CAPTURE_KEY) != Some(VERSION) {
                return refused(
                    &file.name,
                    "it is no capture, or one in a version that this openpts can't read",
                );
            }
            if !file.has_columns_of(SCHEMA) {
                return refused(&file.name, "its columns are not those of a capture");
            }
        }
        let number = |key| files.first()?.value(key)?.parse::<u32>().ok().filter(|number| *number > 0);
        let Some(lba_bytes) = number("openpts.lba_bytes") else {
            return refused(&files[0].name, "it lacks the unit of its places");
        };
        let sector_bytes = number("openpts.sector_bytes");
        Ok(Self {
            lba_bytes: u64::from(lba_bytes),
            sector_bytes,
            files,
            group: None,
            file: 0,
            next_group: 0,
            row: 0,
        })
    }

    /// Look for rows, in this group or a later one.
    fn find_rows(&mut self) -> Result<bool, TraceError> {
        while self.group.as_ref().is_none_or(|group| group.rows() == 0) {
            let Some(file) = self.files.get(self.file) else { return Ok(false) };
            if self.next_group == file.groups() {
                self.file += 1;
                self.next_group = 0;
                self.row = 0;
                continue;
            }
            self.group = Some(file.with_group(self.next_group, |group| Group::new(group))?);
            self.next_group += 1;
        }
        Ok(true)
    }
}

impl TraceReader for OwnCaptureReader {
    fn read(&mut self, batch: &mut Vec<TracedIo>, tally: &mut Tally) -> Result<bool, TraceError> {
        if !self.find_rows()? {
            return Ok(false);
        }
        let group = self.group.as_mut().expect("just found");
        let rows = group.rows().min(BATCH_IOS);
        self.files[self.file].guarded(|| group.read(rows))?;
        for index in 0..rows {
            self.row += 1;
            match io_of(group, index, self.lba_bytes, self.row) {
                Some(io) => {
                    tally.accept();
                    batch.push(io);
                }
                None => tally.damage(self.file, Place::Line(self.row), "value out of range"),
            }
        }
        Ok(true)
    }

    fn facts(&self) -> SourceFacts {
        SourceFacts {
            format: NAME,
            level: Level::Queue,
            resolution_ns: 1,
            epoch_ns: None,
            has_completions: true,
            has_issue_times: true,
            devices: vec![TracedDevice {
                name: "target".into(),
                capacity_bytes: None,
                sector_bytes: self.sector_bytes,
            }],
            commands: vec![String::new()],
        }
    }

    /// Threads hand over what they did when they have enough of it, or when a step ends.
    fn disorder(&self) -> Disorder {
        Disorder::Any
    }

    fn current_file(&self) -> usize {
        self.file
    }
}
