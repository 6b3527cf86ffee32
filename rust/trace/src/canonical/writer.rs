//! Writes the canonical form.

use std::io::Write;

use crate::table::Table;
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::writer::SerializedFileWriter;

use super::super::header::TraceHeader;
use super::super::reader::BATCH_IOS;
use super::super::traced_io::TracedIo;
use super::schema::{HEADER_KEY, ROW_GROUP_IOS, Row, VERSION, VERSION_KEY, table};

/// Writes I/Os, in the order in which they come, as a file in the canonical form.
pub struct CanonicalWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    table: Table<'static, Row>,
    rows: Vec<Row>,
    ios: u64,
}

impl<W: Write + Send> CanonicalWriter<W> {
    /// Begin a file.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn new(file: W) -> Result<Self> {
        let table = table();
        Ok(Self { file: table.begin(file)?, table, rows: Vec::with_capacity(BATCH_IOS), ios: 0 })
    }

    /// Add I/Os.
    ///
    /// # Errors
    /// If they can't be written.
    pub fn write(&mut self, ios: &[TracedIo]) -> Result<()> {
        for io in ios {
            self.rows.push((self.ios, *io));
            self.ios += 1;
            if self.rows.len() == BATCH_IOS {
                self.encode()?;
            }
        }
        Ok(())
    }

    fn encode(&mut self) -> Result<()> {
        self.table.add(&self.rows)?;
        self.rows.clear();
        if self.table.rows() >= ROW_GROUP_IOS as u64 {
            self.table.end_group(&mut self.file)?;
        }
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
        self.encode()?;
        self.table.end_group(&mut self.file)?;
        let json = serde_json::to_string(header).expect("a header as JSON");
        for (key, value) in [(VERSION_KEY, VERSION.into()), (HEADER_KEY, json)] {
            self.file.append_key_value_metadata(KeyValue::new(key.into(), value));
        }
        self.file.into_inner()
    }
}
