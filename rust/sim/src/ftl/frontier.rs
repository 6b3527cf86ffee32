//! Where the next page goes.

use super::layout::{Filling, Layout};
use super::nand::{Cells, Program};

/// No superblock, no slot.
pub(super) const NONE: u32 = u32::MAX;

/// A superblock that is being written, from its first slot to its last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frontier {
    /// Which; [`NONE`] if none is open.
    pub(super) superblock: u32,
    pub(super) cells: Cells,
    /// The slot that is written next.
    pub(super) next: u32,
    /// The first slot of the open group.
    group_start: u32,
    /// The first slot behind the open group.
    pub(super) group_end: u32,
    /// The first slot behind the superblock.
    pub(super) end: u32,
    /// Slots of the open group that moved pages take; the host's take the rest.
    pub(super) moved: u32,
}

/// What a group was filled with, in slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filled {
    pub(super) host: u32,
    pub(super) moved: u32,
    pub(super) padded: u32,
}

impl Frontier {
    pub(super) const fn closed(cells: Cells) -> Self {
        Self { superblock: NONE, cells, next: 0, group_start: 0, group_end: 0, end: 0, moved: 0 }
    }

    pub(super) fn open(superblock: u32, cells: Cells, layout: &Layout) -> Self {
        let first = layout.first_slot(superblock);
        let Filling { slots, group_slots, .. } = *layout.filling(cells);
        Self {
            superblock,
            cells,
            next: first,
            group_start: first,
            group_end: first + group_slots,
            end: first + slots,
            moved: 0,
        }
    }

    pub(super) const fn is_open(&self) -> bool {
        self.superblock != NONE
    }

    /// Slots that are not written yet.
    pub(super) const fn room(&self) -> u32 {
        self.end - self.next
    }

    /// Whether a group is open that holds something.
    pub(super) const fn is_partial(&self) -> bool {
        self.next > self.group_start
    }

    /// Whether a slot is in the open group, so that it is not programmed yet.
    pub(super) const fn buffers(&self, slot: u32) -> bool {
        slot >= self.group_start && slot < self.next
    }

    /// Slots that the host's pages took in the open group so far.
    #[cfg(any(test, debug_assertions))]
    pub(super) const fn host(&self) -> u32 {
        self.next - self.group_start - self.moved
    }

    /// The group is full, or `padded` of its last slots stay empty: begin the next one. The last page may
    /// reach into it; `moved` says whose it is.
    pub(super) fn next_group(&mut self, layout: &Layout, padded: u32, moved: bool) -> (Filled, Program) {
        let over = self.next - self.group_end;
        let kept = if moved { over } else { 0 };
        let taken = self.moved - kept;
        let filled =
            Filled { host: self.group_end - self.group_start - padded - taken, moved: taken, padded };
        let offset = self.group_start - layout.first_slot(self.superblock);
        let program = Program {
            superblock: self.superblock,
            dies: layout.dies_of_group(offset, self.cells),
            cells: self.cells,
            has_host: filled.host > 0,
            host_pages: filled.host >> layout.granule_shift,
            moved_pages: filled.moved >> layout.granule_shift,
            padded_pages: filled.padded >> layout.granule_shift,
        };
        self.group_start = self.group_end;
        self.group_end += layout.filling(self.cells).group_slots;
        self.moved = kept;
        (filled, program)
    }
}
