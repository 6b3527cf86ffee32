//! Text that xperf makes of Windows' event traces.

use std::collections::HashMap;

use super::columns::named_devices;
use super::fields::{Fields, Separator};
use super::lines::{Line, head_lines};
use super::number::{hexadecimal, time, whole};
use super::reader::{LineReader, TextReader, damage};
use crate::error::TraceError;
use crate::formats::{Format, HEAD_BYTES, Opened, ReadOptions};
use crate::reader::{Dictionary, Level, SourceFacts};
use crate::source::Source;
use crate::tally::{DamageClass, Tally};
use crate::traced_io::{Quality, TracedIo, TracedOperation};

const NAME: &str = "xperf";
const MICROSECOND_NS: u64 = 1_000;
const COMMAS: Separator = Separator::Byte { byte: b',', quote: None };
/// I/Os that have begun and not ended, at most.
const OPEN_MAX: usize = 1 << 16;

/// Rows are written at the end of an I/O; `...Init` rows, if they were traced, at its beginning.
pub(super) const FORMAT: Format = Format {
    name: NAME,
    label: "text of xperf -a dumper (Windows, us)",
    is_at_head,
    nearness: |_| None,
    open,
};

fn is_at_head(head: &[u8]) -> bool {
    head_lines(head, head.len() < HEAD_BYTES).next().is_some_and(|line| line.trim_ascii() == b"BeginHeader")
}

fn open(sources: Vec<Source>, _: &ReadOptions) -> Opened {
    Ok(TextReader::boxed(
        sources,
        Xperf {
            fields: Fields::new(),
            place: Place::Before,
            file: 0,
            columns: Default::default(),
            begun: HashMap::new(),
            has_inits: false,
            devices: Dictionary::default(),
        },
    ))
}

/// The rows that are looked at.
const ROWS: [(&[u8], Row); 6] = [
    (b"DiskRead", Row::End(TracedOperation::Read)),
    (b"DiskWrite", Row::End(TracedOperation::Write)),
    (b"DiskFlush", Row::End(TracedOperation::Flush)),
    (b"DiskReadInit", Row::Begin),
    (b"DiskWriteInit", Row::Begin),
    (b"DiskFlushInit", Row::Begin),
];

#[derive(Clone, Copy)]
enum Row {
    Begin,
    End(TracedOperation),
}

/// Where a row has what is read of it; they differ between versions of Windows.
#[derive(Clone, Copy, Default)]
struct Columns {
    time: Option<usize>,
    irp: Option<usize>,
    offset: Option<usize>,
    size: Option<usize>,
    elapsed: Option<usize>,
    disk: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    Header,
    Rows,
}

struct Xperf {
    fields: Fields,
    place: Place,
    file: usize,
    /// In the order of [`ROWS`].
    columns: [Columns; ROWS.len()],
    /// When the I/Os began that have not ended, by the number of their request (IRP).
    begun: HashMap<u64, i64>,
    has_inits: bool,
    devices: Dictionary,
}

impl Xperf {
    /// What the columns of a row are called, if it is one that is looked at.
    fn name_columns(&mut self, line: &[u8]) {
        if self.fields.split(line, COMMAS, true).is_err() {
            return;
        }
        let Some(row) = row_of(self.fields.get(line, 0)) else { return };
        let at = |name: &[u8]| (1..self.fields.count).find(|at| self.fields.get(line, *at) == name);
        self.columns[row] = Columns {
            time: at(b"TimeStamp"),
            irp: at(b"IrpPtr"),
            offset: at(b"ByteOffset"),
            size: at(b"IOSize"),
            elapsed: at(b"ElapsedTime"),
            disk: at(b"DiskNum"),
        };
    }

    fn field<'l>(&self, line: &'l [u8], column: Option<usize>) -> Result<&'l [u8], DamageClass> {
        match self.fields.get(line, column.ok_or("column that the header does not name")?) {
            [] => Err("too few columns"),
            field => Ok(field),
        }
    }

    fn io(&mut self, line: Line<'_>, tally: &mut Tally) -> Result<Option<TracedIo>, DamageClass> {
        let text = line.text;
        self.fields.split(text, COMMAS, true)?;
        let Some(row) = row_of(self.fields.get(text, 0)) else {
            tally.skip("event that is not of a disk");
            return Ok(None);
        };
        let columns = self.columns[row];
        let at_ns = time(self.field(text, columns.time)?, MICROSECOND_NS)?.ns;
        let irp = hexadecimal(self.field(text, columns.irp)?)?;
        let Row::End(operation) = ROWS[row].1 else {
            self.begin(irp, at_ns, tally);
            tally.accept();
            return Ok(None);
        };
        let elapsed_ns = time(self.field(text, columns.elapsed)?, MICROSECOND_NS)?.ns;
        let mut io = if operation == TracedOperation::Flush {
            TracedIo::new(at_ns, operation, 0, 0, line.number)
        } else {
            let offset_bytes = hexadecimal(self.field(text, columns.offset)?)?;
            let length_bytes = hexadecimal(self.field(text, columns.size)?)?;
            TracedIo::new(at_ns, operation, offset_bytes, length_bytes, line.number)
        };
        let disk = self.field(text, columns.disk)?;
        whole(disk)?;
        io.device = self.devices.number(disk).ok_or("more than 65,536 devices")?;
        io.domain = io.device;
        io.completed_ns = Some(at_ns);
        match self.begun.remove(&irp) {
            Some(begun_ns) if begun_ns <= at_ns => io.issued_ns = begun_ns,
            _ => {
                io.issued_ns = at_ns.checked_sub(elapsed_ns).ok_or("time out of range")?;
                io.quality = Quality::TIME_SYNTHETIC;
            }
        }
        Ok(Some(io))
    }

    fn begin(&mut self, irp: u64, at_ns: i64, tally: &mut Tally) {
        self.has_inits = true;
        if self.begun.len() == OPEN_MAX {
            self.forget_begun(tally);
        }
        if self.begun.insert(irp, at_ns).is_some() {
            tally.note(NEVER_ENDED);
        }
    }

    fn forget_begun(&mut self, tally: &mut Tally) {
        for _ in self.begun.drain() {
            tally.note(NEVER_ENDED);
        }
    }
}

const NEVER_ENDED: &str = "I/Os that were not seen to end";

fn row_of(name: &[u8]) -> Option<usize> {
    ROWS.iter().position(|(row, _)| *row == name)
}

impl LineReader for Xperf {
    fn line(
        &mut self,
        line: Line<'_>,
        batch: &mut Vec<TracedIo>,
        tally: &mut Tally,
    ) -> Result<(), TraceError> {
        if line.file != self.file {
            (self.file, self.place) = (line.file, Place::Before);
        }
        match (self.place, line.text.trim_ascii()) {
            (Place::Before, b"BeginHeader") => self.place = Place::Header,
            (Place::Before, _) => {
                return Err(TraceError::Refused(format!(
                    "cannot read line {} as text of xperf: it must be 'BeginHeader', for the columns are named there",
                    line.number
                )));
            }
            (Place::Header, b"EndHeader") => self.place = Place::Rows,
            (Place::Header, text) => self.name_columns(text),
            (Place::Rows, _) => {
                match self.io(line, tally) {
                    Ok(Some(io)) => {
                        tally.accept();
                        batch.push(io);
                    }
                    Ok(None) => {}
                    Err(class) => damage(line, class, tally),
                }
                return Ok(());
            }
        }
        tally.skip("header line");
        Ok(())
    }

    fn finish(&mut self, _batch: &mut Vec<TracedIo>, tally: &mut Tally) -> Result<(), TraceError> {
        self.forget_begun(tally);
        Ok(())
    }

    fn facts(&self) -> SourceFacts {
        SourceFacts {
            format: NAME,
            level: Level::Issue,
            resolution_ns: MICROSECOND_NS,
            epoch_ns: None,
            has_completions: true,
            has_issue_times: self.has_inits,
            devices: named_devices(&self.devices),
            commands: vec![String::new()],
        }
    }
}
