//! A drop in the speed of large writes, which a small write starts and a number of bytes ends.

use super::pace::Bandwidth;
use crate::preset::Recovery;
use crate::scale::Scale;
use crate::time::Ps;

/// The recovery script at work.
#[derive(Clone, Debug)]
pub(super) struct RecoveryScript {
    marker_below_bytes: u32,
    bytes: u64,
    fast: Bandwidth,
    slow: Bandwidth,
    slow_bytes_left: u64,
}

impl RecoveryScript {
    pub(super) fn new(recovery: &Recovery, scale: Scale) -> Self {
        Self {
            marker_below_bytes: recovery.marker_below_bytes,
            bytes: recovery.bytes.div_ceil(scale.factor().into()),
            fast: Bandwidth::new(recovery.fast_bytes_per_s),
            slow: Bandwidth::new(recovery.slow_bytes_per_s),
            slow_bytes_left: 0,
        }
    }

    /// Back to full speed.
    pub(super) const fn begin(&mut self) {
        self.slow_bytes_left = 0;
    }

    /// The time of a large write; a small one gets none from here, and starts the recovery.
    pub(super) fn write_ps(&mut self, length_bytes: u32) -> Option<Ps> {
        if length_bytes < self.marker_below_bytes {
            self.slow_bytes_left = self.bytes;
            return None;
        }
        let bandwidth = if self.slow_bytes_left > 0 { &mut self.slow } else { &mut self.fast };
        self.slow_bytes_left = self.slow_bytes_left.saturating_sub(length_bytes.into());
        Some(bandwidth.next_ps(length_bytes))
    }
}
