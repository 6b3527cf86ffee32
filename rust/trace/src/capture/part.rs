//! One Parquet file of a capture: row groups, then the footer that makes it readable.

use super::destination::{Destination, PartFile};
use super::schema::{Facts, table};
use crate::table::Table;
use openpts_core::capture::{CaptureConfiguration, Closed, Files, OpenFile, Row, Waits};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{FileMetaData, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData};
use parquet::file::writer::{SerializedFileWriter, TrackedWrite};
use std::io::{self, Write};
use std::time::Instant;

/// Encoded bytes after which a row group is written: what bounds the writer's memory.
const ROW_GROUP_BYTES: usize = 6 << 20;
/// Rows after which it is written, for patterns that encode to next to nothing.
const ROW_GROUP_ROWS: u64 = 1 << 20;
/// Length of the mark at the beginning of a Parquet file.
const HEAD_BYTES: u64 = 4;

/// The file behind the library's write buffer. It can be taken away, so that what the buffer still holds
/// after an error goes nowhere.
struct Sink(Option<Box<dyn PartFile>>);

impl Write for Sink {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.0.as_mut().map_or(Ok(buffer.len()), |file| file.write(buffer))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), |file| file.flush())
    }
}

/// A row group in the file, and where it ends.
struct Committed {
    metadata: RowGroupMetaData,
    end_bytes: u64,
}

/// Parquet files at a destination.
pub(super) struct ParquetFiles<D>(pub(super) D);

impl<D: Destination> Files for ParquetFiles<D> {
    fn check(&self) -> io::Result<()> {
        self.0.check()
    }

    fn begin(
        &self,
        configuration: &CaptureConfiguration,
        number: u32,
    ) -> std::result::Result<Box<dyn OpenFile>, String> {
        let begun = self.0.begin(number).map_err(ParquetError::from);
        let part = begun.and_then(|file| Part::begin(file, configuration.clone(), number));
        Ok(Box::new(part.map_err(in_words)?))
    }
}

/// An error in words, with its deepest cause, which for a full disk is the operating system's message.
fn in_words(error: ParquetError) -> String {
    match error {
        ParquetError::External(cause) => cause.to_string(),
        ParquetError::General(reason) => reason,
        other => other.to_string(),
    }
}

/// A file in the making.
struct Part {
    configuration: CaptureConfiguration,
    number: u32,
    writer: SerializedFileWriter<Sink>,
    table: Table<'static, Row>,
    committed: Vec<Committed>,
    waits: Waits,
    ios: u64,
    began: Instant,
}

impl Part {
    fn begin(file: Box<dyn PartFile>, configuration: CaptureConfiguration, number: u32) -> Result<Self> {
        let table = table();
        Ok(Self {
            configuration,
            number,
            writer: table.begin(Sink(Some(file)))?,
            table,
            committed: Vec::new(),
            waits: Waits::default(),
            ios: 0,
            began: Instant::now(),
        })
    }

    /// Write the row group, if there is anything in it, and begin another.
    fn commit(&mut self) -> Result<()> {
        let Some(metadata) = self.table.end_group(&mut self.writer)? else { return Ok(()) };
        let metadata = metadata.as_ref().clone();
        self.writer.flush()?;
        self.committed.push(Committed { metadata, end_bytes: self.writer.bytes_written() as u64 });
        Ok(())
    }

    /// Complete the file after an error with the row groups that are in it. If there is no room for the
    /// footer either, the last row groups make room for it.
    fn salvage(&mut self, mut error: Option<String>) -> Closed {
        let mut file = self.writer.inner_mut().0.take();
        while let Some(open) = file.as_mut() {
            let ios = self.committed.iter().map(|group| group.metadata.num_rows() as u64).sum();
            let lost = self.ios - ios;
            let facts = Facts {
                configuration: &self.configuration,
                number: self.number,
                ios,
                discarded: lost,
                waits: self.waits,
            };
            match self.write_footer(open.as_mut(), &facts) {
                Ok(bytes) => match file.take().map(PartFile::complete) {
                    Some(Ok(name)) => return Closed { file: Some((name, bytes)), ios, lost, error },
                    Some(Err(failure)) => error = error.or_else(|| Some(failure.to_string())),
                    None => {}
                },
                Err(failure) => {
                    error = error.or_else(|| Some(in_words(failure)));
                    if self.committed.pop().is_none() {
                        break;
                    }
                }
            }
        }
        Closed { file: None, ios: 0, lost: self.ios, error }
    }

    /// Put the footer behind the last row group; the file's size then.
    fn write_footer(&self, file: &mut dyn PartFile, facts: &Facts<'_>) -> Result<u64> {
        let groups = self.committed.iter().map(|group| group.metadata.clone()).collect();
        let metadata = FileMetaData::new(
            self.table.properties().writer_version().as_num(),
            facts.ios as i64,
            Some(self.table.properties().created_by().into()),
            Some(facts.key_values()),
            self.writer.schema_descr().clone().into(),
            None,
        );
        let mut footer = Vec::new();
        let tracked = TrackedWrite::new(&mut footer);
        ParquetMetaDataWriter::new_with_tracked(tracked, &ParquetMetaData::new(metadata, groups)).finish()?;
        let end_bytes = self.committed.last().map_or(HEAD_BYTES, |group| group.end_bytes);
        file.cut(end_bytes)?;
        file.write_all(&footer)?;
        file.flush()?;
        Ok(end_bytes + footer.len() as u64)
    }
}

impl OpenFile for Part {
    fn ios(&self) -> u64 {
        self.ios
    }

    fn began(&self) -> Instant {
        self.began
    }

    fn add(&mut self, rows: &[Row], waits: Waits) -> std::result::Result<(), String> {
        if self.ios == 0 {
            self.began = Instant::now();
        }
        self.ios += rows.len() as u64;
        self.waits.add(waits);
        self.table.add(rows).map_err(in_words)?;
        let is_full = self.table.encoded_bytes() >= ROW_GROUP_BYTES || self.table.rows() >= ROW_GROUP_ROWS;
        if is_full { self.commit().map_err(in_words) } else { Ok(()) }
    }

    fn close(mut self: Box<Self>, error: Option<String>) -> Closed {
        let error =
            error.or_else(|| self.commit().and_then(|()| Ok(self.writer.flush()?)).err().map(in_words));
        self.salvage(error)
    }
}
