//! Garbage collection: valid pages of a victim are moved, then it is erased.

use super::frontier::NONE;
use super::nand::{Cells, Nand};
use super::victim::{Dose, Victim};
use super::{Ftl, NATIVE, placement};

/// Moves whose entries of the map are fetched before the first of them is changed.
const BATCH: usize = 192;
/// Words of a victim's bitmap from the one that is moved to the one whose pages are fetched.
const WORDS_AHEAD: usize = 8;
/// Slots of a word of the bitmap.
const WORD: u32 = 64;

impl Ftl {
    /// Collect until enough slots are empty.
    pub(super) fn collect(&mut self, nand: &mut impl Nand) {
        let dose = if self.burst { Dose::WHOLE } else { Dose { empty: self.space.low, moves: u32::MAX } };
        // Policies that don't look for the emptiest may come across any number of full ones.
        let mut patience = 4 * self.table.len();
        while self.space.empty < self.space.low && patience > 0 {
            let before = self.space.empty;
            let over_limit = self.slc_is_over_limit();
            let done = (over_limit && self.fold_some(dose, nand).is_some())
                || self.collect_some(dose, self.most_valid(), nand)
                || self.fold_some(dose, nand).is_some();
            if !done {
                break;
            }
            patience -= u32::from(self.space.empty <= before);
        }
    }

    /// The fullest victim that makes sense: a search for the emptiest that finds a full one has lost.
    const fn most_valid(&self) -> u32 {
        let slots = self.layout.native.slots;
        if matches!(self.policy, crate::preset::Victim::Greedy) { slots - 1 } else { slots }
    }

    /// A dose of collection; false if there is no victim that holds at most `most_valid` granules.
    pub(super) fn collect_some(&mut self, dose: Dose, most_valid: u32, nand: &mut impl Nand) -> bool {
        let victim = self.victim.take().or_else(|| {
            let superblock = self.candidates.take(&self.table, most_valid)?;
            Some(self.begin(superblock))
        });
        let Some(mut victim) = victim else { return false };
        self.advance(&mut victim, dose, nand);
        self.victim = self.unless_done(victim, nand);
        true
    }

    /// A superblock is chosen.
    pub(super) fn begin(&mut self, superblock: u32) -> Victim {
        self.table.take_as_victim(superblock);
        let cells = self.table.cells(superblock);
        let cursor = self.layout.first_slot(superblock);
        Victim { superblock, cells, cursor, end: cursor + self.layout.filling(cells).slots, counted: 0 }
    }

    /// Erase a victim that is done with; gives back one that is not.
    pub(super) fn unless_done(&mut self, victim: Victim, nand: &mut impl Nand) -> Option<Victim> {
        if victim.cursor < victim.end {
            return Some(victim);
        }
        debug_assert_eq!(self.table.valid(victim.superblock), 0);
        nand.erase(victim.superblock);
        self.erase(victim.superblock);
        None
    }

    /// Go on with a victim; gives the granules that were moved.
    pub(super) fn advance(&mut self, victim: &mut Victim, dose: Dose, nand: &mut impl Nand) -> u32 {
        let mut batch = [0; BATCH + WORD as usize];
        if self.isolates_moved {
            self.moved = placement::moved_frontier_of(self.reclaim.owner(victim.superblock), self.handles);
        }
        let (mut count, mut moved) = (0, 0);
        while victim.cursor < victim.end && self.space.empty < dose.empty && moved < dose.moves {
            let word = (victim.cursor / WORD) as usize;
            let bits = std::mem::take(&mut self.map.valid[word]);
            self.map.prefetch_pages(word + WORDS_AHEAD);
            self.read(victim, bits, nand);
            let first = word * WORD as usize;
            let mut left = bits;
            while left != 0 {
                let page = self.map.pages[first + left.trailing_zeros() as usize];
                self.map.prefetch(page);
                batch[count] = page;
                count += 1;
                left &= left - 1;
            }
            let granules = if self.reduced { self.sizes_of(&batch[..count]) } else { bits.count_ones() };
            self.table.remove_valid(victim.superblock, granules);
            self.pass(victim, granules);
            moved += granules;
            if count > BATCH || self.reduced {
                self.place_moved(&batch[..count], nand);
                count = 0;
            }
        }
        self.place_moved(&batch[..count], nand);
        moved
    }

    fn sizes_of(&self, pages: &[u32]) -> u32 {
        pages.iter().map(|page| self.map.size_of(*page)).sum()
    }

    /// A word of a victim is done with: its slots are empty, and moves have taken others.
    fn pass(&mut self, victim: &mut Victim, moved: u32) {
        victim.cursor = (victim.cursor + WORD).min(victim.end);
        let passed = victim.cursor - self.layout.first_slot(victim.superblock);
        let counted = match victim.cells {
            Cells::Native => passed,
            Cells::Slc => {
                self.worked.to_fold += u64::from(moved);
                let native = u64::from(self.layout.native.slots);
                (u64::from(passed) * native / u64::from(self.layout.slc.slots)) as u32
            }
        };
        self.space.empty += i64::from(counted - victim.counted) - i64::from(moved);
        victim.counted = counted;
    }

    /// Tell of the array reads for what is valid in a word of a victim.
    #[inline]
    fn read<N: Nand>(&self, victim: &Victim, bits: u64, nand: &mut N) {
        if !N::READS || bits == 0 {
            return;
        }
        let offset = victim.cursor - self.layout.first_slot(victim.superblock);
        let cells = victim.cells;
        self.layout.read_rows(offset, bits, cells, |row| nand.read_row(row.first_die, row.dies, cells));
    }

    /// Put pages that lie nowhere now behind each other.
    fn place_moved(&mut self, pages: &[u32], nand: &mut impl Nand) {
        if self.reduced {
            pages.iter().for_each(|page| self.place_one(*page, nand));
            return;
        }
        let mut left = pages;
        while !left.is_empty() {
            let which = self.moved_frontier();
            let frontier = &mut self.frontiers[which];
            let room = (frontier.group_end - frontier.next) as usize;
            let (now, later) = left.split_at(room.min(left.len()));
            self.map.put_run(now, frontier.next);
            let slots = now.len() as u32;
            self.table.add_valid(frontier.superblock, slots);
            frontier.next += slots;
            frontier.moved += slots;
            if frontier.next == frontier.group_end {
                self.finish_group(which, 0, true, nand);
            }
            left = later;
        }
    }

    /// The same for a page whose size counts.
    fn place_one(&mut self, page: u32, nand: &mut impl Nand) {
        let granules = self.map.size_of(page);
        let mut which = self.moved_frontier();
        if self.frontiers[which].room() < granules {
            let frontier = &mut self.frontiers[which];
            let padded = frontier.group_end - frontier.next;
            frontier.next = frontier.group_end;
            self.finish_group(which, padded, true, nand);
            which = self.moved_frontier();
        }
        let frontier = &mut self.frontiers[which];
        self.map.put(page, frontier.next);
        self.table.add_valid(frontier.superblock, granules);
        frontier.next += granules;
        frontier.moved += granules;
        if frontier.next >= frontier.group_end {
            self.finish_group(which, 0, true, nand);
        }
    }

    /// An open frontier for moved pages. What is reserved suffices for all that victims hold.
    fn moved_frontier(&mut self) -> usize {
        if self.open(self.moved) {
            return self.moved;
        }
        debug_assert!(false, "{} slots are empty, and no superblock is free", self.space.empty);
        debug_assert_ne!(self.frontiers[NATIVE].superblock, NONE);
        NATIVE
    }
}
