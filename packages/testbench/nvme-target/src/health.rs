//! The SMART log, from the simulated drive's own.

use std::sync::atomic::Ordering;

use openpts_sim::Smart;

use super::controller::Controller;
use super::declared::{Filled, declared};
use super::events::Event;
use super::lock::lock;
use super::power_log;
use super::power_meter;
use super::subsystem::{Subsystem, Traffic, kelvin};

/// Spare below this is a warning.
const SPARE_THRESHOLD_PCT: u8 = 10;
/// The most that the field for wear can say.
const MOST_WEAR_PCT: f64 = 255.0;
const J_PER_WH: f64 = 3600.0;

const WARNS_SPARE: u8 = 1;
const WARNS_TEMPERATURE: u8 = 1 << 1;
const WARNS_RELIABILITY: u8 = 1 << 2;
const WARNS_READ_ONLY: u8 = 1 << 3;

const WARNINGS: [(&str, u8); 4] = [
    ("warns_of_spare", WARNS_SPARE),
    ("warns_of_temperature", WARNS_TEMPERATURE),
    ("warns_of_reliability", WARNS_RELIABILITY),
    ("warns_of_read_only", WARNS_READ_ONLY),
];

/// What the flash gives reason to warn of, as bits of the log's first byte.
fn flash_warnings(subsystem: &Subsystem, smart: &Smart) -> u8 {
    bits([
        (spare_pct(smart) < SPARE_THRESHOLD_PCT, WARNS_SPARE),
        (smart.bad_superblocks > 0 && wear_pct(subsystem, smart) >= 100, WARNS_RELIABILITY),
        (smart.read_only, WARNS_READ_ONLY),
    ])
}

fn bits<const N: usize>(warnings: [(bool, u8); N]) -> u8 {
    warnings.into_iter().filter(|(is_so, _)| *is_so).fold(0, |bits, (_, bit)| bits | bit)
}

/// Tell hosts of what the log warns of since a moment ago.
pub(super) fn tell_of_flash(subsystem: &Subsystem) {
    let warnings = flash_warnings(subsystem, &subsystem.drive.smart());
    let new = warnings & !subsystem.warned.swap(warnings, Ordering::Relaxed);
    if new & WARNS_SPARE != 0 {
        subsystem.raise(Event::Spare);
    }
    if new & (WARNS_RELIABILITY | WARNS_READ_ONLY) != 0 {
        subsystem.raise(Event::Reliability);
    }
}

/// The log as this controller sees it, which has thresholds of its own.
pub(super) fn page(subsystem: &Subsystem, controller: &Controller) -> Filled {
    let smart = subsystem.drive.smart();
    let features = controller.lock().features;
    let temperature_k = smart.temperature_c.map(|celsius| kelvin(celsius.into()));
    let is_outside = temperature_k.is_some_and(|now_k| features.is_outside(now_k));
    let warnings = flash_warnings(subsystem, &smart) | bits([(is_outside, WARNS_TEMPERATURE)]);
    let traffic = &subsystem.traffic;
    let errors = lock(&subsystem.drive.errors).errors();
    let heat = *lock(&subsystem.heat);
    let unreadable = Traffic::of(&subsystem.unreadable_reads);
    let minutes_s = |seconds: f64| power_meter::whole(seconds / 60.0) * 60;
    let mut page = declared("smart").page();
    for (name, bit) in WARNINGS {
        page.put(name, u8::from(warnings & bit != 0));
    }
    page.put("available_spare_pct", spare_pct(&smart))
        .put("available_spare_threshold_pct", SPARE_THRESHOLD_PCT)
        .put("percentage_used_pct", wear_pct(subsystem, &smart))
        .put("host_read_bytes", Traffic::of(&traffic.read_bytes))
        .put("host_write_bytes", Traffic::of(&traffic.write_bytes))
        .put("host_read_commands", Traffic::of(&traffic.reads))
        .put("host_write_commands", Traffic::of(&traffic.writes))
        .put("busy_s", minutes_s(smart.busy_s))
        .put("power_cycles", 1)
        .put("power_on_hours", subsystem.power_on_hours())
        .put("media_errors", smart.media_errors + unreadable)
        .put("error_log_entries", errors)
        .put("warning_temperature_s", minutes_s(smart.warning_temperature_s))
        .put("critical_temperature_s", minutes_s(smart.critical_temperature_s))
        .put("thermal_management_1_transitions", smart.throttle_events)
        .put("thermal_management_1_s", heat.throttled.as_secs());
    if let Some(now_k) = temperature_k {
        let celsius = i128::from(now_k) - i128::from(kelvin(0.0));
        page.put("temperature_c", celsius).put_at("temperature_sensor_c", 0, celsius);
    }
    if let Some(energy_j) = smart.energy_j {
        page.put("lifetime_energy_wh", power_meter::whole(energy_j / J_PER_WH));
    }
    if let Some(watts) = subsystem.power().last_w() {
        power_log::put_power(&mut page, "interval_power", watts);
    }
    page
}

fn spare_pct(smart: &Smart) -> u8 {
    whole(smart.available_spare_pct, 100.0)
}

fn wear_pct(subsystem: &Subsystem, smart: &Smart) -> u8 {
    whole(subsystem.character.initial_wear_pct + smart.percentage_used, MOST_WEAR_PCT)
}

fn whole(pct: f64, most: f64) -> u8 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded on both sides")]
    let whole = pct.clamp(0.0, most) as u8;
    whole
}
