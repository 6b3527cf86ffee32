//! The steady state of random writing, from its law instead of hours of writing.

use openpts_core::workload::{Permutation, Uniform};

use super::superblocks::State;
use super::{Ftl, MOVED, NATIVE, SLC};
use crate::preset::PresetError;
use crate::theory;

impl Ftl {
    /// The state that long uniform random writing leaves, at once. Every page is mapped then, with `units` of
    /// 512 bytes each if data are reduced; what was used is erased before. Superblocks get their numbers of
    /// valid pages by the law of the policy, and which pages those are is left to chance.
    ///
    /// # Errors
    /// If the drive is read-only, also because the erases wore it out: it is empty then.
    pub fn jump_start(&mut self, units: u8) -> Result<(), PresetError> {
        if self.read_only {
            return Err(PresetError("a drive that is read-only has no steady state".into()));
        }
        self.purge();
        if self.read_only {
            return Err(PresetError("erasing has worn out the drive".into()));
        }
        self.leave_slc();
        let granules = if self.reduced { u32::from(units.clamp(1, 8)) } else { 1 };
        let superblock_pages = self.layout.native.slots / granules;
        let most = self.space.of_superblocks(self.table.len() - self.table.bad) - self.space.low;
        let superblocks = (most / i64::from(self.layout.native.slots)) as u32;
        let counts = theory::valid_counts(self.policy, superblocks, superblock_pages, self.layout.user_pages)
            .ok_or_else(|| PresetError("the user space leaves nothing to collect".into()))?;
        self.fill(&counts, superblock_pages, granules);
        self.space.empty -= self.space.of_superblocks(superblocks);
        self.mapped = self.layout.user_pages;
        Ok(())
    }

    /// After a purge the cache may have opened a superblock; a full drive has none.
    fn leave_slc(&mut self) {
        if self.host == SLC {
            let superblock = self.frontiers[SLC].superblock;
            self.frontiers[SLC] = super::Frontier::closed(super::Cells::Slc);
            self.table.free_again(superblock);
            self.space.empty += self.space.of_superblocks(1);
            self.slc.iter_mut().for_each(super::Slc::forget);
            self.host = NATIVE;
            self.open(NATIVE);
        }
        debug_assert!(!self.frontiers[MOVED].is_open());
    }

    /// Close superblocks with so many valid pages each, the oldest first.
    fn fill(&mut self, counts: &[u32], superblock_pages: u32, granules: u32) {
        let order = Permutation::new(u64::from(self.layout.user_pages), self.seed);
        let mut random = Uniform::for_thread(self.seed, 1);
        let mut rank = 0;
        for count in counts {
            let Some(superblock) = self.table.open(super::Cells::Native) else { return };
            debug_assert_eq!(self.table.state(superblock), State::Open);
            let first = self.layout.first_slot(superblock);
            // Each subset of places is as likely as any other: a place is taken with the share of those
            // still needed in those still left.
            let mut needed = u64::from(*count);
            for place in 0..superblock_pages {
                if random.below(u64::from(superblock_pages - place)) < needed {
                    let page = order.place_of(rank) as u32;
                    self.map.put(page, first + place * granules);
                    self.map.set_size(page, granules);
                    rank += 1;
                    needed -= 1;
                }
            }
            self.table.add_valid(superblock, count * granules);
            self.table.close(superblock);
            self.candidates.add(superblock);
        }
        debug_assert_eq!(rank, u64::from(self.layout.user_pages));
    }
}
