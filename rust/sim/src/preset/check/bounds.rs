//! Bounds of single values, named as a preset's author wrote them.

use crate::preset::{PresetError, Wear};

/// A value must lie in a range, ends included; what is not a number never does.
pub(in crate::preset) fn within(name: &str, value: f64, least: f64, most: f64) -> Result<(), PresetError> {
    if value >= least && value <= most {
        return Ok(());
    }
    Err(PresetError(if most == f64::INFINITY {
        format!("{name} is {value} and must be at least {least}")
    } else {
        format!("{name} is {value} and must be from {least} to {most}")
    }))
}

/// How flash wears out, in the table of that name.
pub(super) fn check_wear(table: &str, wear: &Wear) -> Result<(), PresetError> {
    within(&format!("{table}.mean_erases"), wear.mean_erases, 1.0, 1e9)?;
    within(&format!("{table}.rated_erases"), wear.rated_erases, 1.0, 1e9)?;
    within(&format!("{table}.deviation_share"), wear.deviation_share, 0.0, 1.0)
}
