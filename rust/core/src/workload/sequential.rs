//! Where a sequential access goes.

use serde::{Deserialize, Serialize};

use super::share::proportion;
use super::stimulus::Stimulus;

/// One thread's part of a range and its place in it. The parts of all threads tile the range, so that
/// a pass without a stride touches every LBA exactly once, whatever the block sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SequentialPart {
    start: u64,
    end: u64,
    /// What parts are made of: the stride, or the largest block.
    unit: u64,
    stride: Option<u64>,
    next: u64,
}

impl SequentialPart {
    /// The part of one of the stimulus's threads; it is not empty, as the range is checked to hold a unit
    /// for each.
    pub(super) fn new(stimulus: &Stimulus, thread: u32) -> Self {
        let (start, end) = (stimulus.range_start_bytes, stimulus.range_end_bytes);
        let unit = stimulus.sequential_unit_bytes();
        let units = (end - start).div_ceil(unit);
        let edge = |thread: u32| {
            let index = proportion(units, u64::from(thread), u64::from(stimulus.tc));
            index.checked_mul(unit).map_or(end, |bytes| start.saturating_add(bytes).min(end))
        };
        let start = edge(thread);
        Self { start, end: edge(thread + 1), unit, stride: stimulus.stride_bytes, next: start }
    }

    /// Take up where an earlier step on the same part stopped; with blocks of another size, where the
    /// next of them would begin.
    pub(super) fn resume(&mut self, earlier: Self) {
        if (self.start, self.end) != (earlier.start, earlier.end) {
            return;
        }
        let passed = earlier.next - self.start;
        let passed = if self.unit == earlier.unit { passed } else { passed.next_multiple_of(self.unit) };
        self.next = if passed < self.end - self.start { self.start + passed } else { self.start };
    }

    /// Whether its place is within the part.
    pub(super) fn is_sound(&self) -> bool {
        (self.start..self.end).contains(&self.next)
    }

    /// First byte of the part.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Offset and length of the next access; the last one of a pass is cut to the end of the part.
    #[inline]
    pub(super) fn next(&mut self, block_size_bytes: u32) -> (u64, u32) {
        let offset = self.next;
        let left = self.end - offset;
        let length = u32::try_from(left).map_or(block_size_bytes, |left| left.min(block_size_bytes));
        let distance = self.stride.unwrap_or(u64::from(length));
        self.next = if distance >= left { self.start } else { offset + distance };
        (offset, length)
    }
}

impl Stimulus {
    /// What threads' parts of the range are made of, so that none begins inside of an access.
    pub(super) fn sequential_unit_bytes(&self) -> u64 {
        self.stride_bytes.unwrap_or(u64::from(self.largest_block_bytes()))
    }
}
