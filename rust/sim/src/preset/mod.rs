//! A drive as a file describes it: TOML that a user can copy and edit, checked before anything is made of it.

mod check;
mod log_block;
mod oracle;
mod page_mapped;
mod power_state;

pub use log_block::LogBlock;
pub use oracle::{
    Decay, Errors, IdleStair, Latency, LatencyClass, Oracle, Outlier, Ramp, Rate, RateBy, Recovery, Stall,
    Trims,
};
pub use page_mapped::{
    CellTimes, Collection, Controller, DataPlacement, Frontiers, Geometry, Housekeeping, IdleWork, Isolation,
    Link, Mapping, MediaErrors, Nand, Pace, PageMapped, Power, Reduction, SlcCache, Thermal, Throttle,
    Victim, Wear, WriteBuffer, WriteCache,
};
pub use power_state::PowerState;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Table;

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
    /// The class of the specification that such a drive is of; it bears on a test's settings alone.
    pub class: Option<DriveClass>,
    /// Capacity if the user names none.
    pub capacity_bytes: u64,
    /// Logical block.
    #[serde(default = "sector_512")]
    pub sector_bytes: u32,
    /// Parameters, by their dotted names, whose values are assumptions: nothing published supports them.
    #[serde(default)]
    pub assumed: Vec<String>,
    /// What the maker promises; rates of a plan.
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
    /// States of less power; without, there is one.
    #[serde(default)]
    pub power_states: Vec<PowerState>,
    /// Published figures that the model is held against; what they say is for tests to read.
    #[serde(default)]
    pub figures: Vec<Table>,
}

/// A class of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DriveClass {
    /// PTS-E.
    Enterprise,
    /// PTS-C.
    Client,
}

impl DriveClass {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enterprise => "enterprise",
            Self::Client => "client",
        }
    }
}

const fn sector_512() -> u32 {
    512
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

impl Rated {
    /// What is promised, by the names of the file.
    pub fn by_name(&self) -> impl Iterator<Item = (&'static str, f64)> {
        [
            ("tbw", self.tbw),
            ("random_read_iops", self.random_read_iops),
            ("random_write_iops", self.random_write_iops),
            ("sequential_read_bytes_per_s", self.sequential_read_bytes_per_s),
            ("sequential_write_bytes_per_s", self.sequential_write_bytes_per_s),
        ]
        .into_iter()
        .filter_map(|(name, figure)| Some((name, figure?)))
    }
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
        let preset: Self = read(toml)?;
        check::check(&preset)?;
        Ok(preset)
    }

    /// All that a preset's author wrote, in the order of the file, for those who show it.
    ///
    /// # Errors
    /// With the line of what is no TOML.
    pub fn as_written(toml: &str) -> Result<Table, PresetError> {
        read(toml)
    }
}

/// Read TOML; an error is one sentence with the line.
fn read<T: DeserializeOwned>(text: &str) -> Result<T, PresetError> {
    toml::from_str(text).map_err(|error| {
        let mut reason = error.message().replace('\n', ", ");
        for (kind, words) in [("u32", "a whole number"), ("u64", "a whole number"), ("f64", "a number")] {
            reason = reason.replace(&format!("expected {kind}"), &format!("expected {words}"));
        }
        let before = error.span().and_then(|span| text.get(..span.start));
        PresetError(match before {
            Some(before) => format!("line {}: {reason}", before.matches('\n').count() + 1),
            None => reason,
        })
    })
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::SHIPPED;
