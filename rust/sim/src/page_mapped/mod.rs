//! The page-mapped drive: the map, the time that everything takes, and what follows from both.
//!
//! ```text
//! I/O -> front end -> link -> write: buffer -> map -> programs, moves, erases on the dies
//!                          -> read:  map -> channels -> dies
//! ```

mod admin;
mod back_end;
mod health;
mod heating;
mod idle;
mod make;
mod map_cache;
mod partial_pages;
mod placement;
mod prefetch;
mod read;
mod reduced_size;
mod retention;
mod write;

#[cfg(test)]
mod tests;

use openpts_core::engine::Spent;
use openpts_core::workload::{Io, Operation};

use back_end::{At, BackEnd};
use heating::Heating;
pub(crate) use make::dies;
use map_cache::MapCache;
use partial_pages::{PAGE_SHIFT, PartialPages};
use prefetch::Prefetch;
use reduced_size::ReducedSize;

use super::drive::{Answer, Completion, Drive, Refusal};
use super::ftl::Ftl;
use super::host_counters::HostCounters;
use super::placement::Placed;
use super::preset::{DataPlacement, Purge, Wear};
use super::smart::{Sensed, Smart};
use super::time::Ps;
use super::timing::{FrontEnd, Link};

/// When a write is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cache {
    /// From the buffer, which survives a loss of power.
    Protected,
    /// From the buffer if it is on, and when programmed if not.
    Volatile { on: bool },
    /// When it is programmed.
    Absent,
}

impl Cache {
    const fn defers(self) -> bool {
        matches!(self, Self::Volatile { on: false } | Self::Absent)
    }
}

/// The controller's times.
#[derive(Clone, Copy, Debug)]
struct Times {
    read_ps: Ps,
    write_ps: Ps,
    trim_ps: Ps,
    trim_page_ps: Ps,
    fixed_read_ps: Ps,
    fixed_write_ps: Ps,
    partial_write_ps: Ps,
    collect_ps: Ps,
}

/// A drive whose every page of 4 KiB may lie anywhere.
pub struct PageMappedDrive {
    ftl: Ftl,
    back_end: BackEnd,
    front_end: FrontEnd,
    link: Link,
    times: Times,
    cache: Cache,
    purge: Purge,
    partial: PartialPages,
    size: ReducedSize,
    map_cache: Option<MapCache>,
    /// Placement handles that it takes.
    placement: Option<DataPlacement>,
    /// How long the host is silent before idle work begins.
    idle_delay_ps: Option<Ps>,
    heating: Option<Heating>,
    wear: Option<Wear>,
    host: HostCounters,
    commands: u64,
    /// When [`Heating`] has something to do.
    next_tick_ps: Ps,
    now_ps: Ps,
    sector_bytes: u32,
    prefetch: Prefetch,
}

impl Drive for PageMappedDrive {
    fn capacity_bytes(&self) -> u64 {
        u64::from(self.ftl.layout().user_pages) << PAGE_SHIFT
    }

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    fn geometry(&self) -> Vec<(&'static str, f64)> {
        let layout = self.ftl.layout();
        vec![
            ("dies", layout.dies.into()),
            ("superblocks", layout.superblocks.into()),
            ("rows", layout.rows.into()),
            ("superblock_pages", layout.superblock_pages.into()),
            ("slc_superblock_pages", layout.slc_superblock_pages.into()),
            ("user_pages", layout.user_pages.into()),
            ("physical_per_user", layout.physical_per_user),
        ]
    }

    fn begin_step(&mut self, entropy: f64, now_ps: Ps) {
        self.pass_time(now_ps);
        self.size.begin(entropy);
    }

    fn submit(&mut self, io: &Io, tag: u32, now_ps: Ps) -> Answer {
        self.pass_time(now_ps);
        self.commands += 1;
        let answer = match io.operation {
            Operation::Read => Answer::Known(self.read(io, now_ps)),
            Operation::Write => self.write(io, tag, now_ps),
            Operation::Trim => Answer::Known(self.trim(io, now_ps)),
            Operation::Flush | Operation::Fsync => Answer::Known(self.flush(now_ps)),
        };
        match &answer {
            Answer::Known(Completion { at_ps, error }) => {
                self.host.occupy(now_ps, *at_ps);
                if error.is_none() {
                    self.host.count(io);
                }
            }
            Answer::Deferred => self.host.count(io),
        }
        answer
    }

    fn next_answer_ps(&self) -> Ps {
        self.back_end.commits.next_answer_ps()
    }

    fn answer_until(&mut self, now_ps: Ps, answered: &mut Vec<(u32, Completion)>) {
        self.pass_time(now_ps);
        let before = answered.len();
        let begun_ps = self.back_end.commits.take_known(answered);
        for (_, completion) in &answered[before..] {
            self.host.occupy(begun_ps, completion.at_ps);
        }
    }

    fn idle_until(&mut self, until_ps: Ps) {
        self.idle_work(until_ps);
        self.pass_time(until_ps);
    }

    #[inline]
    fn prefetch(&self, io: &Io) {
        let page = (io.offset_bytes >> PAGE_SHIFT) as u32;
        if io.operation == Operation::Write {
            self.prefetch.write(page, &self.ftl);
        } else {
            self.ftl.prefetch(page);
        }
    }

    fn purge(&mut self, now_ps: Ps) -> Result<Ps, Refusal> {
        self.pass_time(now_ps);
        self.erase_everything(now_ps)
    }

    fn write_cache(&self) -> Option<bool> {
        match self.cache {
            Cache::Volatile { on } => Some(on),
            Cache::Protected | Cache::Absent => None,
        }
    }

    fn set_write_cache(&mut self, enabled: bool, now_ps: Ps) -> Result<(), Refusal> {
        self.pass_time(now_ps);
        self.switch_cache(enabled, now_ps)
    }

    fn flush_caches(&mut self, now_ps: Ps) -> Result<Ps, Refusal> {
        self.pass_time(now_ps);
        self.fold_everything(now_ps)
    }

    fn jump_start(&mut self) -> Result<(), Refusal> {
        let size = self.size.of_random_bytes();
        self.ftl.jump_start(size).map_err(|error| Refusal(error.to_string()))?;
        self.forget_the_past();
        Ok(())
    }

    fn smart(&self) -> Smart {
        self.health()
    }

    fn is_read_only(&self) -> bool {
        self.ftl.is_read_only()
    }

    fn sensed(&self, now_ps: Ps) -> Option<Sensed> {
        self.sensed_at(now_ps)
    }

    fn placed(&self) -> Option<Placed> {
        self.placed_so_far()
    }

    fn update_handle(&mut self, handle: u16, now_ps: Ps) -> Result<(), Refusal> {
        self.pass_time(now_ps);
        self.update_reclaim_unit(handle, now_ps)
    }

    fn spent(&self, now_ps: Ps) -> Spent {
        self.spent_at(now_ps)
    }
}

impl PageMappedDrive {
    /// Time goes on: what was due until now is done.
    #[inline]
    fn pass_time(&mut self, now_ps: Ps) {
        if now_ps >= self.next_tick_ps {
            self.tick(now_ps);
        }
        if now_ps >= self.back_end.commits.close_at_ps() {
            self.close_due();
        }
        self.now_ps = self.now_ps.max(now_ps);
    }

    /// Writes have waited long enough for others to fill their group.
    #[cold]
    fn close_due(&mut self) {
        let at_ps = self.back_end.commits.close_at_ps();
        self.ftl.close_group(&mut At(&mut self.back_end, at_ps));
    }

    /// The pages that a piece of the address space touches.
    #[inline]
    const fn pages(io: &Io) -> (u32, u32) {
        let end = io.offset_bytes + io.length_bytes as u64 - 1;
        ((io.offset_bytes >> PAGE_SHIFT) as u32, (end >> PAGE_SHIFT) as u32)
    }
}
