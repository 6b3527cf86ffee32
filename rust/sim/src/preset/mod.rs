//! A drive as a file describes it: TOML that a user can copy and edit, checked before anything is made of it.

mod check;
mod log_block;
mod oracle;
mod page_mapped;

pub use log_block::LogBlock;
pub use oracle::{
    Decay, Errors, IdleStair, Latency, LatencyClass, Oracle, Outlier, Ramp, Rate, RateBy, Recovery, Stall,
};
pub use page_mapped::{
    CellTimes, Collection, Controller, Frontiers, Geometry, Housekeeping, IdleWork, Link, Mapping,
    MediaErrors, Nand, Pace, PageMapped, Power, Reduction, SlcCache, Thermal, Throttle, Victim, Wear,
    WriteBuffer, WriteCache,
};

use serde::Deserialize;
use serde::de::IgnoredAny;

/// Why a preset is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PresetError(pub String);

/// A preset file. Exactly one of the three models is given.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// Its name, as reports print it.
    pub name: String,
    /// What it stands for, in a line.
    pub summary: String,
    /// Capacity if the user names none.
    pub capacity_bytes: u64,
    /// Logical block.
    #[serde(default = "sector_512")]
    pub sector_bytes: u32,
    /// Parameters, by their dotted names, whose values are assumptions: nothing published supports them.
    #[serde(default)]
    pub assumed: Vec<String>,
    /// What the maker promises; for rehearsals.
    #[serde(default)]
    pub rated: Rated,
    /// Whether and how a purge works.
    #[serde(default)]
    pub purge: Purge,
    /// A page-mapped drive.
    pub page_mapped: Option<PageMapped>,
    /// A drive whose map knows large units only, with a log of pages before them.
    pub log_block: Option<LogBlock>,
    /// A drive that follows a script.
    pub oracle: Option<Oracle>,
    /// Published figures that the model is held against; read by the tests and by `openpts sim check`.
    #[serde(default, rename = "figures")]
    _figures: IgnoredAnyEq,
}

const fn sector_512() -> u32 {
    512
}

/// What is not looked at here.
#[derive(Clone, Copy, Debug, Default)]
struct IgnoredAnyEq;

impl PartialEq for IgnoredAnyEq {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<'de> Deserialize<'de> for IgnoredAnyEq {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// What the data sheet promises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rated {
    /// Terabytes (base 10) that may be written.
    pub tbw: Option<f64>,
    /// 4 KiB random write IOPS in steady state.
    pub random_write_iops: Option<f64>,
    /// 4 KiB random read IOPS.
    pub random_read_iops: Option<f64>,
    /// Sequential write, bytes per second.
    pub sequential_write_bytes_per_s: Option<f64>,
    /// Sequential read, bytes per second.
    pub sequential_read_bytes_per_s: Option<f64>,
}

/// What a purge does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purge {
    /// It works.
    #[default]
    Works,
    /// The drive refuses it.
    Absent,
    /// It reports an error.
    Fails,
    /// It reports success and leaves the data.
    Lies,
}

impl Preset {
    /// Read and check a preset.
    ///
    /// # Errors
    /// With the line of what is unknown, missing or of the wrong type; with the name of what is out of bounds.
    pub fn parse(toml: &str) -> Result<Self, PresetError> {
        let preset: Self = toml::from_str(toml).map_err(|error| PresetError(error.to_string()))?;
        check::check(&preset)?;
        Ok(preset)
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::SHIPPED;
