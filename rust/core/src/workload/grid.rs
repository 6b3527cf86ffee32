//! The places of a region at which a transfer may begin.

use std::ops::Range;

use super::stimulus::Stimulus;

/// I/Os of this size and more are aligned to it, smaller ones to their sector: drives map pages of
/// 4 KiB, and an access that straddles two of them costs two.
const PAGE_BYTES: u64 = 4096;

/// The aligned places of a region at which a whole transfer of one size fits; at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    first: u64,
    distance: u64,
    places: u64,
}

impl Grid {
    /// The places of a region; none if no aligned transfer of `block` bytes fits.
    pub(super) fn new(region: &Range<u64>, block: u32, alignment: u64) -> Option<Self> {
        let first = region.start.checked_next_multiple_of(alignment)?;
        let last = region.end.checked_sub(u64::from(block))?;
        let span = last.checked_sub(first)?;
        Some(Self { first, distance: alignment, places: span / alignment + 1 })
    }

    /// The same grid with this distance, a multiple of the alignment, from place to place.
    pub(super) fn spaced(self, distance: u64) -> Self {
        let span = (self.places - 1) * self.distance;
        Self { distance, places: span / distance + 1, ..self }
    }

    /// Number of places.
    #[inline]
    pub(super) fn places(&self) -> u64 {
        self.places
    }

    /// The offset of a place, counted from 0.
    #[inline]
    pub(super) fn offset_of(&self, place: u64) -> u64 {
        self.first + place * self.distance
    }
}

impl Stimulus {
    /// The active range.
    pub(super) fn range(&self) -> Range<u64> {
        self.range_start_bytes..self.range_end_bytes
    }

    /// What offsets of random transfers of this size are multiples of.
    pub fn alignment_of(&self, block: u32, sector_bytes: u32) -> u64 {
        let sector = u64::from(sector_bytes);
        match self.alignment_bytes {
            Some(alignment) => u64::from(alignment),
            None if u64::from(block) >= PAGE_BYTES => PAGE_BYTES.next_multiple_of(sector),
            None => sector,
        }
    }
}
