//! What no I/O of any format may be.

use super::super::reader::TraceReader;
use super::super::tally::{DamageClass, Tally};
use super::super::traced_io::{TracedIo, TracedOperation};

/// Longest read or write that is not questioned.
const LONG_BYTES: u64 = 1 << 30;
/// No time of an I/O is further from its clock's 0: half of what ns can be.
const FURTHEST_NS: i64 = 1 << 62;

/// Take out of a batch what can't be right, and count it as damaged instead of accepted.
pub(in super::super) fn check(batch: &mut Vec<TracedIo>, reader: &dyn TraceReader, tally: &mut Tally) {
    let mut kept = 0;
    for index in 0..batch.len() {
        let mut io = batch[index];
        if io.completed_ns.is_some_and(|completed_ns| completed_ns < io.issued_ns) {
            io.completed_ns = None;
            tally.note("completed before they were issued");
        }
        if let Some(class) = damage(&io) {
            tally.accepted -= 1;
            tally.read -= 1;
            tally.damage(reader.current_file(), reader.place(io.source_position), class);
        } else if is_empty(&io) {
            tally.accepted -= 1;
            tally.read -= 1;
            tally.skip("no bytes long");
        } else {
            if io.length_bytes > LONG_BYTES && io.operation.transfers() {
                tally.note("reads and writes over 1 GiB");
            }
            batch[kept] = io;
            kept += 1;
        }
    }
    batch.truncate(kept);
}

fn damage(io: &TracedIo) -> Option<DamageClass> {
    let end_bytes = io.offset_bytes.checked_add(io.length_bytes);
    if end_bytes.is_none_or(|end_bytes| end_bytes > 1 << 63) {
        return Some("ends past 2^63 bytes");
    }
    if io.issued_ns.unsigned_abs() > FURTHEST_NS.unsigned_abs() {
        return Some("time out of range");
    }
    None
}

const fn is_empty(io: &TracedIo) -> bool {
    io.length_bytes == 0
        && !matches!(
            io.operation,
            TracedOperation::Flush | TracedOperation::Other | TracedOperation::ZoneReset
        )
}
