//! What the host changes: writes, trims and flushes.

use openpts_core::workload::Io;

use super::partial_pages::{Old, Open, PAGE_BYTES, PAGE_SHIFT, Part};
use super::{At, BackEnd, Cache, PageMappedDrive};
use crate::drive::{Answer, Completion};
use crate::ftl::ReadOnly;
use crate::time::Ps;

const READ_ONLY: &str = "the drive is read-only: too many superblocks have worn out";

const NO_HANDLE: &str = "the drive has no such placement handle";

impl PageMappedDrive {
    pub(super) fn write(&mut self, io: &Io, tag: u32, now_ps: Ps) -> Answer {
        let accepted_ps = self.front_end.book(now_ps, self.times.write_ps);
        let crossing = self.link.book_write(accepted_ps, io.length_bytes);
        let is_whole =
            (io.offset_bytes | u64::from(io.length_bytes)) & u64::from(self.partial.unit_bytes() - 1) == 0;
        let admitted = if !self.takes(io.handle) {
            let at_ps = crossing.end_ps + self.times.fixed_write_ps;
            return Answer::Known(Completion { at_ps, error: Some(NO_HANDLE) });
        } else if self.follow(io.handle).is_err() {
            Err(ReadOnly)
        } else if is_whole {
            let (first, last) = Self::pages(io);
            self.write_pages(first, last, crossing.first_page_ps)
        } else {
            self.write_parts(io, crossing.first_page_ps)
        };
        let Ok(admitted_ps) = admitted else {
            let at_ps = crossing.end_ps + self.times.fixed_write_ps;
            return Answer::Known(Completion { at_ps, error: Some(READ_ONLY) });
        };
        let in_ps = crossing.end_ps.max(admitted_ps);
        if self.cache.defers() {
            return self.commit(io, tag, now_ps, in_ps);
        }
        Answer::Known(Completion { at_ps: in_ps + self.times.fixed_write_ps, error: None })
    }

    /// Write whole pages; gives the moment at which the last of them is in the buffer.
    #[inline]
    fn write_pages(&mut self, first: u32, last: u32, arrival_ps: Ps) -> Result<Ps, ReadOnly> {
        let mut admitted_ps = arrival_ps;
        for lpn in first..=last {
            if !self.partial.is_empty() {
                self.partial.forget(lpn);
            }
            admitted_ps = self.write_page(lpn, arrival_ps)?;
        }
        Ok(admitted_ps)
    }

    #[inline]
    fn write_page(&mut self, lpn: u32, arrival_ps: Ps) -> Result<Ps, ReadOnly> {
        let size = self.size.next();
        let admitted_ps = self.back_end.buffer.admit(arrival_ps, size.into());
        self.ftl.write(lpn, size, &mut At(&mut self.back_end, admitted_ps))?;
        Ok(admitted_ps)
    }

    /// Write units of which some are not whole.
    #[cold]
    fn write_parts(&mut self, io: &Io, arrival_ps: Ps) -> Result<Ps, ReadOnly> {
        let (unit_pages, unit_bytes) = (self.partial.unit_pages(), u64::from(self.partial.unit_bytes()));
        let end_bytes = io.offset_bytes + u64::from(io.length_bytes);
        let mut admitted_ps = arrival_ps;
        for unit in io.offset_bytes / unit_bytes..end_bytes.div_ceil(unit_bytes) {
            let from = io.offset_bytes.saturating_sub(unit * unit_bytes);
            let to = (end_bytes - unit * unit_bytes).min(unit_bytes);
            let (unit, is_whole) = (unit as u32, to - from == unit_bytes);
            admitted_ps = if is_whole {
                self.write_pages(unit * unit_pages, unit * unit_pages + unit_pages - 1, arrival_ps)?
            } else {
                self.write_part(unit, from as u32, to as u32, arrival_ps)?
            };
        }
        Ok(admitted_ps)
    }

    /// Write a part of a unit. While a page of it waits in the buffer, further parts join it there.
    fn write_part(&mut self, unit: u32, from: u32, to: u32, arrival_ps: Ps) -> Result<Ps, ReadOnly> {
        let first = unit * self.partial.unit_pages() + (from >> PAGE_SHIFT);
        let last = unit * self.partial.unit_pages() + ((to - 1) >> PAGE_SHIFT);
        let is_small = (from | to) & (PAGE_BYTES - 1) != 0;
        let place = self.ftl.lookup(first);
        let part = self.partial.write(unit, from, to);
        if is_small && first == last && part == Part::Joins && place.is_some_and(|place| place.buffered) {
            return Ok(arrival_ps);
        }
        if part == Part::Begins {
            let old = place
                .filter(|place| is_small && !place.buffered)
                .map(|place| Old { die: place.die, cells: place.cells });
            let open = Open { unit, from, to, old };
            if self.cache.defers() {
                // It has to be whole before it is programmed.
                self.complete(open, arrival_ps)?;
            } else if let Some(evicted) = self.partial.begin(open) {
                self.complete(evicted, arrival_ps)?;
            }
        }
        let mut admitted_ps = arrival_ps;
        for lpn in first..=last {
            admitted_ps = self.write_page(lpn, arrival_ps)?;
        }
        Ok(admitted_ps)
    }

    /// Bring what the host did not write of a unit from where it lies, and write its other pages again.
    fn complete(&mut self, open: Open, arrival_ps: Ps) -> Result<(), ReadOnly> {
        self.front_end.book(arrival_ps, self.times.partial_write_ps);
        if let Some(Old { die, cells }) = open.old {
            self.back_end.flash.read(die as usize, cells, arrival_ps, 1, 0);
        }
        let (unit_pages, mut chunk) = (self.partial.unit_pages(), None);
        let written = open.from >> PAGE_SHIFT..open.to.div_ceil(PAGE_BYTES);
        let end = (open.unit * unit_pages).saturating_add(unit_pages).min(self.ftl.layout().user_pages);
        for lpn in open.unit * unit_pages..end {
            if written.contains(&(lpn - open.unit * unit_pages)) {
                continue;
            }
            let place = self.ftl.lookup(lpn).filter(|place| !place.buffered);
            if let Some(place) = place.filter(|place| chunk.replace(place.chunk) != Some(place.chunk)) {
                self.back_end.flash.read(place.die as usize, place.cells, arrival_ps, 1, 0);
            }
            self.write_page(lpn, arrival_ps)?;
        }
        Ok(())
    }

    /// All units whose rest has not come by now are completed.
    pub(super) fn complete_all(&mut self, now_ps: Ps) {
        while let Some(open) = self.partial.close_one() {
            if self.complete(open, now_ps).is_err() {
                return;
            }
        }
    }

    /// A write without a cache: it is answered when its last page is programmed.
    fn commit(&mut self, io: &Io, tag: u32, now_ps: Ps, in_ps: Ps) -> Answer {
        let (first, last) = Self::pages(io);
        if !self.ftl.lookup(last).is_some_and(|place| place.buffered) {
            let at_ps = in_ps.max(self.back_end.host_done_ps) + self.times.fixed_write_ps;
            return Answer::Known(Completion { at_ps, error: None });
        }
        let first_waits = self.ftl.lookup(first).is_some_and(|place| place.buffered);
        let BackEnd { flash, commits, next_host_die, host_done_ps, .. } = &mut self.back_end;
        let die = *next_host_die % self.ftl.layout().dies;
        let close_at_ps = flash.done_ps(die as usize, in_ps).max(in_ps + self.times.collect_ps);
        // What went to earlier groups may be on dies that take longer than those of the last.
        let across_ps = if first_waits { in_ps } else { in_ps.max(*host_done_ps) };
        commits.wait(tag, now_ps, across_ps, close_at_ps);
        Answer::Deferred
    }

    pub(super) fn trim(&mut self, io: &Io, now_ps: Ps) -> Completion {
        let mask = u64::from(PAGE_BYTES - 1);
        let first = (io.offset_bytes + mask) >> PAGE_SHIFT;
        let end = (io.offset_bytes + u64::from(io.length_bytes)) >> PAGE_SHIFT;
        // Parts of pages keep their data.
        for lpn in first..end {
            if !self.partial.is_empty() {
                self.partial.forget(lpn as u32);
            }
            self.ftl.trim(lpn as u32);
        }
        let service_ps = self.times.trim_ps + self.times.trim_page_ps * end.saturating_sub(first);
        let accepted_ps = self.front_end.book(now_ps, service_ps);
        let crossing = self.link.book_write(accepted_ps, 0);
        Completion { at_ps: crossing.end_ps + self.times.fixed_write_ps, error: None }
    }

    pub(super) fn flush(&mut self, now_ps: Ps) -> Completion {
        let accepted_ps = self.front_end.book(now_ps, self.times.write_ps);
        let crossing = self.link.book_write(accepted_ps, 0);
        let mut done_ps = crossing.end_ps;
        if self.cache != Cache::Protected {
            done_ps = done_ps.max(self.empty_buffer(crossing.end_ps));
        }
        Completion { at_ps: done_ps + self.times.fixed_write_ps, error: None }
    }

    /// Program what is in the buffer; gives the moment at which that is done.
    pub(super) fn empty_buffer(&mut self, now_ps: Ps) -> Ps {
        self.complete_all(now_ps);
        self.ftl.close_group(&mut At(&mut self.back_end, now_ps));
        self.back_end.host_done_ps
    }
}
