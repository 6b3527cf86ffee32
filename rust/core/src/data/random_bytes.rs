//! Random bytes, faster than any drive takes them.

use crate::workload::Uniform;

/// Independent generators side by side. Sixteen make a loop that compilers turn into vectors of whatever
/// width; with eight they unroll it, and leave it scalar where registers are short.
const LANES: usize = 16;
const WORD_BYTES: usize = size_of::<u64>();

/// Sixteen xoshiro256+ generators in step. Data need speed and incompressibility, not the quality that
/// offsets need; the period of 2^256 - 1 chunks outlasts every drive.
///
/// A fill always begins with a new chunk, so the first bytes of a fill do not depend on its length.
#[derive(Clone, Debug)]
pub(crate) struct RandomBytes {
    state: [[u64; LANES]; 4],
}

impl RandomBytes {
    /// Generators whose state is the next words of `random`.
    pub(super) fn new(random: &mut Uniform) -> Self {
        Self { state: std::array::from_fn(|_| std::array::from_fn(|_| random.bits())) }
    }

    /// The generators that belong to a number: the same ones each time.
    pub(crate) fn of(number: u64) -> Self {
        Self::new(&mut Uniform::for_thread(number, 0))
    }

    /// Overwrite the whole buffer with fresh random bytes.
    pub(super) fn fill(&mut self, buffer: &mut [u8]) {
        fill_with_best_instructions(self, buffer);
    }

    #[inline(always)]
    fn fill_chunks(&mut self, buffer: &mut [u8]) {
        let whole = buffer.len() - buffer.len() % (LANES * WORD_BYTES);
        let (chunks, rest) = buffer.split_at_mut(whole);
        for chunk in chunks.as_chunks_mut().0.as_chunks_mut().0 {
            self.next_chunk(chunk);
        }
        if !rest.is_empty() {
            let mut words = [[0; WORD_BYTES]; LANES];
            self.next_chunk(&mut words);
            rest.copy_from_slice(&words.as_flattened()[..rest.len()]);
        }
    }

    /// One word of each generator. It goes straight to where it belongs: collected first and copied, the
    /// words leave their vector registers.
    #[inline(always)]
    fn next_chunk(&mut self, words: &mut [[u8; WORD_BYTES]; LANES]) {
        let [a, b, c, d] = &mut self.state;
        for lane in 0..LANES {
            words[lane] = a[lane].wrapping_add(d[lane]).to_le_bytes();
            let shifted = b[lane] << 17;
            let (mixed_c, mixed_d) = (c[lane] ^ a[lane], d[lane] ^ b[lane]);
            b[lane] ^= mixed_c;
            a[lane] ^= mixed_d;
            c[lane] = mixed_c ^ shifted;
            d[lane] = mixed_d.rotate_left(45);
        }
    }
}

/// The same code compiled for each vector width, chosen by what the processor has: the short registers
/// of plain x86-64 have a fifth of the speed, which is less than a drive may take.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw", "x86_64+avx2"))]
fn fill_with_best_instructions(generators: &mut RandomBytes, buffer: &mut [u8]) {
    generators.fill_chunks(buffer);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256Plus;

    /// One lane's generator as its author's crate has it.
    fn lane(generators: &RandomBytes, lane: usize) -> Xoshiro256Plus {
        let mut seed = [0; 32];
        for (bytes, word) in seed.chunks_exact_mut(8).zip(&generators.state) {
            bytes.copy_from_slice(&word[lane].to_le_bytes());
        }
        Xoshiro256Plus::from_seed(seed)
    }

    proptest! {
        /// Whatever instructions were chosen, each lane is xoshiro256+, to the last byte of odd lengths.
        #[test]
        fn the_lanes_are_xoshiro256_plus(number: u64, lengths in prop::collection::vec(0..2000_usize, 1..4)) {
            let mut generators = RandomBytes::of(number);
            let mut lanes: Vec<_> = (0..LANES).map(|index| lane(&generators, index)).collect();
            for length in lengths {
                let mut buffer = vec![0; length];
                generators.fill(&mut buffer);
                for chunk in buffer.chunks(LANES * WORD_BYTES) {
                    let expected: Vec<u8> =
                        lanes.iter_mut().flat_map(|lane| lane.next_u64().to_le_bytes()).collect();
                    prop_assert_eq!(chunk, &expected[..chunk.len()]);
                }
            }
        }

        #[test]
        fn portable_and_chosen_instructions_make_the_same_bytes(number: u64, length in 0..5000_usize) {
            let (mut chosen, mut portable) = (vec![0; length], vec![0; length]);
            RandomBytes::of(number).fill(&mut chosen);
            RandomBytes::of(number).fill_chunks(&mut portable);
            prop_assert_eq!(chosen, portable);
        }
    }
}
