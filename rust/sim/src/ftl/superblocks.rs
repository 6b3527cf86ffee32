//! The table of superblocks: small, and read all the time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use openpts_core::workload::Uniform;

use super::nand::Cells;
use crate::preset::Wear;
use crate::smart::EraseCounts;
use crate::wear::erases_of_one;

/// Set in the count of a superblock that is full of single-bit cells.
const SLC: u32 = 1 << 30;
/// Set in the count of a superblock that can't be collected: free, open, being collected or bad.
const APART: u32 = 1 << 31;

/// What a superblock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Free,
    Open,
    Closed,
    /// Being collected or folded.
    Victim,
    Bad,
}

#[derive(Clone, Debug)]
pub(super) struct Superblocks {
    /// Valid granules; the upper bits keep away what a search for victims must not find.
    counts: Vec<u32>,
    states: Vec<State>,
    cells: Vec<Cells>,
    erases: Vec<u32>,
    /// Erases that a superblock lives.
    limits: Vec<u32>,
    /// Those with the fewest erases come first.
    free: BinaryHeap<Reverse<(u32, u32)>>,
    pub(super) bad: u32,
    pub(super) all_erases: u64,
}

impl Superblocks {
    pub(super) fn new(count: u32, wear: Option<&Wear>, random: &mut Uniform) -> Self {
        let length = count as usize;
        Self {
            counts: vec![APART; length],
            states: vec![State::Free; length],
            cells: vec![Cells::Native; length],
            erases: vec![0; length],
            limits: (0..count).map(|_| wear.map_or(u32::MAX, |wear| erases_of_one(wear, random))).collect(),
            free: (0..count).map(|superblock| Reverse((0, superblock))).collect(),
            bad: 0,
            all_erases: 0,
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.counts.len() as u32
    }

    pub(super) fn free(&self) -> u32 {
        self.free.len() as u32
    }

    pub(super) fn state(&self, superblock: u32) -> State {
        self.states[superblock as usize]
    }

    #[inline]
    pub(super) fn cells(&self, superblock: u32) -> Cells {
        self.cells[superblock as usize]
    }

    pub(super) fn erases(&self, superblock: u32) -> u32 {
        self.erases[superblock as usize]
    }

    pub(super) fn valid(&self, superblock: u32) -> u32 {
        self.counts[superblock as usize] & !(APART | SLC)
    }

    #[inline]
    pub(super) fn add_valid(&mut self, superblock: u32, granules: u32) {
        self.counts[superblock as usize] += granules;
    }

    #[inline]
    pub(super) fn remove_valid(&mut self, superblock: u32, granules: u32) {
        self.counts[superblock as usize] -= granules;
    }

    pub(super) fn open(&mut self, cells: Cells) -> Option<u32> {
        let Reverse((_, superblock)) = self.free.pop()?;
        self.states[superblock as usize] = State::Open;
        self.cells[superblock as usize] = cells;
        Some(superblock)
    }

    pub(super) fn close(&mut self, superblock: u32) {
        let index = superblock as usize;
        self.states[index] = State::Closed;
        let mark = if self.cells[index] == Cells::Slc { SLC } else { 0 };
        self.counts[index] = self.valid(superblock) | mark;
    }

    pub(super) fn take_as_victim(&mut self, superblock: u32) {
        self.states[superblock as usize] = State::Victim;
        self.counts[superblock as usize] |= APART;
    }

    /// Erase a superblock in which nothing is valid. It retires if it has lived long enough and `may_retire`;
    /// true if it did.
    pub(super) fn erase(&mut self, superblock: u32, may_retire: bool) -> bool {
        let index = superblock as usize;
        self.erases[index] += 1;
        self.all_erases += 1;
        self.counts[index] = APART;
        let retires = may_retire && self.erases[index] >= self.limits[index];
        if retires {
            self.states[index] = State::Bad;
            self.bad += 1;
        } else {
            self.states[index] = State::Free;
            self.free.push(Reverse((self.erases[index], superblock)));
        }
        retires
    }

    /// A superblock that was opened and not written is free again.
    pub(super) fn free_again(&mut self, superblock: u32) {
        self.states[superblock as usize] = State::Free;
        self.free.push(Reverse((self.erases(superblock), superblock)));
    }

    /// Closed, in native cells, with the fewest valid granules; of several, with the fewest erases, and of
    /// those the first.
    pub(super) fn emptiest(&self) -> Option<u32> {
        emptiest(&self.counts, &self.erases)
            .filter(|index| self.counts[*index] < SLC)
            .map(|index| index as u32)
    }

    /// The same among those with single-bit cells.
    pub(super) fn emptiest_slc(&self) -> Option<u32> {
        let slc = self.counts.iter().enumerate().filter(|(_, count)| (SLC..APART).contains(*count));
        slc.min_by_key(|(index, count)| (**count, self.erases[*index])).map(|(index, _)| index as u32)
    }

    pub(super) fn erase_counts(&self) -> EraseCounts {
        let used = || {
            self.erases.iter().zip(&self.states).filter(|(_, state)| **state != State::Bad).map(|(e, _)| *e)
        };
        let sum: u64 = used().map(u64::from).sum();
        EraseCounts {
            min: used().min().unwrap_or(0),
            mean: sum as f64 / used().count().max(1) as f64,
            max: used().max().unwrap_or(0),
        }
    }
}

/// Superblocks whose counts are compared at once.
const STRETCH: usize = 64;

/// The place of the smallest count; ties by erases, then by place. A first pass that the compiler makes
/// parallel finds the count, a second one looks only where it occurs.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2", "x86_64+sse4.1"))]
fn emptiest(counts: &[u32], erases: &[u32]) -> Option<usize> {
    let smallest_of = |stretch: &[u32]| stretch.iter().fold(u32::MAX, |least, count| least.min(*count));
    let smallest = counts.chunks(STRETCH).fold(u32::MAX, |least, stretch| least.min(smallest_of(stretch)));
    let mut best: Option<(u32, usize)> = None;
    for (number, stretch) in counts.chunks(STRETCH).enumerate() {
        if smallest_of(stretch) != smallest {
            continue;
        }
        for (place, _) in stretch.iter().enumerate().filter(|(_, count)| **count == smallest) {
            let found = (erases[number * STRETCH + place], number * STRETCH + place);
            best = Some(best.map_or(found, |best| best.min(found)));
        }
    }
    best.map(|(_, index)| index)
}

#[cfg(test)]
mod tests {
    use super::emptiest;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_emptiest_is_that_of_a_plain_search(
            table in prop::collection::vec((0..20_u32, 0..5_u32), 0..400)
        ) {
            let (counts, erases): (Vec<u32>, Vec<u32>) = table.iter().copied().unzip();
            let plain = (0..table.len()).min_by_key(|index| (table[*index], *index));
            prop_assert_eq!(emptiest(&counts, &erases), plain);
        }
    }
}
