//! The columns of a capture, how each is encoded, and what a file says about itself.

use super::configuration::CaptureConfiguration;
use super::figures::Waits;
use parquet::basic::{Encoding, LogicalType, Repetition, Type as Physical};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr, WriterVersion};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use std::sync::Arc;

/// Version of the files' format, in their metadata as `openpts.capture`.
///
/// 1: step, thread, submitted_ns, latency_ns, lba, length_bytes, operation, errno.
pub const FORMAT_VERSION: u32 = 1;

/// Bytes of a column after which a page ends: what a reader decodes at once.
const PAGE_BYTES: usize = 128 << 10;
/// Rows after which a page ends, for columns that take next to no bytes.
const PAGE_ROWS: usize = 1 << 16;

/// The columns; none of them has nulls.
///
/// # Panics
/// Never: the definition is a constant.
#[must_use]
pub fn schema() -> TypePtr {
    let columns = vec![
        integer("step", Physical::INT32, 32, false),
        integer("thread", Physical::INT32, 16, false),
        integer("submitted_ns", Physical::INT64, 64, false),
        integer("latency_ns", Physical::INT64, 64, false),
        integer("lba", Physical::INT64, 64, false),
        integer("length_bytes", Physical::INT32, 32, false),
        column("operation", Physical::BYTE_ARRAY, LogicalType::String),
        integer("errno", Physical::INT32, 32, true),
    ];
    let group = Type::group_type_builder("io").with_fields(columns).build();
    Arc::new(group.expect("a valid schema"))
}

fn integer(name: &str, physical: Physical, bits: i8, signed: bool) -> TypePtr {
    column(name, physical, LogicalType::integer(bits, signed))
}

fn column(name: &str, physical: Physical, logical: LogicalType) -> TypePtr {
    let column = Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(logical))
        .build();
    Arc::new(column.expect("a valid column"))
}

/// How the columns are encoded. Times and places differ little from row to row, or not at all in a pattern:
/// deltas. Sizes and operations are few: dictionaries. A general compressor on top finds nothing more in
/// random accesses, so there is none.
pub(super) fn properties() -> WriterPropertiesPtr {
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_created_by(concat!("openpts ", env!("CARGO_PKG_VERSION")).into())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_data_page_size_limit(PAGE_BYTES)
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_dictionary_enabled(true)
        .set_encoding(Encoding::DELTA_BINARY_PACKED);
    for name in ["submitted_ns", "latency_ns", "lba"] {
        properties = properties.set_column_dictionary_enabled(ColumnPath::from(name), false);
    }
    let operation = ColumnPath::from("operation");
    properties
        // What a column with a dictionary falls back to.
        .set_column_encoding(operation.clone(), Encoding::DELTA_LENGTH_BYTE_ARRAY)
        // The smallest and largest of the words would tell nothing.
        .set_column_statistics_enabled(operation, EnabledStatistics::None)
        .build()
        .into()
}

/// What a reader needs besides the columns, and what this file's I/Os went through.
pub(super) struct Facts<'a> {
    pub(super) configuration: &'a CaptureConfiguration,
    pub(super) number: u32,
    pub(super) ios: u64,
    pub(super) discarded: u64,
    pub(super) waits: Waits,
}

impl Facts<'_> {
    /// As key-value metadata.
    pub(super) fn key_values(&self) -> Vec<KeyValue> {
        [
            ("openpts.capture", FORMAT_VERSION.to_string()),
            ("openpts.version", env!("CARGO_PKG_VERSION").into()),
            ("openpts.sector_bytes", self.configuration.sector_bytes.to_string()),
            ("openpts.lba_bytes", self.configuration.lba_bytes.to_string()),
            ("openpts.clock", self.configuration.clock.clone()),
            ("openpts.file", self.number.to_string()),
            ("openpts.ios", self.ios.to_string()),
            ("openpts.ios_discarded", self.discarded.to_string()),
            ("openpts.blocked_times", self.waits.blocked_times.to_string()),
            ("openpts.blocked_ns", self.waits.blocked_ns.to_string()),
        ]
        .into_iter()
        .map(|(key, value)| KeyValue::new(key.into(), value))
        .collect()
    }
}
