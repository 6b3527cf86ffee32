//! Where the I/Os of a trace go on a target.

use serde::Deserialize;

use super::footprint::{Footprint, Ranks};
use crate::error::TraceError;

/// How places of the trace become places of the target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mapping {
    /// They stay what they are; a trace that does not fit is refused.
    #[default]
    Identity,
    /// What is beyond the target is left out, what crosses its end is shortened.
    Clip,
    /// Modulo the capacity; what crosses the end is split.
    Wrap,
    /// Touched runs are moved as a whole, and the gaps between them are scaled.
    Scale,
    /// Touched granules are packed, in their order.
    Compact,
    /// By a table of zones; what is in none of them is left out.
    Zones(Vec<Zone>),
}

/// A part of the trace's addresses, and where it begins on the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Zone {
    /// First byte.
    pub start: u64,
    /// Behind the last one.
    pub end: u64,
    /// The target's byte for the first one.
    pub target: u64,
}

impl Mapping {
    /// Whether it depends on what is touched.
    pub(super) const fn needs_footprint(&self) -> bool {
        matches!(self, Self::Scale | Self::Compact)
    }
}

/// A mapping of one trace onto one target.
#[derive(Debug)]
pub(super) enum Map {
    Identity,
    Clip,
    Wrap,
    Granules {
        ranks: Ranks,
        granule_bytes: u64,
        free: Option<Free>,
    },
    /// In order, disjoint.
    Zones(Vec<Zone>),
}

/// Granules that nothing touches: as many of the trace as of the target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Free {
    traced: u64,
    target: u64,
    /// Every gap has one at least, so that runs which were apart do not touch.
    gaps_last: u64,
}

impl Map {
    /// `footprint` is that of all reads and writes, of a trace that ends at `end_bytes`.
    pub(super) fn new(
        mapping: &Mapping,
        sector_bytes: u32,
        footprint: Footprint,
        granule_bytes: u64,
        end_bytes: u64,
        capacity_bytes: u64,
    ) -> Result<Self, TraceError> {
        let touched_bytes = footprint.bytes();
        match mapping {
            Mapping::Identity if end_bytes > capacity_bytes => Err(TraceError::Refused(format!(
                "the trace reaches to byte {end_bytes}, the target ends at {capacity_bytes}: name a mapping: \
                 compact or scale keep all {touched_bytes} B that are read or written, clip and wrap keep places"
            ))),
            Mapping::Identity => Ok(Self::Identity),
            Mapping::Clip => Ok(Self::Clip),
            Mapping::Wrap => Ok(Self::Wrap),
            Mapping::Scale | Mapping::Compact => {
                let room = capacity_bytes / granule_bytes;
                let ranks = Ranks::of(footprint);
                if ranks.granules > room {
                    return Err(TraceError::Refused(format!(
                        "the trace reads and writes {touched_bytes} B in granules of {granule_bytes} B, the \
                         target holds {capacity_bytes} B: use clip or wrap, or a larger target"
                    )));
                }
                let free = (*mapping == Mapping::Scale).then(|| {
                    let target = room - ranks.granules;
                    let gaps = ranks.runs.saturating_sub(1);
                    Free {
                        traced: ranks.end - ranks.granules,
                        target,
                        gaps_last: if target >= gaps { gaps } else { 0 },
                    }
                });
                Ok(Self::Granules { ranks, granule_bytes, free })
            }
            Mapping::Zones(zones) => Self::zones(zones, sector_bytes.into(), capacity_bytes),
        }
    }

    fn zones(zones: &[Zone], sector_bytes: u64, capacity_bytes: u64) -> Result<Self, TraceError> {
        let mut zones = zones.to_vec();
        zones.sort_unstable();
        for (number, zone) in zones.iter().enumerate() {
            let Zone { start, end, target } = *zone;
            let refused =
                |why: String| Err(TraceError::Refused(format!("zone {start}-{end}:{target} {why}")));
            if start >= end {
                return refused("is empty: its end has to be behind its beginning".into());
            }
            if ![start, end, target].iter().all(|place| place.is_multiple_of(sector_bytes)) {
                return refused(format!("is not of whole sectors: use multiples of {sector_bytes} B"));
            }
            if target.checked_add(end - start).is_none_or(|target_end| target_end > capacity_bytes) {
                return refused(format!("reaches beyond the target's end, {capacity_bytes} B"));
            }
            if zones.get(number + 1).is_some_and(|next| next.start < end) {
                return refused("overlaps the next one of the trace".into());
            }
        }
        Ok(Self::Zones(zones))
    }

    /// Why an I/O is left out that has no place, and what was done to one that has no place for a part.
    pub(super) const fn losses(&self) -> (&'static str, &'static str) {
        match self {
            Self::Zones(_) => ("outside of the zones", "cut at a zone's end"),
            _ => ("beyond the target's end", "cut at the target's end"),
        }
    }

    /// The places on the target of the bytes from `start` to `end`, in order: first byte and the one behind.
    pub(super) fn places(&self, start: u64, end: u64, capacity_bytes: u64, places: &mut Vec<(u64, u64)>) {
        places.clear();
        match self {
            Self::Identity => places.push((start, end)),
            Self::Clip if start < capacity_bytes => places.push((start, end.min(capacity_bytes))),
            Self::Clip => (),
            Self::Wrap => {
                let mut left = (end - start).min(capacity_bytes);
                let mut place = start % capacity_bytes;
                while left > 0 {
                    let length = left.min(capacity_bytes - place);
                    places.push((place, place + length));
                    (place, left) = (0, left - length);
                }
            }
            Self::Zones(zones) => {
                let first = zones.partition_point(|zone| zone.end <= start);
                for zone in zones[first..].iter().take_while(|zone| zone.start < end) {
                    let (from, to) = (start.max(zone.start), end.min(zone.end));
                    push(places, zone.target + (from - zone.start), to - from);
                }
            }
            Self::Granules { ranks, granule_bytes, free } => {
                for granule in start / granule_bytes..=(end - 1) / granule_bytes {
                    let Some((rank, runs)) = ranks.of_granule(granule) else { continue };
                    let moved = rank + free.map_or(0, |free| free.before(granule - rank, runs - 1));
                    let from = start.max(granule * granule_bytes) - granule * granule_bytes;
                    let to = end.min((granule + 1) * granule_bytes) - granule * granule_bytes;
                    push(places, moved * granule_bytes + from, to - from);
                }
            }
        }
    }
}

/// Add a place, to the last one if it begins there.
fn push(places: &mut Vec<(u64, u64)>, from: u64, length: u64) {
    match places.last_mut() {
        Some(last) if last.1 == from => last.1 += length,
        _ => places.push((from, from + length)),
    }
}

impl Free {
    /// Free granules of the target before a run that has so many of the trace's before it, and so many runs.
    fn before(&self, traced: u64, runs: u64) -> u64 {
        let each = runs.min(self.gaps_last);
        let spread = |part: u64, whole: u64, total: u64| match whole {
            0 => 0,
            _ => (u128::from(part) * u128::from(total) / u128::from(whole)) as u64,
        };
        // What each gap has for itself is no part of what is scaled.
        let traced_rest = self.traced.saturating_sub(self.gaps_last);
        each + spread(traced.saturating_sub(each).min(traced_rest), traced_rest, self.target - self.gaps_last)
    }
}
