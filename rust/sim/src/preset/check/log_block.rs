//! Bounds of a log-block drive.

use super::bounds::{check_wear, within};
use crate::preset::{LogBlock, PresetError};

/// The longest time of an operation: a minute.
const LONGEST_US: f64 = 60e6;

/// Check the parts of a log-block drive.
///
/// # Errors
/// With the dotted name of the first value that is out of bounds, and its bounds.
pub(super) fn check(parts: &LogBlock) -> Result<(), PresetError> {
    let count = |name: &str, value: u32, most: u32| {
        within(&format!("log_block.{name}"), f64::from(value), 1.0, f64::from(most))
    };
    count("unit_pages", parts.unit_pages, 1 << 20)?;
    count("log_pages_per_unit", parts.log_pages_per_unit, 1 << 20)?;
    count("dies", parts.dies, 1024)?;
    count("program_unit_pages", parts.program_unit_pages, parts.unit_pages)?;
    count("read_unit_pages", parts.read_unit_pages, parts.unit_pages)?;
    count("buffer_program_units", parts.buffer_program_units, 1 << 20)?;
    for (name, value) in [
        ("read_us", parts.read_us),
        ("program_us", parts.program_us),
        ("erase_us", parts.erase_us),
        ("command_read_us", parts.command_read_us),
        ("command_write_us", parts.command_write_us),
        ("fixed_read_us", parts.fixed_read_us),
        ("fixed_write_us", parts.fixed_write_us),
    ] {
        within(&format!("log_block.{name}"), value, 0.0, LONGEST_US)?;
    }
    if let Some(wear) = &parts.wear {
        check_wear("log_block.wear", wear)?;
    }
    within("log_block.spare_share", parts.spare_share, 0.0, 1.0)?;
    within("log_block.log_speed", parts.log_speed, 1.0, 1000.0)?;
    within("log_block.link_bytes_per_s", parts.link_bytes_per_s, 1e3, f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use crate::preset::Preset;

    const CARD: &str = include_str!("../../../../../packages/openpts_sim/presets/log-block.toml");

    #[test]
    fn values_out_of_bounds_are_named() {
        for (given, instead, name) in [
            ("dies = 1", "dies = 0", "log_block.dies"),
            ("unit_pages = 16384", "unit_pages = 4", "log_block.program_unit_pages"),
            ("log_speed = 1.5", "log_speed = 0.5", "log_block.log_speed"),
            ("program_us = 1600.0", "program_us = nan", "log_block.program_us"),
            ("link_bytes_per_s = 0.09e9", "link_bytes_per_s = 0.0", "log_block.link_bytes_per_s"),
            ("link_bytes_per_s = 0.09e9", "link_bytes_per_s = 1.0", "log_block.link_bytes_per_s"),
        ] {
            assert!(CARD.contains(given), "{given}");
            let error = Preset::parse(&CARD.replace(given, instead)).unwrap_err().to_string();
            assert!(error.contains(name), "{instead}: {error}");
        }
    }
}
