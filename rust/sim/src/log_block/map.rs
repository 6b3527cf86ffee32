//! Where data lie: each page in the log or in its unit. Knows no time.

use openpts_core::workload::Uniform;

use super::blocks::Blocks;
use crate::preset::Wear;

/// A page of the log: whose it was when it was written. It is live until its unit is merged.
#[derive(Clone, Copy, Debug)]
struct Entry {
    unit: u32,
    epoch: u32,
}

impl Entry {
    /// Holds nothing: it was needed to fill up a program unit.
    const PADDING: Self = Self { unit: u32::MAX, epoch: 0 };
}

/// What room in the log has cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Room {
    /// Pages that a merge has moved, if there was one.
    pub merged_pages: Option<u32>,
    /// A block of the log was erased.
    pub log_erased: bool,
}

/// The log is a ring. Its oldest page makes room for the newest: if it is live, its unit is merged, which
/// moves all pages of the unit that hold data, from the log or from the old blocks, into fresh blocks, and
/// leaves none of its pages in the log live.
pub(super) struct Map {
    unit_pages: u32,
    pages: u64,
    log: Vec<Entry>,
    log_pages: usize,
    /// Place of the next page: also that of the oldest, once the log is full.
    head: usize,
    epochs: Vec<u32>,
    mapped: Vec<u64>,
    mapped_in_unit: Vec<u32>,
    /// Of units, then of the log, whose blocks are as large.
    blocks: Blocks,
    merges: u64,
    moved_pages: u64,
}

impl Map {
    pub(super) fn new(pages: u64, unit_pages: u32, log_pages_per_unit: u32) -> Self {
        let units = pages.div_ceil(u64::from(unit_pages)) as usize;
        let log_pages = units * log_pages_per_unit as usize;
        Self {
            unit_pages,
            pages,
            log: Vec::with_capacity(log_pages),
            log_pages,
            head: 0,
            epochs: vec![0; units],
            mapped: vec![0; pages.div_ceil(64) as usize],
            mapped_in_unit: vec![0; units],
            blocks: Blocks::everlasting(units, log_pages.div_ceil(unit_pages as usize)),
            merges: 0,
            moved_pages: 0,
        }
    }

    /// The same on new flash that wears out.
    pub(super) fn wearing(self, wear: &Wear, spare_share: f64, random: &mut Uniform) -> Self {
        Self { blocks: self.blocks.wearing(wear, spare_share, random), ..self }
    }

    /// Pages of the host.
    #[cfg(test)]
    pub(super) const fn pages(&self) -> u64 {
        self.pages
    }

    pub(super) fn units(&self) -> usize {
        self.epochs.len()
    }

    pub(super) const fn log_pages(&self) -> usize {
        self.log_pages
    }

    /// Write a page into the log.
    pub(super) fn append(&mut self, page: u64) -> Room {
        let room = self.make_room();
        let unit = (page / u64::from(self.unit_pages)) as u32;
        self.push(Entry { unit, epoch: self.epochs[unit as usize] });
        let (word, bit) = place_of(page);
        if self.mapped[word] & bit == 0 {
            self.mapped[word] |= bit;
            self.mapped_in_unit[unit as usize] += 1;
        }
        room
    }

    /// Leave a page of the log unused.
    pub(super) fn pad(&mut self) -> Room {
        let room = self.make_room();
        self.push(Entry::PADDING);
        room
    }

    fn push(&mut self, entry: Entry) {
        if self.log.len() < self.log_pages {
            self.log.push(entry);
        } else {
            self.log[self.head] = entry;
        }
        self.head = if self.head + 1 == self.log_pages { 0 } else { self.head + 1 };
    }

    fn make_room(&mut self) -> Room {
        let Some(&Entry { unit, epoch }) = self.log.get(self.head) else { return Room::default() };
        let log_erased = self.head.is_multiple_of(self.unit_pages as usize);
        if log_erased {
            self.blocks.erase(self.units() + self.head / self.unit_pages as usize);
        }
        let is_live = unit != Entry::PADDING.unit
            && self.epochs[unit as usize] == epoch
            && self.mapped_in_unit[unit as usize] > 0;
        Room { merged_pages: is_live.then(|| self.merge(unit as usize)), log_erased }
    }

    fn merge(&mut self, unit: usize) -> u32 {
        self.epochs[unit] = self.epochs[unit].wrapping_add(1);
        self.blocks.erase(unit);
        self.merges += 1;
        self.moved_pages += u64::from(self.mapped_in_unit[unit]);
        self.mapped_in_unit[unit]
    }

    /// The host needs this page no longer.
    pub(super) fn trim(&mut self, page: u64) {
        let (word, bit) = place_of(page);
        if self.mapped[word] & bit != 0 {
            self.mapped[word] &= !bit;
            self.mapped_in_unit[(page / u64::from(self.unit_pages)) as usize] -= 1;
        }
    }

    #[inline]
    pub(super) fn is_mapped(&self, page: u64) -> bool {
        let (word, bit) = place_of(page);
        self.mapped[word] & bit != 0
    }

    /// Forget everything, and erase all that holds data; gives the number of erases.
    pub(super) fn purge(&mut self) -> u64 {
        let before = self.blocks.total_erases();
        let units = self.units();
        let used_units = (0..units).filter(|unit| self.mapped_in_unit[*unit] > 0);
        let used_log_blocks = units..units + self.log.len().div_ceil(self.unit_pages as usize);
        used_units.chain(used_log_blocks).for_each(|place| self.blocks.erase(place));
        self.log.clear();
        self.head = 0;
        self.mapped.fill(0);
        self.mapped_in_unit.fill(0);
        self.blocks.total_erases() - before
    }

    /// As long random writing over the whole range leaves it. A unit's life is a cycle: after a merge it
    /// waits for its next write, on average as many writes of the drive as there are units; this write
    /// reaches the log's end after as many writes as the log has pages, and the unit is merged. At a moment
    /// picked at random, a unit is in the second part with the chance of its share of the cycle, and its
    /// oldest live page lies anywhere in the log. What else lies in the log is dead, or younger.
    pub(super) fn jump_start(&mut self, random: &mut Uniform) {
        const FREE: u32 = u32::MAX;
        let (units, log_pages) = (self.units() as u64, self.log_pages as u64);
        self.mapped.fill(u64::MAX);
        if !self.pages.is_multiple_of(64) {
            *self.mapped.last_mut().expect("a drive has pages") = (1 << (self.pages % 64)) - 1;
        }
        for (unit, mapped) in self.mapped_in_unit.iter_mut().enumerate() {
            let first = unit as u64 * u64::from(self.unit_pages);
            *mapped = (self.pages - first).min(u64::from(self.unit_pages)) as u32;
        }
        let mut oldest_live_of = vec![FREE; self.log_pages];
        for unit in 0..units as u32 {
            if random.below(units + log_pages) < log_pages {
                let mut place = random.below(log_pages) as usize;
                while oldest_live_of[place] != FREE {
                    place = random.below(log_pages) as usize;
                }
                oldest_live_of[place] = unit;
            }
        }
        self.log.clear();
        self.head = 0;
        let mut is_live = vec![false; units as usize];
        for unit in oldest_live_of {
            let unit =
                if unit == FREE { random.below(units) as u32 } else { unit_begins(&mut is_live, unit) };
            let current = self.epochs[unit as usize];
            let epoch = if is_live[unit as usize] { current } else { current.wrapping_sub(1) };
            self.log.push(Entry { unit, epoch });
        }
    }

    /// The flash behind units and log.
    pub(super) const fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// Units merged so far.
    #[cfg(test)]
    pub(super) const fn merges(&self) -> u64 {
        self.merges
    }

    /// Pages that merges have programmed.
    pub(super) const fn moved_pages(&self) -> u64 {
        self.moved_pages
    }

    pub(super) fn mapped_pages(&self) -> u64 {
        self.mapped_in_unit.iter().map(|mapped| u64::from(*mapped)).sum()
    }
}

/// From here on the log holds live pages of the unit.
fn unit_begins(is_live: &mut [bool], unit: u32) -> u32 {
    is_live[unit as usize] = true;
    unit
}

const fn place_of(page: u64) -> (usize, u64) {
    ((page / 64) as usize, 1 << (page % 64))
}
