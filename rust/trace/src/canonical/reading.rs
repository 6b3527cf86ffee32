//! One column, piece by piece.

use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;

/// A column of a group that is read piece by piece.
pub(super) struct Reading<T: DataType> {
    reader: ColumnReaderImpl<T>,
    pub(super) values: Vec<T::T>,
    pub(super) levels: Vec<i16>,
}

impl<T: DataType> Reading<T> {
    pub(super) fn new(group: &dyn RowGroupReader, column: usize) -> Result<Self> {
        let reader = get_typed_column_reader::<T>(group.get_column_reader(column)?);
        Ok(Self { reader, values: Vec::new(), levels: Vec::new() })
    }

    /// Read as many rows as are asked for, or fail.
    pub(super) fn read(&mut self, rows: usize, nullable: bool) -> Result<()> {
        self.values.clear();
        self.levels.clear();
        let levels = nullable.then_some(&mut self.levels);
        let (found, _, _) = self.reader.read_records(rows, levels, None, &mut self.values)?;
        let complete = if nullable { self.levels.len() == rows } else { self.values.len() == rows };
        if found == rows && complete {
            return Ok(());
        }
        Err(ParquetError::General("a column has fewer values than the file says".into()))
    }
}
