//! The flash blocks behind units and log: how often each was erased, which have worn out, which replace them.

use std::collections::BTreeSet;

use openpts_core::workload::Uniform;

use crate::preset::Wear;
use crate::smart::EraseCounts;
use crate::wear::erases_of_one;

/// Blocks as large as a unit. A place of the log, which is erased often, goes on with the block that was erased
/// or the spare one with the fewest erases; a unit, which keeps its data for long, with that with the most. So
/// all of them wear alike, as long as all places are written.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    /// The block at each place: of units, then of the log.
    at_place: Vec<u32>,
    erases: Vec<u32>,
    /// Erases that each lives; empty where none wears out.
    limits: Vec<u32>,
    /// By erases.
    spare: BTreeSet<(u32, u32)>,
    /// Places of units; those behind them are of the log.
    units: usize,
    bad: Vec<bool>,
    retired: u32,
    is_read_only: bool,
}

impl Blocks {
    /// Blocks that never wear out, and none to spare.
    pub(super) fn everlasting(units: usize, log: usize) -> Self {
        let places = units + log;
        Self {
            at_place: (0..places as u32).collect(),
            erases: vec![0; places],
            limits: Vec::new(),
            spare: BTreeSet::new(),
            units,
            bad: vec![false; places],
            retired: 0,
            is_read_only: false,
        }
    }

    /// New blocks that wear out, and a share of them to spare: at least one.
    pub(super) fn wearing(self, wear: &Wear, spare_share: f64, random: &mut Uniform) -> Self {
        let places = self.at_place.len();
        let spare = ((places as f64 * spare_share).round() as usize).max(1);
        let all = places + spare;
        Self {
            erases: vec![0; all],
            limits: (0..all).map(|_| erases_of_one(wear, random)).collect(),
            spare: (places as u32..all as u32).map(|block| (0, block)).collect(),
            bad: vec![false; all],
            ..self
        }
    }

    /// Erase the block at a place. One that has worn out is replaced; without a spare one it is kept, and
    /// the drive takes no more writes.
    pub(super) fn erase(&mut self, place: usize) {
        let block = self.at_place[place] as usize;
        self.erases[block] += 1;
        let erases = self.erases[block];
        let is_worn = self.limits.get(block).is_some_and(|limit| erases >= *limit);
        if is_worn && self.spare.is_empty() {
            self.is_read_only = true;
            return;
        }
        if is_worn {
            self.bad[block] = true;
            self.retired += 1;
        } else {
            self.spare.insert((erases, block as u32));
        }
        let next = if place < self.units { self.spare.pop_last() } else { self.spare.pop_first() };
        self.at_place[place] = next.expect("the erased block, or a spare one").1;
    }

    /// Whether a worn block could not be replaced.
    pub(super) const fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Blocks out of use.
    pub(super) const fn retired(&self) -> u32 {
        self.retired
    }

    /// What is left of the spare blocks, in per cent of those of a new drive.
    pub(super) fn available_spare_pct(&self) -> f64 {
        let (left, worn) = (self.spare.len() as f64, f64::from(self.retired));
        if left + worn == 0.0 { 100.0 } else { left / (left + worn) * 100.0 }
    }

    /// Erases of each block.
    #[cfg(test)]
    pub(super) fn erases(&self) -> &[u32] {
        &self.erases
    }

    pub(super) fn total_erases(&self) -> u64 {
        self.erases.iter().map(|erases| u64::from(*erases)).sum()
    }

    /// Erase counts of the blocks that are still in use.
    pub(super) fn erase_counts(&self) -> EraseCounts {
        let used = || self.erases.iter().zip(&self.bad).filter(|(_, bad)| !**bad).map(|(erases, _)| *erases);
        EraseCounts {
            min: used().min().unwrap_or(0),
            mean: used().map(f64::from).sum::<f64>() / used().count().max(1) as f64,
            max: used().max().unwrap_or(0),
        }
    }
}
