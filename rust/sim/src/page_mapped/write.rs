//! What the host changes: writes, trims and flushes.

use openpts_core::workload::Io;

use super::partial_pages::{Old, PAGE_BYTES, PAGE_SHIFT, Part};
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
        let is_whole = (io.offset_bytes | u64::from(io.length_bytes)) & u64::from(PAGE_BYTES - 1) == 0;
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

    /// Write pages of which some are not whole.
    #[cold]
    fn write_parts(&mut self, io: &Io, arrival_ps: Ps) -> Result<Ps, ReadOnly> {
        let (first, last) = Self::pages(io);
        let end_bytes = io.offset_bytes + u64::from(io.length_bytes);
        let mut admitted_ps = arrival_ps;
        for lpn in first..=last {
            let page_bytes = u64::from(lpn) << PAGE_SHIFT;
            let from = io.offset_bytes.saturating_sub(page_bytes) as u32;
            let to = (end_bytes - page_bytes).min(u64::from(PAGE_BYTES)) as u32;
            admitted_ps = if to - from == PAGE_BYTES {
                self.write_pages(lpn, lpn, arrival_ps)?
            } else {
                self.write_part(lpn, from, to, arrival_ps)?
            };
        }
        Ok(admitted_ps)
    }

    /// Write a part of a page. While the page waits in the buffer, further parts join it there.
    fn write_part(&mut self, lpn: u32, from: u32, to: u32, arrival_ps: Ps) -> Result<Ps, ReadOnly> {
        let place = self.ftl.lookup(lpn);
        let part = self.partial.write(lpn, from, to);
        if part == Part::Joins && place.is_some_and(|place| place.buffered) {
            return Ok(arrival_ps);
        }
        if part == Part::Begins {
            let old =
                place.filter(|place| !place.buffered).map(|place| Old { die: place.die, cells: place.cells });
            if self.cache.defers() {
                // It has to be whole before it is programmed.
                self.complete(old, arrival_ps);
            } else if let Some(evicted) = self.partial.begin(lpn, from, to, old) {
                self.complete(evicted, arrival_ps);
            }
        }
        self.write_page(lpn, arrival_ps)
    }

    /// Bring what the host did not write of a page from where it lies.
    fn complete(&mut self, old: Option<Old>, arrival_ps: Ps) {
        self.front_end.book(arrival_ps, self.times.partial_write_ps);
        if let Some(Old { die, cells }) = old {
            self.back_end.flash.read(die as usize, cells, arrival_ps, 1, 0);
        }
    }

    /// All pages whose rest has not come by now are completed.
    pub(super) fn complete_all(&mut self, now_ps: Ps) {
        while let Some(old) = self.partial.close_one() {
            self.complete(old, now_ps);
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
