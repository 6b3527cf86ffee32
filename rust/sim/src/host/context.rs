//! What a session's thread works with from the first step to the last.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use openpts_core::engine::Progress;

use super::halt::Halt;
use super::intervals::Wishes;
use super::shared_drive::SharedDrive;
use crate::scale::Scale;
use crate::time::Ps;

pub(super) struct Context {
    pub(super) drive: Arc<SharedDrive>,
    pub(super) halt: Arc<Halt>,
    pub(super) progress: Arc<VirtualProgress>,
    pub(super) wishes: Wishes,
    pub(super) sector_bytes: u32,
    /// Time of drains that is none of the nominal drive's: it has as much outstanding as the small one.
    pub(super) skipped_ns: u64,
}

impl Context {
    pub(super) fn nominal_ns(&self, at_ps: Ps) -> u64 {
        self.wishes.scale.nominal_ns(at_ps).saturating_sub(self.skipped_ns)
    }
}

/// Where the session stands, for a display; some I/Os behind.
#[derive(Debug, Default)]
pub(super) struct VirtualProgress {
    steps_begun: AtomicU64,
    step_start_ps: AtomicU64,
    now_ps: AtomicU64,
    ios: AtomicU64,
    bytes: AtomicU64,
}

impl VirtualProgress {
    pub(super) fn begin_step(&self, start_ps: Ps) {
        self.now_ps.store(start_ps, Ordering::Relaxed);
        self.step_start_ps.store(start_ps, Ordering::Relaxed);
        self.steps_begun.fetch_add(1, Ordering::Relaxed);
    }

    /// Add the I/Os and bytes that were done since the last time.
    pub(super) fn advance(&self, (ios, bytes): (u64, u64), now_ps: Ps) {
        self.ios.fetch_add(ios, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.now_ps.store(now_ps, Ordering::Relaxed);
    }

    pub(super) fn nominal(&self, scale: Scale) -> Progress {
        let factor = u64::from(scale.factor());
        let elapsed_ps = self.now_ps.load(Ordering::Relaxed);
        let elapsed_ps = elapsed_ps.saturating_sub(self.step_start_ps.load(Ordering::Relaxed));
        Progress {
            steps_begun: self.steps_begun.load(Ordering::Relaxed),
            step_elapsed_ns: scale.nominal_ns(elapsed_ps),
            ios: self.ios.load(Ordering::Relaxed) * factor,
            bytes: self.bytes.load(Ordering::Relaxed) * factor,
        }
    }
}
