//! What is written: random bytes, fresh for every write, so that no drive can compress or deduplicate.

use super::random::Uniform;

/// Independent generators side by side, so that the compiler fills whole vector registers.
const LANES: usize = 8;
const CHUNK_BYTES: usize = LANES * size_of::<u64>();

/// Eight xoshiro256+ generators in step. Payload needs speed and incompressibility, not the quality
/// that offsets need.
#[derive(Clone, Debug)]
pub struct Payload {
    state: [[u64; LANES]; 4],
}

impl Payload {
    /// The payload of one thread under a seed; its bytes are unrelated to the thread's offsets.
    #[must_use]
    pub fn for_thread(seed: u64, thread: u32) -> Self {
        let mut random = Uniform::for_thread(!seed, thread);
        Self { state: std::array::from_fn(|_| std::array::from_fn(|_| random.bits())) }
    }

    /// Overwrite the whole buffer with fresh random bytes.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        let mut chunks = buffer.chunks_exact_mut(CHUNK_BYTES);
        for chunk in &mut chunks {
            let random = self.next();
            for (bytes, word) in chunk.chunks_exact_mut(size_of::<u64>()).zip(random) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
        }
        let rest = chunks.into_remainder();
        if !rest.is_empty() {
            let random = self.next();
            for (byte, fresh) in rest.iter_mut().zip(random.iter().flat_map(|word| word.to_le_bytes())) {
                *byte = fresh;
            }
        }
    }

    #[inline(always)]
    fn next(&mut self) -> [u64; LANES] {
        let [a, b, c, d] = &mut self.state;
        let mut random = [0; LANES];
        for lane in 0..LANES {
            random[lane] = a[lane].wrapping_add(d[lane]);
            let shifted = b[lane] << 17;
            c[lane] ^= a[lane];
            d[lane] ^= b[lane];
            b[lane] ^= c[lane];
            a[lane] ^= d[lane];
            c[lane] ^= shifted;
            d[lane] = d[lane].rotate_left(45);
        }
        random
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::io::Write;

    #[test]
    fn bytes_do_not_compress() {
        let mut buffer = vec![0; 1 << 20];
        Payload::for_thread(1, 0).fill(&mut buffer);
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&buffer).unwrap();
        assert!(encoder.finish().unwrap().len() >= buffer.len());
    }

    #[test]
    fn no_block_of_512_bytes_comes_twice() {
        let mut seen = HashSet::new();
        for thread in 0..4 {
            let mut payload = Payload::for_thread(1, thread);
            let mut buffer = [0; 512];
            for _ in 0..10_000 {
                payload.fill(&mut buffer);
                assert!(seen.insert(buffer));
            }
        }
    }

    #[test]
    fn odd_lengths_are_filled_to_the_last_byte() {
        let mut payload = Payload::for_thread(1, 0);
        let mut ones = [0_u8; 100];
        for _ in 0..50 {
            let mut buffer = vec![0; 100];
            payload.fill(&mut buffer);
            ones.iter_mut().zip(&buffer).for_each(|(all, byte)| *all |= byte);
        }
        assert!(ones.iter().all(|byte| *byte == 0xff));
    }
}
