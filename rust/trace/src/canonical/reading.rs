//! The columns of a row group, piece by piece.

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;

/// A group that is read piece by piece. Integers of any width are signed ones of 64 bits.
pub(super) struct Group {
    columns: Vec<Reading>,
    rows: usize,
}

struct Reading {
    reader: ColumnReader,
    is_nullable: bool,
    numbers: Vec<i64>,
    words: Vec<ByteArray>,
    levels: Vec<i16>,
    narrow: Vec<i32>,
}

impl Group {
    pub(super) fn new(group: &dyn RowGroupReader) -> Result<Self> {
        let column = |index: usize| {
            let described = group.metadata().column(index).column_descr();
            Ok(Reading {
                reader: group.get_column_reader(index)?,
                is_nullable: described.max_def_level() > 0,
                numbers: Vec::new(),
                words: Vec::new(),
                levels: Vec::new(),
                narrow: Vec::new(),
            })
        };
        Ok(Self {
            columns: (0..group.num_columns()).map(column).collect::<Result<_>>()?,
            rows: usize::try_from(group.metadata().num_rows()).unwrap_or(0),
        })
    }

    /// Rows that are left.
    pub(super) const fn rows(&self) -> usize {
        self.rows
    }

    /// Read the next rows of all columns, or fail.
    pub(super) fn read(&mut self, rows: usize) -> Result<()> {
        self.rows -= rows;
        self.columns.iter_mut().try_for_each(|column| column.read(rows))
    }

    /// A number of a column that has no nulls.
    pub(super) fn number(&self, column: usize, row: usize) -> i64 {
        self.columns[column].numbers[row]
    }

    /// A number, if it isn't null.
    pub(super) fn optional(&self, column: usize, row: usize) -> Option<i64> {
        let column = &self.columns[column];
        (column.levels[row] == 1).then(|| column.numbers[row])
    }

    pub(super) fn word(&self, column: usize, row: usize) -> &[u8] {
        self.columns[column].words[row].data()
    }
}

impl Reading {
    fn read(&mut self, rows: usize) -> Result<()> {
        let levels = self.is_nullable.then_some(&mut self.levels);
        match &mut self.reader {
            ColumnReader::Int32ColumnReader(reader) => {
                values(reader, rows, levels, &mut self.narrow)?;
                self.numbers.clear();
                self.numbers.extend(self.narrow.iter().map(|number| i64::from(*number)));
            }
            ColumnReader::Int64ColumnReader(reader) => values(reader, rows, levels, &mut self.numbers)?,
            ColumnReader::ByteArrayColumnReader(reader) => values(reader, rows, levels, &mut self.words)?,
            _ => return Err(ParquetError::General("a column is of a type that no trace has".into())),
        }
        if self.is_nullable {
            self.make_room_for_nulls(rows);
        }
        Ok(())
    }

    /// Nulls take no place among the values that were read: from the last row on each goes to its own.
    fn make_room_for_nulls(&mut self, rows: usize) {
        let mut from = self.numbers.len();
        self.numbers.resize(rows, 0);
        for row in (0..rows).rev() {
            if self.levels[row] == 1 {
                from -= 1;
                self.numbers[row] = self.numbers[from];
            }
        }
    }
}

fn values<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    mut levels: Option<&mut Vec<i16>>,
    values: &mut Vec<T::T>,
) -> Result<()> {
    values.clear();
    if let Some(levels) = &mut levels {
        levels.clear();
    }
    let (found, _, _) = reader.read_records(rows, levels.as_deref_mut(), None, values)?;
    let is_complete = levels.map_or(values.len(), |levels| levels.len()) == rows;
    if found == rows && is_complete {
        return Ok(());
    }
    Err(ParquetError::General("a column has fewer values than the file says".into()))
}
