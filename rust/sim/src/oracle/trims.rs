//! What trims take.

use crate::preset::Trims;
use crate::time::{Ps, ps_of_us};

/// The times of trims, and the server of those that hold up no reads and writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrimTimes {
    command_ps: Ps,
    mib_ps: Ps,
    /// Whether reads and writes wait for them.
    pub(super) blocks: bool,
    /// When their own server has done what it was given.
    pub(super) free_ps: Ps,
}

impl TrimTimes {
    pub(super) fn new(trims: &Trims) -> Self {
        Self {
            command_ps: ps_of_us(trims.command_us),
            mib_ps: ps_of_us(trims.mib_us),
            blocks: trims.blocks,
            free_ps: 0,
        }
    }

    /// The time of a trim of so many bytes.
    pub(super) const fn service_ps(&self, length_bytes: u32) -> Ps {
        // 4095 MiB of a minute each are far from the end of the clock, times 2^20 they are not.
        self.command_ps + ((self.mib_ps as u128 * length_bytes as u128) >> 20) as Ps
    }
}
