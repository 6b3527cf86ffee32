//! Pages of which the host wrote a part only: the rest has to be read, unless following writes bring it.

use crate::ftl::Cells;

/// Pages are what the map knows.
pub(super) const PAGE_SHIFT: u32 = 12;
pub(super) const PAGE_BYTES: u32 = 1 << PAGE_SHIFT;
/// Pages that are kept open for more.
const OPEN: usize = 16;

/// Where the old content of a page lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Old {
    pub(super) die: u32,
    pub(super) cells: Cells,
}

/// A page with a part.
#[derive(Clone, Copy, Debug)]
struct Open {
    lpn: u32,
    from: u32,
    to: u32,
    old: Option<Old>,
}

/// What becomes of a part that the host wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// It joins others of its page.
    Joins,
    /// It is the first of its page.
    Begins,
}

/// The open pages. The oldest makes room for a new one.
#[derive(Clone, Debug)]
pub(super) struct PartialPages {
    open: Vec<Open>,
    oldest: usize,
}

impl PartialPages {
    pub(super) fn new() -> Self {
        Self { open: Vec::with_capacity(OPEN), oldest: 0 }
    }

    /// Bytes `from..to` of a page are written. A page is complete when its parts followed each other from
    /// its first byte to its last one; then it needs no reading.
    pub(super) fn write(&mut self, lpn: u32, from: u32, to: u32) -> Part {
        let Some(index) = self.open.iter().position(|open| open.lpn == lpn) else { return Part::Begins };
        let open = &mut self.open[index];
        if open.to == from {
            open.to = to;
        }
        if (open.from, open.to) == (0, PAGE_BYTES) {
            self.forget_at(index);
        }
        Part::Joins
    }

    /// Keep a page open whose first part is this. Gives the page that had to make room, which must be read
    /// now: where its old content lies, if it has any.
    pub(super) fn begin(&mut self, lpn: u32, from: u32, to: u32, old: Option<Old>) -> Option<Option<Old>> {
        let open = Open { lpn, from, to, old };
        if self.open.len() < OPEN {
            self.open.push(open);
            return None;
        }
        self.oldest = (self.oldest + 1) % OPEN;
        Some(std::mem::replace(&mut self.open[self.oldest], open).old)
    }

    /// The whole page was written.
    #[inline]
    pub(super) fn forget(&mut self, lpn: u32) {
        if let Some(index) = self.open.iter().position(|open| open.lpn == lpn) {
            self.forget_at(index);
        }
    }

    fn forget_at(&mut self, index: usize) {
        self.open.swap_remove(index);
    }

    /// Close a page, if any is open; gives what must be read for it.
    pub(super) fn close_one(&mut self) -> Option<Option<Old>> {
        self.open.pop().map(|open| open.old)
    }

    /// Whether no page is open.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Option<Old> = Some(Old { die: 3, cells: Cells::Native });

    #[test]
    fn a_page_written_in_sequence_needs_no_reading() {
        let mut pages = PartialPages::new();
        assert_eq!(pages.write(7, 0, 512), Part::Begins);
        assert_eq!(pages.begin(7, 0, 512, OLD), None);
        for sector in 1..8 {
            assert_eq!(pages.write(7, sector * 512, (sector + 1) * 512), Part::Joins);
        }
        assert!(pages.is_empty());
    }

    #[test]
    fn pages_with_gaps_are_read_when_they_make_room_or_are_closed() {
        let mut pages = PartialPages::new();
        for lpn in 0..16 {
            assert_eq!(pages.begin(lpn, 512, 1024, OLD), None);
        }
        assert_eq!(pages.write(3, 2048, 4096), Part::Joins);
        assert_eq!(pages.begin(16, 0, 512, None), Some(OLD));
        assert_eq!(std::iter::from_fn(|| pages.close_one()).flatten().count(), 15);
    }

    #[test]
    fn a_whole_write_makes_parts_obsolete() {
        let mut pages = PartialPages::new();
        pages.begin(7, 512, 1024, OLD);
        pages.forget(8);
        pages.forget(7);
        assert!(pages.is_empty());
    }
}
