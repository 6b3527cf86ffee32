//! A hybrid drive, as in sticks and cards: large mapped units, and a log of pages before them.

use serde::Deserialize;

use super::Wear;

/// The parts of the model.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogBlock {
    /// Pages of 4 KiB in a mapped unit.
    pub unit_pages: u32,
    /// Pages of the log for each mapped unit of the drive (lambda).
    pub log_pages_per_unit: u32,
    /// Independent dies, over which programs and merges spread.
    pub dies: u32,
    /// Pages that a die programs at once.
    pub program_unit_pages: u32,
    /// Pages that an array read gives.
    #[serde(default = "one")]
    pub read_unit_pages: u32,
    /// Program units that the write buffer holds.
    #[serde(default = "one")]
    pub buffer_program_units: u32,
    /// Array read, in microseconds.
    pub read_us: f64,
    /// Program of a program unit, in microseconds.
    pub program_us: f64,
    /// Erase of a unit's blocks, in microseconds.
    pub erase_us: f64,
    /// Speed at which the log is programmed, against that of units: 1 and more.
    pub log_speed: f64,
    /// Controller time of a read command, in microseconds.
    pub command_read_us: f64,
    /// Controller time of a write command, in microseconds.
    pub command_write_us: f64,
    /// What a read takes besides, in microseconds.
    #[serde(default)]
    pub fixed_read_us: f64,
    /// What a write takes besides, in microseconds.
    #[serde(default)]
    pub fixed_write_us: f64,
    /// Interface, bytes per second, half duplex.
    pub link_bytes_per_s: f64,
    /// How blocks wear out; without, they don't.
    pub wear: Option<Wear>,
    /// Blocks kept to replace worn ones, as a share of those in use; at least one where blocks wear out.
    #[serde(default)]
    pub spare_share: f64,
}

const fn one() -> u32 {
    1
}
