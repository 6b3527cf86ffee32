//! The telemetry logs: their headers, and data area 1 of the size that OCP wants.

use std::sync::atomic::Ordering;

use super::declared::{Filled, declared};
use super::subsystem::Subsystem;

const BLOCK_BYTES: usize = 512;
/// The last block of data areas 1 to 3: 32 KiB behind the header, and no more in the others.
const LAST_BLOCK: u8 = 0x40;
const SCOPE_SUBSYSTEM: u8 = 2;

/// Telemetry Host-Initiated, of a new generation if the host wants one.
pub(super) fn of_host(subsystem: &Subsystem, is_new: bool) -> Vec<u8> {
    if is_new {
        subsystem.telemetry_generation.fetch_add(1, Ordering::Relaxed);
    }
    let mut page = declared("telemetry-host").page();
    page.put("log_page", 7).put("host_generation", subsystem.telemetry_generation.load(Ordering::Relaxed));
    with_area(page)
}

/// Telemetry Controller-Initiated: nothing has made the drive write one.
pub(super) fn of_controller() -> Vec<u8> {
    let mut page = declared("telemetry-controller").page();
    page.put("log_page", 8);
    with_area(page)
}

fn with_area(mut page: Filled) -> Vec<u8> {
    for area in 1..=3 {
        page.put(&format!("area_{area}_last_block"), LAST_BLOCK);
    }
    page.put("scope", SCOPE_SUBSYSTEM);
    let mut data = page.into_bytes();
    data.resize(data.len() + usize::from(LAST_BLOCK) * BLOCK_BYTES, 0);
    data
}
