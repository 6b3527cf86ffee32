//! A fixed random order of any number of places, without a table.

use super::random::Uniform;

const ROUNDS: usize = 4;

/// A bijection of `0..count` onto itself that looks random. It scatters the ranks of a hot spot over the
/// range, and its first values are a random choice of places; both are the same for all threads that
/// share a seed, and take no memory, however many places there are.
///
/// Each round is invertible on the smallest power of two that holds `count`; what falls beyond `count` is
/// sent through again until it falls inside (cycle walking, twice at most on average).
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    count: u64,
    /// Added to every rank, so that each place is exactly as likely as any other to get it.
    rotation: u64,
    mask: u64,
    shift: u32,
    keys: [(u64, u64); ROUNDS],
}

impl Permutation {
    /// The order of `count` places, at least 1, that belongs to the session's seed.
    pub fn new(count: u64, seed: u64) -> Self {
        let mut random = Uniform::for_session(seed);
        let bits = u64::BITS - (count - 1).leading_zeros();
        Self {
            count,
            rotation: random.below(count),
            mask: u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0),
            shift: bits.div_ceil(2).max(1),
            keys: std::array::from_fn(|_| (random.bits(), random.bits() | 1)),
        }
    }

    /// Where the place of this rank, less than `count`, comes to lie.
    #[inline]
    pub fn place_of(&self, rank: u64) -> u64 {
        let to_wrap = self.count - self.rotation;
        let mut place = if rank < to_wrap { rank + self.rotation } else { rank - to_wrap };
        loop {
            place = self.once(place);
            if place < self.count {
                return place;
            }
        }
    }

    #[inline]
    fn once(&self, place: u64) -> u64 {
        // Exclusive or, an odd factor and a shifted copy of the upper half can each be undone.
        self.keys.iter().fold(place, |place, (key, factor)| {
            let product = (place ^ (key & self.mask)).wrapping_mul(*factor) & self.mask;
            product ^ (product >> self.shift)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::testing::chi_square_p;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_place_is_taken_exactly_once(count in 1..5000_u64, seed: u64) {
            let permutation = Permutation::new(count, seed);
            let mut taken = vec![false; usize::try_from(count).unwrap()];
            for rank in 0..count {
                let place = usize::try_from(permutation.place_of(rank)).unwrap();
                prop_assert!(!std::mem::replace(&mut taken[place], true), "{} twice", place);
            }
        }

        #[test]
        fn places_of_huge_ranges_stay_inside(count in 1_u64.., rank: u64, seed: u64) {
            prop_assert!(Permutation::new(count, seed).place_of(rank % count) < count);
        }
    }

    #[test]
    fn the_first_ranks_are_spread_evenly_over_the_places() {
        for count in [1_000_003_u64, (1 << 28) + 1, 1 << 40] {
            for seed in 0..5 {
                let permutation = Permutation::new(count, seed);
                let mut cells = vec![0; 64];
                for rank in 0..32_000 {
                    let cell = u128::from(permutation.place_of(rank)) * 64 / u128::from(count);
                    cells[usize::try_from(cell).unwrap()] += 1;
                }
                let p = chi_square_p(&cells, &[500.0; 64]);
                assert!(p > 1e-5, "{count} places, seed {seed}: {p}");
            }
        }
    }

    #[test]
    fn neighbors_in_rank_are_no_neighbors_in_place() {
        let count = 1 << 20;
        let permutation = Permutation::new(count, 3);
        let steps: Vec<u64> = (0..10_000)
            .map(|rank| permutation.place_of(rank).abs_diff(permutation.place_of(rank + 1)))
            .collect();
        let mut distinct = steps.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert!(distinct.len() > 9_800, "{} distances among 10,000", distinct.len());
        // Two independent uniform places are a third of the range apart on average.
        let mean = steps.iter().sum::<u64>() as f64 / 10_000.0 / count as f64;
        assert!((mean - 1.0 / 3.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn each_place_is_as_likely_to_come_first_over_the_seeds() {
        let mut first = vec![0; 11];
        (0..11_000).for_each(|seed| first[Permutation::new(11, seed).place_of(0) as usize] += 1);
        let p = chi_square_p(&first, &[1000.0; 11]);
        assert!(p > 1e-4, "{p}");
    }
}
