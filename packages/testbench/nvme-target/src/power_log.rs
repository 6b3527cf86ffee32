//! Log page 25h: what the drive's own meter has found.

use std::time::Instant;

use super::declared::{Filled, declared};
use super::lock::lock;
use super::power_meter::{BIN_W, MOST_BINS, whole};
use super::subsystem::Subsystem;

/// Code and steps per watt of a power with two decimals.
const SCALE: u8 = 2;
const STEPS_PER_W: f64 = 100.0;

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
