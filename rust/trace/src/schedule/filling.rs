//! What is read must have been written: a schedule that writes it.

use std::fs::File;
use std::io;

use openpts_core::workload::{Operation, ScheduleHeader, ScheduleWriter, ScheduledIo};

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
            writer.push(&ScheduledIo::new(0, Operation::Write, from, length_bytes))?;
            from += u64::from(length_bytes);
        }
    }
    writer.finish()
}
