//! Where a random access goes.

use super::grid::Grid;
use super::hot_spot::HotSpot;
use super::random::Uniform;
use super::segments::{Arrangement, Segments};
use super::stimulus::{Placement, Stimulus};
use super::unique_lbas::UniqueLbas;
use super::zones::Zones;

/// The offsets of a stimulus's random accesses, for each of its sizes.
#[derive(Debug)]
pub(super) enum RandomOffsets {
    Uniform(Vec<Grid>),
    Zones(Zones),
    HotSpots(Vec<HotSpot>),
    Segments(Segments),
    UniqueLbas(UniqueLbas),
}

impl RandomOffsets {
    /// Those of a checked stimulus. What is fixed for a session comes from its seed; an arrangement of
    /// segments is kept for the next step that asks for the same.
    pub(super) fn new(
        stimulus: &Stimulus,
        sector_bytes: u32,
        seed: u64,
        arrangement: &mut Option<Arrangement>,
    ) -> Self {
        let range = stimulus.range();
        let grids_of = |region| -> Vec<Grid> {
            let grid = |block| Grid::new(region, block, stimulus.alignment_of(block, sector_bytes));
            let sizes = stimulus.block_sizes.iter();
            sizes.map(|size| grid(size.bytes).expect("each size is checked to fit")).collect()
        };
        let hot_spots = |shape: &dyn Fn(Grid) -> HotSpot| {
            Self::HotSpots(grids_of(&range).into_iter().map(shape).collect())
        };
        match stimulus.placement {
            Placement::Uniform => Self::Uniform(grids_of(&range)),
            Placement::Zones(ref zones) => Self::Zones(Zones::new(stimulus, zones, sector_bytes)),
            Placement::Zipf { theta } => hot_spots(&|grid| HotSpot::zipf(grid, theta, seed)),
            Placement::Pareto { h } => hot_spots(&|grid| HotSpot::pareto(grid, h, seed)),
            Placement::Normal { mean_pct, deviation_pct } => {
                hot_spots(&|grid| HotSpot::normal(grid, mean_pct, deviation_pct))
            }
            Placement::Segments { count, bytes } => {
                let alignment = stimulus.alignment_of(stimulus.largest_block_bytes(), sector_bytes);
                let known = arrangement.take().filter(|known| known.is_of(&range, alignment, count, bytes));
                let arrangement = arrangement.insert(
                    known.unwrap_or_else(|| Arrangement::new(range.clone(), alignment, count, bytes, seed)),
                );
                Self::Segments(Segments::new(arrangement.starts(), grids_of(&(0..bytes))))
            }
            Placement::UniqueLbas { bytes } => {
                Self::UniqueLbas(UniqueLbas::new(stimulus, bytes, sector_bytes, seed))
            }
        }
    }

    /// The offset of the next access of the size with this index, and the number of its zone; 0 where there
    /// are none.
    #[inline]
    pub(super) fn next(&mut self, size: usize, random: &mut Uniform) -> (u64, u8) {
        let offset = match self {
            Self::Uniform(grids) => {
                let grid = grids[size];
                grid.offset_of(random.below(grid.places()))
            }
            Self::Zones(zones) => return zones.next(size, random),
            Self::HotSpots(spots) => spots[size].next(random),
            Self::Segments(segments) => segments.next(size, random),
            Self::UniqueLbas(unique) => unique.next(size, random),
        };
        (offset, 0)
    }

    /// The number of the zone in which an access that was not placed at random begins.
    #[inline]
    pub(super) fn zone_of(&self, offset: u64) -> u8 {
        if let Self::Zones(zones) = self { zones.zone_of(offset) } else { 0 }
    }
}
