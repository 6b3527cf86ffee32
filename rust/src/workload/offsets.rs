//! Where the next access goes.

use super::random::Uniform;
use super::stimulus::Stimulus;

/// I/Os of this size and more are aligned to it, smaller ones to their sector: drives map pages of
/// 4 KiB, and an access that straddles two of them costs two.
const PAGE_BYTES: u32 = 4096;

/// Uniform over every aligned place of the range at which a whole block fits.
#[derive(Clone, Copy, Debug)]
pub(super) struct RandomOffsets {
    first: u64,
    alignment: u64,
    places: u64,
}

impl RandomOffsets {
    pub(super) fn new(stimulus: &Stimulus, sector_bytes: u32) -> Self {
        let block = stimulus.block_size_bytes;
        let alignment = u64::from(if block >= PAGE_BYTES { PAGE_BYTES } else { sector_bytes });
        let first = stimulus.range_start_bytes.next_multiple_of(alignment);
        let last = stimulus.range_end_bytes.saturating_sub(u64::from(block));
        // A range that is too short for an aligned block still gets its first sector's place.
        let places = last.checked_sub(first).map_or(1, |span| span / alignment + 1);
        let first = if last < first { stimulus.range_start_bytes } else { first };
        Self { first, alignment, places }
    }

    #[inline]
    pub(super) fn next(&self, random: &mut Uniform) -> u64 {
        self.first + random.below(self.places) * self.alignment
    }
}

/// One thread's part of a range and its place in it. The parts of all threads tile the range, so that
/// a pass touches every LBA exactly once, whatever the block size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequentialPart {
    start: u64,
    end: u64,
    next: u64,
}

impl SequentialPart {
    pub(super) fn new(stimulus: &Stimulus, thread: u32) -> Self {
        let (start, end) = (stimulus.range_start_bytes, stimulus.range_end_bytes);
        let block = u64::from(stimulus.block_size_bytes);
        let blocks = (end - start).div_ceil(block);
        let edge = |thread: u32| {
            let block_index = u128::from(blocks) * u128::from(thread) / u128::from(stimulus.tc);
            let block_index = u64::try_from(block_index).expect("no more than the number of blocks");
            (start + block_index * block).min(end)
        };
        let start = edge(thread);
        Self { start, end: edge(thread + 1), next: start }
    }

    /// Take up where an earlier step on the same part stopped.
    pub(super) fn resume(&mut self, earlier: Self) {
        if (self.start, self.end) == (earlier.start, earlier.end) {
            self.next = earlier.next;
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Offset and length of the next access; the last one of a pass is cut to the end of the part.
    #[inline]
    pub(super) fn next(&mut self, block_size_bytes: u32) -> (u64, u32) {
        let offset = self.next;
        let left = self.end - offset;
        let length = u32::try_from(left).map_or(block_size_bytes, |left| left.min(block_size_bytes));
        self.next = if u64::from(length) == left { self.start } else { offset + u64::from(length) };
        (offset, length)
    }
}
