//! What is read must have been written: a schedule that writes it.

use std::fs::File;
use std::io;

use openpts_core::workload::{
    MOST_PARENTS, Operation, ScheduleHeader, ScheduleWriter, ScheduledIo, UNKNOWN_LATENCY,
};

/// A schedule that writes these ranges in order, all of it due at once.
///
/// # Errors
/// If it can't be written.
pub fn filling_schedule(
    ranges: &[(u64, u64)],
    sector_bytes: u32,
    block_bytes: u32,
    out: File,
) -> io::Result<ScheduleHeader> {
    let mut writer = ScheduleWriter::new(out, sector_bytes, false, (1, 1))?;
    for (start, end) in ranges {
        let mut from = *start;
        while from < *end {
            let length_bytes = u32::try_from(end - from).map_or(block_bytes, |left| left.min(block_bytes));
            writer.push(&ScheduledIo {
                due_ns: 0,
                offset_bytes: from,
                length_bytes,
                operation: Operation::Write,
                fua: false,
                after_flush: false,
                latency_ns: UNKNOWN_LATENCY,
                in_flight: 0,
                slack_ns: 0,
                parents: [0; MOST_PARENTS],
            })?;
            from += u64::from(length_bytes);
        }
    }
    writer.finish()
}
