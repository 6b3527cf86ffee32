//! The columns of the canonical form, and how each is encoded.

use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr, WriterVersion};
use parquet::schema::types::{ColumnPath, Type, TypePtr};

/// The format, as `--format` takes it.
pub(super) const NAME: &str = "openpts";
/// Key of the format's version in a file's metadata.
pub(super) const VERSION_KEY: &str = "openpts.trace";
/// Key of the header as JSON.
pub(super) const HEADER_KEY: &str = "openpts.trace_header";
/// Version of the format that is written, and the only one that is read.
pub(super) const VERSION: &str = "1";

/// Rows of a group: what is kept in memory before it is written.
pub(super) const ROW_GROUP_IOS: usize = 1 << 17;

/// Columns that are read; before them is the position in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Issued = 1,
    Latency,
    Operation,
    Offset,
    Length,
    Flags,
    Device,
    Domain,
    Pid,
    Command,
    Cpu,
    Status,
    Quality,
    Source,
}

/// Name, type, signed, bits, whether it may be null, how it is encoded if by no dictionary.
struct Row(&'static str, Physical, i8, bool, Repetition, Option<Encoding>);

const DELTA: Option<Encoding> = Some(Encoding::DELTA_BINARY_PACKED);
/// Bytes of equal weight together: the compressor takes what places have in common.
const SPLIT: Option<Encoding> = Some(Encoding::BYTE_STREAM_SPLIT);
const OPTIONAL: Repetition = Repetition::OPTIONAL;
const REQUIRED: Repetition = Repetition::REQUIRED;

/// In the order of the file, as [`Column`] has them.
const ROWS: [Row; 15] = [
    Row("seq", Physical::INT64, 64, false, REQUIRED, DELTA),
    Row("t_ns", Physical::INT64, 64, true, REQUIRED, DELTA),
    Row("latency_ns", Physical::INT64, 64, true, OPTIONAL, SPLIT),
    Row("operation", Physical::BYTE_ARRAY, 0, false, REQUIRED, None),
    Row("offset_bytes", Physical::INT64, 64, false, REQUIRED, SPLIT),
    Row("length_bytes", Physical::INT64, 64, false, REQUIRED, None),
    Row("flags", Physical::INT32, 16, false, REQUIRED, None),
    Row("device", Physical::INT32, 16, false, REQUIRED, None),
    Row("domain", Physical::INT32, 16, false, REQUIRED, None),
    Row("pid", Physical::INT32, 32, true, OPTIONAL, None),
    Row("command", Physical::INT32, 16, false, REQUIRED, None),
    Row("cpu", Physical::INT32, 16, true, OPTIONAL, None),
    Row("status", Physical::INT32, 32, true, REQUIRED, None),
    Row("quality", Physical::INT32, 8, false, REQUIRED, None),
    Row("source_position", Physical::INT64, 64, false, REQUIRED, DELTA),
];

/// The columns.
pub(super) fn schema() -> TypePtr {
    let columns = ROWS
        .iter()
        .map(|Row(name, physical, bits, signed, repetition, _)| {
            let logical = match physical {
                Physical::BYTE_ARRAY => LogicalType::String,
                _ => LogicalType::integer(*bits, *signed),
            };
            let column = Type::primitive_type_builder(name, *physical)
                .with_repetition(*repetition)
                .with_logical_type(Some(logical))
                .build();
            Arc::new(column.expect("a valid column"))
        })
        .collect();
    let group = Type::group_type_builder("io").with_fields(columns).build();
    Arc::new(group.expect("a valid schema"))
}

/// How the columns are written.
pub(super) fn properties() -> WriterPropertiesPtr {
    let zstd = ZstdLevel::try_new(3).expect("a level of zstd");
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_created_by(concat!("openpts ", env!("CARGO_PKG_VERSION")).into())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_compression(Compression::ZSTD(zstd))
        .set_max_row_group_row_count(None);
    for Row(name, _, _, _, _, encoding) in &ROWS {
        let path = ColumnPath::from(*name);
        if let Some(encoding) = encoding {
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, *encoding);
        }
    }
    properties.build().into()
}
