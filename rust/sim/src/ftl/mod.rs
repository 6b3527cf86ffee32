//! The page map of a simulated drive: where each page lies, what is collected, what wears out. Exact
//! bookkeeping that knows no time; what the flash has to do for it goes to a [`Nand`].
//!
//! ```text
//! write -> frontier (native or SLC) -> group full: program -> fold -> collect -> next frontier
//!            map: page <-> slot          superblocks: valid counts, erases       candidates: whose turn
//! ```
//!
//! Collection keeps the number of *empty* slots: those of free superblocks, those that open ones have left,
//! and those that a victim was already rid of. Paced, each group of the host pays for as many moves as win
//! back its slots; in bursts a whole victim is moved when too few are left. Because that number is constant
//! (or saw-toothed), theory knows how much space takes part: all but the empty slots.

mod candidates;
mod collect;
#[cfg(any(test, debug_assertions))]
mod consistency;
mod divisor;
mod figures;
mod fold;
mod frontier;
mod layout;
mod map;
mod nand;
mod placement;
mod reads;
mod slc;
mod space;
mod steady_start;
mod superblocks;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod victim;

pub use layout::Layout;
pub(crate) use layout::{row_pages, rows_and_superblocks};
pub use nand::{Cells, Nand, Program, Timeless};

use openpts_core::workload::Uniform;

use candidates::Candidates;
use frontier::Frontier;
use map::Map;
use slc::Slc;
use space::Space;
use superblocks::{State, Superblocks};
use victim::Victim;

use super::preset::{Frontiers, PageMapped, PresetError};

/// The drive has worn out: it takes no more writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the drive is read-only: too many superblocks have worn out")]
pub struct ReadOnly;

/// Where a page lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The chunk that holds it, as a number that no other chunk of the drive has: pages that share it are
    /// read by one array read.
    pub chunk: u64,
    /// The die that holds it.
    pub die: u32,
    /// The superblock that holds it.
    pub superblock: u32,
    /// How its cells are used.
    pub cells: Cells,
    /// Its group is not full yet, so that it is still in the write buffer.
    pub buffered: bool,
}

/// The frontier of the host in native cells; of moved pages too if they are mixed.
const NATIVE: usize = 0;
/// The frontier of moved pages, unless they are mixed.
const MOVED: usize = 1;
/// The frontier of the host in single-bit cells.
const SLC: usize = 2;

/// NAND work so far, in granules.
#[derive(Clone, Copy, Debug, Default)]
struct Worked {
    host: u64,
    collected: u64,
    folded: u64,
    padded: u64,
    /// Moved by folding, programmed or not: divides what was programmed between the causes.
    to_fold: u64,
}

/// A page map.
#[derive(Debug)]
pub struct Ftl {
    layout: Layout,
    map: Map,
    table: Superblocks,
    candidates: Candidates,
    space: Space,
    /// The three above, and those of placement handles behind them.
    frontiers: Vec<Frontier>,
    /// Placement handles that have a frontier of their own: 1 where there is no such placement.
    handles: u16,
    /// Whether moved pages stay among those of their handle.
    isolates_moved: bool,
    reclaim: placement::ReclaimUnits,
    /// Which frontier the host writes to.
    host: usize,
    /// Which frontier takes moved pages.
    moved: usize,
    victim: Option<Victim>,
    burst: bool,
    idle: Option<super::preset::IdleWork>,
    slc: Option<Slc>,
    reduced: bool,
    read_only: bool,
    mapped: u32,
    worked: Worked,
    /// Map pages for a million pages of the host.
    journal_per_million: u64,
    policy: super::preset::Victim,
    seed: u64,
    #[cfg(debug_assertions)]
    writes: u64,
}

impl Ftl {
    /// An empty drive. `geometry.dies` counts; `geometry.bytes_per_die` is the caller's business.
    ///
    /// # Errors
    /// If the geometry does not go together, or what is not user space is too little to collect.
    pub fn new(model: &PageMapped, user_pages: u32, seed: u64) -> Result<Self, PresetError> {
        let layout = Layout::new(model, user_pages)?;
        let space = Space::new(model, &layout)?;
        let mut random = Uniform::for_session(seed);
        let table = Superblocks::new(layout.superblocks, model.wear.as_ref(), &mut random);
        let reduced = model.reduction.is_some();
        let map = Map::new(user_pages, layout.stride * layout.superblocks, reduced)
            .map_err(|error| PresetError(format!("no memory for the map: {error}")))?;
        let mixed = model.collection.frontiers == Frontiers::Mixed;
        let mut ftl = Self {
            map,
            table,
            candidates: Candidates::new(model.collection.victim, layout.superblocks, random),
            space,
            frontiers: placement::frontiers(model),
            handles: space::handles(model),
            isolates_moved: space::isolates_moved(model),
            reclaim: placement::ReclaimUnits::new(layout.superblocks),
            host: NATIVE,
            moved: if mixed { NATIVE } else { MOVED },
            victim: None,
            burst: model.collection.pace == super::preset::Pace::Burst,
            idle: model.idle,
            slc: model.slc.as_ref().map(|slc| Slc::new(slc, &layout)),
            reduced,
            read_only: false,
            mapped: 0,
            worked: Worked::default(),
            journal_per_million: (model.mapping.journal_per_1000 * 1000.0).round() as u64,
            policy: model.collection.victim,
            seed,
            layout,
            #[cfg(debug_assertions)]
            writes: 0,
        };
        ftl.choose_host_frontier(&mut Timeless);
        Ok(ftl)
    }

    /// How the flash is laid out.
    #[must_use]
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The host writes a page. `units` of 512 bytes are left of it after data reduction, 1 to 8; a preset
    /// without reduction takes no notice. All NAND work that it causes goes to `nand` before it returns: if
    /// its group is full now, the program, then folding and collection.
    ///
    /// # Errors
    /// If the drive has worn out. Nothing has changed then.
    #[inline]
    pub fn write(&mut self, page: u32, units: u8, nand: &mut impl Nand) -> Result<(), ReadOnly> {
        if self.read_only {
            return Err(ReadOnly);
        }
        let granules = if self.reduced { self.fit(u32::from(units.clamp(1, 8)), nand)? } else { 1 };
        self.unmap(page);
        self.mapped += 1;
        let frontier = &mut self.frontiers[self.host];
        self.map.put(page, frontier.next);
        self.map.set_size(page, granules);
        self.table.add_valid(frontier.superblock, granules);
        frontier.next += granules;
        if frontier.next >= frontier.group_end {
            self.host_group_full(0, nand);
        }
        #[cfg(debug_assertions)]
        self.check_now_and_then();
        Ok(())
    }

    /// A page does not go on in the next superblock: leave the rest of this one empty if it is too small.
    #[cold]
    fn pad_superblock(&mut self, nand: &mut impl Nand) -> Result<(), ReadOnly> {
        self.close_host_group(nand);
        if self.read_only { Err(ReadOnly) } else { Ok(()) }
    }

    #[inline]
    fn fit(&mut self, granules: u32, nand: &mut impl Nand) -> Result<u32, ReadOnly> {
        if self.frontiers[self.host].room() < granules {
            self.pad_superblock(nand)?;
        }
        Ok(granules)
    }

    /// What the page held so far is not wanted any longer. The caller maps it anew or not at all.
    #[inline]
    fn unmap(&mut self, page: u32) {
        let slot = self.map.slots[page as usize];
        if slot != frontier::NONE {
            self.map.invalidate(slot);
            self.table.remove_valid(self.layout.superblock_of(slot), self.map.size_of(page));
            self.mapped -= 1;
        }
    }

    /// The host's open group is full, but for `padded` slots at its end.
    fn host_group_full(&mut self, padded: u32, nand: &mut impl Nand) {
        let host = self.host;
        let native_slots = self.finish_group(host, padded, false, nand);
        self.fold_beside(native_slots, nand);
        self.collect(nand);
        self.choose_host_frontier(nand);
    }

    /// A group is full: program it, and close its superblock if that is full too. Gives the slots that the
    /// host took of native cells.
    fn finish_group(&mut self, which: usize, padded: u32, moved: bool, nand: &mut impl Nand) -> u32 {
        let frontier = &mut self.frontiers[which];
        let (filled, program) = frontier.next_group(&self.layout, padded, moved);
        let full = frontier.next >= frontier.end;
        if full {
            *frontier = Frontier::closed(program.cells);
        }
        nand.program(&program);
        self.worked.host += u64::from(filled.host);
        self.worked.padded += u64::from(filled.padded);
        self.count_moved(filled.moved);
        if full {
            self.close(program.superblock, nand);
            self.reclaim_unit_full(which, program.superblock);
        }
        if program.cells == Cells::Slc {
            return 0;
        }
        self.space.empty -= i64::from(filled.host + filled.padded);
        filled.host
    }

    /// Moved slots are programmed in the order of moving, but groups mix the causes: a group counts for
    /// folding as long as there is any left to count.
    fn count_moved(&mut self, slots: u32) {
        let folded = u64::from(slots).min(self.worked.to_fold - self.worked.folded);
        self.worked.folded += folded;
        self.worked.collected += u64::from(slots) - folded;
    }

    fn close(&mut self, superblock: u32, nand: &mut impl Nand) {
        self.table.close(superblock);
        if self.table.cells(superblock) == Cells::Native {
            self.candidates.add(superblock);
        }
        nand.closed(superblock);
    }

    /// Open a superblock for a frontier that has none; false if none is free.
    fn open(&mut self, which: usize) -> bool {
        let cells = self.frontiers[which].cells;
        if !self.frontiers[which].is_open() {
            let Some(superblock) = self.table.open(cells) else { return false };
            self.reclaim.owned(superblock, self.owner_of(which));
            self.frontiers[which] = Frontier::open(superblock, cells, &self.layout);
        }
        true
    }

    /// Where the host goes on, at the start of a group: single-bit cells if they may be used.
    fn choose_host_frontier(&mut self, nand: &mut impl Nand) {
        if self.handles > 1 {
            self.read_only |= !self.open(self.host);
            return;
        }
        self.host = if self.slc_is_writable(nand) { SLC } else { NATIVE };
        if self.host == NATIVE && !self.open(NATIVE) {
            self.read_only = true;
        }
    }

    /// Fill up the host's open groups and program them; does nothing for one that is empty.
    pub fn close_group(&mut self, nand: &mut impl Nand) {
        self.close_host_group(nand);
        for handle in 1..self.handles {
            self.host = placement::frontier_of(handle);
            self.close_host_group(nand);
        }
        if self.handles > 1 {
            self.host = NATIVE;
            self.close_host_group(nand);
        }
    }

    fn close_host_group(&mut self, nand: &mut impl Nand) {
        let frontier = &mut self.frontiers[self.host];
        if frontier.is_open() && frontier.is_partial() {
            let padded = frontier.group_end - frontier.next;
            frontier.next = frontier.group_end;
            self.host_group_full(padded, nand);
        }
    }

    /// Where a page lies; `None` if it was never written or was forgotten.
    #[inline]
    #[must_use]
    pub fn lookup(&self, page: u32) -> Option<Place> {
        let slot = self.map.slots[page as usize];
        if slot == frontier::NONE {
            return None;
        }
        let superblock = self.layout.superblock_of(slot);
        let cells = self.table.cells(superblock);
        let offset = slot - self.layout.first_slot(superblock);
        Some(Place {
            chunk: u64::from(superblock) << 32 | u64::from(self.layout.chunk_of(offset)),
            die: self.layout.die_of(offset, cells),
            superblock,
            cells,
            buffered: self.frontiers.iter().any(|frontier| frontier.buffers(slot)),
        })
    }

    /// Forget a page.
    #[inline]
    pub fn trim(&mut self, page: u32) {
        self.unmap(page);
        self.map.slots[page as usize] = frontier::NONE;
    }

    /// Forget all pages; gives the number of superblocks that had to be erased.
    pub fn purge(&mut self) -> u32 {
        self.map.clear();
        self.mapped = 0;
        self.victim = None;
        self.candidates.clear();
        if let Some(slc) = &mut self.slc {
            slc.forget();
        }
        let untouched = |frontier: &&Frontier| frontier.room() == self.layout.filling(frontier.cells).slots;
        let fresh = self.frontiers.iter().filter(|frontier| frontier.is_open()).filter(untouched);
        let fresh: Vec<u32> = fresh.map(|frontier| frontier.superblock).collect();
        self.frontiers.iter_mut().for_each(|frontier| *frontier = Frontier::closed(frontier.cells));
        if self.handles > 1 {
            self.host = NATIVE;
        }
        self.space.empty = self.space.of_superblocks(self.table.len() - self.table.bad);
        let mut erased = 0;
        for superblock in 0..self.table.len() {
            if fresh.contains(&superblock) {
                self.table.free_again(superblock);
            } else if !matches!(self.table.state(superblock), State::Free | State::Bad) {
                erased += 1;
                self.erase(superblock);
            }
        }
        self.choose_host_frontier(&mut Timeless);
        erased
    }

    /// Erase a superblock that holds nothing, and retire it if its time has come.
    fn erase(&mut self, superblock: u32) {
        if self.table.erase(superblock, self.space.may_retire()) {
            self.space.empty -= self.space.of_superblocks(1);
            self.read_only |= self.spare().0 == 0;
        }
    }

    /// A page will be written or looked up soon: fetch its entry of the map.
    #[inline]
    pub fn prefetch(&self, page: u32) {
        self.map.prefetch(page);
    }

    /// A page will be written soon, and its entry was fetched: fetch what is said of the place to which the
    /// entry points.
    #[inline]
    pub fn prefetch_place(&self, page: u32) {
        self.map.prefetch_place(page);
    }
}
