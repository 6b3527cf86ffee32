//! A hybrid drive, as in sticks and cards: the map knows large units only, and a log of pages lies before
//! them. All writes go into the log. With a log of lambda pages for each unit of P pages, random writing
//! programs `1 + P / (1 + lambda)` pages for each of the host's.

mod blocks;
mod flash;
mod map;

use openpts_core::engine::Spent;
use openpts_core::workload::{Io, Operation, Uniform};

use flash::Flash;
use map::Map;

use super::drive::{Answer, Completion, Drive, PAGE_BYTES, Refusal};
use super::host_counters::HostCounters;
use super::preset::{LogBlock, Preset, PresetError, Purge, Wear};
use super::smart::{NandPages, Smart};
use super::time::{NEVER, Ps, ps_of_us, ps_per_byte_fixed, transfer_ps};

const READ_ONLY: &str = "the drive is read-only: too many blocks have worn out";
/// A page of the log takes 8 bytes of memory, and one of the drive up to 12.
const MOST_PAGES: u64 = 1 << 28;

/// A log-block drive. The controller and the link serve commands in their order, and a merge keeps all dies
/// busy: commands that come meanwhile wait.
pub struct LogBlockDrive {
    capacity_bytes: u64,
    sector_bytes: u32,
    purge: Purge,
    random: Uniform,
    map: Map,
    flash: Flash,
    wear: Option<Wear>,
    command_read_ps: Ps,
    command_write_ps: Ps,
    fixed_read_ps: Ps,
    fixed_write_ps: Ps,
    link_ps_per_byte_fixed: u64,
    controller_free_ps: Ps,
    link_free_ps: Ps,
    host: HostCounters,
    host_pages: u64,
    padded_pages: u64,
}

impl LogBlockDrive {
    /// A fresh drive of so many bytes. A scaled one has fewer units, all of the nominal size, and a log in
    /// proportion: so a merge takes as long, and is needed as often.
    ///
    /// # Errors
    /// If the capacity is no whole number of pages, or less than a unit, or more than the map can number.
    pub fn new(
        preset: &Preset,
        parts: &LogBlock,
        capacity_bytes: u64,
        seed: u64,
    ) -> Result<Self, PresetError> {
        let pages = capacity_bytes / PAGE_BYTES;
        if !capacity_bytes.is_multiple_of(PAGE_BYTES) || pages < u64::from(parts.unit_pages) {
            return Err(PresetError(format!(
                "a capacity of {capacity_bytes} bytes is no whole number of 4 KiB pages of at least one unit \
                 of {} pages",
                parts.unit_pages
            )));
        }
        let log_pages = pages.div_ceil(parts.unit_pages.into()) * u64::from(parts.log_pages_per_unit);
        if pages.max(log_pages) > MOST_PAGES {
            return Err(PresetError(format!(
                "a log of {log_pages} pages, or a drive of {pages}, is too large: {MOST_PAGES} are the most"
            )));
        }
        let mut random = Uniform::for_session(seed);
        let mut map = Map::new(pages, parts.unit_pages, parts.log_pages_per_unit);
        if let Some(wear) = &parts.wear {
            map = map.wearing(wear, parts.spare_share, &mut random);
        }
        Ok(Self {
            capacity_bytes,
            sector_bytes: preset.sector_bytes,
            purge: preset.purge,
            random,
            map,
            flash: Flash::new(parts),
            wear: parts.wear,
            command_read_ps: ps_of_us(parts.command_read_us),
            command_write_ps: ps_of_us(parts.command_write_us),
            fixed_read_ps: ps_of_us(parts.fixed_read_us),
            fixed_write_ps: ps_of_us(parts.fixed_write_us),
            link_ps_per_byte_fixed: ps_per_byte_fixed(parts.link_bytes_per_s),
            controller_free_ps: 0,
            link_free_ps: 0,
            host: HostCounters::default(),
            host_pages: 0,
            padded_pages: 0,
        })
    }

    /// Controller, then link; gives the moments at which the data begin and end to pass.
    fn pass_link(&mut self, now_ps: Ps, command_ps: Ps, bytes: u32) -> (Ps, Ps) {
        self.controller_free_ps = self.controller_free_ps.max(now_ps) + command_ps;
        let start_ps = self.link_free_ps.max(self.controller_free_ps);
        self.link_free_ps = start_ps + transfer_ps(bytes.into(), self.link_ps_per_byte_fixed);
        (start_ps, self.link_free_ps)
    }

    fn read(&mut self, io: &Io, now_ps: Ps) -> Ps {
        let (start_ps, passed_ps) = self.pass_link(now_ps, self.command_read_ps, io.length_bytes);
        let first_bytes = PAGE_BYTES.min(io.length_bytes.into());
        let page_ps = transfer_ps(first_bytes, self.link_ps_per_byte_fixed);
        let (first, end) = touched_pages(io);
        let (mut done_ps, mut last_unit) = (passed_ps, None);
        for page in first..end {
            let unit = self.flash.read_unit(page);
            if last_unit != Some(unit) && self.map.is_mapped(page) {
                done_ps = done_ps.max(self.flash.read(unit, start_ps) + page_ps);
                last_unit = Some(unit);
            }
        }
        done_ps + self.fixed_read_ps
    }

    fn write(&mut self, io: &Io, now_ps: Ps) -> Ps {
        let (start_ps, passed_ps) = self.pass_link(now_ps, self.command_write_ps, io.length_bytes);
        let (first, end) = touched_pages(io);
        let mut done_ps = passed_ps;
        for page in first..end {
            let passed_bytes = ((page + 1) * PAGE_BYTES).min(end_of(io)) - io.offset_bytes;
            let mut at_ps = start_ps + transfer_ps(passed_bytes, self.link_ps_per_byte_fixed);
            if is_partial(io, page) && self.map.is_mapped(page) {
                at_ps = at_ps.max(self.flash.read(self.flash.read_unit(page), start_ps));
            }
            let room = self.map.append(page);
            done_ps = done_ps.max(self.append(room, at_ps));
            self.host_pages += 1;
        }
        done_ps + self.fixed_write_ps
    }

    /// The host's page, or a padding one, is in the log; what its room has cost is done first.
    fn append(&mut self, room: map::Room, at_ps: Ps) -> Ps {
        let mut at_ps = at_ps;
        if let Some(pages) = room.merged_pages {
            at_ps = self.flash.occupy_all(at_ps, self.flash.merge_ps(pages));
        }
        if room.log_erased {
            at_ps = self.flash.occupy_all(at_ps, self.flash.erases_ps(1));
        }
        self.flash.write_page(at_ps)
    }

    fn trim(&mut self, io: &Io, now_ps: Ps) -> Ps {
        let (_, done_ps) = self.pass_link(now_ps, self.command_write_ps, 0);
        for page in io.offset_bytes.div_ceil(PAGE_BYTES)..end_of(io) / PAGE_BYTES {
            self.map.trim(page);
        }
        done_ps + self.fixed_write_ps
    }

    fn nand_pages(&self) -> NandPages {
        NandPages {
            host: self.host_pages,
            collected: self.map.moved_pages(),
            padded: self.padded_pages,
            ..NandPages::default()
        }
    }

    /// Fill up the open program unit, and wait for all programs.
    fn flush(&mut self, now_ps: Ps) -> Ps {
        let (at_ps, _) = self.pass_link(now_ps, self.command_write_ps, 0);
        for _ in 0..self.flash.lacking_pages() {
            let room = self.map.pad();
            self.append(room, at_ps);
            self.padded_pages += 1;
        }
        self.flash.all_done_ps().max(at_ps) + self.fixed_write_ps
    }
}

impl Drive for LogBlockDrive {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    fn spent(&self, _now_ps: Ps) -> Spent {
        Spent {
            media_write_bytes: Some(self.nand_pages().total() * PAGE_BYTES),
            host_write_bytes: Some(self.host.write_bytes),
            ..Spent::default()
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers of units and pages")]
    fn geometry(&self) -> Vec<(&'static str, f64)> {
        vec![("units", self.map.units() as f64), ("log_pages", self.map.log_pages() as f64)]
    }

    fn begin_step(&mut self, _entropy: f64, _now_ps: Ps) {}

    fn submit(&mut self, io: &Io, _tag: u32, now_ps: Ps) -> Answer {
        let refused = io.operation == Operation::Write && self.is_read_only();
        let at_ps = match io.operation {
            Operation::Read => self.read(io, now_ps),
            Operation::Write if refused => {
                self.pass_link(now_ps, self.command_write_ps, io.length_bytes).1 + self.fixed_write_ps
            }
            Operation::Write => self.write(io, now_ps),
            Operation::Trim => self.trim(io, now_ps),
            Operation::Flush | Operation::Fsync => self.flush(now_ps),
        };
        self.host.occupy(now_ps, at_ps);
        if !refused {
            self.host.count(io);
        }
        Answer::Known(Completion { at_ps, error: refused.then_some(READ_ONLY) })
    }

    fn next_answer_ps(&self) -> Ps {
        NEVER
    }

    fn answer_until(&mut self, _now_ps: Ps, _answered: &mut Vec<(u32, Completion)>) {}

    fn idle_until(&mut self, _until_ps: Ps) {}

    fn purge(&mut self, now_ps: Ps) -> Result<Ps, Refusal> {
        match self.purge {
            Purge::Absent => Err(Refusal("the drive has no purge".into())),
            Purge::Fails => Err(Refusal("the drive reports that its purge has failed".into())),
            Purge::Lies => Ok(now_ps),
            Purge::Works => {
                let erases = self.map.purge();
                self.flash.forget_open();
                Ok(self.flash.occupy_all(now_ps, self.flash.erases_ps(erases)))
            }
        }
    }

    fn write_cache(&self) -> Option<bool> {
        None
    }

    fn set_write_cache(&mut self, _enabled: bool, _now_ps: Ps) -> Result<(), Refusal> {
        Err(Refusal("a log-block drive has no write cache to switch".into()))
    }

    fn flush_caches(&mut self, _now_ps: Ps) -> Result<Ps, Refusal> {
        Err(Refusal("a log-block drive has no cache to fold".into()))
    }

    fn jump_start(&mut self) -> Result<(), Refusal> {
        self.map.jump_start(&mut self.random);
        Ok(())
    }

    fn smart(&self) -> Smart {
        let blocks = self.map.blocks();
        let erase_counts = blocks.erase_counts();
        let mut smart = Smart {
            nand_pages: self.nand_pages(),
            erases: blocks.total_erases(),
            erase_counts,
            bad_superblocks: blocks.retired(),
            available_spare_pct: blocks.available_spare_pct(),
            percentage_used: self.wear.map_or(0.0, |wear| erase_counts.mean / wear.rated_erases * 100.0),
            read_only: blocks.is_read_only(),
            mapped_pages: self.map.mapped_pages(),
            ..Smart::default()
        };
        self.host.report(&mut smart);
        smart
    }

    fn is_read_only(&self) -> bool {
        self.map.blocks().is_read_only()
    }
}

const fn end_of(io: &Io) -> u64 {
    io.offset_bytes + io.length_bytes as u64
}

/// Pages of which at least a byte is accessed: the first, and the one behind the last.
const fn touched_pages(io: &Io) -> (u64, u64) {
    (io.offset_bytes / PAGE_BYTES, end_of(io).div_ceil(PAGE_BYTES))
}

const fn is_partial(io: &Io, page: u64) -> bool {
    page * PAGE_BYTES < io.offset_bytes || (page + 1) * PAGE_BYTES > end_of(io)
}

#[cfg(test)]
mod tests;
