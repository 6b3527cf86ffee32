//! Admin commands: purge, the switch of the write cache, folding on demand.

use super::{At, Cache, PageMappedDrive};
use crate::drive::Refusal;
use crate::preset::Purge;
use crate::time::Ps;

fn refuse<T>(why: &str) -> Result<T, Refusal> {
    Err(Refusal(why.into()))
}

impl PageMappedDrive {
    pub(super) fn erase_everything(&mut self, now_ps: Ps) -> Result<Ps, Refusal> {
        match self.purge {
            Purge::Works => {}
            Purge::Absent => return refuse("the drive has no purge"),
            Purge::Fails => return refuse("the drive reports that the purge failed"),
            Purge::Lies => return Ok(self.back_end.flash.all_done_ps(now_ps)),
        }
        while self.partial.close_one().is_some() {}
        let superblocks = self.ftl.purge();
        let back_end = &mut self.back_end;
        let begin_ps = back_end.flash.all_done_ps(now_ps);
        let done_ps = back_end.flash.erase_only(begin_ps, back_end.erases.of(superblocks));
        back_end.buffer.clear();
        if let Some(retention) = &mut back_end.retention {
            retention.all_erased();
        }
        self.host.occupy(now_ps, done_ps);
        Ok(done_ps)
    }

    /// What was in the buffer is gone, and what the map holds now was written now.
    pub(super) fn forget_the_past(&mut self) {
        while self.partial.close_one().is_some() {}
        self.back_end.buffer.clear();
        if let Some(retention) = &mut self.back_end.retention {
            retention.all_erased();
            let full = (0..self.ftl.layout().superblocks).filter(|superblock| self.ftl.is_full(*superblock));
            full.for_each(|superblock| retention.closed(superblock, self.now_ps));
        }
    }

    pub(super) fn switch_cache(&mut self, enabled: bool, now_ps: Ps) -> Result<(), Refusal> {
        let Cache::Volatile { .. } = self.cache else {
            return refuse("the drive has no volatile write cache");
        };
        self.empty_buffer(now_ps);
        self.cache = Cache::Volatile { on: enabled };
        Ok(())
    }

    pub(super) fn fold_everything(&mut self, now_ps: Ps) -> Result<Ps, Refusal> {
        if !self.ftl.fold_all(&mut At(&mut self.back_end, now_ps)) {
            return refuse("the drive has no single-bit cells to fold");
        }
        let done_ps = self.back_end.flash.all_done_ps(now_ps);
        self.host.occupy(now_ps, done_ps);
        Ok(done_ps)
    }
}
