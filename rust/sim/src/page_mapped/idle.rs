//! What the drive does while the host is silent.

use super::{At, PageMappedDrive};
use crate::time::Ps;

impl PageMappedDrive {
    /// Fold and collect until this moment, as fast as the flash can. What was begun by then goes on after it.
    pub(super) fn idle_work(&mut self, until_ps: Ps) {
        let Some(delay_ps) = self.idle_delay_ps else { return };
        let mut at_ps = self.now_ps.max(self.host.busy_until_ps() + delay_ps);
        while at_ps < until_ps {
            self.pass_time(at_ps);
            if !self.ftl.idle_step(&mut At(&mut self.back_end, at_ps)) {
                return;
            }
            at_ps = self.room_ps(at_ps);
        }
    }

    /// When the dies that the next moved pages go to have no more than one program left: the next is
    /// prepared while it runs.
    fn room_ps(&self, now_ps: Ps) -> Ps {
        let layout = self.ftl.layout();
        let flash = &self.back_end.flash;
        let first = self.back_end.next_moved_die % layout.dies;
        let done_ps = (first..first + layout.dies_per_group)
            .map(|die| flash.done_ps(die as usize, now_ps))
            .max()
            .unwrap_or(now_ps);
        now_ps.max(done_ps.saturating_sub(flash.program_ps()))
    }
}
