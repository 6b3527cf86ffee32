//! The tables with an entry for each page: the only large ones.

use openpts_core::machine::{Table, prefetch};

use super::frontier::NONE;

/// Where pages lie, and whose the slots are.
#[derive(Debug)]
pub(super) struct Map {
    /// Slot of each logical page.
    pub(super) slots: Table<u32>,
    /// Logical page of each slot; means something only where the slot is valid.
    pub(super) pages: Table<u32>,
    /// A bit for each slot: a page begins there that is still wanted.
    pub(super) valid: Table<u64>,
    /// With data reduction: granules of each logical page, two to a byte.
    sizes: Option<Table<u8>>,
}

impl Map {
    pub(super) fn new(user_pages: u32, slots: u32, reduced: bool) -> std::io::Result<Self> {
        let sizes = reduced.then(|| Table::zeros(user_pages.div_ceil(2) as usize));
        let mut map = Self {
            slots: Table::zeros(user_pages as usize)?,
            pages: Table::zeros(slots as usize)?,
            valid: Table::zeros(slots as usize / 64)?,
            sizes: sizes.transpose()?,
        };
        map.slots.fill(NONE);
        Ok(map)
    }

    /// Bytes of all tables.
    pub(super) fn bytes(&self) -> usize {
        4 * (self.slots.len() + self.pages.len())
            + 8 * self.valid.len()
            + self.sizes.as_ref().map_or(0, |sizes| sizes.len())
    }

    /// Granules of a page that is mapped.
    #[inline]
    pub(super) fn size_of(&self, page: u32) -> u32 {
        let sizes = self.sizes.as_ref().map(|sizes| sizes[page as usize / 2]);
        sizes.map_or(1, |pair| u32::from(pair >> (page % 2 * 4) & 15))
    }

    #[inline]
    pub(super) fn set_size(&mut self, page: u32, granules: u32) {
        if let Some(sizes) = &mut self.sizes {
            let (pair, shift) = (&mut sizes[page as usize / 2], page % 2 * 4);
            *pair = *pair & !(15 << shift) | (granules as u8) << shift;
        }
    }

    /// Put a page into a slot.
    #[inline]
    pub(super) fn put(&mut self, page: u32, slot: u32) {
        self.slots[page as usize] = slot;
        self.pages[slot as usize] = page;
        self.valid[slot as usize / 64] |= 1 << (slot % 64);
    }

    /// Put pages of a granule each into slots in a row.
    #[inline]
    pub(super) fn put_run(&mut self, pages: &[u32], first_slot: u32) {
        let first = first_slot as usize;
        self.pages[first..first + pages.len()].copy_from_slice(pages);
        for (slot, page) in (first_slot..).zip(pages) {
            self.slots[*page as usize] = slot;
        }
        set_bits(&mut self.valid, first, first + pages.len());
    }

    /// A slot's page is not wanted there any longer.
    #[inline]
    pub(super) fn invalidate(&mut self, slot: u32) {
        self.valid[slot as usize / 64] &= !(1 << (slot % 64));
    }

    /// Forget everything.
    pub(super) fn clear(&mut self) {
        self.slots.fill(NONE);
        self.valid.fill(0);
    }

    #[inline]
    pub(super) fn prefetch(&self, page: u32) {
        prefetch(&self.slots, page as usize);
        if let Some(sizes) = &self.sizes {
            prefetch(sizes, page as usize / 2);
        }
    }

    /// A word of the bitmap will be collected or filled soon: fetch whose its slots are.
    #[inline]
    pub(super) fn prefetch_pages(&self, word: usize) {
        for line in 0..4 {
            prefetch(&self.pages, word * 64 + line * 16);
        }
    }

    #[inline]
    pub(super) fn prefetch_place(&self, page: u32) {
        prefetch(&self.valid, self.slots[page as usize] as usize / 64);
    }
}

/// Set the bits from `first` to below `end`.
#[inline]
fn set_bits(words: &mut [u64], first: usize, end: usize) {
    let mut bit = first;
    while bit < end {
        let last = end.min((bit / 64 + 1) * 64);
        let ones = u64::MAX >> (64 - (last - bit));
        words[bit / 64] |= ones << (bit % 64);
        bit = last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_of_bits_are_those_set_one_by_one(first in 0..300_usize, length in 0..300_usize) {
            let (mut words, mut expected) = (vec![0; 10], vec![0_u64; 10]);
            set_bits(&mut words, first, first + length);
            (first..first + length).for_each(|bit| expected[bit / 64] |= 1 << (bit % 64));
            prop_assert_eq!(words, expected);
        }

        #[test]
        fn sizes_do_not_touch_each_other(sizes in prop::collection::vec(1..=8_u32, 1..50)) {
            let mut map = Map::new(sizes.len() as u32, 64, true).unwrap();
            for (page, size) in (0..).zip(&sizes) {
                map.set_size(page, 9 - size);
                map.set_size(page, *size);
            }
            for (page, size) in (0..).zip(&sizes) {
                prop_assert_eq!(map.size_of(page), *size);
            }
        }
    }
}
