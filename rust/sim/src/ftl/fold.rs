//! Folding: what lies in single-bit cells is moved to native ones; and idle work.

use super::frontier::Frontier;
use super::nand::{Cells, Nand};
use super::slc::ONE;
use super::victim::{Dose, Victim};
use super::{Ftl, SLC};

impl Ftl {
    fn slc_limit(&self) -> u32 {
        let unmapped = self.layout.user_pages - self.mapped;
        self.slc.as_ref().map_or(0, |slc| slc.limit(unmapped, self.layout.superblock_pages))
    }

    /// Whether more superblocks have single-bit cells than may.
    pub(super) fn slc_is_over_limit(&self) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.superblocks > self.slc_limit())
    }

    /// Whether the host may write to single-bit cells; opens a superblock if need be.
    pub(super) fn slc_is_writable(&mut self, nand: &mut impl Nand) -> bool {
        if self.slc.is_none() {
            return false;
        }
        if self.frontiers[SLC].is_open() {
            return true;
        }
        if !self.slc_may_grow() {
            self.reclaim_slc(nand);
        }
        if !self.slc_may_grow() || !self.open(SLC) {
            return false;
        }
        self.space.empty -= self.space.of_superblocks(1);
        self.slc.iter_mut().for_each(|slc| slc.superblocks += 1);
        true
    }

    fn slc_may_grow(&self) -> bool {
        self.slc_superblocks() < self.slc_limit() && self.space.has_superblock_over()
    }

    /// Erase a superblock of the cache in which nothing is wanted any longer, if there is one.
    fn reclaim_slc(&mut self, nand: &mut impl Nand) {
        if let Some(superblock) = self.table.emptiest_slc().filter(|found| self.table.valid(*found) == 0) {
            let mut victim = self.begin(superblock);
            self.advance(&mut victim, Dose::WHOLE, nand);
            self.unless_folded(victim, nand);
        }
    }

    fn unless_folded(&mut self, victim: Victim, nand: &mut impl Nand) -> Option<Victim> {
        let victim = self.unless_done(victim, nand);
        if let (None, Some(slc)) = (victim, &mut self.slc) {
            slc.superblocks -= 1;
        }
        victim
    }

    /// A dose of folding; gives the granules moved, or `None` if the cache has no full superblock.
    pub(super) fn fold_some(&mut self, dose: Dose, nand: &mut impl Nand) -> Option<u32> {
        let begun = self.slc.as_mut()?.victim.take();
        let mut victim = match begun {
            Some(victim) => victim,
            None => {
                let superblock = self.table.emptiest_slc()?;
                self.begin(superblock)
            }
        };
        let moved = self.advance(&mut victim, dose, nand);
        let victim = self.unless_folded(victim, nand);
        self.slc.as_mut()?.victim = victim;
        Some(moved)
    }

    /// The host had to write to native cells: fold its share.
    pub(super) fn fold_beside(&mut self, native_slots: u32, nand: &mut impl Nand) {
        let Some(slc) = &mut self.slc else { return };
        slc.credit += u64::from(native_slots) * slc.fold_share;
        let mut credit = slc.credit;
        while credit >= ONE {
            let dose = Dose { moves: (credit / ONE) as u32, ..Dose::WHOLE };
            let Some(moved) = self.fold_some(dose, nand) else {
                credit = 0;
                break;
            };
            credit = credit.saturating_sub(u64::from(moved) * ONE);
        }
        self.slc.iter_mut().for_each(|slc| slc.credit = credit);
    }

    /// The open superblock of the cache counts as full, if it holds anything.
    fn close_slc(&mut self, nand: &mut impl Nand) -> bool {
        if self.host == SLC {
            self.close_group(nand);
        }
        let Frontier { superblock, .. } = self.frontiers[SLC];
        if !self.frontiers[SLC].is_open() || self.frontiers[SLC].room() == self.layout.slc.slots {
            return false;
        }
        self.frontiers[SLC] = Frontier::closed(Cells::Slc);
        self.close(superblock, nand);
        true
    }

    /// Move all that single-bit cells hold into native ones, as an admin command does; false if the preset
    /// has none.
    pub fn fold_all(&mut self, nand: &mut impl Nand) -> bool {
        if self.slc.is_none() {
            return false;
        }
        self.close_slc(nand);
        let moves = self.layout.native.group_slots;
        while self.fold_some(Dose { moves, ..Dose::WHOLE }, nand).is_some() {
            self.collect(nand);
        }
        self.choose_host_frontier(nand);
        true
    }

    /// A unit of idle work, about a group of moves: folding first, then collection, within the limits of the
    /// preset's `[idle]`. False if there is nothing to do.
    pub fn idle_step(&mut self, nand: &mut impl Nand) -> bool {
        let done = self.idle_work(nand);
        // Mixed with the host's, moved pages may have filled its superblock.
        if done && !self.frontiers[self.host].is_open() {
            self.choose_host_frontier(nand);
        }
        done
    }

    fn idle_work(&mut self, nand: &mut impl Nand) -> bool {
        let Some(idle) = self.idle else { return false };
        let dose = Dose { moves: self.layout.native.group_slots, ..Dose::WHOLE };
        if idle.folds && self.slc.is_some() {
            if self.fold_some(dose, nand).is_some() {
                self.collect(nand);
                return true;
            }
            if self.close_slc(nand) {
                return true;
            }
        }
        let target = (idle.free_target_share * f64::from(self.layout.superblocks)).ceil() as u32;
        if self.table.free() >= target {
            return false;
        }
        let slots = self.layout.native.slots;
        let most_valid = (idle.most_valid_share * f64::from(slots)).min(f64::from(slots - 1)) as u32;
        self.collect_some(dose, most_valid, nand)
    }
}
