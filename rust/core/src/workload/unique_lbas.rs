//! Random accesses that touch no more than a given total of unique LBAs (PTS 6(4)).

use super::grid::Grid;
use super::permutation::Permutation;
use super::random::Uniform;
use super::stimulus::Stimulus;

/// A fixed choice of places of the largest transfer; smaller transfers go anywhere inside of them.
#[derive(Debug)]
pub(super) struct UniqueLbas {
    grid: Grid,
    chosen: u64,
    order: Permutation,
    inside: Vec<Grid>,
}

impl UniqueLbas {
    pub(super) fn new(stimulus: &Stimulus, bytes: u64, sector_bytes: u32, seed: u64) -> Self {
        let grid = places(stimulus, sector_bytes).expect("the range is checked to hold a place");
        let largest = u64::from(stimulus.largest_block_bytes());
        let inside = |block| {
            let alignment = stimulus.alignment_of(block, sector_bytes);
            Grid::new(&(0..largest), block, alignment).expect("no size exceeds the largest")
        };
        Self {
            grid,
            chosen: bytes / largest,
            order: Permutation::new(grid.places(), seed),
            inside: stimulus.block_sizes.iter().map(|size| inside(size.bytes)).collect(),
        }
    }

    #[inline]
    pub(super) fn next(&self, size: usize, random: &mut Uniform) -> u64 {
        let place = self.order.place_of(random.below(self.chosen));
        let grid = self.inside[size];
        self.grid.offset_of(place) + grid.offset_of(random.below(grid.places()))
    }
}

/// Places of the largest transfer that do not overlap; none if not a single one fits.
pub(super) fn places(stimulus: &Stimulus, sector_bytes: u32) -> Option<Grid> {
    let largest = stimulus.largest_block_bytes();
    let alignment = stimulus.alignment_of(largest, sector_bytes);
    let grid = Grid::new(&stimulus.range(), largest, alignment)?;
    Some(grid.spaced(u64::from(largest).next_multiple_of(alignment)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::workload::stimulus::BlockSize;
    use crate::workload::testing::{SECTOR, ks_p, random_writes};
    use proptest::prelude::*;

    fn sectors_touched(stimulus: &Stimulus, bytes: u64, seed: u64, accesses: usize) -> BTreeSet<u64> {
        let mut touched = BTreeSet::new();
        for thread in 0..3 {
            let unique = UniqueLbas::new(stimulus, bytes, SECTOR, seed);
            let mut random = Uniform::for_thread(seed, thread);
            for access in 0..accesses {
                let size = access % stimulus.block_sizes.len();
                let offset = unique.next(size, &mut random);
                let block = stimulus.block_sizes[size].bytes;
                assert!(offset.is_multiple_of(stimulus.alignment_of(block, SECTOR)), "{offset} of {block} B");
                let first = offset / u64::from(SECTOR);
                touched.extend(first..first + u64::from(block / SECTOR));
            }
        }
        touched
    }

    proptest! {
        #[test]
        fn exactly_the_limit_is_touched_and_inside_the_range(
            start in 0..20_u64,
            chosen in 1..30_u64,
            others in 0..1000_u64,
            rest in 0..4096_u64,
            sizes in prop::sample::select(vec![vec![4096_u32], vec![512, 4096], vec![5120, 512], vec![1536]]),
            seed: u64,
        ) {
            let largest = u64::from(*sizes.iter().max().unwrap());
            let range = start * 512..start * 512 + 4096 + (chosen + others) * largest.next_multiple_of(4096);
            let mut stimulus = random_writes(4096, range.clone());
            stimulus.block_sizes = sizes.iter().map(|bytes| BlockSize::new(*bytes, 1)).collect();
            let limit = chosen * largest + rest % largest;
            let touched = sectors_touched(&stimulus, limit, seed, 2000);
            prop_assert_eq!(touched.len() as u64 * 512, chosen * largest);
            prop_assert!(*touched.first().unwrap() * 512 >= range.start);
            prop_assert!((*touched.last().unwrap() + 1) * 512 <= range.end);
        }
    }

    #[test]
    fn the_limit_of_the_whole_range_reaches_the_whole_range() {
        let stimulus = random_writes(4096, 0..64 * 4096);
        assert_eq!(sectors_touched(&stimulus, 64 * 4096, 5, 2000).len(), 64 * 8);
    }

    #[test]
    fn the_chosen_places_lie_uniformly_over_the_range() {
        let range = 3_u64 << 38;
        let stimulus = random_writes(4096, 0..range);
        let unique = UniqueLbas::new(&stimulus, 4096 * 2000, SECTOR, 9);
        let shares: Vec<f64> = (0..2000)
            .map(|rank| unique.grid.offset_of(unique.order.place_of(rank)) as f64 / range as f64)
            .collect();
        let p = ks_p(&shares, |share| share);
        assert!(p > 1e-4, "{p}");
    }
}
