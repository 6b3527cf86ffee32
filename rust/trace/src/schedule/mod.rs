//! Traces prepared for replay on one target.
//!
//! ```text
//! pass 1: window, filters -> footprint, end, devices
//! pass 2: window, filters -> time: speed, idle cut -> place: mapping, sectors, splits -> order: parents -> file
//! ```

mod effects;
mod filling;
mod footprint;
mod made;
mod making;
mod mapping;
mod parents;
#[cfg(test)]
mod tests;

pub use effects::Effects;
pub use filling::filling_schedule;
pub use footprint::Footprint;
pub use made::{Made, Original};
pub use making::make_schedule;
pub use mapping::{Mapping, Zone};

use serde::Deserialize;

use super::error::TraceError;
use super::traced_io::TracedIo;

/// Gives the next I/Os of a trace in order, in place of what is in the batch; false once there are no more.
pub type Pull<'a> = Box<dyn FnMut(&mut Vec<TracedIo>) -> Result<bool, TraceError> + 'a>;

/// What becomes of operations that transfer no data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Convert {
    /// They are replayed as they are; zeroes as trims.
    #[default]
    Keep,
    /// They become writes of the run's data.
    Write,
    /// They are left out, and keep their time.
    Skip,
}

/// What becomes of reads and writes that are not whole sectors of the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unaligned {
    /// They are rounded outwards.
    #[default]
    Round,
    /// So they are, and before a write the sectors are read that it has a part of only.
    Rmw,
    /// They are left out, and keep their time.
    Skip,
}

/// Which of the I/Os of a trace are replayed, by whether they are work in the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ground {
    /// All.
    #[default]
    Both,
    /// Those that a program waits for.
    Foreground,
    /// The others.
    Background,
}

/// How a trace is prepared.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Where the part of the target begins that the trace goes to: a multiple of the granule.
    pub base_bytes: u64,
    /// Size of that part.
    pub capacity_bytes: u64,
    /// How far all places are moved once they are mapped, modulo the size; whole sectors.
    pub shift_bytes: u64,
    /// The target's sector.
    pub sector_bytes: u32,
    /// What becomes of I/Os that are not whole sectors; trims are rounded inwards.
    pub unaligned: Unaligned,
    /// Where I/Os go.
    pub mapping: Mapping,
    /// What is moved as a whole by `Scale` and `Compact`, and counted as touched: a multiple of the sector.
    pub granule_bytes: u64,
    /// Traced time over replayed time, as a fraction: above 1 is faster.
    pub speed: (u32, u32),
    /// What a time without anything in flight is cut to.
    pub max_idle_ns: Option<u64>,
    /// First moment of the trace that is replayed, since its first I/O.
    pub from_ns: u64,
    /// And the one at which it ends; none: with its last I/O.
    pub to_ns: Option<u64>,
    /// Which I/Os are, by whether they are work in the background.
    pub ground: Ground,
    /// Whether reads are replayed.
    pub reads: bool,
    /// Whether all that changes data is, flushes included.
    pub writes: bool,
    /// What becomes of trims and zeroes.
    pub trims: Convert,
    /// The largest read or write; larger ones are split.
    pub most_bytes: u32,
    /// Whether dependencies are inferred, which takes completions.
    pub with_parents: bool,
}

impl Plan {
    /// Move places to where the plan has them; one across the end goes on at the beginning.
    pub(super) fn settle(&self, places: &mut Vec<(u64, u64)>) {
        let capacity_bytes = self.whole_capacity_bytes().max(1);
        let shift_bytes = self.shift_bytes % capacity_bytes;
        let seam = capacity_bytes - shift_bytes;
        if let Some(across) = places.iter().position(|(from, to)| *from < seam && seam < *to) {
            let (from, to) = places[across];
            places.splice(across..=across, [(from, seam), (seam, to)]);
        }
        for (from, to) in places {
            let moved = if *from < seam { *from + shift_bytes } else { *from - seam };
            (*from, *to) = (self.base_bytes + moved, self.base_bytes + moved + (*to - *from));
        }
    }

    /// Whole sectors of its part of the target.
    pub(super) const fn whole_capacity_bytes(&self) -> u64 {
        self.capacity_bytes / self.sector_bytes as u64 * self.sector_bytes as u64
    }
}
