//! Whether the values of a preset make sense together.

mod bounds;
mod log_block;
mod oracle;
mod page_mapped;

pub(super) use bounds::within;

use super::{Preset, PresetError, Rated, power_state};

/// The largest capacity, and the largest promise of a data sheet.
const MOST: f64 = 1e18;

/// Check a preset.
///
/// # Errors
/// With the dotted name of the first value that is out of bounds, and its bounds.
pub(super) fn check(preset: &Preset) -> Result<(), PresetError> {
    let models = [preset.page_mapped.is_some(), preset.log_block.is_some(), preset.oracle.is_some()];
    if models.iter().filter(|given| **given).count() != 1 {
        return Err(PresetError(
            "exactly one of [page_mapped], [log_block] and [oracle] must be given".into(),
        ));
    }
    if ![512, 4096].contains(&preset.sector_bytes) {
        return Err(PresetError(format!("sector_bytes is {} and neither 512 nor 4096", preset.sector_bytes)));
    }
    within("capacity_bytes", preset.capacity_bytes as f64, 1.0, MOST)?;
    rated(&preset.rated)?;
    power_state::check(&preset.power_states)?;
    preset.page_mapped.as_ref().map_or(Ok(()), page_mapped::check)?;
    preset.log_block.as_ref().map_or(Ok(()), log_block::check)?;
    preset.oracle.as_ref().map_or(Ok(()), oracle::check)
}

fn rated(rated: &Rated) -> Result<(), PresetError> {
    for (name, value) in rated.by_name() {
        if !(value > 0.0 && value <= MOST) {
            return Err(PresetError(format!(
                "rated.{name} is {value} and must be above 0, {MOST:e} at most"
            )));
        }
    }
    Ok(())
}
