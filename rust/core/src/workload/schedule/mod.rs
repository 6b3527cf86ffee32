//! Traces that are replayed: what is issued when, as it was prepared for one target beforehand.
//!
//! ```text
//! trace --mapping, speed, filters--> schedule --read ahead by a thread--> player -> engine or simulated host
//! ```
//!
//! All that changes a trace happens when its schedule is made. A player only decides when the next I/O may be
//! issued, and counts how true the replay is.

mod format;
mod played;
mod player;
mod read_ahead;

pub use format::{
    FARTHEST_PARENT, MOST_PARENTS, ScheduleError, ScheduleHeader, ScheduleWriter, ScheduledIo,
    UNKNOWN_LATENCY,
};
pub use played::{Cause, InFlightFit, LATE_NS, Played};
pub use player::{Cue, Player};

use std::path::PathBuf;

use serde::Deserialize;

/// A schedule in place of a generated pattern, and how it is played.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// The schedule's file.
    pub path: PathBuf,
    /// What decides on the moment of an I/O.
    #[serde(default)]
    pub mode: Mode,
    /// What becomes of an I/O that overlaps one in flight, where one of them changes data.
    #[serde(default)]
    pub conflicts: Conflicts,
}

/// What decides on the moment of a replayed I/O. The order of the schedule is kept in all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Its due moment, whether or not the device keeps up.
    #[default]
    Timed,
    /// A free slot.
    Afap,
    /// The answers to those that it depends on, and the time that passed after them in the trace.
    Dependent,
    /// As many in flight as there were in the trace, or fewer.
    Load,
}

/// What becomes of an I/O that overlaps one in flight, where one of them changes data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conflicts {
    /// It waits for that one, and those behind it wait as well.
    #[default]
    Strict,
    /// It waits for that one, and only those behind it that it conflicts with wait as well.
    PushBack,
    /// It is issued.
    Allow,
    /// It is left out.
    Drop,
}

#[cfg(test)]
mod tests;
