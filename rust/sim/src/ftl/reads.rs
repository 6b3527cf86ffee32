//! Array reads of moves: which chunks of a victim hold something, row by row over the dies.

use super::layout::Layout;
use super::nand::Cells;

/// Chunks that lie next to each other on as many dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) first_die: u32,
    /// A bit for each die from the first: its chunk is read.
    pub(super) dies: u64,
}

impl Layout {
    /// The chunks that begin in or reach into a word of the bitmap and hold something of it, in their order.
    /// `offset` is the word's first slot, counted from the first of the superblock.
    #[inline]
    pub(super) fn read_rows(&self, offset: u32, valid: u64, cells: Cells, mut tell: impl FnMut(Row)) {
        let mut chunk = self.chunk_of(offset);
        let mut left = if self.chunk_slots == 1 { valid } else { self.chunks_in(offset, valid) };
        while left != 0 {
            let skipped = left.trailing_zeros();
            (chunk, left) = (chunk + skipped, left >> skipped);
            let (first_die, length) = self.row_from(chunk, cells);
            let dies = left & u64::MAX.checked_shr(64_u32.saturating_sub(length)).unwrap_or(0);
            tell(Row { first_die, dies });
            (chunk, left) = (chunk + length, left.checked_shr(length).unwrap_or(0));
        }
    }

    /// A bit for each chunk, from the one at `offset`, that holds something of a word of the bitmap.
    #[inline]
    fn chunks_in(&self, offset: u32, valid: u64) -> u64 {
        let first = self.chunk_of(offset);
        let (mut left, mut chunks) = (valid, 0);
        while left != 0 {
            let chunk = self.chunk_of(offset + left.trailing_zeros());
            chunks |= 1 << (chunk - first);
            let behind = (chunk + 1) * self.chunk_slots - offset;
            left = if behind < u64::BITS { left >> behind << behind } else { 0 };
        }
        chunks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::testing::model;
    use crate::preset::Geometry;
    use proptest::prelude::*;

    /// Dies that read, found slot by slot.
    fn plainly(layout: &Layout, offset: u32, valid: u64) -> Vec<u32> {
        let slots = (0..64).filter(|bit| valid >> bit & 1 == 1).map(|bit| offset + bit);
        let mut chunks: Vec<u32> = slots.map(|slot| slot / layout.chunk_slots).collect();
        chunks.dedup();
        chunks.iter().map(|chunk| layout.die_of(chunk * layout.chunk_slots, Cells::Native)).collect()
    }

    proptest! {
        #[test]
        fn each_chunk_that_holds_something_is_read_once_on_its_die(
            (chunk_pages, chunks, dies_per_group, groups) in (1..20_u32, 1..5_u32, 1..140_u32, 1..4_u32),
            words in prop::collection::vec(prop_oneof![any::<u64>(), Just(u64::MAX), Just(0)], 1..6),
            sparse: u64,
        ) {
            let mut model = model(1.28, 20);
            model.geometry = Geometry {
                dies: dies_per_group * groups,
                dies_per_group,
                chunk_pages,
                program_unit_pages: chunk_pages * chunks,
                ..model.geometry
            };
            let layout = Layout::new(&model, 1_000_000).unwrap();
            for (number, valid) in (0..).zip(words.iter().flat_map(|word| [*word, word & sparse])) {
                let mut dies = Vec::new();
                layout.read_rows(number * 64, valid, Cells::Native, |row| {
                    assert!(row.dies != 0);
                    dies.extend((0..64).filter(|bit| row.dies >> bit & 1 == 1).map(|bit| row.first_die + bit));
                });
                prop_assert_eq!(dies, plainly(&layout, number * 64, valid));
            }
        }
    }
}
