//! Pages of OCP that tell of the drive: health C0h, errors C1h, requirements C5h.

use std::sync::atomic::Ordering;

use super::declared::{Filled, declared};
use super::identify;
use super::power_meter;
use super::subsystem::{Subsystem, Traffic};

const NAND_PAGE_BYTES: u64 = 4096;
const J_PER_KWH: f64 = 3_600_000.0;
/// The version of OCP's specification that the pages follow.
const OCP_MAJOR: u8 = 2;
const OCP_MINOR: u8 = 7;

/// SMART / Health Information Extended.
pub(super) fn smart_extended(subsystem: &Subsystem) -> Filled {
    let smart = subsystem.drive.smart();
    let unreadable = Traffic::of(&subsystem.unreadable_reads);
    let spare_pct = power_meter::whole(smart.available_spare_pct);
    let mut page = declared("smart-extended").page();
    page.put("physical_media_written_bytes", smart.nand_pages.total() * NAND_PAGE_BYTES)
        .put("bad_user_blocks", smart.bad_superblocks)
        .put("bad_user_blocks_pct", spare_pct)
        .put("bad_system_blocks_pct", 100)
        .put("uncorrectable_read_errors", smart.media_errors + unreadable)
        .put("user_data_erase_count_max", smart.erase_counts.max)
        .put("user_data_erase_count_min", smart.erase_counts.min)
        .put("erase_count_mean", power_meter::whole(smart.erase_counts.mean))
        .put("thermal_throttling_events", smart.throttle_events)
        .put("thermal_throttling_status", u8::from(subsystem.drive.sensed().is_some_and(|now| now.throttles)))
        .put("dssd_major_version", OCP_MAJOR)
        .put("dssd_minor_version", OCP_MINOR)
        .put("capacitor_health_pct", u16::MAX)
        .put("unaligned_ios", Traffic::of(&subsystem.traffic.unaligned_writes))
        .put("total_namespace_utilization_blocks", identify::used_lbas(subsystem))
        .put("endurance_estimate_bytes", subsystem.character.endurance_bytes)
        .put("highest_temperature_c", subsystem.hottest_c.load(Ordering::Relaxed))
        .put("system_area_program_failures_left_pct", 100)
        .put("system_area_uncorrectable_reads_left_pct", 100)
        .put("system_area_erase_failures_left_pct", 100)
        .put("average_power_w", power_meter::whole(subsystem.power().last_w().unwrap_or(0.0).round()))
        .put("lifetime_energy_kwh", power_meter::whole(smart.energy_j.unwrap_or(0.0) / J_PER_KWH))
        .put_bytes("dssd_firmware_revision", format!("{:8}", env!("CARGO_PKG_VERSION")).as_bytes())
        .put_bytes("dssd_firmware_build_uuid", &subsystem.identity.guid)
        .put("bad_blocks_of_dies_in_use", smart.bad_superblocks)
        .put("bad_blocks_of_dies_in_use_pct", spare_pct);
    page
}

/// Error Recovery: the drive has had no error of itself.
pub(super) fn error_recovery() -> Filled {
    let mut page = declared("error-recovery").page();
    page.put("reset_by_controller_reset", 1).put("recovery_needs_nothing", 1);
    page
}

/// Unsupported Requirements: an empty list.
pub(super) fn unsupported_requirements() -> Filled {
    let mut page = declared("unsupported-requirements").page();
    page.put("unsupported_count", 0);
    page
}
