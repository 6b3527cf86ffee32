//! How well superblocks still hold their data, and what reads pay for it.

use crate::ftl::Place;
use crate::media_errors::{BitErrors, BlockCondition, RetryTiers};
use crate::time::Ps;

/// The state of each superblock that bit errors depend on.
pub(super) struct Retention {
    law: BitErrors,
    tiers: RetryTiers,
    blocks: Box<[Block]>,
    uncorrectable: u64,
}

#[derive(Clone, Copy, Default)]
struct Block {
    closed_ps: Ps,
    reads: u64,
}

/// What a read of the host meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Correction {
    /// How much longer it takes.
    pub(super) retries_ps: Ps,
    /// Whether it is in vain.
    pub(super) fails: bool,
}

impl Retention {
    pub(super) fn new(law: BitErrors, superblocks: u32) -> Self {
        Self {
            law,
            tiers: RetryTiers::new(superblocks as usize),
            blocks: vec![Block::default(); superblocks as usize].into_boxed_slice(),
            uncorrectable: 0,
        }
    }

    /// The superblock is empty again.
    pub(super) fn erased(&mut self, superblock: u32) {
        self.tiers.forget(superblock as usize);
        self.blocks[superblock as usize] = Block::default();
    }

    /// The superblock is full: from now on its data age.
    pub(super) fn closed(&mut self, superblock: u32, now_ps: Ps) {
        // 0 stands for a superblock that is not full yet.
        self.blocks[superblock as usize].closed_ps = now_ps.max(1);
    }

    /// All superblocks are empty.
    pub(super) fn all_erased(&mut self) {
        (0..self.blocks.len() as u32).for_each(|superblock| self.erased(superblock));
    }

    /// The host reads a page; the superblock has been erased so often.
    pub(super) fn read(&mut self, place: &Place, erases: u32, now_ps: Ps) -> Correction {
        let block = &mut self.blocks[place.superblock as usize];
        block.reads += 1;
        let age_ps = if block.closed_ps == 0 { 0 } else { now_ps.saturating_sub(block.closed_ps) };
        let condition = BlockCondition { erases, age_ps, reads: block.reads };
        let tier = self.tiers.of(place.superblock as usize, &self.law, condition);
        let chunk = place.superblock.rotate_right(12) ^ place.chunk as u32;
        let fails = self.law.is_uncorrectable(tier, chunk, block.reads);
        self.uncorrectable += u64::from(fails);
        Correction { retries_ps: self.law.retries_ps(tier), fails }
    }

    /// Reads in vain so far.
    pub(super) const fn uncorrectable(&self) -> u64 {
        self.uncorrectable
    }
}
