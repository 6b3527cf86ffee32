//! Power over intervals of a second, from the energy that the model draws; log page 25h.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::declared::{Filled, declared};
use super::lock::lock;
use super::subsystem::Subsystem;

const INTERVAL: Duration = Duration::from_secs(1);
/// Watts in a bin of the histogram, and the bins that are kept.
const BIN_W: f64 = 0.25;
const MOST_BINS: u32 = 256;
/// Code and steps per watt of a power with two decimals.
const SCALE: u8 = 2;
const STEPS_PER_W: f64 = 100.0;

/// What was drawn so far; without energy in the preset it stays empty.
#[derive(Clone, Debug, Default)]
pub(super) struct PowerMeter {
    last: Option<(Instant, f64)>,
    intervals: u32,
    sum_w: f64,
    last_w: Option<f64>,
    largest: Option<(f64, Instant)>,
    bins: BTreeMap<u32, u32>,
}

impl PowerMeter {
    /// Power of the last whole interval.
    pub(super) fn last_w(&self) -> Option<f64> {
        self.last_w
    }

    fn is_due(&self, now: Instant) -> bool {
        self.last.is_none_or(|(at, _)| now.saturating_duration_since(at) >= INTERVAL)
    }

    fn sample(&mut self, now: Instant, energy_j: f64) {
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

/// Look at the energy, once per interval.
pub(super) fn watch(subsystem: &Subsystem) {
    let now = Instant::now();
    if subsystem.power().is_due(now)
        && let Some(energy_j) = subsystem.drive.smart().energy_j
    {
        subsystem.power().sample(now, energy_j);
    }
}

/// The log page.
pub(super) fn page(subsystem: &Subsystem) -> Filled {
    let meter = subsystem.power().clone();
    let mut page = declared("power-measurement").page();
    let mean_w = meter.sum_w / f64::from(meter.intervals.max(1));
    let (largest_w, stamp) =
        meter.largest.map_or((0.0, 0), |(watts, at)| (watts, lock(&subsystem.drive.monitor).stamp(at)));
    page.put("is_enabled", u8::from(meter.intervals > 0))
        .put("is_estimated", 1)
        .put("supports_maximum_stamp", 1)
        .put("measurements", meter.intervals)
        .put("histogram_bins", i128::try_from(meter.bins.len()).unwrap_or(0))
        .put("histogram_descriptor_bytes", 8)
        .put("histogram_bin_mw", whole(BIN_W * 1000.0))
        .put("histogram_bins_supported", MOST_BINS)
        .put("maximum_power_stamp", stamp)
        .put("power_error_pct", 0);
    put_power(&mut page, "average_power", mean_w);
    put_power(&mut page, "maximum_power", largest_w);
    for (index, (bin, count)) in meter.bins.iter().enumerate() {
        let lower = i128::from(whole(f64::from(*bin) * BIN_W * STEPS_PER_W));
        let values = [
            ("count", (*count).into()),
            ("lower_threshold_scale", SCALE.into()),
            ("lower_threshold_w", lower),
        ];
        page.put_entry("histogram", 0, index, &values);
    }
    let length = i128::try_from(page.len()).unwrap_or(0);
    page.put("log_bytes", length);
    page
}

/// Put a power with its scale.
pub(super) fn put_power(page: &mut Filled, name: &str, watts: f64) {
    page.put(&format!("{name}_scale"), SCALE).put(&format!("{name}_w"), whole((watts * STEPS_PER_W).round()));
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
