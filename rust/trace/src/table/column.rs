//! One column: its values of the rows, encoded in memory.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use parquet::column::writer::{ColumnCloseResult, ColumnWriterImpl};
use parquet::data_type::DataType;
use parquet::errors::Result;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// Where the values of a column come from, and how they are encoded.
pub struct Column<'a, R> {
    /// By a dictionary, if it is none.
    pub(super) encoding: Option<Encoding>,
    pub(super) begin: Begin<'a, R>,
}

type Begin<'a, R> =
    Box<dyn FnOnce(ColumnDescPtr, WriterPropertiesPtr) -> Box<dyn Growing<R> + 'a> + Send + 'a>;

impl<R> Column<'_, R> {
    /// Encoded so, and by no dictionary.
    #[must_use]
    pub fn encoded(self, encoding: Encoding) -> Self {
        Self { encoding: Some(encoding), ..self }
    }
}

/// A column with a value for each row.
pub fn required<'a, R: 'a, T: DataType>(value: impl Fn(&R) -> T::T + Send + 'a) -> Column<'a, R> {
    column::<R, T>(move |rows, cells| cells.values.extend(rows.iter().map(&value)))
}

/// A column that may be null.
pub fn optional<'a, R: 'a, T: DataType>(value: impl Fn(&R) -> Option<T::T> + Send + 'a) -> Column<'a, R> {
    column::<R, T>(move |rows, cells| {
        for value in rows.iter().map(&value) {
            cells.levels.push(i16::from(value.is_some()));
            cells.values.extend(value);
        }
    })
}

fn column<'a, R: 'a, T: DataType>(gather: impl Fn(&[R], &mut Cells<T::T>) + Send + 'a) -> Column<'a, R> {
    let begin: Begin<'a, R> = Box::new(|to, properties| {
        let pages = Pages::default();
        let writer = pages.writer(&to, &properties);
        Box::new(Encoded::<R, T> {
            gather: Box::new(gather),
            cells: Cells::default(),
            pages,
            writer,
            to,
            properties,
        })
    });
    Column { encoding: None, begin }
}

/// A column that grows.
pub(super) trait Growing<R>: Send {
    /// Add the values of some rows; the bytes of all pages so far.
    fn add(&mut self, rows: &[R]) -> Result<usize>;

    /// End it, and begin another. What it came to, ready to be copied into a file.
    fn end(&mut self) -> Result<(Bytes, ColumnCloseResult)>;
}

/// Values of some rows. Levels tell nulls.
struct Cells<V> {
    values: Vec<V>,
    levels: Vec<i16>,
}

impl<V> Default for Cells<V> {
    fn default() -> Self {
        Self { values: Vec::new(), levels: Vec::new() }
    }
}

/// Adds the values of some rows.
type Gather<'a, R, V> = Box<dyn Fn(&[R], &mut Cells<V>) + Send + 'a>;

struct Encoded<'a, R, T: DataType> {
    gather: Gather<'a, R, T::T>,
    cells: Cells<T::T>,
    pages: Pages,
    writer: ColumnWriterImpl<'static, T>,
    to: ColumnDescPtr,
    properties: WriterPropertiesPtr,
}

impl<R, T: DataType> Growing<R> for Encoded<'_, R, T> {
    fn add(&mut self, rows: &[R]) -> Result<usize> {
        let cells = &mut self.cells;
        (self.gather)(rows, cells);
        let levels = (!cells.levels.is_empty()).then_some(&cells.levels[..]);
        self.writer.write_batch(&cells.values, levels, None)?;
        cells.values.clear();
        cells.levels.clear();
        Ok(self.pages.bytes().len())
    }

    fn end(&mut self) -> Result<(Bytes, ColumnCloseResult)> {
        let next = self.pages.writer(&self.to, &self.properties);
        let close = std::mem::replace(&mut self.writer, next).close()?;
        Ok((std::mem::take(&mut *self.pages.bytes()).into(), close))
    }
}

/// The encoded pages of one column; page writer and column share them.
#[derive(Clone, Default)]
struct Pages(Arc<Mutex<Vec<u8>>>);

impl Pages {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer<T: DataType>(
        &self,
        to: &ColumnDescPtr,
        properties: &WriterPropertiesPtr,
    ) -> ColumnWriterImpl<'static, T> {
        let pages = Box::new(OwningPageWriter(TrackedWrite::new(self.clone())));
        ColumnWriterImpl::new(to.clone(), properties.clone(), pages)
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
