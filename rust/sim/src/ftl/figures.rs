//! What can be asked of a page map; asking changes nothing.

use super::Ftl;
use super::superblocks::State;
use crate::smart::{EraseCounts, NandPages};

impl Ftl {
    /// NAND pages by cause, as programmed so far.
    #[must_use]
    pub const fn counters(&self) -> NandPages {
        let shift = self.layout.granule_shift;
        let host = self.worked.host >> shift;
        NandPages {
            host,
            collected: self.worked.collected >> shift,
            folded: self.worked.folded >> shift,
            padded: self.worked.padded >> shift,
            journal: host * self.journal_per_million / 1_000_000,
        }
    }

    /// Superblocks erased so far.
    #[must_use]
    pub const fn erases(&self) -> u64 {
        self.table.all_erases
    }

    /// Superblocks that are erased and not open, in per cent of all.
    #[must_use]
    pub fn free_superblocks_pct(&self) -> f64 {
        100.0 * f64::from(self.table.free()) / f64::from(self.layout.superblocks)
    }

    /// Whether a superblock is full: closed, and not on its way to be free.
    #[must_use]
    pub fn is_full(&self, superblock: u32) -> bool {
        self.table.state(superblock) == State::Closed
    }

    /// Superblocks that have worn out.
    #[must_use]
    pub const fn bad_superblocks(&self) -> u32 {
        self.table.bad
    }

    /// How many superblocks may still wear out before the drive is read-only, and how many of a new drive.
    #[must_use]
    pub fn spare(&self) -> (u32, u32) {
        let spare = self.layout.superblocks - self.space.needed_superblocks;
        (spare.saturating_sub(self.table.bad), spare)
    }

    /// Whether writes are refused for good.
    #[must_use]
    pub const fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Superblocks whose cells hold a single bit now.
    #[must_use]
    pub fn slc_superblocks(&self) -> u32 {
        self.slc.as_ref().map_or(0, |slc| slc.superblocks)
    }

    /// Pages that hold data.
    #[must_use]
    pub const fn mapped_pages(&self) -> u32 {
        self.mapped
    }

    /// Erase counts of the superblocks in use.
    #[must_use]
    pub fn erase_counts(&self) -> EraseCounts {
        self.table.erase_counts()
    }

    /// How often a superblock was erased.
    #[must_use]
    pub fn erases_of(&self, superblock: u32) -> u32 {
        self.table.erases(superblock)
    }

    /// Bytes of the tables that have an entry for each page.
    #[must_use]
    pub fn table_bytes(&self) -> usize {
        self.map.bytes()
    }

    /// Slots that hold nothing at a full group, on average in a steady state in which victims hold
    /// `valid_share`, as a share of the user space: so much space takes no part in collection.
    #[must_use]
    pub fn empty_per_user(&self, valid_share: f64) -> f64 {
        self.space.mean_empty(&self.layout, self.burst, valid_share)
            / (f64::from(self.layout.user_pages) * f64::from(1 << self.layout.granule_shift))
    }
}
