//! The columns of a capture, and what a file says about itself.

use crate::table::{Table, properties, required};
use bytes::Bytes;
use openpts_core::capture::{CaptureConfiguration, Row, Waits};
use openpts_core::workload::Operation;
use parquet::basic::Encoding::DELTA_BINARY_PACKED;
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;

/// Version of the files' format, in their metadata as `openpts.capture`.
const FORMAT_VERSION: u32 = 1;

/// The columns; none of them has nulls.
pub const SCHEMA: &str = "message io {
  required int32 step (INTEGER(32, false));
  required int32 thread (INTEGER(16, false));
  required int64 submitted_ns (INTEGER(64, false));
  required int64 latency_ns (INTEGER(64, false));
  required int64 lba (INTEGER(64, false));
  required int32 length_bytes (INTEGER(32, false));
  required binary operation (STRING);
  required int32 errno (INTEGER(32, true));
}";

/// Bytes of a column after which a page ends: what a reader decodes at once.
const PAGE_BYTES: usize = 128 << 10;
/// Rows after which a page ends, for columns that take next to no bytes.
const PAGE_ROWS: usize = 1 << 16;

/// Times and places differ little from row to row, or not at all in a pattern: deltas. Sizes and operations are few:
/// dictionaries. A general compressor on top finds nothing more in random accesses, so there is none.
pub(super) fn table() -> Table<'static, Row> {
    let names =
        Operation::ALL.map(|operation| ByteArray::from(Bytes::from_static(operation.name().as_bytes())));
    let columns = vec![
        required::<Row, Int32Type>(|row| row.step.cast_signed()),
        required::<Row, Int32Type>(|row| i32::from(row.thread)),
        required::<Row, Int64Type>(|row| row.submitted_ns().cast_signed()).encoded(DELTA_BINARY_PACKED),
        required::<Row, Int64Type>(|row| row.latency_ns().cast_signed()).encoded(DELTA_BINARY_PACKED),
        required::<Row, Int64Type>(|row| row.lba.cast_signed()).encoded(DELTA_BINARY_PACKED),
        required::<Row, Int32Type>(|row| row.length_bytes().cast_signed()),
        required::<Row, ByteArrayType>(move |row| names[row.operation_number()].clone()),
        required::<Row, Int32Type>(|row| row.result()),
    ];
    let pages = properties().set_data_page_size_limit(PAGE_BYTES).set_data_page_row_count_limit(PAGE_ROWS);
    Table::new(SCHEMA, pages, columns)
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
