//! What an LRU cache of each size would miss, and how far a sample of blocks may be off.

use std::collections::BTreeMap;

use super::sample::{GROUPS, error_of_total};
use super::values::bin_of;

/// Uses in one group of blocks, each counted as often as its block stands for others.
#[derive(Clone, Default)]
pub(super) struct Group {
    /// By distinct blocks in between, in parts of octaves.
    pub(super) again: BTreeMap<u64, u64>,
    pub(super) first: u64,
}

impl Group {
    /// By a cache of so many blocks, the part of an octave that they are in included.
    fn misses(&self, blocks: u64) -> f64 {
        (self.first + self.again.range(blocks..).map(|(_, n)| n).sum::<u64>()) as f64
    }
}

/// The curve of a sample in which each block stands for `weight`, by groups of blocks.
pub(super) struct MissRatios<'a> {
    pub(super) groups: &'a [Group; GROUPS],
    pub(super) accesses: f64,
    /// Those that the sample stands for.
    pub(super) sampled: f64,
    pub(super) weight: f64,
}

impl MissRatios<'_> {
    /// Of a cache of so many blocks. Accesses that the sample lacks, or has too many, are taken for hits: they
    /// are mostly those of a few blocks that are used all the time.
    pub(super) fn ratio(&self, blocks: u64) -> f64 {
        let misses: f64 = self.groups.iter().map(|group| group.misses(blocks)).sum();
        (misses / self.accesses).min(1.0)
    }

    /// The ratio is off by no more than this, in 95 % of samples or more; 0 if all blocks are in the sample.
    ///
    /// Three errors that do not depend on each other: which blocks are in the sample, as its groups differ;
    /// how many blocks are between two uses, as few stand for all; and the accesses that are taken for hits.
    pub(super) fn error(&self, blocks: u64) -> f64 {
        let ratio = self.ratio(blocks);
        let left_out = 1.0 - 1.0 / self.weight;
        let chosen =
            error_of_total(&self.groups.each_ref().map(|group| group.misses(blocks))) / self.accesses;
        let far = 1.96 * (left_out * self.weight / blocks as f64).sqrt();
        let smaller = self.ratio(bin_of((blocks as f64 * (1.0 - far)).max(0.0) as u64));
        let larger = self.ratio((blocks as f64 * (1.0 + far)).ceil() as u64);
        let between = (smaller - ratio).max(ratio - larger);
        let taken_for_hits = (self.accesses - self.sampled).abs() / self.accesses * ratio;
        let error = (chosen.powi(2) * left_out + between.powi(2) + taken_for_hits.powi(2)).sqrt();
        error.min(ratio.max(1.0 - ratio))
    }
}
