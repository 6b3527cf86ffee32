//! The bounds of a page-mapped drive.

use super::bounds::{check_wear, within};
use crate::preset::{
    Controller, Frontiers, Geometry, MediaErrors, Nand, PageMapped, PresetError, SlcCache, Thermal, Victim,
    WriteCache,
};

/// The longest micro time: a minute.
const LONGEST_US: f64 = 60e6;
/// The largest write buffer: 16 GiB.
const MOST_BUFFER_PAGES: f64 = 4_194_304.0;

/// Check the parts of a page-mapped drive.
///
/// # Errors
/// With the dotted name of the first value that is out of bounds, and its bounds.
pub(super) fn check(model: &PageMapped) -> Result<(), PresetError> {
    geometry(&model.geometry)?;
    mapping_and_collection(model)?;
    nand(&model.nand)?;
    controller(&model.controller)?;
    interface_and_buffer(model)?;
    placement(model)?;
    model.slc.as_ref().map_or(Ok(()), |cache| slc(cache, &model.geometry))?;
    idle_and_reduction(model)?;
    model.thermal.as_ref().map_or(Ok(()), |parts| thermal(parts, model.power.is_some()))?;
    wear_and_power(model)?;
    model.media_errors.as_ref().map_or(Ok(()), media_errors)
}

/// Several values of one table, all with the same bounds.
fn all_within(table: &str, values: &[(&str, f64)], low: f64, high: f64) -> Result<(), PresetError> {
    values.iter().try_for_each(|(name, value)| within(&format!("{table}.{name}"), *value, low, high))
}

/// A condition between values that has no bounds of its own.
fn holds(condition: bool, words: &str) -> Result<(), PresetError> {
    if condition { Ok(()) } else { Err(PresetError(words.into())) }
}

fn geometry(geometry: &Geometry) -> Result<(), PresetError> {
    let Geometry { dies, channels, dies_per_group, chunk_pages, program_unit_pages, superblocks, .. } =
        *geometry;
    let table = "page_mapped.geometry";
    let counts =
        [("dies", dies), ("channels", channels), ("dies_per_group", dies_per_group)].map(in_floating_point);
    all_within(table, &counts, 1.0, 4096.0)?;
    let sizes = [("chunk_pages", chunk_pages), ("program_unit_pages", program_unit_pages)];
    all_within(table, &sizes.map(in_floating_point), 1.0, 4096.0)?;
    within("page_mapped.geometry.superblocks", f64::from(superblocks), 16.0, 1e6)?;
    if let Some(bytes) = geometry.bytes_per_die {
        within("page_mapped.geometry.bytes_per_die", bytes as f64, 1_048_576.0, 1e15)?;
    }
    holds(
        dies.is_multiple_of(dies_per_group),
        "page_mapped.geometry.dies_per_group must divide page_mapped.geometry.dies",
    )?;
    holds(
        program_unit_pages.is_multiple_of(chunk_pages),
        "page_mapped.geometry.chunk_pages must divide page_mapped.geometry.program_unit_pages",
    )
}

fn in_floating_point((name, value): (&str, u32)) -> (&str, f64) {
    (name, f64::from(value))
}

fn mapping_and_collection(model: &PageMapped) -> Result<(), PresetError> {
    let mapping = &model.mapping;
    within("page_mapped.mapping.physical_per_user", mapping.physical_per_user, 1.01, 100.0)?;
    within("page_mapped.mapping.unit_pages", mapping.unit_pages.into(), 1.0, 256.0)?;
    if !mapping.unit_pages.is_power_of_two() {
        let why =
            format!("page_mapped.mapping.unit_pages is {} and must be a power of 2", mapping.unit_pages);
        return Err(PresetError(why));
    }
    if let Some(bytes) = mapping.map_coverage_bytes {
        within("page_mapped.mapping.map_coverage_bytes", bytes as f64, 1.0, 1e18)?;
    }
    within("page_mapped.mapping.journal_per_1000", mapping.journal_per_1000, 0.0, 1000.0)?;
    if let Victim::Choices(choices) = model.collection.victim {
        within("page_mapped.collection.victim.choices", f64::from(choices), 1.0, 1000.0)?;
    }
    let most = f64::from(model.geometry.superblocks) / 4.0;
    within("page_mapped.collection.free_low", f64::from(model.collection.free_low), 2.0, most)
}

fn nand(nand: &Nand) -> Result<(), PresetError> {
    let table = "page_mapped.nand";
    let lasting = [("program_us", nand.program_us), ("erase_us", nand.erase_us)];
    all_within(table, &lasting, 0.001, LONGEST_US)?;
    let others = [
        ("read_us", nand.read_us),
        ("transfer_us", nand.transfer_us),
        ("suspend_us", nand.suspend_us),
        ("starvation_us", nand.starvation_us),
    ];
    all_within(table, &others, 0.0, LONGEST_US)?;
    within("page_mapped.nand.rows_per_erase", f64::from(nand.rows_per_erase), 1.0, 1e6)?;
    within("page_mapped.nand.suspends_per_program", nand.suspends_per_program, 0.0, 1e6)
}

fn controller(controller: &Controller) -> Result<(), PresetError> {
    let times = [
        ("read_us", controller.read_us),
        ("write_us", controller.write_us),
        ("trim_us", controller.trim_us),
        ("fixed_read_us", controller.fixed_read_us),
        ("fixed_write_us", controller.fixed_write_us),
        ("partial_write_us", controller.partial_write_us),
    ];
    all_within("page_mapped.controller", &times, 0.0, LONGEST_US)?;
    // A command may trim a million pages.
    within("page_mapped.controller.trim_page_us", controller.trim_page_us, 0.0, 1e3)?;
    let Some(housekeeping) = controller.housekeeping else { return Ok(()) };
    within("page_mapped.controller.housekeeping.period_ms", housekeeping.period_ms, 0.001, 1e9)?;
    let most = housekeeping.period_ms * 0.9;
    within("page_mapped.controller.housekeeping.stall_ms", housekeeping.stall_ms, 0.0, most)
}

fn interface_and_buffer(model: &PageMapped) -> Result<(), PresetError> {
    let link = &model.link;
    let pace = [("read_bytes_per_s", link.read_bytes_per_s), ("write_bytes_per_s", link.write_bytes_per_s)];
    all_within("page_mapped.link", &pace, 1e3, f64::INFINITY)?;
    within("page_mapped.link.command_us", link.command_us, 0.0, LONGEST_US)?;
    let buffer = &model.write_buffer;
    let units = f64::from(buffer.program_units_per_die);
    within("page_mapped.write_buffer.program_units_per_die", units, 1.0, 65536.0)?;
    let Geometry { dies, program_unit_pages, .. } = model.geometry;
    let pages = units * f64::from(dies) * f64::from(program_unit_pages);
    let all = "page_mapped.write_buffer.program_units_per_die, in pages of all dies,";
    within(all, pages, 1.0, MOST_BUFFER_PAGES)?;
    within("page_mapped.write_buffer.collect_us", buffer.collect_us, 0.0, LONGEST_US)
}

/// What is not modeled together: group commits know one frontier, folding knows no handle.
fn placement(model: &PageMapped) -> Result<(), PresetError> {
    let Some(placement) = model.placement else { return Ok(()) };
    within("page_mapped.placement.handles", f64::from(placement.handles), 1.0, 128.0)?;
    holds(
        model.slc.is_none()
            && model.write_buffer.cache == WriteCache::Protected
            && model.collection.frontiers == Frontiers::Separate,
        "page_mapped.placement goes with a protected write buffer and separate frontiers, and without \
         page_mapped.slc",
    )
}

fn slc(slc: &SlcCache, geometry: &Geometry) -> Result<(), PresetError> {
    let table = "page_mapped.slc";
    within("page_mapped.slc.static_share", slc.static_share, 0.0, 0.5)?;
    all_within(table, &[("dynamic_share", slc.dynamic_share), ("fold_share", slc.fold_share)], 0.0, 8.0)?;
    within("page_mapped.slc.bits", f64::from(slc.bits), 2.0, 8.0)?;
    all_within(table, &[("read_us", slc.read_us)], 0.0, LONGEST_US)?;
    all_within(table, &[("program_us", slc.program_us)], 0.001, LONGEST_US)?;
    let (pages, unit) = (slc.program_unit_pages, geometry.program_unit_pages);
    within("page_mapped.slc.program_unit_pages", f64::from(pages), 1.0, f64::from(unit))?;
    holds(
        pages.is_multiple_of(geometry.chunk_pages),
        "page_mapped.geometry.chunk_pages must divide page_mapped.slc.program_unit_pages",
    )
}

fn idle_and_reduction(model: &PageMapped) -> Result<(), PresetError> {
    if let Some(idle) = &model.idle {
        within("page_mapped.idle.delay_ms", idle.delay_ms, 0.0, 1e9)?;
        let shares =
            [("free_target_share", idle.free_target_share), ("most_valid_share", idle.most_valid_share)];
        all_within("page_mapped.idle", &shares, 0.0, 1.0)?;
    }
    let Some(reduction) = &model.reduction else { return Ok(()) };
    within("page_mapped.reduction.floor", reduction.floor, 0.125, 1.0)?;
    within("page_mapped.reduction.slope", reduction.slope, 0.0, 1.0 - reduction.floor)
}

fn thermal(thermal: &Thermal, has_power: bool) -> Result<(), PresetError> {
    let table = "page_mapped.thermal";
    holds(has_power, "page_mapped.thermal needs page_mapped.power: it says what warms the drive")?;
    let celsius = [("ambient_c", thermal.ambient_c), ("sensor_offset_c", thermal.sensor_offset_c)];
    all_within(table, &celsius, -100.0, 200.0)?;
    let parts = [
        ("controller_k_per_w", thermal.controller_k_per_w),
        ("controller_j_per_k", thermal.controller_j_per_k),
        ("nand_k_per_w", thermal.nand_k_per_w),
        ("nand_j_per_k", thermal.nand_j_per_k),
    ];
    all_within(table, &parts, 1e-6, 1e6)?;
    within("page_mapped.thermal.sensor_lag_s", thermal.sensor_lag_s, 0.0, 1e6)?;
    let mut below_c = thermal.ambient_c;
    for throttle in &thermal.throttle {
        let from = "page_mapped.thermal.throttle.from_c (ascending, above the air)";
        within(from, throttle.from_c, below_c, 1000.0)?;
        within("page_mapped.thermal.throttle.hysteresis_k", throttle.hysteresis_k, 0.0, 200.0)?;
        within("page_mapped.thermal.throttle.factor", throttle.factor, 1.0, 1000.0)?;
        below_c = throttle.from_c;
    }
    Ok(())
}

fn wear_and_power(model: &PageMapped) -> Result<(), PresetError> {
    if let Some(wear) = &model.wear {
        check_wear("page_mapped.wear", wear)?;
    }
    let Some(power) = &model.power else { return Ok(()) };
    let energies = [
        ("idle_w", power.idle_w),
        ("command_uj", power.command_uj),
        ("byte_nj", power.byte_nj),
        ("program_uj", power.program_uj),
        ("read_uj", power.read_uj),
        ("erase_uj", power.erase_uj),
    ];
    all_within("page_mapped.power", &energies, 0.0, 1e9)?;
    within("page_mapped.power.controller_share", power.controller_share, 0.0, 1.0)
}

fn media_errors(errors: &MediaErrors) -> Result<(), PresetError> {
    let table = "page_mapped.media_errors";
    let rates = [
        ("base", errors.base),
        ("per_erase", errors.per_erase),
        ("per_age", errors.per_age),
        ("per_read", errors.per_read),
        ("uncorrectable_chance", errors.uncorrectable_chance),
    ];
    all_within(table, &rates, 0.0, 1.0)?;
    within("page_mapped.media_errors.power", errors.power, 0.0, 10.0)?;
    within("page_mapped.media_errors.age_hours", errors.age_hours, 1e-6, 1e9)?;
    within("page_mapped.media_errors.retry_us", errors.retry_us, 0.0, LONGEST_US)?;
    holds(
        errors.tiers.windows(2).all(|pair| pair[0] < pair[1]) && errors.tiers.iter().all(|end| *end > 0.0),
        "page_mapped.media_errors.tiers must be above 0 and ascending",
    )
}

#[cfg(test)]
mod tests;
