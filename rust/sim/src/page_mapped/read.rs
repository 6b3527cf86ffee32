//! Reads of the host.

use openpts_core::workload::Io;

use super::PageMappedDrive;
use crate::drive::Completion;
use crate::ftl::{Cells, Place};
use crate::time::Ps;

const UNCORRECTABLE: &str = "uncorrectable read error";

/// Pages that one array read brings.
#[derive(Clone, Copy)]
struct Chunk {
    place: Place,
    pages: u64,
    retries_ps: Ps,
}

impl PageMappedDrive {
    pub(super) fn read(&mut self, io: &Io, now_ps: Ps) -> Completion {
        let accepted_ps = self.front_end.book(now_ps, self.times.read_ps);
        let crossing = self.link.book_read(accepted_ps, io.length_bytes);
        let (first, last) = Self::pages(io);
        let asked_ps = self.read_map(first, last, crossing.first_page_ps);
        let (mut end_ps, mut failed) = (crossing.end_ps.max(asked_ps), false);
        let mut open: Option<Chunk> = None;
        for lpn in first..=last {
            // What is not mapped, or still in the buffer, takes no time of a die.
            let Some(place) = self.ftl.lookup(lpn).filter(|place| !place.buffered) else { continue };
            let (retries_ps, fails) = self.correction(&place, now_ps);
            failed |= fails;
            match &mut open {
                Some(chunk) if chunk.place.chunk == place.chunk => {
                    chunk.pages += 1;
                    chunk.retries_ps = chunk.retries_ps.max(retries_ps);
                }
                _ => {
                    let next = Chunk { place, pages: 1, retries_ps };
                    if let Some(chunk) = open.replace(next) {
                        end_ps = end_ps.max(self.read_chunk(&chunk, asked_ps));
                    }
                }
            }
        }
        if let Some(chunk) = open {
            end_ps = end_ps.max(self.read_chunk(&chunk, asked_ps));
        }
        Completion { at_ps: end_ps + self.times.fixed_read_ps, error: failed.then_some(UNCORRECTABLE) }
    }

    #[inline]
    fn read_chunk(&mut self, chunk: &Chunk, asked_ps: Ps) -> Ps {
        let Chunk { place, pages, retries_ps, .. } = *chunk;
        self.back_end.flash.read(place.die as usize, place.cells, asked_ps, pages, retries_ps)
    }

    /// Retries that a page needs, and whether they are in vain.
    #[inline]
    fn correction(&mut self, place: &Place, now_ps: Ps) -> (Ps, bool) {
        let Some(retention) = &mut self.back_end.retention else { return (0, false) };
        let correction = retention.read(place, self.ftl.erases_of(place.superblock), now_ps);
        (correction.retries_ps, correction.fails)
    }

    /// Read what is not at hand of the map, one page after the other; gives the moment at which it is.
    #[inline]
    fn read_map(&mut self, first: u32, last: u32, arrival_ps: Ps) -> Ps {
        let Some(cache) = &mut self.map_cache else { return arrival_ps };
        let flash = &mut self.back_end.flash;
        let dies = self.ftl.layout().dies;
        let mut at_ps = arrival_ps;
        for lpn in first..=last {
            if let Some(map_page) = cache.miss(lpn) {
                at_ps = flash.read((map_page % dies) as usize, Cells::Native, at_ps, 1, 0);
            }
        }
        at_ps
    }
}
