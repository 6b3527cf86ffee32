//! Units of the map, a page or several, of which the host wrote a part only: the rest has to be read, and
//! written again if it has whole pages, unless following writes bring it.

use crate::ftl::Cells;

/// Pages are what the map knows.
pub(super) const PAGE_SHIFT: u32 = 12;
pub(super) const PAGE_BYTES: u32 = 1 << PAGE_SHIFT;
/// Units that are kept open for more.
const OPEN: usize = 16;

/// Where the old content of a page lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Old {
    pub(super) die: u32,
    pub(super) cells: Cells,
}

/// A unit of which the host wrote a part: from a byte of it on, to before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) unit: u32,
    pub(super) from: u32,
    pub(super) to: u32,
    /// Of the page that was written first, if the host wrote no more than a part of it.
    pub(super) old: Option<Old>,
}

/// What becomes of a part that the host wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// It joins others of its unit.
    Joins,
    /// It is the first of its unit.
    Begins,
}

/// The open units. The oldest makes room for a new one.
#[derive(Clone, Debug)]
pub(super) struct PartialPages {
    open: Vec<Open>,
    oldest: usize,
    unit_pages: u32,
}

impl PartialPages {
    pub(super) fn new(unit_pages: u32) -> Self {
        Self { open: Vec::with_capacity(OPEN), oldest: 0, unit_pages }
    }

    /// Pages of a unit.
    pub(super) const fn unit_pages(&self) -> u32 {
        self.unit_pages
    }

    /// Bytes of a unit.
    pub(super) const fn unit_bytes(&self) -> u32 {
        self.unit_pages * PAGE_BYTES
    }

    /// Bytes `from..to` of a unit are written. A unit is complete when its parts followed each other from
    /// its first byte to its last one; then it needs no reading.
    pub(super) fn write(&mut self, unit: u32, from: u32, to: u32) -> Part {
        let unit_bytes = self.unit_bytes();
        let Some(index) = self.open.iter().position(|open| open.unit == unit) else { return Part::Begins };
        let open = &mut self.open[index];
        if open.to == from {
            open.to = to;
        }
        if (open.from, open.to) == (0, unit_bytes) {
            self.forget_at(index);
        }
        Part::Joins
    }

    /// Keep a unit open whose first part is this. Gives the one that had to make room, which must be
    /// completed now.
    pub(super) fn begin(&mut self, open: Open) -> Option<Open> {
        if self.open.len() < OPEN {
            self.open.push(open);
            return None;
        }
        self.oldest = (self.oldest + 1) % OPEN;
        Some(std::mem::replace(&mut self.open[self.oldest], open))
    }

    /// The whole unit of a page was written, or the page has no content any more.
    #[inline]
    pub(super) fn forget(&mut self, lpn: u32) {
        if let Some(index) = self.open.iter().position(|open| open.unit == lpn / self.unit_pages) {
            self.forget_at(index);
        }
    }

    fn forget_at(&mut self, index: usize) {
        self.open.swap_remove(index);
    }

    /// Close a unit, if any is open, which must be completed.
    pub(super) fn close_one(&mut self) -> Option<Open> {
        self.open.pop()
    }

    /// Whether no unit is open.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Option<Old> = Some(Old { die: 3, cells: Cells::Native });

    fn open(unit: u32, from: u32, to: u32) -> Open {
        Open { unit, from, to, old: OLD }
    }

    #[test]
    fn a_unit_written_in_sequence_needs_no_reading() {
        for unit_pages in [1, 4] {
            let mut pages = PartialPages::new(unit_pages);
            assert_eq!(pages.write(7, 0, 512), Part::Begins);
            assert_eq!(pages.begin(open(7, 0, 512)), None);
            for sector in 1..8 * unit_pages {
                assert_eq!(pages.write(7, sector * 512, (sector + 1) * 512), Part::Joins);
            }
            assert!(pages.is_empty());
        }
    }

    #[test]
    fn pages_with_gaps_are_completed_when_they_make_room_or_are_closed() {
        let mut pages = PartialPages::new(1);
        for lpn in 0..16 {
            assert_eq!(pages.begin(open(lpn, 512, 1024)), None);
        }
        assert_eq!(pages.write(3, 2048, 4096), Part::Joins);
        assert_eq!(pages.begin(open(16, 0, 512)), Some(open(1, 512, 1024)));
        assert_eq!(std::iter::from_fn(|| pages.close_one()).count(), 16);
    }

    #[test]
    fn a_whole_write_makes_parts_obsolete() {
        let mut pages = PartialPages::new(4);
        pages.begin(open(7, 512, 1024));
        pages.forget(32);
        assert!(!pages.is_empty());
        pages.forget(31);
        assert!(pages.is_empty());
    }
}
