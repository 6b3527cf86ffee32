//! What a capture is to do, and what it did.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::reader::Level;

/// How events come out of the kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// Relay files of blktrace.
    Blktrace,
    /// Pages of a trace buffer.
    Tracefs {
        /// The kernel's description of a page.
        header_page: String,
        /// Its description of each event, by name.
        formats: BTreeMap<String, String>,
    },
}

/// A device whose I/Os are wanted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveDevice {
    /// As the file names it.
    pub name: String,
    /// Its size.
    pub capacity_bytes: u64,
    /// Its logical sector.
    pub sector_bytes: u32,
    /// The kernel's number of the disk that it is or is a part of, then of itself.
    pub numbers: Vec<u32>,
    /// Where it begins on that disk, in sectors of 512 bytes.
    pub first_sector: u64,
}

/// What is to be captured, and where it goes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveOrder {
    /// How events come.
    pub way: Way,
    /// Which arrivals are the I/Os.
    pub level: Level,
    /// All of them.
    pub devices: Vec<LiveDevice>,
    /// When the capture began, by the clock of the events.
    pub start_ns: i64,
    /// The file; while the capture goes on it has `.part` behind its name.
    pub file: PathBuf,
    /// Whether names of processes are kept.
    pub with_names: bool,
}

/// What is known at the end.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveEnd {
    /// Wall clock when it began, ns since 1970 UTC.
    pub start_utc_ns: i64,
    /// Names of processes as the file shall have them.
    pub commands: Vec<String>,
    /// What else there is to say, by subject.
    pub notes: BTreeMap<String, String>,
}

/// What was captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LiveSummary {
    /// I/Os that ended, or have left without that.
    pub ios: u64,
    /// Bytes that they transferred.
    pub bytes: u64,
    /// Those that failed.
    pub failed: u64,
    /// Open at this moment, or at the end.
    pub in_flight: u64,
    /// Completions of I/Os that began before the capture.
    pub began_before: u64,
    /// Events that the kernel had no room for.
    pub lost: u64,
    /// Records that make no sense.
    pub damaged: u64,
    /// Size of the file, at the end.
    pub file_bytes: u64,
}
