//! Rows of one kind as columns of Parquet files: a schema in Parquet's own words, and for each of its columns where the
//! values come from and how they are encoded.
//!
//! The library writes one column after the other into a file, which would keep whole row groups as rows. Here each
//! column is encoded into memory of its own as rows come, and a row group goes to the file as a whole. What the rows are is
//! not known here.

mod column;

use std::io::Write;
use std::sync::Arc;

use parquet::errors::Result;
use parquet::file::metadata::RowGroupMetaDataPtr;
use parquet::file::properties::{
    EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterPropertiesPtr, WriterVersion,
};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{SchemaDescriptor, TypePtr};

use column::Growing;
pub use column::{Column, optional, required};

/// What is the same in all files; the rest is the caller's.
#[must_use]
pub fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_created_by(concat!("openpts ", env!("CARGO_PKG_VERSION")).into())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
}

/// A schema that is a constant.
///
/// # Panics
/// If it is none.
#[must_use]
pub fn schema_of(words: &str) -> TypePtr {
    Arc::new(parse_message_type(words).expect("a valid schema"))
}

/// Row groups of one file, one after the other.
pub struct Table<'a, R> {
    schema: TypePtr,
    properties: WriterPropertiesPtr,
    columns: Vec<Box<dyn Growing<R> + 'a>>,
    rows: u64,
    encoded_bytes: usize,
}

impl<'a, R: 'a> Table<'a, R> {
    /// Columns in the order of the schema, with the types that it has.
    #[must_use]
    pub fn new(words: &str, mut properties: WriterPropertiesBuilder, columns: Vec<Column<'a, R>>) -> Self {
        let schema = schema_of(words);
        let described = SchemaDescriptor::new(schema.clone());
        assert_eq!(described.num_columns(), columns.len(), "a column of the schema without values");
        for (column, to) in columns.iter().zip(described.columns()) {
            if let Some(encoding) = column.encoding {
                properties = properties
                    .set_column_dictionary_enabled(to.path().clone(), false)
                    .set_column_encoding(to.path().clone(), encoding);
            }
        }
        let properties: WriterPropertiesPtr = properties.build().into();
        let columns = columns.into_iter().zip(described.columns());
        let columns = columns.map(|(column, to)| (column.begin)(to.clone(), properties.clone())).collect();
        Self { schema, properties, columns, rows: 0, encoded_bytes: 0 }
    }

    /// A file for its row groups.
    ///
    /// # Errors
    /// If it takes no bytes.
    pub fn begin<W: Write + Send>(&self, file: W) -> Result<SerializedFileWriter<W>> {
        SerializedFileWriter::new(file, self.schema.clone(), self.properties.clone())
    }

    /// How its files are written.
    #[must_use]
    pub fn properties(&self) -> &WriterProperties {
        &self.properties
    }

    /// Rows of the group so far.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// What they take in memory, but for pages that are not full.
    #[must_use]
    pub const fn encoded_bytes(&self) -> usize {
        self.encoded_bytes
    }

    /// Add rows to the group.
    ///
    /// # Errors
    /// If a value can't be encoded.
    pub fn add(&mut self, rows: &[R]) -> Result<()> {
        self.rows += rows.len() as u64;
        self.encoded_bytes = 0;
        for column in &mut self.columns {
            self.encoded_bytes += column.add(rows)?;
        }
        Ok(())
    }

    /// Write the group, if it has rows, and begin another.
    ///
    /// # Errors
    /// If the file takes no more.
    pub fn end_group<W: Write + Send>(
        &mut self,
        file: &mut SerializedFileWriter<W>,
    ) -> Result<Option<RowGroupMetaDataPtr>> {
        if self.rows == 0 {
            return Ok(None);
        }
        (self.rows, self.encoded_bytes) = (0, 0);
        let mut group = file.next_row_group()?;
        for column in &mut self.columns {
            let (bytes, close) = column.end()?;
            group.append_column(&bytes, close)?;
        }
        Ok(Some(group.close()?))
    }
}
