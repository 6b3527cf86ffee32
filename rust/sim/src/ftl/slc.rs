//! Single-bit cells as a cache: how much of it there may be, and what is owed to it.

use super::layout::Layout;
use super::victim::Victim;
use crate::preset::SlcCache;

/// One, as the fixed point shares of the cache have it.
pub(super) const ONE: u64 = 1 << 16;

/// The cache.
#[derive(Clone, Debug)]
pub(super) struct Slc {
    /// Superblocks that may always be used so.
    fixed: u32,
    /// Share of the unmapped space that may be, besides.
    share: u64,
    /// Granules that are folded for each that the host writes to native cells.
    pub(super) fold_share: u64,
    /// Granules that may be folded now.
    pub(super) credit: u64,
    /// Superblocks that are used so.
    pub(super) superblocks: u32,
    pub(super) victim: Option<Victim>,
}

impl Slc {
    pub(super) fn new(preset: &SlcCache, layout: &Layout) -> Self {
        let fixed = |share: f64| (share * ONE as f64).round() as u64;
        Self {
            fixed: (preset.static_share * f64::from(layout.superblocks)).round() as u32,
            share: fixed(preset.dynamic_share),
            fold_share: fixed(preset.fold_share),
            credit: 0,
            superblocks: 0,
            victim: None,
        }
    }

    /// How many superblocks may be used so.
    pub(super) fn limit(&self, unmapped_pages: u32, superblock_pages: u32) -> u32 {
        let dynamic = u64::from(unmapped_pages) * self.share / u64::from(superblock_pages) / ONE;
        self.fixed + dynamic as u32
    }

    pub(super) fn forget(&mut self) {
        (self.credit, self.superblocks, self.victim) = (0, 0, None);
    }
}
