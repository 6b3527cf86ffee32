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

use super::operation::Operation;
use super::stimulus::Stream;

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
#[serde(rename_all = "snake_case")]
pub enum Conflicts {
    /// It waits for that one, and those behind it wait as well.
    #[default]
    Strict,
    /// It is issued.
    Allow,
    /// It is left out.
    Drop,
}

impl Replay {
    /// Whether the schedule is what its stream says of it, for a target with these sectors.
    ///
    /// # Errors
    /// If not, or if there is no such schedule.
    pub fn check(&self, stream: &Stream, sector_bytes: u32) -> Result<(), String> {
        let header = ScheduleHeader::read(&self.path).map_err(|error| error.to_string())?;
        let stimulus = &stream.stimulus;
        let path = self.path.display();
        for operation in Operation::ALL {
            let ios = header.by_operation[operation as usize];
            if ios > 0 && stimulus.operations.of(operation) == 0 {
                return Err(format!("the schedule {path} has {ios} I/Os of the kind {}", operation.name()));
            }
        }
        if stream.bounds.ios.is_none_or(|ios| ios > header.ios) {
            return Err(format!("bounds.ios is to be {} at most, as the schedule {path} has", header.ios));
        }
        if header.end_bytes > stimulus.range_end_bytes {
            return Err(format!(
                "the schedule {path} reaches to byte {}, beyond the range",
                header.end_bytes
            ));
        }
        if header.largest_bytes > stimulus.largest_block_bytes() {
            let largest = header.largest_bytes;
            return Err(format!("the schedule {path} has transfers of {largest} B, more than block_sizes"));
        }
        if !header.sector_bytes.is_multiple_of(sector_bytes) {
            let sector = header.sector_bytes;
            return Err(format!("the schedule {path} is for sectors of {sector} B, not of {sector_bytes} B"));
        }
        if self.mode == Mode::Dependent && !header.has_parents {
            return Err(format!("the schedule {path} has no dependencies"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
