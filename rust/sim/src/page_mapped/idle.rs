//! What the drive does while the host is silent.

use super::{At, PageMappedDrive};
use crate::preset::IdleWork;
use crate::scale::Scale;
use crate::time::Ps;

/// When idle work begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdleTimes {
    delay_ps: Ps,
}

impl IdleTimes {
    pub(super) fn new(idle: &IdleWork, scale: Scale) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "presets are checked")]
        let delay_ns = (idle.delay_ms * 1e6).round() as u64;
        Self { delay_ps: scale.virtual_ps(delay_ns) }
    }
}

impl PageMappedDrive {
    /// Fold and collect until this moment, as fast as the flash can. What was begun by then goes on after it.
    pub(super) fn idle_work(&mut self, until_ps: Ps) {
        let Some(IdleTimes { delay_ps }) = self.idle else { return };
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
