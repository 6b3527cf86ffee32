//! What became of a trace on its way into a schedule.

use std::collections::BTreeMap;

use openpts_core::histogram::LatencyHistogram;
use openpts_core::workload::ScheduleHeader;

use super::effects::Effects;

/// What the trace says of itself, over the I/Os that are replayed.
#[derive(Clone, Debug, Default)]
pub struct Original {
    /// Reads, from issue to completion.
    pub read_latencies: LatencyHistogram,
    /// Writes.
    pub write_latencies: LatencyHistogram,
    /// Bytes of both.
    pub transferred_bytes: u64,
    /// Time in which at least one of them was executing.
    pub busy_ns: u64,
    /// From the first issue to the last completion, or the last issue if there is none.
    pub span_ns: u64,
}

/// What became of a trace on its way into a schedule.
#[derive(Debug, Default)]
pub struct Made {
    /// That of the file.
    pub header: ScheduleHeader,
    /// I/Os of the trace, all of them.
    pub traced: u64,
    /// Those that are not replayed, by reason; they keep their time.
    pub skipped: BTreeMap<&'static str, u64>,
    /// What was done to others, by kind.
    pub changed: BTreeMap<&'static str, u64>,
    /// Bytes that whole sectors have more than the trace.
    pub rounding_bytes: u64,
    /// Bytes that were cut off at the target's end.
    pub clipped_bytes: u64,
    /// Idle times that were cut, and what was cut from them.
    pub cut_idles: u64,
    /// See above.
    pub cut_ns: u64,
    /// Places before the mapping.
    pub before: Effects,
    /// And after it.
    pub after: Effects,
    /// Ranges on the target that are read, or written: to be written first.
    pub read_ranges: Vec<(u64, u64)>,
    /// And all that are touched.
    pub touched_ranges: Vec<(u64, u64)>,
    /// What the trace says of itself.
    pub original: Original,
}
