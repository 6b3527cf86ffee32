//! What sources say about themselves.

use serde::{Deserialize, Serialize};

/// Where in the stack a trace was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// System calls on files.
    File,
    /// Arrival of I/Os at the block layer (Q).
    Queue,
    /// Hand-over of requests to the driver (D).
    Issue,
    /// Below the driver: a hypervisor, an array, a network.
    Wire,
}

impl Level {
    /// The word for messages and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Queue => "queue",
            Self::Issue => "issue",
            Self::Wire => "wire",
        }
    }
}

/// A device of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedDevice {
    /// As the source names it.
    pub name: String,
    /// If the source tells.
    pub capacity_bytes: Option<u64>,
    /// If the source tells.
    pub sector_bytes: Option<u32>,
}

/// What a source says about itself. Complete once the reader has ended: devices and names come with the records.
#[derive(Clone, Debug)]
pub struct SourceFacts {
    /// Name of the format, as `--format` takes it.
    pub format: &'static str,
    /// Where in the stack.
    pub level: Level,
    /// Smallest step of its times; 1 for nanoseconds, 0 for a source without times.
    pub resolution_ns: u64,
    /// Wall-clock time at which its own clock was 0, in ns since 1970, if it tells.
    pub epoch_ns: Option<i64>,
    /// Whether completions, or latencies, are in it.
    pub has_completions: bool,
    /// Whether the moment of issue is in it, and not only that of completion.
    pub has_issue_times: bool,
    /// In the order of their numbers.
    pub devices: Vec<TracedDevice>,
    /// Names of processes, in the order of their numbers; the first is empty.
    pub commands: Vec<String>,
}
