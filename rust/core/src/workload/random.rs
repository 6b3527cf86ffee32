//! The random function of PTS section 6: seedable, 64 bits wide, uniform whatever the capacity.

use rand_core::{Rng, SeedableRng};
use rand_distr::Distribution;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// A xoshiro256++ stream. Each thread of a run has its own, 2^128 draws apart from the next one's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

    /// The stream of what all threads of a session share, such as the arrangement of segments: 2^192
    /// draws from the threads' streams.
    #[must_use]
    pub fn for_session(seed: u64) -> Self {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        generator.long_jump();
        Self(generator)
    }

    /// Skip 2^192 draws, to where no thread of a run comes: each thread's stream after an interruption.
    pub fn skip_far(&mut self) {
        self.0.long_jump();
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

    /// A uniform number from 0 to below 1, a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// One draw from a distribution.
    #[inline]
    pub fn sample(&mut self, distribution: &impl Distribution<f64>) -> f64 {
        distribution.sample(&mut self.0)
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
    use crate::workload::testing::{chi_square_p, exponential_ks_p};

    /// Capacities in sectors that are no powers of two; the last one has 63 bits and just misses one, so
    /// that modulo bias would show at once.
    const CAPACITIES: [u64; 5] = [1000, 1 << 20, 468_843_606, 3_750_748_848, (1 << 63) / 3 * 2 + 1];
    const DRAWS: usize = 200_000;

    /// Offsets as shares of the capacity, as the I/O path draws them.
    fn shares(capacity: u64) -> Vec<f64> {
        let mut generator = Uniform::for_thread(20_171_114, 3);
        (0..DRAWS).map(|_| (generator.below(capacity) as f64 + 0.5) / capacity as f64).collect()
    }

    fn chi_square_of_cells(bound: u64, cells: u64) -> f64 {
        let mut generator = Uniform::for_thread(20_171_114, 3);
        let mut counts = vec![0_u64; cells as usize];
        for _ in 0..DRAWS {
            let cell = u128::from(generator.below(bound)) * u128::from(cells) / u128::from(bound);
            counts[cell as usize] += 1;
        }
        // Cells of a bound that they do not divide differ by one value: expect what each really holds.
        let edge = |n: u64| (u128::from(n) * u128::from(bound)).div_ceil(u128::from(cells));
        let expected: Vec<f64> = (0..cells)
            .map(|cell| DRAWS as f64 * (edge(cell + 1) - edge(cell)) as f64 / bound as f64)
            .collect();
        chi_square_p(&counts, &expected)
    }

    // proves: PTS-RNG-03
    #[test]
    fn offsets_are_uniform_for_ranges_of_any_size() {
        for bound in CAPACITIES {
            for cells in [7, 100, 1000] {
                let p = chi_square_of_cells(bound, cells);
                assert!(p > 1e-4, "{bound} in {cells} cells: {p}");
            }
        }
    }

    #[test]
    fn ascending_runs_are_as_long_as_independent_offsets_make_them() {
        // Of runs that each begin behind the end of another, 1/r! - 1/(r+1)! have a length of r (Knuth,
        // "The Art of Computer Programming" 2, 3.3.2 G, exercise 14). The smallest capacity has ties.
        for capacity in &CAPACITIES[1..] {
            let (mut counts, mut length, mut last) = ([0; 6], 0, -1.0);
            for share in shares(*capacity) {
                if share > last {
                    (length, last) = (length + 1, share);
                } else {
                    counts[(length - 1_usize).min(5)] += 1;
                    (length, last) = (0, -1.0);
                }
            }
            let runs = counts.iter().sum::<u64>() as f64;
            let one_in = [1.0, 2.0, 6.0, 24.0, 120.0, 720.0, f64::INFINITY];
            let expected: Vec<f64> =
                one_in.windows(2).map(|pair| runs * (1.0 / pair[0] - 1.0 / pair[1])).collect();
            let p = chi_square_p(&counts, &expected);
            assert!(p > 1e-4, "{capacity}: {p}");
        }
    }

    #[test]
    fn an_offset_tells_nothing_about_later_ones() {
        for capacity in CAPACITIES {
            let shares = shares(capacity);
            for lag in [1, 2, 3, 7, 32, 100, 1024, 65_536] {
                let pairs = shares.len() - lag;
                let sum: f64 =
                    shares.iter().zip(&shares[lag..]).map(|(a, b)| (a - 0.5) * (b - 0.5) * 12.0).sum();
                let deviations = sum / (pairs as f64).sqrt();
                assert!(deviations.abs() < 4.5, "{capacity} at lag {lag}: {deviations}");
            }
        }
    }

    #[test]
    fn pairs_and_triples_fill_the_square_and_the_cube() {
        // A generator whose successive values lie on few planes leaves cells empty.
        for capacity in CAPACITIES {
            let shares = shares(capacity);
            for (dimensions, side) in [(2, 100_u32), (3, 20)] {
                let cells = side.pow(dimensions) as usize;
                let mut counts = vec![0; cells];
                let points = shares.chunks_exact(dimensions as usize);
                let expected = vec![points.len() as f64 / cells as f64; cells];
                for point in points {
                    let cell = |share: &f64| (share * f64::from(side)) as usize;
                    counts[point.iter().fold(0, |index, share| index * side as usize + cell(share))] += 1;
                }
                let p = chi_square_p(&counts, &expected);
                assert!(p > 1e-4, "{capacity} in {dimensions} dimensions: {p}");
            }
        }
    }

    #[test]
    fn no_frequency_stands_out_of_the_spectrum() {
        const LENGTH: usize = 4096;
        for capacity in CAPACITIES {
            let mut powers = Vec::new();
            for block in shares(capacity).chunks_exact(LENGTH) {
                let mut noise: [f32; LENGTH] = std::array::from_fn(|at| (block[at] - 0.5) as f32);
                let spectrum = microfft::real::rfft_4096(&mut noise);
                // White noise of variance 1/12 has powers that are exponential with a mean of 1.
                let powers_of_lines = spectrum[1..].iter().map(|line| line.norm_sqr() * 12.0 / LENGTH as f32);
                powers.extend(powers_of_lines.map(f64::from));
            }
            let largest = powers.iter().copied().fold(0.0, f64::max);
            let limit = (powers.len() as f64).ln() + 10.0;
            assert!(largest < limit, "{capacity}: a line of {largest} and not below {limit}");
            let p = exponential_ks_p(&powers);
            assert!(p > 1e-4, "{capacity}: {p}");
        }
    }

    #[test]
    fn a_biased_generator_would_be_found_out() {
        // The oracle itself: taking the remainder of 64 bits for 3/4 of their range doubles one third.
        let bound = 3_u64 << 62;
        let mut generator = Uniform::for_thread(1, 0);
        let halves = (0..30_000).filter(|_| generator.bits() % bound < bound / 2).count();
        assert!(halves > 16_000, "{halves}");
        let halves = (0..30_000).filter(|_| generator.below(bound) < bound / 2).count();
        assert!((14_000..16_000).contains(&halves), "{halves}");
        // Four words for each three values: without rejection, each third value has twice the chance.
        let thirds = (0..30_000).filter(|_| generator.below(bound).is_multiple_of(3)).count();
        assert!((9_500..10_500).contains(&thirds), "{thirds}");
    }

    // proves: PTS-RNG-01
    #[test]
    fn a_seed_repeats_its_stream_and_threads_differ() {
        let draw = |seed, thread| {
            let mut generator = Uniform::for_thread(seed, thread);
            (0..64).map(|_| generator.bits()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7, 0), draw(7, 0));
        assert_ne!(draw(7, 0), draw(8, 0));
        assert_ne!(draw(7, 0), draw(7, 1));
        let mut session = Uniform::for_session(7);
        assert!(!draw(7, 0).contains(&session.bits()));
    }

    // proves: PTS-RNG-02
    #[test]
    fn more_than_48_bits_move() {
        let mut generator = Uniform::for_thread(0, 0);
        let (ones, zeros) =
            (0..1000).map(|_| generator.bits()).fold((0, 0), |(a, b), bits| (a | bits, b | !bits));
        assert_eq!((ones, zeros), (u64::MAX, u64::MAX));
    }
}
