//! Writes the canonical form.

use std::io::Write;

use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::writer::SerializedFileWriter;

use super::super::header::TraceHeader;
use super::super::traced_io::TracedIo;
use super::columns::{Columns, Words};
use super::schema::{HEADER_KEY, ROW_GROUP_IOS, VERSION, VERSION_KEY, properties, schema};

/// Writes I/Os, in the order in which they come, as a file in the canonical form.
pub struct CanonicalWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Columns,
    words: Words,
    ios: u64,
}

impl<W: Write + Send> CanonicalWriter<W> {
    /// Begin a file.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn new(file: W) -> Result<Self> {
        let file = SerializedFileWriter::new(file, schema(), properties())?;
        Ok(Self { file, columns: Columns::default(), words: Words::default(), ios: 0 })
    }

    /// Add I/Os.
    ///
    /// # Errors
    /// If they can't be written.
    pub fn write(&mut self, ios: &[TracedIo]) -> Result<()> {
        for io in ios {
            self.columns.push(self.ios, io, &self.words);
            self.ios += 1;
            if self.columns.len() == ROW_GROUP_IOS {
                self.end_group()?;
            }
        }
        Ok(())
    }

    fn end_group(&mut self) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        self.columns.write(&mut group)?;
        group.close()?;
        Ok(())
    }

    /// End the file with its header.
    ///
    /// # Errors
    /// If it can't be written.
    ///
    /// # Panics
    /// Never: a header can be written as JSON.
    pub fn finish(mut self, header: &TraceHeader) -> Result<W> {
        if self.columns.len() > 0 {
            self.end_group()?;
        }
        let json = serde_json::to_string(header).expect("a header as JSON");
        for (key, value) in [(VERSION_KEY, VERSION.into()), (HEADER_KEY, json)] {
            self.file.append_key_value_metadata(KeyValue::new(key.into(), value));
        }
        self.file.into_inner()
    }
}
