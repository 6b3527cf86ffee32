//! I/Os turned to columns and back.

use bytes::Bytes;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::reader::RowGroupReader;
use parquet::file::writer::SerializedRowGroupWriter;
use std::io::Write;

use super::super::traced_io::{Flags, NO_PROCESS, NO_PROCESSOR, Quality, Status, TracedIo, TracedOperation};
use super::reading::Reading;
use super::schema::Column;

/// Values of a column that may be null, with what tells them apart.
#[derive(Default)]
struct Nullable<T> {
    values: Vec<T>,
    levels: Vec<i16>,
}

impl<T> Nullable<T> {
    fn push(&mut self, value: Option<T>) {
        self.levels.push(i16::from(value.is_some()));
        self.values.extend(value);
    }
}

/// The columns of some I/Os.
#[derive(Default)]
pub(super) struct Columns {
    sequence: Vec<i64>,
    issued: Vec<i64>,
    latency: Nullable<i64>,
    operation: Vec<ByteArray>,
    offset: Vec<i64>,
    length: Vec<i64>,
    flags: Vec<i32>,
    device: Vec<i32>,
    domain: Vec<i32>,
    pid: Nullable<i32>,
    command: Vec<i32>,
    cpu: Nullable<i32>,
    status: Vec<i32>,
    quality: Vec<i32>,
    source: Vec<i64>,
}

/// Of [`Status`]: 0, a negative errno, or this.
const NO_COMPLETION: i32 = 1;

/// The words of the operations, made once.
pub(super) struct Words([ByteArray; TracedOperation::ALL.len()]);

impl Default for Words {
    fn default() -> Self {
        Self(
            TracedOperation::ALL
                .map(|operation| ByteArray::from(Bytes::from_static(operation.name().as_bytes()))),
        )
    }
}

impl Columns {
    pub(super) const fn len(&self) -> usize {
        self.sequence.len()
    }

    pub(super) fn push(&mut self, sequence: u64, io: &TracedIo, words: &Words) {
        self.sequence.push(sequence.cast_signed());
        self.issued.push(io.issued_ns);
        self.latency.push(io.completed_ns.map(|completed_ns| completed_ns.wrapping_sub(io.issued_ns)));
        self.operation.push(words.0[io.operation as usize].clone());
        self.offset.push(io.offset_bytes.cast_signed());
        self.length.push(io.length_bytes.cast_signed());
        self.flags.push(i32::from(io.flags.0));
        self.device.push(i32::from(io.device));
        self.domain.push(i32::from(io.domain));
        self.pid.push((io.pid != NO_PROCESS).then_some(io.pid));
        self.command.push(i32::from(io.command));
        self.cpu.push((io.cpu != NO_PROCESSOR).then_some(i32::from(io.cpu)));
        self.status.push(match io.status {
            Status::Done => 0,
            Status::Failed(errno) => -i32::from(errno),
            Status::NoCompletionSeen => NO_COMPLETION,
        });
        self.quality.push(i32::from(io.quality.0));
        self.source.push(io.source_position.cast_signed());
    }

    /// Write them as a group, and be empty again.
    pub(super) fn write<W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        put::<Int64Type, W>(group, &mut self.sequence)?;
        put::<Int64Type, W>(group, &mut self.issued)?;
        put_nullable::<Int64Type, W>(group, &mut self.latency)?;
        put::<ByteArrayType, W>(group, &mut self.operation)?;
        put::<Int64Type, W>(group, &mut self.offset)?;
        put::<Int64Type, W>(group, &mut self.length)?;
        put::<Int32Type, W>(group, &mut self.flags)?;
        put::<Int32Type, W>(group, &mut self.device)?;
        put::<Int32Type, W>(group, &mut self.domain)?;
        put_nullable::<Int32Type, W>(group, &mut self.pid)?;
        put::<Int32Type, W>(group, &mut self.command)?;
        put_nullable::<Int32Type, W>(group, &mut self.cpu)?;
        put::<Int32Type, W>(group, &mut self.status)?;
        put::<Int32Type, W>(group, &mut self.quality)?;
        put::<Int64Type, W>(group, &mut self.source)
    }
}

fn put<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &mut Vec<T::T>,
) -> Result<()> {
    let mut column = group.next_column()?.expect("as many columns as the schema has");
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()?;
    values.clear();
    Ok(())
}

fn put_nullable<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &mut Nullable<T::T>,
) -> Result<()> {
    let mut writer = group.next_column()?.expect("as many columns as the schema has");
    writer.typed::<T>().write_batch(&column.values, Some(&column.levels), None)?;
    writer.close()?;
    column.values.clear();
    column.levels.clear();
    Ok(())
}

/// A group that is read piece by piece.
pub(super) struct Group {
    issued: Reading<Int64Type>,
    latency: Reading<Int64Type>,
    operation: Reading<ByteArrayType>,
    offset: Reading<Int64Type>,
    length: Reading<Int64Type>,
    flags: Reading<Int32Type>,
    device: Reading<Int32Type>,
    domain: Reading<Int32Type>,
    pid: Reading<Int32Type>,
    command: Reading<Int32Type>,
    cpu: Reading<Int32Type>,
    status: Reading<Int32Type>,
    quality: Reading<Int32Type>,
    source: Reading<Int64Type>,
    rows: usize,
}

impl Group {
    pub(super) fn new(group: &dyn RowGroupReader) -> Result<Self> {
        Ok(Self {
            issued: Reading::new(group, Column::Issued as usize)?,
            latency: Reading::new(group, Column::Latency as usize)?,
            operation: Reading::new(group, Column::Operation as usize)?,
            offset: Reading::new(group, Column::Offset as usize)?,
            length: Reading::new(group, Column::Length as usize)?,
            flags: Reading::new(group, Column::Flags as usize)?,
            device: Reading::new(group, Column::Device as usize)?,
            domain: Reading::new(group, Column::Domain as usize)?,
            pid: Reading::new(group, Column::Pid as usize)?,
            command: Reading::new(group, Column::Command as usize)?,
            cpu: Reading::new(group, Column::Cpu as usize)?,
            status: Reading::new(group, Column::Status as usize)?,
            quality: Reading::new(group, Column::Quality as usize)?,
            source: Reading::new(group, Column::Source as usize)?,
            rows: usize::try_from(group.metadata().num_rows()).unwrap_or(0),
        })
    }

    /// Rows that are left.
    pub(super) const fn rows(&self) -> usize {
        self.rows
    }

    /// Append the next rows; `None` for a row whose values are out of range.
    pub(super) fn read(&mut self, rows: usize, mut row: impl FnMut(Option<TracedIo>)) -> Result<()> {
        for column in [&mut self.issued, &mut self.offset, &mut self.length, &mut self.source] {
            column.read(rows, false)?;
        }
        for column in [
            &mut self.flags,
            &mut self.device,
            &mut self.domain,
            &mut self.command,
            &mut self.status,
            &mut self.quality,
        ] {
            column.read(rows, false)?;
        }
        self.operation.read(rows, false)?;
        self.latency.read(rows, true)?;
        self.pid.read(rows, true)?;
        self.cpu.read(rows, true)?;
        self.rows -= rows;
        let mut latencies = self.latency.values.iter();
        let mut pids = self.pid.values.iter();
        let mut cpus = self.cpu.values.iter();
        for index in 0..rows {
            // Nulls take no place among the values.
            let latency_ns = if self.latency.levels[index] == 1 { latencies.next() } else { None };
            let pid = if self.pid.levels[index] == 1 { pids.next() } else { None };
            let cpu = if self.cpu.levels[index] == 1 { cpus.next() } else { None };
            row(self.io(index, latency_ns.copied(), pid.copied(), cpu.copied()));
        }
        Ok(())
    }

    fn io(
        &self,
        index: usize,
        latency_ns: Option<i64>,
        pid: Option<i32>,
        cpu: Option<i32>,
    ) -> Option<TracedIo> {
        let issued_ns = self.issued.values[index];
        Some(TracedIo {
            issued_ns,
            completed_ns: match latency_ns {
                Some(latency_ns) => Some(issued_ns.checked_add(latency_ns)?),
                None => None,
            },
            operation: operation_of(self.operation.values[index].data())?,
            offset_bytes: u64::try_from(self.offset.values[index]).ok()?,
            length_bytes: u64::try_from(self.length.values[index]).ok()?,
            flags: Flags(u16::try_from(self.flags.values[index]).ok()?),
            device: u16::try_from(self.device.values[index]).ok()?,
            domain: u16::try_from(self.domain.values[index]).ok()?,
            pid: pid.unwrap_or(NO_PROCESS),
            command: u16::try_from(self.command.values[index]).ok()?,
            cpu: match cpu {
                Some(cpu) => i16::try_from(cpu).ok()?,
                None => NO_PROCESSOR,
            },
            status: match self.status.values[index] {
                0 => Status::Done,
                NO_COMPLETION => Status::NoCompletionSeen,
                errno => Status::Failed(u16::try_from(errno.checked_neg()?).ok()?),
            },
            quality: Quality(u8::try_from(self.quality.values[index]).ok()?),
            source_position: self.source.values[index].cast_unsigned(),
        })
    }
}

pub(super) fn operation_of(word: &[u8]) -> Option<TracedOperation> {
    TracedOperation::ALL.into_iter().find(|operation| operation.name().as_bytes() == word)
}
