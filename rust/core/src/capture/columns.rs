//! A chunk turned from rows to columns.

use super::record::{Chunk, Record};
use crate::workload::Operation;
use bytes::Bytes;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};

/// The columns of one chunk; their memory is used again for the next one.
pub(super) struct Columns {
    pub(super) step: Vec<i32>,
    pub(super) thread: Vec<i32>,
    pub(super) submitted_ns: Vec<i64>,
    pub(super) latency_ns: Vec<i64>,
    pub(super) lba: Vec<i64>,
    pub(super) length_bytes: Vec<i32>,
    pub(super) operation: Vec<ByteArray>,
    pub(super) errno: Vec<i32>,
    names: [ByteArray; Operation::ALL.len()],
    lba_bytes: u64,
}

impl Columns {
    pub(super) fn new(lba_bytes: u32) -> Self {
        Self {
            step: Vec::new(),
            thread: Vec::new(),
            submitted_ns: Vec::new(),
            latency_ns: Vec::new(),
            lba: Vec::new(),
            length_bytes: Vec::new(),
            operation: Vec::new(),
            errno: Vec::new(),
            names: Operation::ALL
                .map(|operation| ByteArray::from(Bytes::from_static(operation.name().as_bytes()))),
            lba_bytes: u64::from(lba_bytes),
        }
    }

    /// Sort the chunk by submission time and take it over. I/Os are recorded as they complete; in the order
    /// of submission the times differ by a fraction of the latency, which saves a byte for each.
    ///
    /// # Errors
    /// If an offset is no multiple of the LBA's unit and would not come back as it was.
    pub(super) fn fill(&mut self, chunk: &mut Chunk) -> Result<()> {
        chunk.records.sort_unstable_by_key(|record| record.submitted_ns);
        let records = &chunk.records;
        constant(&mut self.step, chunk.step as i32, records.len());
        constant(&mut self.thread, i32::from(chunk.thread), records.len());
        column(&mut self.submitted_ns, records, |record| record.submitted_ns as i64);
        column(&mut self.latency_ns, records, |record| record.latency_ns as i64);
        let lba_bytes = self.lba_bytes;
        let mut remainders = 0;
        column(&mut self.lba, records, |record| {
            remainders |= record.offset_bytes % lba_bytes;
            (record.offset_bytes / lba_bytes) as i64
        });
        column(&mut self.length_bytes, records, |record| record.length_bytes as i32);
        let names = &self.names;
        column(&mut self.operation, records, |record| names[record.operation_number()].clone());
        column(&mut self.errno, records, Record::result);
        if remainders == 0 {
            return Ok(());
        }
        Err(ParquetError::General(format!("an I/O's offset is not a multiple of {lba_bytes} bytes")))
    }
}

fn constant(values: &mut Vec<i32>, value: i32, rows: usize) {
    values.clear();
    values.resize(rows, value);
}

fn column<T>(values: &mut Vec<T>, records: &[Record], of: impl FnMut(&Record) -> T) {
    values.clear();
    values.extend(records.iter().map(of));
}
