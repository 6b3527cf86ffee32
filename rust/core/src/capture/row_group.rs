//! A row group that grows chunk by chunk in memory.
//!
//! The library writes one column after the other into a file, which would keep whole row groups as rows.
//! Here each column is encoded into memory of its own, so that a chunk goes back to its thread at once.

use super::columns::Columns;
use bytes::Bytes;
use parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use parquet::column::writer::{ColumnCloseResult, ColumnWriterImpl};
use parquet::data_type::{ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::SchemaDescriptor;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Encoded bytes after which a row group is written: what bounds the writer's memory.
const ROW_GROUP_BYTES: usize = 6 << 20;
/// Rows after which it is written, for patterns that encode to next to nothing.
const ROW_GROUP_ROWS: u64 = 1 << 20;

/// The encoded pages of one column; page writer and row group share it.
#[derive(Clone, Default)]
struct Pages(Arc<Mutex<Vec<u8>>>);

impl Pages {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Pages {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.bytes().extend_from_slice(buffer);
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The library's page writer borrows what it writes to; this one owns it.
struct OwningPageWriter(TrackedWrite<Pages>);

impl PageWriter for OwningPageWriter {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec> {
        SerializedPageWriter::new(&mut self.0).write_page(page)
    }

    fn close(&mut self) -> Result<()> {
        Ok(self.0.flush()?)
    }
}

/// An encoded column, ready to be copied into a file.
pub(super) struct EncodedColumn {
    pub(super) bytes: Bytes,
    pub(super) close: ColumnCloseResult,
}

struct Column<T: DataType> {
    pages: Pages,
    writer: ColumnWriterImpl<'static, T>,
}

impl<T: DataType> Column<T> {
    fn new(schema: &SchemaDescriptor, index: usize, properties: &WriterPropertiesPtr) -> Self {
        let pages = Pages::default();
        let page_writer = Box::new(OwningPageWriter(TrackedWrite::new(pages.clone())));
        Self { pages, writer: ColumnWriterImpl::new(schema.column(index), properties.clone(), page_writer) }
    }

    fn add(&mut self, values: &[T::T]) -> Result<usize> {
        self.writer.write_batch(values, None, None)?;
        Ok(self.pages.bytes().len())
    }

    fn close(self) -> Result<EncodedColumn> {
        let close = self.writer.close()?;
        let bytes = std::mem::take(&mut *self.pages.bytes());
        Ok(EncodedColumn { bytes: bytes.into(), close })
    }
}

/// The columns of [`super::schema::schema`], in its order.
pub(super) struct RowGroup {
    step: Column<Int32Type>,
    thread: Column<Int32Type>,
    submitted_ns: Column<Int64Type>,
    latency_ns: Column<Int64Type>,
    lba: Column<Int64Type>,
    length_bytes: Column<Int32Type>,
    operation: Column<ByteArrayType>,
    errno: Column<Int32Type>,
    rows: u64,
    encoded_bytes: usize,
}

impl RowGroup {
    pub(super) fn new(schema: &SchemaDescriptor, properties: &WriterPropertiesPtr) -> Self {
        Self {
            step: Column::new(schema, 0, properties),
            thread: Column::new(schema, 1, properties),
            submitted_ns: Column::new(schema, 2, properties),
            latency_ns: Column::new(schema, 3, properties),
            lba: Column::new(schema, 4, properties),
            length_bytes: Column::new(schema, 5, properties),
            operation: Column::new(schema, 6, properties),
            errno: Column::new(schema, 7, properties),
            rows: 0,
            encoded_bytes: 0,
        }
    }

    pub(super) const fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether it is time to write it.
    pub(super) const fn is_full(&self) -> bool {
        self.encoded_bytes >= ROW_GROUP_BYTES || self.rows >= ROW_GROUP_ROWS
    }

    pub(super) fn add(&mut self, columns: &Columns) -> Result<()> {
        self.rows += columns.submitted_ns.len() as u64;
        self.encoded_bytes = self.step.add(&columns.step)?
            + self.thread.add(&columns.thread)?
            + self.submitted_ns.add(&columns.submitted_ns)?
            + self.latency_ns.add(&columns.latency_ns)?
            + self.lba.add(&columns.lba)?
            + self.length_bytes.add(&columns.length_bytes)?
            + self.operation.add(&columns.operation)?
            + self.errno.add(&columns.errno)?;
        Ok(())
    }

    pub(super) fn close(self) -> Result<[EncodedColumn; 8]> {
        Ok([
            self.step.close()?,
            self.thread.close()?,
            self.submitted_ns.close()?,
            self.latency_ns.close()?,
            self.lba.close()?,
            self.length_bytes.close()?,
            self.operation.close()?,
            self.errno.close()?,
        ])
    }
}
