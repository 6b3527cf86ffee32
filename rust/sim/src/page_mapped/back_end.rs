//! What the map asks of the flash, booked on its dies.

use super::retention::Retention;
use crate::ftl::{Cells, Nand, Program};
use crate::time::Ps;
use crate::timing::{Flash, GroupCommit, WriteBuffer};

/// The flash, and what waits for it.
pub(super) struct BackEnd {
    pub(super) flash: Flash,
    pub(super) buffer: WriteBuffer,
    pub(super) commits: GroupCommit,
    pub(super) retention: Option<Retention>,
    pub(super) erases: EraseShare,
    pub(super) journal: Journal,
    /// When all that the host wrote so far is programmed, as far as it was booked.
    pub(super) host_done_ps: Ps,
    /// The first die of the group that the host writes next, and of that for moved pages.
    pub(super) next_host_die: u32,
    pub(super) next_moved_die: u32,
}

/// A simulated superblock has few rows: only some of its erases stand for one of a real superblock.
#[derive(Clone, Copy, Debug)]
pub(super) struct EraseShare {
    rows: u64,
    rows_per_erase: u64,
    rows_erased: u64,
}

impl EraseShare {
    pub(super) fn new(rows: u32, rows_per_erase: u32) -> Self {
        Self { rows: rows.into(), rows_per_erase: rows_per_erase.into(), rows_erased: 0 }
    }

    /// One more is erased; gives how many real ones are due with it.
    fn take(&mut self) -> u64 {
        self.rows_erased += self.rows;
        let due = self.rows_erased / self.rows_per_erase;
        self.rows_erased -= due * self.rows_per_erase;
        due
    }

    /// Real erases, one after the other, of so many superblocks.
    pub(super) fn of(&self, superblocks: u32) -> u64 {
        (u64::from(superblocks) * self.rows).div_ceil(self.rows_per_erase)
    }
}

/// The map's own pages, programmed whenever they fill a unit, on one die after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Journal {
    /// For a million pages of the host.
    per_million: u64,
    /// What fills a unit, and what there is of it, in millionths of a page.
    unit: u64,
    gathered: u64,
    dies: u32,
    next_die: u32,
}

impl Journal {
    pub(super) fn new(per_1000: f64, unit_pages: u32, dies: u32) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "presets are checked")]
        let per_million = (per_1000 * 1000.0).round() as u64;
        Self { per_million, unit: u64::from(unit_pages) * 1_000_000, gathered: 0, dies, next_die: 0 }
    }

    /// The host has written so many pages more; gives the dies that program for it, if any.
    #[inline]
    fn gather(&mut self, host_pages: u32) -> impl Iterator<Item = u32> + use<> {
        self.gathered += u64::from(host_pages) * self.per_million;
        let (first, mut count) = (self.next_die, 0);
        while self.gathered >= self.unit {
            self.gathered -= self.unit;
            count += 1;
        }
        let dies = self.dies;
        self.next_die = (first + count) % dies;
        (first..first + count).map(move |die| die % dies)
    }
}

/// The back end at a moment: all that the map asks for arrives then.
pub(super) struct At<'a>(pub(super) &'a mut BackEnd, pub(super) Ps);

impl Nand for At<'_> {
    #[inline]
    fn program(&mut self, program: &Program) {
        let Self(back_end, now_ps) = self;
        let BackEnd { flash, buffer, journal, .. } = &mut **back_end;
        if !program.has_host && program.moved_pages > 0 {
            for die in program.dies.clone() {
                flash.program(die as usize, program.cells, *now_ps);
            }
            back_end.next_moved_die = program.dies.end;
            return;
        }
        let mut last_ps = 0;
        buffer.begin_release(program.dies.len() as u32);
        for die in program.dies.clone() {
            let done_ps = flash.program(die as usize, program.cells, *now_ps);
            buffer.release_at(done_ps);
            last_ps = last_ps.max(done_ps);
        }
        for die in journal.gather(program.host_pages) {
            flash.program(die as usize, Cells::Native, *now_ps);
        }
        back_end.next_host_die = program.dies.end;
        back_end.host_done_ps = back_end.host_done_ps.max(last_ps);
        back_end.commits.programmed(last_ps);
    }

    #[inline]
    fn read_row(&mut self, first_die: u32, dies: u64, cells: Cells) {
        let mut left = dies;
        while left != 0 {
            let die = first_die + left.trailing_zeros();
            self.0.flash.read_aside(die as usize, cells, self.1, 1);
            left &= left - 1;
        }
    }

    fn erase(&mut self, superblock: u32) {
        for _ in 0..self.0.erases.take() {
            self.0.flash.erase_all(self.1);
        }
        if let Some(retention) = &mut self.0.retention {
            retention.erased(superblock);
        }
    }

    fn closed(&mut self, superblock: u32) {
        if let Some(retention) = &mut self.0.retention {
            retention.closed(superblock, self.1);
        }
    }
}
