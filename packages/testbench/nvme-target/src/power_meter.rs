//! Power over intervals of a second, from the energy that the model draws.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_secs(1);
/// Watts in a bin of the histogram, and the bins that are kept.
pub(super) const BIN_W: f64 = 0.25;
pub(super) const MOST_BINS: u32 = 256;

/// What was drawn so far; without energy in the preset it stays empty.
#[derive(Clone, Debug, Default)]
pub(super) struct PowerMeter {
    last: Option<(Instant, f64)>,
    pub(super) intervals: u32,
    pub(super) sum_w: f64,
    last_w: Option<f64>,
    pub(super) largest: Option<(f64, Instant)>,
    pub(super) bins: BTreeMap<u32, u32>,
}

impl PowerMeter {
    /// Power of the last whole interval.
    pub(super) fn last_w(&self) -> Option<f64> {
        self.last_w
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.last.is_none_or(|(at, _)| now.saturating_duration_since(at) >= INTERVAL)
    }

    pub(super) fn sample(&mut self, now: Instant, energy_j: f64) {
        if let Some((at, before_j)) = self.last.replace((now, energy_j)) {
            let watts = ((energy_j - before_j) / (now - at).as_secs_f64()).max(0.0);
            self.intervals = self.intervals.saturating_add(1);
            self.sum_w += watts;
            self.last_w = Some(watts);
            if self.largest.is_none_or(|(most, _)| watts > most) {
                self.largest = Some((watts, now));
            }
            let bin = u32::try_from(whole(watts / BIN_W)).unwrap_or(MOST_BINS).min(MOST_BINS - 1);
            *self.bins.entry(bin).or_default() += 1;
        }
    }
}

/// The whole part of a number that is not below 0.
pub(super) fn whole(number: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast saturates")]
    let whole = number.max(0.0) as u64;
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_in_their_bins() {
        let began = Instant::now();
        let mut meter = PowerMeter::default();
        for (second, energy_j) in [0.0, 5.0, 10.1, 10.1, 300.0].into_iter().enumerate() {
            let now = began + INTERVAL * u32::try_from(second).unwrap();
            assert!(meter.is_due(now));
            meter.sample(now, energy_j);
            assert!(!meter.is_due(now + INTERVAL / 2));
        }
        assert_eq!(meter.intervals, 4);
        assert!((meter.sum_w - 300.0).abs() < 1e-9);
        assert_eq!(meter.largest.unwrap().1, began + INTERVAL * 4);
        assert_eq!(meter.bins.into_iter().collect::<Vec<_>>(), [(0, 1), (20, 2), (255, 1)]);
    }
}
