//! The books must balance; looked at by tests, and now and then by debug builds.

use super::frontier::NONE;
use super::nand::Cells;
use super::superblocks::State;
use super::victim::Victim;
use super::{Ftl, placement};

/// Writes of the host between two looks.
#[cfg(debug_assertions)]
const WRITES_BETWEEN: u64 = 100_000;

impl Ftl {
    #[cfg(debug_assertions)]
    #[inline]
    pub(super) fn check_now_and_then(&mut self) {
        self.writes += 1;
        if self.writes.is_multiple_of(WRITES_BETWEEN) {
            self.check_consistency();
        }
    }

    /// Count everything anew and compare.
    ///
    /// # Panics
    /// If the books do not balance.
    pub fn check_consistency(&self) {
        let mut valid = vec![0; self.table.len() as usize];
        let mut mapped = 0;
        for (page, slot) in (0..).zip(self.map.slots.iter()).filter(|(_, slot)| **slot != NONE) {
            mapped += 1;
            valid[self.layout.superblock_of(*slot) as usize] += self.map.size_of(page);
            assert_eq!(self.map.pages[*slot as usize], page, "the slot of a page is that page's");
            assert!(self.map.valid[*slot as usize / 64] >> (slot % 64) & 1 == 1, "page {page} is valid");
        }
        assert_eq!(mapped, self.mapped, "mapped pages");
        let bits: u32 = self.map.valid.iter().map(|word| word.count_ones()).sum();
        assert_eq!(bits, self.mapped, "valid bits");
        for superblock in 0..self.table.len() {
            assert_eq!(valid[superblock as usize], self.table.valid(superblock), "valid in {superblock}");
        }
        self.check_states(&valid);
        self.check_space();
    }

    fn check_states(&self, valid: &[u32]) {
        let of_state = |state| (0..self.table.len()).filter(move |sb| self.table.state(*sb) == state);
        for superblock in of_state(State::Free).chain(of_state(State::Bad)) {
            assert_eq!(valid[superblock as usize], 0, "nothing lies in superblock {superblock}");
        }
        assert_eq!(of_state(State::Free).count() as u32, self.table.free(), "free superblocks");
        assert_eq!(of_state(State::Bad).count() as u32, self.table.bad, "bad superblocks");
        let open = self.frontiers.iter().filter(|frontier| frontier.is_open()).count();
        assert_eq!(of_state(State::Open).count(), open, "open superblocks");
        let slc = (0..self.table.len()).filter(|sb| {
            self.table.cells(*sb) == Cells::Slc && !matches!(self.table.state(*sb), State::Free | State::Bad)
        });
        assert_eq!(slc.count() as u32, self.slc_superblocks(), "superblocks with single-bit cells");
        if !self.read_only {
            assert!(self.frontiers[self.host].is_open(), "the host has a frontier");
        }
    }

    fn victims(&self) -> impl Iterator<Item = &Victim> {
        self.victim.iter().chain(self.slc.as_ref().and_then(|slc| slc.victim.as_ref()))
    }

    /// Empty slots, from where everything stands.
    fn check_space(&self) {
        let free = self.space.of_superblocks(self.table.free());
        let native = self.frontiers.iter().filter(|frontier| frontier.cells == Cells::Native);
        let left: i64 = native.map(|frontier| i64::from(frontier.room())).sum();
        let in_victims: i64 = self.victims().map(|victim| i64::from(victim.counted)).sum();
        let hosts = (0..self.handles).map(placement::frontier_of);
        let not_yet_taken: i64 = hosts.map(|which| i64::from(self.frontiers[which].host())).sum();
        assert_eq!(self.space.empty, free + left + in_victims + not_yet_taken, "empty slots");
    }
}
