//! The columns of the canonical form, and how each is encoded.

use crate::table::{Table, optional, properties, required};
use bytes::Bytes;
use parquet::basic::Encoding::{BYTE_STREAM_SPLIT, DELTA_BINARY_PACKED};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};

use super::super::traced_io::{Status, TracedIo, TracedOperation};
use super::issuer::packed;

/// The format, as `--format` takes it.
pub(super) const NAME: &str = "openpts";
/// Key of the format's version in a file's metadata.
pub(super) const VERSION_KEY: &str = "openpts.trace";
/// Key of the header as JSON.
pub(super) const HEADER_KEY: &str = "openpts.trace_header";
/// Version of the format that is written, and the only one that is read.
pub(super) const VERSION: &str = "2";

/// Rows of a group, and of the pages of its columns: what is kept in memory before it is written. Bytes of equal
/// weight of so many 64-bit values are a block of zstd, which has codes of its own.
pub(super) const ROW_GROUP_IOS: usize = 1 << 17;

pub(super) const SCHEMA: &str = "message io {
  required int64 seq (INTEGER(64, false));
  required int64 t_ns (INTEGER(64, true));
  optional int64 latency_ns (INTEGER(64, true));
  required binary operation (STRING);
  required int64 offset_bytes (INTEGER(64, false));
  required int64 length_bytes (INTEGER(64, false));
  required int32 flags (INTEGER(16, false));
  required int32 device (INTEGER(16, false));
  required int32 domain (INTEGER(16, false));
  optional int64 issuer (INTEGER(64, false));
  required int32 status (INTEGER(32, true));
  required int32 quality (INTEGER(8, false));
  required int64 source_position (INTEGER(64, false));
}";

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
    Issuer,
    Status,
    Quality,
    Source,
}

/// Of [`Status`]: 0, a negative errno, or this.
pub(super) const NO_COMPLETION: i64 = 1;

/// An I/O and its position in the trace.
pub(super) type Row = (u64, TracedIo);

/// How they are written. Times and positions grow: deltas. Of latencies and places the bytes of equal weight are
/// together, for the compressor to take what they have in common. The rest has few values: dictionaries.
pub(super) fn table() -> Table<'static, Row> {
    let words = TracedOperation::ALL
        .map(|operation| ByteArray::from(Bytes::from_static(operation.name().as_bytes())));
    let latency_ns =
        |io: &TracedIo| io.completed_ns.map(|completed_ns| completed_ns.wrapping_sub(io.issued_ns));
    let status = |io: &TracedIo| match io.status {
        Status::Done => 0,
        Status::Failed(errno) => -i32::from(errno),
        Status::NoCompletionSeen => NO_COMPLETION as i32,
    };
    let columns = vec![
        required::<Row, Int64Type>(|(number, _)| number.cast_signed()).encoded(DELTA_BINARY_PACKED),
        required::<Row, Int64Type>(|(_, io)| io.issued_ns).encoded(DELTA_BINARY_PACKED),
        optional::<Row, Int64Type>(move |(_, io)| latency_ns(io)).encoded(BYTE_STREAM_SPLIT),
        required::<Row, ByteArrayType>(move |(_, io)| words[io.operation as usize].clone()),
        required::<Row, Int64Type>(|(_, io)| io.offset_bytes.cast_signed()).encoded(BYTE_STREAM_SPLIT),
        required::<Row, Int64Type>(|(_, io)| io.length_bytes.cast_signed()),
        required::<Row, Int32Type>(|(_, io)| i32::from(io.flags.0)),
        required::<Row, Int32Type>(|(_, io)| i32::from(io.device)),
        required::<Row, Int32Type>(|(_, io)| i32::from(io.domain)),
        optional::<Row, Int64Type>(|(_, io)| packed(io)),
        required::<Row, Int32Type>(move |(_, io)| status(io)),
        required::<Row, Int32Type>(|(_, io)| i32::from(io.quality.0)),
        required::<Row, Int64Type>(|(_, io)| io.source_position.cast_signed()).encoded(DELTA_BINARY_PACKED),
    ];
    let zstd = ZstdLevel::try_new(1).expect("a level of zstd");
    let pages = properties()
        .set_compression(Compression::ZSTD(zstd))
        .set_data_page_row_count_limit(ROW_GROUP_IOS)
        .set_max_row_group_row_count(None);
    Table::new(SCHEMA, pages, columns)
}
