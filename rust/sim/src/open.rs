//! A drive of whatever model a preset describes.

use super::drive::{Drive, PAGE_BYTES};
use super::log_block::LogBlockDrive;
use super::oracle::OracleDrive;
use super::page_mapped::PageMappedDrive;
use super::power_states::PowerSaving;
use super::preset::{Preset, PresetError};
use super::scale::Scale;

/// Beyond this, macro times have too few picoseconds.
const MOST_SCALE: u32 = 1_000_000;

/// The size of the small drive that stands for one of so many bytes, in whole pages.
#[must_use]
pub fn simulated_bytes(nominal_bytes: u64, scale: Scale) -> u64 {
    let bytes = nominal_bytes / u64::from(scale.factor());
    bytes - bytes % PAGE_BYTES
}

/// Make an empty drive of so many simulated bytes.
///
/// # Errors
/// If the preset does not go with the capacity.
pub fn open(
    preset: &Preset,
    capacity_bytes: u64,
    scale: Scale,
    seed: u64,
) -> Result<Box<dyn Drive>, PresetError> {
    if scale.factor() > MOST_SCALE {
        return Err(PresetError(format!("a scale of {} is more than {MOST_SCALE}", scale.factor())));
    }
    let drive: Box<dyn Drive> = if let Some(script) = &preset.oracle {
        Box::new(OracleDrive::new(preset, script, capacity_bytes, scale)?)
    } else if let Some(parts) = &preset.log_block {
        Box::new(LogBlockDrive::new(preset, parts, capacity_bytes, seed)?)
    } else if let Some(model) = &preset.page_mapped {
        Box::new(PageMappedDrive::new(preset, model, capacity_bytes, scale, seed)?)
    } else {
        return Err(PresetError("a preset of no model".into()));
    };
    if preset.power_states.is_empty() {
        return Ok(drive);
    }
    Ok(Box::new(PowerSaving::new(drive, &preset.power_states, scale)))
}

#[cfg(test)]
mod tests;
