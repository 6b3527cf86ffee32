//! Access ranges that get exact shares of the random accesses.

use std::ops::Range;

use super::deck::Deck;
use super::grid::Grid;
use super::random::Uniform;
use super::stimulus::{Stimulus, Zone};

/// Zones one behind the other, each with the grids of all sizes.
#[derive(Debug)]
pub(super) struct Zones {
    deck: Deck<Dealt>,
    grids: Vec<Grid>,
    /// Where each zone ends.
    ends: Vec<u64>,
}

/// A zone as the deck has it.
#[derive(Clone, Copy, Debug)]
struct Dealt {
    /// Where its grids begin.
    first_grid: usize,
    number: u8,
}

impl Zones {
    pub(super) fn new(stimulus: &Stimulus, zones: &[Zone], sector_bytes: u32) -> Self {
        let sizes = stimulus.block_sizes.len();
        let grid = |region: &Range<u64>, block| {
            Grid::new(region, block, stimulus.alignment_of(block, sector_bytes))
                .expect("each zone is checked to hold each size")
        };
        let regions = regions(stimulus, zones, sector_bytes);
        let grids = regions
            .iter()
            .flat_map(|region| stimulus.block_sizes.iter().map(|size| grid(region, size.bytes)))
            .collect();
        let dealt = zones.iter().zip(1_u8..).map(|(zone, number)| {
            let first_grid = (usize::from(number) - 1) * sizes;
            (Dealt { first_grid, number }, zone.weight)
        });
        Self { deck: Deck::new(dealt), grids, ends: regions.iter().map(|region| region.end).collect() }
    }

    /// An offset, and the number of its zone.
    #[inline]
    pub(super) fn next(&mut self, size: usize, random: &mut Uniform) -> (u64, u8) {
        let Dealt { first_grid, number } = self.deck.deal(random);
        let grid = self.grids[first_grid + size];
        (grid.offset_of(random.below(grid.places())), number)
    }

    /// The number of the zone that holds this byte of the range.
    pub(super) fn zone_of(&self, offset: u64) -> u8 {
        let index = self.ends.partition_point(|end| *end <= offset);
        u8::try_from(index + 1).expect("so many zones at most")
    }
}

/// The zones' parts of the range, which they tile; their edges lie on sectors.
pub(super) fn regions(stimulus: &Stimulus, zones: &[Zone], sector_bytes: u32) -> Vec<Range<u64>> {
    let Range { start, end } = stimulus.range();
    let sector = u64::from(sector_bytes);
    let sectors = (end - start) / sector;
    let (mut share_pct, mut from) = (0.0, start);
    zones
        .iter()
        .enumerate()
        .map(|(index, zone)| {
            share_pct += zone.range_pct;
            let is_last = index + 1 == zones.len();
            // A product that is a whole number but for rounding errors is that number.
            let edge = start + (sectors as f64 * share_pct / 100.0 + 1e-3) as u64 * sector;
            let to = if is_last { end } else { edge.clamp(from, end) };
            std::mem::replace(&mut from, to)..to
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::testing::{SECTOR, random_writes};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn zones_tile_the_range_and_are_as_large_as_their_shares(
            start in 0..1000_u64,
            sectors in 1000..u64::MAX >> 20,
            parts in prop::collection::vec(1..1000_u32, 1..20),
        ) {
            let sum: u32 = parts.iter().sum();
            let zones: Vec<Zone> = parts
                .iter()
                .map(|part| Zone { weight: 1, range_pct: f64::from(*part) * 100.0 / f64::from(sum) })
                .collect();
            let stimulus = random_writes(512, start * 512..(start + sectors) * 512);
            let regions = regions(&stimulus, &zones, SECTOR);
            prop_assert_eq!(regions[0].start, start * 512);
            prop_assert_eq!(regions[regions.len() - 1].end, (start + sectors) * 512);
            prop_assert!(regions.windows(2).all(|pair| pair[0].end == pair[1].start));
            for (region, part) in regions.iter().zip(&parts) {
                prop_assert!(region.start.is_multiple_of(512));
                let exact = u128::from(sectors) * u128::from(*part) / u128::from(sum);
                let got = u128::from((region.end - region.start) / 512);
                // A sector, and what a double can't tell apart.
                prop_assert!(got.abs_diff(exact) <= 1 + (u128::from(sectors) >> 48), "{} {}", got, exact);
            }
        }
    }

    #[test]
    fn the_zones_of_pts_13_end_where_the_shares_do() {
        let zones = [5.0, 15.0, 80.0].map(|range_pct| Zone { weight: 1, range_pct });
        let stimulus = random_writes(512, 0..2_000_000 * 512);
        let ends: Vec<_> = regions(&stimulus, &zones, SECTOR).iter().map(|region| region.end / 512).collect();
        assert_eq!(ends, [100_000, 400_000, 2_000_000]);
        // 33.3 % of 2,000,000 is 665,999.9999999999 in doubles.
        let zones = [33.3, 66.7].map(|range_pct| Zone { weight: 1, range_pct });
        assert_eq!(regions(&stimulus, &zones, SECTOR)[0].end / 512, 666_000);
    }

    #[test]
    fn shares_that_sum_to_a_little_less_than_all_still_tile_the_range() {
        let zones = [50.0, 50.0 - 9e-7].map(|range_pct| Zone { weight: 1, range_pct });
        let stimulus = random_writes(512, 0..1 << 50);
        assert_eq!(regions(&stimulus, &zones, SECTOR)[1].end, 1 << 50);
    }
}
