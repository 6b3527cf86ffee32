//! When the flash is done: dies that are busy until a moment, and a buffer before them.

use crate::preset::LogBlock;
use crate::time::{Ps, ps_of_us};

/// Dies, and the write buffer, whose places are free again when what they held is programmed.
pub(super) struct Flash {
    read_ps: Ps,
    program_ps: Ps,
    log_program_ps: Ps,
    erase_ps: Ps,
    program_unit_pages: u32,
    read_unit_pages: u32,
    die_free_ps: Vec<Ps>,
    place_free_ps: Vec<Ps>,
    /// Pages in the program unit that is filled now, and when the last of them came.
    open_pages: u32,
    filled_ps: Ps,
    next_die: usize,
    next_place: usize,
}

impl Flash {
    pub(super) fn new(parts: &LogBlock) -> Self {
        Self {
            read_ps: ps_of_us(parts.read_us),
            program_ps: ps_of_us(parts.program_us),
            log_program_ps: ps_of_us(parts.program_us / parts.log_speed),
            erase_ps: ps_of_us(parts.erase_us),
            program_unit_pages: parts.program_unit_pages,
            read_unit_pages: parts.read_unit_pages,
            die_free_ps: vec![0; parts.dies as usize],
            place_free_ps: vec![0; parts.buffer_program_units as usize],
            open_pages: 0,
            filled_ps: 0,
            next_die: 0,
            next_place: 0,
        }
    }

    /// A page of the host comes into the buffer; gives the moment from which on the host need not wait.
    pub(super) fn write_page(&mut self, at_ps: Ps) -> Ps {
        let admitted_ps = at_ps.max(self.place_free_ps[self.next_place]);
        self.filled_ps = self.filled_ps.max(admitted_ps);
        self.open_pages += 1;
        if self.open_pages == self.program_unit_pages {
            self.program_open();
        }
        admitted_ps
    }

    fn program_open(&mut self) {
        let die_free_ps = &mut self.die_free_ps[self.next_die];
        *die_free_ps = self.filled_ps.max(*die_free_ps) + self.log_program_ps;
        self.place_free_ps[self.next_place] = *die_free_ps;
        self.next_die = next(self.next_die, self.die_free_ps.len());
        self.next_place = next(self.next_place, self.place_free_ps.len());
        self.open_pages = 0;
    }

    /// Pages that the open program unit lacks; 0 if none is open.
    pub(super) const fn lacking_pages(&self) -> u32 {
        if self.open_pages == 0 { 0 } else { self.program_unit_pages - self.open_pages }
    }

    /// When all that was begun is done.
    pub(super) fn all_done_ps(&self) -> Ps {
        self.die_free_ps.iter().copied().max().unwrap_or(0)
    }

    /// One array read; `read_unit` decides on which die.
    pub(super) fn read(&mut self, read_unit: u64, at_ps: Ps) -> Ps {
        let dies = self.die_free_ps.len() as u64;
        let die_free_ps = &mut self.die_free_ps[(read_unit % dies) as usize];
        *die_free_ps = at_ps.max(*die_free_ps) + self.read_ps;
        *die_free_ps
    }

    /// Number of the array read that gives a page.
    #[inline]
    pub(super) const fn read_unit(&self, page: u64) -> u64 {
        page / self.read_unit_pages as u64
    }

    /// Time of a merge: all dies read, then program, so many pages, and the old blocks are erased.
    pub(super) fn merge_ps(&self, pages: u32) -> Ps {
        let dies = self.die_free_ps.len() as u64;
        let rounds = |unit_pages: u32| u64::from(pages).div_ceil(u64::from(unit_pages) * dies);
        rounds(self.read_unit_pages) * self.read_ps
            + rounds(self.program_unit_pages) * self.program_ps
            + self.erase_ps
    }

    /// All dies do this together when they are free; gives its end.
    pub(super) fn occupy_all(&mut self, at_ps: Ps, duration_ps: Ps) -> Ps {
        let end_ps = self.all_done_ps().max(at_ps) + duration_ps;
        self.die_free_ps.fill(end_ps);
        end_ps
    }

    /// Time of a program of the log.
    #[cfg(test)]
    pub(super) const fn log_program_ps(&self) -> Ps {
        self.log_program_ps
    }

    /// Time of so many erases, which all dies do for one unit at once.
    pub(super) const fn erases_ps(&self, erases: u64) -> Ps {
        self.erase_ps * erases
    }

    /// The buffer's data are lost; what the dies have begun goes on.
    pub(super) const fn forget_open(&mut self) {
        self.open_pages = 0;
    }
}

const fn next(index: usize, length: usize) -> usize {
    if index + 1 == length { 0 } else { index + 1 }
}
