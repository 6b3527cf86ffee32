//! The random function of PTS section 6: seedable, 64 bits wide, uniform whatever the capacity.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A xoshiro256++ stream. Each thread of a run has its own, 2^128 draws apart from the next one's.
#[derive(Clone, Debug)]
pub struct Uniform(Xoshiro256PlusPlus);

impl Uniform {
    /// The stream of one thread under a seed.
    #[must_use]
    pub fn for_thread(seed: u64, thread: u32) -> Self {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        for _ in 0..thread {
            generator.jump();
        }
        Self(generator)
    }

    /// The next 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform integer in `0..bound`, free of modulo bias (Lemire's multiplication with rejection).
    ///
    /// # Panics
    /// In debug builds if `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0);
        let mut product = u128::from(self.bits()) * u128::from(bound);
        let mut fraction = low_half(product);
        if fraction < bound {
            let rejected = bound.wrapping_neg() % bound;
            while fraction < rejected {
                product = u128::from(self.bits()) * u128::from(bound);
                fraction = low_half(product);
            }
        }
        high_half(product)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the lower 64 bits are wanted")]
const fn low_half(product: u128) -> u64 {
    product as u64
}

const fn high_half(product: u128) -> u64 {
    (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Upper 0.01 % point of chi-square by the Wilson-Hilferty approximation.
    fn chi_square_limit(degrees_of_freedom: f64) -> f64 {
        let z = 3.719;
        let c = 2.0 / (9.0 * degrees_of_freedom);
        degrees_of_freedom * (1.0 - c + z * c.sqrt()).powi(3)
    }

    fn chi_square(bound: u64, cells: u64, draws: u64) -> f64 {
        let mut generator = Uniform::for_thread(20_171_114, 3);
        let mut counts = vec![0_u64; cells as usize];
        for _ in 0..draws {
            let cell = u128::from(generator.below(bound)) * u128::from(cells) / u128::from(bound);
            counts[cell as usize] += 1;
        }
        // Cells of a bound that they do not divide differ by one value: expect what each really holds.
        (0..cells)
            .map(|cell| {
                let edge = |n: u64| (u128::from(n) * u128::from(bound)).div_ceil(u128::from(cells));
                let expected = draws as f64 * (edge(cell + 1) - edge(cell)) as f64 / bound as f64;
                (counts[cell as usize] as f64 - expected).powi(2) / expected
            })
            .sum()
    }

    #[test]
    fn offsets_are_uniform_for_ranges_of_any_size() {
        // The largest has 63 bits and just misses a power of two: modulo bias would show at once.
        for bound in [1000, 1 << 20, 468_843_606, 3_750_748_848, (1 << 63) / 3 * 2 + 1] {
            for cells in [7, 100, 1000] {
                let statistic = chi_square(bound, cells, 200_000);
                let limit = chi_square_limit((cells - 1) as f64);
                assert!(statistic < limit, "{bound} in {cells} cells: {statistic} >= {limit}");
            }
        }
    }

    #[test]
    fn a_biased_generator_would_be_found_out() {
        // The oracle itself: taking the remainder of 64 bits for 2/3 of their range doubles one half.
        let bound = (1_u64 << 63) / 3 * 4;
        let mut generator = Uniform::for_thread(1, 0);
        let halves = (0..30_000).filter(|_| generator.bits() % bound < bound / 2).count();
        assert!(halves > 16_000, "{halves}");
        let halves = (0..30_000).filter(|_| generator.below(bound) < bound / 2).count();
        assert!((14_000..16_000).contains(&halves), "{halves}");
    }

    #[test]
    fn a_seed_repeats_its_stream_and_threads_differ() {
        let draw = |seed, thread| {
            let mut generator = Uniform::for_thread(seed, thread);
            (0..64).map(|_| generator.bits()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7, 0), draw(7, 0));
        assert_ne!(draw(7, 0), draw(8, 0));
        assert_ne!(draw(7, 0), draw(7, 1));
    }

    #[test]
    fn more_than_48_bits_move() {
        let mut generator = Uniform::for_thread(0, 0);
        let (ones, zeros) =
            (0..1000).map(|_| generator.bits()).fold((0, 0), |(a, b), bits| (a | bits, b | !bits));
        assert_eq!((ones, zeros), (u64::MAX, u64::MAX));
    }
}
