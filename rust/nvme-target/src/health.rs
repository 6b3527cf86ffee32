//! The SMART log, from the simulated drive's own.

use std::sync::atomic::Ordering;

use openpts_sim::Smart;

use super::bytes::Page;
use super::controller::Controller;
use super::events::Event;
use super::lock::lock;
use super::subsystem::{Subsystem, Traffic, kelvin};

const LOG_BYTES: usize = 512;
/// Spare below this is a warning.
const SPARE_THRESHOLD_PCT: u8 = 10;
/// The most that the field for wear can say.
const MOST_WEAR_PCT: f64 = 255.0;
const DATA_UNIT_BYTES: u64 = 512_000;

const WARNS_SPARE: u8 = 1;
const WARNS_TEMPERATURE: u8 = 1 << 1;
const WARNS_RELIABILITY: u8 = 1 << 2;
const WARNS_READ_ONLY: u8 = 1 << 3;

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
pub(super) fn page(subsystem: &Subsystem, controller: &Controller) -> Page {
    let smart = subsystem.drive.smart();
    let features = controller.lock().features;
    let temperature_k = smart.temperature_c.map(|celsius| kelvin(celsius.into()));
    let is_outside = temperature_k.is_some_and(|now_k| features.is_outside(now_k));
    let warnings = flash_warnings(subsystem, &smart) | bits([(is_outside, WARNS_TEMPERATURE)]);
    let traffic = &subsystem.traffic;
    let errors = lock(&subsystem.drive.errors).errors();
    let heat = *lock(&subsystem.heat);
    let units = |bytes: u64| bytes.div_ceil(DATA_UNIT_BYTES);
    let unreadable = Traffic::of(&subsystem.unreadable_reads);
    let mut page = Page::new(LOG_BYTES);
    page.put_u8(0, warnings)
        .put_u16(1, temperature_k.unwrap_or(0))
        .put_u8(3, spare_pct(&smart))
        .put_u8(4, SPARE_THRESHOLD_PCT)
        .put_u8(5, wear_pct(subsystem, &smart))
        .put_u64(32, units(Traffic::of(&traffic.read_bytes)))
        .put_u64(48, units(Traffic::of(&traffic.write_bytes)))
        .put_u64(64, Traffic::of(&traffic.reads))
        .put_u64(80, Traffic::of(&traffic.writes))
        .put_u64(96, minutes(smart.busy_s).into())
        .put_u64(112, 1)
        .put_u64(128, subsystem.power_on_hours())
        .put_u64(160, smart.media_errors + unreadable)
        .put_u64(176, errors)
        .put_u32(192, minutes(smart.warning_temperature_s))
        .put_u32(196, minutes(smart.critical_temperature_s))
        .put_u16(200, temperature_k.unwrap_or(0))
        .put_u32(216, u32::try_from(smart.throttle_events).unwrap_or(u32::MAX))
        .put_u32(224, u32::try_from(heat.throttled.as_secs()).unwrap_or(u32::MAX));
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

fn minutes(seconds: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as long as a program runs")]
    let minutes = (seconds / 60.0).max(0.0) as u32;
    minutes
}
