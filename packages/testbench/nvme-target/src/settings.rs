//! What a host has set, and reads back as features.

use super::command::Status;

/// What a host has set, as the words that it set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) arbitration: u32,
    pub(super) error_recovery: u32,
    pub(super) write_atomicity: u32,
    pub(super) event_wishes: u32,
    pub(super) keep_alive_ms: u32,
    /// Thresholds of the composite temperature, in kelvin.
    over_k: u16,
    under_k: u16,
}

impl Settings {
    /// As a controller begins; `warning_k` is the drive's own threshold.
    pub(super) const fn new(keep_alive_ms: u32, warning_k: Option<u16>) -> Self {
        let over_k = match warning_k {
            Some(kelvin) => kelvin,
            None => u16::MAX,
        };
        Self {
            arbitration: 0,
            error_recovery: 0,
            write_atomicity: 0,
            event_wishes: 0,
            keep_alive_ms,
            over_k,
            under_k: 0,
        }
    }

    /// Whether a temperature is at a threshold or beyond.
    pub(super) const fn is_outside(&self, now_k: u16) -> bool {
        now_k >= self.over_k || now_k <= self.under_k
    }

    pub(super) fn threshold(&mut self, selection: u32) -> Result<&mut u16, Status> {
        // Sensor 0 is the composite temperature, and there is no other.
        if selection >> 16 & 15 != 0 {
            return Err(Status::INVALID_FIELD);
        }
        match selection >> 20 & 3 {
            0 => Ok(&mut self.over_k),
            1 => Ok(&mut self.under_k),
            _ => Err(Status::INVALID_FIELD),
        }
    }
}
