//! How pages are numbered: superblocks over all dies, groups of program units, chunks on dies.

use std::ops::Range;

use super::divisor::Divisor;
use super::nand::Cells;
use crate::preset::{Geometry, PageMapped, PresetError};

/// Granules of a page of 4 KiB where data are reduced: 512 bytes each.
const GRANULE_SHIFT_REDUCED: u32 = 3;

/// How a superblock is filled with one kind of cells. Slots of a superblock are counted from its first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filling {
    /// Slots that a superblock has.
    pub(super) slots: u32,
    /// Slots of a group.
    pub(super) group_slots: u32,
    group: Divisor,
}

/// How the flash is laid out. A slot is the place of a granule: a page of 4 KiB, or 512 bytes of it where
/// data are reduced, so that a page lies where its first granule does.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Pages that the host sees.
    pub user_pages: u32,
    /// Dies.
    pub dies: u32,
    /// Dies that are programmed together.
    pub dies_per_group: u32,
    /// Superblocks.
    pub superblocks: u32,
    /// Rows of program units on each die of a superblock.
    pub rows: u32,
    /// Pages of a superblock in native cells.
    pub superblock_pages: u32,
    /// Pages of a superblock in single-bit cells; 0 if they are never used so.
    pub slc_superblock_pages: u32,
    /// Real physical pages over user pages.
    pub physical_per_user: f64,
    /// A granule is `1 >> granule_shift` of a page.
    pub(super) granule_shift: u32,
    /// From the first slot of a superblock to that of the next: its slots, up to a whole word of the bitmap.
    pub(super) stride: u32,
    pub(super) native: Filling,
    pub(super) slc: Filling,
    /// Slots of a chunk.
    pub(super) chunk_slots: u32,
    per_stride: Divisor,
    per_chunk: Divisor,
    per_group: Divisor,
    groups_of_dies: Divisor,
}

fn refuse(why: impl Into<String>) -> PresetError {
    PresetError(why.into())
}

impl Layout {
    /// The layout of so many user pages under a preset.
    ///
    /// # Errors
    /// If the geometry does not go together, or 32 bits can't number the slots.
    pub(super) fn new(model: &PageMapped, user_pages: u32) -> Result<Self, PresetError> {
        let geometry = &model.geometry;
        check(geometry)?;
        let physical = f64::from(user_pages) * model.mapping.physical_per_user;
        let (rows, superblocks) = rows_and_superblocks(geometry, physical);
        let superblock_pages = rows * row_pages(geometry);
        let granule_shift = if model.reduction.is_some() { GRANULE_SHIFT_REDUCED } else { 0 };
        let stride = (superblock_pages << granule_shift).next_multiple_of(64);
        if superblock_pages << granule_shift >= 1 << 30 || stride * superblocks >= u64::from(u32::MAX) {
            return Err(refuse(format!("{user_pages} user pages are more than 32 bits can map")));
        }
        let superblock_pages = superblock_pages as u32;
        let slc = model.slc.map_or(Ok(Filling::of(0, 1, 0)), |slc| {
            slc_filling(geometry, slc.program_unit_pages, superblock_pages / slc.bits.max(1), granule_shift)
        })?;
        let group_pages = geometry.dies_per_group * geometry.program_unit_pages;
        Ok(Self {
            user_pages,
            dies: geometry.dies,
            dies_per_group: geometry.dies_per_group,
            superblocks: superblocks as u32,
            rows: rows as u32,
            superblock_pages,
            slc_superblock_pages: slc.slots >> granule_shift,
            physical_per_user: superblocks as f64 * f64::from(superblock_pages) / f64::from(user_pages),
            granule_shift,
            stride: stride as u32,
            native: Filling::of(superblock_pages, group_pages, granule_shift),
            slc,
            chunk_slots: geometry.chunk_pages << granule_shift,
            per_stride: Divisor::new(stride as u32),
            per_chunk: Divisor::new(geometry.chunk_pages << granule_shift),
            per_group: Divisor::new(geometry.dies_per_group),
            groups_of_dies: Divisor::new(geometry.dies / geometry.dies_per_group),
        })
    }

    /// The way in which superblocks of such cells are filled.
    #[inline]
    pub(super) const fn filling(&self, cells: Cells) -> &Filling {
        match cells {
            Cells::Native => &self.native,
            Cells::Slc => &self.slc,
        }
    }

    /// The superblock of a slot.
    #[inline]
    pub(super) const fn superblock_of(&self, slot: u32) -> u32 {
        self.per_stride.quotient(slot)
    }

    /// The first slot of a superblock.
    #[inline]
    pub(super) const fn first_slot(&self, superblock: u32) -> u32 {
        superblock * self.stride
    }

    /// The die of a slot, counted from the first slot of its superblock.
    #[inline]
    pub(super) const fn die_of(&self, offset: u32, cells: Cells) -> u32 {
        self.row_from(self.chunk_of(offset), cells).0
    }

    /// The chunk of a slot, counted from the first slot of its superblock. Groups consist of whole chunks.
    #[inline]
    pub(super) const fn chunk_of(&self, offset: u32) -> u32 {
        self.per_chunk.quotient(offset)
    }

    /// The die of a chunk, and the chunks from it on that lie on the dies behind it, each on the next.
    #[inline]
    pub(super) const fn row_from(&self, chunk: u32, cells: Cells) -> (u32, u32) {
        let group = self.filling(cells).group.quotient(chunk * self.chunk_slots);
        // A group has whole rows, so that they can be counted from the start of the superblock.
        let in_row = chunk - self.per_group.quotient(chunk) * self.dies_per_group;
        (self.first_die(group) + in_row, self.dies_per_group - in_row)
    }

    /// The dies of the group that a slot belongs to.
    pub(super) const fn dies_of_group(&self, offset: u32, cells: Cells) -> Range<u32> {
        let first = self.first_die(self.filling(cells).group.quotient(offset));
        first..first + self.dies_per_group
    }

    const fn first_die(&self, group: u32) -> u32 {
        let round = self.groups_of_dies.quotient(group) * (self.dies / self.dies_per_group);
        (group - round) * self.dies_per_group
    }
}

/// Pages of a row of program units over all dies.
pub(crate) fn row_pages(geometry: &Geometry) -> u64 {
    u64::from(geometry.dies) * u64::from(geometry.program_unit_pages)
}

/// Rows of a superblock and superblocks of so many physical pages: about as many as are wanted.
pub(crate) fn rows_and_superblocks(geometry: &Geometry, physical_pages: f64) -> (u64, u64) {
    let row_pages = row_pages(geometry);
    let rows = (physical_pages / row_pages as f64 / f64::from(geometry.superblocks)).round().max(1.0) as u64;
    (rows, (physical_pages / (rows * row_pages) as f64).round() as u64)
}

impl Filling {
    fn of(pages: u32, group_pages: u32, granule_shift: u32) -> Self {
        let group_slots = group_pages << granule_shift;
        Self { slots: pages << granule_shift, group_slots, group: Divisor::new(group_slots) }
    }
}

fn check(geometry: &Geometry) -> Result<(), PresetError> {
    let Geometry { dies, dies_per_group, chunk_pages, program_unit_pages, .. } = *geometry;
    if [dies, dies_per_group, chunk_pages, program_unit_pages, geometry.superblocks].contains(&0) {
        return Err(refuse("page_mapped.geometry: everything must be at least 1"));
    }
    if !dies.is_multiple_of(dies_per_group) {
        return Err(refuse(format!("dies_per_group {dies_per_group} must divide dies {dies}")));
    }
    if !program_unit_pages.is_multiple_of(chunk_pages) {
        let why = format!("chunk_pages {chunk_pages} must divide program_unit_pages {program_unit_pages}");
        return Err(refuse(why));
    }
    Ok(())
}

/// Single-bit cells: whole groups of their own program units, as many as fit.
fn slc_filling(
    geometry: &Geometry,
    program_unit_pages: u32,
    fitting_pages: u32,
    granule_shift: u32,
) -> Result<Filling, PresetError> {
    let group_pages = geometry.dies_per_group * program_unit_pages;
    if group_pages == 0 || !program_unit_pages.is_multiple_of(geometry.chunk_pages) {
        return Err(refuse("slc.program_unit_pages must be a multiple of geometry.chunk_pages"));
    }
    let pages = fitting_pages / group_pages * group_pages;
    if pages == 0 {
        return Err(refuse("slc: a superblock is smaller than a group of program units"));
    }
    Ok(Filling::of(pages, group_pages, granule_shift))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::testing::model;

    #[test]
    fn chunks_go_round_the_dies_of_a_group_and_groups_round_the_drive() {
        let mut model = model(1.28, 100);
        model.geometry =
            Geometry { dies: 4, dies_per_group: 2, chunk_pages: 2, program_unit_pages: 4, ..model.geometry };
        let layout = Layout::new(&model, 10_000).unwrap();
        let dies: Vec<u32> = (0..24).map(|slot| layout.die_of(slot, Cells::Native)).collect();
        assert_eq!(dies, [0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3, 0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(layout.dies_of_group(9, Cells::Native), 2..4);
        assert!(layout.superblock_pages.is_multiple_of(16));
    }

    #[test]
    fn a_superblock_has_the_rows_that_give_about_the_wanted_number() {
        for user_pages in [100_000, 1_000_003, 4_194_304, 268_435_456] {
            let layout = Layout::new(&model(1.07, 1000), user_pages).unwrap();
            assert!((layout.physical_per_user / 1.07 - 1.0).abs() < 0.002, "{layout:?}");
            assert!((800..1300).contains(&layout.superblocks), "{layout:?}");
            let last = layout.first_slot(layout.superblocks - 1) + layout.superblock_pages - 1;
            assert_eq!(layout.superblock_of(last), layout.superblocks - 1);
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let mut odd = model(1.28, 100);
        odd.geometry.dies_per_group = 3;
        assert!(Layout::new(&odd, 10_000).unwrap_err().0.contains("dies_per_group"));
        assert!(Layout::new(&model(1.28, 100), u32::MAX - 1).unwrap_err().0.contains("32 bits"));
    }
}
